"""Exercises that answer: `check(id, answer)` says not yet, not right, right or could not check; `hint(id)` helps."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

NOT_YET, NOT_RIGHT, RIGHT, UNCHECKED = "not yet", "not right", "right", "could not check"


class Wrong(Exception):
    """An answer is not right; the sentence says why."""


class Blank(Exception):
    """An answer still has its three dots."""


@dataclass(frozen=True)
class Exercise:
    """One exercise: `judge` raises `Wrong` for a wrong answer; three hints, each a step closer, none is the answer."""

    judge: Callable[[Any], None]
    hints: tuple[str, str, str]


@dataclass(frozen=True)
class Verdict:
    """What a check found."""

    state: str
    because: str = ""

    def __repr__(self) -> str:
        return f"{self.state}: {self.because}" if self.because else self.state

    def __bool__(self) -> bool:
        return self.state == RIGHT


def check(number: str, answer: Any = ...) -> Verdict:
    """Judge an answer to exercise `number`, such as "3.1"; a blank (`...`) is "not yet", never an error."""
    exercise = find(number)
    if exercise is None:
        return Verdict(UNCHECKED, f"there is no exercise {number}")
    try:
        filled(answer)
        exercise.judge(answer)
    except Blank:
        return Verdict(NOT_YET, "put your answer in place of the three dots")
    except Wrong as error:
        return Verdict(NOT_RIGHT, str(error))
    except Exception as error:  # the learner's own function may fail in any way: that is a finding, not a crash
        return Verdict(NOT_RIGHT, f"it raised {type(error).__name__}: {error}")
    return Verdict(RIGHT)


def hint(number: str, step: int = 1) -> str:
    """One of three hints to an exercise; a higher step says more."""
    exercise = find(number)
    return exercise.hints[min(max(step, 1), 3) - 1] if exercise else f"there is no exercise {number}"


def find(number: str) -> Exercise | None:
    """The exercise with this number, from `hxmem.lab.exercises.lesson_NN`."""
    lesson = number.partition(".")[0]
    if not lesson.isdigit():
        return None
    try:
        module = importlib.import_module(f"hxmem.lab.exercises.lesson_{int(lesson):02d}")
    except ModuleNotFoundError:
        return None
    exercises: Mapping[str, Exercise] = module.EXERCISES
    return exercises.get(number)


def filled(value: Any) -> Any:
    """The value, or `Blank` when it is still the three dots; a learner's function may return them too."""
    if value is ... or value is None or (isinstance(value, str) and value.strip() in ("", "...")):
        raise Blank
    return value


def returned(value: Any) -> Any:
    """What a learner's function returned: `Blank` for the three dots, `Wrong` for nothing at all."""
    expect(value is not None, "your function returns nothing: end it with return ...")
    return filled(value)


def choice(right: str, reasons: Mapping[str, str]) -> Callable[[Any], None]:
    """A judge for "pick one": the right letter, and for each wrong one the reason why it is wrong."""

    def judge(answer: Any) -> None:
        picked = "".join(char for char in str(answer).lower() if char.isalnum())
        expect(
            picked == right,
            reasons.get(picked, f"answer with one of the letters {', '.join(sorted([right, *reasons]))}"),
        )

    return judge


def expect(condition: bool, otherwise: str) -> None:
    """Raise `Wrong` with a sentence unless the condition holds."""
    if not condition:
        raise Wrong(otherwise)


def compare(prediction: Any, observed: str) -> str:
    """The learner's prediction beside what happened, as data: the lesson's text says why.

    >>> compare("a", "b")
    'predicted a, observed b'
    >>> compare(..., "b")
    'no prediction, observed b'
    """
    said = "no prediction" if prediction in (..., None, "") else f"predicted {prediction}"
    return f"{said}, observed {observed}"
