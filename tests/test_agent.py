"""The loop of the agent: order of hooks, permissions, limits, and that no failure costs the answer."""

import json
from pathlib import Path

import httpx
import pytest

from hxmem import Agent, ChatClient, ChatError, Drawer, Memory, MemoryStore, Plugin, Section, Session, Tool
from hxmem.agent import LIMITS, MAX_TOOL_ROUNDS
from hxmem.classroom import Classroom


def completion(text="", calls=()):
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(calls)
        ]
    finish = "tool_calls" if calls else "stop"
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": {"prompt_tokens": 1}}


class Server:
    """Answers the conversation from a list, side-queries and extractions with `[]`; keeps the bodies."""

    def __init__(self, *answers):
        self.answers, self.bodies = list(answers), []

    def __call__(self, request):
        body = json.loads(request.content)
        self.bodies.append(body)
        plain = "tools" not in body and len(body["messages"]) == 1
        answer = completion("[]") if plain else self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)


@pytest.fixture
def agent(tmp_path):
    def make(*answers, **options):
        server = Server(*answers)
        client = ChatClient("http://127.0.0.1:9", "sk-x", transport=httpx.MockTransport(server), attempts=1)
        made = Agent(client, tmp_path, **options)
        made.server = server
        return made

    return make


class Witness(Plugin):
    """Writes down the hooks in the order in which they fire."""

    name = "witness"

    def __init__(self):
        self.seen = []

    def session_start(self, session):
        self.seen.append("SessionStart")

    def user_prompt_submit(self, session):
        self.seen.append("UserPromptSubmit")
        return "BLOCK"

    def sections(self, session):
        return [Section(50, "SECTION")]

    def tools(self, session):
        return [Tool("echo", "Echo.", {"type": "object", "properties": {}}, lambda arguments: "ECHO")]

    def before_request(self, session):
        self.seen.append("before_request")

    def pre_tool_use(self, session, call):
        self.seen.append("PreToolUse")
        return ""

    def post_tool_use(self, session, call, result):
        self.seen.append("PostToolUse")
        return result.lower()

    def stop(self, session):
        self.seen.append("Stop")

    def session_end(self, session):
        self.seen.append("SessionEnd")


