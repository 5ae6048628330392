"""Cut places, and the passes that shorten old messages: what they change, when, and that the archive has it all."""

import inspect
import json
from datetime import datetime
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hxmem import Agent, ChatClient, Plugin, Session, Tool
from hxmem.desk.cuts import Cut, cut_place, request_index, safe_places, tool_names
from hxmem.desk.estimates import message_tokens, request_tokens
from hxmem.desk.truncation import ARGUMENT_MARK, ClearResults, Snip, Truncation, short_arguments
from hxmem.files import FileProblem
from hxmem.plugins import is_summary, without_recall
from hxmem.sessions import Archive, SessionLog

SYSTEM = {"role": "system", "content": "rules"}


def user(text="hello"):
    return {"role": "user", "content": text}


def calls(*ids, name="run_shell", arguments="{}"):
    made = [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id in ids]
    return {"role": "assistant", "content": "", "tool_calls": made}


def result(id, text="ok"):
    return {"role": "tool", "tool_call_id": id, "content": text}


def said(text="hi"):
    return {"role": "assistant", "content": text}


@pytest.fixture
def session(tmp_path):
    def make(*messages, **options):
        made = Session(tmp_path, "en", "task", lambda purpose: None, lambda line: made.notices.append(line), **options)
        made.notices, made.id, made.messages = [], "chat", list(messages)
        return made

    return make


def broken(*_):
    raise FileProblem("chat.log.jsonl could not be written (No space left on device): check the disk.")


def archived(session):
    return [entry.message for entry in SessionLog.of(session).entries() if entry.kind == "message"]


# Cut places


@pytest.mark.parametrize(
    "keep, tokens, place",
    [(2, 0, 3), (1, 0, 4), (4, 0, 0), (9, 0, 0), (0, 0, 4), (9, 14, 3), (1, 15, 3), (9, 1, 4), (1, 10_000, 0)],
)
def test_the_tail_is_the_last_messages_by_number_or_by_tokens(keep, tokens, place):
    messages = [SYSTEM, user(), said(), user(), said()]
    assert {message_tokens(message) for message in messages[1:]} == {6, 7}
    assert cut_place(messages, keep, tokens) == place


@pytest.mark.parametrize(
    "messages, keep, place",
    [
        ([user(), calls("a", "b"), result("a"), result("b"), said()], 2, 1),  # parallel calls
        ([user(), calls("a"), result("a"), calls("a"), result("a")], 1, 3),  # an id that is used again
        ([user(), said(), result("gone"), user()], 2, 1),  # an orphan does not start the tail
        ([calls("a"), result("a"), user()], 2, 0),  # the call is the first message: nothing can leave
        ([user(), calls("a"), user("meanwhile"), result("a")], 2, 1),  # a result that came late
        ([result("gone"), user()], 2, 0),
        ([SYSTEM, SYSTEM, user(), SYSTEM, said()], 1, 4),
        ([SYSTEM, SYSTEM, calls("a"), result("a")], 1, 0),  # only system messages stand before it
        ([SYSTEM], 1, 0),
        ([], 1, 0),
    ],
)
def test_a_cut_goes_back_before_the_call_of_a_result(messages, keep, place):
    assert cut_place(messages, keep) == place


ROLES = st.one_of(
    st.just(SYSTEM), st.builds(user, st.text(max_size=40)), st.builds(said),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(lambda ids: calls(*ids)),
    st.builds(result, st.sampled_from("abcd"), st.text(max_size=40)),
)  # fmt: skip


def owner(messages, at):
    """The message whose call a result answers, found the slow way."""
    for before in range(at - 1, -1, -1):
        ids = [call["id"] for call in messages[before].get("tool_calls", ())]
        if messages[at]["tool_call_id"] in ids:
            return before
    return at


