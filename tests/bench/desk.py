"""What the desk saves over a long conversation, and how much of each request the service's prefix cache can reuse.

python tests/bench/desk.py [TURNS]
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from hxmem import Agent, ChatClient, Desk
from hxmem.desk.estimates import request_tokens

WORDS = (
    "书桌",
    "抽屉",
    "数据库",
    "迁移",
    "部署",
    "接口",
    "日志",
    "测试",
    "desk",
    "drawer",
    "index",
    "query",
    "deploy",
    "schema",
    "review",
    "branch",
    "cache",
    "token",
)


def sentence(random: random.Random, words: int) -> str:
    """Words in two languages; now and then a fact to keep."""
    text = " ".join(random.choices(WORDS, k=words))
    return f"记住：{text}" if random.random() < 0.1 else f"{text} {random.randrange(10**6)}"


def shared(one: bytes, other: bytes) -> int:
    """The length of the longest common start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def talk(root: Path, turns: int, plugins: list[Any]) -> list[dict[str, Any]]:
    """Hold a conversation, every third turn with a file to read; returns the bodies of its answers."""
    dice = random.Random(7)
    (root / "notes.md").write_text("\n".join(sentence(dice, 12) for _ in range(60)), "utf-8")
    history: tuple[Any, ...] = ()
    with ChatClient.from_env({}) as client, Agent(client, root, plugins) as agent:
        for turn in range(turns):
            asked = "Read the file notes.md" if turn % 3 == 2 else sentence(dice, dice.randrange(10, 120))
            history = agent.run(asked, history).messages[1:]
        return [exchange.body for exchange in client.exchanges if exchange.purpose == "answer"]


def report(name: str, bodies: list[dict[str, Any]]) -> int:
    """Print one line about a conversation; returns the tokens it sent."""
    tokens = [request_tokens(body["messages"], body.get("tools") or ()) for body in bodies]
    sent = [json.dumps(body["messages"], ensure_ascii=False).encode()[:-1] for body in bodies]
    shares = [shared(old, new) / len(new) for old, new in itertools.pairwise(sent)]
    grown = [len(new) > len(old) for old, new in itertools.pairwise(sent)]
    between = [share for share, more in zip(shares, grown, strict=True) if more][10:]  # the first ones are short
    cuts = len(grown) - sum(grown)
    print(f"{name:<12} requests {len(bodies)}, tokens {sum(tokens):,}, largest {max(tokens):,}, compactions {cuts}")
    print(
        f"{'':<12} same as the request before, between compactions: mean {sum(between) / len(between):.3f}, "
        f"least {min(between):.3f}; all requests: {sum(shares) / len(shares):.3f}"
    )
    return sum(tokens)


def main() -> None:
    """Measure both conversations in one run."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    totals = []
    for name, plugins in (("without desk", []), ("with desk", [Desk()])):
        with tempfile.TemporaryDirectory() as folder:
            totals.append(report(name, talk(Path(folder), turns, plugins)))
    print(f"{'ratio':<12} tokens with the desk / without: {totals[1] / totals[0]:.3f}")


if __name__ == "__main__":
    main()
