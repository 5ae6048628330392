"""Lesson 00: what carries a sentence from one run to the next, and laying a note on the desk."""

from collections.abc import Callable
from typing import Any

from hxmem.lab.checks import Exercise, choice, expect, returned


def _lay(lay: Callable[[str, str], Any]) -> None:
    for note, question in (("I drink tea.", "What do I drink?"), ("猫叫年糕", "我的猫叫什么？")):
        text = returned(lay(note, question))
        expect(isinstance(text, str), "return one text, not a list and not a dictionary")
        expect(note in text, "the note is not in the text that you return")
        expect(question in text, "the question is not in the text that you return")
        expect(
            text.index(note) < text.index(question), "the note comes first: the question should be the last thing read"
        )
        expect(
            "\nUser request:\n" in text, "the label `User request:` needs a line of its own, right above the question"
        )
        expect(text == f"{note}\n\nUser request:\n{question}", "compare the line ends: one empty line, then the label")


EXERCISES = {
    "0.1": Exercise(
        choice(
            "b",
            {
                "a": "no model remembers between two requests, however large it is",
                "c": "one sentence fits on any desk; the point is that the desk is cleared after each answer",
            },
        ),
        (
            "Think of the failure at the top: the model said that it had noted the sentence.",
            "What was different in the run that could answer? Look at the drawer.",
            "Which part wrote the file in this lesson, and what if that part is missing?",
        ),
    ),
    "0.2": Exercise(
        _lay,
        (
            "You built this text by hand above: look at the last line of that cell.",
            "An f-string can hold both values, and \\n is a line end.",
            "Between the note and the label stand two line ends, between the label and the question stands one.",
        ),
    ),
}
