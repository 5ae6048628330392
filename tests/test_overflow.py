"""A request that the server refuses as too long: the desk shrinks by tokens and is sent once more."""

import json
import re

import httpx
import pytest
from test_compaction import clock, said, user

from hxmem import Agent, ChatClient, Session
from hxmem.desk.compaction import Compaction
from hxmem.desk.overflow import limits
from hxmem.desk.plugin import Desk
from hxmem.errors import BadRequest, ContextOverflow, refusal
from hxmem.files import FileProblem
from hxmem.plugins import Plugin, Section, Tool, is_summary, with_recall
from hxmem.sessions import SessionLog

GOOD = "## SESSION INTENT\nMove the shop.\n\n## SUMMARY\nThe database first.\n\n## ARTIFACTS\nNone\n\n## NEXT STEPS\nThe script."
DEEPSEEK = (
    "This model's maximum context length is {limit} tokens. However, you requested {size} tokens ({size} in the messages, "
    "0 in the completion). Please reduce the length of the messages or completion."
)
LLAMA = "request ({size} tokens) exceeds the available context size ({limit} tokens), try increasing it"
SILENT = "prompt is too long"


def round_of(number, result="result", arguments='{"path": "a"}'):
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": arguments}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


class Server:
    """A server whose window has a number of characters; it keeps the bodies that it answered and those it refused."""

    def __init__(self, window, error=DEEPSEEK, summary=GOOD, calls=()):
        self.window, self.error, self.summary, self.calls = window, error, summary, list(calls)
        self.answered, self.refused, self.asked = [], [], []

    def __call__(self, request):
        body = json.loads(request.content)
        size = len(json.dumps(body["messages"], ensure_ascii=False))
        if size > self.window:
            self.refused.append(body["messages"])
            text = self.error.format(limit=self.window, size=size)
            return httpx.Response(400, json={"error": {"message": text, "type": "invalid_request_error"}})
        if len(body["messages"]) == 1:
            self.asked.append(body["messages"])
            return self.reply({"role": "assistant", "content": self.summary}, body)
        self.answered.append(body["messages"])
        if self.calls:
            return self.reply({"role": "assistant", "content": "", "tool_calls": self.calls.pop(0)}, body)
        return self.reply({"role": "assistant", "content": "done"}, body)

    @staticmethod
    def reply(message, body):
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        if not body.get("stream"):
            return httpx.Response(200, json={"choices": [{"index": 0, "message": message, "finish_reason": finish}]})
        chunk = {"choices": [{"index": 0, "delta": message, "finish_reason": finish}]}
        return httpx.Response(
            200, text=f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", headers={"content-type": "text/event-stream"}
        )


@pytest.fixture
def agent(tmp_path):
    def make(server, plugins=None, **options):
        client = ChatClient("http://127.0.0.1:9", "sk-x", transport=httpx.MockTransport(server), attempts=1)
        plugins = [Desk(Compaction(trigger_tokens=0, clock=clock))] if plugins is None else plugins
        return Agent(client, tmp_path, plugins, lang="en", **options)

    return make


def assert_in_order(messages, request):
    """The system text first, the user's request once, each result behind its call."""
    assert messages[0]["role"] == "system"
    assert len([m for m in messages if m["role"] == "user" and str(m["content"]).endswith(request[-150:])]) == 1
    waiting = []
    for message in messages:
        if message["role"] == "tool":
            assert waiting.pop(0) == message["tool_call_id"]
        else:
            assert waiting == []
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
    assert waiting == []
    for message in messages:
        for call in message.get("tool_calls") or ():
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


def archive_of(tmp_path):
    (path,) = (tmp_path / ".harnessx" / "sessions").glob("*.log.jsonl")
    return SessionLog(tmp_path, path.name.removesuffix(".log.jsonl")), path.read_text("utf-8")


