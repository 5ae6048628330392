"""The lines of an archive: how a message becomes an entry, and how entries are read and appended."""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hxmem.answers import Message
from hxmem.credentials import mask
from hxmem.files import NEW_FILE_MODE, FileProblem
from hxmem.text import whole

FIELDS = ("role", "name", "content", "reasoning_content", "tool_calls", "tool_call_id")  # what is kept of a message
_MODE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class Entry:
    """One line of an archive.

    The `desk` of a compaction holds ids of messages, and whole messages: a summary, which nobody said, or with the id
    as its "entry" a copy that was shortened on the desk.
    """

    kind: str
    id: str
    parent: str
    time: str
    message: Message = field(default_factory=dict)
    desk: tuple[Any, ...] = ()


def read_entries(path: Path) -> Iterator[Entry]:
    """The entries of one archive, line by line; what is no entry is skipped."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            yield from filter(None, map(_entry, file))
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileProblem(f"{path.name} can't be read ({error.strerror}): check its permissions.") from error


def last_entry(path: Path) -> tuple[str, bool]:
    """The id of an archive's last entry, and whether its last line lacks its end; reads from the back."""
    if not path.exists():
        return "", False
    size, block = path.stat().st_size, 1 << 16
    while True:
        with path.open("rb") as file:
            file.seek(max(0, size - block))
            tail = file.read()
        for line in reversed(tail.split(b"\n")[int(block < size) :]):
            if entry := _entry(line.decode("utf-8", "replace")):
                return entry.id, not tail.endswith(b"\n")
        if block >= size:
            return "", bool(tail) and not tail.endswith(b"\n")
        block *= 4


def add_lines(path: Path, data: bytes) -> None:
    """Append to a file, all or nothing as far as the disk allows it."""
    handle = os.open(path, _MODE, NEW_FILE_MODE)
    try:
        size, rest = os.fstat(handle).st_size, memoryview(data)
        try:
            while rest:
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)  # or the next try would write it twice
            raise
    finally:
        os.close(handle)


def record_of(message: Message) -> dict[str, Any]:
    """What the archive holds of a message: its own fields, without credentials and halves of characters."""
    return {name: _clean(message[name]) for name in FIELDS if name in message}


def _clean(value: Any, name: Any = "") -> Any:
    if isinstance(value, str):
        return _arguments(value) if name == "arguments" else mask(whole(value)).text
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return {whole(str(key)): _clean(item, key) for key, item in value.items()} if isinstance(value, dict) else value


def _arguments(text: str) -> str:
    """The arguments of a call without credentials; JSON stays JSON, since servers may refuse anything else."""
    try:
        value = json.loads(text)
        plain, cleaned = (json.dumps(item, ensure_ascii=False) for item in (value, _clean(value)))
    except (ValueError, RecursionError):
        return mask(whole(text)).text
    masked = mask(cleaned).text  # once more: the name of an argument may be the label of a credential
    if masked == plain:
        return text
    with contextlib.suppress(ValueError):
        json.loads(masked)
        return masked
    return json.dumps({"masked": masked}, ensure_ascii=False)


def _entry(line: str) -> Entry | None:
    """The entry on a line, None where there is none."""
    try:
        value = json.loads(line)
        kind, id, parent, time = [str(value[name]) for name in ("type", "id", "parent", "time")]
        if kind == "message":
            return Entry(kind, id, parent, time, fields(value))
        desk = [
            item if isinstance(item, str) else {**fields(item), "entry": str(item.get("entry", ""))}
            for item in value["desk"]
        ]
        return Entry(kind, id, parent, time, {}, tuple(desk)) if kind == "compaction" else None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def fields(value: Any) -> Message:
    """The message in a value of JSON; TypeError or LookupError where there is none."""
    calls = value.get("tool_calls") or []
    if isinstance(value["role"], str) and all(isinstance(call["function"], dict) for call in calls):
        return {name: value[name] for name in FIELDS if name in value}
    raise TypeError("no message")
