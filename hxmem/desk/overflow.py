"""Shrinks a desk that the server refused as too long: by tokens, whatever the number of messages, in four steps.

Large tool results and arguments first, then a summary of the older messages, then whatever is largest, the current
request last. Everything is in the archive before, and each mark says where.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from hxmem.answers import Message
from hxmem.desk.cuts import cut_place, each_text, reason_of, request_index
from hxmem.desk.estimates import Estimator, message_tokens, request_tokens
from hxmem.desk.summary import MAX_INPUT, Division, divide, earlier_summary, summary_message
from hxmem.language import sentences
from hxmem.plugins import Session, is_summary, without_recall
from hxmem.sessions import SessionLog
from hxmem.text import edge

HUGE, PREVIEW = 4_000, 2_000  # characters: what is huge of a tool, and what stays of it
LEAST = 400  # characters that stay of any text
SHARE = 0.8  # of the model's limit: the rest is for the answer and the error of the estimate
_LOW, _HIGH = 0.1, 10.0  # tokens for one that was estimated: numbers beyond it are no counts of tokens
_MARK = 200  # characters: a cut that saves less than its mark takes is none
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:[,_]\d{3})+\b|(?<![\w.,-])\d{3,}\b")
_SPLIT = re.compile(r"(\d+) in the messages, (\d+) in the completion")

Summarise = Callable[[Division, int], str]  # (what is cut, characters that may be sent) -> text, or an exception


def limits(error: str) -> tuple[int, int] | None:
    """The tokens that the messages may have and those they had, where the server's sentence tells both.

    >>> limits("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens")
    (8192, 9000)
    >>> limits("prompt is too long: 208,310 tokens > 200,000 maximum"), limits("HTTP 413: too large")
    ((200000, 208310), None)
    """
    numbers = [int(re.sub("[,_]", "", number)) for number in _NUMBER.findall(error)][:2]
    if len(numbers) < 2 or numbers[0] == numbers[1]:
        return None
    limit, wanted = sorted(numbers)
    if (split := _SPLIT.search(error)) and limit > int(split[2]):
        return limit - int(split[2]), int(split[1])
    return limit, wanted


class Shrinking:
    """One desk that must get shorter; `desk` is the result, the session's own messages stay as they are."""

    def __init__(self, session: Session, error: str, estimator: Estimator, log: SessionLog | None) -> None:
        self.session, self.log, self.desk = session, log, list(session.messages)
        self._sizes = [message_tokens(message) for message in self.desk]
        self._words, self._originals = sentences(__file__, session.lang), dict[int, tuple[Message, Message]]()
        self._fixed = request_tokens([], session.tools)
        self.target, self.limit, found = estimator.tokens(session) // 2, 0, limits(error)  # tokens; 0 is not told
        if found and _LOW <= (scale := found[1] / (self._fixed + sum(self._sizes))) <= _HIGH:
            self.target, self.limit, estimator.scale = round(SHARE * found[0]), found[0], scale
        self.scale = estimator.scale

    @property
    def least(self) -> int:
        """The tokens of what stays whatever is cut: the system text and the tools."""
        system = [message for message in self.desk if message.get("role") == "system"]
        return round(self.scale * (self._fixed + sum(map(message_tokens, system))))

    @property
    def over(self) -> float:
        """How many tokens are still too many."""
        return self.scale * (self._fixed + sum(self._sizes)) - self.target

    def cut_results(self) -> None:
        """Leave head and tail of huge tool results and arguments, the largest first."""
        of_tools = [at for at, m in enumerate(self.desk) if m.get("role") == "tool" or m.get("tool_calls")]
        for at in sorted(of_tools, key=lambda at: -self._sizes[at]):
            if self.over > 0 and _longest(self.desk[at]) > HUGE:
                self._replace(at, self._shortened(at, PREVIEW))

    def summarise(
        self, keep_messages: int, keep_tokens: int, summarise: Summarise, leave: Callable[[Sequence[Message]], object]
    ) -> str:
        """Put a summary in the place of all but the tail; returns why it is only a mark, if it is."""
        room = self.target - self.least
        tail = max(1, min(keep_tokens or max(2_000, min(8_000, self.target // 4)), int(room / 2)))
        by_tokens = cut_place(self.desk, 1, tail, lambda message: round(self.scale * message_tokens(message)))
        division = divide(self.desk, max(by_tokens, 0 if keep_tokens else cut_place(self.desk, keep_messages)))
        if self.over <= 0 or not division.leaving:
            return ""
        leave([self._originals.get(id(message), (message, message))[1] for message in division.leaving])
        reason = ""
        try:
            text = summarise(division, max(LEAST, min(MAX_INPUT, int(self.target / self.scale))))
        except Exception as error:  # the desk must get shorter with a summary or without
            reason = reason_of(error)
            mark = self._words["no_summary"].strip().format(count=len(division.leaving))
            text = "\n\n".join(filter(None, [mark, earlier_summary(division.prefix)]))
        self.desk = division.desk(summary_message(text, self.session.lang, self.log.name if self.log else ""))
        self._sizes = [message_tokens(message) for message in self.desk]
        return reason

    def cut_largest(self) -> None:
        """Cut what is still too large in its middle: the largest messages first, then summaries, the request last."""
        request = request_index(self.desk)
        order = [at for at, message in enumerate(self.desk) if message.get("role") != "system"]
        for at in sorted(order, key=lambda at: (at == request, is_summary(self.desk[at]), -self._sizes[at])):
            if self.over <= 0:
                return
            if at == request:  # notes go before a word of the user does
                said = self.desk[at].get("content")
                self._replace(at, {**self.desk[at], "content": without_recall(said) if isinstance(said, str) else said})
            longest = _longest(self.desk[at])
            density = self.scale * self._sizes[at] / max(1, longest)  # tokens a character
            for limit in (max(LEAST, longest - int(self.over / density) - _MARK), LEAST):
                if self.over > 0:
                    self._replace(at, self._shortened(at, limit))

    def _replace(self, at: int, new: Message) -> None:
        old = self.desk[at]
        if new != old:
            self._originals[id(new)] = (new, self._originals.get(id(old), (old, old))[1])
            if self.log:
                self.log.same(self.session, old, new)
            self.desk[at], self._sizes[at] = new, message_tokens(new)

    def _shortened(self, at: int, limit: int) -> Message:
        """A copy of a message in which no text has many more than `limit` characters."""
        entry = self.session.archived.get(id(self.desk[at]), ({}, ""))[1]
        where = self._words["left_out_place"].format(archive=self.log.name, entry=entry) if self.log and entry else ""

        def cut(text: str) -> str:
            if len(text) <= limit + _MARK:
                return text
            head, tail = edge(text, limit // 2, -1), edge(text, len(text) - limit // 2, 1)
            mark = self._words["left_out"].format(count=f"{tail - head:,}", place=where)
            return f"{text[:head]}\n{mark}\n{text[tail:]}"

        def arguments(text: str) -> str:  # what was JSON stays JSON
            if len(text) <= limit + _MARK:
                return text
            try:
                short = each_text(json.loads(text), cut)
            except (ValueError, RecursionError):
                short = {}
            found = json.dumps(short, ensure_ascii=False)
            return found if short and len(found) < len(text) else json.dumps({"cut": cut(text)}, ensure_ascii=False)

        return _each_text(self.desk[at], cut, arguments)


def _each_text(message: Message, text: Callable[[str], str], arguments: Callable[[str], str]) -> Message:
    """A copy of a message with each of its texts, and the arguments of its calls, as the functions return them."""
    new: Message = dict(message)
    for name in ("content", "reasoning_content"):
        if isinstance(new.get(name), str):
            new[name] = text(new[name])
        elif isinstance(new.get(name), list):
            new[name] = [{**part, "text": text(part["text"])} if _is_text(part) else part for part in new[name]]
    if calls := new.get("tool_calls"):
        functions = [call.get("function", {}) for call in calls]
        short = [{**each, "arguments": arguments(str(each.get("arguments") or ""))} for each in functions]
        new["tool_calls"] = [{**call, "function": each} for call, each in zip(calls, short, strict=True)]
    return new


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)


def _longest(message: Message) -> int:
    """The characters of the longest text of a message."""
    sizes = [0]

    def note(text: str) -> str:
        sizes.append(len(text))
        return text

    _each_text(message, note, note)
    return max(sizes)
