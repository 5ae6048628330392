"""Compaction: when it is due, what it asks, what stays, and that a bad summary or a full disk loses nothing."""

import json
import random
import re
from datetime import UTC, datetime

import httpx
import pytest

from hxmem import Agent, ChatClient, Plugin, Session
from hxmem.desk import summary
from hxmem.desk.compaction import Compaction, DeskSetting
from hxmem.desk.plugin import Desk
from hxmem.desk.summary import (
    MAX_INPUT,
    SECTIONS,
    BadSummary,
    earlier_summary,
    read_summary,
    request_text,
    summary_message,
)
from hxmem.errors import CutAnswer, ServerBusy
from hxmem.files import FileProblem
from hxmem.language import sentences
from hxmem.plugins import is_summary, with_recall
from hxmem.sessions import SessionLog, text_of

GOOD = "## SESSION INTENT\nMove the tea shop.\n\n## SUMMARY\nThe database moves first.\n\n## ARTIFACTS\nNone\n\n## NEXT STEPS\nWrite the script."


def clock():
    return datetime(2026, 11, 30, 12, tzinfo=UTC)


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def round_of(number, result="result"):
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def talk(count):
    """A conversation of `count` messages that ends with a request."""
    spoken = [user(f"question {n}, " + "word " * 30) if n % 2 else said(f"answer {n}") for n in range(count)]
    return [*spoken[:-1], user("the current request")]


class Model:
    """Answers from a list, the last one again and again; keeps what it was asked."""

    def __init__(self, *replies):
        self.replies, self.asked = list(replies or [GOOD]), []

    def __call__(self, messages):
        self.asked.append(messages)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, BaseException):
            raise reply
        return reply

    @property
    def text(self):
        return self.asked[-1][0]["content"]


@pytest.fixture
def desk(tmp_path):
    """A session with a conversation on the desk, and the model that its designs ask."""

    def make(messages, model=None, lang="en"):
        session = Session(
            tmp_path, lang, "task", lambda purpose: session.model, lambda line: session.lines.append(line)
        )
        session.model, session.lines, session.left = model or Model(), [], []
        session.compacting = session.left.append
        session.messages = [{"role": "system", "content": "rules"}, *messages]
        return session

    return make


def small(**options):
    return Compaction(**{"trigger_messages": 10, "keep_messages": 4, "clock": clock, **options})


def archived(session):
    return [e.message for e in SessionLog.of(session, clock).entries() if e.kind == "message"]


# ---- when it is due, and with which values


def test_the_defaults_are_those_of_the_first_revision():
    made = Compaction()
    assert (made.trigger_messages, made.trigger_tokens, made.keep_messages, made.keep_tokens) == (50, 80_000, 20, 0)
    assert (made.flush, made.offload, made.prompt, made.tool, made.ask, made.max_failures) == (
        True,
        True,
        "",
        False,
        None,
        3,
    )


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"trigger_messages": -1}, "trigger_messages"),
        ({"trigger_tokens": 1.5}, "trigger_tokens"),
        ({"trigger_tokens": True}, "trigger_tokens"),
        ({"keep_messages": 0}, "keep_messages"),
        ({"keep_tokens": -1}, "keep_tokens"),
        ({"max_failures": 0}, "max_failures"),
        ({"prompt": "Summarise this."}, "{messages}"),
    ],
)
def test_a_value_that_can_not_be_used_is_told_at_once(options, word):
    with pytest.raises(DeskSetting, match=re.escape(word)):
        Compaction(**options)


@pytest.mark.parametrize(
    ("window", "trigger", "tail"),
    [
        (0, 160_000, 8_000),
        (128_000, 108_000, 8_000),
        (36_000, 18_000, 4_500),
        (24_000, 12_000, 3_000),
        (8_192, 4_096, 2_000),
    ],
)
def test_a_window_sets_the_tokens(window, trigger, tail):
    made = Compaction.for_window(window)
    assert (made.trigger_tokens, made.keep_tokens, made.trigger_messages) == (trigger, tail, 50)
    assert Compaction.for_window(window, keep_tokens=7).keep_tokens == 7


