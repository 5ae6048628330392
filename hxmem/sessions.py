"""The archive of a conversation: every message, whole, in `.harnessx/sessions/<id>.log.jsonl`, appended only.

One line is one entry: a message, or a "compaction" that says what stood on the desk from then on. An entry's id is
made from the id before it and its content, so the same conversation gets the same ids on every machine. Credentials
are masked; system messages, which are made anew for each run, are left out. A line that is no entry, such as the half
one that a killed process leaves, is skipped.
"""

import hashlib
import json
import secrets
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from hxmem.answers import Message
from hxmem.entries import FIELDS, Entry, add_lines, fields, last_entry, read_entries, record_of
from hxmem.files import FileProblem, lock, safe_name, state_folder
from hxmem.plugins import Plugin, Session, is_summary, without_recall
from hxmem.text import cut_middle

__all__ = [
    "Archive",
    "Clock",
    "Entry",
    "SessionLog",
    "archives",
    "new_id",
    "now",
    "read_entries",
    "text_of",
    "transcript",
]

FOLDER, ENDING = "sessions", ".log.jsonl"
LOST = "Error: the run ended before this call had a result."  # servers refuse a call without one
Clock = Callable[[], datetime]
Laid = tuple[Message, str]  # a message on the desk, and its entry or ""


def now() -> datetime:
    """The time of this machine, with its zone."""
    return datetime.now().astimezone()


def new_id(time: datetime) -> str:
    """A name for a conversation that has none: its time and a few random letters."""
    return f"{time:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


class SessionLog:
    """One conversation on disk; several processes may append to it. FileProblem when the disk refuses."""

    def __init__(self, root: Path, id: str, clock: Clock = now) -> None:
        self.root, self.id, self.clock = root, _stem(id), clock
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
        other = not session.archived and self._adopt(session)
        desk = [message for message in session.messages if message.get("role") != "system"]
        new = [message for message in desk if id(message) not in session.archived]
        for message, entry in zip(new, self._write("message", [record_of(m) for m in new]), strict=True):
            session.archived[id(message)] = (message, entry)
        if other:
            self.cut(session, desk)
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
        originals = {entry.id: _keys(entry.message)[0] for entry in self.entries() if entry.message}
        laid: list[Any] = []
        for message, entry in [session.archived[id(message)] for message in desk]:
            record = message if _keys(message)[0] == originals.get(entry) else record_of(message)
            same = _keys(record)[0] == originals.get(entry)
            laid.append(entry if same else {"entry": entry, **record} if entry else record)
        self._write("compaction", [{"desk": laid}])

    def entries(self) -> list[Entry]:
        """All entries in their order."""
        return list(read_entries(self.path))

    def restore(self, session: Session | None = None) -> list[Message]:
        """The messages as they lay on the desk at the end, without the system message; [] when there is no archive.

        A call whose result a killed run did not write gets a sentence for it.
        """
        desk = _desk(self.entries())
        if session is not None:
            session.archived.update({id(message): (message, entry) for message, entry in desk})
        return [message for message, _ in desk]

    def _adopt(self, session: Session) -> bool:
        """Recognise a history of copies that was archived before; True when it is not what lay on the desk at the end.

        Which of several equal entries a message gets makes no difference. A shortened call or result is known by id.
        """
        history = _history(session)
        entries = self.entries() if history else []
        desk, places, used = _desk(entries), defaultdict[str, list[str]](list), set[str]()
        for message, entry in [*((entry.message, entry.id) for entry in entries if entry.message), *desk]:
            for key in _keys(message)[: 2 if entry else 1]:
                places[key].append(entry)
        raw = [(message, _keys(message)) for message in history]
        keys = [key if key[0] in places else _keys(record_of(message)) for message, key in raw]  # masking is slow
        if [exact for exact, _ in keys] == [_keys(message)[0] for message, _ in desk]:
            session.archived.update({id(m): (m, entry) for m, (_, entry) in zip(history, desk, strict=True)})
            return False
        for exactly in (True, False):
            for message, (exact, rough) in reversed(list(zip(history, keys, strict=True))):
                place = places[exact] if exactly else places[rough] if rough else []
                while place and id(message) not in session.archived:
                    if (entry := place.pop()) not in used:
                        session.archived[id(message)] = (message, entry)
                        used |= {entry} - {""}
        for message in filter(is_summary, history):
            session.archived.setdefault(id(message), (message, ""))
        return bool(entries or session.archived)

    def _write(self, kind: str, records: Sequence[dict[str, Any]]) -> list[str]:
        """Append entries, each with its id and the id before it; returns the ids."""
        if not records:
            return []
        folder, ids, lines = state_folder(self.root, FOLDER), list[str](), list[str]()
        time = self.clock().isoformat(timespec="seconds")
        try:
            with lock(folder / ".lock"):
                parent, torn = last_entry(self.path)
                for record in records:
                    text = json.dumps(record, ensure_ascii=False, sort_keys=True)
                    ids.append(hashlib.sha256(f"{parent}\n{kind}\n{text}".encode()).hexdigest()[:12])
                    head = {"type": kind, "id": ids[-1], "parent": parent, "time": time}
                    lines.append(json.dumps({**head, **record}, ensure_ascii=False) + "\n")
                    parent = ids[-1]
                add_lines(self.path, b"\n" * torn + "".join(lines).encode())
        except OSError as error:
            raise FileProblem(f"{self.path.name} could not be written ({error.strerror}): check the disk.") from error
        return ids


