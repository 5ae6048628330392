"""The journal in an agent: what is sent, when, in which thread, and that nothing costs the answer."""

import json
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from hxmem import Agent, ChatClient, Desk, Drawer, Journal
from hxmem.journal.folder import JournalFolder

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def completion(text):
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10}}


class Server:
    """Answers by the kind of request; keeps the bodies by kind."""

    def __init__(self):
        self.bodies = {"answer": [], "flush": [], "consolidation": []}
        self.flush, self.consolidation = "NO_REPLY", "## Project\n- We use uv.\n"
        self.threads = []

    def __call__(self, request):
        body = json.loads(request.content)
        last = str(body["messages"][-1]["content"])
        kind = "flush" if "\nNew messages:\n" in last else "consolidation" if "\nFresh logs:\n" in last else "answer"
        self.bodies[kind].append(body)
        self.threads.append((kind, threading.current_thread() is threading.main_thread()))
        reply = "Yes." if kind == "answer" else getattr(self, kind)
        return reply if isinstance(reply, httpx.Response) else httpx.Response(200, json=completion(reply))

    def sent(self, kind):
        return [body["messages"][0]["content"] for body in self.bodies[kind]]


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def make(server, tmp_path):
    def agent(journal=None, **options):
        client = ChatClient("http://127.0.0.1:9", "sk-x", transport=httpx.MockTransport(server), attempts=1)
        journal = journal or Journal(clock=Clock(), background=False)
        made = Agent(client, tmp_path, [journal], lang="en", **options)
        made.journal = journal
        return made

    return agent


@pytest.fixture
def folder(tmp_path):
    return JournalFolder(tmp_path.resolve())


def test_what_the_user_said_is_in_the_log_of_the_day_after_the_answer(make, server, folder):
    server.flush = "- The user uses uv."
    result = make().run("We use uv here.")
    assert result.text == "Yes."
    assert [path.name for path in folder.days()] == ["2026-11-30.md"]
    assert "- The user uses uv." in folder.days()[0].read_text("utf-8")
    assert "[JOURNAL] 1 new in memory/2026-11-30.md" in result.notices


def test_only_what_is_new_since_the_last_flush_is_sent(make, server):
    agent = make()
    first = agent.run("The first question.")
    second = agent.run("The second question.", history=first.messages[1:])
    agent.run("The third question.", history=second.messages[1:])
    assert ["first" in text for text in server.sent("flush")] == [True, False, False]
    assert ["second" in text for text in server.sent("flush")] == [False, True, False]


def test_what_could_not_be_flushed_is_part_of_the_next_flush(make, server):
    agent = make()
    server.flush = httpx.Response(500, json={"error": {"message": "busy"}})
    first = agent.run("The first question.")
    assert any(line.startswith("[JOURNAL] flush failed: ") for line in first.notices)
    server.flush = "NO_REPLY"
    agent.run("The second question.", history=first.messages[1:])
    assert "first" in server.sent("flush")[-1]


def test_a_new_process_goes_on_where_the_last_one_flushed(make, server, tmp_path):
    from hxmem import Archive

    for question in ("The first question.", "The second question."):
        client = ChatClient("http://127.0.0.1:9", "sk-x", transport=httpx.MockTransport(server), attempts=1)
        Agent(client, tmp_path, [Archive("trip"), Journal(clock=Clock(), background=False)], lang="en").run(question)
    assert ["first" in text for text in server.sent("flush")] == [True, False]


def test_never_and_seconds_between_flushes(make, server):
    make(Journal(flush="never", clock=Clock(), background=False)).run("A question.")
    assert server.bodies["flush"] == []
    clock = Clock()
    agent = make(Journal(flush=60, clock=clock, background=False))
    result = agent.run("The first question.")
    result = agent.run("The second question.", history=result.messages[1:])
    assert len(server.bodies["flush"]) == 1
    clock.now += timedelta(seconds=60)
    agent.run("The third question.", history=result.messages[1:])
    assert "second" in server.sent("flush")[1]
    assert "first" not in server.sent("flush")[1]
    with pytest.raises(ValueError, match="always"):
        Journal(flush="sometimes")


def test_maintenance_follows_a_stop_and_then_rests_for_half_an_hour(make, server, folder):
    clock = Clock()
    server.flush = "- We use uv."
    agent = make(Journal(clock=clock, background=False))
    agent.run("We use uv.")
    assert folder.memory.read_text("utf-8") == server.consolidation
    server.flush = "- We use ruff."
    clock.now += timedelta(minutes=29)
    agent.run("We use ruff.")
    assert len(server.bodies["consolidation"]) == 1
    clock.now += timedelta(minutes=1)
    agent.run("Anything else?")
    assert len(server.bodies["consolidation"]) == 2


