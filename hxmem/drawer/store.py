"""The drawer: memories in a folder, written under a lock; the folder is the truth and the index follows it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from hxmem.credentials import mask
from hxmem.drawer.detail import DEFAULT_TYPE, MEMORY_TYPES, Memory, Problem, StoreProblem, render, tidy
from hxmem.drawer.folder import MAX_FILE_BYTES, Folder, folded, same
from hxmem.drawer.index import INDEX_FILE, foreign_lines, within_budget
from hxmem.drawer.keywords import Hit, Keywords
from hxmem.files import FileProblem, inside, lock, read_text, safe_name, state_folder, write_atomic
from hxmem.text import cut_middle, whole

MAX_QUERY = 10_000  # characters of a question that are searched for, start and end
MAX_KEPT_BYTES = 10_000_000
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")  # say nothing in a note
TRUST_FOLDER_ABOVE = 256  # files: above this a write trusts the folder's own time stamp instead of asking each file


@dataclass(frozen=True)
class WriteResult:
    """What became of one memory: "written", "replaced", "duplicate" or "rejected"; `masked` names credentials."""

    status: str
    name: str
    reason: str = ""
    masked: tuple[str, ...] = ()

    @property
    def stored(self) -> bool:
        """Whether the drawer changed."""
        return self.status in ("written", "replaced")


class MemoryStore:
    """Memories in one folder, safe for several processes: `MemoryStore(".harnessx/memory")`.

    Reading creates nothing. Every write takes the folder's lock, goes to a temporary file and is renamed.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._folder = Folder(self.folder)
        self._keywords = Keywords()
        self._seen: tuple[int, ...] = ()  # the folder's fingerprint after our last write

    @classmethod
    def of(cls, root: str | Path) -> Self:
        """The drawer of a project: `<root>/.harnessx/memory`, refused when a link leads it out of the project."""
        return cls(inside(Path(root), Path(root) / ".harnessx" / "memory"))

    def __repr__(self) -> str:
        return f"MemoryStore({self.folder.as_posix()!r})"

    def list(self) -> list[Memory]:
        """All readable memories, ordered by file name."""
        return self._folder.look().memories()

    def get(self, name: str) -> Memory | None:
        """The memory of this name or file name, whatever its case; None if there is none."""
        return self._folder.look().find(name)

    def newest(self, limit: int) -> tuple[Memory, ...]:
        """At most `limit` memories, the last written first."""
        entries = sorted(self._folder.look().entries.values(), key=lambda entry: entry.stamp, reverse=True)
        return tuple(entry.memory for entry in entries if entry.memory)[:limit]

    def search(self, query: str, limit: int = 5) -> tuple[Hit, ...]:
        """The memories that share telling words with the query, best first; none rather than unrelated ones."""
        return tuple(self._keywords.search(self.list(), cut_middle(query, MAX_QUERY), limit))

    def index(self) -> str:
        """The index as a request carries it: within the budget, the newest kept, "" when the drawer is empty."""
        return within_budget(self._folder.look().lines())

    def problems(self) -> tuple[Problem, ...]:
        """Everything in the folder that a person should mend: file, line, what to do."""
        names: dict[str, str] = {}
        memories = self.list()
        found = [problem for file in self._folder.files for problem in self._folder.entries[file].problems]
        for memory in memories:
            first = names.setdefault(folded(memory.name), memory.file)
            if first != memory.file:
                found.append(Problem(memory.file, 0, f"has the same name as {first}: rename one"))
        for path in sorted(self.folder.glob("[!.]*/*.md")):
            if not path.parent.is_symlink():
                place = path.relative_to(self.folder).as_posix()
                found.append(Problem(place, 0, "in a sub-folder, where notes aren't read: move it up"))
        index = self.folder / INDEX_FILE
        if (index.read_bytes() if index.is_file() else b"") != self._folder.index():
            found.append(Problem(INDEX_FILE, 0, "does not match the folder: run `hx memory reindex`"))
        return tuple(found)

    def write(self, memory: Memory) -> WriteResult:
        """Store one memory under its name; an existing one of that name is replaced and kept in `.history/`.

        The same description or body under another name is a duplicate and not written. Credentials are masked.
        """
        asked = memory.name
        memory, masked = _clean(memory)
        if not memory.description or not memory.body:
            return WriteResult("rejected", memory.name, f"no {'body' if memory.description else 'description'}")
        if len(render(memory).encode()) > MAX_FILE_BYTES:
            return WriteResult("rejected", memory.name, f"larger than {MAX_FILE_BYTES} bytes: keep the point, not all")
        with self._writing():
            old = self._folder.find(asked) or self._folder.find(f"{memory.name}.md")
            if old:  # read again, whatever its stamp says, for it may be replaced
                self._folder.take_in(old.file)
                old = self._folder.find(old.file)
            if old and same(old) == same(memory) and old.type == memory.type:
                return WriteResult("duplicate", old.name, "already in the drawer")
            if twin := self._folder.twin(memory, old.file if old else ""):
                return WriteResult("duplicate", memory.name, f"says the same as {twin.name}")
            if old:
                memory = replace(memory, name=old.name, extra=memory.extra or old.extra)
                self._keep(old.file)
            self._put(old.file if old else self._folder.free(memory.name), render(memory))
        return WriteResult("replaced" if old else "written", memory.name, masked=masked)

    def delete(self, name: str) -> bool:
        """Move a memory to `.history/`; False if there is none of this name."""
        with self._writing():
            memory = self._folder.find(name)
            if memory:
                (self.folder / memory.file).replace(self._history_file(memory.file))
                self._folder.forget(memory.file)
                self._follow()
        return memory is not None

    def restore(self, name: str) -> bool:
        """Bring back the newest earlier version of a memory; the present one, if any, goes to `.history/` itself."""
        with self._writing():
            memory = self._folder.find(name)
            gone = (f"{stem}.md" for stem in (name.removesuffix(".md"), safe_name(name)))
            file = memory.file if memory else next(filter(self._versions, gone), "")
            if versions := self._versions(file):
                text = read_text(versions[-1][1], MAX_FILE_BYTES)
                if file in self._folder.entries:
                    self._keep(file)
                self._put(file, text)
        return bool(versions)

    def reindex(self) -> int:
        """Write the index again from the folder; returns the number of memories."""
        with self._writing():
            self._write_index()
        return len(self.list())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """The folder made, locked and looked at; what the disk refuses becomes one sentence."""
        try:
            if self.folder.parent.name == ".harnessx":
                state_folder(self.folder.parent.parent, self.folder.name)
            self.folder.mkdir(parents=True, exist_ok=True)
            with lock(self.folder / ".lock"):
                if len(self._folder.files) <= TRUST_FOLDER_ABOVE or self._seen != self._folder.fingerprint():
                    self._folder.look()
                yield
                self._seen = self._folder.fingerprint()
        except (OSError, FileProblem) as error:
            raise StoreProblem(f"the memory could not be written: {getattr(error, 'strerror', '') or error}") from error

    def _put(self, file: str, text: str) -> None:
        write_atomic(self.folder / file, text)
        self._folder.take_in(file)
        self._follow()

    def _follow(self) -> None:
        """Let the index follow; what was written stays written when that fails, and `problems` tells of it."""
        with suppress(FileProblem, OSError):
            self._write_index()

    def _write_index(self) -> None:
        path = self.folder / INDEX_FILE
        ours = self._seen and self._seen[1:] == self._folder.fingerprint()[1:]
        if not ours and path.is_file():
            written = path.read_text("utf-8-sig", "backslashreplace")
            if foreign_lines(written, self._folder.files):  # somebody's own words: kept before it is made again
                self._keep(INDEX_FILE)
        write_atomic(path, self._folder.index())

    def _keep(self, file: str) -> None:
        path = inside(self.folder, file)
        if not path.is_file() or path.stat().st_size > MAX_KEPT_BYTES:
            raise FileProblem(f"{file} is no file that can be kept in .history: move it away.")
        write_atomic(self._history_file(file), path.read_text("utf-8-sig", "backslashreplace"))

    def _history_file(self, file: str) -> Path:
        inside(self.folder, ".history").mkdir(exist_ok=True)
        versions = self._versions(file)
        number = versions[-1][0] + 1 if versions else 1
        return self.folder / ".history" / f"{file.removesuffix('.md')}.{number}.md"

    def _versions(self, file: str) -> Sequence[tuple[int, Path]]:
        """Earlier versions of a file as (number, path), the newest last."""
        stem = file.removesuffix(".md").casefold()
        parts = [(path, *path.stem.rpartition(".")) for path in (self.folder / ".history").glob("*.md")]
        return sorted((int(n), path) for path, name, _, n in parts if name.casefold() == stem and n.isdecimal())


def _clean(memory: Memory) -> tuple[Memory, tuple[str, ...]]:
    """The memory as it may be stored: its type known, its text tidy, its credentials masked."""
    texts = (memory.name, memory.description, memory.body, memory.extra)
    name, description, body, extra = (mask(_CONTROL.sub("", whole(text))) for text in texts)
    kinds = tuple(dict.fromkeys(name.found + description.found + body.found + extra.found))
    kind = memory.type if memory.type in MEMORY_TYPES else DEFAULT_TYPE
    stem = safe_name(name.text.strip().removesuffix(".md"), fallback=description.text)
    return Memory(stem, kind, description.text.strip(), tidy(body.text), "", extra.text), kinds
