"""One memory is one Markdown file: front matter with name, description and type, then the body."""

import re
from dataclasses import dataclass

from hxmem.drawer.front_matter import OURS, Unreadable, read_header, scalar, split
from hxmem.text import unix_lines

MEMORY_TYPES = ("user", "feedback", "project", "reference")
DEFAULT_TYPE = "project"
_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


@dataclass(frozen=True)
class Memory:
    """What is kept: `description` is the line in the index, `body` is what reaches the model once the note is chosen.

    `file` is the file's name in the drawer, "" until it is stored. `extra` holds the header lines of other
    programs, word for word, so that a rewrite keeps them.
    """

    name: str
    type: str
    description: str
    body: str
    file: str = ""
    extra: str = ""


@dataclass(frozen=True)
class Problem:
    """A fault in a file, the line it is on (0: the whole file), and how to mend it."""

    file: str
    line: int
    says: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.says}" if self.line else f"{self.file}: {self.says}"


class StoreProblem(Exception):
    """The drawer can't be read or written; the sentence says why."""


def parse(text: str, file: str) -> tuple[Memory, tuple[Problem, ...]]:
    """Read one detail file; what is odd but readable comes back as problems, what isn't raises `Unreadable`.

    >>> text = "---\\nname: tea\\ndescription: drinks tea\\ntype: user\\n---\\n\\nGreen tea.\\n"
    >>> memory, problems = parse(text, "tea.md")
    >>> memory.description, memory.body, problems
    ('drinks tea', 'Green tea.', ())
    """
    stem = file.removesuffix(".md")
    if text.split("\n", 1)[0].rstrip() != "---":
        body = tidy(text)
        if not body:
            raise Unreadable(1, "the file is empty: write a note or delete it")
        problem = Problem(file, 1, "no header: its name and first line are used; add name, description and type")
        return Memory(stem, DEFAULT_TYPE, _title(body) or stem, body, file), (problem,)
    top, rest = split(text)
    header, body = read_header(top), tidy(rest)
    problems = header.problems
    name, description = (str(header.values.get(key, "")).strip() for key in ("name", "description"))
    kind, line = _type(header.values), header.lines.get("type", header.lines.get("metadata", 0))
    if kind not in MEMORY_TYPES:
        problems.append((line, f"type `{kind}` is read as {DEFAULT_TYPE}: use {', '.join(MEMORY_TYPES)}"))
    if not description:
        problems.append((0, "no description: the first line of the body is used; add one"))
    kind = kind if kind in MEMORY_TYPES else DEFAULT_TYPE
    memory = Memory(name or stem, kind, description or _title(body) or stem, body, file, header.extra)
    return memory, tuple(Problem(file, line, says) for line, says in problems)


def render(memory: Memory) -> str:
    """The text of a detail file; `parse` reads the same values back.

    >>> print(render(Memory("tea", "user", "drinks: tea", "Green tea.")), end="")
    ---
    name: tea
    description: "drinks: tea"
    type: user
    ---
    <BLANKLINE>
    Green tea.
    """
    header = [f"{key}: {scalar(getattr(memory, key))}" for key in OURS]
    header += [memory.extra] if memory.extra else []
    return "\n".join(["---", *header, "---", "", tidy(memory.body), ""])


def tidy(body: str) -> str:
    """A body as it is stored: LF line ends, no blank lines around it, the first line's indent kept."""
    return _BLANK_LINES.sub("", unix_lines(body).rstrip())


def one_line(text: str) -> str:
    """The text on one line, runs of white space folded."""
    return " ".join(text.split())


def _type(values: dict[str, object]) -> str:
    """The type, which Claude Code writes under `metadata`; no type at all is the default one."""
    metadata = values.get("metadata")
    kind = values.get("type") or (metadata.get("type") if isinstance(metadata, dict) else "")
    return kind.strip() if isinstance(kind, str) and kind else DEFAULT_TYPE


def _title(body: str) -> str:
    return next((one_line(line.lstrip("# ")) for line in body.split("\n") if line.strip("#- \t")), "")[:200]
