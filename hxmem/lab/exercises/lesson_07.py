"""Lesson 07: which reply may replace MEMORY.md, and how many entries may vanish without a word."""

from collections.abc import Callable, Sequence
from typing import Any

from hxmem.lab.checks import Exercise, choice, expect, returned

_EIGHT = ("Ann", "Bo", "Cai", "Dee", "Eli", "Fay", "Gus", "Hal")
_CASES: tuple[tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str], str], ...] = (
    # present entries, those of the reply, those it names as superseded, what is lost, the reason
    (_EIGHT, _EIGHT[:5], (), _EIGHT[5:], "three of eight vanish without a word: that is more than a quarter"),
    (
        _EIGHT,
        (*_EIGHT[:4], *"wxyz"),
        (),
        _EIGHT[4:],
        "four new entries don't make up for four lost ones: compare entries",
    ),
    (
        _EIGHT[:4],
        (*_EIGHT[:2], *"stuvwxyz"),
        (),
        _EIGHT[2:4],
        "two of four vanish: that is more than a quarter of the present entries, however many are new",
    ),
    (_EIGHT, _EIGHT[:6], (), (), "two of eight vanish: a quarter exactly, and no more, is let through"),
    (_EIGHT, _EIGHT[:5], _EIGHT[5:], (), "three of eight vanish and all three are named: none is lost without a word"),
    (_EIGHT, _EIGHT[:3], _EIGHT[3:4], _EIGHT[4:], "five vanish and one is named: four are still without a word"),
    (_EIGHT[:3], _EIGHT[:2], (), _EIGHT[2:3], "one of three is more than a quarter: don't round up"),
    ((), ("Ann",), (), (), "with no present entry nothing can be lost"),
)


def _lost(lost: Callable[[list[str], list[str], list[str]], Any]) -> None:
    for before, after, named, gone, reason in _CASES:
        found = returned(lost(list(before), list(after), list(named)))
        expect(isinstance(found, list), "return a list: the entries themselves, or [] when the reply may pass")
        expect(all(isinstance(entry, str) for entry in found), "return the entries as text, as they stand in `before`")
        expect(sorted(found) == sorted(gone), reason)


EXERCISES = {
    "7.1": Exercise(
        choice(
            "b",
            {
                "a": "the line in brackets stands for text that would be gone: the file keeps the line, not the text",
                "c": "Tuesday is named, but Mia and Docker are gone without a word: that is two entries of four",
            },
        ),
        (
            "The reply becomes the whole file. What is not written in it is gone.",
            "Go through the four present entries. For each: is it there, or is it named with a reason?",
            "A change is allowed: the old entry leaves, and the last section of the reply says so.",
        ),
    ),
    "7.2": Exercise(
        _lost,
        (
            "First collect the entries of `before` that are in neither of the two other lists.",
            "Then compare how many you have with len(before) / 4: only more than that is too many.",
            "The list itself is the answer when it is too long; an empty list when it is not.",
        ),
    ),
}
