"""Token estimates: what they count, that Chinese weighs more, and that they learn from the server."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hxmem import Session
from hxmem.desk.estimates import Estimator, message_tokens, request_tokens

TOOL = {"type": "function", "function": {"name": "read_file", "description": "Read a text file.", "parameters": {}}}


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path, "en", "task", lambda purpose: None, print)


def user(text):
    return {"role": "user", "content": text}


def counted(session, tokens, messages):
    """As after an answer: what was sent, and what the server counted for it."""
    session.sent, session.usage = messages, {"prompt_tokens": tokens}


def test_chinese_weighs_twice_as_much_as_other_text():  # AB24: 2.5 characters a token for everything
    assert message_tokens(user("书" * 1_000)) - message_tokens(user("")) == 600
    assert message_tokens(user("a" * 1_000)) - message_tokens(user("")) == 300


def test_a_message_counts_what_is_around_its_text():
    assert message_tokens(user("")) == 5
    assert message_tokens({"role": "tool", "content": ""}) == 5 + 8
    call = {"function": {"name": "", "arguments": ""}}
    assert message_tokens({"role": "assistant", "content": None, "tool_calls": [call, call]}) == 5 + 2 * 10


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "x" * 1_000},
        {"role": "assistant", "content": "", "reasoning_content": "x" * 1_000},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": "x" * 1_000}}]},
        {"role": "user", "content": [{"type": "text", "text": "x" * 500}, {"type": "text", "text": "x" * 500}]},
        {"role": "system", "content": "x" * 1_000},
    ],
)
def test_every_part_of_a_message_counts(message):
    assert 305 <= message_tokens(message) <= 316


def test_a_request_counts_the_system_text_and_the_tools():  # AB24: neither was counted
    messages = [{"role": "system", "content": "rules " * 100}, user("hello")]
    assert request_tokens(messages) == sum(map(message_tokens, messages)) > 180
    assert request_tokens(messages, [TOOL]) - request_tokens(messages) == -(-3 * len(json.dumps([TOOL])) // 10)


@pytest.mark.parametrize("message", [{"role": "assistant", "content": None, "tool_calls": None}, {"role": "user"}, {}])
def test_a_message_without_content_can_be_counted(message):
    assert message_tokens(message) == 5


def test_the_estimate_learns_from_what_the_server_counted(session):
    estimator = Estimator()
    session.messages, session.tools = [user("x" * 1_000)], [TOOL]
    plain = estimator.tokens(session)
    counted(session, 2 * plain, list(session.messages))
    estimator.learn(session)
    assert estimator.tokens(session) == 2 * plain
    assert estimator.tokens(session, [*session.messages, user("")]) == 2 * (plain + 5)


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"prompt_tokens": None},
        {"prompt_tokens": 0},
        {"prompt_tokens": True},
        {"prompt_tokens": "9"},
        {"prompt_tokens": -5},
    ],
)
def test_a_server_that_counts_nothing_changes_nothing(session, usage):
    estimator = Estimator()
    session.sent, session.usage = [user("x" * 1_000)], usage
    estimator.learn(session)
    assert estimator.scale == 1.0


def test_nothing_is_learned_before_the_first_answer(session):
    estimator = Estimator()
    session.usage = {"prompt_tokens": 100}
    estimator.learn(session)
    assert estimator.scale == 1.0


@pytest.mark.parametrize("tokens, scale", [(1, 0.25), (10**9, 4.0)])
def test_a_count_that_can_not_be_true_is_bounded(session, tokens, scale):
    estimator = Estimator()
    counted(session, tokens, [user("x" * 1_000)])
    estimator.learn(session)
    assert estimator.scale == scale


@given(st.lists(st.text(max_size=200), min_size=1, max_size=10))
def test_a_longer_conversation_never_takes_fewer_tokens(texts):
    sizes = [request_tokens([user(text) for text in texts[:n]]) for n in range(len(texts) + 1)]
    assert sizes == sorted(sizes)
