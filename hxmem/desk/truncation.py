"""Passes that shorten old messages without a model: long arguments, old tool results, the middle of a conversation.

They act in steps, each of which saves a good share of the request: a request that begins like the one before it is
cheap, since the server has computed that part already. The originals are in the archive before anything is shortened.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from hxmem.answers import Message
from hxmem.desk.cuts import Cut, count, cut_place, each_text, parts, reason_of, request_index, safe_places, tool_names
from hxmem.desk.estimates import Estimator, message_tokens
from hxmem.files import FileProblem
from hxmem.plugins import SUMMARY_TAG, Plugin, Session, is_summary
from hxmem.sessions import SessionLog, text_of
from hxmem.text import edge, whole

ARGUMENT_HEAD, ARGUMENT_MARK = 20, "...(argument truncated)"
ENOUGH = 0.8  # of the trigger: from there on results stay
_CLEARED = "[cleared: {} returned {:,} characters; entry {} of {} has them, read it with {}]"
_LINE = re.compile(r"\[cleared: .+ returned [\d,]+ characters; entry \w+ of \S+ has them, read it with \w+\]")
_GAP = "Older messages stood here."
_MARKER = (
    f'<{SUMMARY_TAG} archive="{{0}}">\n{_GAP} This note is a record, not a request. '
    f"Their whole text is in {{0}}: read it with {{1}}.\n</{SUMMARY_TAG}>"
)


class _Pass(Plugin, ABC):
    """What the passes share: estimate, archive, replace, and tell it in one line; `cuts` holds what was done."""

    def __init__(self, min_saving: float) -> None:
        self.min_saving, self.estimator, self.cuts = min_saving, Estimator(), list[Cut]()

    def before_request(self, session: Session) -> None:
        """Shorten the desk when it is due and pays; without an archive it stays as it is."""
        self.estimator.learn(session)
        tokens = self.estimator.tokens(session)
        try:
            self.act(session, tokens)
        except (FileProblem, OSError) as error:
            desk = tuple(session.messages)
            self.cuts.append(Cut("kept", desk, desk, tokens, tokens, reason_of(error)))
            session.notify(f"[DESK] {self.name}: nothing was shortened, the archive failed: {reason_of(error)}")

    @abstractmethod
    def act(self, session: Session, tokens: int) -> None:
        """Shorten the desk, whose request is estimated to take so many tokens."""

    def _pays(self, session: Session, tokens: int, desk: Sequence[Message]) -> bool:
        return tokens - self.estimator.tokens(session, desk) >= max(1, self.min_saving * tokens)

    def _lay(self, session: Session, tokens: int, desk: list[Message], done: str) -> None:
        """Put other messages on the desk, note it and tell it."""
        before, session.messages[:] = tuple(session.messages), desk
        cut = Cut(self.name, before, tuple(desk), tokens, self.estimator.tokens(session))
        self.cuts.append(cut)
        took, where = f"about {tokens:,} -> {cut.tokens_after:,} tokens", SessionLog.of(session).name
        session.notify(f"[DESK] {self.name}: {done}, {took}; the whole text is in {where}")

    def _replace(self, session: Session, tokens: int, short: dict[int, Message], done: str) -> None:
        """Lay shortened messages in the places of their originals, if it pays."""
        desk = [short.get(at, message) for at, message in enumerate(session.messages)]
        if self._pays(session, tokens, desk):
            log = SessionLog.of(session)
            log.append(session)
            for at, message in short.items():
                log.same(session, session.messages[at], message)
            self._lay(session, tokens, desk, done)


class Truncation(_Pass):
    """Shortens long texts in the arguments of old tool calls; the defaults are AgentScope's `TruncateArgsConfig`.

    It is due from `trigger_messages` messages or `trigger_tokens` tokens on (0 turns one off) and leaves the last
    `keep_messages`, or `keep_tokens` tokens, alone. Texts of more than `max_argument` characters keep their first 20.
    """

    name = "truncation"

    def __init__(
        self,
        trigger_messages: int = 25,
        trigger_tokens: int = 40_000,
        keep_messages: int = 20,
        keep_tokens: int = 0,
        max_argument: int = 2_000,
        min_saving: float = 0.1,
    ) -> None:
        super().__init__(min_saving)
        self.trigger_messages, self.trigger_tokens = trigger_messages, trigger_tokens
        self.keep_messages, self.keep_tokens, self.max_argument = keep_messages, keep_tokens, max_argument

    def act(self, session: Session, tokens: int) -> None:
        """Shorten the arguments before the keep window."""
        if not (0 < self.trigger_messages <= count(session.messages) or 0 < self.trigger_tokens <= tokens):
            return
        place, short = cut_place(session.messages, self.keep_messages, self.keep_tokens), dict[int, Message]()
        for at, message in enumerate(session.messages[:place]):
            if message.get("role") == "assistant" and message.get("tool_calls"):
                calls = [_short_call(call, self.max_argument) for call in message["tool_calls"]]
                if calls != message["tool_calls"]:
                    short[at] = {**message, "tool_calls": calls}
        self._replace(session, tokens, short, f"long arguments of {len(short)} old messages shortened")


class ClearResults(_Pass):
    """Puts a line in the place of old tool results, oldest first, when a request takes over `trigger_tokens` (0 = off).

    It stops at 80 % of that. The newest `keep_results`, those the model has not seen yet, and short ones stay.
    """

    name = "clearing"

    def __init__(
        self, trigger_tokens: int = 40_000, keep_results: int = 3, min_characters: int = 120, min_saving: float = 0.1
    ) -> None:
        super().__init__(min_saving)
        self.trigger_tokens, self.keep_results, self.min_characters = trigger_tokens, keep_results, min_characters

    def act(self, session: Session, tokens: int) -> None:
        """Clear results until the request is small enough."""
        if not 0 < self.trigger_tokens < tokens:
            return
        messages, names = session.messages, tool_names(session.messages)
        seen = max((at for at, message in enumerate(messages) if message.get("role") == "assistant"), default=0)
        old = {at: text_of(messages[at]) for at in list(names)[: max(0, len(names) - self.keep_results)] if at < seen}
        old = {at: text for at, text in old.items() if len(text) > self.min_characters and not _LINE.fullmatch(text)}
        if not old:
            return
        log = SessionLog.of(session)
        log.append(session)  # the line names the entry
        short, left = dict[int, Message](), float(tokens)
        for at, text in old.items():
            if left < ENOUGH * self.trigger_tokens:
                break
            entry = session.archived[id(messages[at])][1]
            line = _CLEARED.format(names[at], len(text), entry, log.name, _reader(session))
            if len(line) < len(text):
                short[at] = {**messages[at], "content": line}
                left -= self.estimator.scale * (message_tokens(messages[at]) - message_tokens(short[at]))
        self._replace(session, tokens, short, f"{len(short)} old tool results cleared")


class Snip(_Pass):
    """Takes the middle out of a conversation of more than `max_messages`; its first messages and the newest ones stay.

    After it at most `max_messages` stay, a note among them, unless the last round of tool calls alone is longer. The
    current request stays, and so does a summary.
    """

    name = "snip"

    def __init__(self, max_messages: int = 50, keep_first: int = 3, min_saving: float = 0.1) -> None:
        super().__init__(min_saving)
        self.max_messages, self.keep_first = max_messages, max(0, min(keep_first, max_messages - 2))

    def act(self, session: Session, tokens: int) -> None:
        """Drop the middle, after the plugins could keep what matters in it."""
        if self.max_messages < 1 or count(session.messages) <= self.max_messages:
            return
        log = SessionLog.of(session)
        desk, dropped = self._cut(session.messages, _MARKER.format(log.name, _reader(session)))
        if dropped and self._pays(session, tokens, desk):
            log.append(session)
            session.compacting(dropped)
            log.cut(session, [message for message in desk if message.get("role") != "system"])
            self._lay(session, tokens, desk, f"{len(dropped)} messages of the middle left the desk")

    def _cut(self, messages: list[Message], marker: str) -> tuple[list[Message], list[Message]]:
        """The desk without its middle, and what is dropped; of all such desks the longest that fits."""
        counted = [at for at, message in enumerate(messages) if message.get("role") != "system"]
        first = min(counted[self.keep_first], *(at for at in counted if _is_marker(messages[at])), len(messages))
        safe, request = safe_places(messages), messages[request_index(messages)]
        head = max(place for place in safe if place <= first)
        places = [place for place in safe[:-1] if place > head]  # an empty tail would lose what is not answered yet
        desk, dropped, note = messages, list[Message](), {"role": "user", "content": marker}
        for place in [place for place in places if place >= counted[-self.max_messages]] or places[-1:]:
            system, middle, tail = parts(messages[head:], place - head)
            stays = [m for m in middle if m is request or (is_summary(m) and not _is_marker(m))]
            desk = [*messages[:head], *system, note, *stays, *tail]
            dropped = [m for m in middle if m is not request and not is_summary(m)]
            if count(desk) <= self.max_messages:
                break
        return desk, dropped


def short_arguments(arguments: Any, limit: int) -> Any:
    """The arguments of a call with its long texts shortened; a text of JSON stays one, whatever it was.

    >>> short_arguments('{"path": "a.txt", "lines": ["' + 30 * "very " + 'long"]}', 100)
    '{"path": "a.txt", "lines": ["very very very very ...(argument truncated)"]}'
    """

    def cut(text: str) -> str:
        short = text[: edge(text, ARGUMENT_HEAD, -1)] + ARGUMENT_MARK
        return short if limit < len(text) and len(short) < len(text) else text

    if not isinstance(arguments, str):
        return each_text(arguments, cut)
    if len(arguments) <= limit:
        return arguments
    try:
        value = json.loads(arguments)
        short = each_text(value, cut)
        return arguments if short == value else whole(json.dumps(short, ensure_ascii=False, allow_nan=False))
    except (ValueError, RecursionError):  # no JSON, or such that it can't be written again
        return whole(json.dumps({"arguments": cut(arguments)}, ensure_ascii=False))


def _short_call(call: Message, limit: int) -> Message:
    function = call.get("function") or {}
    short = short_arguments(function.get("arguments"), limit)
    return call if short == function.get("arguments") else {**call, "function": {**function, "arguments": short}}


def _is_marker(message: Message) -> bool:
    return is_summary(message) and text_of(message).partition("\n")[2].startswith(_GAP)


def _reader(session: Session) -> str:
    """The tool that reads an archive, as far as it is offered."""
    offered = {tool.get("function", {}).get("name") for tool in session.tools}
    return "session_history" if "session_history" in offered else "read_file"
