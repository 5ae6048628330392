"""The consolidation: MEMORY.md is made anew from its present text and from what the logs say since the last time.

How far a log was taken in is known by its content: so many bytes with this SHA-256. Time stamps are never looked at.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path

from hxmem.credentials import mask
from hxmem.errors import CutAnswer
from hxmem.files import FileProblem, lock, write_atomic
from hxmem.journal.checking import FRESH_LABEL, PRESENT_LABEL, Checked, check
from hxmem.journal.folder import MAX_FILE_BYTES, JournalFolder, State, digest
from hxmem.journal.ledger import closed, portions
from hxmem.language import language, sentences
from hxmem.plugins import Ask
from hxmem.text import cut_middle

MAX_FRESH = 30_000  # characters of the logs in one request; more are taken in step by step
ROOM = 0.9  # of the budget in characters that the model is told: it can't count them
MAX_PORTIONS = 20  # of one run; a journal of years whose MEMORY.md was deleted takes several
TRIES = 2  # the second one is told what was wrong with the first
_BLOCK = re.compile(rb"^[^ \t\r\n]", re.MULTILINE)  # what isn't indented: an entry, a heading, a line of prose
_HEADER = re.compile(r"## \d\d:\d\d:\d\d( .*)?")  # the ledger's own: the order of the entries says as much

Marks = Mapping[str, tuple[int, str]]  # by log: how many bytes were taken in, and their SHA-256


@dataclass(frozen=True)
class Consolidation:
    """What became of MEMORY.md: "written", "nothing new", "refused" or "busy"; `reason` names what could not be done.

    `logs` were taken in, also where a later part was refused; `dropped` are entries that are no longer in MEMORY.md.
    """

    status: str
    reason: str = ""
    before: str = ""
    after: str = ""
    logs: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """A part of a log that was not taken in yet, and how far the log is taken in with it."""

    log: str
    text: str
    mark: tuple[int, str]


@dataclass(frozen=True)
class Fresh:
    """What is new in the logs, oldest first; the state that taking it in leads to; logs that can't be read."""

    pieces: tuple[Piece, ...]
    state: State
    problems: tuple[str, ...] = ()


@dataclass
class _Run:
    """One consolidation under way: MEMORY.md as it was sent, how far the logs are taken in, and what was done."""

    text: str
    marks: Marks
    logs: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    written: bool = False
    refused: str = ""


def consolidate(
    folder: JournalFolder, ask: Ask, now: datetime, lang: str = "", max_tokens: int = 4_000, prompt: str = ""
) -> Consolidation:
    """Take what is new in the logs into MEMORY.md, portion by portion, each written before the next is asked for.

    A reply that fails `check` twice changes nothing. It never raises for what a model or a disk does. Nothing is locked
    while the model is asked; another consolidation at the same time is "busy". `prompt` replaces the instruction.
    """
    try:
        folder.make()
        with ExitStack() as held:
            try:
                held.enter_context(lock(folder.path / ".consolidation.lock", timeout=0))
            except FileProblem as error:
                return Consolidation("busy", f"{error}")
            return _consolidate(folder, ask, now, _instruction(lang, max_tokens, prompt), max_tokens)
    except Exception as error:  # whatever the disk raises: the logs are still there and still fresh
        return Consolidation("refused", f"{error}" or type(error).__name__)


def _consolidate(
    folder: JournalFolder, ask: Ask, now: datetime, instruction: tuple[str, str], max_tokens: int
) -> Consolidation:
    with folder.locked():
        before, state, there = folder.read_memory(), folder.state(), folder.memory.exists()
        new = fresh(folder, state)
    run = _Run(before, state.consolidated if there else {})
    every = portions(new.pieces, lambda piece: len(piece.text) + 1, MAX_FRESH)
    groups = every[:MAX_PORTIONS]
    more = [f"{len(every) - MAX_PORTIONS} more portions of the logs are left for the next time"] * (groups != every)
    for number, group in enumerate(groups, 1):
        reached = {piece.log: piece.mark for piece in group}
        marks = new.state.consolidated if number == len(every) else {**run.marks, **reached}
        try:
            checked = _ask(ask, instruction, run.text, group, max_tokens)
            run.refused = checked.reason or _commit(folder, run, checked.text, marks, now)
        except Exception as error:  # the model's client or the disk: earlier portions are in the file
            run.refused = f"{error}" or type(error).__name__
        if run.refused:
            break
        run.logs += reached
        run.dropped += checked.superseded + checked.missing
    if not groups and there and new.state != state:  # blank lines and headers: no words to ask about
        _commit(folder, run, run.text, new.state.consolidated, now)
    status = "refused" if run.refused else "written" if run.written else "nothing new"
    reason = "; ".join(filter(None, [run.refused, *more, *new.problems]))
    return Consolidation(status, reason, before, run.text, tuple(dict.fromkeys(run.logs)), tuple(run.dropped))