def test_the_hooks_fire_in_the_documented_order(agent):
    witness, shown = Witness(), []
    made = agent(completion(calls=[("echo", "{}")]), completion("done"), plugins=[witness], show=shown.append)
    result = made.run("task")
    assert witness.seen == [
        "SessionStart", "UserPromptSubmit", "before_request", "PreToolUse", "PostToolUse", "before_request", "Stop", "SessionEnd",
    ]  # fmt: skip
    assert (result.text, result.turns, result.tool_calls, result.blocked) == ("done", 2, 1, 0)
    assert shown == ["done"]
    assert [m["role"] for m in result.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert result.messages[3]["content"] == "echo"
    assert "SECTION" in result.messages[0]["content"]
    assert result.messages[1]["content"] == "BLOCK\n\nUser request:\ntask"


def test_the_answer_is_shown_before_the_stop_hooks(agent):
    order = []

    class Late(Plugin):
        def stop(self, session):
            order.append("stop")

    agent(completion("hi"), plugins=[Late()], show=lambda text: order.append(text)).run("task")
    assert order == ["hi", "stop"]


@pytest.mark.parametrize(
    "hook", ["session_start", "user_prompt_submit", "sections", "tools", "before_request", "stop", "session_end"]
)
def test_a_hook_that_fails_is_one_line_and_never_costs_the_answer(agent, hook):
    def fail(self, *arguments):
        raise ValueError("broken")

    plugin = type("Broken", (Plugin,), {hook: fail, "name": "broken"})()
    result = agent(completion("fine"), plugins=[plugin]).run("task")
    assert result.text == "fine"
    assert [line for line in result.notices if "of broken failed: broken" in line]


@pytest.mark.parametrize("hook", ["user_prompt_submit", "sections", "tools"])
def test_a_hook_that_returns_nothing_adds_nothing(agent, hook):
    plugin = type("Idle", (Plugin,), {hook: lambda self, session: None})()
    assert agent(completion("fine"), plugins=[plugin]).run("task").text == "fine"


def test_a_guard_that_fails_refuses_the_call(agent):
    class Guard(Witness):
        def pre_tool_use(self, session, call):
            raise ValueError("broken")

    result = agent(completion(calls=[("echo", "{}")]), completion("ok"), plugins=[Guard()]).run("task")
    assert (result.blocked, result.messages[3]["content"][:8]) == (1, "Refused:")


def test_an_unknown_tool_is_denied_and_the_model_reads_it(agent):
    result = agent(completion(calls=[("launch", "{}")]), completion("ok")).run("task")
    assert (result.tool_calls, result.blocked) == (1, 1)
    assert "not allowed" in result.messages[3]["content"]


def test_ask_without_a_person_is_a_refusal(agent, tmp_path):
    result = agent(completion(calls=[("run_shell", '{"command": "touch x"}')]), completion("ok")).run("task")
    assert (result.blocked, (tmp_path / "x").exists()) == (1, False)
    assert "consent" in result.messages[3]["content"]


def test_ask_with_consent_runs(agent, tmp_path):
    asked = []
    call = completion(calls=[("run_shell", '{"command": "touch x"}')])
    result = agent(call, completion("ok"), confirm=lambda text: not asked.append(text)).run("task")
    assert (result.blocked, (tmp_path / "x").exists()) == (0, True)
    assert asked == ['run_shell {"command": "touch x"}']


def test_a_denied_tool_is_not_even_offered(agent):
    made = agent(completion("ok"), permissions={"run_shell": "deny"})
    made.run("task")
    assert "run_shell" not in [tool["function"]["name"] for tool in made.server.bodies[0]["tools"]]


@pytest.mark.parametrize("arguments", ["{", "[]", "", "null", '{"path": 7}'])
def test_broken_arguments_are_an_error_the_model_reads(agent, arguments):
    result = agent(completion(calls=[("read_file", arguments)]), completion("ok")).run("task")
    assert result.messages[3]["content"].startswith("Error: ")
    assert result.text == "ok"


@pytest.mark.parametrize("path", ["../x", "missing.txt"])
def test_a_file_that_can_not_be_read_is_a_sentence_the_model_reads(agent, path):
    call = completion(calls=[("read_file", json.dumps({"path": path}))])
    content = agent(call, completion("ok")).run("task").messages[3]["content"]
    assert content.startswith(f"Error: {path.removeprefix('../')} ")


def test_a_tool_that_crashes_is_an_error_the_model_reads(agent):
    def crash(arguments):
        raise ZeroDivisionError("x")

    tool = Tool("crash", "", {"type": "object", "properties": {}}, crash)
    result = agent(completion(calls=[("crash", "{}")]), completion("ok"), tools=[tool]).run("task")
    assert "ZeroDivisionError" in result.messages[3]["content"]


def test_every_call_of_a_message_gets_its_result(agent):
    result = agent(completion(calls=[("list_files", "{}"), ("nope", "{}"), ("read_file", "{")]), completion("ok")).run(
        "t"
    )
    assert [m["tool_call_id"] for m in result.messages if m["role"] == "tool"] == ["call_0", "call_1", "call_2"]


def test_after_20_rounds_of_tool_calls_the_answer_says_so(agent):
    result = agent(completion(calls=[("list_files", "{}")])).run("task")
    assert f"{MAX_TOOL_ROUNDS} rounds" in result.text
    assert (result.tool_calls, result.turns) == (20, 21)
    assert result.messages[-1] == {"role": "assistant", "content": result.text}
    assert "tool_calls" not in result.messages[-1]


def test_history_stands_between_the_system_text_and_the_task(agent):
    earlier = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    result = agent(completion("c")).run("task", history=earlier)
    assert [m["content"] for m in result.messages[1:]] == ["a", "b", "task", "c"]


def test_a_plugin_may_shorten_the_desk_after_an_overflow(agent):
    class Shorten(Plugin):
        def context_overflow(self, session, error):
            session.messages[:] = session.messages[-1:]
            return True

    too_long = httpx.Response(400, json={"error": {"message": "maximum context length is 10 tokens"}})
    made = agent(too_long, completion("ok"), plugins=[Shorten()])
    assert made.run("task").text == "ok"
    assert [len(body["messages"]) for body in made.server.bodies] == [2, 1]


@pytest.mark.parametrize("status", [400, 401, 402])
def test_no_answer_is_our_error_and_the_drawer_is_untouched(agent, tmp_path, status):
    with pytest.raises(ChatError):
        agent(httpx.Response(status, json={"error": {"message": "no"}})).run("remember: I drink tea")
    assert list(tmp_path.iterdir()) == []


def test_the_exchanges_of_a_run_are_labelled_and_only_its_own(agent):
    made = agent(completion("a"))
    made.run("one")
    assert [exchange.purpose for exchange in made.run("two").exchanges] == ["answer", "extraction"]


def test_an_empty_drawer_says_so_in_the_system_text(agent):
    system = agent(completion("a")).run("one").messages[0]["content"]
    assert "Project memory index: (empty)" in system


def test_one_drawer_in_two_projects_keeps_them_apart(tmp_path):
    drawer = Drawer()
    first, second = (Session(tmp_path / name, "en", "task", lambda purpose: str, str) for name in ("one", "two"))
    drawer.store(first).write(Memory("tea", "user", "drinks green tea", "Green tea."))
    assert drawer.store(second).list() == []
    assert drawer.store(first) is drawer.store(first)


def test_the_default_plugin_is_the_drawer_of_the_root(agent, tmp_path):
    made = agent(completion("a"))
    assert made.plugins[0].name == "drawer"
    made.run("one")
    assert not Path(tmp_path / ".harnessx").exists()
    assert MemoryStore.of(tmp_path).list() == []


def test_a_server_that_goes_silent_in_the_side_query_is_not_waited_for(tmp_path, monkeypatch):
    assert LIMITS["side-query"] == (1, 30.0)
    monkeypatch.setitem(LIMITS, "side-query", (1, 0.2))
    MemoryStore.of(tmp_path).write(Memory("tea", "user", "drinks green tea", "Green tea."))
    with Classroom(faults="side-query=stall") as room, ChatClient(room.url, room.key, server="classroom") as client:
        result = Agent(client, tmp_path, lang="en").run("What tea do I drink?")
    assert "Green tea." in result.messages[1]["content"]
    assert any("chose by keywords" in line for line in result.notices)


def test_a_design_that_shortens_the_desk_fires_pre_compact(agent):
    seen = []

    class Shorten(Plugin):
        def before_request(self, session):
            dropped = session.messages[1:-1]
            session.compacting(dropped)
            del session.messages[1:-1]

    class Keep(Plugin):
        def pre_compact(self, session, messages):
            seen.extend(message["content"] for message in messages)

    earlier = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    result = agent(completion("c"), plugins=[Shorten(), Keep()]).run("task", history=earlier)
    assert seen == ["a", "b"]
    assert [message["content"] for message in result.messages[1:]] == ["task", "c"]


def test_a_drawer_that_is_used_again_forgets_the_run_before(agent, tmp_path):
    drawer = Drawer()
    MemoryStore.of(tmp_path).write(Memory("tea", "user", "drinks green tea", "Green tea."))
    agent(completion("a"), plugins=[drawer]).run("tea")
    assert drawer.selection
    drawer.session_start(None)
    assert (drawer.selection, drawer.extraction) == (None, None)


def test_a_hook_that_returns_no_text_leaves_the_result_as_it_was(agent):
    class Silent(Plugin):
        def post_tool_use(self, session, call, result):
            return None

    made = agent(completion(calls=[("echo", "{}")]), completion("done"), plugins=[Witness(), Silent()])
    result = made.run("go")
    assert next(m for m in result.messages if m["role"] == "tool")["content"] == "echo"


def test_a_plugin_that_can_not_close_keeps_no_other_from_closing(agent):
    class Stuck(Plugin):
        name = "stuck"

        def close(self):
            raise OSError("no")

    closed = []

    class Tidy(Plugin):
        def close(self):
            closed.append(True)

    lines = []
    with agent(completion("yes"), plugins=[Stuck(), Tidy()], notify=lines.append):
        pass
    assert closed == [True]
    assert lines == ["[HOOK] Close of stuck failed: no"]
