"""The header of a detail file: read key by key, so that one bad line costs that line and not the note."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from frontmatter.default_handlers import YAMLHandler

OURS = ("name", "description", "type")

_KEY = re.compile(r"([^\s#'\"\[{&*!|>%@`:-][^:]*):(?:\s|$)")
# A new key begins on a line that isn't indented, a comment, a list item or empty.
_NEXT = re.compile(r"\n(?![\s#]|- |-(?:\n|\Z)|\Z)")
_PLAIN = re.compile(r"[^\s'\"\[{&*!|>%@`#,?-].*")  # a value that YAML starts to read as plain text
_MISREAD = re.compile(r":\s|:$|\s#")  # inside such a value, YAML takes these as its own signs
_QUOTE = "put the value in quotes: YAML cuts or refuses it at `: ` or ` #`"
_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # BaseLoader: `no`, `1.10` and `12:30` stay text


class Unreadable(Exception):
    """A detail file that can't be read as a memory; nothing is done to the file."""

    def __init__(self, line: int, says: str) -> None:
        super().__init__(says)
        self.line, self.says = line, says


def split(text: str) -> tuple[str, str]:
    """The header and the body of a text that opens a header; only whole lines of `---` are fences."""
    lines = text.split("\n")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :])
    raise Unreadable(1, "the header that opens here is never closed: add a line `---` below its last value")


@dataclass
class Header:
    """The values by key, the line of each key, (line, what to mend) pairs, and the lines that are not ours."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)
    extra: str = ""


def read_header(text: str) -> Header:
    """Read the text between the fences, its first line being line 2 of the file."""
    header, chunks = Header(), list(_chunks(text))
    for key, line, chunk in chunks:
        problem = ""
        if key in header.lines:
            header.problems.append((line, f"`{key}` stands twice in the header, this one is used: delete one"))
        if key:
            header.lines[key] = line
            header.values[key], problem, below = _value(key, chunk)
            line += below
        elif chunk.strip() and not chunk.startswith("#"):
            problem = "no `key:` here: indent it to continue the value above, or check its colon"
        if problem:
            header.problems.append((line, problem))
    if not header.lines:
        raise Unreadable(2, "the header is not made of `key: value` lines: add name, description and type")
    header.extra = "\n".join(chunk for key, _, chunk in chunks if key not in OURS and chunk.strip())
    return header


def scalar(value: str) -> str:
    """A plain YAML scalar where every YAML reader gets the same text back, else a double-quoted one.

    >>> scalar("drinks tea"), scalar("no"), scalar("a: b")
    ('drinks tea', '"no"', '"a: b"')
    """
    if _PLAIN.fullmatch(value) and not _MISREAD.search(value) and _reads_back(value):
        return value
    quoted = yaml.dump(value, default_style='"', allow_unicode=True, width=float("inf"))
    return str(quoted).rstrip("\n")


def _reads_back(value: str) -> bool:
    try:
        return bool(yaml.safe_load(f"k: {value}\n") == {"k": value})
    except (yaml.YAMLError, ValueError):  # the second for what looks like a date or a number and is none
        return False


def _chunks(text: str) -> Iterator[tuple[str, int, str]]:
    """The header as (key, line, text); indented lines, list items and comments belong to the key above them."""
    line = 2
    for chunk in _NEXT.split(text):
        found = _KEY.match(chunk.partition("\n")[0])
        yield found[1].rstrip() if found else "", line, chunk
        line += chunk.count("\n") + 1


def _value(key: str, chunk: str) -> tuple[Any, str, int]:
    """The value of one key as text (lists and mappings of other programs as such), what to mend, and lines below."""
    plain = chunk.partition(":")[2].strip()
    if "\n" not in chunk and _PLAIN.fullmatch(plain):
        return plain, _QUOTE if _MISREAD.search(plain) else "", 0
    try:
        value = next(iter(YAMLHandler().load(chunk, Loader=_Loader).values()))
    except (yaml.YAMLError, AttributeError, StopIteration, RecursionError) as error:
        problem, mark = getattr(error, "problem", None) or "it has no value", getattr(error, "problem_mark", None)
        mend = f"YAML can't read this value ({problem}): put it in quotes, indent with spaces"
        return plain.partition("\n")[0], mend, min(mark.line, chunk.count("\n")) if mark else 0
    if key in OURS and not isinstance(value, str):
        return plain.partition("\n")[0], "put the value in quotes: YAML reads it as a list or a table", 0
    return value, "", 0
