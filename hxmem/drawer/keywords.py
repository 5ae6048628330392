"""Finds memories by the words they share with a question; the model is not asked."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from hxmem.drawer.detail import Memory
from hxmem.ranking import Document, document, rank

_WEIGHTS = (3, 2, 1)  # name, description, body
_SHOWN = 5  # words in a reason
_EDGES = " \t\r\n'\"?!.,;:()[]{}<>“”‘’…、。《》「」【】"
_LATIN = re.compile("[a-z0-9]")


@dataclass(frozen=True)
class Hit:
    """A memory that was found, its score (comparable within one search), and why it was found."""

    memory: Memory
    score: float
    why: str


class Keywords:
    """Searches memories by their words; each is prepared once and kept as long as it is searched."""

    def __init__(self) -> None:
        self._prepared: dict[Memory, tuple[Document, str]] = {}  # for ranking, and the text

    def search(self, memories: Sequence[Memory], query: str, limit: int = 5) -> list[Hit]:
        """The memories that share telling words with the query, best first; failing that, those that contain it."""
        self._prepared = {memory: self._prepared.get(memory) or _prepare(memory) for memory in memories}
        prepared = [self._prepared[memory] for memory in memories]
        if found := rank(query, [document for document, _ in prepared], limit):
            return [Hit(memories[f.index], f.score, "shares " + ", ".join(f.terms[:_SHOWN])) for f in found]
        whole = _fold(query).strip(_EDGES) or _fold(query).strip()
        pattern = _whole(whole)
        same = [m for m, (_, text) in zip(memories, prepared, strict=True) if whole and pattern.search(text)]
        return [Hit(memory, 0.0, f"contains {whole}") for memory in same[:limit]]


def _whole(query: str) -> re.Pattern[str]:
    # Plain containment, but "hi" is not in "this", and up to three letters are a whole word.
    start = r"(?<![a-z0-9])" if _LATIN.match(query) else ""
    end = r"(?![a-z0-9])" if len(query) < 4 and _LATIN.match(query[-1:]) else ""
    return re.compile(start + re.escape(query) + end)


def _prepare(memory: Memory) -> tuple[Document, str]:
    fields = (memory.name, memory.description, memory.body)
    return document(zip(fields, _WEIGHTS, strict=True)), _fold("\n".join(fields))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
