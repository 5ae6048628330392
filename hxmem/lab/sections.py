"""Reads the text of a message into labelled rows: notes, a summary, the journal, the parts of a request."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from hxmem.desk.summary import CONVERSATION_LABEL, EARLIER_LABEL, SECTIONS
from hxmem.drawer.prompts import CATALOG_LABEL, DIALOGUE_LABEL, EXISTING_LABEL, INDEX_LABEL
from hxmem.journal.checking import FRESH_LABEL, LOG_LABEL, MEMORY_LABEL, MESSAGES_LABEL, PRESENT_LABEL
from hxmem.lab.page import Row
from hxmem.plugins import SUMMARY_TAG, TASK_LABEL

OPEN, CLOSE = "<relevant_memories>", "</relevant_memories>"
SUMMARY, SUMMARY_END = f"<{SUMMARY_TAG}>", f"</{SUMMARY_TAG}>"
LOADED, LOADED_END = "<loaded_context>", "</loaded_context>"
AGENTS, MEMORY = "<agents_context>", "<memory_context>"
TODAY = LOG_LABEL.partition("{")[0]  # the label without its date
NONE = "(none)"

# The labels of each kind of request in their order.
_KINDS = (
    (TASK_LABEL, CATALOG_LABEL),
    (EXISTING_LABEL, DIALOGUE_LABEL),
    (EARLIER_LABEL, CONVERSATION_LABEL),
    (MEMORY_LABEL, LOG_LABEL, MESSAGES_LABEL),
    (PRESENT_LABEL, FRESH_LABEL),
)
_PROSE = (TASK_LABEL, EARLIER_LABEL)  # the other parts have one entry a line
_BLOCK = re.compile(rf"(?ms){OPEN}\n(.*?)\n{CLOSE}$")
_QUOTED = r"(\"[^\"]*\"|'[^']*')"
_NOTE = re.compile(rf"(?ms)^<memory name={_QUOTED} type={_QUOTED} source={_QUOTED}>\n(.*?)\n</memory>$")
_SUMMARY = re.compile(rf"<{SUMMARY_TAG}(?: archive={_QUOTED})?>\n")
_HEADING = re.compile(rf"(?m)^(## (?:{'|'.join(SECTIONS)}))$\n?")
_LOADED = re.compile(rf"(?ms)^{LOADED}\n(.*)^{LOADED_END}$")
_CONTEXT = re.compile(r"(?ms)^<(\w+_context)>\n(.*?)\n?^</\1>$")


@dataclass(frozen=True)
class Note:
    """One memory as it lies on the desk; `sent` is its text with tags, word for word."""

    name: str
    type: str
    source: str
    sent: str


def notes_in(text: str) -> list[Note]:
    """The memories in the block of a message, in their order."""
    block = _BLOCK.match(text)
    found = _NOTE.finditer(block[1]) if block else ()
    return [Note(_value(note[1]), _value(note[2]), _value(note[3]), note[0]) for note in found]


def _value(quoted: str) -> str:
    return html.unescape(quoted[1:-1])


def system(text: str) -> list[Row]:
    """The parts of a system text: rules, what the journal loaded, the index of the drawer."""
    if not (loaded := _LOADED.search(text)):
        return _with_index(text)
    found, end = [Row("", text[: loaded.start()].strip(), "fold", "rules"), Row(LOADED, " ")], 0
    for context in _CONTEXT.finditer(loaded[1]):
        found.append(Row("", loaded[1][end : context.start()].strip(), "fold", "what this is"))
        found.append(Row(f"<{context[1]}>", context[2] or " "))
        end = context.end()
    found.append(Row("", loaded[1][end:].strip(), "fold", "what this is"))
    return [*found, Row(LOADED_END, " "), *_with_index(text[loaded.end() :].strip())]


def _with_index(text: str) -> list[Row]:
    rules, label, index = f"\n{text}".rpartition(f"\n{INDEX_LABEL}")
    if not label:
        return [Row("", text, "fold", "rules")]
    lines = index.strip().split("\n")
    end = next((n for n in range(len(lines), 0, -1) if lines[n - 1].startswith(("- [", "(empty)"))), len(lines))
    while end < len(lines) and lines[end].startswith("("):
        end += 1  # the line that says how many entries were left out
    listed = Row(INDEX_LABEL, "\n".join(lines[:end]), "list")
    return [Row("", rules.strip(), "fold", "rules"), listed, Row("", "\n".join(lines[end:]), "fold", "rule")]


def recalled(text: str) -> list[Row]:
    """The parts of a user message with a block of notes; [] when it has none."""
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


def summarised(text: str) -> list[Row]:
    """The parts of a message that stands for older ones; [] when it is no such message."""
    start = _SUMMARY.match(text)
    if not (start and text.rstrip().endswith(SUMMARY_END)):
        return []
    intro, _, body = text.rstrip().removesuffix(SUMMARY_END)[start.end() :].partition("\n\n")
    first, *rest = _HEADING.split(body)
    sections = [Row(label, said.strip() or " ") for label, said in zip(rest[::2], rest[1::2], strict=True)]
    head = [Row(SUMMARY, _value(start[1]) if start[1] else " "), Row("", intro.strip(), "fold", "what this is")]
    return [*head, Row("", first.strip()), *sections, Row(SUMMARY_END, " ")]


def labelled(text: str) -> list[Row]:
    """The parts of a request that asks the model one thing, such as a side-query or a summary; [] when it is none."""
    found = [rows for labels in _KINDS if (rows := _split(text, labels))]
    return min(found, key=lambda rows: len(rows[0].text), default=[])  # the instruction above holds no labels


def _split(text: str, labels: tuple[str, ...]) -> list[Row]:
    """The parts at these labels, of which all must be there; the first row is the instruction.

    The first label counts where it stands first, behind hxmem's own words, the others where they stand last: what
    follows those is lines that hxmem made, what stands between may hold the same words.
    """
    rest, found = f"\n\n{text}", list[Row]()
    for place, label in reversed(list(enumerate(labels))):
        wanted = re.escape(label).replace(r"\{day\}", r"[^\n]*")
        places = list(re.finditer(rf"\n\n({wanted})\n", rest))
        if not places:
            return []
        at = places[-1 if place else 0]
        found.insert(0, Row(at[1], rest[at.end() :], "prose" if label in _PROSE else "list"))
        rest = rest[: at.start()]
    return [Row("", rest.strip("\n"), "fold", "instruction"), *found]
