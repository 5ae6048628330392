"""Safe file names, contained paths, atomic writes, bounded reads and locks."""

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from hxmem.text import edge, unix_lines

MAX_NAME_BYTES = 200  # file systems allow 255; the rest is room for an ending and a version
NEW_FILE_MODE = 0o600  # notes are private
_JOINER = "\u200d"  # ties emoji such as families together
_KEPT_SIGNS = frozenset("+#._-@&=~" + _JOINER)
_EDGES = ".-" + _JOINER
# The index and the device names of Windows, which claims them with any ending too.
_RESERVED = re.compile(r"(?i)^(memory|con|prn|aux|nul|(?:com|lpt)[1-9¹²³])(?=\.|\Z)")


class FileProblem(Exception):
    """A file or folder can't be used; the message says what to do and shows no absolute path."""


class OutsideRoot(FileProblem):
    """A path leaves its root folder."""


def safe_name(name: str, fallback: str = "") -> str:
    """Turn any text into the stem of a file name that is readable, portable and always the same.

    Spaces become "-". Where other characters are lost, a short hash keeps different names apart.
    An empty name is made from the start of `fallback`, a description. Case is kept: a caller
    compares names with `casefold`, since some disks ignore case.

    >>> safe_name("C++ notes"), safe_name("a/b"), safe_name("MEMORY"), safe_name("书桌 和 小抽屉")
    ('C++-notes', 'a-b-c14c', 'MEMORY-note', '书桌-和-小抽屉')
    """
    name = unicodedata.normalize("NFC", name)
    stem, lossy = _clean(name)
    if not stem:
        whole = unicodedata.normalize("NFC", " ".join(fallback.split()))
        head = _cut(" ".join(whole.split()[:8]), 120)  # 8 words or 40 Chinese characters
        stem, lossy_head = _clean(head)
        lossy = lossy or lossy_head or head != whole
        name += whole
    if not stem:
        return f"note-{_digest(name)[:6]}"
    if lossy:
        stem = f"{stem}-{_digest(name)[:4]}"
    stem = _RESERVED.sub(r"\1-note", stem)
    if len(stem.encode()) > MAX_NAME_BYTES:
        stem = f"{_cut(stem, MAX_NAME_BYTES - 7).rstrip(_EDGES)}-{_digest(name)[:6]}"
    return stem


def _clean(text: str) -> tuple[str, bool]:
    """Return the characters that may stay, and whether any but spaces and edges were lost."""
    lost = {char for char in set(text) if not _keeps(char)}
    stem = re.sub("-+", "-", "".join("-" if char in lost else char for char in text))
    return stem.strip(_EDGES), not all(char.isspace() for char in lost)


def _keeps(char: str) -> bool:
    # L, M, N: letters, marks and digits of every script; So and the five skin tones: emoji
    category = unicodedata.category(char)
    return category[0] in "LMN" or category == "So" or char in _KEPT_SIGNS or "\U0001f3fb" <= char <= "\U0001f3ff"


def _cut(text: str, size: int) -> str:
    """Return at most `size` bytes of `text`, not cut inside a letter with marks or a joined emoji."""
    return text[: edge(text, len(text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")), -1)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def inside(root: str | Path, path: str | Path) -> Path:
    """Return the real path of `path` under `root`, links followed; OutsideRoot if it leaves the root."""
    try:
        base = Path(root).resolve()
        full = (base / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL character
        raise OutsideRoot("This path can't be followed: name a plain file inside the folder.") from error
    if not full.is_relative_to(base):
        raise OutsideRoot(f"{Path(path).name or 'This path'} leads out of the folder: use a file inside it.")
    return full


def write_atomic(path: Path, text: str | bytes) -> None:
    """Replace a file in one step, so that a crash leaves the old text or the new one.

    A text is written as UTF-8 with LF, bytes as they are. A file keeps its permission bits, a new one is private.
    A killed process may leave a file named `.*.tmp`, which nobody reads.
    """
    try:
        data = text if isinstance(text, bytes) else unix_lines(text).encode("utf-8")
    except UnicodeEncodeError as error:
        raise FileProblem(f"{path.name} was not written: its text holds half a character; remove it.") from error
    try:
        handle, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:  # its write repeats a short write until all is out
                file.write(data)
                file.flush()
                os.fsync(handle)
            old = path.lstat().st_mode if os.path.lexists(path) else 0
            temporary.chmod(old & 0o777 if stat.S_ISREG(old) else NEW_FILE_MODE)
            temporary.replace(path)
        finally:
            with contextlib.suppress(OSError):  # renamed it is gone, and the first error is the one to report
                temporary.unlink()
    except (OSError, UnicodeError) as error:  # a name that the file system's encoding can't hold is the second
        why = getattr(error, "strerror", error)
        raise FileProblem(f"{path.name} could not be written ({why}): check folder and disk.") from error
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the file is in place; Windows and some disks can't flush a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_text(path: Path, limit: int) -> str:
    """Read a UTF-8 file of at most `limit` bytes with or without BOM, line ends as LF; else FileProblem."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb", 0) as file:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                raise FileProblem(f"{path.name} is not a regular file: move it away.")
            if info.st_size > limit:
                raise FileProblem(f"{path.name} has {info.st_size:,} bytes, over {limit:,}: shorten or move it.")
            return unix_lines(file.read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise FileProblem(f"{path.name} is not UTF-8 (line {line}): save it as UTF-8.") from error
    except (OSError, ValueError) as error:
        raise FileProblem(f"{path.name} can't be read ({getattr(error, 'strerror', error)}).") from error


@contextlib.contextmanager
def lock(path: Path, timeout: float = 10) -> Iterator[None]:
    """Hold a lock file while the block runs; FileProblem after `timeout` seconds. Not re-entrant."""
    from filelock import FileLock, Timeout  # only here: it brings asyncio and sqlite3, and who only reads needs no lock

    try:
        held = FileLock(path, timeout=timeout, mode=NEW_FILE_MODE, poll_interval=0.01).acquire()
    except Timeout:
        raise FileProblem(f"{path.name} is held by another process: let it end, then try again.") from None
    except OSError as error:
        raise FileProblem(f"{path.name} could not be locked ({error.strerror}): check its folder.") from error
    with held:
        yield


def state_folder(root: Path, *parts: str) -> Path:
    """Make and return a folder below `<root>/.harnessx`, which git ignores without touching the user's .gitignore."""
    state = root / ".harnessx"
    folder = state.joinpath(*parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (state / ".gitignore").exists():
            write_atomic(state / ".gitignore", "*\n")
    except OSError as error:
        raise FileProblem(f"{folder.name} could not be made ({error.strerror}): check the project's folder.") from error
    return folder


def find_root(start: str | Path) -> Path:
    """Return the nearest folder from `start` upwards that holds .harnessx or .git, else `start`."""
    here = Path(start).resolve()
    marked = (path for path in (here, *here.parents) if (path / ".harnessx").is_dir() or (path / ".git").exists())
    return next(marked, here)