@given(st.lists(ROLES, max_size=30), st.integers(0, 12), st.integers(0, 120))
def test_no_cut_parts_a_call_from_a_result(messages, keep, tokens):
    place = cut_place(messages, keep, tokens)
    assert 0 <= place < max(1, len(messages))
    pairs = [(owner(messages, at), at) for at, message in enumerate(messages) if message["role"] == "tool"]
    assert not any(call < place <= at for call, at in pairs)
    assert place == 0 or messages[place]["role"] != "tool"
    assert place == 0 or any(message["role"] != "system" for message in messages[:place])
    for later in range(place + 1, len(messages)):  # the tail is as short as it may be
        fine = messages[later]["role"] != "tool" and not any(call < later <= at for call, at in pairs)
        tail = [message for message in messages[later:] if message["role"] != "system"]
        before = [message for message in messages[:later] if message["role"] != "system"][-1:]
        if fine and tail and before:
            fits = sum(map(message_tokens, before + tail)) <= tokens
            assert fits if tokens else len(tail) < max(1, keep)


def test_the_current_request_is_the_last_thing_the_user_said():
    summary = user('<conversation_summary archive="x">text</conversation_summary>')
    assert request_index([SYSTEM, user("a"), said(), user("b"), summary, said()]) == 3
    assert request_index([SYSTEM, summary]) == -1


def test_a_result_is_named_after_the_last_call_with_its_id():
    messages = [calls("a", name="one"), result("a"), calls("a", name="two"), result("a"), result("gone")]
    assert tool_names(messages) == {1: "one", 3: "two", 4: "tool"}


# Truncation


def test_the_defaults_are_those_of_the_first_revision():
    def defaults(made):
        return {name: p.default for name, p in inspect.signature(made).parameters.items()}

    assert defaults(Truncation) == {
        "trigger_messages": 25, "trigger_tokens": 40_000, "keep_messages": 20, "keep_tokens": 0, "max_argument": 2_000,
        "min_saving": 0.1,
    }  # fmt: skip
    assert defaults(ClearResults) == {
        "trigger_tokens": 40_000, "keep_results": 3, "min_characters": 120, "min_saving": 0.1,
    }  # fmt: skip
    assert defaults(Snip) == {"max_messages": 50, "keep_first": 3, "min_saving": 0.1}


def long_calls(rounds, size=10_000):
    arguments = json.dumps({"path": "a.txt", "content": "x" * size})
    messages = [SYSTEM, user("write it")]
    for n in range(rounds):
        messages += [calls(f"call_{n}", name="write_file", arguments=arguments), result(f"call_{n}")]
    return messages


def argument(message):
    return json.loads(message["tool_calls"][0]["function"]["arguments"])["content"]


def test_long_arguments_are_shortened_without_a_compaction_and_the_archive_keeps_them(session):  # AB7
    made = session(*long_calls(15))
    before = list(made.messages)
    copies = json.loads(json.dumps(before))
    pass_ = Truncation()
    pass_.before_request(made)
    assert argument(made.messages[2]) == "x" * 20 + "...(argument truncated)"
    assert [len(argument(m)) for m in made.messages if m.get("tool_calls")] == [43] * 5 + [10_000] * 10
    assert before == copies, "a message that others share was changed in place"
    assert archived(made) == before[1:]
    assert [cut.how for cut in pass_.cuts] == ["truncation"]
    assert pass_.cuts[0].before == tuple(before) and pass_.cuts[0].after == tuple(made.messages)
    assert pass_.cuts[0].tokens_after == request_tokens(made.messages) < pass_.cuts[0].tokens_before
    (line,) = made.notices
    took = f"about {pass_.cuts[0].tokens_before:,} -> {pass_.cuts[0].tokens_after:,} tokens"
    assert line == (
        f"[DESK] truncation: long arguments of 5 old messages shortened, {took}; "
        "the whole text is in .harnessx/sessions/chat.log.jsonl"
    )


def test_a_shortened_message_is_not_archived_again(session):
    made = session(*long_calls(15))
    Truncation().before_request(made)
    assert SessionLog.of(made).append(made) == 0
    assert SessionLog.of(made).restore() == long_calls(15)[1:]


@pytest.mark.parametrize("rounds, done", [(11, False), (12, True)])  # 23 and 25 messages
def test_it_is_due_from_so_many_messages_on(session, rounds, done):
    made = session(*long_calls(rounds, 3_000))
    Truncation(trigger_tokens=0, keep_messages=10).before_request(made)
    assert (argument(made.messages[2]) != "x" * 3_000) is done


