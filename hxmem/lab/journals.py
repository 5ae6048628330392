"""The journal to look at: MEMORY.md and the daily logs as they are on disk, and how far they were consolidated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hxmem.files import FileProblem
from hxmem.journal.folder import MAX_FILE_BYTES, JournalFolder, State, digest
from hxmem.journal.ledger import bullets, closed
from hxmem.lab.columns import count
from hxmem.lab.page import Box, Line, Row, View, render
from hxmem.text import estimate_tokens, unix_lines

PLACE = ".harnessx/journal"
_LINES = 12  # of a log: its last ones
_SECTIONS, _VERSIONS = 12, 4  # of MEMORY.md, and of its earlier versions
_HEADING = re.compile(r"(?m)^(?=## )")


def show_journal(folder: JournalFolder | str | Path, limit: int = 7) -> View:
    """MEMORY.md, the newest `limit` logs, newest last, and the names of earlier versions; a path is the project's."""
    folder = folder if isinstance(folder, JournalFolder) else JournalFolder(Path(folder))
    days, archived = folder.days(), len(list(folder.archive.glob("*.md")))
    head = [f"JOURNAL  {PLACE}", count(len(days), "log")]
    head += [f"{count(archived, 'old log')} in memory/archive"] if archived else []
    hidden = days[: max(0, len(days) - limit)]
    earlier = [Line((f"… {count(len(hidden), 'earlier log')}",))] if hidden else []
    state = folder.state() if folder.memory.exists() else State()  # without MEMORY.md nothing counts as taken in
    logs = [_log(path, state) for path in days[len(hidden) :]]
    return render(Line(head), _memory(folder), *earlier, *logs, *_versions(folder))


def _memory(folder: JournalFolder) -> Box:
    if not folder.memory.exists():
        return Box(folder.memory.name, (), "not there yet")
    try:
        text = folder.read_memory().strip("\n")
    except FileProblem as error:
        return Box(folder.memory.name, (Row("!", str(error)),), "can't be read")
    sections = [part.strip("\n") for part in _HEADING.split(text) if part.strip()]
    rows = [Row("", part) for part in sections[:_SECTIONS]]
    more = len(sections) - _SECTIONS
    rows += [Row("", f"… ({count(more, 'more section')})")] if more > 0 else []
    entries = len(bullets(text))
    size = f"{entries:,} {'entry' if entries == 1 else 'entries'}, ~{estimate_tokens(text):,} tokens"
    return Box(folder.memory.name, rows, f"the long-term memory   {size}")


def _log(path: Path, state: State) -> Box:
    """One log, in two parts where only its beginning was consolidated."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise FileProblem(f"{path.name} has over {MAX_FILE_BYTES:,} bytes: shorten or move it.")
        data = path.read_bytes()
        words, done = _consolidated(path.name, data, state)
        texts = [unix_lines(part.decode("utf-8-sig")).strip("\n") for part in (data[:done], closed(data[done:]))]
    except (FileProblem, OSError) as error:
        return Box(path.name, (Row("!", getattr(error, "strerror", None) or str(error)),), "can't be read")
    except UnicodeDecodeError:
        return Box(path.name, (Row("!", "This log is not UTF-8: save it as UTF-8."),), "can't be read")
    labels = ("consolidated", "fresh") if all(texts) else ("", "")
    return Box(path.name, [Row(name, _end(text)) for name, text in zip(labels, texts, strict=True) if text], words)


def _consolidated(name: str, data: bytes, state: State) -> tuple[str, int]:
    """How much of a log was taken into MEMORY.md, in words and in bytes: known by its content, never by times."""
    size, known = state.consolidated.get(name, (0, ""))
    if (len(data), digest(data)) in state.consolidated.values():
        return f"all {count(len(data), 'byte')} consolidated", len(data)
    if known and digest(data[:size]) != known:
        return f"changed since it was consolidated, all {count(len(data), 'byte')} are fresh", 0
    if size:
        return f"{size:,} of {count(len(data), 'byte')} consolidated", size
    return f"none of {count(len(data), 'byte')} consolidated yet", 0


def _end(text: str) -> str:
    """The last lines of a log, where what is new stands."""
    lines = text.split("\n")
    left = len(lines) - _LINES
    return "\n".join([f"… ({count(left, 'earlier line')})", *lines[left:]]) if left > 1 else text


def _versions(folder: JournalFolder) -> Iterator[Line]:
    names: Sequence[str] = sorted(path.name for path in folder.history.glob("*.md"))
    if names:
        shown = ", ".join([*["…"] * (len(names) > _VERSIONS), *names[-_VERSIONS:]])
        yield Line((".history", count(len(names), "earlier version"), shown))
