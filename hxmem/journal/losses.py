"""What of the present MEMORY.md is no longer in a new one: kept, reworded, merged and replaced entries are not lost.

An entry is compared by its words, Chinese by its single characters, for a reworded sentence has few pairs in common.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat

from hxmem.journal.ledger import bullets, outline
from hxmem.ranking import stem, stop_words
from hxmem.text import CJK, normal, squash, tokens

REWORDED = 2 / 3  # more than so much of an entry stands in one new entry: it was reworded or merged into that one
REPLACED = 1 / 2  # at least so much, where the new entry says something that comes from the logs
NAMED = 1 / 2  # at least so much, where the entry is named under "## Superseded"

_SMALL = frozenset(
    "的了着过在是我你您他她它这那哪有和与及或就也都很太更还又再才把被给让对从到为以之其而但由将已会要用叫"
)
_COMMON = frozenset(map(stem, ("use", "used", "using", "called", "named")))
_USER = re.compile(r"用户|\b(?:the )?users?\b", re.IGNORECASE)  # everything in the file is about the user
_NOT = re.compile(r"(?i)\b(?:not|never|no|without|neither|cannot)\b|n['’]t\b|[不没無无勿别禁非]|拒绝|停止|避免")
_AFTERNOON = re.compile(r"(?i)(?:下午|晚上|傍晚)\s*(\d{1,2})(?!\d)|\b(\d{1,2})(?=(?::\d\d)?\s*pm\b)")
_SUPERSEDED = re.compile(
    r"(?im)^(?:#{1,6}[ \t]*|(?=\*\*|__))[*_]*(?:superseded|已?被?取代|已被?替[代换]|已?过时|已?废弃)"
    r"(?:[ \t]*(?:entries|items|notes|的?(?:旧?条目|内容)))?[ \t]*(?:[(（][^)）\n]*[)）])?[ \t:：*_]*$"
    r"|^superseded[ \t]*[:：]?[ \t]*$"
)
_ARROW = re.compile(  # between an old entry and the reason; models write it in many ways
    r"\s*(?:[-—=]{1,3}>|→|⇒|➜|➡)\s*(?=\S)|\s+[—–-]{1,2}\s+(?=\S)|——(?=\S)|[：:](?!\d)\s*(?=\S)"
    r"|\s*[(（](?=[^()（）\n]+[)）][.。]?$)"
)


@dataclass(frozen=True)
class _Words:
    """The words of an entry, the first of them, and the numbers in it; "not", in any form, counts as a number."""

    words: frozenset[str]
    first: str
    values: frozenset[str]


def split_superseded(text: str) -> tuple[str, list[str]]:
    """The text without its section `## Superseded`, and the old entries that this one names with a reason."""
    found = _SUPERSEDED.search(text)
    if not found:
        return text.strip(), []
    head, rest = text[: found.start()], text[found.end() :]
    following = re.search(r"(?m)^#{1,6}\s", rest)
    end = following.start() if following else len(rest)
    named = [entry[: arrows[-1].start()] for entry in bullets(rest[:end], deep=True) if (arrows := _arrows(entry))]
    return f"{head}{rest[end:]}".strip(), named


def changed(text: str, present: str) -> list[str]:
    """The present entries that do not stand in the text as they were."""
    kept = {squash(entry) for entry in entries(text)}
    return [entry for entry in entries(present) if squash(entry) not in kept]


def gone(text: str, present: str, fresh: str) -> list[str]:
    """The present entries that neither stand in the text nor in other words in one of its new entries."""
    old = {squash(entry) for entry in entries(present)}
    logs = _words(fresh).words - _words(present).words
    new = [_words(f"{context}\n{entry}") for entry, context in _placed(text) if squash(entry) not in old]
    news = [bool(other.words & logs) for other in new]
    return [e for e in changed(text, present) if not any(map(_in_other_words, repeat(_words(e)), new, news))]


def is_named(entry: str, named: Iterable[str]) -> bool:
    """Whether an entry is one of those that are named as superseded, perhaps in a shorter form."""
    words = _words(entry).words
    return any(len(words & _words(other).words) >= NAMED * len(words) for other in named)


def entries(text: str) -> list[str]:
    """The entries of a text, nested ones by themselves, and the lines of prose in it."""
    return [part for kind, part, _ in outline(text, deep=True) if kind in ("entry", "prose") and squash(part)]


def _in_other_words(entry: _Words, other: _Words, news: bool) -> bool:
    share = len(entry.words & other.words) / max(1, len(entry.words))
    if news and share >= REPLACED and entry.first in other.words:  # the first word is mostly whom or what it is about
        return True
    return share > REWORDED and entry.values <= other.values


def _placed(text: str) -> Iterator[tuple[str, str]]:
    """The entries and lines of a text, each with the heading and the entry above it."""
    heading, above = "", list[tuple[int, str]]()
    for kind, part, indent in outline(text, deep=True):
        if kind == "heading":
            heading, above = part, []
        elif squash(part):
            above = [outer for outer in above if outer[0] < indent]
            yield part, "\n".join([heading, *(outer for _, outer in above)])
            above.append((indent, part))


def _words(text: str) -> _Words:
    text = _AFTERNOON.sub(lambda hour: f" {int(hour[1] or hour[2]) % 12 + 12}", _USER.sub(" ", normal(text)))
    terms = [term for token in tokens(text) for term in (token if CJK.search(token) else [stem(token)])]
    found = [term for term in terms if term not in stop_words() | _COMMON | _SMALL]
    values = {number.lstrip("0") for number in re.findall(r"\d+", text)} | ({"not"} if _NOT.search(text) else set())
    return _Words(frozenset(found), found[0] if found else "", frozenset(values - {""}))


def _arrows(entry: str) -> list[re.Match[str]]:
    return [found for found in _ARROW.finditer(entry) if found.start()]