def test_it_is_due_from_so_many_tokens_on(session):
    tokens = request_tokens(long_calls(5))
    for trigger, done in [(tokens + 1, False), (tokens, True), (0, False)]:
        made = session(*long_calls(5))
        Truncation(trigger_messages=0, trigger_tokens=trigger, keep_messages=4).before_request(made)
        assert (argument(made.messages[2]) != "x" * 10_000) is done


def test_the_keep_window_can_be_a_budget_of_tokens(session):
    made = session(*long_calls(15))
    Truncation(keep_tokens=12_500).before_request(made)  # four rounds, and a result whose call must stay too
    assert [len(argument(m)) for m in made.messages if m.get("tool_calls")] == [43] * 10 + [10_000] * 5


def test_only_texts_over_the_limit_are_shortened(session):
    made = session(*long_calls(15, 2_000))
    Truncation(min_saving=0).before_request(made)
    assert made.messages == long_calls(15, 2_000) and made.notices == []


@pytest.mark.parametrize(
    "arguments, short",
    [
        ({"a": {"b": ["x" * 50, 7, None]}, "c": "ok"}, {"a": {"b": ["x" * 20 + ARGUMENT_MARK, 7, None]}, "c": "ok"}),
        ({"k" * 90: "书" * 50}, {"k" * 90: "书" * 20 + ARGUMENT_MARK}),
        ("x" * 90, "x" * 20 + ARGUMENT_MARK),
        ({"a": "x" * 44, "b": 1.5}, {"a": "x" * 20 + ARGUMENT_MARK, "b": 1.5}),
        ({"a": "x" * 43}, {"a": "x" * 43}),  # the marker would not save anything
    ],
)
def test_texts_are_shortened_wherever_they_are_nested(arguments, short):
    assert json.loads(short_arguments(json.dumps(arguments), 40)) == short
    assert short_arguments(short_arguments(json.dumps(arguments), 40), 40) == short_arguments(json.dumps(arguments), 40)
    if isinstance(arguments, dict):
        assert short_arguments(arguments, 40) == short  # some clients keep them as an object


@pytest.mark.parametrize(
    "arguments",
    [
        "{'path': '" + "x" * 99,
        '{"a": NaN, "b": "' + "x" * 99 + '"}',
        "[" * 99_999,
        '{"a": 1e999, "b": "' + "x" * 99 + '"}',
    ],
)
def test_arguments_that_are_no_json_become_json(arguments):
    def strict(constant):
        raise ValueError(constant)

    short = json.loads(short_arguments(arguments, 40), parse_constant=strict)
    assert short == {"arguments": arguments[:20] + ARGUMENT_MARK}


def test_arguments_that_need_nothing_stay_byte_for_byte():
    spaced = '{ "a":1,\n "b": "\\u4e66", "c": [' + ", ".join("1" for _ in range(99)) + "] }"
    assert short_arguments(spaced, 40) == spaced


def test_a_cut_parts_no_emoji_and_leaves_no_half_of_one():
    family = "👨\u200d👩\u200d👧"
    assert short_arguments("x" * 18 + family + "y" * 99, 40).startswith('{"arguments": "' + "x" * 18 + "...(")
    assert "\ud83d" not in short_arguments('{"a": "\\ud83d", "b": "' + "x" * 99 + '"}', 40)


def test_nothing_is_shortened_when_the_archive_fails(session, monkeypatch):
    monkeypatch.setattr(SessionLog, "append", broken)
    for pass_, messages in [
        (Truncation(), long_calls(15)),
        (ClearResults(1_000), results(9)),
        (Snip(min_saving=0), talk(60)),
    ]:
        made = session(*messages)
        pass_.before_request(made)
        assert made.messages == messages
        assert made.notices == [
            f"[DESK] {pass_.name}: nothing was shortened, the archive failed: chat.log.jsonl could not be written (No space left on device): check the disk."
        ]
        assert [(cut.how, cut.before == cut.after) for cut in pass_.cuts] == [("kept", True)]


def test_a_pass_waits_until_it_saves_enough_of_the_request(session):
    """Each change of an old message costs the server's cache of the prefix: also the first one has to pay."""
    small = [SYSTEM, user("x" * 100_000), *long_calls(13, 3_000)[2:]]
    made = session(*small)
    Truncation(keep_messages=24).before_request(made)  # one of 13 is old: 900 of 43,000 tokens
    assert made.messages == small and not SessionLog.of(made).path.exists()
    Truncation(keep_messages=24, min_saving=0.01).before_request(made)
    assert len(argument(made.messages[2])) == 43


