"""What stands in the drawer's folder: files are read once and again only when they changed."""

import bisect
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hxmem.drawer.detail import Memory, Problem, StoreProblem, parse
from hxmem.drawer.front_matter import Unreadable
from hxmem.drawer.index import INDEX_FILE, index_line
from hxmem.files import FileProblem, inside, read_text, safe_name
from hxmem.text import squash

MAX_FILE_BYTES = 256_000  # a note is a page; a larger file is reported, not read


@dataclass(frozen=True)
class Entry:
    """One file: its stamp (time, size, inode) and what was read from it."""

    stamp: tuple[int, int, int]
    memory: Memory | None
    problems: tuple[Problem, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The keys under which the memory is found by name."""
        if self.memory is None:
            return ()
        return f"f:{self.memory.file.removesuffix('.md').casefold()}", f"n:{self.memory.name.casefold()}"


class Folder:
    """The files of one drawer in order of their names; `look` takes in what changed on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: list[str] = []
        self.entries: dict[str, Entry] = {}
        self._lines: list[str] = []  # the index line of each file, "" where there is no memory
        self._names = _Table()
        self._said: _Table | None = None  # what was said before; only a write needs it, and it costs reading every text

    def look(self) -> None:
        """Compare every file's stamp with the one we know, and read what is new; no folder is an empty drawer."""
        found: dict[str, os.DirEntry[str]] = {}
        try:
            with os.scandir(self.path) as entries:
                found = {entry.name: entry for entry in entries if _is_detail(entry.name)}
        except FileNotFoundError:
            found = {}
        except OSError as error:
            raise StoreProblem(f"the memory folder can't be read: {error.strerror or error}") from error
        for file in [file for file in self.files if file not in found]:
            self.forget(file)
        for file, entry in found.items():
            known = self.entries.get(file)
            if known is None or entry.is_symlink() or known.stamp != _stamp(entry):
                self.take_in(file, _stamp(entry), linked=entry.is_symlink())

    def fingerprint(self) -> tuple[int, ...]:
        """Changes with every write of hxmem (the index is a new file each time) and every file that comes or goes."""
        folder, index = self.path.stat(), self.path / INDEX_FILE
        stat = index.stat() if index.exists() else folder
        return folder.st_mtime_ns, stat.st_mtime_ns, stat.st_ino, stat.st_size

    def memories(self) -> list[Memory]:
        """All readable memories, ordered by file name."""
        return [memory for file in self.files if (memory := self.entries[file].memory)]

    def lines(self) -> list[tuple[int, str]]:
        """The index: (time stamp, line) of each memory, ordered by file name."""
        pairs = zip(self.files, self._lines, strict=True)
        return [(self.entries[file].stamp[0], line) for file, line in pairs if line]

    def index_text(self) -> str:
        """The index file as it should be."""
        return "\n".join([*filter(None, self._lines), ""]) if self._lines else ""

    def find(self, name: str) -> str | None:
        """The file of a readable memory by its name, its file name, or the one hxmem would give; case is ignored."""
        stem = name.removesuffix(".md")
        keys = (f"n:{name.casefold()}", f"f:{stem.casefold()}", f"f:{safe_name(name).casefold()}")
        return next((file for key in keys for file in self._names.get(key, ())), None)

    def twin(self, memory: Memory, file: str | None) -> Memory | None:
        """Another memory with the same description or the same body, punctuation and case aside."""
        if self._said is None:
            self._said = _Table()
            for known in self.memories():
                self._said.add(known.file, same(known))
        twins = (other for key in same(memory) for other in self._said.get(key, ()) if other != file)
        return next((self.entries[twin].memory for twin in twins), None)

    def free(self, name: str) -> str:
        """A file name for a new memory that no file has, whatever its case."""
        stem, number = name, 1
        while f"f:{stem.casefold()}" in self._names or os.path.lexists(self.path / f"{stem}.md"):
            number += 1
            stem = f"{name}-{number}"
        return f"{stem}.md"

    def take_in(self, file: str, stamp: tuple[int, int, int] | None = None, linked: bool = False) -> None:
        """Read one file again; one that can't be read stays in the list with its problem."""
        self.forget(file)
        memory: Memory | None = None
        problems: tuple[Problem, ...] = ()
        path = self.path / file
        try:
            memory, problems = parse(read_text(inside(self.path, path) if linked else path, MAX_FILE_BYTES), file)
        except Unreadable as error:
            problems = (Problem(file, error.line, error.says),)
        except FileProblem as error:
            problems = (Problem(file, 0, str(error)),)
        entry = self.entries[file] = Entry(stamp or _stamp(path), memory, problems)
        place = bisect.bisect_left(self.files, file)
        self.files.insert(place, file)
        self._lines.insert(place, index_line(memory) if memory else "")
        self._names.add(file, entry.names)
        if self._said is not None and memory:
            self._said.add(file, same(memory))

    def forget(self, file: str) -> None:
        """Drop what we know of a file; the file itself isn't touched."""
        if entry := self.entries.pop(file, None):
            place = bisect.bisect_left(self.files, file)
            del self.files[place], self._lines[place]
            self._names.drop(file, entry.names)
            if self._said is not None and entry.memory:
                self._said.drop(file, same(entry.memory))


class _Table(dict[str, list[str]]):
    """Key -> the files that have it."""

    def add(self, file: str, keys: Iterable[str]) -> None:
        for key in keys:
            self.setdefault(key, []).append(file)

    def drop(self, file: str, keys: Iterable[str]) -> None:
        for key in keys:
            self[key].remove(file)
            if not self[key]:
                del self[key]


def same(memory: Memory) -> tuple[str, str]:
    """The keys under which a memory counts as said before: its description and its body, punctuation and case aside."""
    description, body = (squash(text) or text for text in (memory.description, memory.body))
    return f"d:{description}", f"b:{body}"


def _is_detail(name: str) -> bool:
    return name.casefold().endswith(".md") and not name.startswith(".") and name.casefold() != INDEX_FILE.casefold()


def _stamp(entry: os.DirEntry[str] | Path) -> tuple[int, int, int]:
    try:
        stat = entry.stat()
    except OSError:
        return (0, 0, 0)  # a link to nowhere, or deleted meanwhile: reading it says which
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