def test_the_half_hour_is_remembered_across_processes(make, server):
    server.flush = "- We use uv."
    make(Journal(clock=Clock(), background=False)).run("We use uv.")
    server.flush = "- We use ruff."
    make(Journal(clock=Clock(), background=False)).run("We use ruff.")
    assert len(server.bodies["consolidation"]) == 1


def test_a_pass_that_failed_is_tried_again_at_the_next_stop(make, server, folder):
    server.flush, server.consolidation = "- We use uv.", "I cannot do that."
    agent = make()
    result = agent.run("We use uv.")
    assert any(line.startswith("[JOURNAL] consolidation") for line in result.notices)
    assert not folder.memory.exists()
    server.consolidation = "## Project\n- We use uv.\n"
    agent.run("Anything else?")
    assert folder.memory.exists()


def test_the_answer_is_shown_before_anything_is_asked_in_the_background(make, server):
    seen = []
    agent = make(Journal(clock=Clock()), show=lambda text: seen.append(list(server.bodies["flush"])))
    agent.run("A question.")
    agent.close()
    assert seen == [[]]
    assert [main for kind, main in server.threads] == [True, False]


def test_close_waits_for_the_background_and_the_agent_can_go_on(make, server):
    with make(Journal(clock=Clock())) as agent:
        agent.run("The first question.")
    assert len(server.bodies["flush"]) == 1
    agent.run("The second question.")
    agent.close()
    assert len(server.bodies["flush"]) == 2


def test_python_finishes_the_background_work_when_it_exits(tmp_path):
    code = """
import sys
from pathlib import Path
from hxmem import Agent, ChatClient, Journal
Agent(ChatClient.from_env({}), Path(sys.argv[1]), [Journal()], lang="en").run("Remember that we use uv.")
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
    assert "uv" in JournalFolder(tmp_path).days()[0].read_text("utf-8")


def test_memory_and_tools_are_in_the_request_and_can_be_left_out(make, server, folder):
    folder.make()
    folder.memory.write_text("## Project\n- We use uv.\n", "utf-8")
    make(Journal(clock=Clock(), background=False, save_tool=True)).run("What do we use?")
    make(Journal(clock=Clock(), background=False, inject=False, tools=False)).run("What do we use?")
    with_all, without = server.bodies["answer"]
    names = {tool["function"]["name"] for tool in with_all["tools"]}
    asked = {"memory_search", "memory_get", "session_search", "session_list", "session_history", "memory_save"}
    assert asked <= names
    assert "- We use uv." in with_all["messages"][0]["content"]
    assert asked & {tool["function"]["name"] for tool in without["tools"]} == set()
    assert "uv" not in without["messages"][0]["content"]


def test_what_leaves_the_desk_is_flushed_and_nothing_waits_for_it(server, tmp_path, folder):
    from hxmem import Compaction

    server.flush = "- A fact."
    summary = "## SESSION INTENT\nTalk.\n\n## SUMMARY\n- x\n\n## ARTIFACTS\nNone\n\n## NEXT STEPS\nNone"
    client = ChatClient("http://127.0.0.1:9", "sk-x", transport=httpx.MockTransport(server), attempts=1)
    desk = Desk(Compaction(trigger_messages=6, keep_messages=2, ask=lambda messages: summary))
    journal = Journal(clock=Clock(), background=False, maintenance=False)
    agent = Agent(client, tmp_path, [desk, journal], lang="en")
    history = ()
    for n in range(6):
        history = agent.run(f"Question number {n}. " + "words " * 50, history).messages[1:]
    assert [cut.how for cut in desk.cuts].count("compaction") >= 1
    asked = "".join(server.sent("flush"))
    assert all(asked.count(f"Question number {n}.") == 1 for n in range(6))


def test_the_three_designs_work_together(server, tmp_path):
    client = ChatClient("http://127.0.0.1:9", "sk-x", transport=httpx.MockTransport(server), attempts=1)
    journal = Journal(clock=Clock(), background=False)
    with Agent(client, tmp_path, [Drawer(), Desk(), journal], lang="en") as agent:
        assert agent.run("A question.").text == "Yes."


def test_a_folder_that_can_not_be_written_costs_lines_and_never_the_answer(make, tmp_path):
    (tmp_path / ".harnessx").write_text("a file in the way", "utf-8")
    result = make().run("A question.")
    assert result.text == "Yes."
    assert any("Stop of journal failed" in line or "[JOURNAL]" in line for line in result.notices)


def test_words_that_no_reply_can_be_used_for_are_passed_over_in_the_end(make, server):
    agent, server.flush, history, lines = make(), "Just a sentence.", (), []
    for n in range(4):
        result = agent.run(f"Question {n}.", history)
        history, lines = result.messages[1:], [*lines, *result.notices]
    asked = server.sent("flush")
    assert ["Question 0." in text for text in asked] == [True] * 6 + [False] * 2  # three flushes of two tries each
    assert sum("are left to the archive" in line for line in lines) == 1
    server.flush = httpx.Response(500, json={"error": {"message": "busy"}})
    for n in range(5, 10):
        history = agent.run(f"Question {n}.", history).messages[1:]
    assert "Question 5." in server.sent("flush")[-1]  # a server that is away is waited for


def test_what_an_ended_conversation_left_is_flushed_by_a_later_one(make, server, folder):
    server.flush = httpx.Response(500, json={"error": {"message": "busy"}})
    clock = Clock()
    clock.now = datetime.now(UTC)
    make(Journal(clock=clock, background=False)).run("The first question.")
    server.flush = "- A fact."
    clock.now += timedelta(minutes=20)
    make(Journal(clock=clock, background=False)).run("The second question.")  # the first may still be under way
    assert "first" not in server.sent("flush")[-1]
    clock.now += timedelta(minutes=30)
    make(Journal(clock=clock, background=False)).run("The third question.")
    assert ["first" in text for text in server.sent("flush")] == [
        True,
        True,
        False,
        False,
        True,
    ]  # the first was sent twice
    clock.now += timedelta(hours=1)
    before = len(server.sent("flush"))
    make(Journal(clock=clock, background=False)).run("The fourth question.")
    assert len(server.sent("flush")) == before + 1


RACER = """
import sys, time
from datetime import UTC, datetime
from pathlib import Path
from hxmem.journal.folder import JournalFolder
from hxmem.journal.pending import flush_new
from hxmem.plugins import Session
from hxmem.sessions import SessionLog
log = SessionLog(Path(sys.argv[1]), "chat")
def ask(messages):
    time.sleep(0.05)
    words = messages[0]["content"].partition("New messages:")[2].split()
    return "\\n".join(f"- {word} is a fact" for word in words if word.startswith("word")) or "NO_REPLY"
