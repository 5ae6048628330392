"""The side-query: which lines of the catalog fit the request."""

from hxmem.classroom.cues import pattern
from hxmem.classroom.vocabulary import rarity, units

LIMIT = 5
LEAST = 0.45  # a shared field is enough, a shared filler word is not
NEAR = 0.5  # of the best score
_GENERAL = (("about_me", "of_me"), ("about_project", "of_project"))  # questions for all that is known, and their lines


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
    for question, line_of in _GENERAL:
        if pattern(question).search(request):
            return [number for number, line in enumerate(catalog) if pattern(line_of).search(line)][:LIMIT]
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
    return any(pattern(question).search(request) for question, _ in _GENERAL)
