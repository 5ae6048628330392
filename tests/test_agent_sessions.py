"""An agent that keeps its conversations: the archive as a plugin, streamed answers, closing, and the cut of results."""

import json
import subprocess
import sys
from datetime import UTC, datetime

import httpx
import pytest

from hxmem import Agent, ChatClient, ChatError, Plugin, Session, SessionLog, Tool
from hxmem.agent import MAX_RESULT
from hxmem.classroom import Classroom
from hxmem.files import state_folder
from hxmem.sessions import LOST, Archive, archives, read_entries, text_of

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
CALL = [{"id": "call_0", "type": "function", "function": {"name": "echo", "arguments": "{}"}}]


def clock():
    return NOON


def reply(text="", calls=None):
    message = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}]}


def stream(*pieces):
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return httpx.Response(200, text=body, headers={"content-type": "text/event-stream"})


@pytest.fixture
def agent(tmp_path):
    """An agent whose server gives these answers in turn, the last one for ever; `bodies` are the requests."""

    def make(*answers, **options):
        rest, bodies = list(answers), []

        def serve(request):
            bodies.append(json.loads(request.content))
            answer = rest.pop(0) if len(rest) > 1 else rest[0]
            return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

        client = ChatClient("http://127.0.0.1:9", "sk-x", transport=httpx.MockTransport(serve), attempts=1)
        echo = Tool(
            "echo", "Echo.", {"type": "object", "properties": {}}, lambda arguments: options.get("result", "ECHO")
        )
        given = {name: value for name, value in options.items() if name != "result"}
        made = Agent(client, tmp_path, **{"tools": [echo], **given})
        made.bodies = bodies
        return made

    return make


def contents(messages):
    return [text_of(message) for message in messages]


def archived(root):
    return [text_of(entry.message) for path in archives(root) for entry in read_entries(path)]


# The archive in an agent


def test_three_runs_under_one_id_keep_their_order(agent, tmp_path):
    made = agent(*map(reply, ("one", "two", "three")), plugins=[Archive("x")])
    for n in range(3):
        result = made.run(f"task {n}")
    everything = ["task 0", "one", "task 1", "two", "task 2", "three"]
    assert archived(tmp_path) == everything
    assert contents(result.messages[1:]) == everything
    assert contents(made.bodies[2]["messages"][1:]) == everything[:5]
    assert result.session == "x"
    assert result.notices[0] == "[ARCHIVE] x: goes on with 4 messages"
    assert result.notices[1:] == made.run("again").notices[1:]


def test_a_history_that_the_caller_gives_is_not_laid_on_the_desk_twice(agent, tmp_path):
    made = agent(reply("Done."), plugins=[Archive("x")])
    first = made.run("ok")
    second = made.run("ok", history=json.loads(json.dumps(first.messages[1:])))
    assert contents(second.messages[1:]) == archived(tmp_path) == ["ok", "Done.", "ok", "Done."]


def test_a_history_that_the_caller_gives_is_the_desk_also_when_the_archive_holds_more(agent, tmp_path):
    made = agent(reply("Done."), plugins=[Archive("x")])
    first = made.run("one")
    made.run("two")
    assert contents(made.run("another two", history=first.messages[1:]).messages[1:]) == [
        "one",
        "Done.",
        "another two",
        "Done.",
    ]
    assert contents(made.run("three").messages[1:])[2:5] == ["another two", "Done.", "three"]


def test_without_an_id_a_run_is_archived_under_a_made_up_one_and_a_history_goes_on_in_it(agent, tmp_path):
    made = agent(reply("Done."), plugins=[Archive(clock=clock)])
    first = made.run("one")
    assert first.session.startswith("20261130-120000-")
    assert contents(first.messages[1:]) == ["one", "Done."]
    second = made.run("two", history=first.messages[1:])
    assert second.session == first.session
    third = made.run("three")
    assert third.session != first.session
    assert contents(third.messages[1:]) == ["three", "Done."]
    assert sorted(map(len, ([*read_entries(path)] for path in archives(tmp_path)))) == [2, 4]


def test_without_an_archive_there_is_no_session_and_no_file(agent, tmp_path):
    assert agent(reply("Done."), plugins=[]).run("one").session == ""
    assert list(tmp_path.iterdir()) == []


