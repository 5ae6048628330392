"""Maintenance: consolidate, archive old logs, prune old sessions, bring the search up to date; in this order.

A log is archived only after it was consolidated. Each step can be called alone; the time and the model are passed in.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path

from hxmem.files import FileProblem, lock
from hxmem.journal.consolidation import Consolidation, consolidate
from hxmem.journal.folder import JournalFolder, State, digest
from hxmem.journal.search import Search
from hxmem.plugins import Ask
from hxmem.sessions import ENDING, archives

EVERY, GAP = timedelta(hours=6), timedelta(minutes=30)  # AgentScope's values, like the two below
LOG_DAYS, SESSION_DAYS = 90, 180
VERSIONS = 100  # earlier ones of MEMORY.md that are kept


@dataclass(frozen=True)
class Maintained:
    """What one pass did; `problems` has a sentence for each step that failed."""

    consolidation: Consolidation | None = None
    archived: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def since_last(state: State, now: datetime) -> timedelta:
    """The time since the last pass that ended well; a very long one when there was none, or it lies in the future."""
    try:
        passed = now - datetime.fromisoformat(state.maintained)
    except (ValueError, TypeError):
        return timedelta.max
    return passed if passed >= timedelta(0) else timedelta.max


def due(state: State, now: datetime, gap: timedelta) -> bool:
    """Whether a pass is due: `gap` after the last one that ended well, or after one that failed for the second time.

    What failed once is tried again at the next occasion.
    """
    tried = since_last(replace(state, maintained=state.tried), now) if state.failed > 1 else timedelta.max
    return min(since_last(state, now), tried) >= gap


def maintain(
    folder: JournalFolder,
    ask: Ask,
    now: datetime,
    lang: str = "",
    *,
    log_days: int = LOG_DAYS,
    session_days: int = SESSION_DAYS,
    max_tokens: int = 4_000,
    prompt: str = "",
) -> Maintained:
    """Run all steps; one that fails is named, and the others still run.

    The pass counts as done, for `since_last`, only when the consolidation ended well: a failed one is tried again.
    """
    problems: list[str] = []

    def step(run: Callable[[], tuple[str, ...] | None]) -> tuple[str, ...]:
        try:
            return run() or ()
        except (FileProblem, OSError) as error:
            problems.append(str(error))
            return ()

    done = consolidate(folder, ask, now, lang, max_tokens, prompt)
    if done.status not in ("written", "nothing new"):
        problems.append(f"consolidation: {done.reason or done.status}")
    archived = step(lambda: archive_logs(folder, now, log_days))
    pruned = step(lambda: prune_sessions(folder, now, session_days))
    step(Search(folder).refresh)
    if done.status != "busy":
        step(lambda: _remember(folder, now, done.status != "refused"))
    return Maintained(done, archived, pruned, tuple(problems))


def archive_logs(folder: JournalFolder, now: datetime, days: int = LOG_DAYS) -> tuple[str, ...]:
    """Move logs that are older than `days` days and consolidated to the last byte into `archive/`; returns their names.

    The date is the one in the file's name. Nothing is overwritten: a second log of the same day gets a number.
    """
    oldest = (now - timedelta(days=days)).date()
    old = [path for path in folder.days() if (day := _day(path)) and day < oldest]
    moved: list[str] = []
    if old and folder.memory.exists():  # without MEMORY.md the logs are all there is
        with folder.locked():
            consolidated = folder.state().consolidated
            for path in old:
                data = path.read_bytes()
                if consolidated.get(path.name) == (len(data), digest(data)):
                    folder.archive.mkdir(exist_ok=True)
                    path.rename(_free(folder.archive / path.name))
                    moved.append(path.name)
    return tuple(moved)


def prune_sessions(folder: JournalFolder, now: datetime, days: int = SESSION_DAYS) -> tuple[str, ...]:
    """Delete archived conversations that nobody went on with for `days` days, and the large tool results of such.

    Of the earlier versions of MEMORY.md the newest `VERSIONS` stay. Returns the names of the conversations.
    """
    oldest = (now - timedelta(days=days)).timestamp()
    old = [path for path in archives(folder.root) if path.stat().st_mtime < oldest]
    gone: list[str] = []
    if old:
        with lock(old[0].parent / ".lock"):
            for path in old:
                if path.exists() and path.stat().st_mtime < oldest:  # somebody may have gone on with it
                    path.unlink()
                    gone.append(path.name.removesuffix(ENDING))
    for results in folder.results.glob("*/"):
        if all(file.stat().st_mtime < oldest for file in [results, *results.iterdir()]):
            shutil.rmtree(results)
    for version in sorted(folder.history.glob("MEMORY.*.md"))[:-VERSIONS]:
        version.unlink()
    if gone:
        with folder.locked():
            state = folder.state()
            kept = {session: entry for session, entry in state.flushed.items() if session not in gone}
            folder.write_state(replace(state, flushed=kept))
    return tuple(gone)


def _remember(folder: JournalFolder, now: datetime, well: bool) -> None:
    time = now.isoformat(timespec="seconds")
    with folder.locked():
        state = folder.state()
        failed = replace(state, failed=state.failed + 1, tried=time)
        folder.write_state(replace(state, maintained=time, failed=0, tried="") if well else failed)


def _day(path: Path) -> date | None:
    try:
        return date.fromisoformat(path.stem)
    except ValueError:
        return None


def _free(path: Path) -> Path:
    """The path, or where it is taken the first of `<stem>-2`, `<stem>-3`, ... that is free."""
    number = 2
    free = path
    while free.exists():
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return free
