"""Text in columns of a terminal, where a Chinese character takes two: measured, cut, wrapped, aligned."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # these reorder what stands around them
_NO_START = frozenset("，。、；：？！”’）》」』】…·,.;:?!)]}")  # a line never begins with these


def plain(text: str) -> str:
    r"""The text without characters that move a cursor or turn the writing direction.

    >>> plain("red \x1b[31m")
    'red \ufffd[31m'
    """
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    bad = {c for c in set(text) if c in _BIDI or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} - {"\n"}
    return text.translate({ord(c): "\ufffd" for c in bad})


def width(text: str) -> int:
    """The columns that a text takes.

    >>> width("书桌 desk")
    9
    """
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return int(unicodedata.category(char) not in ("Mn", "Me", "Cf"))


def pad(text: str, columns: int, right: bool = False) -> str:
    """The text filled up with spaces, at its end or, to stand on the right, at its start."""
    space = " " * (columns - width(text))
    return space + text if right else text + space


def cut(text: str, columns: int) -> str:
    """The text on one line of so many columns; `…` says that something is missing.

    >>> cut("书桌和小抽屉", 8)
    '书桌和…'
    """
    text = text.replace("\n", " ")
    return text if width(text) <= columns else text[: _fitting(text, columns - 1)] + "…"


def wrap(text: str, columns: int) -> list[str]:
    """The text in lines of so many columns, broken at spaces and between Chinese characters where there are any."""
    lines: list[str] = []
    for line in text.split("\n"):
        while (end := _fitting(line, columns)) < len(line):
            end = next((place for place in range(end, end // 2, -1) if _may_break(line, place)), end)
            lines.append(line[:end].rstrip(" "))
            line = line[end:].lstrip(" ")
        lines.append(line)
    return lines


def _may_break(line: str, place: int) -> bool:
    before, after = line[place - 1], line[place]
    return before in " -/_" or after == " " or (2 in (_columns(before), _columns(after)) and after not in _NO_START)


def _fitting(text: str, columns: int) -> int:
    """How many characters fit, at least one."""
    for end, char in enumerate(text):
        columns -= _columns(char)
        if columns < 0:
            return max(end, 1)
    return len(text)


def shorten(text: str, lines: int = 14, characters: int = 1_200) -> tuple[str, str]:
    """The beginning of a text, and a note of what is left out, "" when nothing is.

    >>> shorten("a\\nb\\nc\\nd", lines=2)
    ('a\\nb', '… (2 more lines)')
    """
    rows = text.split("\n")
    kept = "\n".join(rows if len(rows) <= lines + 1 else rows[:lines])
    if len(kept) > characters:
        return kept[:characters], f"… ({count(len(text) - characters, 'more character')})"
    return kept, f"… ({count(len(rows) - lines, 'more line')})" if kept != text else ""


def count(number: int, word: str) -> str:
    """A number with its word.

    >>> count(1, "note"), count(1204, "character")
    ('1 note', '1,204 characters')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def aligned(rows: Sequence[Sequence[str]], room: int, numbers: frozenset[int] = frozenset(), gap: int = 3) -> list[str]:
    """Rows as lines of aligned columns, numbers to the right; the widest columns wrap until all fit into `room`."""
    sizes = [max(map(width, "\n".join(column).split("\n"))) for column in zip(*rows, strict=True)]
    while sum(sizes) + gap * (len(sizes) - 1) > room and max(sizes) > 8:
        sizes[sizes.index(max(sizes))] -= 1
    lines = []
    for row in rows:
        cells = [wrap(cell, size) for cell, size in zip(row, sizes, strict=True)]
        for place in range(max(map(len, cells))):
            texts = [cell[place] if place < len(cell) else "" for cell in cells]
            filled = [pad(text, size, n in numbers) for n, (text, size) in enumerate(zip(texts, sizes, strict=True))]
            lines.append((" " * gap).join(filled))
    return lines
