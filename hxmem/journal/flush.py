"""The flush: what is new in a conversation goes into today's log, as the model's bullets, checked here."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hxmem.answers import Message
from hxmem.credentials import mask
from hxmem.files import FileProblem, inside, read_text
from hxmem.journal.checking import (
    LOG_LABEL,
    MEMORY_LABEL,
    MESSAGES_LABEL,
    says_nothing,
    unwrapped,
    without_silence,
    wrong,
)
from hxmem.journal.folder import MAX_FILE_BYTES, JournalFolder
from hxmem.journal.ledger import append, blocks, bullet, bullets, portions
from hxmem.language import sentences
from hxmem.plugins import Ask
from hxmem.sessions import transcript
from hxmem.text import cut_middle, fitting, squash, whole

MAX_MESSAGES = 24_000  # characters of the conversation in one request; a longer one takes several
MAX_REQUESTS = 8  # of one flush: the newest part counts, the whole stands in the archive of the session
MAX_MEMORY, MAX_LOG = 24_000, 12_000  # characters of what is known already; of the log the newest
MAX_BULLETS, MAX_BULLET = 30, 1_000  # of one reply, and characters of each: more is a transcript, not a log
MAX_TOPIC = 40  # characters of a heading that is written in front of its bullets
_PLAIN = re.compile(
    r"(?i)new|facts?|log|memor|notes?|bullets?|updates?|today|\d{4}-|新|事实|日志|记忆|记录|要点|条目|内容"
)
_NONE = frozenset(map(squash, ("none", "no new facts", "nothing", "nothing new", "n/a", "无", "没有", "没有新内容")))


@dataclass(frozen=True)
class Flush:
    """The bullets that were written and where; `reason` tells what was left out, masked or failed.

    `failed` says that some messages were not looked at, so that they are worth another try; `refused`, that the only
    cause were replies that can't be used.
    """

    written: tuple[str, ...] = ()
    reason: str = ""
    path: Path | None = None
    failed: bool = False
    refused: bool = False


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
    path, failed, refused = None, False, False
    words = sentences(__file__, lang)
    try:
        asked = portions(_turns(messages), len, MAX_MESSAGES)
        if left := len(asked) - MAX_REQUESTS:
            notes += [f"the oldest {left} of {len(asked)} parts of the conversation were left out"] * (left > 0)
        for part in asked[-MAX_REQUESTS:]:
            memory, log, problems = _known(folder, now)
            content = flush_query("\n".join(part), memory, log, now, prompt or words["flush"])
            known = bullets(memory, deep=True) + bullets(log)
            facts = read_facts(ask([{"role": "user", "content": content}]), known)
            if facts.reason:  # once more, with what was wrong
                again = f"{words['flush_again'].replace('{reason}', facts.reason)}\n\n{content}"
                facts = read_facts(ask([{"role": "user", "content": again}]), known)
            if facts.bullets:
                path, _ = append(folder, facts.bullets, now, session)
                written += facts.bullets
            notes += [*problems, *facts.notes, *filter(None, [facts.reason])]
            refused = refused or bool(facts.reason)
    except Exception as error:  # whatever the model's client or the disk raises must not cost the answer
        failed = True
        notes.append(f"{error}" or type(error).__name__)
    return Flush(tuple(written), "; ".join(dict.fromkeys(notes)), path, failed or refused, refused and not failed)


def flush_query(spoken: str, memory: str, log: str, now: datetime, instruction: str) -> str:
    """The text of a flush request: the instruction, what is known, and the new part of the conversation."""
    newest = fitting(map(bullet, reversed(bullets(log)[-MAX_LOG // 4 :])), len, MAX_LOG)  # none is shorter than 4
    known = "".join(reversed(newest)).strip()
    shown = f"{MEMORY_LABEL}\n{cut_middle(memory.strip(), MAX_MEMORY) or '(none)'}"
    today = f"{LOG_LABEL.format(day=f'{now:%Y-%m-%d}')}\n{known or '(none)'}"
    known = mask(f"{shown}\n\n{today}\n\n{MESSAGES_LABEL}\n{spoken}").text
    return f"{instruction.strip()}\n\n{known}"


def read_facts(reply: str, known: Sequence[str] = ()) -> Facts:
    r"""The bullets of a reply that say something which is not known yet, or why the reply can't be used.

    >>> read_facts("1. Ann leads the project.\n2. We use uv.", ["we use uv"]).bullets, read_facts("no_reply.")
    (('Ann leads the project.',), Facts(bullets=(), notes=(), reason=''))
    """
    text = unwrapped(reply)
    if says_nothing(text):
        return Facts()
    said = without_silence(text)
    if reason := wrong(said):
        return Facts(reason=reason)
    seen = {squash(entry) for entry in known} | _NONE | {""}
    new: list[str] = []
    notes: list[str] = []
    for entry, topic in _entries(said):
        masked = mask(whole(f"{topic}{entry}"))
        fact = cut_middle(masked.text, MAX_BULLET)
        if not {squash(fact), squash(mask(whole(entry)).text)} & seen:
            seen.add(squash(fact))
            new.append(fact)
            notes += [f"masked: {kind}" for kind in masked.found]
            notes += ["a long bullet was cut"] * (fact != masked.text)
    if len(new) > MAX_BULLETS:
        notes.append(f"{len(new) - MAX_BULLETS} bullets over the limit of {MAX_BULLETS} were left out")
    return Facts(tuple(new[:MAX_BULLETS]), tuple(dict.fromkeys(notes)))


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """The entries of a reply, each with the heading that it stands under, if that tells something, as "Ann: "."""
    topic = ""
    for kind, part in blocks(text):
        title = part.strip("#* \t:：")
        if kind == "heading" or (kind == "prose" and part.startswith("**") and part.rstrip(":： ").endswith("**")):
            topic = "" if _PLAIN.search(title) or len(title) > MAX_TOPIC else f"{title}: "
        elif kind == "entry":
            yield part, "" if squash(title).startswith(squash(topic)) else topic


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
            texts.append(read_text(inside(folder.path, path), MAX_FILE_BYTES) if path.exists() else "")
        except FileProblem as error:
            texts.append("")
            problems.append(f"{error}")
    return texts[0], texts[1], problems