def test_calls_and_results_are_archived_in_their_order(agent, tmp_path):
    agent(reply(calls=CALL), reply("so"), plugins=[Archive("x")]).run("one")
    assert [entry.message["role"] for entry in read_entries(archives(tmp_path)[0])] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_reasoning_goes_back_to_the_server_in_the_next_run(agent):
    answer = reply("so")
    answer["choices"][0]["message"]["reasoning_content"] = "because"
    made = agent(answer, reply("well"), plugins=[Archive("x")])
    made.run("one")
    made.run("two")
    assert made.bodies[1]["messages"][2]["reasoning_content"] == "because"


def test_a_request_that_got_no_answer_is_kept(agent, tmp_path):
    refused = httpx.Response(402, json={"error": {"message": "no balance"}})
    made = agent(refused, reply("fine"), plugins=[Archive("x")])
    with pytest.raises(ChatError):
        made.run("one")
    assert archived(tmp_path) == ["one"]
    assert contents(made.run("two").messages[1:]) == ["one", "two", "fine"]


GOES_ON = """
import sys
from hxmem import Agent, ChatClient
from hxmem.sessions import Archive
with ChatClient.from_env() as client:
    result = Agent(client, sys.argv[1], plugins=[Archive("trip")], lang="en", permissions={"run_shell": "allow"}).run(sys.argv[2])
print(len(result.messages), len(result.exchanges[0].messages))
"""

DYING = """
import os, sys
from hxmem import Agent, ChatClient, Plugin
from hxmem.sessions import Archive
class Power(Plugin):
    def pre_tool_use(self, session, call):
        Archive.before_request(archive, session)
        os._exit(9)
archive = Archive("trip")
with ChatClient.from_env() as client:
    Agent(client, sys.argv[1], plugins=[archive, Power()], lang="en").run(sys.argv[2])
"""


def test_the_next_process_goes_on_with_the_conversation(tmp_path):
    lengths = []
    for task in ("Hello.", "What did I say?", "And now?"):
        done = subprocess.run(
            [sys.executable, "-c", GOES_ON, tmp_path, task], capture_output=True, text=True, timeout=60, check=True
        )
        lengths.append(done.stdout.split())
    assert lengths == [["3", "2"], ["5", "4"], ["7", "6"]]
    assert archived(tmp_path)[::2] == ["Hello.", "What did I say?", "And now?"]


def test_a_process_that_died_between_call_and_result_is_gone_on_with(tmp_path):
    (tmp_path / "notes.txt").write_text("text\n", "utf-8")
    task = "Please read the file notes.txt."
    died = subprocess.run(
        [sys.executable, "-c", DYING, tmp_path, task], capture_output=True, text=True, timeout=60, check=False
    )
    assert died.returncode == 9, died.stderr
    with Classroom() as room, ChatClient(room.url, room.key, server="classroom") as client:
        result = Agent(client, tmp_path, plugins=[Archive("trip")], lang="en").run("Thank you.")
    sent = result.exchanges[0].messages
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "user"]
    assert (sent[1]["content"], sent[3]["content"]) == (task, LOST)
    assert [entry.message["role"] for entry in read_entries(archives(tmp_path)[0])] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]


@pytest.mark.parametrize("in_the_way", [".harnessx", ".harnessx/sessions", ".harnessx/sessions/x.log.jsonl"])
def test_a_disk_that_refuses_costs_a_line_and_never_the_answer(agent, tmp_path, in_the_way):
    place = tmp_path / in_the_way
    place.parent.mkdir(parents=True, exist_ok=True)
    place.mkdir() if in_the_way.endswith("jsonl") else place.write_text("x", "utf-8")
    result = agent(reply(calls=CALL), reply(calls=CALL), reply("fine"), plugins=[Archive("x")]).run("one")
    assert result.text == "fine"
    trouble = [line for line in result.notices if "rchive" in line or "ARCHIVE" in line]
    assert len(trouble) <= 2  # that nothing came back, and that nothing is written down
    assert str(tmp_path) not in "".join(trouble)


def test_the_same_trouble_is_told_once_a_run_and_again_in_the_next(agent, tmp_path, monkeypatch):
    made = agent(reply(calls=CALL), reply("fine"), plugins=[Archive("x")])
    state_folder(tmp_path, "sessions")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hxmem.entries.os.fsync", full)
    for _ in range(2):
        lines = [line for line in made.run("one").notices if line.startswith("[ARCHIVE] what")]
        assert lines == [
            "[ARCHIVE] what was said is not written down: x.log.jsonl could not be written (No space left on device): check the disk."
        ]
    monkeypatch.undo()
    made.run("two")
    assert archived(tmp_path) == ["two", "fine"]