SIX = [user("one"), said("two"), user("three"), said("four " + "x" * 300_000), user("five")]
HUGE_RESULT = [user("go"), *round_of(1, "r" * 300_000)]
CASES = {
    "six messages, one of 300 kB": (SIX, "and now?", 20_000),
    "a huge current request": ([user("one"), said("two")], "START " + "y" * 300_000 + " END", 20_000),
    "400 tiny messages": ([m for n in range(200) for m in (user(f"q{n}"), said(f"a{n}"))], "and now?", 9_000),
    "a huge result in the last round": (HUGE_RESULT, "and now?", 20_000),
    "huge arguments": ([user("go"), *round_of(1, arguments=json.dumps({"text": "a" * 90_000}))], "and now?", 20_000),
    "arguments that are no JSON": ([user("go"), *round_of(1, arguments="{" + "a" * 90_000)], "and now?", 20_000),
    "Chinese": ([user("书桌" * 20_000), said("好")] * 3, "现在呢？", 20_000),
    "many results of one call": ([user("go"), *[m for n in range(30) for m in round_of(n, "r" * 3_900)]], "now?", 20_000),
    "reasoning": ([user("go"), {**said("x"), "reasoning_content": "h" * 300_000}, user("on"), said("y")], "now?", 20_000),
    "content in parts": ([{"role": "user", "content": [{"type": "text", "text": "p" * 300_000}]}, said("y")], "now?", 20_000),
}  # fmt: skip


@pytest.mark.parametrize(("error", "streamed"), [(DEEPSEEK, True), (LLAMA, False)], ids=["streamed", "whole"])
@pytest.mark.parametrize("case", CASES)
def test_a_desk_that_is_too_long_shrinks_and_is_answered(agent, tmp_path, case, error, streamed):
    history, request, window = CASES[case]
    server, shown = Server(window, error), []
    plugins = [Desk(Compaction(trigger_messages=0, trigger_tokens=0, clock=clock))]
    result = agent(server, plugins, on_text=shown.append if streamed else None).run(request, history=history)
    assert (result.text, shown) == ("done", ["done"] if streamed else [])
    (refused,), (answered,) = [m for m in server.refused if len(m) > 1], server.answered
    assert len(answered) <= len(refused)
    assert_in_order(answered, request)
    assert len([line for line in result.notices if line.startswith("[DESK] overflow: ")]) == 1
    (cut,) = plugins[0].cuts
    assert (cut.how, len(cut.before)) == ("overflow", len(refused))
    assert cut.tokens_after < cut.tokens_before
    log, _ = archive_of(tmp_path)
    assert [e.message for e in log.entries() if e.kind == "message"][: len(history) + 1] == [*history, user(request)]


@pytest.mark.parametrize("case", CASES)
def test_a_server_that_names_no_numbers_is_sent_half_at_most(agent, case):
    history, request, _ = CASES[case]
    part = Compaction(trigger_messages=0, trigger_tokens=0, clock=clock)
    size = len(json.dumps([*history, user(request)], ensure_ascii=False)) * 7 // 10
    result = agent(Server(size, SILENT), [Desk(part)]).run(request, history=history)
    assert result.text == "done"
    assert part.cuts[0].tokens_after <= part.cuts[0].tokens_before / 2


def test_what_was_cut_says_where_the_whole_text_is(agent, tmp_path):
    server = Server(20_000)
    agent(server).run("and now?", history=HUGE_RESULT)
    (cut,) = [m["content"] for m in server.answered[0] if m["role"] == "tool"]
    log, _ = archive_of(tmp_path)
    mark = re.search(r"\[\.\.\. ([\d,]+) characters left out here; the whole text: (\S+), entry (\w+) \.\.\.\]", cut)
    assert (mark[1], mark[2]) == ("298,000", log.name)
    assert [e.message["content"] for e in log.entries() if e.id == mark[3]] == ["r" * 300_000]
    assert str(tmp_path) not in cut


def test_a_shortened_copy_stands_for_its_original_in_the_archive(agent, tmp_path):
    result = agent(Server(20_000)).run("and now?", history=HUGE_RESULT)
    log, _ = archive_of(tmp_path)
    assert log.restore() == list(result.messages[1:-1])
    assert [e.message for e in log.entries() if e.kind == "message"] == [*HUGE_RESULT, user("and now?")]
    *_, last = log.entries()
    assert last.desk[2]["entry"] == [e.id for e in log.entries()][2]


def test_only_as_many_results_are_cut_as_is_needed_the_largest_first(agent):
    server = Server(20_000)
    history = [user("go"), *round_of(1, "a" * 5_000), *round_of(2, "b" * 30_000), *round_of(3, "c" * 5_000)]
    agent(server).run("and now?", history=history)
    sizes = [len(m["content"]) for m in server.answered[0] if m["role"] == "tool"]
    assert (sizes[0], sizes[2]) == (5_000, 5_000)
    assert 2_000 < sizes[1] < 2_300


