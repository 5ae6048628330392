"""Lesson 08: which tokenizer finds which word, and a small function that cuts a text into pieces."""

from collections.abc import Callable, Sequence
from typing import Any

from hxmem.lab.checks import Exercise, choice, expect, returned

_CASES: tuple[tuple[str, Sequence[str], str], ...] = (  # a text, its pieces, the reason
    ("数据库", ("数据", "据库"), "数据库 has two pieces: one begins at each character but the last"),
    ("猫", ("猫",), "a run of one character has no pair: keep the character itself, or 猫 is never found"),
    ("use uv", ("use", "uv"), "Latin words are not cut into pairs: `use uv` has two tokens"),
    ("UV", ("uv",), "UV and uv should be found by each other: make Latin letters lower-case"),
    ("python 3", ("python", "3"), "digits are tokens too: `python 3` has two"),
    ("pre-edit", ("pre", "edit"), "a sign ends a Latin run too: `pre-edit` has two pieces, and no third for the whole"),
    ("数据，库存", ("数据", "库存"), "a sign ends a run: no piece goes over the comma in 数据，库存"),
    (
        "用UV装依赖",
        ("用", "uv", "装依", "依赖"),
        "用UV装依赖 has no spaces: its runs part where the script changes, in order",
    ),
    ("迁移，迁移", ("迁移", "迁移"), "a piece that stands in the text twice is in the list twice: BM25 counts it"),
    ("！", (), "a text of signs alone has no pieces: return an empty list"),
)


def _pieces(pieces: Callable[[str], Any]) -> None:
    for text, wanted, reason in _CASES:
        found = returned(pieces(text))
        expect(isinstance(found, list), "return a list: a set has no order, and a text is no list of pieces")
        expect(found == list(wanted), reason)


EXERCISES = {
    "8.1": Exercise(
        choice(
            "b",
            {
                "a": "`unicode61` knows no words: the whole line is one token, and 部署 is not equal to it",
                "c": "a long word is looked up as several pieces, and 测试, 试环 and 环境 are all there",
            },
        ),
        (
            "Write down the pieces that each tokenizer makes of this line.",
            "Then cut the two words in the same way. Which of their pieces stand in your lists?",
            "A word that is shorter than the piece of a tokenizer can't be looked up at all.",
        ),
    ),
    "8.2": Exercise(
        _pieces,
        (
            "Find the runs first. One pattern with | in it can match either a Chinese run or a Latin one.",
            "re.findall gives the runs in their order, without spaces and signs. Decide for each which kind it is.",
            "For a Chinese run take the pairs as `grams` did. When that list is empty, the run itself is the piece.",
        ),
    ),
}
