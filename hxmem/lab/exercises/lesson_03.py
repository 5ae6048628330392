"""Lesson 03: which body a side-query has, and a guard for the numbers that come back."""

from collections.abc import Callable
from typing import Any

from hxmem.lab.checks import Exercise, Wrong, choice, expect, filled

_CASES: tuple[tuple[str, int, int, list[int] | None, str], ...] = (  # reply, notes, limit, what comes back, reason
    ("[3, 7]", 12, 5, [3, 7], "[3, 7] is a good reply of a drawer with 12 notes: return both numbers"),
    ("[7, 3]", 12, 5, [7, 3], "keep the order of the reply: the most useful note comes first"),
    ("[3, 7, 3]", 12, 5, [3, 7], "[3, 7, 3] names note 3 twice: it would lie on the desk twice"),
    ("[5, 4, 3]", 12, 2, [5, 4], "with limit 2 the first two numbers stay, also of a longer reply"),
    ("[3, 3, 7]", 12, 2, [3, 7], "note 3 twice counts once: drop the repeat first, then cut to the limit"),
    ("[]", 12, 5, [], "[] is an answer, it says that no note helps: return [], not None"),
    ("the first one", 12, 5, None, "sentences are no answer: return None, and let no error out"),
    ("3", 12, 5, None, "a number alone is not a list: return None"),
    ("[99]", 12, 5, None, "there is no note 99 among 12: return None"),
    ("[12]", 12, 5, None, "counting starts at 0, so the last of 12 notes is number 11"),
    ("[-1]", 12, 5, None, "Python would take notes[-1] for the last note, but no catalog line is numbered -1"),
    ("[true]", 12, 5, None, "true is not a number, although Python counts True as an int"),
    ("[2, 99]", 12, 5, None, "one wrong number makes the whole reply doubtful: return None, don't pick from it"),
    ("[0, 1, 9]", 3, 2, None, "9 is wrong for 3 notes even where the limit would cut it off: check, then cut"),
)


def _guard(guard: Callable[[str, int, int], Any]) -> None:
    for reply, count, limit, wanted, otherwise in _CASES:
        try:
            got = guard(reply, count, limit)
        except Exception as error:  # the learner's own code; the reply that it met is the help
            raise Wrong(f"for the reply {reply} it raised {type(error).__name__}: {otherwise}") from error
        if got is ...:
            filled(got)
        expect(got is None or isinstance(got, list), "return a list of numbers, or None")
        expect(got == wanted and (got is None or all(type(number) is int for number in got)), otherwise)


EXERCISES = {
    "3.1": Exercise(
        choice(
            "c",
            {
                "a": "below each line stands a note's text: a side-query never carries one",
                "b": "no line has a number: the model could only answer with names, and a name can be invented",
            },
        ),
        (
            "Look again at the body that select sent. What did the model see of each note?",
            "The reply is a list of numbers. So the body has to say which number means which note.",
            "Two of the three have numbers. One of these two shows more than names and descriptions.",
        ),
    ),
    "3.2": Exercise(
        _guard,
        (
            "Begin with numbers = read(reply, count). What if that is None?",
            "A set forgets the order. The keys of a dictionary keep it, and each is there once.",
            "dict.fromkeys makes such keys of a list; a slice cuts the list that you get from them.",
        ),
    ),
}