def test_a_huge_result_is_enough_and_no_summary_is_asked_for(agent):
    server = Server(20_000)
    agent(server).run("and now?", history=[user("one"), said("two"), *HUGE_RESULT])
    assert server.asked == []
    assert [m["content"] for m in server.answered[0] if m["role"] == "user"] == ["one", "go", "and now?"]


def test_a_result_of_this_very_run_is_cut_too(agent):
    tool = Tool("look", "Look.", {"type": "object", "properties": {}}, lambda arguments: "r" * 90_000)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    server = Server(20_000, calls=[[call]])
    assert agent(server, tools=[tool]).run("look").text == "done"
    assert_in_order(server.answered[-1], "look")


def test_the_request_is_cut_last_and_keeps_its_start_and_end(agent):
    server = Server(20_000)
    agent(server).run("START " + "y" * 12_000 + " END", history=[said("x" * 300_000)])
    assert server.answered[0][-1]["content"] == "START " + "y" * 12_000 + " END"
    server = Server(20_000)
    agent(server).run("START " + "y" * 300_000 + " END")
    content = server.answered[0][-1]["content"]
    assert content.startswith("START yyy")
    assert content.endswith("yyy END")
    assert "left out here; the whole text: .harnessx/sessions/" in content
    assert 12_000 < len(content) < 17_000


def test_results_that_are_not_huge_are_cut_before_the_request_is(agent):
    tool = Tool("look", "Look.", {"type": "object", "properties": {}}, lambda arguments: "r" * 3_900)
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}} for n in range(4)]
    server, request = Server(20_000, calls=[calls]), "look " + "y" * 8_000
    agent(server, tools=[tool]).run(request)
    assert_in_order(server.answered[-1], request)
    assert server.answered[-1][1]["content"] == request
    assert min(len(m["content"]) for m in server.answered[-1] if m["role"] == "tool") < 1_000


def test_recalled_notes_go_before_a_word_of_the_request_does(agent):
    class Notes(Plugin):
        def user_prompt_submit(self, session):
            return "<relevant_memories>\n" + "n" * 30_000 + "\n</relevant_memories>"

    server = Server(20_000)
    agent(server, [Notes(), Desk()]).run("what now? " + "y" * 5_000)
    assert server.answered[0][-1]["content"] == "what now? " + "y" * 5_000
    assert with_recall("<a>\n</a>", "x") == "<a>\n</a>\n\nUser request:\nx"


def test_the_tail_is_measured_in_tokens_and_the_users_prompt_is_used(agent):
    server = Server(20_000)
    part = Compaction(trigger_messages=0, trigger_tokens=0, keep_messages=3, prompt="Sum up: {messages}", clock=clock)
    history = [m for n in range(40) for m in (user(f"q{n}" + "x" * 300), said("y" * 300))]
    agent(server, [Desk(part)]).run("now?", history=history)
    assert server.asked[0][0]["content"].startswith("Sum up: Earlier summary:")
    assert [m["role"] for m in server.answered[0]] == ["system", "user", "user", "assistant", "user"]
    assert is_summary(server.answered[0][1])
    long_tail = Compaction(trigger_messages=0, trigger_tokens=0, keep_messages=20, clock=clock)
    server = Server(20_000)
    history = [m for n in range(9) for m in (user(f"q{n}" + "x" * 1_500), said("y" * 1_500))]
    agent(server, [Desk(long_tail)]).run("now?", history=history)
    assert 3 < len(server.answered[0]) < 9


def test_what_leaves_is_told_to_the_other_plugins_whole(agent):
    class Keep(Plugin):
        left = None

        def pre_compact(self, session, messages):
            self.left = messages

    keep, history = (
        Keep(),
        [user("one"), *round_of(1, "r" * 30_000), *[said("y" * 3_000)] * 9, user("two"), said("three")],
    )
    agent(Server(20_000), [keep, Desk()]).run("now?", history=history)
    assert keep.left[:3] == history[:3]


