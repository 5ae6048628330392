"""Compaction: when a conversation gets long, a summary takes the place of its older messages, which stay on disk."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from hxmem.answers import Message
from hxmem.desk.cuts import Cut, count, cut_place, reason_of
from hxmem.desk.estimates import Estimator, message_tokens
from hxmem.desk.overflow import Shrinking
from hxmem.desk.summary import MAX_INPUT, Division, divide, summarise, summary_message
from hxmem.language import sentences
from hxmem.plugins import Ask, Plugin, Session, Tool
from hxmem.sessions import Clock, SessionLog, now

FEW, SHARE = 10, 0.1  # a cut of fewer messages that saves a smaller share of the tokens is not worth a request
UNKNOWN_WINDOW = 160_000  # tokens that fit into most models
MIN_TAIL, MAX_TAIL = 2_000, 8_000  # tokens of a tail that follows from the window


class DeskSetting(ValueError):
    """A part of the desk can't work with a value that it was given; the text says which values it takes."""


class Compaction(Plugin):
    """Cuts, flushes, archives, summarises, before the request that reaches a trigger (0 turns one off).

    The last `keep_messages` messages stay, or those that fit into `keep_tokens`; so does the current request. Where
    these alone reach `trigger_tokens`, those stay that fit into half of it. `flush`
    lets the other plugins read what leaves (PreCompact), `offload` archives it; `prompt` takes the place of the
    built-in instruction and must contain {messages}; `tool` lets the model ask for a compaction; `ask` is another
    model. After `max_failures` failures in a row there are no more tries until the desk overflows. `cuts` holds what
    was done. The defaults are those of AgentScope's `CompactionConfig`.
    """

    name = "compaction"

    def __init__(
        self,
        trigger_messages: int = 50,
        trigger_tokens: int = 80_000,
        keep_messages: int = 20,
        keep_tokens: int = 0,
        flush: bool = True,
        offload: bool = True,
        prompt: str = "",
        tool: bool = False,
        ask: Ask | None = None,
        max_failures: int = 3,
        clock: Clock = now,
    ) -> None:
        """Raise DeskSetting for a value that can't be used."""
        _check(0, trigger_messages=trigger_messages, trigger_tokens=trigger_tokens, keep_tokens=keep_tokens)
        _check(1, keep_messages=keep_messages, max_failures=max_failures)
        if prompt and "{messages}" not in prompt:
            raise DeskSetting("prompt must contain {messages}, the place of the conversation.")
        self.trigger_messages, self.trigger_tokens = trigger_messages, trigger_tokens
        self.keep_messages, self.keep_tokens = keep_messages, keep_tokens
        self.flush, self.offload, self.prompt, self.tool, self.ask = flush, offload, prompt, tool, ask
        self.max_failures, self.clock = max_failures, clock
        self.cuts, self.estimator = list[Cut](), Estimator()
        self._failures, self._asked, self._quiet, self._id = 0, False, False, ""
        self._learnt = 0  # tokens: what a server that named its limit takes for sure

    @classmethod
    def for_window(cls, window: int = 0, reserved: int = 20_000, **options: Any) -> Self:
        """With the token values that follow from a model's window, 0 if unknown; `reserved` is for the answer.

        >>> made = Compaction.for_window(64_000)
        >>> made.trigger_tokens, made.keep_tokens
        (44000, 8000)
        """
        _check(0, window=window, reserved=reserved)
        usable = max(window - reserved, window // 2) if window else UNKNOWN_WINDOW
        tail = min(MAX_TAIL, max(MIN_TAIL, usable // 4))
        return cls(**{"trigger_tokens": usable, "keep_tokens": tail, **options})

    def session_start(self, session: Session) -> None:
        """Forget what was the matter with another conversation."""
        self._asked = False
        if not session.messages or session.id != self._id:
            self._failures, self._quiet = 0, False

    def tools(self, session: Session) -> Iterable[Tool]:
        """The tool `compact`, if it was wanted; it acts when the results of all calls are on the desk."""
        words = sentences(__file__, session.lang)

        def compact(_: object) -> str:
            self._asked = self._failures < self.max_failures
            return words["compact_asked" if self._asked else "compact_off"].format(count=self.max_failures)

        parameters = {"type": "object", "properties": {}}
        return [Tool("compact", words["compact_tool"], parameters, compact)] if self.tool else []

    def before_request(self, session: Session) -> None:
        """Compact the desk if it is due; whatever fails, the desk stays as it is."""
        self.estimator.learn(session)
        tokens = self.estimator.tokens(session)
        trigger = min(filter(None, (self.trigger_tokens, self._learnt)), default=0)
        due = 0 < self.trigger_messages <= count(session.messages) or 0 < trigger <= tokens
        if (due or self._asked) and self._failures < self.max_failures:
            self._asked = False
            division = divide(session.messages, self._place(session.messages, self.keep_tokens))
            if 0 < trigger <= tokens and self._pointless(division, tokens):  # few messages, and they are long
                division = divide(session.messages, self._place(session.messages, trigger // 2))
            if reason := self._pointless(division, tokens):
                if not self._quiet:  # it is due again before each request, and one line is enough
                    self._kept(session, reason)
                self._quiet = True
            else:
                self._compact(session, division)
        self._id = session.id

    def context_overflow(self, session: Session, error: Exception) -> bool:
        """Shrink the desk by tokens; without an archive, where one is wanted, it stays as it is."""
        self._failures, self._quiet = 0, False
        try:
            log = self._archive(session)
            work = Shrinking(session, str(error), self.estimator, log)
            if 0 < work.limit <= work.least:
                self._kept(
                    session, f"the system text and the tools alone take about {work.least:,} tokens: shorten them"
                )
                return False
            self._learnt = work.target if work.limit else self._learnt  # from now on the desk is compacted in time
            work.cut_results()
            reason = work.summarise(
                self.keep_messages, self.keep_tokens,
                lambda division, limit: self._text(session, division, limit),
                lambda leaving: self._flush(session, leaving),
            )  # fmt: skip
            work.cut_largest()
            shorter = self.estimator.tokens(session, work.desk) < self.estimator.tokens(session)
            if shorter:
                self._lay(session, work.desk, log, "overflow", reason)
            else:
                self._kept(session, "only the system text, the tools and short messages are left: start a new one")
            return shorter
        except Exception as failure:
            self._kept(session, reason_of(failure))
            return False

    def _compact(self, session: Session, division: Division) -> None:
        self._flush(session, division.leaving)
        try:
            log = self._archive(session)
            session.notify(f"[DESK] summarising {len(division.leaving)} of {len(session.messages)} messages")
            text = self._text(session, division)
            summary = summary_message(text, session.lang, log.name if log else "")
            self._lay(session, division.desk(summary), log, "compaction")
        except Exception as error:
            self._failures += 1
            end = "; no more tries in this conversation" if self._failures >= self.max_failures else ""
            self._kept(session, reason_of(error) + end)

    def _text(self, session: Session, division: Division, limit: int = MAX_INPUT) -> str:
        return summarise(division, self.ask or session.asker("summary"), session.lang, self.prompt, limit)

    def _place(self, messages: Sequence[Message], keep_tokens: int) -> int:
        def size(message: Message) -> int:
            return round(self.estimator.scale * message_tokens(message))

        return cut_place(messages, self.keep_messages, keep_tokens, size)

    def _pointless(self, division: Division, tokens: int) -> str:
        """Why a cut at this place is not worth a request to the model, "" if it is."""
        if not division.leaving:
            return "nothing but a summary and the current request stands before the tail that is kept"
        saved = self.estimator.scale * sum(map(message_tokens, division.leaving))
        small = saved < SHARE * tokens and len(division.leaving) < FEW
        return f"a cut would save only {round(saved):,} of {tokens:,} tokens" if small else ""

    def _flush(self, session: Session, leaving: Sequence[Message]) -> None:
        if self.flush and leaving:
            try:
                session.compacting(list(leaving))
            except Exception as error:
                session.notify(f"[DESK] PreCompact failed, going on: {reason_of(error)}")

    def _archive(self, session: Session) -> SessionLog | None:
        """The archive with everything in it that is on the desk; raises FileProblem when it can't be written."""
        if not self.offload:
            return None
        log = SessionLog.of(session, self.clock)
        log.append(session)
        return log

    def _lay(self, session: Session, desk: list[Message], log: SessionLog | None, how: str, reason: str = "") -> None:
        """Put other messages on the desk, once the archive knows of them."""
        said = [message for message in desk if message.get("role") != "system"]
        if log:
            log.cut(session, said)
        elif session.archived:  # another plugin keeps an archive: nobody said these, so they do not go into it
            session.archived.update({id(m): (m, "") for m in said if id(m) not in session.archived})
        before, tokens = tuple(session.messages), self.estimator.tokens(session)
        session.messages[:] = desk
        cut = Cut(how, before, tuple(desk), tokens, self.estimator.tokens(session), reason)
        self.cuts.append(cut)
        self._failures, self._quiet = 0, False
        session.notify(
            f"[DESK] {how}: {len(before)} -> {len(desk)} messages, about {tokens:,} -> {cut.tokens_after:,} tokens"
            + (f"; no summary: {reason}" if reason else "")
        )

    def _kept(self, session: Session, reason: str) -> None:
        desk, tokens = tuple(session.messages), self.estimator.tokens(session)
        self.cuts.append(Cut("kept", desk, desk, tokens, tokens, reason))
        session.notify(f"[DESK] conversation kept: {reason}")


def _check(least: int, **values: object) -> None:
    for name, value in values.items():
        if type(value) is not int or value < least:
            raise DeskSetting(f"{name} must be a whole number from {least} up, not {value!r}.")
