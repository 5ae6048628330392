"""The archive of a conversation: every message, whole, in `.harnessx/sessions/<id>.log.jsonl`, appended only.

One line is one entry: a message, or a "compaction" that says what stood on the desk from then on. An entry's id is
made from the id before it and its content, so the same conversation gets the same ids on every machine. Credentials
are masked; system messages, which are made anew for each run, are left out.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Self

from hxmem.answers import Message
from hxmem.credentials import mask
from hxmem.files import FileProblem, lock, safe_name, state_folder
from hxmem.plugins import Plugin, Session, is_summary, without_recall
from hxmem.text import cut_middle, whole

FOLDER, ENDING = "sessions", ".log.jsonl"
_FIELDS = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id")
Clock = Callable[[], datetime]


def now() -> datetime:
    """The time of this machine, with its zone."""
    return datetime.now().astimezone()


def new_id(time: datetime) -> str:
    """A name for a conversation that has none: its time and a few random letters."""
    return f"{time:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


@dataclass(frozen=True)
class Entry:
    """One line of an archive; `desk` of a compaction holds entry ids, and messages that have no entry of their own."""

    kind: str
    id: str
    parent: str
    time: str
    message: Message = field(default_factory=dict)
    desk: tuple[Any, ...] = ()


class SessionLog:
    """One conversation on disk; several processes may append to it."""

    def __init__(self, root: Path, id: str, clock: Clock = now) -> None:
        self.root, self.id, self.clock = root, safe_name(id), clock
        self.path = root / ".harnessx" / FOLDER / f"{self.id}{ENDING}"

    @classmethod
    def of(cls, session: Session, clock: Clock = now) -> Self:
        """The archive of a session, which gets an id if it has none."""
        session.id = session.id or new_id(clock())
        return cls(session.root, session.id, clock)

    @property
    def name(self) -> str:
        """The file, as a path below the project's folder."""
        return self.path.relative_to(self.root).as_posix()

    def append(self, session: Session) -> int:
        """Write the messages of the desk that are not in the archive yet; returns how many these were."""
        if not session.archived:
            self._adopt(session)
        new = [m for m in session.messages if m.get("role") != "system" and id(m) not in session.archived]
        for message, entry in zip(new, self._write([{"type": "message", **_record(m)} for m in new]), strict=True):
            session.archived[id(message)] = (message, entry)
        return len(new)

    def same(self, session: Session, old: Message, new: Message) -> None:
        """Let a shortened copy stand for its original, which is in the archive."""
        if id(old) in session.archived:
            session.archived[id(new)] = (new, session.archived[id(old)][1])

    def cut(self, session: Session, desk: Sequence[Message]) -> None:
        """Write down what stands on the desk after older messages left it; `desk` is without the system message.

        What is new on it, a summary, is kept within this entry: nobody said it, so it is no message of its own.
        """
        for message in desk:
            session.archived.setdefault(id(message), (message, ""))
        self._write([{"type": "compaction", "desk": [session.archived[id(m)][1] or _record(m) for m in desk]}])

    def entries(self) -> list[Entry]:
        """All entries in their order; a line that a killed process left unfinished is skipped."""
        return list(read_entries(self.path))

    def restore(self, session: Session | None = None) -> list[Message]:
        """The messages as they lay on the desk at the end, without the system message; [] when there is no archive."""
        desk, known = list[tuple[Message, str]](), dict[str, Message]()
        for entry in self.entries():
            if entry.kind == "message":
                known[entry.id] = entry.message
                desk.append((entry.message, entry.id))
            else:
                kept = [(known.get(m, {}), m) if isinstance(m, str) else (dict(m), "") for m in entry.desk]
                desk = [(message, id) for message, id in kept if message]
        desk = _paired(desk)
        if session is not None:
            session.archived.update({id(message): (message, entry) for message, entry in desk})
        return [message for message, _ in desk]

    def _adopt(self, session: Session) -> None:
        """Recognise messages that an earlier run archived, in a history that was handed over as copies."""
        known = [(_key(entry.message), entry.id) for entry in self.entries() if entry.kind == "message"]
        history = session.messages[:-1]  # the last one is new, whatever it says
        keys = [_key(_record(message)) for message in history]
        matcher = SequenceMatcher(None, [key for key, _ in known], keys, autojunk=False)
        for start, at, size in matcher.get_matching_blocks():
            for step in range(size):
                message = history[at + step]
                session.archived[id(message)] = (message, known[start + step][1])
        for message in filter(is_summary, history):
            session.archived.setdefault(id(message), (message, ""))

    def _write(self, records: Sequence[dict[str, Any]]) -> list[str]:
        """Append entries, each with its id and the id before it; returns the ids."""
        if not records:
            return []
        folder, ids, lines = state_folder(self.root, FOLDER), list[str](), list[str]()
        time = self.clock().isoformat(timespec="seconds")
        with lock(folder / ".lock"):
            parent, torn = _last(self.path)
            for record in records:
                kind, rest = record["type"], {key: value for key, value in record.items() if key != "type"}
                text = json.dumps(rest, ensure_ascii=False, sort_keys=True)
                entry = hashlib.sha256(f"{parent}\n{kind}\n{text}".encode()).hexdigest()[:12]
                head = {"type": kind, "id": entry, "parent": parent, "time": time}
                lines.append(json.dumps({**head, **rest}, ensure_ascii=False) + "\n")
                ids.append(entry)
                parent = entry
            try:
                with self.path.open("ab") as file:
                    self.path.chmod(0o600)
                    file.write(b"\n" * torn + "".join(lines).encode())
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise FileProblem(
                    f"{self.path.name} could not be written ({error.strerror}): check the disk."
                ) from error
        return ids


