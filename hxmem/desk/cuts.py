"""Where a conversation may be cut, and how a cut is told; a tool call and its results always stay together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hxmem.answers import Message
from hxmem.desk.estimates import message_tokens
from hxmem.plugins import is_summary
from hxmem.text import cut_middle

MAX_REASON = 300  # characters: a notice is one line


@dataclass(frozen=True)
class Cut:
    """What a part of the desk did once: `how` is its name, such as "truncation", or "kept" when it could not act.

    `before` and `after` are the whole desk; `reason` says why nothing was done, or what went wrong.
    """

    how: str
    before: tuple[Message, ...]
    after: tuple[Message, ...]
    tokens_before: int
    tokens_after: int
    reason: str = ""


def cut_place(
    messages: Sequence[Message],
    keep_messages: int,
    keep_tokens: int = 0,
    tokens_of: Callable[[Message], int] = message_tokens,
) -> int:
    """The index of the first message that stays; 0 when nothing may leave.

    The tail has `keep_messages` messages, or, with `keep_tokens`, as many of the last ones as fit into that budget; it
    has one at least, and more where a tool call would lose a result. System messages don't count.

    >>> cut_place([{"role": role} for role in ("system", "user", "assistant", "user")], 1)
    3
    """
    counted = [at for at, message in enumerate(messages) if message.get("role") != "system"]
    if not counted:
        return 0
    kept, room = keep_messages, keep_tokens
    if keep_tokens > 0:
        kept = 0
        for at in reversed(counted):
            room -= tokens_of(messages[at])
            if room < 0:
                break
            kept += 1
    kept = max(1, kept)
    wanted = counted[-kept] if kept < len(counted) else 0
    place = max(place for place in safe_places(messages) if place <= wanted)
    return place if any(at < place for at in counted) else 0


def safe_places(messages: Sequence[Message]) -> list[int]:
    """Every place, 0 and the end included, where a cut parts no tool call from a result, and no tail starts with one.

    A result belongs to the last call before it with its id, since some servers use an id again.
    """
    callers: dict[str, int] = {}
    reach = list(range(len(messages)))  # by index of a message: the last message that belongs to it
    for at, message in enumerate(messages):
        for call in message.get("tool_calls") or ():
            callers[str(call.get("id"))] = at
        if message.get("role") == "tool":
            reach[callers.get(str(message.get("tool_call_id")), at)] = at
    safe, farthest = [0], -1
    for place in range(1, len(messages) + 1):
        farthest = max(farthest, reach[place - 1])
        if farthest < place and not (place < len(messages) and messages[place].get("role") == "tool"):
            safe.append(place)
    return safe


def parts(messages: Sequence[Message], place: int) -> tuple[list[Message], list[Message], list[Message]]:
    """The system messages before a place, the other messages before it, which leave, and all from it on."""
    before = messages[:place]
    system = [message for message in before if message.get("role") == "system"]
    return system, [message for message in before if message.get("role") != "system"], list(messages[place:])


def reason_of(error: BaseException) -> str:
    """What went wrong, on one short line.

    >>> reason_of(ValueError("no\\nroom")), reason_of(KeyError())
    ('no room', 'KeyError')
    """
    return cut_middle(" ".join(str(error).split()), MAX_REASON) or type(error).__name__


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of a value of JSON in which each text, however deep, is changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [each_text(item, change) for item in value]
    return {key: each_text(item, change) for key, item in value.items()} if isinstance(value, dict) else value


def count(messages: Sequence[Message]) -> int:
    """How many messages there are, system messages left out."""
    return sum(message.get("role") != "system" for message in messages)


def request_index(messages: Sequence[Message]) -> int:
    """The index of the current request, the last thing the user said; -1 when there is none."""
    said = (at for at in range(len(messages) - 1, -1, -1) if messages[at].get("role") == "user")
    return next((at for at in said if not is_summary(messages[at])), -1)


def tool_names(messages: Sequence[Message]) -> dict[int, str]:
    """By the index of each tool result: the name of the tool, "tool" where the call is gone."""
    names, found = dict[str, str](), dict[int, str]()
    for at, message in enumerate(messages):
        for call in message.get("tool_calls") or ():
            names[str(call.get("id"))] = str(call.get("function", {}).get("name") or "tool")
        if message.get("role") == "tool":
            found[at] = names.get(str(message.get("tool_call_id")), "tool")
    return found
