"""The consolidation: fresh bullets become part of a MEMORY.md, and nothing leaves it without being named."""

import re
from collections.abc import Iterator

from hxmem.classroom.changes import with_condition
from hxmem.classroom.entries import Entry, bullets, judged, lead_of, type_of_entry
from hxmem.classroom.memory_file import SUPERSEDED, TYPES, Line, Section, read, section_for, text_of
from hxmem.classroom.vocabulary import is_chinese
from hxmem.text import estimate_tokens, squash

_BUDGET = re.compile(r"(\d[\d,_]*)\s*(?:个\s*)?tokens?\b", re.I)
_ARROW = re.compile(r"[-—=]+>|→|⇒")  # one arrow a line, between the old entry and the reason
_FACTS = ("project", "reference")
_WHY_ZH = {"changed": "已被取代：{}", "same": "与此相同：{}", "full": "超出 {} 个 token 的预算"}
_WHY_EN = {"changed": "replaced by: {}", "same": "same as: {}", "full": "over the budget of {} tokens"}


def consolidate(instruction: str, present: str, fresh: str) -> str:
    """The complete new file, with a last section that names each entry that left it.

    >>> print(consolidate("", "## Project\\n- We use npm for the site", "- We now use pnpm for the site"))
    ## Project
    - We now use pnpm for the site
    <BLANKLINE>
    ## Superseded
    - We use npm for the site -> replaced by: We now use pnpm for the site
    """
    new = [Entry(text, type_of_entry(text) or "project") for text in bullets(fresh)]
    if not new:
        return present.strip("\n")
    return _Merge(present).result(new, instruction)


class _Merge:
    """One consolidation: the sections as they become, and the lines that name what left them."""

    def __init__(self, present: str) -> None:
        read_in = read(present)
        self.sections = [section for section in read_in if section.name != SUPERSEDED]
        self.gone = [line.text for section in read_in if section.name == SUPERSEDED for line in section.lines]
        self.added = list[Line]()  # younger than the others

    def result(self, new: list[Entry], instruction: str) -> str:
        """The new file as text."""
        self._drop_duplicates()
        self._sort_flat_entries()
        for entry in new:
            self._take_in(entry)
        if budget := _BUDGET.search(instruction):
            self._shrink(int(re.sub(r"\D", "", budget[1])))
        text = text_of(self.sections)
        return f"{text}\n\n## {SUPERSEDED}\n" + "\n".join(self.gone) if self.gone else text

    def _places(self) -> Iterator[tuple[Section, Line, Entry]]:
        for section in self.sections:
            for line in section.lines:
                if line.entry is not None:
                    yield section, line, line.entry

    def _drop_duplicates(self) -> None:
        seen = list[Entry]()
        for section, line, entry in list(self._places()):
            how, at = judged(entry, seen)
            if how != "same":
                seen.append(entry)
                continue
            section.drop(line)
            if squash(entry.line) != squash(seen[at].line):
                self._name(entry, "same", seen[at].line)

    def _sort_flat_entries(self) -> None:
        """Put the entries of a file without headings under headings, where their type can be told."""
        for section, line, entry in list(self._places()):
            if not section.heading and entry.type in TYPES:
                section.drop(line)
                section_for(entry.type, self.sections).lines.append(line)

    def _take_in(self, new: Entry) -> None:
        places = list(self._places())
        how, at = judged(new, [entry for _, _, entry in places])
        if how == "same":
            return
        if how == "new":
            section, text = section_for(new.type, self.sections, new.text), new.text
        else:
            section, line, old = places[at]
            section.drop(line)
            text = _on_the_same_occasion(new, old)
            self._name(old, "changed", " ".join(text.split()))
            new = Entry(text, old.type)
        added = Line("- " + text, new)
        section.lines.append(added)
        self.added.append(added)

    def _shrink(self, budget: int) -> None:
        """Drop the oldest facts, those of the project first, until the file is within its budget."""
        for section, line, entry in sorted(self._places(), key=lambda place: self._worth(place[1], place[2])):
            if estimate_tokens(text_of(self.sections)) <= budget:
                return
            section.drop(line)
            self._name(entry, "full", str(budget))

    def _worth(self, line: Line, entry: Entry) -> tuple[int, bool]:
        """Facts that were there go first, then what has no type, new facts, and last what the user wants."""
        new = any(line is other for other in self.added)
        rank = 2 if new else 0 if entry.type in _FACTS else 1
        return (3 if entry.type == "feedback" else 4 if entry.type == "user" else rank), new

    def _name(self, old: Entry, why: str, newer: str) -> None:
        words = (_WHY_ZH if is_chinese(old.text) else _WHY_EN)[why]
        self.gone.append(f"- {_ARROW.sub('/', old.line)} -> {words.format(_ARROW.sub('/', newer))}")


def _on_the_same_occasion(new: Entry, old: Entry) -> str:
    """The text of the new entry, with the occasion of the old one when it names none itself."""
    lead, _, rest = lead_of(new.line)
    longer = with_condition(rest, lead_of(old.line)[2])
    return new.text if longer == rest else f"{lead}{longer}"
