"""The first layer: a log a day that only grows, and the entries of a Markdown text."""

import codecs
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from textwrap import dedent
from typing import TypeVar

from hxmem.credentials import mask
from hxmem.files import NEW_FILE_MODE, FileProblem
from hxmem.journal.folder import JournalFolder
from hxmem.text import HAN, whole

T = TypeVar("T")
_MODE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_MARK = re.compile(
    r"(?:[-*+•·–●▪◦‣○]|\d{1,3}[.)])\s+(?=\S)|[•·●▪◦‣]|\d{1,3}、|[(（]\d{1,2}[)）]\s*(?=\S)|[①-⑳]\s*(?=\S)"
    f"|(?:-|\\d{{1,3}}[.．])(?=[{HAN}])|\\d{{1,3}}[.．](?=\\*\\*)"  # Chinese lists often lack the space
)
_DASH = re.compile(r"[-*•]\s+(?=\S)")  # not "1." or "+": an entry may begin with a date or an amount
_HEADING = re.compile(r"#{1,6}\s")
_FENCE = re.compile(r"```|~~~")
_RULE = re.compile(r"(?:([-*_])[ \t]*)(?:\1[ \t]*){2,}")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")  # say nothing in a log


def append(folder: JournalFolder, bullets: Sequence[str], now: datetime, session: str = "") -> tuple[Path, int]:
    """Append bullets, masked, to the log of `now` under a header with its time; returns the log and the header's line.

    A write that fails leaves the log as it was; a line that a killed process left unfinished is closed first.
    """
    path = folder.logs / f"{now:%Y-%m-%d}.md"
    entries = [entry for entry in map(bullet, bullets) if entry]
    if not entries:
        return path, 0
    header = f"## {now:%H:%M:%S} {' '.join(mask(whole(session)).text.split())}".rstrip()
    with folder.locked():
        try:
            before = path.read_bytes() if path.exists() else b""
            kept = closed(before)
            gap = "" if not kept else "\n" if kept.endswith(b"\n") else "\n\n"
            _write(path, len(kept), len(before), f"{gap}{header}\n{''.join(entries)}".encode())
        except OSError as error:
            raise FileProblem(f"{path.name} could not be written ({error.strerror}): check the disk.") from error
    return path, kept.count(b"\n") + len(gap) + 1


def _write(path: Path, end: int, size: int, data: bytes) -> None:
    """Write `data` behind the first `end` bytes of a file, or leave the `size` bytes that it has."""
    with os.fdopen(os.open(path, _MODE, NEW_FILE_MODE), "ab") as file:
        if end < size:
            file.truncate(end)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):  # a full disk: the first error is the one to report
                os.truncate(path, end)
            raise


def closed(data: bytes) -> bytes:
    """The bytes without the first part of a character that a write left unfinished at their end."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[-4:])
    return data[: len(data) - len(decoder.getstate()[0])]


def bullet(text: str) -> str:
    r"""The text as an entry of a log: "- ", further lines indented; "" when it says nothing. Credentials are masked.

    >>> bullet("* Ann leads the project.\nSince May.")
    '- Ann leads the project.\n  Since May.\n'
    """
    lines = mask(_CONTROL.sub("", whole(text))).text.expandtabs(4).splitlines()
    lines = [line for line in lines if line.strip()]
    if not lines:
        return ""
    title, rest = lines[0].strip(), dedent("\n".join(" " * _indent(line) + line.strip() for line in lines[1:]))
    first = _DASH.match(title)
    return "\n  ".join([f"- {title[first.end() if first else 0 :]}", *rest.splitlines()]) + "\n"


def bullets(text: str, deep: bool = False) -> list[str]:
    r"""The entries of a log or of MEMORY.md without their mark; `deep` counts nested entries by themselves.

    >>> bullets("## Tools\n1. uv\n* tests:\n  - pytest")
    ['uv', 'tests:\n- pytest']
    """
    return [text for kind, text in blocks(text, deep) if kind == "entry"]


def blocks(text: str, deep: bool = False) -> list[tuple[str, str]]:
    """The parts of a Markdown text in order, as (kind, text): an entry, a heading, a fence, or one line of prose."""
    return [(kind, text) for kind, text, _ in outline(text, deep)]


def outline(text: str, deep: bool = False) -> list[tuple[str, str, int]]:
    """The parts like `blocks`, each with the indentation of its first line.

    Further lines of an entry keep what they are indented beyond its text; a code block right behind it belongs to it.
    """
    found = list[tuple[str, str, int]]()
    depth, column, blank, code, outer = -1, 0, False, -1, False  # depth: of the present entry's mark, -1 outside of one
    lines = text.expandtabs(4).splitlines()
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    for number, line in enumerate(lines):
        bare, indent = line.strip(), _indent(line)
        fence = _FENCE.match(line)
        if fence and number > code and depth >= 0 and not blank and not outer:
            code = next((end for end in fences if end > number + 1 and lines[number + 1].strip()), -1)  # its end
        inside = number <= code
        rule = indent <= max(depth, 0) and _RULE.fullmatch(bare)
        if bare and not (inside or rule) and (mark := _MARK.match(bare)) and (deep or depth < 0 or indent < depth + 2):
            found.append(("entry", bare[mark.end() :].strip(), indent))
            depth, column = indent, indent + mark.end()
        elif bare and depth >= 0 and (inside or indent > depth or not (blank or rule or fence or _HEADING.match(line))):
            kind, start, at = found[-1]
            found[-1] = (kind, f"{start}\n{' ' * (indent - column * (not inside))}{bare}", at)
        elif bare:
            kind = "heading" if _HEADING.match(line) else "fence" if fence else "prose"
            outer ^= bool(fence)
            found.append((kind, bare, indent))
            depth = -1
        blank = not bare
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def portions(items: Iterable[T], size: Callable[[T], int], room: int) -> list[list[T]]:
    """The items in their order, in groups of at most `room`; an item that is larger is a group of its own."""
    groups, used = list[list[T]](), 0
    for item in items:
        used += size(item)
        if not groups or used > room:
            groups.append([])
            used = size(item)
        groups[-1].append(item)
    return groups
