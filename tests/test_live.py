"""The story against a real server: `pytest -m live` with DEEPSEEK_API_KEY or DEEPSEEK_BASE_URL set.

It checks what was sent and which files exist, never a model's words. The same checks run offline against the
classroom, and against a server whose model answers nonsense.
"""

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from hxmem import Agent, Archive, ChatClient, Compaction, Desk, Journal, MemoryStore, SessionLog
from hxmem.classroom import Classroom
from hxmem.journal.folder import JournalFolder
from hxmem.plugins import is_summary

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


TURNS = (
    "记住：我们的包用 uv 装。",
    "The release is called Heron, and it ships on 12 March.",
    "我们决定数据库用 PostgreSQL 16。",
    "What do we use to install packages?",
    "以后回答我用短句。",
    "发布叫什么名字？",
)


def talk(folder: Path, client: ChatClient) -> tuple[Desk, Journal, tuple]:
    """A conversation that is too long for its small desk, with a journal; the whole of it must be in the archive."""
    desk = Desk(Compaction(trigger_messages=8, keep_messages=2))
    journal = Journal(gap=timedelta(0), every=timedelta.max)
    with Agent(client, folder, [Archive("live"), desk, journal]) as agent:
        for turn in TURNS:
            result = agent.run(turn)
            assert result.text.strip()
            users = [message["content"] for message in result.messages if message["role"] == "user"]
            assert users[-1].endswith(turn), "the current request stays word for word"
    said = [entry.message for entry in SessionLog(folder, "live").entries() if entry.kind == "message"]
    assert [message["content"] for message in said if message["role"] == "user"] == list(TURNS)
    assert SessionLog(folder, "live").restore() == list(result.messages[1:])
    return desk, journal, result.messages


def assert_summarised_and_logged(folder: Path, client: ChatClient) -> None:
    """Whatever the words: a summary stands on the desk, the log has facts, and MEMORY.md was made from it."""
    desk, journal, messages = talk(folder, client)
    assert "compaction" in [cut.how for cut in desk.cuts], [cut.reason for cut in desk.cuts]
    assert is_summary(messages[1])
    assert any(flush.written for flush in journal.flushes), [flush.reason for flush in journal.flushes]
    assert "written" in [done.consolidation.status for done in journal.passes], [
        done.problems for done in journal.passes
    ]
    assert "uv" in JournalFolder(folder).read_memory()


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.mark.live
def test_the_story_with_the_server_of_the_environment(folder):
    if not (os.environ.get("DEEPSEEK_API_KEY") or os.environ.get("DEEPSEEK_BASE_URL")):
        pytest.skip("set DEEPSEEK_API_KEY or DEEPSEEK_BASE_URL")
    assert_accepted(folder, assert_told_and_asked(folder))


@pytest.mark.live
def test_a_long_conversation_with_the_server_of_the_environment(folder):
    if not (os.environ.get("DEEPSEEK_API_KEY") or os.environ.get("DEEPSEEK_BASE_URL")):
        pytest.skip("set DEEPSEEK_API_KEY or DEEPSEEK_BASE_URL")
    with ChatClient.from_env() as client:
        assert_summarised_and_logged(folder, client)


def test_a_long_conversation_with_the_classroom(folder):
    with ChatClient.from_env({}) as client:
        assert_summarised_and_logged(folder, client)


NONSENSE = "summary=nonsense,flush=nonsense,consolidation=nonsense"


@pytest.mark.parametrize("fault", [NONSENSE, "prose", "summary=blank,flush=blank,consolidation=blank"])
def test_a_long_conversation_with_a_model_that_answers_nonsense_loses_nothing(folder, fault):
    with Classroom(faults=fault) as room, ChatClient(room.url, room.key, attempts=1) as client:
        desk, _, messages = talk(folder, client)
    assert {cut.how for cut in desk.cuts} == {"kept"}
    assert len(messages) == 1 + 2 * len(TURNS)
    assert JournalFolder(folder).days() == []


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
