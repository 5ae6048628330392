"""Reads a request body: the labelled parts of each message, and what a message is in a few words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hxmem.desk.summary import CONVERSATION_LABEL, EARLIER_LABEL
from hxmem.desk.truncation import ARGUMENT_MARK
from hxmem.drawer.prompts import CATALOG_LABEL, DIALOGUE_LABEL, EXISTING_LABEL, INDEX_LABEL
from hxmem.journal.checking import FRESH_LABEL, MEMORY_LABEL, MESSAGES_LABEL, PRESENT_LABEL
from hxmem.lab import sections
from hxmem.lab.columns import count, cut, plain
from hxmem.lab.page import Row
from hxmem.lab.sections import Note, notes_in
from hxmem.plugins import is_summary
from hxmem.text import estimate_tokens

Body = Mapping[str, Any]
_NAME = 40  # columns of a tool's name, which a model may have made up

_PLACEHOLDER = re.compile(r"\[(cleared: )?(.+?) returned ([\d,]+) characters(?:; entry|, too many for the desk)")
_TURN = re.compile(r"(?m)^\[(?:USER|ASSISTANT|TOOL|CALL [^\]\n]*)\]: ")


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


def notes_on(body: Body) -> list[Note]:
    """The memories in the user messages of a body; of one that was laid there twice the newest."""
    texts = [content(message) for message in messages_of(body) if message.get("role") == "user"]
    return list({note.source: note for text in texts for note in notes_in(text)}.values())


def parts(message: Body, alone: bool = False) -> list[Row]:
    """The parts of a message in order; `alone` says that it is the only one, as in a side-query or an extraction."""
    text, found = content(message), [Row("thinking:", str(message.get("reasoning_content") or ""))]
    if message.get("role") == "system":
        found += sections.system(text)
    elif message.get("role") == "user":
        asked = sections.labelled(text) if alone else []
        found += sections.recalled(text) or sections.summarised(text) or asked or [Row("", text)]
    else:
        found.append(Row("", text))
    found += [Row(f"calls {name}", arguments) for name, arguments in calls(message)]
    return [part for part in found if part.text or part.label == sections.CLOSE] or [Row("", "(no text)")]


def in_words(message: Body, alone: bool, tools: Mapping[str, str]) -> str:
    """What a message is, in a few words; `tools` are the names of the tools by the ids of their calls."""
    role = message.get("role")
    if role == "tool":
        return _result(content(message), tools.get(str(message.get("tool_call_id")), "a tool"))
    if role == "assistant":
        asked = ", ".join(_name(name) for name, _ in calls(message))
        short = " (arguments shortened)" if any(ARGUMENT_MARK in arguments for _, arguments in calls(message)) else ""
        return f"asks for {asked}{short}" if asked else "an earlier answer"
    found = {part.label: part.text for part in parts(message, alone)}
    if role == "system":
        return _system(found)
    if is_summary(dict(message)):
        written = any(label.startswith("## ") for label in found)
        return "summary of earlier messages" if written else "note in place of earlier messages"
    return _asked(found) or _task(content(message))


def _result(text: str, tool: str) -> str:
    if not (short := _PLACEHOLDER.match(text)):
        return f"result of {_name(tool)} ({count(len(text), 'character')})"
    place = "in the archive" if short[1] else "in a file"
    return f"result of {_name(short[2])} (placeholder, {short[3]} characters {place})"


def _name(tool: str) -> str:
    return cut(plain(tool), _NAME)


def _system(found: Mapping[str, str]) -> str:
    words = ["rules"]
    for tag, name in ((sections.AGENTS, "AGENTS.md"), (sections.MEMORY, "long-term memory")):
        if text := found.get(tag, "").strip():
            words.append(f"{name} ({count(_lines(text), 'line')})")
    if index := found.get(INDEX_LABEL, ""):
        lines = sum(line.startswith("- [") for line in index.split("\n"))
        words.append(f"index ({count(lines, 'line')})" if lines else "empty index")
    return " + ".join(words)


def _asked(found: Mapping[str, str]) -> str:
    """A request with labelled parts in words; "" for any other."""
    if CATALOG_LABEL in found:
        return f"your question + catalog ({count(_lines(found[CATALOG_LABEL]), 'line')})"
    if DIALOGUE_LABEL in found:
        turns = sum(line.startswith(("user: ", "assistant: ")) for line in found[DIALOGUE_LABEL].split("\n"))
        known = _known(found[EXISTING_LABEL], "existing memories", "no memories yet")
        return f"{known} + dialogue ({count(turns, 'turn')})"
    if CONVERSATION_LABEL in found:
        known = _known(found[EARLIER_LABEL], "earlier summary", "no earlier summary")
        return f"{known} + conversation ({_turns(found[CONVERSATION_LABEL])})"
    if MESSAGES_LABEL in found:
        known = _known(found[MEMORY_LABEL], "long-term memory", "no long-term memory yet")
        today = next(text for label, text in found.items() if label.startswith(sections.TODAY))
        log = _known(today, "today's log", "no log of today yet")
        return f"{known} + {log} + new messages ({_turns(found[MESSAGES_LABEL])})"
    if FRESH_LABEL in found:
        known = _known(found[PRESENT_LABEL], "present memory", "no memory yet")
        return f"{known} + fresh logs ({count(found[FRESH_LABEL].count('### '), 'day')})"
    return ""


def _known(text: str, name: str, otherwise: str) -> str:
    return otherwise if text.strip() in ("", sections.NONE) else f"{name} ({count(_lines(text), 'line')})"


def _turns(transcript: str) -> str:
    return count(len(_TURN.findall(transcript)), "turn")


def _task(text: str) -> str:
    notes = len(notes_in(text))
    return f"{count(notes, 'note')}, then your question" if notes else "your question"


def all_in_words(messages: Sequence[Body]) -> list[str]:
    """What each message is, in a few words."""
    asked = [call for message in messages for call in message.get("tool_calls") or []]
    tools = {str(call.get("id")): str((call.get("function") or {}).get("name", "?")) for call in asked}
    return [in_words(message, len(messages) == 1, tools) for message in messages]


def _lines(text: str) -> int:
    return len(text.strip().split("\n")) if text.strip() else 0
