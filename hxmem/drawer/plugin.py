"""The drawer in an agent: lays the right notes on the desk at the start, writes new ones at the end."""

from collections.abc import Iterable
from pathlib import Path

from hxmem.drawer.catalog import Selection, select
from hxmem.drawer.extraction import Extraction, extract
from hxmem.drawer.prompts import INDEX_LABEL, prompts
from hxmem.drawer.recall import recall
from hxmem.drawer.store import MemoryStore
from hxmem.plugins import Plugin, Section, Session, is_summary


class Drawer(Plugin):
    """Long-term memory in `<root>/.harnessx/memory`; `selection` and `extraction` tell what the last run did."""

    name = "drawer"

    def __init__(self, store: MemoryStore | None = None) -> None:
        self._given, self._stores = store, dict[Path, MemoryStore]()
        self.selection: Selection | None = None
        self.extraction: Extraction | None = None

    def store(self, session: Session) -> MemoryStore:
        """The drawer that was given, or the one of the session's folder."""
        return self._given or self._stores.setdefault(session.root, MemoryStore.of(session.root))

    def sections(self, session: Session) -> Iterable[Section]:
        """The rule for "remember", and the index."""
        words, index = prompts(session.lang), self.store(session).index()
        yield Section(10, words.acknowledge)
        listed = f"\n{index}\n{words.index}" if index else f" (empty)\n{words.no_index}"
        yield Section(90, INDEX_LABEL + listed)

    def session_start(self, session: Session) -> None:
        """Forget what an earlier run did."""
        self.selection = self.extraction = None

    def user_prompt_submit(self, session: Session) -> str:
        """Choose notes for the task and lay them in front of it."""
        self.selection = select(session.task, self.store(session), session.asker("side-query"), lang=session.lang)
        return recall(self.selection.memories, session.lang)

    def stop(self, session: Session) -> None:
        """Ask what is worth keeping and write it; say in a few lines what came of it, and whether choosing failed."""
        chosen = self.selection  # told only now: with no answer at all, the one sentence that says why is enough
        if chosen and (chosen.how == "keyword" or (chosen.how == "none" and self.store(session).list())):
            so = "chose by keywords" if chosen.memories else "no note fits by keywords"
            session.notify(f"[MEMORY] side-query failed, {so}: {chosen.reason}")
        said = [at for at, m in enumerate(session.messages) if m.get("role") == "user" and not is_summary(m)]
        new = session.messages[max(said, default=0) :]  # what was said before was looked at in its own run
        found = extract(new, self.store(session), session.asker("extraction"), session.lang)
        self.extraction = found
        if found.written:
            session.notify(f"[MEMORY] extracted {len(found.written)} new memories")
        for result in found.written:
            if result.status == "replaced":
                session.notify(f"[MEMORY] replaced {result.name}, the earlier version is in .history")
            if result.masked:
                session.notify(f"[MEMORY] masked in {result.name}: {', '.join(result.masked)}")
        for reason in found.skipped:
            session.notify(f"[MEMORY] not written: {reason}")
        if found.reason:
            session.notify(f"[MEMORY] extraction skipped: {found.reason}")
