"""The flush: what is new in a conversation goes into today's log, as the model's bullets, checked here."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hxmem.answers import Message
from hxmem.credentials import mask
from hxmem.files import FileProblem, read_text
from hxmem.journal.checking import LOG_LABEL, MEMORY_LABEL, MESSAGES_LABEL, says_nothing, unwrapped, wrong
from hxmem.journal.folder import MAX_FILE_BYTES, JournalFolder
from hxmem.journal.ledger import append, bullet, bullets, portions
from hxmem.language import sentences
from hxmem.plugins import Ask
from hxmem.sessions import transcript
from hxmem.text import cut_middle, fitting, squash, whole

MAX_MESSAGES = 24_000  # characters of the conversation in one request; a longer one takes several
MAX_REQUESTS = 8  # of one flush: the newest part counts, the whole stands in the archive of the session
MAX_MEMORY, MAX_LOG = 24_000, 12_000  # characters of what is known already; of the log the newest
MAX_BULLETS, MAX_BULLET = 30, 1_000  # of one reply, and characters of each: more is a transcript, not a log
_NONE = frozenset(map(squash, ("none", "no new facts", "nothing", "nothing new", "n/a", "无", "没有", "没有新内容")))


@dataclass(frozen=True)
class Flush:
    """The bullets that were written and where; `reason` tells what was left out, masked or failed.

    `failed` says that some messages were not looked at, so that they are worth another try.
    """

    written: tuple[str, ...] = ()
    reason: str = ""
    path: Path | None = None
    failed: bool = False


@dataclass(frozen=True)
class Facts:
    """The new bullets of one reply; what was left out or changed; why the reply can't be used."""

    bullets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""


def flush(
    messages: Sequence[Message],
    folder: JournalFolder,
    ask: Ask,
    now: datetime,
    lang: str = "",
    session: str = "",
    prompt: str = "",
) -> Flush:
    """Ask the model what is new in `messages` and append it to the log of `now`; nothing said, nothing asked.

    A long conversation is asked about in portions, oldest first, and each answer is written before the next is asked
    for. It never raises for what a model or a disk does; what was written stays. `prompt` replaces the instruction.
    """
    written: list[str] = []
    notes: list[str] = []
    path, failed = None, False
    try:
        asked = portions(_turns(messages), len, MAX_MESSAGES)
        if left := len(asked) - MAX_REQUESTS:
            notes += [f"the oldest {left} of {len(asked)} parts of the conversation were left out"] * (left > 0)
        for part in asked[-MAX_REQUESTS:]:
            memory, log, problems = _known(folder, now)
            content = flush_query("\n".join(part), memory, log, now, prompt or sentences(__file__, lang)["flush"])
            facts = read_facts(ask([{"role": "user", "content": content}]), bullets(memory, deep=True) + bullets(log))
            if facts.bullets:
                path, _ = append(folder, facts.bullets, now, session)
                written += facts.bullets
            notes += [*problems, *facts.notes, *filter(None, [facts.reason])]
            failed = failed or bool(facts.reason)
    except Exception as error:  # whatever the model's client or the disk raises must not cost the answer
        failed = True
        notes.append(f"{error}" or type(error).__name__)
    return Flush(tuple(written), "; ".join(dict.fromkeys(notes)), path, failed)


def flush_query(spoken: str, memory: str, log: str, now: datetime, instruction: str) -> str:
    """The text of a flush request: the instruction, what is known, and the new part of the conversation."""
    newest = fitting(reversed([bullet(entry) for entry in bullets(log)]), len, MAX_LOG)
    known = "".join(reversed(newest)).strip()
    shown = f"{MEMORY_LABEL}\n{cut_middle(memory.strip(), MAX_MEMORY) or '(none)'}"
    today = f"{LOG_LABEL.format(day=f'{now:%Y-%m-%d}')}\n{known or '(none)'}"
    return f"{instruction.strip()}\n\n{shown}\n\n{today}\n\n{MESSAGES_LABEL}\n{spoken}"


def read_facts(reply: str, known: Sequence[str] = ()) -> Facts:
    r"""The bullets of a reply that say something which is not known yet, or why the reply can't be used.

    >>> read_facts("1. Ann leads the project.\n2. We use uv.", ["we use uv"]).bullets, read_facts("no_reply.")
    (('Ann leads the project.',), Facts(bullets=(), notes=(), reason=''))
    """
    text = unwrapped(reply)
    said = "\n".join(line for line in text.splitlines() if not says_nothing(line))
    if not bullets(said) and (len(said) < len(text) - text.count("\r") or squash(text).startswith("noreply")):
        return Facts()
    if reason := wrong(said):
        return Facts(reason=reason)
    seen = {squash(entry) for entry in known} | _NONE | {""}
    new: list[str] = []
    notes: list[str] = []
    for entry in bullets(said):
        masked = mask(whole(entry))
        fact = cut_middle(masked.text, MAX_BULLET)
        if squash(fact) not in seen:
            seen.add(squash(fact))
            new.append(fact)
            notes += [f"masked: {kind}" for kind in masked.found]
            notes += ["a long bullet was cut"] * (fact != masked.text)
    if len(new) > MAX_BULLETS:
        notes.append(f"{len(new) - MAX_BULLETS} bullets over the limit of {MAX_BULLETS} were left out")
    return Facts(tuple(new[:MAX_BULLETS]), tuple(dict.fromkeys(notes)))


def _turns(messages: Sequence[Message]) -> list[str]:
    """The turns of a conversation as text; the further lines of one are indented."""
    spoken = whole(transcript(messages))
    return re.split(r"\n(?! )", spoken) if spoken else []


def _known(folder: JournalFolder, now: datetime) -> tuple[str, str, list[str]]:
    """MEMORY.md and today's log, and what is wrong with one that can't be read, which stops no flush."""
    texts: list[str] = []
    problems: list[str] = []
    for path in (folder.memory, folder.logs / f"{now:%Y-%m-%d}.md"):
        try:
            texts.append(read_text(path, MAX_FILE_BYTES) if path.exists() else "")
        except FileProblem as error:
            texts.append("")
            problems.append(f"{error}")
    return texts[0], texts[1], problems