@pytest.mark.parametrize("summary", ["prose", ""])
def test_without_a_summary_a_mark_takes_its_place_because_going_on_needs_it(agent, tmp_path, summary):
    server = Server(20_000, summary=summary)
    history = [m for n in range(9) for m in (user(f"q{n}" + "x" * 1_500), said("y" * 1_500))]
    result = agent(server).run("now?", history=history)
    mark = server.answered[0][1]["content"]
    log, text = archive_of(tmp_path)
    assert mark.startswith(f'<conversation_summary archive="{log.name}">')
    assert "No summary could be made of " in mark
    assert "q0" in text
    assert [line for line in result.notices if "; no summary: " in line]
    assert log.restore()[0] == server.answered[0][1]


def test_a_mark_keeps_what_an_earlier_summary_said(agent):
    server = Server(20_000, summary="prose")
    earlier = user(f"<conversation_summary>\nA record.\n\n{GOOD}\n</conversation_summary>")
    history = [earlier, *[m for n in range(9) for m in (user("x" * 1_500), said("y" * 1_500))]]
    agent(server).run("now?", history=history)
    assert GOOD in server.answered[0][1]["content"]
    assert server.answered[0][1]["content"].count("<conversation_summary") == 1


def test_a_server_that_refuses_again_is_asked_no_third_time(agent):
    server = Server(100, SILENT)
    with pytest.raises(ContextOverflow):
        agent(server).run("now?", history=[said("x" * 3_000)])
    assert len([messages for messages in server.refused if len(messages) > 1]) == 2


def test_a_desk_that_can_not_get_shorter_is_kept_and_says_why(agent):
    server, lines = Server(100, SILENT), []
    with pytest.raises(ContextOverflow):
        agent(server, notify=lines.append).run("now?")
    assert len(server.refused) == 1
    assert "only the system text, the tools and short messages are left" in lines[-1]


def test_where_the_system_text_alone_is_too_long_nothing_is_cut_for_nothing(agent):
    class Rules(Plugin):
        def sections(self, session):
            return [Section(1, "a rule, " * 10_000)]

    server, lines, history = Server(20_000), [], [m for n in range(9) for m in (user(f"q{n} " + "x" * 900), said("a"))]
    part = Compaction(trigger_tokens=0, clock=clock)
    with pytest.raises(ContextOverflow):
        agent(server, [Rules(), part], notify=lines.append).run("now? " + "y" * 9_000, history=history)
    assert (len(server.refused), server.answered) == (1, [])
    assert [cut.how for cut in part.cuts] == ["kept"]
    assert re.search(r"kept: the system text and the tools alone take about 8\d,\d{3} tokens: shorten them", lines[-1])


def test_without_an_archive_the_desk_is_kept_and_says_why(agent, monkeypatch):
    def fail(self, session):
        raise FileProblem("chat.log.jsonl could not be written (disk full): check the disk.")

    server, lines = Server(20_000), []
    monkeypatch.setattr(SessionLog, "append", fail)
    with pytest.raises(ContextOverflow):
        agent(server, notify=lines.append).run("now?", history=SIX)
    assert (len(server.refused), server.answered) == (1, [])
    assert lines[-1].startswith("[DESK] conversation kept: chat.log.jsonl could not be written")


def test_without_offload_a_cut_names_no_place(agent, tmp_path):
    server = Server(20_000)
    agent(server, [Compaction(trigger_tokens=0, offload=False)]).run("now?", history=HUGE_RESULT)
    assert "298,000 characters left out here ...]" in server.answered[0][3]["content"]
    assert not (tmp_path / ".harnessx").exists()


def test_ctrl_c_during_the_summary_of_an_overflow_passes(tmp_path):
    def interrupt(messages):
        raise KeyboardInterrupt

    session = Session(tmp_path, "en", "t", lambda purpose: interrupt, str)
    session.messages = before = [user("x" * 900), *[said("y" * 900) for _ in range(30)], user("now?")]
    copy = list(before)
    with pytest.raises(KeyboardInterrupt):
        Compaction(clock=clock).context_overflow(session, Exception(SILENT))
    assert session.messages == copy


def test_long_texts_inside_of_lists_lose_their_middles_too(agent):
    text = json.dumps({"path": "a.txt", "edits": [{"old": "o" * 40_000, "new": "kept"}]})
    server = Server(9_000)
    agent(server).run("now?", history=[user("go"), *round_of(1, arguments=text)])
    (call,) = server.answered[0][2]["tool_calls"]
    arguments = json.loads(call["function"]["arguments"])
    assert (arguments["path"], arguments["edits"][0]["new"]) == ("a.txt", "kept")
    assert "38,000 characters left out here" in arguments["edits"][0]["old"]