# Old tool results


def results(rounds, size=3_000):
    messages = [SYSTEM, user("look")]
    for n in range(rounds):
        messages += [calls(f"call_{n}"), result(f"call_{n}", str(n) * size)]
    return messages


def cleared(session):
    return [m["content"].startswith("[cleared") for m in session.messages if m["role"] == "tool"]


def test_old_results_become_a_line_that_says_where_they_are(session):
    made = session(*results(9))
    before, pass_ = list(made.messages), ClearResults(trigger_tokens=1_000)
    pass_.before_request(made)
    assert cleared(made) == [True] * 6 + [False] * 3  # the last one is new to the model, two more are kept
    line = made.messages[3]["content"]
    entry = SessionLog.of(made).entries()[2]
    assert line == (
        f"[cleared: run_shell returned 3,000 characters; entry {entry.id} of .harnessx/sessions/chat.log.jsonl "
        "has them, read it with read_file]"
    )
    assert entry.message == before[3] and before[3]["content"] == "0" * 3_000
    assert pass_.cuts[0].how == "clearing" and "6 old tool results cleared" in made.notices[0]
    assert SessionLog.of(made).append(made) == 0


def test_the_line_names_the_tool_for_the_history_where_it_is_offered(session):
    made = session(*results(9), tools=[{"type": "function", "function": {"name": "session_history"}}])
    ClearResults(trigger_tokens=1_000).before_request(made)
    assert made.messages[3]["content"].endswith("read it with session_history]")


def test_results_the_model_has_not_seen_stay(session):
    many = [f"new_{n}" for n in range(6)]
    made = session(*results(4), calls(*many), *(result(id, "n" * 3_000) for id in many))
    ClearResults(trigger_tokens=1_000, keep_results=0).before_request(made)
    assert cleared(made) == [True] * 4 + [False] * 6


def test_clearing_stops_below_eighty_percent_of_the_trigger(session):
    made = session(*results(20))
    trigger = request_tokens(made.messages) - 1
    ClearResults(trigger).before_request(made)
    assert request_tokens(made.messages) < 0.8 * trigger <= request_tokens(made.messages) + 900
    assert cleared(made) == sorted(cleared(made), reverse=True)  # oldest first


@pytest.mark.parametrize("over", [0, 1])
def test_clearing_runs_only_over_the_trigger(session, over):
    made = session(*results(9))
    ClearResults(request_tokens(made.messages) - over).before_request(made)
    assert any(cleared(made)) is bool(over)


def test_a_trigger_of_zero_turns_it_off(session):
    made = session(*results(9))
    ClearResults(0).before_request(made)
    assert made.messages == results(9)


def test_short_results_and_cleared_ones_are_left_alone(session):
    made = session(*results(9, 120))
    ClearResults(10, min_saving=0).before_request(made)
    assert made.messages == results(9, 120)
    made, pass_ = session(*results(9, 300_000)), ClearResults(10, min_saving=0)
    pass_.before_request(made)
    once = list(made.messages)
    pass_.before_request(made)
    assert all(new is old for new, old in zip(made.messages, once, strict=True)) and len(pass_.cuts) == 1


def test_clearing_acts_in_steps(session):
    """In a long run of tool calls most requests begin exactly like the one before."""
    made, pass_, changed = session(*results(3)), ClearResults(trigger_tokens=20_000), 0
    for n in range(3, 100):
        before = json.dumps(made.messages)[:-1]
        made.messages += [calls(f"call_{n}"), result(f"call_{n}", "r" * 3_000)]
        pass_.before_request(made)
        changed += not json.dumps(made.messages).startswith(before)
        assert request_tokens(made.messages) <= 20_000
    assert changed == len(pass_.cuts) <= 97 / 4


# The middle of a conversation


def talk(count):
    return [SYSTEM, *(user(f"question {n} " * 20) if n % 2 == 0 else said(f"answer {n} " * 20) for n in range(count))]


