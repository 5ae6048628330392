"""Where the journal's files are, and the state that must outlive a process."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hxmem.files import FileProblem, OutsideRoot, inside, lock, read_text, state_folder, write_atomic

MAX_FILE_BYTES = 20_000_000  # of one log
_DAY = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])\.md")


@dataclass(frozen=True)
class State:
    """What was done so far; a file that is missing or damaged counts as nothing done, so that nothing is skipped."""

    consolidated: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # log -> bytes taken in, their SHA-256
    flushed: Mapping[str, str] = field(default_factory=dict)  # session -> the last archive entry that was flushed
    maintained: str = ""  # when the last whole pass of maintenance ended well, as an ISO time with its zone
    failed: int = 0  # passes since then that did not
    tried: str = ""  # when the last of these was


@dataclass(frozen=True)
class JournalFolder:
    """The journal of one project, in `<root>/.harnessx/journal`; asking for a path makes no folder."""

    root: Path

    @property
    def path(self) -> Path:
        """The journal's own folder."""
        return self.root / ".harnessx" / "journal"

    @property
    def memory(self) -> Path:
        """The second layer, which only the consolidator writes."""
        return self.path / "MEMORY.md"

    @property
    def logs(self) -> Path:
        """The folder of the first layer."""
        return self.path / "memory"

    @property
    def archive(self) -> Path:
        """Where old logs go; they are no longer searched."""
        return self.logs / "archive"

    @property
    def history(self) -> Path:
        """Earlier versions of MEMORY.md."""
        return self.path / ".history"

    @property
    def index(self) -> Path:
        """The database of the search; it can be made again from the files at any time."""
        return self.path / ".index.db"

    @property
    def results(self) -> Path:
        """Where the desk puts tool results that are too large for it."""
        return self.root / ".harnessx" / "large_tool_results"

    def days(self) -> list[Path]:
        """The logs, oldest first; files with other names are left alone."""
        return sorted(path for path in self.logs.glob("*.md") if _DAY.fullmatch(path.name) and self.holds(path))

    def holds(self, path: Path) -> bool:
        """Whether this is a file of the journal, and no link out of it."""
        try:
            return path.is_file() and inside(self.path, path).is_file()
        except OutsideRoot:
            return False

    def read_memory(self) -> str:
        """The text of MEMORY.md, "" when there is none; FileProblem when it is a link out of the journal."""
        return read_text(inside(self.path, self.memory.name), MAX_FILE_BYTES) if self.memory.exists() else ""

    def make(self) -> None:
        """Make the folders."""
        state_folder(self.root, "journal", "memory")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the journal's lock: for appending, replacing and moving files, never while a model is asked."""
        self.make()
        with lock(self.path / ".lock"):
            yield

    def state(self) -> State:
        """The state on disk; an empty one where it can't be read."""
        return self._state() or State()

    def state_is_whole(self) -> bool:
        """Whether the state on disk can be read."""
        return self._state() is not None

    def _state(self) -> State | None:
        try:
            value = json.loads(read_text(self.path / ".state.json", MAX_FILE_BYTES))
            done = {str(log): (int(size), str(digest)) for log, (size, digest) in value["consolidated"].items()}
            flushed = {str(session): str(entry) for session, entry in value["flushed"].items()}
            return State(
                done, flushed, str(value["maintained"]), int(value.get("failed", 0)), str(value.get("tried", ""))
            )
        except (FileProblem, ValueError, TypeError, KeyError, AttributeError):
            return None

    def write_state(self, state: State) -> None:
        """Replace the state; the caller holds the lock and has read the state under it."""
        write_atomic(self.path / ".state.json", json.dumps(asdict(state), ensure_ascii=False, indent=1) + "\n")


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, as the state holds it."""
    return hashlib.sha256(data).hexdigest()
