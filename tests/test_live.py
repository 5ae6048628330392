"""The story against a real server: `pytest -m live` with DEEPSEEK_API_KEY or DEEPSEEK_BASE_URL set.

It checks what was sent and which files exist, never a model's words. The same checks run offline against the
classroom, and against a server whose model answers nonsense.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hxmem import MemoryStore
from hxmem.classroom import Classroom

TELL = "记住：以后给我讲 HarnessX 时，先用“书桌和小抽屉”的例子，再讲代码。"
ASK = "我之前说过你讲 HarnessX 时要先用什么例子吗？"


def assert_told_and_asked(folder: Path, **env: str) -> list[dict]:
    """Two processes; returns what the second one sent and got."""
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    for words in ([TELL], [ASK, "--wire", str(folder.parent / "second.jsonl")]):
        command = [sys.executable, "-m", "hxmem", "agent", *words]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **env}, capture_output=True, encoding="utf-8", timeout=600
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip(), "an answer was shown"
        assert "[HOOK] Stop: turns=" in done.stderr
    assert MemoryStore.of(folder).problems() == ()
    status = subprocess.run(
        ["git", "status", "--porcelain", "--ignored"], cwd=folder, capture_output=True, text=True
    ).stdout
    assert status in ("", "!! .harnessx/\n")
    return [json.loads(line) for line in (folder.parent / "second.jsonl").read_text("utf-8").splitlines()]


def assert_accepted(folder: Path, wire: list[dict]) -> None:
    """The acceptance list: index, detail file, a catalog without bodies, and the note in the second answer's request."""
    store = MemoryStore.of(folder)
    assert (store.folder / "MEMORY.md").read_text("utf-8").count("\n") == len(store.list()) >= 1
    bodies = {line["purpose"]: line["request"]["body"] for line in wire if line["response"]["status"] == 200}
    assert {"side-query", "answer", "extraction"} <= set(bodies)
    choice = bodies["side-query"]["messages"][0]["content"]
    assert "tools" not in bodies["side-query"]
    assert all(f"{memory.name} - " in choice for memory in store.list())
    answer = bodies["answer"]["messages"][1]["content"]
    assert answer.startswith("<relevant_memories>")
    assert "HarnessX" in answer.partition("</relevant_memories>")[0]
    assert answer.endswith(f"User request:\n{ASK}")


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.mark.live
def test_the_story_with_the_server_of_the_environment(folder):
    if not (os.environ.get("DEEPSEEK_API_KEY") or os.environ.get("DEEPSEEK_BASE_URL")):
        pytest.skip("set DEEPSEEK_API_KEY or DEEPSEEK_BASE_URL")
    assert_accepted(folder, assert_told_and_asked(folder))


def test_the_story_with_the_classroom(folder):
    assert_accepted(folder, assert_told_and_asked(folder))


def test_the_story_with_any_server_that_speaks_the_protocol(folder):
    with Classroom() as room:
        wire = assert_told_and_asked(
            folder, DEEPSEEK_BASE_URL=room.url, DEEPSEEK_API_KEY=room.key, DEEPSEEK_MODEL="classroom"
        )
    assert_accepted(folder, wire)
    assert all("thinking" not in line["request"]["body"] for line in wire), "other servers don't know the switch"


@pytest.mark.parametrize("fault", ["nonsense", "prose", "side-query=nonsense,extraction=nonsense", "extraction=fence"])
def test_a_model_that_answers_nonsense_still_ends_with_an_answer_and_a_whole_drawer(folder, fault):
    with Classroom(faults=fault) as room:
        assert_told_and_asked(folder, DEEPSEEK_BASE_URL=room.url, DEEPSEEK_API_KEY=room.key)
