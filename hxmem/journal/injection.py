"""What of the journal stands in every request: how to use it, AGENTS.md, and MEMORY.md, within a budget of tokens."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from hxmem.credentials import mask
from hxmem.files import FileProblem, inside, read_text
from hxmem.journal.folder import MAX_FILE_BYTES, JournalFolder
from hxmem.language import sentences
from hxmem.plugins import SUMMARY_TAG
from hxmem.text import estimate_tokens

BUDGET = 8_000  # tokens of the whole text; AgentScope's value
MAX_SHOWN = 100_000  # characters of a file that could fit in: only these are looked through for credentials
_TAGS = f"memory_context|agents_context|loaded_context|relevant_memories|memory|{SUMMARY_TAG}|session_context"
_OUR_TAG = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS})\b)", re.IGNORECASE)
_HEADING = re.compile(r"(#{1,6})\s")


def context(folder: JournalFolder, lang: str = "", budget: int = BUDGET) -> str:
    """The text for the system section, always the same for the same files; "" when not even the guidance fits.

    AGENTS.md gets at most half of what the guidance leaves, from its start; MEMORY.md gets the rest, from its end,
    which is the newest. What is cut is said. Neither can close our tags or open new ones.
    """
    words = sentences(__file__, lang)
    agents, memory = _agents(folder), _memory(folder)
    agents = _plain(f"{mask(agents[:MAX_SHOWN]).text}{agents[MAX_SHOWN:]}")
    memory = _plain(f"{memory[:-MAX_SHOWN]}{mask(memory[-MAX_SHOWN:]).text}")
    room = budget - estimate_tokens(words["guidance"])
    if room < 0:
        return ""
    room -= estimate_tokens(_loaded(words["loaded"], "agents", "memory")) + 1
    if agents:
        agents = _head(agents, room // 2, words["agents_cut"])
        room -= estimate_tokens(agents)
    if memory:
        memory = _tail(memory, room, words["cut"])
    blocks = [_loaded(words["loaded"], agents, memory)] if agents or memory else []
    return "\n\n".join([words["guidance"], *blocks])


def _plain(text: str) -> str:
    return _OUR_TAG.sub("&lt;", text.strip("\n"))


def _loaded(line: str, agents: str, memory: str) -> str:
    parts = (("agents_context", agents), ("memory_context", memory))
    blocks = [f"<{tag}>\n{text}\n</{tag}>" for tag, text in parts if text]
    return "\n".join(["<loaded_context>", line, *blocks, "</loaded_context>"])


def _agents(folder: JournalFolder) -> str:
    """The text of AGENTS.md in the project's folder; why it can't be read, when it can't."""
    try:
        path = inside(folder.root, "AGENTS.md")
        return read_text(path, MAX_FILE_BYTES) if path.exists() else ""
    except FileProblem as error:
        return f"({error})"


def _memory(folder: JournalFolder) -> str:
    try:
        return folder.read_memory()
    except FileProblem as error:
        return f"({error})"


def _head(text: str, room: int, cut: str) -> str:
    """The start of a text, up to the end of a line if there is one, and a line that says that it is cut."""
    if estimate_tokens(text) <= room:
        return text
    room -= estimate_tokens(f"\n{cut}")
    text = text[: max(0, room) * 4]  # no character takes less than 0.3 tokens
    size = bisect_right(range(1, len(text) + 1), room, key=lambda end: estimate_tokens(text[:end]))
    piece = text[:size]
    return f"{piece[: piece.rfind(chr(10))] if chr(10) in piece else piece}\n{cut}".lstrip("\n") if room > 0 else ""


def _tail(text: str, room: int, cut: str) -> str:
    """The last whole lines of a text with the headings they stand under, and a line that says how many are left out."""
    lines = text.split("\n")
    if estimate_tokens(text) <= room:
        return text
    room -= estimate_tokens(cut.format(count=len(lines)) + "\n")
    if room < 0:
        return ""
    start = bisect_left(range(len(lines)), -room, key=lambda at: -estimate_tokens("\n".join(_from(lines, at))))
    while start < len(lines) and lines[start].startswith((" ", "\t")):  # the rest of an entry that doesn't fit
        start += 1
    left = sum(bool(line.strip()) and not _HEADING.match(line) for line in lines[:start])
    return "\n".join([cut.format(count=left), *_from(lines, start)]).rstrip("\n")


def _from(lines: Sequence[str], start: int) -> list[str]:
    """The lines from `start` on, behind the headings above them."""
    kept = list(lines[start:])
    level = _level(kept[0]) if kept else 0
    for line in reversed(lines[:start]):
        if _level(line) < level:
            kept.insert(0, line)
            level = _level(line)
    return kept


def _level(line: str) -> int:
    found = _HEADING.match(line)
    return len(found[1]) if found else 7
