"""What of the archived conversations was not flushed yet: what a flush takes, and what an ended conversation left."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from hxmem.entries import Entry, last_entry, read_entries
from hxmem.files import lock
from hxmem.journal.flush import Flush, flush
from hxmem.journal.folder import JournalFolder
from hxmem.plugins import Ask
from hxmem.sessions import ENDING, archives

WAIT = 300  # seconds for the flush of another process, whose bullets this one should know
TRIES = 3  # flushes of the same words whose replies can't be used; then the words are passed over, in the log only
LEFT = 3  # conversations that one pass of maintenance goes back to


def flush_new(
    folder: JournalFolder, session: str, ask: Ask, now: datetime, lang: str = "", tries: int = 1, prompt: str = ""
) -> Flush:
    """Flush what the archive of a session holds behind the last entry that was flushed; it is marked when it worked.

    After `tries` failures in the end, words that no reply of the model could be used for are marked too, and named.
    """
    folder.make()
    with lock(folder.path / ".flush.lock", WAIT):
        new = _new(folder, session)
        if not new:
            return Flush()
        _mark(folder, session, folder.state().flushed.get(session, ""))  # known, so that a killed process is noticed
        done = flush([entry.message for entry in new], folder, ask, now, lang, session, prompt)
        if done.refused and tries >= TRIES:
            passed = f"{done.reason}; after {tries} tries {len(new)} messages are left to the archive"
            done = replace(done, reason=passed, failed=False, refused=False)
        if not done.failed:
            _mark(folder, session, new[-1].id)
    return done


def leftovers(folder: JournalFolder, now: datetime, gap: timedelta, but: str = "") -> list[str]:
    """The conversations that end behind their last flush and rest for `gap`, the newest first, without `but`."""
    flushed, until = folder.state().flushed, (now - gap).timestamp()
    times = {path: path.stat().st_mtime for path in archives(folder.root) if path.name.removesuffix(ENDING) in flushed}
    old = sorted((path for path in times if times[path] < until), key=times.__getitem__, reverse=True)
    names = ((path.name.removesuffix(ENDING), path) for path in old)
    left = (n for n, path in names if n != but and last_entry(path)[0] != flushed[n] and _new(folder, n))
    return list(islice(left, LEFT))


def _new(folder: JournalFolder, session: str) -> list[Entry]:
    path = folder.root / ".harnessx" / "sessions" / f"{session}{ENDING}"
    entries = [entry for entry in read_entries(path) if entry.kind == "message"]
    mark = folder.state().flushed.get(session)
    start = next((n for n in range(len(entries), 0, -1) if entries[n - 1].id == mark), 0)
    return entries[start:]


def _mark(folder: JournalFolder, session: str, entry: str) -> None:
    with folder.locked():
        state = folder.state()
        if state.flushed.get(session) != entry:
            folder.write_state(replace(state, flushed={**state.flushed, session: entry}))
