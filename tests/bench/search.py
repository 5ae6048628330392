"""How the journal's search scales: each figure is a ratio of two times measured in this one run.

python tests/bench/search.py [LINES]
"""

from __future__ import annotations

import datetime
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hxmem.files import write_atomic
from hxmem.journal.folder import JournalFolder
from hxmem.journal.search import Search

FILES = 200
RARE, NOTHING = "topic77", "zeppelin"
QUERIES = {
    RARE: "a rare word",
    "数据库迁移": "Chinese, 1 line in 4",
    "uv topic3 接口": "3 words, never together",
    "HarnessX": "a word of every line",
    NOTHING: "no hit, then a scan",
}


def seconds(action: Callable[[], object], times: int = 9) -> float:
    """The median of several runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def line(n: int) -> str:
    """One entry of a log."""
    what = (
        "决定使用数据库迁移工具",
        "the user prefers tabs, not spaces",
        "接口的测试先用书桌的例子",
        "run it with uv",
    )[n % 4]
    return f"- HarnessX {n}: {what}, topic{n % 97} 主题{n % 89}\n"


def fill(folder: JournalFolder, count: int, files: int = FILES) -> None:
    """Logs as the journal writes them, made without it."""
    folder.logs.mkdir(parents=True)
    day = datetime.date(2026, 1, 1)
    for file in range(files):
        entries = "".join(line(n) for n in range(file, count, files))
        text = f"## 09:00:00 session-{file}\n{entries}"
        (folder.logs / f"{day + datetime.timedelta(file)}.md").write_text(text, "utf-8")


def read(path: str, needle: str) -> list[str]:
    """The yardstick for one file: read it and look at each line."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return [line for line in file.read().casefold().split("\n") if needle in line]


def plain_scan(folder: JournalFolder, needle: str) -> list[str]:
    """The yardstick: the same files, read, folded and looked through."""
    found = []
    with os.scandir(folder.logs) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            found += read(entry.path, needle)
    return found


def growing(*folders: JournalFolder) -> list[float]:
    """For each journal, what a search takes longer after a line was added to one log; measured by turns."""
    taken: list[list[float]] = [[] for _ in folders]
    for number in range(25):
        for folder, times in zip(folders, taken, strict=True):
            word, search = f"added{number}x", Search(folder)
            with folder.days()[0].open("a", encoding="utf-8") as file:
                file.write(f"- {word}\n")
            first = seconds(lambda: search.memory(word, 1) or sys.exit("not found"), 1)  # noqa: B023
            times.append(first - seconds(lambda: search.memory(word, 1), 1))  # noqa: B023
    return [statistics.median(times) for times in taken]


def main() -> int:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as scratch:
        folder, small = JournalFolder(Path(scratch) / "large"), JournalFolder(Path(scratch) / "small")
        fill(folder, count)
        fill(small, count * 2 // FILES, 2)
        search = Search(folder)
        yardstick = seconds(lambda: plain_scan(folder, RARE))
        cold = seconds(search.refresh, 1)
        Search(small).refresh()
        warm = {query: seconds(lambda query=query: search.memory(query)) for query in QUERIES}
        log = folder.days()[0]
        durable = seconds(lambda: (read(str(log), NOTHING), write_atomic(folder.path / "copy", log.read_bytes())))
        more, more_small = growing(folder, small)
        size = folder.index.stat().st_size / sum(path.stat().st_size for path in folder.days())
    print(f"{count} lines in {FILES} logs; reading them and looking at each line = 1.0")
    for query, what in QUERIES.items():
        print(f"  search, index warm, {what:22}{warm[query] / yardstick:8.2f}   {'(at most 1)' * (query != NOTHING)}")
    print(f"  index built from nothing                  {cold / yardstick:8.2f}")
    print("what a line added to one log costs the next search")
    print(f"  in {FILES} logs / in 2 logs of that size      {more / more_small:8.2f}   (about 1)")
    print(f"  / building the index                      {more / cold:8.4f}   (one log in {FILES} is {1 / FILES:.4f})")
    print(f"  / reading that log, writing it atomically {more / durable:8.2f}   (both wait for the disk)")
    print(f"size of the index / of the logs             {size:8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
