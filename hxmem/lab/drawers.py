"""The drawer to look at: as it is on disk, and beside the desk of one request."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from hxmem.agent import AgentResult
from hxmem.drawer.detail import Memory
from hxmem.drawer.folder import MAX_FILE_BYTES
from hxmem.drawer.index import INDEX_FILE
from hxmem.drawer.recall import recall
from hxmem.drawer.store import MemoryStore
from hxmem.exchanges import Exchange
from hxmem.files import FileProblem, inside, read_text
from hxmem.lab.bodies import answer_of
from hxmem.lab.columns import count, cut, plain
from hxmem.lab.page import Beside, Box, Grid, Line, Row, View, render
from hxmem.lab.parts import all_in_words, body_tokens, notes_on
from hxmem.lab.sections import Note


def desk_and_drawer(result: AgentResult, store: MemoryStore | None = None, limit: int = 14) -> View:
    """The desk of a run's last answer request beside the drawer; what lies on the desk is read from its body.

    `store` is the drawer of the run's folder when left out. Of a long drawer `limit` notes are shown, those on the
    desk first.
    """
    store = store or MemoryStore.of(result.root)
    memories = store.list()
    asked = [exchange for exchange in result.exchanges if exchange.purpose == "answer"]
    places = _places(memories, notes_on(asked[-1].body) if asked else [])
    size = f"this request, ~{body_tokens(asked[-1].body):,} tokens" if asked else "no answer request in this run"
    desk = Grid(_desk(asked[-1]) if asked else (), caption=f"DESK  {size}")
    more = [("…", count(len(places) - limit, "more note"), "in the drawer")] if len(places) > limit else []
    caption = f"DRAWER  {place_of(store.folder)}, {count(len(memories), 'note')}"
    return render(Beside(desk, Grid([*places[:limit], *more], caption=caption, bold="on the desk")))


def _desk(exchange: Exchange) -> list[tuple[str, str]]:
    words = zip(exchange.messages, all_in_words(exchange.messages), strict=True)
    rows = [(str(message.get("role")), said) for message, said in words]
    if len(rows) > 12:
        rows[6:-5] = [("…", count(len(rows) - 11, "more message"))]
    return [*rows, ("answer", cut(plain(answer_of(exchange)[0]), 100))]


def _places(memories: Sequence[Memory], notes: Sequence[Note]) -> list[tuple[str, str, str]]:
    """(type, name, where) of every note, those on the desk first."""
    files = {memory.file: memory for memory in memories}
    rows = []
    for note in notes:
        known = files.pop(note.source, None)
        # The block is made again from the file: if that text was not sent, the file has changed since.
        state = "" if known and note.sent in recall([known]) else ", since changed" if known else ", not in the drawer"
        rows.append((note.type, note.name, f"on the desk{state}"))
    return rows + [(memory.type, memory.name, "in the drawer") for memory in files.values()]


def show_drawer(store: MemoryStore | str | Path, limit: int = 12) -> View:
    """The index and at most `limit` notes as they are on disk; a file that can't be read is shown with its problem."""
    store = store if isinstance(store, MemoryStore) else MemoryStore(store)
    kinds = {memory.file: memory.type for memory in store.list()}
    unread = sorted({problem.file for problem in store.problems()} - kinds.keys() - {INDEX_FILE})
    earlier = len(list((store.folder / ".history").glob("*.md")))
    head = [f"DRAWER  {place_of(store.folder)}", count(len(kinds), "note")]
    head += [f"{count(len(unread), 'file')} that can't be read"] if unread else []
    head += [f"{count(earlier, 'earlier version')} in .history"] if earlier else []
    index = "the index" if (store.folder / INDEX_FILE).is_file() else "no index"
    files = [(INDEX_FILE, index), *list(kinds.items())[:limit], *((file, "can't be read") for file in unread[:limit])]
    hidden = max(0, len(kinds) - limit) + max(0, len(unread) - limit)
    more = [Line((f"… {count(hidden, 'more file')}",))] if hidden else []
    return render(Line(head), *(Box(file, list(_file(store, file)), kind) for file, kind in files), *more)


def place_of(folder: Path) -> str:
    """The folder without the part that differs from machine to machine."""
    folder = folder.resolve()
    if folder.parts[-2:] == (".harnessx", "memory"):
        return ".harnessx/memory"
    return "a temporary folder" if folder.parent == Path(tempfile.gettempdir()).resolve() else folder.name


def _file(store: MemoryStore, file: str) -> Iterator[Row]:
    """A file as it is on disk, its front matter apart, and what is wrong with it."""
    try:
        text = read_text(inside(store.folder, store.folder / file), MAX_FILE_BYTES).strip("\n")
    except FileProblem:
        text = ""  # the file's problem, below, says why
    head, fence, body = text.partition("\n---\n")
    if file == INDEX_FILE or not (fence and head.startswith("---\n")):
        head, body = "", text
    yield from [Row("", f"{head}\n---", "head")] if head else []
    yield from [Row("", body.strip("\n"), "list" if file == INDEX_FILE else "prose")] if body else []
    for problem in store.problems():
        if problem.file == file:
            yield Row("!", f"line {problem.line}: {problem.says}" if problem.line else problem.says)