class Archive(Plugin):
    """Keeps a conversation on disk and goes on with it: `Agent(client, plugins=[Archive("chat-7"), Drawer()])`."""

    name = "archive"

    def __init__(self, id: str = "", clock: Clock = now) -> None:
        self.id, self.clock, self._told = id, clock, ""

    def session_start(self, session: Session) -> None:
        """Lay what was said before back on the desk, unless the caller did."""
        self._told, session.id = "", self.id or session.id
        if self.id and not session.messages:
            session.messages = SessionLog.of(session, self.clock).restore(session)
            count = len(session.messages)
            how = f"goes on with {count} messages" if count else "a new conversation"
            session.notify(f"[ARCHIVE] {self.id}: {how}")

    def before_request(self, session: Session) -> None:
        """Write down what was said since the last request; the same trouble is told once a run."""
        try:
            SessionLog.of(session, self.clock).append(session)
        except FileProblem as error:
            if str(error) != self._told:
                session.notify(f"[ARCHIVE] what was said is not written down: {error}")
            self._told = str(error)

    def stop(self, session: Session) -> None:
        """Write down the answer."""
        self.before_request(session)


def archives(root: Path) -> list[Path]:
    """The files of all archived conversations of a project, ordered by name."""
    return sorted(path for path in (root / ".harnessx" / FOLDER).glob(f"*{ENDING}") if path.is_file())


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
            function = call.get("function") or {}
            turns.append(f"[CALL {function.get('name')}]: {cut_middle(str(function.get('arguments')), called)}")
    return "\n".join("\n  ".join(turn.splitlines()) for turn in turns)


def text_of(message: Message) -> str:
    """The text of a message, also where its content comes in parts."""
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and part.get("text"))
    return content if isinstance(content, str) else ""


def _stem(id: str) -> str:
    """The name of an archive's file; different ids have different ones, on disks that ignore case too."""
    id = unicodedata.normalize("NFC", id)
    stem, mark = safe_name(id).lower(), hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()
    return stem if stem == id or stem.endswith((mark[:4], mark[:6])) else f"{stem}-{mark[:4]}"


def _keys(record: Message) -> tuple[str, str]:
    """What tells a message from others, and what still does when its texts were shortened: the ids of its calls."""
    fields = [record.get(name) for name in FIELDS if name != "reasoning_content"]
    ids = [record.get("tool_call_id"), *(call.get("id") for call in record.get("tool_calls") or ())]
    return json.dumps(fields, sort_keys=True), json.dumps([record.get("role"), *ids]) if any(ids) else ""


def _history(session: Session) -> list[Message]:
    """What was said before the request of this run, which is new whatever it says."""
    messages = [message for message in session.messages if message.get("role") != "system"]
    places = (at for at, m in enumerate(messages) if m.get("role") == "user" and text_of(m).endswith(session.task))
    return messages[: max(places, default=-1)]


def _desk(entries: Iterable[Entry]) -> list[Laid]:
    """What lay on the desk after these entries."""
    desk, known = list[Laid](), dict[str, Message]()
    for entry in entries:
        if entry.kind == "message":
            known[entry.id] = entry.message
            desk.append((entry.message, entry.id))
        else:
            laid = [(known.get(m, {}), m) if isinstance(m, str) else (fields(m), m["entry"]) for m in entry.desk]
            desk = [(message, id) for message, id in laid if message]
    return _paired(desk)


def _paired(desk: Iterable[Laid]) -> list[Laid]:
    """The desk with each call's results right behind it: a killed run leaves out some, two runs at once mix theirs."""
    groups, waiting = list[tuple[Laid, dict[str, Laid]]](), dict[str, dict[str, Laid]]()
    for message, entry in desk:
        if message["role"] == "tool":
            call = str(message.get("tool_call_id"))
            if results := waiting.pop(call, None):
                del results[call]
                results[call] = (message, entry)  # results keep the order in which they came
            continue
        calls = [str(call.get("id")) for call in message.get("tool_calls") or ()]
        lost: dict[str, Laid] = {c: ({"role": "tool", "tool_call_id": c, "content": LOST}, "") for c in calls}
        groups.append(((message, entry), lost))
        waiting |= dict.fromkeys(calls, lost)
    return [laid for said, results in groups for laid in (said, *results.values())]
