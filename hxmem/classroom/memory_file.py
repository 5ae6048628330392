"""A MEMORY.md as headings with entries, and as text again; lines that are neither stay where they are."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from hxmem.classroom.entries import Entry, plain_type, type_of_entry
from hxmem.classroom.transcripts import mainly_chinese

SUPERSEDED = "Superseded"
TYPES = ("user", "feedback", "project", "reference")
_ZH = {"user": "用户", "feedback": "做事方式", "project": "项目", "reference": "资料"}
_HEADINGS = {
    "user": r"user|about (?:me|the user)|preferences?|profile|用户|关于我|关于用户|偏好|个人",
    "feedback": r"feedback|rules|working style|how to work|conventions|做事方式|反馈|规矩|规则|约定",
    "project": r"project|decisions|项目|事实|决定|决策",
    "reference": r"references?|links|resources|where to look|资料|参考|链接",
}
_HEADING = re.compile(r"^(?P<depth>#{1,6}) +(?P<name>.*?)[ \t#]*$")
_ENTRY = re.compile(r"^[-*] +\S")


@dataclass(frozen=True)
class Line:
    """An entry with the lines that belong to it, or a line that is none."""

    text: str
    entry: Entry | None = None


@dataclass
class Section:
    """A heading and what stands under it; the first section of a file may have no heading."""

    heading: str = ""
    type: str = ""
    lines: list[Line] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The heading without its marks."""
        found = _HEADING.match(self.heading)
        return found["name"] if found else ""

    def drop(self, line: Line) -> None:
        """Take this line out, and no other that reads the same."""
        self.lines = [other for other in self.lines if other is not line]


def read(text: str) -> list[Section]:
    """The sections of a file.

    >>> [(section.heading, len(section.lines)) for section in read("# Memory\\n\\n## User\\n- one\\n  more\\n- two")]
    [('# Memory', 0), ('## User', 2)]
    """
    sections, lines = [Section()], [] if text.strip() == "(none)" else text.strip("\n").split("\n")
    for line in lines:
        last = sections[-1].lines
        if heading := _HEADING.match(line):
            sections.append(Section(line, _heading_type(heading["name"]) or _inherited(sections, heading["depth"])))
        elif _ENTRY.match(line):
            last.append(Line(line, Entry("", "")))
        elif last and last[-1].entry is not None and line[:1] in (" ", "\t") and line.strip():
            last[-1] = Line(f"{last[-1].text}\n{line}", last[-1].entry)
        else:
            last.append(Line(line))
    for section in sections:
        section.lines = [_typed(line, section.type) for line in _trimmed(section.lines)]
    return sections if sections[0].lines else sections[1:]


def _heading_type(name: str) -> str:
    return next((kind for kind in TYPES if re.match(rf"(?:{_HEADINGS[kind]})\b", name, re.I)), "")


def _inherited(sections: list[Section], depth: str) -> str:
    above = sections[-1].heading
    return sections[-1].type if above and len(depth) > len(above) - len(above.lstrip("#")) else ""


def _typed(line: Line, kind: str) -> Line:
    if line.entry is None:
        return line
    text = re.sub(r"^[-*] +", "", line.text)
    return Line(line.text, Entry(text, plain_type(text) or kind or type_of_entry(text)))


def _trimmed(lines: list[Line]) -> list[Line]:
    full = [at for at, line in enumerate(lines) if line.text.strip()]
    return lines[full[0] : full[-1] + 1] if full else []


def text_of(sections: Iterable[Section]) -> str:
    """The sections as a file."""
    parts = ["\n".join([s.heading] * bool(s.heading) + [line.text for line in s.lines]) for s in sections]
    return "\n\n".join(part for part in parts if part)


def section_for(kind: str, sections: list[Section], text: str = "") -> Section:
    """The section for a type, made at its place where there is none yet, in the language of the entries and `text`."""
    for section in sections:
        if section.type == kind and section.heading:
            return section
    chinese = mainly_chinese(" ".join([text, *(e.text for s in sections for line in s.lines if (e := line.entry))]))
    made = Section(f"## {_ZH[kind] if chinese else kind.title()}", kind)
    later = [at for at, s in enumerate(sections) if s.type in TYPES and TYPES.index(s.type) > TYPES.index(kind)]
    sections.insert(later[0] if later else len(sections), made)
    return made
