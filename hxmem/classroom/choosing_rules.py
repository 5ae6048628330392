"""The side-query: which lines of the catalog fit the request."""

import re

from hxmem.classroom.vocabulary import rarity, units

LIMIT = 5
LEAST = 0.45  # a shared field is enough, a shared filler word is not
NEAR = 0.5  # of the best score
_ABOUT_ME = re.compile(
    r"(?:know|remember|learn\w*|memory|memories|notes?|stored?)\b.*\b(?:about|of) me\b|\bmy (?:preferences|habits)\b|who am i\b"
    r"|(?:知道|了解|记得|记住|记录).{0,6}(?:关于)?我(?!们).{0,8}(?:什么|哪些|偏好|习惯|情况|信息|事)|我(?:有|的)(?:什么|哪些)?(?:偏好|习惯|喜好)|我是谁",
    re.I,
)
_ABOUT_PROJECT = re.compile(
    r"(?:know|remember|tell|conventions|rules|facts|decisions)\b.*\b(?:the|this|our) (?:project|team|repo\w*)\b"
    r"|(?:项目|团队|我们).{0,6}(?:有|的)?(?:什么|哪些).{0,4}(?:约定|规定|事实|决定|规矩|规则)|项目.{0,4}(?:情况|约定)",
    re.I,
)
_OF_ME = re.compile(r"\b(?:user|i|my|me|prefers?|likes?)\b|用户|我(?!们)|喜欢|偏好|习惯", re.I)
_OF_PROJECT = re.compile(
    r"\b(?:project|team|repo\w*|we|our|branch|database|release)\b|项目|我们|团队|约定|仓库|分支", re.I
)


def choose(request: str, catalog: list[str]) -> list[int]:
    """The numbers of the fitting lines, best first, at most five.

    >>> choose("which database?", ["store - PostgreSQL 16 holds the orders", "tea - the user drinks tea"])
    [0]
    """
    scores = _scores(request, catalog)
    best = max(scores, default=0.0)
    if best >= LEAST:
        ranked = sorted(range(len(catalog)), key=lambda number: -scores[number])
        return [number for number in ranked if scores[number] >= max(LEAST, NEAR * best)][:LIMIT]
    for question, note in ((_ABOUT_ME, _OF_ME), (_ABOUT_PROJECT, _OF_PROJECT)):
        if question.search(request):
            return [number for number, line in enumerate(catalog) if note.search(line)][:LIMIT]
    return []


def _scores(request: str, catalog: list[str]) -> list[float]:
    rare = rarity(catalog)
    wanted = units(request)
    return [
        sum(weight * rare[unit] for unit, weight in wanted.items() if unit in units(line) and unit in rare)
        for line in catalog
    ]


def is_general(request: str) -> bool:
    """Whether a question asks for all that is known, about the user or the project."""
    return bool(_ABOUT_ME.search(request) or _ABOUT_PROJECT.search(request))
