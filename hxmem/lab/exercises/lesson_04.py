"""Lesson 04: which sentences are worth keeping, and the check of one proposed memory."""

from collections.abc import Callable
from typing import Any

from hxmem.drawer.detail import MEMORY_TYPES
from hxmem.lab.checks import Blank, Exercise, Wrong, expect

KEPT = "be"
WHY = {
    "a": "sentence a is small talk: tomorrow nobody needs it",
    "b": "sentence b says how to work from now on, and it is missing",
    "c": "sentence c is a question: it states nothing",
    "d": "sentence d is a task for once: it is done when the answer is there",
    "e": "sentence e is a lasting fact of the project, and it is missing",
    "f": "sentence f was read in a file: only what the user said is evidence",
}
GOOD = {"name": "tea", "type": "user", "description": "drinks green tea", "body": "The user drinks green tea."}


def _kept(answer: Any) -> None:
    letters = {char for char in str(answer).lower() if char.isalnum()}  # a set, a list and "b, e" are all fine
    expect(letters <= set(WHY), "answer with the letters of the sentences, for example {'x', 'y'}")
    for letter, reason in WHY.items():
        expect((letter in letters) == (letter in KEPT), reason)


def _accept(accept: Callable[[Any], Any]) -> None:
    for kind in MEMORY_TYPES:
        found = accept({**GOOD, "type": kind})
        if found is ...:
            raise Blank
        expect(found is not None, 'a good item gets an empty text: end the function with return ""')
        expect(found == "", f"a whole item of type {kind} is refused, and it is good")
    for field in GOOD:
        without = {key: value for key, value in GOOD.items() if key != field}
        _refused(accept, without, field, "has no", field)
    for field in GOOD:
        _refused(accept, {**GOOD, field: "  "}, field, "has only spaces in", field)
        _refused(accept, {**GOOD, field: ["tea"]}, field, "has a list in", field)
    _refused(accept, {**GOOD, "type": "diary"}, "type", "has the unknown value diary in", "type")
    _refused(accept, "tea", "", "is a text and not an object:", "tea")


def _refused(accept: Callable[[Any], Any], item: Any, named: str, wrong: str, where: str) -> None:
    try:
        found = accept(item)
    except Exception as error:  # the learner's own code; the item that it met is the help
        raise Wrong(f"it raised {type(error).__name__} for an item that {wrong} `{where}`") from error
    expect(isinstance(found, str) and found != "", f"an item that {wrong} `{where}` gets through")
    expect(named.lower() in found.lower(), f"the reason for an item that {wrong} `{where}` should contain `{named}`")


EXERCISES = {
    "4.1": Exercise(
        _kept,
        (
            "Ask of each sentence: will it still matter in a month, in another conversation?",
            "Then ask who said it. Which turns of the dialogue are evidence?",
            "Strike out the small talk, the question, the task and what came out of a file.",
        ),
    ),
    "4.2": Exercise(
        _accept,
        (
            "Four fields, and each can be missing, be no text, or be blank. A loop over the names covers them.",
            "item.get(field) gives None where a field is missing; isinstance(value, str) tells text from a list.",
            "Begin: is the item a dict at all? End: is its type one of the four? Each reason names its field.",
        ),
    ),
}