class Archive(Plugin):
    """Keeps a conversation on disk and goes on with it: `Agent(client, plugins=[Archive("chat-7"), Drawer()])`."""

    name = "archive"

    def __init__(self, id: str = "", clock: Clock = now) -> None:
        self.id, self.clock = id, clock

    def session_start(self, session: Session) -> None:
        """Lay what was said before back on the desk, unless the caller did."""
        session.id = self.id or session.id
        if self.id and not session.messages:
            session.messages = SessionLog.of(session, self.clock).restore(session)

    def before_request(self, session: Session) -> None:
        """Write down what was said since the last request."""
        SessionLog.of(session, self.clock).append(session)

    def stop(self, session: Session) -> None:
        """Write down the answer."""
        SessionLog.of(session, self.clock).append(session)


def read_entries(path: Path) -> Iterator[Entry]:
    """The entries of one archive, line by line; what is no entry is skipped."""
    try:
        file = path.open(encoding="utf-8", errors="replace", newline="\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileProblem(f"{path.name} can't be read ({error.strerror}): check its permissions.") from error
    with file:
        for line in file:
            try:
                value = json.loads(line)
                message = {name: value[name] for name in _FIELDS if name in value}
                head = [str(value[name]) for name in ("type", "id", "parent", "time")]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
            if head[0] in ("message", "compaction"):
                yield Entry(head[0], head[1], head[2], head[3], message, tuple(value.get("desk") or ()))


def archives(root: Path) -> list[Path]:
    """The files of all archived conversations of a project, ordered by name."""
    return sorted((root / ".harnessx" / FOLDER).glob(f"*{ENDING}"))


def transcript(messages: Iterable[Message], said: int = 4_000, called: int = 500, result: int = 1_000) -> str:
    """The messages as text, one turn after the other, for a model to read: `[USER]: ...`, further lines indented.

    The system message and summaries are left out, a recalled block too; the limits are characters of what was said, of
    the arguments of a call, of a tool's result.

    >>> print(transcript([{"role": "user", "content": "Hello\\nthere"}, {"role": "assistant", "content": "Hi."}]))
    [USER]: Hello
      there
    [ASSISTANT]: Hi.
    """
    turns: list[str] = []
    for message in messages:
        role, content = str(message.get("role")), text_of(message)
        if role == "system" or is_summary(message):
            continue
        content = without_recall(content) if role == "user" else content
        if content.strip():
            turns.append(f"[{role.upper()}]: {cut_middle(content.strip(), result if role == 'tool' else said)}")
        for call in message.get("tool_calls") or ():
            function = call.get("function", {})
            turns.append(f"[CALL {function.get('name')}]: {cut_middle(str(function.get('arguments')), called)}")
    return "\n".join("\n  ".join(turn.splitlines()) for turn in turns)


def text_of(message: Message) -> str:
    """The text of a message, also where its content comes in parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _record(message: Message) -> dict[str, Any]:
    """What the archive holds of a message: its own fields, without credentials and halves of characters."""
    return {name: _clean(message[name]) for name in _FIELDS if message.get(name) is not None}


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return mask(whole(value)).text
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return {key: _clean(item) for key, item in value.items()} if isinstance(value, dict) else value


def _key(record: Message) -> str:
    return json.dumps([record.get(name) for name in _FIELDS if name != "reasoning_content"], sort_keys=True)


def _paired(desk: list[tuple[Message, str]]) -> list[tuple[Message, str]]:
    """The desk without calls that have no results, which a killed run leaves at its end and servers refuse."""
    for at in range(len(desk) - 1, -1, -1):
        if wanted := {call.get("id") for call in desk[at][0].get("tool_calls") or ()}:
            found = {message.get("tool_call_id") for message, _ in desk[at + 1 :]}
            return desk if wanted <= found else desk[:at]
    return desk


def _last(path: Path) -> tuple[str, bool]:
    """The id of an archive's last entry, and whether its last line lacks its end; reads from the back."""
    if not path.exists():
        return "", False
    size, block = path.stat().st_size, 1 << 16
    while True:
        with path.open("rb") as file:
            file.seek(max(0, size - block))
            tail = file.read()
        for line in reversed(tail.split(b"\n")[int(block < size) :]):
            try:
                return str(json.loads(line)["id"]), not tail.endswith(b"\n")
            except (ValueError, KeyError, TypeError):
                continue
        if block >= size:
            return "", bool(tail) and not tail.endswith(b"\n")
        block *= 4