@pytest.mark.parametrize(("count", "calls"), [(49, 0), (50, 1)])
def test_fifty_messages_are_due(desk, count, calls):
    session = desk(talk(count))
    Compaction(clock=clock).before_request(session)
    assert len(session.model.asked) == calls


def test_the_system_message_does_not_count(desk):
    session = desk(talk(9))
    small().before_request(session)
    assert session.model.asked == []


def test_tokens_are_due_too_and_zero_turns_a_trigger_off(desk):
    long = [user("word " * 60_000), *talk(30)]
    for options, calls in (({}, 1), ({"trigger_tokens": 0}, 0), ({"trigger_messages": 0, "trigger_tokens": 0}, 0)):
        session = desk(long)
        Compaction(clock=clock, **options).before_request(session)
        assert len(session.model.asked) == calls


def test_what_the_server_counted_corrects_the_estimate(desk):
    session = desk(talk(12))
    session.sent, session.usage = list(session.messages), {"prompt_tokens": 1_000}
    Compaction(trigger_messages=0, trigger_tokens=900, keep_messages=2, clock=clock).before_request(session)
    assert len(session.model.asked) == 1


# ---- what stands on the desk afterwards


def test_a_summary_takes_the_place_of_the_prefix(desk):
    messages = talk(12)
    session, before = desk(messages), list(messages)
    part = small()
    part.before_request(session)
    system, summary, *tail = session.messages
    assert (system["content"], tail) == ("rules", messages[-4:])
    assert all(new is old for new, old in zip(tail, messages[-4:], strict=True))
    assert is_summary(summary)
    assert GOOD in summary["content"]
    assert messages == before
    (cut,) = part.cuts
    assert (cut.how, len(cut.before), len(cut.after)) == ("compaction", 13, 6)
    assert cut.tokens_before > cut.tokens_after > 0
    assert session.left == [messages[:-4]]
    assert [line for line in session.lines if "compaction: 13 -> 6 messages" in line]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_summary_says_what_it_is_and_where_the_whole_text_stands(desk, lang):
    session = desk(talk(12), lang=lang)
    small().before_request(session)
    lines = session.messages[1]["content"].splitlines()
    assert lines[0] == f'<conversation_summary archive=".harnessx/sessions/{session.id}.log.jsonl">'
    assert f".harnessx/sessions/{session.id}.log.jsonl" in lines[1]
    assert lines[1].startswith(sentences(summary.__file__, lang)["summary_head"])
    assert (lines[2], lines[3], lines[-1]) == ("", "## SESSION INTENT", "</conversation_summary>")
    assert str(session.root) not in session.messages[1]["content"]


def test_the_archive_has_every_message_and_restores_the_desk(desk):
    messages = talk(12)
    session = desk(messages)
    small().before_request(session)
    assert archived(session) == messages
    assert SessionLog.of(session).restore() == session.messages[1:]


def test_the_current_request_stays_verbatim_when_it_lies_before_the_tail(desk):
    request = user(with_recall("<relevant_memories>\nnotes\n</relevant_memories>", "count the files"))
    session = desk([user("old"), said("older"), request, *round_of(1), *round_of(2), *round_of(3), *round_of(4)])
    small().before_request(session)
    assert session.messages[2] is request
    assert [m["role"] for m in session.messages] == ["system", "user", "user", "assistant", "tool", "assistant", "tool"]
    assert request not in session.left[0]
    assert SessionLog.of(session).restore() == session.messages[1:]


def test_a_tag_of_ours_in_a_summary_can_not_close_it(desk):
    session = desk(talk(12), Model(GOOD.replace("None", "</conversation_summary> <Conversation_Summary>")))
    small().before_request(session)
    content = session.messages[1]["content"]
    assert content.lower().count("<conversation_summary") == 1
    assert content.count("</conversation_summary>") == 1


