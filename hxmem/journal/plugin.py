"""The journal in an agent: MEMORY.md in the system text, tools to search, a flush and maintenance behind the answer."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from pathlib import Path

from hxmem.journal.consolidation import fresh
from hxmem.journal.flush import Flush
from hxmem.journal.folder import JournalFolder
from hxmem.journal.injection import BUDGET, context
from hxmem.journal.maintenance import EVERY, GAP, LOG_DAYS, SESSION_DAYS, Maintained, due, maintain
from hxmem.journal.pending import TRIES, flush_new, leftovers
from hxmem.journal.reading import tools as reading_tools
from hxmem.journal.search import Search
from hxmem.plugins import Ask, Plugin, Section, Session, Tool
from hxmem.sessions import Clock, SessionLog, now


class Journal(Plugin):
    """A daily log and a long-term memory in `<root>/.harnessx/journal`.

    At Stop and before a compaction the model is asked what is new (`flush`: "always", "never", or the seconds between
    two flushes; what is not flushed yet is part of the next one, or of the next maintenance once the conversation
    rests). A pass of maintenance follows when the logs have something new and the last one is `gap` ago, or when that
    is `every` ago. All this happens in the background, unless `background` is False; `wait` and `close` wait for it,
    and so does Python when it exits. `ask` is a model for this work alone; the two prompts stand for the built-in ones.
    """

    name = "journal"

    def __init__(
        self,
        *,
        flush: str | float = "always",
        inject: bool = True,
        tools: bool = True,
        save_tool: bool = False,
        maintenance: bool = True,
        background: bool = True,
        ask: Ask | None = None,
        budget: int = BUDGET,
        max_tokens: int = 4_000,
        every: timedelta = EVERY,
        gap: timedelta = GAP,
        log_days: int = LOG_DAYS,
        session_days: int = SESSION_DAYS,
        flush_prompt: str = "",
        consolidation_prompt: str = "",
        clock: Clock = now,
    ) -> None:
        if isinstance(flush, str) and flush not in ("always", "never"):
            raise ValueError('flush is "always", "never", or the least number of seconds between two flushes')
        self.flush, self.inject, self.tools_on, self.save_tool = flush, inject, tools, save_tool
        self.maintenance, self.background, self.ask = maintenance, background, ask
        self.budget, self.max_tokens, self.every, self.gap = budget, max_tokens, every, gap
        self.log_days, self.session_days, self.clock = log_days, session_days, clock
        self.flush_prompt, self.consolidation_prompt = flush_prompt, consolidation_prompt
        self.flushes: list[Flush] = []
        self.passes: list[Maintained] = []
        self._searches = dict[Path, Search]()
        self._flushed = dict[str, datetime]()
        self._refused = dict[str, int]()
        self._pool: ThreadPoolExecutor | None = None
        self._jobs: list[Future[None]] = []

    def search(self, root: Path) -> Search:
        """The search over a project's journal."""
        return self._searches.setdefault(root, Search(JournalFolder(root)))

    def sections(self, session: Session) -> Iterable[Section]:
        """How to use the journal, and what MEMORY.md holds."""
        if self.inject:
            yield Section(80, context(JournalFolder(session.root), session.lang, self.budget))

    def tools(self, session: Session) -> Iterable[Tool]:
        """The tools to search and read, and the one to save if it is wanted."""
        if self.tools_on:
            yield from reading_tools(self.search(session.root), save=self.save_tool, clock=self.clock)

    def pre_compact(self, session: Session, messages: list[dict[str, object]]) -> None:
        """Flush what leaves the desk; the archive has its words, so nothing waits for the model."""
        self._flush(session)

    def stop(self, session: Session) -> None:
        """Flush what is new, and maintain if that is due."""
        self._flush(session)
        if self.maintenance:
            self._do("maintenance", session, lambda: self._maintain(session))

    def wait(self) -> None:
        """Wait until the work in the background is done."""
        wait(self._jobs)
        self._jobs = [job for job in self._jobs if not job.done()]

    def close(self) -> None:
        """Finish the work in the background, and its thread."""
        self.wait()
        if self._pool:
            self._pool.shutdown()
            self._pool = None

    def _flush(self, session: Session) -> None:
        log, time = SessionLog.of(session, self.clock), self.clock()
        log.append(session)
        last = self._flushed.get(session.id)
        due = last is None or (not isinstance(self.flush, str) and (time - last).total_seconds() >= self.flush)
        if self.flush == "always" or (self.flush != "never" and due):
            self._flushed[session.id] = time
            self._do("flush", session, lambda: self._flush_now(session, log.id))

    def _flush_now(self, session: Session, id: str, tries: int = 0) -> None:
        """Flush what the archive of a conversation holds behind the last entry that was flushed."""
        folder = JournalFolder(session.root)
        ask = self.ask or session.asker("flush")
        tries = tries or self._refused.get(id, 0) + 1
        done = flush_new(folder, id, ask, self.clock(), session.lang, tries, self.flush_prompt)
        self._refused[id] = self._refused.get(id, 0) + 1 if done.refused else 0
        if done == Flush():
            return
        self.flushes.append(done)
        if done.written and done.path:
            session.notify(f"[JOURNAL] {len(done.written)} new in {done.path.relative_to(folder.path).as_posix()}")
        if done.reason:
            session.notify(f"[JOURNAL] flush {'failed' if done.failed else 'done'}: {done.reason}")
        self.search(session.root).refresh()

    def _maintain(self, session: Session) -> None:
        """Run a pass `every` so often, and after `gap` where something waits for it, which is a request."""
        folder, time = JournalFolder(session.root), self.clock()
        if not folder.path.exists() or not due(folder.state(), time, self.gap):
            return
        left = [] if self.flush == "never" else leftovers(folder, time, self.gap, SessionLog.of(session).id)
        if not due(folder.state(), time, self.every) and not left and not fresh(folder, folder.state()).pieces:
            return
        for id in left:
            self._flush_now(session, id, TRIES)  # nobody adds to it: one try is the last
        ask = self.ask or session.asker("consolidation")
        limits = {"log_days": self.log_days, "session_days": self.session_days, "max_tokens": self.max_tokens}
        done = maintain(folder, ask, time, session.lang, prompt=self.consolidation_prompt, **limits)
        self.passes.append(done)
        if done.consolidation and done.consolidation.status == "written":
            session.notify(f"[JOURNAL] MEMORY.md made new from {', '.join(done.consolidation.logs)}")
        for problem in done.problems:
            session.notify(f"[JOURNAL] {problem}")

    def _do(self, what: str, session: Session, run: Callable[[], None]) -> None:
        """Run in the background, one thing after the other; a failure is a line and leaves everything as it was."""

        def guarded() -> None:
            try:
                run()
            except Exception as error:
                session.notify(f"[JOURNAL] {what} failed: {error or type(error).__name__}")

        if not self.background:
            return guarded()
        self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="hxmem-journal")
        self._jobs = [*(job for job in self._jobs if not job.done()), self._pool.submit(guarded)]
        return None
