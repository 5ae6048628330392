"""MEMORY.md, the index: one line per memory, made again from the folder after every write."""

import re
from collections.abc import Collection, Iterable

from hxmem.drawer.detail import Memory, one_line
from hxmem.text import cut_middle, fitting

INDEX_FILE = "MEMORY.md"
MAX_LINES, MAX_BYTES = 200, 25_000  # what one request carries of it; Claude Code's limits for the same file

_LINE = re.compile(r"- \[[^\]]*\]\(([^()]*)\) - .*")
_UNSAFE = {ord(char): f"%{ord(char):02X}" for char in " #%()<>"}  # these end or change a Markdown link


def index_line(memory: Memory) -> str:
    """The line that stands for one memory.

    >>> index_line(Memory("tea", "user", "drinks green tea", "...", "tea.md"))
    '- [tea](tea.md) - drinks green tea'
    """
    name, line = (
        one_line(memory.name).replace("[", "(").replace("]", ")"),
        cut_middle(one_line(memory.description), 300),
    )
    return f"- [{name}]({(memory.file or memory.name + '.md').translate(_UNSAFE)}) - {line}"


def foreign_lines(index: str, files: Collection[str]) -> list[str]:
    """Lines of an index file that hxmem didn't write: all but those that point to one of the drawer's files."""
    ours = {file.translate(_UNSAFE) for file in files}
    found = [(line, _LINE.fullmatch(line)) for line in index.splitlines() if line.strip()]
    return [line for line, match in found if not match or match[1] not in ours]


def within_budget(lines: Iterable[tuple[int, str]], max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> str:
    """The index as it goes into a request: given (age rank, line) pairs, the newest stay, in their own order.

    A higher rank is newer. When lines are left out, a last line says how many and how to find them.

    >>> print(within_budget([(1, "- old"), (3, "- new"), (2, "- mid")], max_lines=2))
    - new
    (2 more, older: `hx memory search WORDS` finds them)
    """
    pairs = list(lines)
    if len(pairs) <= max_lines and sum(len(line.encode()) + 1 for _, line in pairs) <= max_bytes:
        return "\n".join(line for _, line in pairs)
    newest = sorted(range(len(pairs)), key=lambda place: pairs[place][0], reverse=True)[: max_lines - 1]
    room = max_bytes - 80  # the last line's own room
    kept = set(fitting(newest, lambda place: len(pairs[place][1].encode()) + 1, room))
    left = len(pairs) - len(kept)
    note = f"({left} more, older: `hx memory search WORDS` finds them)"
    return "\n".join([*(line for place, (_, line) in enumerate(pairs) if place in kept), note])
