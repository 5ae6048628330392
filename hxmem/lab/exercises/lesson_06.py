"""Lesson 06: which cut places are safe, and the cut place for a budget of tokens."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

from hxmem.lab.checks import Exercise, choice, expect, returned

Place = Callable[[list[dict[str, Any]], int, Callable[[dict[str, Any]], int]], Any]


def _message(role: str, size: int, calls: Sequence[str] = (), answers: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"role": role, "content": "x" * size}
    made |= {"tool_calls": [{"id": call} for call in calls]} if calls else {}
    return made | ({"tool_call_id": answers} if answers else {})


_TALK = [_message("user", 10), _message("assistant", 20), _message("user", 30), _message("assistant", 40)]
_PAIR = [
    _message("user", 10),
    _message("assistant", 10, ("one", "two")),
    _message("tool", 10, answers="one"),
    _message("tool", 10, answers="two"),
    _message("assistant", 10),
]
_CASES: tuple[tuple[list[dict[str, Any]], int, int, str], ...] = (  # messages, budget, place, the reason
    (_TALK, 75, 2, "of messages with 10, 20, 30 and 40 tokens the last two fit into 75: count from the end"),
    (_TALK, 70, 2, "30 and 40 tokens fit into a budget of 70: what is used up exactly is not too much"),
    (_TALK, 100, 0, "when all messages fit into the budget nothing leaves: the place is 0"),
    (_TALK, 5, 3, "the last message stays even when it is larger than the budget: a desk without it asks nothing"),
    (_PAIR, 25, 1, "the tail would begin with the second of two results: go back to the call, even above the budget"),
    (_PAIR, 35, 1, "the tail would begin with a tool result: go back to its call, even above the budget"),
    (_PAIR, 45, 1, "a tail that begins with a call and holds its results is whole: it needs no step back"),
)


def _place_for(place_for: Place) -> None:
    for messages, budget, place, reason in _CASES:
        given = copy.deepcopy(messages)
        found = returned(place_for(given, budget, lambda message: len(message["content"])))
        expect(type(found) is int, "return one number: the index of the first message that stays")
        expect(given == messages, "leave the messages as they are: only look for the place")
        expect(0 <= found <= len(messages), "the place lies outside the list: is it an index from the start?")
        expect(found == place, reason)


EXERCISES = {
    "6.1": Exercise(
        choice(
            "b",
            {
                "a": "place 2 begins with a tool result whose call, message 1, has left",
                "c": "place 3 leaves one of two results behind: message 3 stays, its call left",
            },
        ),
        (
            "A place is safe when no tool result is on one side and its call on the other.",
            "Messages 1, 2 and 3 belong together. Which places lie between them?",
            "Write down for each place the message with which the tail begins, and look for a `tool` there.",
        ),
    ),
    "6.2": Exercise(
        _place_for,
        (
            "Start with place = len(messages) and step back while the next message still fits into the budget.",
            "The last message always stays, so at least one step back is taken whatever the budget is.",
            'When the place is found: while the message there has the role "tool", take one more step back.',
        ),
    ),
}