for n in range(10):
    session = Session(log.root, "en", "", lambda purpose: ask, print, id="chat")
    session.messages = [{"role": "user", "content": f"word-{sys.argv[2]}-{n}"}]
    log._write("message", session.messages)
    flush_new(JournalFolder(log.root), "chat", ask, datetime.now(UTC))
"""


def test_two_processes_in_one_conversation_flush_each_message_once(tmp_path):
    racers = [subprocess.Popen([sys.executable, "-c", RACER, str(tmp_path), name]) for name in "ab"]
    assert [racer.wait(timeout=60) for racer in racers] == [0, 0]
    text = "".join(path.read_text("utf-8") for path in JournalFolder(tmp_path).days())
    assert all(text.count(f"word-{name}-{n} ") == 1 for name in "ab" for n in range(10))


def test_prompts_of_ones_own_are_used_at_stop_and_in_maintenance(make, server):
    server.flush = "- We use uv."
    prompts = {"flush_prompt": "My flush.", "consolidation_prompt": "My file of {tokens} tokens."}
    make(Journal(clock=Clock(), background=False, **prompts)).run("We use uv.")
    assert server.sent("flush")[0].startswith("My flush.\n\nLong-term memory:")
    assert server.sent("consolidation")[0].startswith("My file of 4000 tokens.\n\nPresent memory:")


def test_without_anything_new_a_pass_comes_every_six_hours_and_not_before(make, server, folder):
    clock = Clock()
    agent = make(Journal(clock=clock, background=False))
    server.flush = "- We use uv."
    agent.run("We use uv.")
    server.flush = "NO_REPLY"
    passes = []
    for hours in (1, 5, 5.9, 6, 6.2, 11.9, 12):
        clock.now = NOW + timedelta(hours=hours)
        agent.run("Anything else?")
        passes.append(len(agent.journal.passes))
    assert passes == [1, 1, 1, 2, 2, 2, 3]


def test_a_pass_that_found_nothing_new_keeps_no_fact_waiting_for_the_next_day(make, server, folder):
    clock = Clock()
    agent = make(Journal(clock=clock, background=False))
    agent.run("Hello.")  # nothing to log, and the folder is made
    clock.now += timedelta(days=1)
    server.flush = "- We use uv."
    agent.run("We use uv.")
    assert "uv" in folder.read_memory()


def test_what_came_too_early_for_a_pass_waits_for_the_half_hour_and_no_longer(make, server, folder):
    clock = Clock()
    agent = make(Journal(clock=clock, background=False))
    server.flush = "- We use uv."
    agent.run("We use uv.")
    server.flush, server.consolidation = "- We use ruff.", "## Project\n- We use uv.\n- We use ruff.\n"
    clock.now += timedelta(minutes=29)
    agent.run("We use ruff.")
    server.flush = "NO_REPLY"
    clock.now += timedelta(minutes=1)
    agent.run("Anything else?")
    assert "ruff" in folder.read_memory()