def test_no_message_is_changed_in_place(agent):
    history = json.loads(json.dumps([*SIX[:-1], *round_of(1, "r" * 9_000, json.dumps({"text": "a" * 9_000}))]))
    agent(Server(9_000)).run("now?", history=history)
    assert history == [*SIX[:-1], *round_of(1, "r" * 9_000, json.dumps({"text": "a" * 9_000}))]


def test_a_limit_that_the_server_named_is_not_met_a_second_time(agent):
    server, history = Server(20_000), []
    made = agent(server, [Desk(Compaction(trigger_messages=0, clock=clock))])
    for n in range(30):
        history = made.run(f"Number {n}. " + "many words " * 250, history).messages[1:]
    assert len(server.refused) == 1
    assert len(server.answered) == 30


def test_without_compaction_the_error_says_what_to_do(agent):
    server = Server(20_000)
    with pytest.raises(ContextOverflow, match=r"shorten them, or give the agent a Desk\(\)"):
        agent(server, []).run("now?", history=SIX)
    assert len(server.refused) == 1


# ---- which errors are an overflow, and what they tell

PHRASES = [
    "The input token count (9000) exceeds the maximum number of tokens allowed (8192)",
    "Input tokens exceed the configured limit of 8192 tokens",
    "context_length_exceeded", "This exceeds the context length", "maximum context", "token limit reached",
    "too many tokens", "exceeds the model's maximum", "Please reduce the length of the messages",
    DEEPSEEK.format(limit=1048576, size=1060836), LLAMA.format(limit=4096, size=12000), "prompt is too long: 208310 tokens > 200000 maximum",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "prompt_too_long", "input is too long for requested model",
]  # fmt: skip


@pytest.mark.parametrize("phrase", PHRASES)
def test_the_words_of_the_servers_are_known(phrase):
    assert type(refusal(400, {"error": {"message": phrase}}, "m")) is ContextOverflow
    assert type(refusal(400, {"error": {"message": phrase.upper()}}, "m")) is ContextOverflow


def test_a_code_alone_and_http_413_are_known_too():
    assert type(refusal(400, {"error": {"message": "no", "code": "context_length_exceeded"}}, "m")) is ContextOverflow
    assert type(refusal(413, "<html>Request Entity Too Large</html>", "m")) is ContextOverflow


@pytest.mark.parametrize(
    "other",
    [
        "Invalid max_tokens value, the valid range of max_tokens is [1, 393216]",
        "Invalid tool name",
        "messages: field required",
    ],
)
def test_another_bad_request_is_no_overflow(other):
    assert type(refusal(400, {"error": {"message": other}}, "m")) is BadRequest


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        (DEEPSEEK.format(limit=1048576, size=1060836), (1048576, 1060836)),
        ("maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", (8192, 9000)),
        ("maximum context length is 4097 tokens, however you requested 5000 tokens (4000 in the messages, 1000 in the completion)", (3097, 4000)),
        (LLAMA.format(limit=4096, size=12000), (4096, 12000)),
        ("prompt is too long: 208,310 tokens > 200,000 maximum", (200000, 208310)),
        ("This model's maximum context length is 272000 tokens. Your messages resulted in 300000 tokens.", (272000, 300000)),
        ("maximum context length of gpt-4-0613 is 8192", None),
        ("too many tokens", None),
    ],
)  # fmt: skip
def test_the_numbers_in_an_error_are_read(sentence, found):
    assert limits(sentence) == found
    assert limits(str(refusal(400, {"error": {"message": sentence}}, "m"))) == found


def test_numbers_that_are_no_counts_of_tokens_are_not_believed(tmp_path):
    session = Session(tmp_path, "en", "t", lambda purpose: lambda messages: GOOD, str)
    session.messages = [said("y" * 900) for _ in range(30)]
    part = Compaction(clock=clock)
    assert part.context_overflow(session, Exception("context length of 200 exceeded, request 20261130"))
    assert part.estimator.scale == 1.0
    assert part.cuts[0].tokens_after <= part.cuts[0].tokens_before / 2
