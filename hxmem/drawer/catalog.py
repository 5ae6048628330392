"""Choosing: the model sees the catalog, names and descriptions only, and answers with numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hxmem.drawer.detail import Memory, StoreProblem, one_line
from hxmem.drawer.prompts import CATALOG_LABEL, prompts
from hxmem.drawer.store import MemoryStore
from hxmem.plugins import TASK_LABEL, Ask
from hxmem.replies import read_choice
from hxmem.text import cut_middle, estimate_tokens, fitting

MAX_CHOSEN = 5
KEYWORD_SHARE = 0.5  # of the best score: nobody checks what keywords chose, so what is far behind stays in the drawer
MAX_TASK = 2_000  # characters of the task in the side-query, start and end kept
NARROW_ABOVE, NARROW_TO = 200, 100  # memories: above the first the catalog is cut to the second
MAX_LINE = 160  # characters of one catalog line
MAX_CATALOG_TOKENS = 2_400  # of a narrowed catalog: with the longest task the request stays under 4,000


@dataclass(frozen=True)
class Selection:
    """The chosen memories; `how` is "side-query", "keyword" (the fallback) or "none", `reason` says why."""

    memories: tuple[Memory, ...]
    how: str
    reason: str = ""


def select(task: str, store: MemoryStore, ask: Ask | None, limit: int = MAX_CHOSEN, lang: str = "") -> Selection:
    """Choose at most `limit` memories for a task: ask the model with the catalog, or fall back to keywords.

    Any failure of `ask`, and any reply that isn't a list of catalog numbers, leads to the fallback; it never raises.
    """
    try:
        return _select(task, store, ask, limit, lang)
    except StoreProblem as error:
        return Selection((), "none", str(error))


def _select(task: str, store: MemoryStore, ask: Ask | None, limit: int, lang: str) -> Selection:
    memories = narrow(store.list(), store, task)
    if not memories or not task.strip():
        return Selection((), "none", "the task is empty" if memories else "the drawer is empty")
    reason = "no model was given"
    if ask is not None:
        try:
            choice = read_choice(ask(side_query(task, memories, limit, lang)), len(memories), limit)
            if choice.value is not None:
                return Selection(tuple(memories[number] for number in choice.value), "side-query")
            reason = choice.reason
        except Exception as error:  # whatever the model's client raises must not cost the answer
            reason = f"{error}" or type(error).__name__
    hits = store.search(task, limit)
    close = tuple(hit.memory for hit in hits if hit.score >= KEYWORD_SHARE * hits[0].score)
    return Selection(close, "keyword" if close else "none", reason)


def side_query(task: str, memories: Sequence[Memory], limit: int = MAX_CHOSEN, lang: str = "") -> list[dict[str, str]]:
    """The messages of the side-query: one user message with the task and the catalog, no memory's body."""
    asked = f"{TASK_LABEL}\n{cut_middle(task, MAX_TASK)}\n\n{CATALOG_LABEL}\n{catalog(memories)}"
    return [{"role": "user", "content": f"{prompts(lang).choose.format(limit=limit)}\n\n{asked}"}]


def catalog(memories: Iterable[Memory], types: bool = False) -> str:
    """The lines `number: name - description`, with the type behind the name where asked for.

    >>> catalog([Memory("tea", "user", "drinks green tea", "...")])
    '0: tea - drinks green tea'
    """
    return "\n".join(f"{n}: {_line(m, f' ({m.type})' if types else '')}" for n, m in enumerate(memories))


def narrow(memories: Sequence[Memory], store: MemoryStore, text: str) -> Sequence[Memory]:
    """The memories for a catalog: all of a small drawer; of a large one the best by keywords, then the newest."""
    if len(memories) <= NARROW_ABOVE:
        return memories
    best = [hit.memory for hit in store.search(text, NARROW_TO)]
    first = list(dict.fromkeys([*best, *store.newest(NARROW_TO)]))[:NARROW_TO]
    return fitting(
        first, lambda memory: estimate_tokens(f"99: {_line(memory, ' (reference)')}") + 1, MAX_CATALOG_TOKENS
    )


def _line(memory: Memory, kind: str) -> str:
    line = f"{one_line(memory.name)}{kind} - {one_line(memory.description)}"
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…"