def test_snip_keeps_the_first_and_the_newest_and_no_more_than_it_may(session):  # HB20: not 51
    made, dropped = session(*talk(71)), []
    made.compacting = lambda messages: dropped.extend(messages) or dropped.append(len(archived(made)))
    before, pass_ = list(made.messages), Snip()
    pass_.before_request(made)
    assert len(made.messages) == 1 + 50
    assert made.messages[:4] == before[:4] and made.messages[5:] == before[-46:]
    assert is_summary(made.messages[4]) and ".harnessx/sessions/chat.log.jsonl" in made.messages[4]["content"]
    assert dropped == [*before[4:-46], 71]  # the plugins saw them, after they were archived
    assert SessionLog.of(made).restore() == made.messages[1:]
    assert [cut.how for cut in pass_.cuts] == ["snip"] and "22 messages of the middle left" in made.notices[0]
    assert archived(made) == before[1:]


def test_snip_is_not_due_at_its_limit_and_waits_until_it_pays(session):
    for count, left in [(50, 50), (51, 51), (54, 54), (58, 50)]:
        made = session(*talk(count))
        Snip().before_request(made)
        assert len(made.messages) == 1 + left
    made = session(*talk(51))
    Snip(min_saving=0).before_request(made)
    assert len(made.messages) == 1 + 50


def test_a_second_snip_replaces_the_first_marker(session):
    made, pass_ = session(*talk(71)), Snip()
    pass_.before_request(made)
    first = made.messages[:5]
    made.messages += talk(20)[1:]
    pass_.before_request(made)
    assert len(made.messages) == 51 and made.messages[:5] == first
    assert sum(map(is_summary, made.messages)) == 1
    assert SessionLog.of(made).restore() == made.messages[1:]


def test_the_first_marker_is_replaced_also_where_a_pair_made_the_head_shorter(session):
    start = [user("first"), calls("a", "b"), result("a", "r" * 99), result("b")]
    made, pass_ = session(SYSTEM, *start, *talk(70)[1:]), Snip()
    for _ in range(2):
        pass_.before_request(made)
        assert made.messages[1] == user("first") and [is_summary(m) for m in made.messages].index(True) == 2
        assert sum(map(is_summary, made.messages)) == 1 and len(made.messages) <= 51
        made.messages += talk(20)[1:]
    assert len(pass_.cuts) == 2


def test_the_current_request_is_never_snipped(session):  # HB20: the summary took its place
    made = session(*talk(6), user("the task"), *results(40)[2:])
    Snip(max_messages=20).before_request(made)
    assert len(made.messages) - 1 <= 20
    assert made.messages[4:6] == [made.messages[4], user("the task")] and is_summary(made.messages[4])


def test_a_summary_is_never_snipped(session):
    summary = user('<conversation_summary archive="x">\nText.\n\n## SESSION INTENT\nNone\n</conversation_summary>')
    made = session(SYSTEM, summary, *talk(70)[1:])
    Snip(keep_first=0).before_request(made)
    assert summary in made.messages and len(made.messages) <= 51


def test_a_round_that_is_longer_than_the_limit_stays_whole(session):
    many = [f"call_{n}" for n in range(60)]
    made = session(*talk(20), user("the task"), calls(*many), *map(result, many))
    Snip(keep_first=2, min_saving=0).before_request(made)
    assert made.messages[1:3] == talk(2)[1:] and is_summary(made.messages[3])
    assert made.messages[4:] == [user("the task"), calls(*many), *map(result, many)]


def test_nothing_leaves_when_the_cut_can_not_be_written_down(session, monkeypatch):
    monkeypatch.setattr(SessionLog, "cut", broken)
    made = session(*talk(71))
    Snip().before_request(made)
    assert made.messages == talk(71) and "nothing was shortened" in made.notices[0]