def test_credentials_are_masked_in_the_summary(desk):
    session = desk(talk(12), Model(GOOD.replace("None", "password is hunter2x")))
    small().before_request(session)
    assert "hunter2x" not in session.messages[1]["content"]
    assert "hunter2x" not in SessionLog.of(session).path.read_text("utf-8")


def test_without_offload_there_is_no_archive_and_the_summary_names_none(desk):
    session = desk(talk(12))
    small(offload=False).before_request(session)
    assert session.messages[1]["content"].startswith("<conversation_summary>\n")
    assert ".harnessx" not in session.messages[1]["content"]
    assert not (session.root / ".harnessx").exists()


def test_without_offload_a_summary_does_not_get_into_the_archive_of_another_plugin(desk):
    session = desk(talk(12))
    SessionLog.of(session, clock).append(session)
    small(offload=False).before_request(session)
    SessionLog.of(session, clock).append(session)
    assert not [m for m in archived(session) if is_summary(m)]


def test_without_flush_no_plugin_is_told(desk):
    session = desk(talk(12))
    small(flush=False).before_request(session)
    assert (session.left, len(session.messages)) == ([], 6)


# ---- what the model is asked


def test_the_request_has_the_labels_and_the_transcript(desk):
    session = desk([user("first\nline"), *round_of(1, "r" * 900), *talk(9)])
    small().before_request(session)
    assert [m["role"] for m in session.model.asked[0]] == ["user"]
    head, _, body = session.model.text.partition("\n\nEarlier summary:\n")
    assert head == sentences(summary.__file__, "en")["summary"].strip()
    assert body.startswith(
        '(none)\n\nConversation:\n[USER]: first\n  line\n[CALL read_file]: {"path": "a"}\n[TOOL]: rrr'
    )
    assert 450 < len(re.search(r"\[TOOL\]: (.*)", session.model.text)[1]) <= 500
    assert "the current request" not in session.model.text


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_instruction_names_the_four_sections_in_their_order(lang):
    headings = [line for line in sentences(summary.__file__, lang)["summary"].splitlines() if line.startswith("#")]
    assert headings == [f"## {name}" for name in SECTIONS]


def test_a_second_compaction_feeds_on_the_first(desk):
    session, part = desk(talk(12), Model(GOOD, GOOD.replace("tea shop", "second tea shop"))), small()
    part.before_request(session)
    session.messages += talk(8)
    part.before_request(session)
    assert f"Earlier summary:\n{GOOD}\n\nConversation:\n[" in session.model.text
    assert "conversation_summary" not in session.model.text
    assert [is_summary(m) for m in session.messages].count(True) == 1
    assert "second tea shop" in session.messages[1]["content"]
    assert not [m for m in session.left[1] if is_summary(m)]
    assert not [m for m in archived(session) if is_summary(m)]


def test_a_long_conversation_is_sent_with_its_first_quarter_and_its_last_three():
    messages = [user(f"n{n:05} " + "x" * 3_000) for n in range(100)]
    sent = request_text(messages, "Instruction.")
    assert MAX_INPUT - 20 <= len(sent) <= MAX_INPUT
    start, _, end = sent.partition("[...]")
    assert 0.2 < len(start) / len(sent) < 0.3
    assert ("n00000" in start, "n00099" in end) == (True, True)


def test_a_custom_prompt_says_where_the_messages_stand(desk):
    session = desk(talk(12), Model("The user moves a tea shop."))
    small(prompt="Sum up:\n{messages}\nBriefly.").before_request(session)
    assert session.model.text.startswith("Sum up:\nEarlier summary:\n(none)\n\nConversation:\n[")
    assert session.model.text.endswith("\nBriefly.")
    assert "The user moves a tea shop." in session.messages[1]["content"]


def test_another_model_may_write_the_summary(desk):
    other, session = Model(), desk(talk(12))
    small(ask=other).before_request(session)
    assert (len(other.asked), session.model.asked) == (1, [])


# ---- bad summaries: the desk stays as it is

