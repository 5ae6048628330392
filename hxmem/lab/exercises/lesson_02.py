"""Lesson 02: which type a note has, and the line that stands for a note in the index."""

from collections.abc import Callable
from typing import Any

from hxmem.lab.checks import Exercise, choice, expect, returned

NOTES = (
    ("tea", "drinks green tea"),
    ("书桌-例子", "讲 HarnessX 时先用书桌打比方"),
    ("night-build", "The build runs at night - never by day"),
    ("two-lines", "starts on one line\nand ends on the next"),
)


def _line(index_line: Callable[[str, str], Any]) -> None:
    for name, description in NOTES:
        line = returned(index_line(name, description))
        expect(isinstance(line, str), "return one text, not a list and not a dictionary")
        expect("\n" not in line.strip("\n"), "a description with a line end in it must still become one line")
        expect("\n" not in line, "return the line without a line end: whoever writes the file adds it")
        expect(line.startswith("- "), "the line is an item of a Markdown list: it starts with a dash and a space")
        expect(f"[{name}]" in line, "the name belongs in square brackets: that is the part of a link that is shown")
        expect(f"]({name}.md)" in line, "the file's name, with its ending, belongs in round brackets after the name")
        expect(line.endswith(" ".join(description.split())), "the line ends with the description, word for word")
        right = f"- [{name}]({name}.md) - {' '.join(description.split())}"
        expect(line == right, "compare the part between link and description: a space, a dash, a space")


EXERCISES = {
    "2.1": Exercise(
        choice(
            "b",
            {
                "a": "sentence 1 holds the word `me`, yet it is about what the agent does; 4 only says where to look",
                "c": "sentence 3 is a fact of the project itself; 4 names the place where facts are, not a fact",
            },
        ),
        (
            "Put the four tests of the table above to each sentence, one after the other.",
            "The word `me` does not make a note about a person. Ask what the agent will do with the note.",
            "A sentence that leads to a file or a page is useful only once that page has been opened.",
        ),
    ),
    "2.2": Exercise(
        _line,
        (
            "Look at a line of MEMORY.md above, sign by sign: dash, link, dash, sentence.",
            "An f-string can hold the name twice. The second time the file's ending stands behind it.",
            "`split()` without an argument cuts at every kind of white space, and `join` puts one space in between.",
        ),
    ),
}
