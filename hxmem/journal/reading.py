"""The tools that read the journal and the archived conversations: every answer is bounded, no other file is read."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hxmem.credentials import mask
from hxmem.files import inside, read_text
from hxmem.journal.folder import MAX_FILE_BYTES, JournalFolder
from hxmem.journal.ledger import append
from hxmem.journal.search import Search, folded, session_sources, telling
from hxmem.plugins import Tool, ToolProblem, without_recall
from hxmem.sessions import Clock, Entry, now, read_entries, text_of, transcript
from hxmem.text import cut_middle, fitting

Arguments = Mapping[str, Any]
MAX_PREVIEW, MAX_SAID = 200, 500  # characters of a hit and of a message; AgentScope's values
MAX_LINE = 1_000  # characters of a line that was found
MAX_READ = 20_000  # characters of one answer of memory_get, and of one message
MAX_MESSAGES, MAX_SESSIONS = 100, 50
_READABLE = re.compile(r"MEMORY\.md|memory/(?:archive/)?[^/]+\.md")
_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}


def tools(search: Search, *, save: bool = False, clock: Clock = now) -> tuple[Tool, ...]:
    """The five tools that read, and `memory_save` if it is wanted; `clock` gives the time of what is saved."""
    folder = search.folder
    query = {**_TEXT, "description": "words to look for"}
    path = {**_TEXT, "description": "MEMORY.md or a log as memory_search names it: memory/2026-11-30.md"}
    start = {**_NUMBER, "description": "the first line, 1 when left out"}
    end = {**_NUMBER, "description": "the last line, the end of the file when left out"}
    limit = {**_NUMBER, "description": "how many messages, 10 when left out"}
    session = {**_TEXT, "description": "the id of a conversation, as session_list names it"}
    last = {**_NUMBER, "description": "how many messages from the end, 20 when left out"}
    entry = {**_TEXT, "description": "the id of one message, to read it whole"}
    offset = {**_NUMBER, "description": "the first character of that message to read, 0 when left out"}
    history = {"session": session, "last": last, "entry": entry, "offset": offset}
    found = [
        _tool("memory_search", "Search the long-term memory and the daily logs.", partial(memory_search, search),
              query=query),
        _tool("memory_get", "Read lines of the long-term memory or of a log.", partial(memory_get, folder),
              optional="start end", path=path, start=start, end=end),
        _tool("session_search", "Search what was said in earlier conversations.", partial(session_search, search),
              optional="limit", query=query, limit=limit),
        _tool("session_list", "List earlier conversations, the newest first.", partial(session_list, folder)),
        _tool("session_history", "Read the end of a conversation, or one message of it whole.",
              partial(session_history, folder), optional="last entry offset", **history),
    ]  # fmt: skip
    if save:
        text = {**_TEXT, "description": "one fact, understandable on its own"}
        found.append(
            _tool("memory_save", "Note a fact in today's log.", partial(memory_save, folder, clock), text=text)
        )
    return tuple(found)


def memory_search(search: Search, arguments: Arguments) -> str:
    """The best 30 lines for a query, each with its source."""
    query = _query(arguments)
    found = search.memory(query)
    lines = [f"Source: {hit.path}#{hit.line}: {cut_middle(hit.text, MAX_LINE)}" for hit in found]
    return mask("\n".join([f"Found {len(found)} matches:", *lines])).text if found else _nothing("memories", query)


def memory_get(folder: JournalFolder, arguments: Arguments) -> str:
    """Some lines of MEMORY.md or a log, each behind its number."""
    path, start, end = _word(arguments, "path"), _number(arguments, "start", 1, 1), _number(arguments, "end", 0, 1)
    if not path:
        raise ToolProblem("`path` is required: name MEMORY.md or a file in memory/")
    if end and end < start:
        raise ToolProblem(f"`end` is {end}, before `start`, {start}: give the first line, then the last")
    file = inside(folder.path, path)
    if not _READABLE.fullmatch(file.relative_to(folder.path.resolve()).as_posix()):
        raise ToolProblem(
            f"{cut_middle(path, MAX_PREVIEW)} is outside the memory: only MEMORY.md and memory/*.md are read"
        )
    if not file.is_file():
        raise ToolProblem(f"{cut_middle(path, MAX_PREVIEW)} is not found: use a path that memory_search names")
    lines = read_text(file, MAX_FILE_BYTES).removesuffix("\n").split("\n")
    if start > len(lines):
        raise ToolProblem(f"the file ends at line {len(lines)}, before line {start}")
    end = min(end or len(lines), len(lines))
    shown = [f"{number}|{cut_middle(lines[number - 1], MAX_READ - 200)}" for number in range(start, end + 1)]
    kept = fitting(shown, lambda line: len(line) + 1, MAX_READ - 100)
    more = [f"(up to line {end} there is more: read on with start {start + len(kept)})"] * (len(kept) < len(shown))
    return mask("\n".join([*kept, *more])).text  # a person may have written into the file


def memory_save(folder: JournalFolder, clock: Clock, arguments: Arguments) -> str:
    """Append one bullet to today's log; MEMORY.md takes it in when it is made the next time."""
    text = _word(arguments, "text")
    if not text:
        raise ToolProblem("`text` is required: write the fact to keep")
    path, line = append(folder, [text], clock())
    return f"Saved under memory/{path.name}#{line}"