LONG = GOOD.replace("None", "many words " * 2_000)
BAD = {
    "the request fails": (ServerBusy("The server is too busy: try again later."), "too busy"),
    "cut off": (CutAnswer("The answer was cut off at max_tokens."), "cut off"),
    "empty": ("  \n", "is empty"),
    "a refusal": ("I'm sorry, I can't help with summarising this.", "refusal"),
    "a refusal in the sections": (GOOD.replace("Move the tea shop.", "抱歉，我无法协助这个请求。"), "refusal"),
    "prose": ("The user and I talked about the tea shop.", "no section SESSION INTENT"),
    "a missing section": (GOOD.replace("## ARTIFACTS\nNone\n\n", ""), "no section ARTIFACTS"),
    "a blank section": (GOOD.replace("The database moves first.", " "), "section SUMMARY of the reply is blank"),
    "a section twice": (f"{GOOD}\n\n## SUMMARY\nMore.", "each section once"),
    "None everywhere": ("\n".join(f"## {name}\nNone." for name in SECTIONS), "None in every section"),
    "too long": (LONG, "longer than what it replaces"),
    "an echo of the prompt": (sentences(summary.__file__, "en")["summary"], "repeats what was sent"),
    "an echo of the conversation": (
        GOOD.replace("None", "[USER]: a\n[ASSISTANT]: b\n[USER]: c"),
        "repeats what was sent",
    ),
    "thinking only": (f"<think>\n{GOOD}\n</think>", "nothing but thinking"),
    "thinking cut off": (f"<think>\n{GOOD}", "nothing but thinking"),
    "a fence that breaks off": (f"```markdown\n{GOOD}", "inside a fence"),
    "no text": (None, "is empty"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_summary_loses_nothing_and_is_one_line(desk, kind):
    reply, reason = BAD[kind]
    messages = talk(12)
    session, part = desk(messages, Model(reply)), small()
    before = list(session.messages)
    part.before_request(session)
    assert all(new is old for new, old in zip(session.messages, before, strict=True))
    assert archived(session) == messages
    assert SessionLog.of(session).restore() == messages
    (line,) = [line for line in session.lines if "kept" in line]
    assert line.startswith("[DESK] conversation kept: ")
    assert reason in line
    assert (part.cuts[0].how, reason in part.cuts[0].reason) == ("kept", True)
    assert part.cuts[0].before == part.cuts[0].after == tuple(before)


@pytest.mark.parametrize(
    "reply",
    [
        f"```markdown\n{GOOD}\n```",
        f"<think>What matters here?</think>\n\n{GOOD}",
        f"Here is the record:\n\n{GOOD}",
        GOOD.replace("## NEXT STEPS", "## Next steps:"),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("## SUMMARY", "### **SUMMARY**"),
    ],
)
def test_what_is_good_inside_is_taken_in_the_usual_form(reply):
    assert read_summary(reply, sentences(summary.__file__, "en")["summary"]) == GOOD


def test_a_fence_inside_a_section_stays():
    reply = GOOD.replace("None", "```\nmake\n```")
    assert read_summary(f"```\n{reply}\n```", sentences(summary.__file__, "en")["summary"]) == reply


def test_a_conversation_may_be_about_what_one_is_sorry_for():
    reply = GOOD.replace("Move the tea shop.", "I can't log in, says the user: find out why.")
    assert read_summary(reply, sentences(summary.__file__, "en")["summary"]) == reply
    with pytest.raises(BadSummary):
        read_summary("I cannot comply with this request.", "Sum up: {messages}")


def test_what_a_summary_says_can_be_read_back():
    message = summary_message(GOOD, "zh", "a.log.jsonl")
    assert earlier_summary([user("x"), message, said("y")]) == GOOD
    assert earlier_summary([user("x")]) == ""


def test_a_small_conversation_may_have_a_summary_that_is_longer(desk):
    session = desk([user("a"), said("b")] * 6)
    small().before_request(session)
    assert len(session.messages) == 6


# ---- failures


def test_after_three_failures_in_a_row_there_are_no_more_tries(desk):
    session, part = desk(talk(12), Model("prose")), small()
    for _ in range(6):
        part.before_request(session)
    assert len(session.model.asked) == 3
    assert [line for line in session.lines if "kept" in line][-1].endswith("no more tries in this conversation")


def test_a_summary_that_succeeds_ends_the_row(desk):
    session, part = desk(talk(12), Model("prose", "prose", GOOD, "prose")), small()
    for _ in range(3):
        part.before_request(session)
    session.messages += talk(8)
    for _ in range(6):
        part.before_request(session)
    assert len(session.model.asked) == 6


def test_what_fails_in_one_conversation_is_tried_in_another(desk):
    part, model = small(max_failures=1), Model("prose")
    for id in ("one", "one", "two", "two", "one"):
        session = desk(talk(12), model)
        session.id = id
        part.session_start(session)
        part.before_request(session)
    assert len(model.asked) == 3


def test_a_long_error_of_many_lines_is_one_short_line(desk):
    session, part = desk(talk(12), Model(ValueError("no\nroom\n" + "x" * 9_000))), small()
    part.before_request(session)
    assert part.context_overflow(session, Exception("too long"))
    kept, overflow = (line for line in session.lines if "no room" in line)
    assert all("\n" not in line and len(line) < 400 for line in (kept, overflow))


def test_a_new_conversation_and_an_overflow_end_it_too(desk):
    session, part = desk(talk(12), Model("prose")), small(max_failures=1)
    part.before_request(session)
    part.context_overflow(session, Exception("too long"))
    session.messages += talk(12)
    part.before_request(session)
    part.before_request(session)
    assert len(session.model.asked) == 3
    short = desk([user("a")])
    assert not part.context_overflow(short, Exception("too long"))
    part.before_request(session)
    assert len(session.model.asked) == 4
    fresh = desk(talk(12))
    fresh.messages, started = [], fresh.messages
    part.session_start(fresh)
    fresh.messages = started
    part.before_request(fresh)
    assert len(fresh.model.asked) == 1


def test_ctrl_c_during_the_summary_passes_and_leaves_the_desk(desk):
    messages = talk(12)
    session = desk(messages, Model(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        Desk(small()).before_request(session)
    assert session.messages[1:] == messages
    assert SessionLog.of(session).restore() == messages


def test_a_flush_that_fails_does_not_stop_it(desk):
    session = desk(talk(12))

    def fail(messages):
        raise ValueError("no journal")

    session.compacting = fail
    small().before_request(session)
    assert len(session.messages) == 6
    assert [line for line in session.lines if "PreCompact failed, going on: no journal" in line]


@pytest.mark.parametrize("step", ["append", "cut"])
def test_without_an_archive_nothing_leaves_the_desk(desk, monkeypatch, step):
    def fail(self, *arguments):
        raise FileProblem("chat.log.jsonl could not be written (disk full): check the disk.")

    messages = talk(12)
    session = desk(messages)
    monkeypatch.setattr(SessionLog, step, fail)
    small().before_request(session)
    assert session.messages[1:] == messages
    assert len(session.model.asked) == (step == "cut")
    assert "disk full" in session.lines[-1]


# ---- what is not worth a request


def test_a_tail_over_the_trigger_costs_one_line_and_no_request_a_step(desk):
    session, part = desk(talk(12)), Compaction(trigger_messages=0, trigger_tokens=300, keep_messages=4, clock=clock)
    part.before_request(session)
    assert len(session.model.asked) == 1
    session.messages[-1:] = [user("word " * 6_000)]
    for number in range(5):
        part.before_request(session)
        session.messages += round_of(number)
    assert len(session.model.asked) == 1
    assert len([line for line in session.lines if "kept" in line]) == 1
    assert [cut.how for cut in part.cuts] == ["compaction", "kept"]
    for number in range(5, 45):
        part.before_request(session)
        session.messages += round_of(number)
    assert len(session.model.asked) <= 9


def test_few_long_messages_are_cut_by_their_tokens(desk):
    session, part = (
        desk([user(f"{n} " + "word " * 200) for n in range(8)]),
        Compaction(trigger_tokens=1_500, clock=clock),
    )
    part.before_request(session)
    (cut,) = part.cuts
    assert cut.how == "compaction"
    assert cut.tokens_after < 1_500 < cut.tokens_before


def test_a_prefix_of_a_summary_and_the_request_costs_no_request(desk):
    session, part = desk(talk(12)), small(trigger_messages=3)
    part.before_request(session)
    part.before_request(session)
    assert len(session.model.asked) == 1
    session.messages[1:] = [session.messages[1], user("go on"), *round_of(1), *round_of(2)]
    part.before_request(session)
    assert len(session.model.asked) == 1
    assert "nothing but a summary and the current request" in session.lines[-1]


def test_one_round_of_many_results_is_never_parted(desk):
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(30)]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": "x"} for n in range(30)]
    session = desk([user("go"), {"role": "assistant", "content": "", "tool_calls": calls}, *results])
    small().before_request(session)
    assert (len(session.messages), session.model.asked) == (33, [])


# ---- in an agent


def completion(text="", calls=(), tokens=1):
    message = {"role": "assistant", "content": text}
    message |= (
        {"tool_calls": [{"id": i, "type": "function", "function": {"name": n, "arguments": "{}"}} for i, n in calls]}
        if calls
        else {}
    )
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": tokens}}


@pytest.fixture
def agent(tmp_path):
    def make(*answers, **options):
        answers, bodies = list(answers), []

        def serve(request):
            body = json.loads(request.content)
            bodies.append(body)
            if len(body["messages"]) == 1:
                return httpx.Response(200, json=completion(GOOD))
            return httpx.Response(200, json=completion(**answers.pop(0)))

        client = ChatClient("http://127.0.0.1:9", "sk-x", transport=httpx.MockTransport(serve), attempts=1)
        made = Agent(client, tmp_path, lang="en", **options)
        made.bodies = bodies
        return made

    return make


def test_a_run_sends_the_shorter_desk_and_leaves_the_callers_history_alone(agent):
    history = talk(12)
    copy = json.loads(json.dumps(history))
    made = agent({"text": "done"}, plugins=[Desk(small())])
    result = made.run("go on", history=history)
    assert history == copy
    assert [exchange.purpose for exchange in result.exchanges] == ["summary", "answer"]
    sent = made.bodies[-1]["messages"]
    assert sent == list(result.messages[:-1])
    assert (len(sent), sent[-1]["content"]) == (6, "go on")
    assert "tools" not in made.bodies[0]


def test_the_model_may_ask_for_a_compaction_which_runs_after_the_whole_batch(agent):
    part = Compaction(keep_messages=1, tool=True, clock=clock)
    calls = [("a", "compact"), ("b", "list_files")]
    made = agent({"calls": calls}, {"text": "done"}, plugins=[Desk(part)])
    result = made.run("go on", history=talk(11))
    assert "compact" in [tool["function"]["name"] for tool in made.bodies[0]["tools"]]
    assert [exchange.purpose for exchange in result.exchanges] == ["answer", "summary", "answer"]
    sent = made.bodies[-1]["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "user", "assistant", "tool", "tool"]
    assert sent[2]["content"] == "go on"
    assert "before the next request" in sent[4]["content"]


def test_without_tool_there_is_none_and_after_too_many_failures_it_says_so(desk):
    session = desk([])
    assert list(Compaction().tools(session)) == []
    part = small(tool=True, max_failures=1)
    (tool,) = part.tools(session)
    failing = desk(talk(12), Model("prose"))
    part.before_request(failing)
    assert tool.run({}) == "Not done: the last 1 attempts at a summary failed."


def test_the_desk_lets_each_part_act_and_keeps_their_cuts_in_order(desk):
    class Broken(Plugin):
        name = "broken"

        def before_request(self, session):
            raise ValueError("oh")

        def context_overflow(self, session, error):
            raise ValueError("oh")

        def post_tool_use(self, session, call, result):
            raise ValueError("oh")

    class Loud(Plugin):
        def post_tool_use(self, session, call, result):
            return result.upper()

    one, two = small(), small(trigger_messages=3, keep_messages=2)
    whole, session = Desk(Broken(), one, Loud(), two), desk(talk(12))
    whole.before_request(session)
    assert whole.cuts == [one.cuts[0], two.cuts[0]]
    assert "[DESK] broken failed: oh" in session.lines
    assert whole.post_tool_use(session, None, "result") == "RESULT"
    assert whole.context_overflow(session, Exception("x")) in (True, False)


def test_a_desk_has_eviction_and_compaction_by_itself():
    assert [part.name for part in Desk().parts] == ["eviction", "compaction"]
    assert Desk.name == "desk"


# ---- the chain


class Summariser:
    """Keeps facts by rule: those of the earlier summary and of the messages, as far as the space goes, newest last."""

    def __init__(self, space):
        self.space = space

    def __call__(self, messages):
        text = messages[0]["content"].partition("Earlier summary:\n")[2]
        facts = list(dict.fromkeys(re.findall(r"(?:keep|记住)[:：] ?\w+", text)))[-self.space :]
        return GOOD.replace("None", "\n".join(facts) or "None")


def random_talk(dice, count, facts):
    """Random messages, some with a fact; calls are always followed by their results."""
    spoken = []
    while len(spoken) < count:
        number, kind = len(facts) + len(spoken) + dice.randrange(10**6), dice.random()
        text = " ".join(dice.choices(["数据库", "desk", "部署", "drawer", "测试，", "query"], k=dice.randrange(3, 30)))
        if kind < 0.15:
            facts.append(f"fact{len(facts)}word{dice.randrange(10**6)}")
            spoken.append(user(f"{text} {dice.choice(['keep: ', '记住：'])}{facts[-1]}"))
        elif kind < 0.4:
            spoken.append(user(text))
        elif kind < 0.6:
            spoken.append(said(text))
        else:
            ids = [f"c{number}-{n}" for n in range(dice.randrange(1, 4))]
            calls = [
                {"id": i, "type": "function", "function": {"name": "f", "arguments": json.dumps({"q": text})}}
                for i in ids
            ]
            spoken.append({"role": "assistant", "content": "", "tool_calls": calls})
            spoken += [{"role": "tool", "tool_call_id": i, "content": text * dice.randrange(1, 20)} for i in ids]
    return spoken


def assert_paired(messages):
    waiting = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.discard(message["tool_call_id"])
        else:
            assert not waiting
            waiting = {call["id"] for call in message.get("tool_calls") or ()}
    assert not waiting


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("options", [{"keep_messages": 20}, {"keep_tokens": 600}])
def test_five_compactions_over_500_random_messages_lose_no_fact(desk, seed, options):
    dice, facts = random.Random(seed), []
    session = desk([], Summariser(space=12))
    part = Compaction(trigger_messages=60, trigger_tokens=0, clock=clock, **options)
    total = 0
    while total < 500 or len(part.cuts) < 5:
        new = random_talk(dice, dice.randrange(1, 12), facts)
        session.messages += new
        total += len(new)
        cuts = len(part.cuts)
        part.before_request(session)
        if len(part.cuts) == cuts:
            continue
        entries = [e for e in SessionLog.of(session, clock).entries() if e.kind == "message"]
        summary, kept = session.messages[1]["content"], json.dumps([e.message for e in entries], ensure_ascii=False)
        assert all(fact in summary or fact in kept for fact in facts)
        assert all(fact in kept for fact in facts)
        assert len(entries) == total
        assert len({e.id for e in SessionLog.of(session, clock).entries()}) == len(entries) + len(part.cuts)
        assert_paired(session.messages)
        assert SessionLog.of(session, clock).restore() == session.messages[1:]
        assert any(not is_summary(m) and m["role"] == "user" for m in session.messages)
        assert len(session.messages) < 45
    assert [cut.how for cut in part.cuts] == ["compaction"] * len(part.cuts)
    assert sum(fact in text_of(session.messages[1]) for fact in facts) >= 10
