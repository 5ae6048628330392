"""Prints how well the keyword search finds memories, beside two plain methods: `python tests/bench/recall.py`.

recall@5 is the share of a question's relevant memories among the first five found, averaged over the questions.
MADial-Bench (data/madial): the pool is the memories of the same user, a query is a short dialogue, one turn a line.
data/recall/hxmem.json: all memories are one pool; questions that nothing answers should bring nothing back.
"""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hxmem.drawer.detail import Memory
from hxmem.drawer.keywords import Keywords

DATA = Path(__file__).parents[2] / "data"
Search = Callable[[str], list[int]]  # a query -> places in the pool, best first
Method = Callable[[list[Memory]], Search]


def load(file: str) -> dict[str, Any]:
    return json.loads((DATA / file).read_text(encoding="utf-8"))


def keyword_search(pool: list[Memory]) -> Search:
    keywords, place = Keywords(), {memory: i for i, memory in enumerate(pool)}
    return lambda query: [place[hit.memory] for hit in keywords.search(pool, query, limit=5)]


def plain_fts5(pool: list[Memory]) -> Search:
    """SQLite's default tokenizer; the query is the OR of its quoted whitespace tokens."""
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE notes USING fts5(text, tokenize = 'unicode61')")
    table.executemany("INSERT INTO notes(rowid, text) VALUES (?, ?)", [(i, _text(m)) for i, m in enumerate(pool)])
    ask = "SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank, rowid LIMIT 5"
    quoted = lambda query: " OR ".join('"' + word.replace('"', '""') + '"' for word in query.split())  # noqa: E731
    return lambda query: [row for (row,) in table.execute(ask, (quoted(query),))]


def whitespace_substring(pool: list[Memory]) -> Search:
    """The number of the query's whitespace tokens that the text contains, in lower case."""
    texts = [_text(memory).lower() for memory in pool]

    def search(query: str) -> list[int]:
        words = set(query.lower().split())
        found = [(-sum(word in text for word in words), i) for i, text in enumerate(texts)]
        return [i for score, i in sorted(found)[:5] if score]

    return search


def _text(memory: Memory) -> str:
    return "\n".join(filter(None, (memory.name, memory.description, memory.body)))


def madial(language: str, method: Method) -> list[float]:
    """recall@5 of each MADial query."""
    data = load(f"madial/madial-{language}.json")
    shares = []
    pools: dict[int, tuple[list[int], Search]] = {}
    for user in {memory["user"] for memory in data["memories"]}:
        own = [memory for memory in data["memories"] if memory["user"] == user]
        notes = [Memory("", "user", "", memory["text"], file=f"{memory['id']}.md") for memory in own]
        pools[user] = [memory["id"] for memory in own], method(notes)
    for query in data["queries"]:
        ids, search = pools[query["user"]]
        shares.append(share({ids[i] for i in search(query["text"])}, query["relevant"]))
    return shares


def own_set(language: str, method: Method) -> tuple[list[float], list[bool]]:
    """recall@5 of each answerable question of our set, and whether each unanswerable one brought nothing."""
    data = load("recall/hxmem.json")
    pool = [Memory(m["name"], m["type"], m["description"], m["body"]) for m in data["memories"]]
    search, shares, silent = method(pool), [], []
    for question in data["questions"]:
        if question["lang"] != language:
            continue
        found = {pool[i].name for i in search(question["text"])}
        if question["relevant"]:
            shares.append(share(found, question["relevant"]))
        else:
            silent.append(not found)
    return shares, silent


def share(found: set[Any], relevant: list[Any]) -> float:
    return len(found & set(relevant)) / len(relevant)


def mean(values: list[float] | list[bool]) -> float:
    return sum(values) / len(values)


def main() -> None:
    methods: dict[str, Method] = {
        "hxmem keyword search": keyword_search,
        "SQLite FTS5 unicode61, OR of whitespace tokens": plain_fts5,
        "whitespace tokens contained": whitespace_substring,
    }
    row = "{:<58} {:>7} {:>7}".format
    print(row("recall@5", "zh", "en"))
    for name, method in methods.items():
        print(row(f"MADial: {name}", *(f"{mean(madial(lang, method)):.3f}" for lang in ("zh", "en"))))
    # From the ranking files that MADial-Bench publishes, on the same pools.
    print(row("MADial: BGE-M3 dense embeddings (literature)", "0.586", "0.553"))
    for half, name in enumerate(("odd", "even")):
        parts = (f"{mean(madial(lang, keyword_search)[half::2]):.3f}" for lang in ("zh", "en"))
        print(row(f"MADial, {name} queries: hxmem keyword search", *parts))
    if (DATA / "recall" / "hxmem.json").is_file():
        for name, method in methods.items():
            results = [own_set(lang, method) for lang in ("zh", "en")]
            print(row(f"ours: {name}", *(f"{mean(shares):.3f}" for shares, _ in results)))
            print(row("      unanswerable questions that bring nothing", *(f"{mean(s):.3f}" for _, s in results)))


if __name__ == "__main__":
    main()
