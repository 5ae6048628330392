"""Ranks documents for a question by the telling words they share (BM25); none rather than unrelated ones."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import fsum, log
from pathlib import Path

from hxmem.text import CJK, HAN, TRIGRAM_SCRIPTS, normal, tokens

# Characters of Chinese and Japanese grammar, and Chinese ones that say little when alone; whole words are in a file.
_FUNCTION = (
    "的了着过在是我你您他她它们这那哪有和与或就不没也都很太更还又再才吗呢吧啊呀哦嗯么什怎谁几个"
    "把被给让对从到为以之其而但叫はがをにでともの"
)
_LIGHT = frozenset("说问讲想要会能去来用做看听写走次里上下中前后人天年月日号点时事好错大小多少新老快慢早晚")
_HAN_CHARACTER = re.compile(f"[{HAN}]")
_GRAMMAR = re.compile(f"[{_FUNCTION}]+")
_HAN_BREAK = re.compile(f"[^{HAN}]|[{_FUNCTION}]")
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_SMALL = re.compile(f"[{TRIGRAM_SCRIPTS}]+|[^\\W_]")  # less than a word: one trigram, one letter or digit
_K1, _B, _K3 = 1.2, 0.75, 8  # the textbook values of BM25; _K3 saturates words that the query repeats


Document = Counter[str]  # how often each term occurs in it


def document(fields: Iterable[tuple[str, int]]) -> Document:
    """Prepares a document from (text, weight) fields, to be kept and ranked many times."""
    return Counter(chain.from_iterable(_terms(text) * weight for text, weight in fields))


@dataclass(frozen=True)
class Ranked:
    """A document found: its place in the sequence given, its score, and the words it shares with the query."""

    index: int
    score: float
    terms: tuple[str, ...]


def rank(query: str, documents: Sequence[Document], limit: int = 5) -> list[Ranked]:
    """The best documents for a query by BM25, ties in the order given; none that shares too little with it.

    Several lines are read as a dialogue, one turn a line: the first names the topic and the last is what is asked now,
    so they count three times. The floor is one shared word, for a longer question a third of its words up to two.
    """
    lines = [line for line in query.splitlines() if line.strip()]
    ends = [lines[0], lines[-1]] if len(lines) > 1 else []
    times = Counter(chain.from_iterable(map(_terms, lines + 2 * ends)))
    shared = {i: found for i, doc in enumerate(documents) if (found := times.keys() & doc.keys())}
    held = Counter(chain.from_iterable(shared.values()))
    points = _points(query, times, {term for term in held if held[term] > max(3, len(documents) / 10)})
    # A run of n CJK characters has n - 1 bigrams but about n / 2 words.
    size = sum(p / 2 if CJK.match(term) and len(term) > 1 else p for term, p in points.items())
    floor = min(sum(points.values()), 1 if len(lines) > 1 else min(2, max(1, size / 3)))
    lengths = [doc.total() for doc in documents]
    average = sum(lengths) / max(1, len(lengths))
    # Field weights raise the counts, so they saturate in units of the average count, as BM25F has it.
    k1 = _K1 * sum(lengths) / max(1, sum(map(len, documents)))
    weight = {  # inverse document frequency, times saturated query frequency
        term: log(1 + (len(documents) - held[term] + 0.5) / (held[term] + 0.5)) * n * (_K3 + 1) / (n + _K3)
        for term, n in times.items()
    }

    def parts(index: int) -> dict[str, float]:
        counts, norm = documents[index], k1 * (1 - _B + _B * lengths[index] / average)
        return {t: weight[t] * counts[t] * (_K1 + 1) / (counts[t] + norm) for t in shared[index]}

    passed = [i for i, found in shared.items() if floor and sum(map(points.__getitem__, found)) >= floor]
    best = sorted((-fsum(parts(i).values()), i) for i in passed)[:limit]
    words = {stem(token): token for token in reversed(tokens(query))}
    return [Ranked(i, -score, _telling(parts(i), points, words)) for score, i in best]


def _telling(parts: dict[str, float], points: dict[str, float], words: dict[str, str]) -> tuple[str, ...]:
    # The shared words that got the document over the floor, the weightiest first, as the query has them.
    order = sorted(parts, key=lambda term: (-parts[term], term))
    return tuple(words.get(t, t) for t in [t for t in order if points[t] >= 1] or [t for t in order if points[t]])


def _points(query: str, terms: Iterable[str], common: set[str]) -> dict[str, float]:
    # How far a shared term goes towards the floor; one that many documents hold goes half as far.
    query = normal(query)
    cjk_query = bool(CJK.search(query))
    # A Han character between function characters is a word; two are one word, or a word each.
    runs = [run for run in _HAN_BREAK.split(query) if len(run) in (1, 2) and run not in stop_words()]
    characters = {c: 1 / len(run) for run in runs for c in run if c not in _LIGHT}
    points = {}
    for term in terms:
        if CJK.match(term):  # hiragana is mostly grammar
            worth = characters.get(term, 0.0) if len(term) == 1 else float(not _HIRAGANA.fullmatch(term))
        elif _SMALL.fullmatch(term):
            worth = 0.5
        else:
            worth = 2.0 if cjk_query and term[0].isalpha() else 1.0  # a Latin word in a Chinese sentence is a name
        points[term] = worth / 2 if term in common else worth
    return points


def _terms(text: str) -> list[str]:
    # The tokens that carry meaning. A Han character is a term too: a word or half of one.
    text, common = _GRAMMAR.sub(" ", normal(text)), stop_words()
    found = [stem(token) for token in tokens(text) if token not in common and not CJK.fullmatch(token)]
    return _HAN_CHARACTER.findall(text) + found


@lru_cache(maxsize=1)
def stop_words() -> frozenset[str]:
    """The words of `stop_words.txt`, which are common in one of nine languages."""
    lines = Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@lru_cache(maxsize=1 << 14)
def stem(word: str) -> str:
    """A word without its English ending; in other languages it may miss, but document and query get the same."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-3] + "y" if word.endswith("ies") else word[:-1]
    start = word.removesuffix("ing" if word.endswith("ing") else "ed" if word.endswith("ed") else "ly")
    if start != word and len(start) > 2 and any(vowel in start for vowel in "aeiouy"):
        word = start[:-1] if start[-1] == start[-2] and len(start) > 3 and start[-1] not in "lsz" else start
    word = word.removesuffix("e") if len(word) > 3 else word
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word