def fresh(folder: JournalFolder, state: State) -> Fresh:
    """What the logs hold that was not taken in yet; everything, when there is no MEMORY.md. It asks no model.

    A log that begins with exactly the bytes that were taken in is new from there on, any other one as a whole.
    """
    marks = dict(state.consolidated) if folder.memory.exists() else {}
    done, reached = set(marks.values()), dict(marks)
    pieces: list[Piece] = []
    problems: list[str] = []
    for path in sorted([*folder.archive.glob("*.md"), *folder.days()], key=lambda path: path.name):
        log = path.relative_to(folder.logs).as_posix()
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise FileProblem(f"it has more than {MAX_FILE_BYTES:,} bytes")
            data = path.read_bytes()
            whole_file = len(data), digest(data)
            if whole_file not in done:  # an archived log may have got another name
                size, known = marks.get(log, (0, ""))
                pieces += _pieces(log, data, size if digest(data[:size]) == known else 0)
            reached[log] = whole_file
        except (OSError, ValueError, FileProblem) as error:
            problems.append(f"{log} was left out until it is mended ({getattr(error, 'strerror', error)})")
    return Fresh(tuple(pieces), replace(state, consolidated=reached), tuple(problems))


def _pieces(log: str, data: bytes, done: int) -> list[Piece]:
    """The blocks of a log that reach beyond its first `done` bytes."""
    starts = sorted({0, *(found.start() for found in _BLOCK.finditer(data))})
    sha, pieces = hashlib.sha256(), list[Piece]()
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        block = data[start:end]
        sha.update(block)
        if start + len(block.rstrip()) > done:
            text = closed(block).decode("utf-8-sig").rstrip()
            if text.strip() and not _HEADER.fullmatch(text):
                pieces.append(Piece(log, cut_middle(text, MAX_FRESH), (end, sha.hexdigest())))
    return pieces


def _instruction(lang: str, max_tokens: int, prompt: str) -> tuple[str, str]:
    """What the model is asked to do within the budget, and the sentence of a second try."""
    words = sentences(__file__, lang)
    characters = round(ROOM * max_tokens / (0.3 if language(lang) == "en" else 0.6), -2)  # as estimate_tokens weighs
    asked = (prompt or words["consolidate"]).strip()
    return asked.replace("{tokens}", f"{max_tokens}").replace("{characters}", f"{characters:.0f}"), words["again"]


def _ask(ask: Ask, instruction: tuple[str, str], present: str, group: Sequence[Piece], max_tokens: int) -> Checked:
    """The reply to one portion, checked; a reply that is no good gets a second try."""
    said = mask("\n".join(_shown(group))).text  # a person may have written into a log
    asked, checked = instruction[0], Checked("")
    for _ in range(TRIES):
        content = f"{asked}\n\n{PRESENT_LABEL}\n{mask(present).text.strip() or '(none)'}\n\n{FRESH_LABEL}\n{said}"
        try:
            checked = check(ask([{"role": "user", "content": content}]), present, said, max_tokens)
        except CutAnswer as error:
            checked = Checked("", reason=f"{error}")
        if not checked.reason:
            break
        asked = f"{instruction[0]}\n{instruction[1].replace('{reason}', checked.reason)}"
    return checked


def _shown(group: Sequence[Piece]) -> Iterator[str]:
    for log, pieces in groupby(group, key=lambda piece: piece.log):
        yield f"### {Path(log).name}"
        yield from (piece.text for piece in pieces)


def _commit(folder: JournalFolder, run: _Run, text: str, marks: Marks, now: datetime) -> str:
    """Write MEMORY.md, then how far the logs are taken in; or say why not, and change nothing."""
    with folder.locked():
        if folder.read_memory() != run.text:
            return "MEMORY.md was changed meanwhile: it stays as it is, and the logs are taken in the next time"
        if text != run.text and text.strip():
            if not folder.memory.exists():  # made anew: a process killed here must not leave the old marks beside it
                folder.write_state(replace(folder.state(), consolidated=run.marks))
            _keep(folder, now)
            write_atomic(folder.memory, text)
            run.text, run.written = text, True
        folder.write_state(replace(folder.state(), consolidated=marks))
        run.marks = marks
    return ""


def _keep(folder: JournalFolder, now: datetime) -> None:
    """Lay the present MEMORY.md, byte for byte, beside its earlier versions; none of these is ever overwritten."""
    if folder.memory.exists():
        folder.history.mkdir(exist_ok=True)
        stem, number = f"MEMORY.{now:%Y%m%d-%H%M%S}", 1
        path = folder.history / f"{stem}.md"
        while path.exists():
            number += 1
            path = folder.history / f"{stem}-{number}.md"
        write_atomic(path, folder.memory.read_bytes())
