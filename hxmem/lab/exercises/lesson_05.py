"""Lesson 05: which experiment proves long-term memory, and the disk's part of the acceptance list."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hxmem.lab.checks import Exercise, choice, expect, returned

_INDEX, _DETAIL, _IGNORE = ".harnessx/memory/MEMORY.md", ".harnessx/memory/*.md", ".harnessx/.gitignore"
_NOTE = ".harnessx/memory/tea.md"
_OLD = ".harnessx/memory/.history/tea.1.md"
_CASES: tuple[tuple[Sequence[str], Sequence[str], str], ...] = (  # files in the folder, what is missing, the reason
    ((_INDEX, _NOTE, _IGNORE), (), "a folder with all three is accepted: do you look below `folder`, in .harnessx?"),
    ((), (_INDEX, _DETAIL, _IGNORE), "an empty folder lacks all three, and each is named as in the text"),
    ((_INDEX, _IGNORE), (_DETAIL,), "MEMORY.md is the index: alone in the folder it is no detail file"),
    ((_INDEX, _IGNORE, _OLD), (_DETAIL,), "a version in .history is no note: look in the folder itself, not below it"),
    ((_NOTE, _IGNORE), (_INDEX,), "a folder with a note and no MEMORY.md lacks just the index"),
    ((_INDEX, _NOTE), (_IGNORE,), "without .harnessx/.gitignore the drawer is in the diff: your list should name it"),
)


def _accepted(accepted: Callable[[Path], Any]) -> None:
    for files, missing, reason in _CASES:
        with tempfile.TemporaryDirectory() as name:
            for file in files:
                path = Path(name) / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("*\n", encoding="utf-8", newline="\n")
            found = returned(accepted(Path(name)))
        expect(isinstance(found, list), "return a list: what is missing, not whether something is")
        expect(all(isinstance(item, str) for item in found), "return the names as text, as they stand above")
        expect(sorted(found) == sorted(missing), reason)


EXERCISES = {
    "5.1": Exercise(
        choice(
            "c",
            {
                "a": "the sentence is still on the desk: `history` sends it again, and no file is needed",
                "b": "that proves the writing alone: nobody has read the note, and the index is only a promise",
            },
        ),
        (
            "Long-term memory has two halves: something is written, and later something is read.",
            "For each experiment ask: would it still pass if the drawer were deleted before the question?",
            "Find the row of the table of lifetimes on which each experiment depends.",
        ),
    ),
    "5.2": Exercise(
        _accepted,
        (
            "Two of the three are single files: folder / name, and is_file() says whether it is there.",
            "For detail files, glob the memory folder itself; glob, unlike rglob, does not look into .history.",
            "Leave out MEMORY.md from what glob finds. Then collect the name of each thing that is not there.",
        ),
    ),
}