def test_an_interrupt_passes_through_the_archive(agent, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("hxmem.entries.os.write", stop)
    with pytest.raises(KeyboardInterrupt):
        agent(reply("fine"), plugins=[Archive("x")]).run("one")


# Streaming, closing, the result


def test_pieces_are_shown_as_they_come_and_the_answer_is_whole(agent, tmp_path):
    pieces, shown = [], []
    made = agent(stream("书", "桌", " and"), plugins=[Archive("x")], on_text=pieces.append, show=shown.append)
    result = made.run("one")
    assert (pieces, shown, result.text) == (["书", "桌", " and"], ["书桌 and"], "书桌 and")
    assert made.bodies[0]["stream"] is True
    assert archived(tmp_path) == ["one", "书桌 and"]


def test_a_stream_that_the_server_refuses_as_too_long_is_sent_again_when_a_plugin_shortens(agent):
    class Shorten(Plugin):
        def context_overflow(self, session, error):
            del session.messages[1:-1]
            return True

    too_long = httpx.Response(400, json={"error": {"message": "maximum context length is 10 tokens"}})
    made = agent(too_long, stream("ok"), plugins=[Shorten()], on_text=str)
    result = made.run("one", history=[{"role": "user", "content": "old"}, {"role": "assistant", "content": "older"}])
    assert result.text == "ok"
    assert [len(body["messages"]) for body in made.bodies] == [4, 2]
    assert contents(result.messages[1:]) == ["one", "ok"]


def test_a_stream_that_breaks_after_text_was_shown_is_an_error_and_the_request_is_kept(agent, tmp_path):
    pieces = []
    body = (
        stream("half").text.removesuffix("data: [DONE]\n\n").partition('data: {"choices": [{"index": 0, "delta": {}')[0]
    )
    broken = httpx.Response(200, text=body, headers={"content-type": "text/event-stream"})
    with pytest.raises(ChatError):
        agent(broken, plugins=[Archive("x")], on_text=pieces.append).run("one")
    assert pieces == ["half"]
    assert archived(tmp_path) == ["one"]


class Closing(Plugin):
    def __init__(self):
        self.closed = 0

    def close(self):
        self.closed += 1


def test_an_agent_that_is_left_closes_its_plugins_once(agent):
    plugins = [Closing(), Archive("x"), Closing()]
    with agent(reply("fine"), plugins=plugins) as made:
        made.run("one")
        assert plugins[0].closed == 0
    assert [plugins[0].closed, plugins[2].closed] == [1, 1]


def test_an_agent_that_is_left_by_an_error_closes_its_plugins_and_passes_the_error(agent):
    plugin = Closing()
    with pytest.raises(ZeroDivisionError), agent(reply("fine"), plugins=[plugin]):
        raise ZeroDivisionError
    assert plugin.closed == 1


def test_the_session_of_a_result_names_the_archive(agent, tmp_path):
    result = agent(reply("fine"), plugins=[Archive("trip to 成都")]).run("one")
    assert result.session == "trip to 成都"
    assert SessionLog(tmp_path, result.session).restore() == list(result.messages[1:])


# The cut of results


def test_a_tool_result_is_cut_after_the_plugins_had_it(agent, tmp_path):
    class Watch(Plugin):
        def post_tool_use(self, session, call, result):
            self.seen = len(result)
            return result

    watch = Watch()
    result = agent(
        reply(calls=CALL), reply("fine"), plugins=[watch, Archive("x")], result="a" * 150_000 + "z" * 150_000
    ).run("one")
    content = result.messages[3]["content"]
    assert (watch.seen, len(content), content[0], content[-1]) == (300_000, MAX_RESULT, "a", "z")
    assert archived(tmp_path)[2] == content


def test_a_plugin_that_puts_a_large_result_away_is_not_cut(agent):
    class Evict(Plugin):
        def post_tool_use(self, session, call, result):
            return f"{len(result)} characters are in a file"

    result = agent(reply(calls=CALL), reply("fine"), plugins=[Evict()], result="a" * 300_000).run("one")
    assert result.messages[3]["content"] == "300000 characters are in a file"


def test_a_result_of_exactly_the_limit_is_whole(agent):
    result = agent(reply(calls=CALL), reply("fine"), plugins=[], result="a" * MAX_RESULT).run("one")
    assert result.messages[3]["content"] == "a" * MAX_RESULT


def test_a_session_can_be_made_by_hand(tmp_path):
    session = Session(tmp_path, "en", "task", lambda purpose: str, str, messages=[{"role": "user", "content": "task"}])
    Archive(clock=clock).before_request(session)
    assert archived(tmp_path) == ["task"]
