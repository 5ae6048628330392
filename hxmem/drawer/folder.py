"""What stands in the drawer's folder: files are read once and again only when they changed."""

import bisect
import os
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hxmem.drawer.detail import Memory, Problem, StoreProblem, parse
from hxmem.drawer.front_matter import Unreadable
from hxmem.drawer.index import INDEX_FILE, index_line
from hxmem.files import FileProblem, inside, read_text, safe_name
from hxmem.text import squash, whole

MAX_FILE_BYTES = 256_000  # a note is a page; a larger file is reported, not read


@dataclass(frozen=True)
class Entry:
    """One file: its stamp (time, size, inode) and what was read from it."""

    stamp: tuple[int, int, int]
    memory: Memory | None
    problems: tuple[Problem, ...] = ()


class Folder:
    """The files of one drawer in order of their names; `look` takes in what changed on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: list[str] = []
        self.entries: dict[str, Entry] = {}
        self._lines: list[bytes] = []  # the index line of each file, empty where there is no memory
        self._table: dict[str, list[str]] = {}  # what a memory is known by -> the files that have it
        self._compares = False  # whether texts stand in the table: only a write needs them, and all must be read for it

    def look(self) -> Self:
        """Compare every file's stamp with the one we know, and read what is new; no folder is an empty drawer."""
        try:
            with os.scandir(self.path) as entries:
                found = {entry.name: entry for entry in entries if _is_detail(entry.name)}
        except FileNotFoundError:
            found = {}
        except OSError as error:
            raise StoreProblem(f"the memory folder can't be read: {error.strerror or error}") from error
        for file in self.entries.keys() - found.keys():
            self.forget(file)
        for file, entry in found.items():
            known = self.entries.get(file)
            if known is None or entry.is_symlink() or known.stamp != _stamp(entry):
                self.take_in(file, _stamp(entry), linked=entry.is_symlink())
        return self

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
        return [(self.entries[file].stamp[0], line.decode()) for file, line in pairs if line]

    def index(self) -> bytes:
        """The index file as it should be; as bytes, for it is written whole after every write."""
        return b"\n".join([*filter(None, self._lines), b""]) if self._lines else b""

    def find(self, name: str) -> Memory | None:
        """A readable memory by its name, its file name, or the name hxmem would give it; case is ignored."""
        stems = (name.removesuffix(".md"), safe_name(name))
        return self._known_by(f"n:{folded(name)}", *(f"f:{folded(stem)}" for stem in stems))

    def twin(self, memory: Memory, file: str) -> Memory | None:
        """A memory in another file with the same description or the same body, punctuation and case aside."""
        if not self._compares:
            self._compares = True
            for known in self.memories():
                self._note(known.file, same(known))
        return self._known_by(*same(memory), but=file)

    def free(self, name: str) -> str:
        """A file name for a new memory that no file has, whatever its case."""
        stem, number = name, 1
        while self._table.get(f"f:{folded(stem)}") or os.path.lexists(self.path / f"{stem}.md"):
            number += 1
            stem = f"{name}-{number}"
        return f"{stem}.md"

    def take_in(self, file: str, stamp: tuple[int, int, int] | None = None, linked: bool = False) -> None:
        """Read one file again; one that can't be read stays in the list with its problem."""
        self.forget(file)
        memory, problems = self._read(file, linked)
        line = whole(index_line(memory)).encode() if memory else b""
        self.entries[file] = Entry(stamp or _stamp(self.path / file), memory, problems)
        place = bisect.bisect_left(self.files, file)
        self.files.insert(place, file)
        self._lines.insert(place, line)
        self._note(file, self._keys(memory))

    def _read(self, file: str, linked: bool) -> tuple[Memory | None, tuple[Problem, ...]]:
        try:
            if whole(file) != file:
                raise FileProblem("has a name that is not UTF-8: rename it.")
            path = inside(self.path, file) if linked else self.path / file
            return parse(read_text(path, MAX_FILE_BYTES), file)
        except (Unreadable, FileProblem, RecursionError, ValueError) as error:
            return None, (Problem(whole(file), getattr(error, "line", 0), str(error).removeprefix(f"{file} ")),)

    def forget(self, file: str) -> None:
        """Drop what we know of a file; the file itself isn't touched."""
        if entry := self.entries.pop(file, None):
            place = bisect.bisect_left(self.files, file)
            del self.files[place], self._lines[place]
            for key in self._keys(entry.memory):
                self._table[key].remove(file)

    def _keys(self, memory: Memory | None) -> tuple[str, ...]:
        if memory is None:
            return ()
        names = f"f:{folded(memory.file.removesuffix('.md'))}", f"n:{folded(memory.name)}"
        return (*names, *same(memory)) if self._compares else names

    def _note(self, file: str, keys: Iterable[str]) -> None:
        for key in keys:
            self._table.setdefault(key, []).append(file)

    def _known_by(self, *keys: str, but: str = "") -> Memory | None:
        files = (file for key in keys for file in sorted(self._table.get(key, ())) if file != but)
        return next((self.entries[file].memory for file in files), None)


def same(memory: Memory) -> tuple[str, str]:
    """The keys under which a memory counts as said before: its description and its body, punctuation and case aside."""
    description, body = (squash(text) or text for text in (memory.description, memory.body))
    return f"d:{description}", f"b:{body}"


def folded(name: str) -> str:
    """A name as a Mac and a disk that ignores case see it: two names that fold alike are one."""
    return unicodedata.normalize("NFC", name).casefold()


def _is_detail(name: str) -> bool:
    return name.casefold().endswith(".md") and not name.startswith(".") and name.casefold() != INDEX_FILE.casefold()


def _stamp(entry: os.DirEntry[str] | Path) -> tuple[int, int, int]:
    try:
        stat = entry.stat()
    except OSError:
        return (0, 0, 0)  # a link to nowhere, or deleted meanwhile: reading it says which
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
