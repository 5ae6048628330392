"""Entries of a journal or a summary: how they are read, what type they are, and what a new one does to the old ones."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from hxmem.classroom.changes import Known, replaced, same
from hxmem.classroom.cues import pattern
from hxmem.classroom.extraction_rules import body_of
from hxmem.classroom.statements import Statement, type_of
from hxmem.classroom.vocabulary import is_chinese

ASKED_ZH, ASKED_EN = "用户要求记住", "The user asked to remember"
_BULLET = re.compile(r"^[-*] +(\S.*(?:\n[ \t]+\S.*)*)", re.M)
_LEADS = (
    (rf"{ASKED_ZH}[：:]|{ASKED_EN}:", ""),
    (r"用户(?:明确)?(?:要求|反馈|希望)[：:]|(?:the )?user (?:asked|wants|requires?)(?: (?:that|us to))?:", "feedback"),
    (
        r"用户(?:说|偏好|资料)?[：:]|(?:the )?user (?:said|told us|mentioned)(?: that)?:|user(?: fact)?:|preference:",
        "user",
    ),
    (r"(?:项目事实|项目|决定)[：:]|(?:project fact|project|decision|fact)s?:", "project"),
    (r"(?:资料位置|资料|参考)[：:]|(?:where to look|reference)s?:", "reference"),
)
_THIRD = re.compile(r"(?:这位|该)?用户(?![名表组端数界登注手])")
_USER_VERB = re.compile(
    r"(?:the )?user (?P<adverb>(?:now|also|usually|always|never|no longer|just|really) )*(?P<verb>[a-z]+)\b", re.I
)
_WISH = re.compile(
    r"(?:the )?user (?:asked|wants|requires?|requested|told|expects)\b|用户(?:明确)?(?:要求|希望|让|不让|不许)", re.I
)
_OF_USER = re.compile(
    r"(?:the )?user(?:'s)? (?!stor|interface|guide|manual|service|table|role|account|input)"
    r"|用户(?![名表组端数界登注手])",
    re.I,
)


@dataclass(frozen=True)
class Entry:
    """One entry: its text without the dash, and its type, "" when that can't be told."""

    text: str
    type: str = ""

    @property
    def line(self) -> str:
        """The text in one line."""
        return " ".join(self.text.split())


def bullets(text: str) -> list[str]:
    """The entries of a list in Markdown, without their dashes; lines that are no entries are left out.

    >>> bullets("- one\\n  more\\n\\n# Title\\n* two")
    ['one\\n  more', 'two']
    """
    return [found.strip() for found in _BULLET.findall(text)]


@lru_cache(maxsize=4096)
def lead_of(line: str) -> tuple[str, str, str]:
    """The lead of an entry such as "Project fact: ", the type it stands for, and the rest.

    >>> lead_of("Project fact: We use uv.")
    ('Project fact: ', 'project', 'We use uv')
    """
    for form, kind in _LEADS:
        if found := re.match(rf"(?:{form})\s*", line, re.I):
            return found[0], kind, line[found.end() :].strip().rstrip("。.")
    return "", "", line.strip().rstrip("。.")


def type_of_entry(text: str) -> str:
    """The type of an entry, by its lead, its subject and the rules for statements; "" when it can't be told.

    >>> [type_of_entry(text) for text in ("用户说：用户喜欢绿茶", "The user prefers tabs", "We use uv", "misc")]
    ['user', 'user', 'project', '']
    """
    lead, _, rest = lead_of(" ".join(text.split()))
    said = _first_person(rest)
    return plain_type(text) or type_of(said) or type_of(said, cue=bool(lead))


def plain_type(text: str) -> str:
    """The type that an entry shows by its lead or by its subject, the user; "" when it shows none."""
    line = " ".join(text.split())
    _, kind, rest = lead_of(line)
    if kind == "feedback" or (not kind and _WISH.match(line)):
        return "user" if is_chinese(line) and pattern("style").search(rest) else "feedback"
    return kind or ("user" if _OF_USER.match(rest) else "")


@lru_cache(maxsize=4096)
def _first_person(text: str) -> str:
    """The text as the user would say it, for the rules read what users say.

    >>> _first_person("The user prefers tabs"), _first_person("The user is in Rome"), _first_person("用户喜欢茶")
    ('I prefer tabs', 'I am in Rome', '我喜欢茶')
    """
    text = re.sub(r"^the user's\b", "my", _THIRD.sub("我", text), flags=re.I)
    found = _USER_VERB.match(text)
    if not found:
        return text
    verb = found["verb"]
    verb = {"is": "am", "has": "have", "does": "do", "goes": "go"}.get(
        verb, re.sub(r"(?<=[^s])s$|(?<=ss)es$", "", verb)
    )
    return f"I {found['adverb'] or ''}{verb}{text[found.end() :]}"


@lru_cache(maxsize=4096)
def statement_of(entry: Entry) -> Statement:
    """An entry as the rules for changes read it."""
    rest = _first_person(lead_of(entry.line)[2])
    short = pattern("lasting_start").sub("", rest) or rest
    return Statement(short, rest, entry.type or "project", bool(pattern("changed").search(rest)))


def judged(new: Entry, old: Sequence[Entry]) -> tuple[str, int]:
    """What a new entry is beside the old ones: "same" or "changed" with the number of that one, or "new" and -1.

    >>> old = [Entry("I like tea", "user"), Entry("We use npm", "project")]
    >>> judged(Entry("We moved from npm to pnpm.", "project"), old)
    ('changed', 1)
    """
    fact = statement_of(new)
    known = [Known("", entry.type or "project", _first_person(lead_of(entry.line)[2])) for entry in old]
    for at, other in enumerate(known):
        if same(fact, other):
            return "same", at
    changed = replaced(fact, known)
    at = next((at for at, other in enumerate(known) if other is changed), -1)
    return ("changed", at) if at >= 0 else ("new", -1)


def entry_of(fact: Statement, marked: bool = False) -> Entry:
    """What the user stated, as an entry that stands alone; `marked`: it shows when the user asked to remember it."""
    body = body_of(fact.full, fact.type)
    if marked and fact.asked:
        chinese = is_chinese(fact.full)
        body = f"{ASKED_ZH}：{lead_of(body)[2]}。" if chinese else f"{ASKED_EN}: {lead_of(body)[2]}."
    return Entry(body, fact.type)
