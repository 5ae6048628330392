"""How the drawer scales: each figure is a ratio of two times measured in this one run.

python tests/bench/store.py [NOTES]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hxmem import Memory, MemoryStore, select
from hxmem.text import estimate_tokens


def seconds(action: Callable[[], object], times: int = 7) -> float:
    """The median of several runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def fill(folder: Path, count: int) -> None:
    """Notes as hxmem writes them, made without hxmem."""
    folder.mkdir(parents=True)
    for n in range(count):
        topic = f"主题{n % 97} topic{n % 89}"
        text = f"---\nname: note-{n}\ndescription: {topic} 第 {n} 条笔记，讲 HarnessX 时先用书桌的例子\ntype: project\n---\n\n"
        (folder / f"note-{n}.md").write_text(
            f"{text}正文 {n}：用户要求先用“书桌和小抽屉”的例子，再讲代码 {topic}。\n", "utf-8"
        )


def read_all(folder: Path) -> None:
    """The yardstick: list and read the same files."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".md"):
                with open(entry.path, encoding="utf-8") as file:  # noqa: PTH123
                    file.read()


def writing(store: MemoryStore, start: int) -> float:
    """One more note, the median of several."""
    numbers = iter(range(start, start + 100))

    def one() -> None:
        n = next(numbers)
        assert store.write(Memory(f"new-{n}", "user", f"new fact {n}", f"new body {n}")).stored

    return seconds(one, 15)


def main() -> int:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as scratch:
        large, small = Path(scratch) / "large", Path(scratch) / "small"
        fill(large, count)
        fill(small, 2)
        yardstick = seconds(lambda: read_all(large))
        store = MemoryStore(large)
        cold = seconds(lambda: MemoryStore(large).search("topic7 书桌"), 1)
        store.search("topic7 书桌")
        warm = seconds(lambda: (store.list(), store.search("topic7 书桌")))
        tenth_store = MemoryStore(small)
        for n in range(7):
            tenth_store.write(Memory(f"first-{n}", "user", f"first fact {n}", f"first body {n}"))
        tenth, next_one = writing(tenth_store, 0), writing(store, 0)
        bodies: list[str] = []
        select("topic7 " + "书桌" * 1_500, store, lambda messages: bodies.append(messages[0]["content"]) or "[]")
        empty = [sys.executable, "-m", "hxmem", "memory", "list", "--root", scratch]
        imports = [sys.executable, "-c", "import httpx, frontmatter"]
        command, bare = (
            seconds(lambda c=c: subprocess.run(c, capture_output=True, check=True)) for c in (empty, imports)
        )
    print(f"{count} notes; reading the files with os.scandir = 1.0")
    print(f"  load and search, warm             {warm / yardstick:6.2f}   (at most 5)")
    print(f"  load and search, new store        {cold / yardstick:6.2f}")
    print(f"one more note / the tenth note      {next_one / tenth:6.2f}   (at most 3)")
    print(f"side-query, estimated tokens        {estimate_tokens(bodies[0]):6d}   (under 4,000)")
    print(f"hx memory list / import of its deps {command / bare:6.2f}   (at most 2)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
