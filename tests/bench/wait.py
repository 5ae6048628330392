"""How long the user waits for an answer with the journal on, in units of the wait without it; the model is slow.

python tests/bench/wait.py [SECONDS_PER_REQUEST]
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from hxmem import Agent, ChatClient, Journal


def slow_server(seconds: float) -> httpx.MockTransport:
    """A model that takes its time for every request, those of the journal too."""

    def answer(request: httpx.Request) -> httpx.Response:
        time.sleep(seconds)
        last = str(json.loads(request.content)["messages"][-1]["content"])
        text = "- The user talks about desks." if "Today's log" in last else "Yes."
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return httpx.Response(200, json={"choices": [choice], "usage": {"prompt_tokens": 100}})

    return httpx.MockTransport(answer)


def waits(plugins: list[Any], seconds: float, runs: int = 9) -> tuple[float, float]:
    """The median seconds until the answer is shown, and until `run` returns."""
    shown, returned, start = [], [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        client = ChatClient("http://127.0.0.1:9", "sk-x", transport=slow_server(seconds))
        with Agent(client, Path(folder), plugins, show=lambda _: shown.append(time.perf_counter() - start)) as agent:
            for n in range(runs):
                start = time.perf_counter()
                agent.run(f"Question {n} about my desk")
                returned.append(time.perf_counter() - start)
                agent.close()  # the next question comes when the journal is done
    return statistics.median(shown), statistics.median(returned)


def main() -> None:
    """Measure both in one run."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.3
    without, with_journal = waits([], seconds), waits([Journal()], seconds)
    print(f"until the answer is shown: with the journal / without: {with_journal[0] / without[0]:.3f}")
    print(f"until run() returns:       with the journal / without: {with_journal[1] / without[1]:.3f}")


if __name__ == "__main__":
    main()
