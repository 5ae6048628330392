"""Reads a request body: the labelled parts of each message, and what a message is in a few words."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hxmem.drawer.prompts import CATALOG_LABEL, DIALOGUE_LABEL, EXISTING_LABEL, INDEX_LABEL
from hxmem.lab.columns import count
from hxmem.lab.page import Row
from hxmem.plugins import TASK_LABEL
from hxmem.text import estimate_tokens

Body = Mapping[str, Any]
OPEN, CLOSE = "<relevant_memories>", "</relevant_memories>"

_BLOCK = re.compile(rf"(?ms){OPEN}\n(.*?)\n{CLOSE}$")
_QUOTED = r"(\"[^\"]*\"|'[^']*')"
_NOTE = re.compile(rf"(?ms)^<memory name={_QUOTED} type={_QUOTED} source={_QUOTED}>\n(.*?)\n</memory>$")


@dataclass(frozen=True)
class Note:
    """One memory as it lies on the desk; `sent` is its text with tags, word for word."""

    name: str
    type: str
    source: str
    sent: str


def messages_of(body: Body) -> list[dict[str, Any]]:
    """The messages of a body."""
    return list(body.get("messages") or [])


def tool_names(body: Body) -> list[str]:
    """The names of the tools that a body offers."""
    return [str((tool.get("function") or {}).get("name", "?")) for tool in body.get("tools") or []]


def body_tokens(body: Body) -> int:
    """The estimated tokens of a body: tools and messages as JSON, which is how the classroom counts too."""
    parts = [body.get("tools") or [], *messages_of(body)]
    return estimate_tokens("\n".join(json.dumps(part, ensure_ascii=False) for part in parts))


def content(message: Body) -> str:
    """The text of a message, "" if it has none."""
    value = message.get("content")
    if isinstance(value, list):
        return "\n".join(str(item.get("text") or f"({item.get('type')})") for item in value if isinstance(item, dict))
    return value if isinstance(value, str) else ""


def calls(message: Body) -> list[tuple[str, str]]:
    """The (name, arguments) of the tool calls in a message."""
    functions = [call.get("function") or {} for call in message.get("tool_calls") or []]
    return [(str(function.get("name", "?")), str(function.get("arguments", ""))) for function in functions]


def notes_in(text: str) -> list[Note]:
    """The memories in the block of a message, in their order."""
    block = _BLOCK.match(text)
    found = _NOTE.finditer(block[1]) if block else ()
    return [Note(_value(note[1]), _value(note[2]), _value(note[3]), note[0]) for note in found]


def _value(quoted: str) -> str:
    return html.unescape(quoted[1:-1])


def notes_on(body: Body) -> list[Note]:
    """The memories in the user messages of a body; of one that was laid there twice the newest."""
    texts = [content(message) for message in messages_of(body) if message.get("role") == "user"]
    return list({note.source: note for text in texts for note in notes_in(text)}.values())


def parts(message: Body, alone: bool = False) -> list[Row]:
    """The parts of a message in order; `alone` says that it is the only one, as in a side-query or an extraction."""
    text, found = content(message), [Row("thinking:", str(message.get("reasoning_content") or ""))]
    if message.get("role") == "system":
        found += _system(text)
    elif message.get("role") == "user":
        found += _block(text) or (_labelled(text) if alone else []) or [Row("", text)]
    else:
        found.append(Row("", text))
    found += [Row(f"calls {name}", arguments) for name, arguments in calls(message)]
    return [part for part in found if part.text or part.label == CLOSE] or [Row("", "(no text)")]


def _system(text: str) -> list[Row]:
    rules, label, index = f"\n{text}".rpartition(f"\n{INDEX_LABEL}")
    if not label:
        return [Row("", text, "fold", "rules")]
    lines = index.strip().split("\n")
    end = next((n for n in range(len(lines), 0, -1) if lines[n - 1].startswith(("- [", "(empty)"))), len(lines))
    while end < len(lines) and lines[end].startswith("("):
        end += 1  # the line that says how many entries were left out
    listed = Row(INDEX_LABEL, "\n".join(lines[:end]), "list")
    return [Row("", rules.strip(), "fold", "rules"), listed, Row("", "\n".join(lines[end:]), "fold", "rule")]


def _block(text: str) -> list[Row]:
    block = _BLOCK.match(text)
    if not block:
        return []
    rest = text[block.end() :].strip("\n")
    label = TASK_LABEL if rest.startswith(f"{TASK_LABEL}\n") else ""
    first = _NOTE.search(block[1])
    intro = block[1][: first.start()] if first else block[1]
    notes = [Row("<memory>", "\n".join(n.sent.split("\n")[1:-1]), title=f"{n.name} ({n.type})") for n in notes_in(text)]
    start = Row(OPEN, intro.strip() or " ", "fold", "what these are")
    return [start, *notes, Row(CLOSE, "", "list"), Row(label, rest.removeprefix(label).strip("\n"))]


def _labelled(text: str) -> list[Row]:
    """The parts of a side-query or an extraction; [] when it is neither."""
    for first, second in ((TASK_LABEL, CATALOG_LABEL), (EXISTING_LABEL, DIALOGUE_LABEL)):
        instruction, found, rest = f"\n\n{text}".partition(f"\n\n{first}\n")
        # One side of the pair is lines that hxmem made, the other a person's words, which may hold our labels.
        cut = rest.rpartition if second == CATALOG_LABEL else rest.partition
        above, also, below = cut(f"\n\n{second}\n")
        if found and also:
            kinds = ("prose", "list") if second == CATALOG_LABEL else ("list", "list")
            start = Row("", instruction.strip("\n"), "fold", "instruction")
            return [start, Row(first, above, kinds[0]), Row(second, below, kinds[1])]
    return []


def in_words(message: Body, alone: bool, tools: Mapping[str, str]) -> str:
    """What a message is, in a few words; `tools` are the names of the tools by the ids of their calls."""
    role, found = message.get("role"), {part.label: part.text for part in parts(message, alone)}
    if role == "system":
        index = found.get(INDEX_LABEL, "")
        lines = sum(line.startswith("- [") for line in index.split("\n"))
        size = f"index ({count(lines, 'line')})" if lines else "empty index"
        return f"rules + {size}" if index else "rules"
    if role == "tool":
        size = count(len(content(message)), "character")
        return f"result of {tools.get(str(message.get('tool_call_id')), 'a tool')} ({size})"
    if role == "assistant":
        asked = ", ".join(name for name, _ in calls(message))
        return f"asks for {asked}" if asked else "an earlier answer"
    if CATALOG_LABEL in found:
        return f"your question + catalog ({count(_lines(found[CATALOG_LABEL]), 'line')})"
    if DIALOGUE_LABEL in found:
        turns = sum(line.startswith(("user: ", "assistant: ")) for line in found[DIALOGUE_LABEL].split("\n"))
        existing = found[EXISTING_LABEL]
        known = "no memories yet" if existing == "(none)" else f"existing memories ({count(_lines(existing), 'line')})"
        return f"{known} + dialogue ({count(turns, 'turn')})"
    notes = len(notes_in(content(message)))
    return f"{count(notes, 'note')}, then your question" if notes else "your question"


def all_in_words(messages: Sequence[Body]) -> list[str]:
    """What each message is, in a few words."""
    asked = [call for message in messages for call in message.get("tool_calls") or []]
    tools = {str(call.get("id")): str((call.get("function") or {}).get("name", "?")) for call in asked}
    return [in_words(message, len(messages) == 1, tools) for message in messages]


def _lines(text: str) -> int:
    return len(text.split("\n")) if text else 0