def session_search(search: Search, arguments: Arguments) -> str:
    """The best messages for a query, each with its conversation, role, entry and a preview."""
    query, limit = _query(arguments), min(_number(arguments, "limit", 10, 1), MAX_SESSIONS)
    found = search.sessions(query, limit)
    lines = [f"Session: {hit.path} {hit.note}: {preview(hit.text, query)}" for hit in found]
    return "\n".join([f"Found {len(found)} matches:", *lines]) if found else _nothing("messages", query)


def session_list(folder: JournalFolder, arguments: Arguments) -> str:
    """The conversations, the newest first: id, time of the last message, number of messages, first words."""
    sources = sorted(session_sources(folder.root), key=lambda source: int(source.stamp.split()[1]), reverse=True)
    listed = []
    for source in sources[:MAX_SESSIONS]:
        if entries := _messages(source.file):
            said = (without_recall(text_of(entry.message)) for entry in entries if entry.message.get("role") == "user")
            line = f"{source.path}  {entries[-1].time}  {len(entries)} messages  {preview(next(said, ''), '', 80)}"
            listed.append((entries[-1].time, line.rstrip()))
    more = [f"({len(sources) - MAX_SESSIONS} older ones)"] if len(sources) > MAX_SESSIONS else []
    return "\n".join([*(line for _, line in sorted(listed, reverse=True)), *more]) or "No conversations are archived"


def session_history(folder: JournalFolder, arguments: Arguments) -> str:
    """The last messages of a conversation, each behind its entry's id and time, or one message whole."""
    session, wanted = _word(arguments, "session"), _word(arguments, "entry")
    file = {source.path: source.file for source in session_sources(folder.root)}.get(session)
    if file is None:
        raise ToolProblem(f"no conversation is named {cut_middle(session, 80)!r}: session_list names them")
    entries = _messages(file)
    if wanted:
        return _whole(entries, wanted, _number(arguments, "offset", 0, 0))
    last = min(_number(arguments, "last", 20, 1), MAX_MESSAGES)
    turn = {entry.id: transcript([entry.message], MAX_SAID, MAX_SAID, MAX_SAID) for entry in entries[-last:]}
    return "\n".join(f"{entry.id} {entry.time} {cut_middle(turn[entry.id], MAX_SAID)}" for entry in entries[-last:])


def preview(text: str, query: str, size: int = MAX_PREVIEW) -> str:
    """At most `size` characters of a text in one line, from shortly before the first telling word of the query on.

    >>> preview("It was a long way home, but then the tea was ready.", "the tea", 30)
    '... ut then the tea was ready.'
    """
    text = " ".join(text.split())
    if len(text) <= size:
        return text
    plain = folded(text)
    place = min((place for word in telling(query) if (place := plain.find(word)) >= 0), default=0)
    start = max(0, min(place - size // 3, len(text) - size + 4))
    head = "... " if start else ""
    piece = text[start : start + size - len(head)]
    return head + (piece if start + len(piece) >= len(text) else f"{piece[:-4]} ...")


def _whole(entries: list[Entry], id: str, offset: int) -> str:
    found = next((entry.message for entry in entries if entry.id == id), None)
    if found is None:
        raise ToolProblem(f"no message has the id {cut_middle(id, 80)!r}: session_history without `entry` names them")
    calls = [call.get("function", {}) for call in found.get("tool_calls") or ()]
    said = [text_of(found), *(f"[CALL {call.get('name')}]: {call.get('arguments')}" for call in calls)]
    text = "\n".join(part for part in said if part)
    if offset and offset >= len(text):
        raise ToolProblem(f"the message ends before character {offset:,}: it has {len(text):,}")
    piece = text[offset : offset + MAX_READ]
    if len(piece) == len(text):
        return piece
    end = offset + len(piece)
    more = f"; read on with offset {end}" if end < len(text) else ""
    return f"(characters {offset:,} to {end:,} of {len(text):,}{more})\n{piece}"


def _messages(file: str) -> list[Entry]:
    return [entry for entry in read_entries(Path(file)) if entry.kind == "message"]


def _tool(
    name: str, description: str, run: Callable[[Arguments], str], optional: str = "", **properties: dict[str, str]
) -> Tool:
    required = [name for name in properties if name not in optional.split()]
    return Tool(name, description, {"type": "object", "properties": properties, "required": required}, run)


def _word(arguments: Arguments, key: str) -> str:
    value = arguments.get(key)
    return value.strip() if isinstance(value, str) else ""


def _query(arguments: Arguments) -> str:
    if query := _word(arguments, "query"):
        return query
    raise ToolProblem("No query provided")


def _number(arguments: Arguments, key: str, default: int, least: int) -> int:
    value = arguments.get(key)
    if value is None:
        return default
    if type(value) is not int or value < least:
        raise ToolProblem(f"`{key}` must be a whole number from {least} up")
    return value


def _nothing(what: str, query: str) -> str:
    return f"No matching {what} found for: {cut_middle(query, MAX_PREVIEW)}"