@given(st.lists(ROLES, max_size=40), st.integers(3, 12), st.integers(0, 4))
def test_snip_parts_no_call_from_a_result_and_loses_no_request(messages, most, first):
    messages = [dict(message) for message in messages]
    pass_ = Snip(most, first)
    desk, dropped = (
        pass_._cut(messages, "<conversation_summary>\nOlder messages stood here.")
        if _many(messages, most)
        else (messages, [])
    )
    at = {id(message): n for n, message in enumerate(messages)}
    kept = {at[id(message)] for message in desk if id(message) in at}
    pairs = [(owner(messages, n), n) for n, message in enumerate(messages) if message["role"] == "tool"]
    assert all((call in kept) == (n in kept) for call, n in pairs)
    request = request_index(messages)
    assert request < 0 or request in kept
    assert all(n in kept for n, message in enumerate(messages) if message["role"] == "system")
    assert len(kept) + len(dropped) == len(messages)
    last_round = len(messages) - safe_places(messages)[-2] if messages else 0
    if dropped:
        assert sum(m["role"] != "system" for m in desk) <= max(most, last_round + first + 2)


def _many(messages, most):
    return sum(message["role"] != "system" for message in messages) > most


# In an agent


class Server:
    """Answers with a call for each of the first rounds, then with a text; keeps the bodies."""

    def __init__(self, rounds):
        self.rounds, self.bodies = rounds, []

    def __call__(self, request):
        self.bodies.append(json.loads(request.content))
        n = len(self.bodies)
        message = {"role": "assistant", "content": "done"}
        if n <= self.rounds:
            message = calls(f"call_{n}", name="fetch", arguments=json.dumps({"note": "n" * 4_000}))
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        body = {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": {}}
        return httpx.Response(200, json=body)


class Recall(Plugin):
    def user_prompt_submit(self, session):
        return "<relevant_memories>\nUses tabs.\n</relevant_memories>"

    def tools(self, session):
        return [Tool("fetch", "Fetch.", {"type": "object", "properties": {}}, lambda arguments: "page " * 800)]


def run(root: Path, *passes, rounds=18, history=()):
    server = Server(rounds)
    client = ChatClient("http://127.0.0.1:9", "sk-x", transport=httpx.MockTransport(server), attempts=1)
    clock = lambda: datetime.fromisoformat("2026-11-30T12:00:00+08:00")  # noqa: E731
    agent = Agent(client, root, plugins=[Archive("chat", clock), Recall(), *passes])
    return agent.run("the task", history), server.bodies


def test_what_was_recalled_stays_before_its_request_whatever_leaves(tmp_path):  # HB21: no remembered list positions
    passes = [Truncation(trigger_messages=6, keep_messages=4), ClearResults(2_000), Snip(12, min_saving=0)]
    result, bodies = run(tmp_path, *passes, history=talk(30)[1:])
    assert all(pass_.cuts for pass_ in passes)
    for body in bodies:
        (asked,) = [m for m in body["messages"] if m["role"] == "user" and "the task" in m["content"]]
        assert asked["content"].startswith("<relevant_memories>\nUses tabs.")
        assert without_recall(asked["content"]) == "the task"
        ids = [call["id"] for m in body["messages"] for call in m.get("tool_calls", ())]
        assert ids == [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
        assert sum(m["role"] != "system" for m in body["messages"]) <= 12
    assert result.text == "done"


def test_the_archive_of_a_run_holds_every_message_once_and_whole(tmp_path):
    passes = [Truncation(trigger_messages=6, keep_messages=4), ClearResults(2_000), Snip(12)]
    run(tmp_path, *passes)
    entries = SessionLog(tmp_path, "chat").entries()
    messages = [entry.message for entry in entries if entry.kind == "message"]
    assert len(messages) == 1 + 18 * 2 + 1
    assert {len(argument_note(m)) for m in messages if m.get("tool_calls")} == {4_000}
    assert {len(m["content"]) for m in messages if m["role"] == "tool"} == {4_000}
    assert len({entry.id for entry in entries}) == len(entries)


def argument_note(message):
    return json.loads(message["tool_calls"][0]["function"]["arguments"])["note"]


def test_the_callers_history_is_left_as_it_was(tmp_path):
    history = long_calls(15)[1:]
    copy = json.loads(json.dumps(history))
    result, _ = run(tmp_path, Truncation(), rounds=0, history=history)
    assert history == copy and len(argument(result.messages[2])) == 43


def test_a_cut_is_a_record_that_can_not_be_changed():
    with pytest.raises(AttributeError):
        Cut("snip", (), (), 1, 1).how = "other"
