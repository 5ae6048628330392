"""The wire client, held against the bytes and the bug reports of real servers."""

import contextlib
import json
import logging
import socket
import subprocess
import sys
import threading

import httpx
import pytest

from hxmem import chat as chat_module
from hxmem.answers import ToolCall, read_reply
from hxmem.chat import ChatClient, Timeouts
from hxmem.classroom import Classroom
from hxmem.errors import (
    BadReply,
    BadRequest,
    BadSetting,
    ChatError,
    ContextOverflow,
    CutAnswer,
    EmptyAnswer,
    ModelRetired,
    NoBalance,
    NoNetwork,
    RateLimited,
    ServerBusy,
    StreamCut,
    TimedOut,
    WrongKey,
)

KEY = "sk-marker-0123456789abcdef"
ASK = [{"role": "user", "content": "你好"}]
LOCAL = "http://127.0.0.1:11434/v1"


def completion(text="好", finish="stop", **message):
    said = {"role": "assistant", "content": text, **message}
    usage = {"prompt_tokens": 7, "prompt_cache_hit_tokens": 0, "prompt_cache_miss_tokens": 7, "total_tokens": 9}
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "model": "deepseek-flash", "choices": [choice], "usage": usage}


def delta(finish=None, usage=None, **fields):
    return {
        "id": "d1",
        "model": "m",
        "choices": [{"index": 0, "delta": fields, "finish_reason": finish}],
        "usage": usage,
    }


def data(*chunks, done=True):
    lines = [json.dumps(chunk, ensure_ascii=False) if isinstance(chunk, dict) else chunk for chunk in chunks]
    return "".join(f"data: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])]).encode()


def sse(body, **more):
    return httpx.Response(200, content=body, headers={"Content-Type": "text/event-stream", **more})


def fault(message, kind="invalid_request_error", status=400, code="invalid_request_error", **headers):
    error = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return httpx.Response(
        status, content=json.dumps(error), headers={"Content-Type": "application/octet-stream", **headers}
    )


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self):
        self.now, self.slept = 1000.0, []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


class Wire(httpx.MockTransport):
    """Answers from a list, the last one again and again; keeps the bodies that came."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []
        super().__init__(self.answer)

    def answer(self, request):
        self.requests.append(request)
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, dict):
            return httpx.Response(200, json=answer)
        return httpx.Response(answer.status_code, content=answer.content, headers=answer.headers)

    @property
    def body(self):
        return json.loads(self.requests[-1].content)


def client_of(*answers, base="https://api.deepseek.com", key=KEY, **options):
    wire, clock = Wire(*answers), Clock()
    options = {"sleep": clock.sleep, "clock": clock, "jitter": lambda: 0.5} | options
    client = ChatClient(base, key, transport=wire, **options)
    return client, wire, clock


@contextlib.contextmanager
def raw_server(*replies, hold=None):
    """A server that answers each connection with the given pieces of bytes, each in a packet of its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(5)
    seen = []

    def serve():
        for pieces in replies:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                request = connection.recv(65536)
                head, _, body = request.partition(b"\r\n\r\n")
                size = int(next(x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length"))[15:])
                while len(body) < size:
                    body += connection.recv(65536)
                seen.append(head)
                with contextlib.suppress(ConnectionError):  # a client may leave after the end mark
                    for piece in pieces:
                        connection.sendall(piece)
                if hold:
                    hold(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
    finally:
        listener.close()
        thread.join(5)
        assert not thread.is_alive()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n"
SSE_HEAD, JSON_HEAD = HEAD % b"text/event-stream", HEAD % b"application/json"


# What is sent


def test_a_blocking_body_has_stable_keys_and_thinking_off():
    client, wire, _ = client_of(completion())
    client.chat(ASK)
    assert wire.requests[0].content.decode() == (
        '{"model":"deepseek-flash","messages":[{"role":"user","content":"你好"}],"thinking":{"type":"disabled"},"stream":false}'
    )
    assert str(wire.requests[0].url) == "https://api.deepseek.com/chat/completions"
    assert wire.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_a_streamed_body_asks_for_usage_and_tools_come_before_stream():
    client, wire, _ = client_of(sse(data(delta("stop", content="好"))))
    tool = {"type": "function", "function": {"name": "f"}}
    client.stream(ASK, tools=[tool], tool_choice="auto", max_tokens=5)
    assert list(wire.body) == [
        *("model", "messages", "thinking", "tools", "tool_choice", "max_tokens", "stream", "stream_options"),
    ]
    assert (wire.body["stream"], wire.body["stream_options"]) == (True, {"include_usage": True})


def test_no_tools_means_no_tools_key():
    client, wire, _ = client_of(completion())
    client.chat(ASK, tools=[])
    assert "tools" not in wire.body


@pytest.mark.parametrize(
    ("base", "options", "sent"),
    [
        ("https://api.deepseek.com", {}, {"type": "disabled"}),
        (LOCAL, {}, None),
        (LOCAL, {"server": "classroom"}, {"type": "disabled"}),
        (LOCAL, {"thinking": "enabled"}, {"type": "enabled"}),
        ("https://api.deepseek.com", {"thinking": None}, None),
        ("https://deepseek.com.example.org", {}, None),
    ],
)
def test_thinking_is_sent_where_the_server_knows_it(base, options, sent):
    client, wire, _ = client_of(completion(), base=base, **options)
    client.chat(ASK)
    assert wire.body.get("thinking") == sent


def test_a_field_given_to_the_call_wins():
    client, wire, _ = client_of(completion())
    client.chat(ASK, thinking={"type": "enabled"}, model="deepseek-v4-pro")
    assert (wire.body["thinking"], wire.body["model"]) == ({"type": "enabled"}, "deepseek-v4-pro")


def test_a_local_server_without_a_key_gets_no_authorization():
    client, wire, _ = client_of(completion(), base=LOCAL, key="")
    client.chat(ASK)
    assert "authorization" not in wire.requests[0].headers


def test_half_an_emoji_is_replaced_and_two_halves_make_one():
    client, wire, _ = client_of(completion())
    client.chat([{"role": "user", "content": "a\ud83d b\ud83d\ude00"}])
    assert wire.body["messages"][0]["content"] == "a\ufffd b\U0001f600"


def test_an_assistant_message_is_sent_with_empty_text_rather_than_null():
    client, wire, _ = client_of(completion())
    client.chat([*ASK, {"role": "assistant", "content": None, "tool_calls": []}])
    assert wire.body["messages"][1]["content"] == ""


# What comes back


def test_a_reply_holds_text_usage_and_the_message_to_send_back():
    client, _, _ = client_of(completion("成都"))
    reply = client.chat(ASK)
    assert (reply.text, reply.reasoning, reply.finish_reason, reply.tool_calls) == ("成都", None, "stop", ())
    assert reply.usage["prompt_cache_miss_tokens"] == 7
    assert reply.message == {"role": "assistant", "content": "成都"}
    assert client.ask(ASK) == "成都"


@pytest.mark.parametrize("thought", ["", "想一想\n "])
def test_reasoning_and_tool_calls_go_back_exactly_as_they_came(thought):
    call = {"id": "call_00_a", "type": "function", "function": {"name": "f", "arguments": '{"city": "杭州"}'}}
    client, wire, _ = client_of(completion(None, "tool_calls", reasoning_content=thought, tool_calls=[call]))
    reply = client.chat(ASK)
    assert reply.message == {"role": "assistant", "content": "", "reasoning_content": thought, "tool_calls": [call]}
    client.chat([*ASK, reply.message, {"role": "tool", "tool_call_id": "call_00_a", "content": "{}"}])
    assert wire.body["messages"][1] == reply.message


def test_absent_and_null_reasoning_stay_absent():
    assert "reasoning_content" not in read_reply(completion()).message
    assert "reasoning_content" not in read_reply(completion(reasoning_content=None)).message


@pytest.mark.parametrize("raw", ['{"a": 1', '{"a": 1}}', '{"a": 1}```', "[1]", "null", "[" * 100_000])
def test_tool_arguments_that_are_no_object_give_a_reason_and_keep_the_text(raw):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": raw}}
    (found,) = read_reply(completion("", "tool_calls", tool_calls=[call])).tool_calls
    arguments, reason = found.parse()
    assert (found.arguments, arguments) == (raw, None)
    assert reason.startswith("the arguments of f are no")


def test_tool_arguments_are_parsed_and_nothing_means_no_arguments():
    assert ToolCall("c", "f", '{"city": "杭州"}').parse() == ({"city": "杭州"}, "")
    assert ToolCall("c", "f", "").parse() == ({}, "")


def test_calls_of_looser_servers_get_an_id_and_a_text():
    reply = read_reply(
        completion(None, "tool_calls", tool_calls=[{"function": {"name": "f", "arguments": {"a": 1}}}, None])
    )
    assert reply.tool_calls[0] == ToolCall("call_0", "f", '{"a": 1}')


def test_a_text_cut_by_max_tokens_is_an_answer_that_says_so():
    assert read_reply(completion('{"a":', "length")).finish_reason == "length"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (completion("  " * 32), EmptyAnswer),
        (completion("", reasoning_content="only thoughts"), EmptyAnswer),
        (completion(None, "tool_calls"), EmptyAnswer),
        (completion("", "length", reasoning_content="long"), CutAnswer),
        (completion("x", None), StreamCut),
        (completion("x", "insufficient_system_resource"), ServerBusy),
        (completion("x", "content_filter"), BadReply),
        (completion("x", "aborted"), BadReply),
        (completion("x", ["odd"]), BadReply),
        ({"choices": []}, BadReply),
        ({"choices": [None]}, BadReply),
        ({}, BadReply),
        ([1], BadReply),
        ("text", BadReply),
    ],
)
def test_an_answer_that_is_none_is_named(answer, kind):
    with pytest.raises(ChatError) as caught:
        read_reply(answer)
    assert type(caught.value) is kind


# Streams


def test_a_stream_with_thoughts_and_two_interleaved_calls_is_put_together():
    def part(index, text, **more):
        return delta(tool_calls=[{"index": index, "function": {"arguments": text, **more.pop("f", {})}, **more}])

    chunks = [
        delta(role="assistant", content=None, reasoning_content=""),
        delta(content=None, reasoning_content="need "),
        delta(reasoning_content="weather"),
        part(0, "", id="call_00_a", type="function", f={"name": "one"}),
        part(1, '{"b"', id="call_01_b", type="function", f={"name": "two"}),
        part(0, '{"city": "杭'),
        part(1, ": 2}"),
        part(0, '州"}'),
        {"choices": []},
        {"choices": None},
        delta(),
        delta("tool_calls", {"total_tokens": 3}, content="", reasoning_content=None),
    ]
    client, _, _ = client_of(sse(b": keep-alive\n\n" * 3 + data(*chunks)))
    reply = client.stream(ASK)
    assert reply.tool_calls == (
        ToolCall("call_00_a", "one", '{"city": "杭州"}'),
        ToolCall("call_01_b", "two", '{"b": 2}'),
    )
    assert (reply.reasoning, reply.message["content"], reply.usage) == ("need weather", "", {"total_tokens": 3})
    assert client.exchanges[0].answer["object"] == "chat.completion"


def test_an_empty_first_thought_survives_a_stream():
    client, _, _ = client_of(sse(data(delta(reasoning_content=""), delta("stop", content="x"))))
    assert client.stream(ASK).message == {"role": "assistant", "content": "x", "reasoning_content": ""}


def test_usage_on_a_chunk_of_its_own_counts():
    client, _, _ = client_of(
        sse(data(delta(content="x"), delta("stop"), {"choices": [], "usage": {"total_tokens": 4}}))
    )
    assert client.stream(ASK).usage == {"total_tokens": 4}
    assert client.exchanges[0].usage == {"total_tokens": 4}


def test_the_pieces_are_shown_as_they_come():
    shown = []
    client, _, _ = client_of(sse(data(delta(content="书"), delta(content=""), delta(content="桌"), delta("stop"))))
    assert client.stream(ASK, on_text=shown.append).text == "书桌"
    assert shown == ["书", "桌"]


def test_every_byte_alone_gives_the_same_characters():
    text = "小抽屉\u2028\u0085 \U0001f600"
    body = b": keep-alive\r\n\r\nid: 1\r\n\r\n" + data(delta(content=text), delta("stop")).replace(b"\n", b"\r\n")
    with raw_server([SSE_HEAD, *(bytes([byte]) for byte in body)]) as (url, _), ChatClient(url) as client:
        assert client.stream(ASK).text == text


def test_an_emoji_cut_in_two_escaped_halves_is_whole_in_the_answer():
    shown = []
    halves = [r'{"choices":[{"delta":{"content":"\ud83d"}}]}', r'{"choices":[{"delta":{"content":"\ude00"}}]}']
    client, _, _ = client_of(sse(data(*halves, delta("stop"))))
    assert client.stream(ASK, on_text=shown.append).text == "\U0001f600"
    assert "".join(shown).encode("utf-8")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (data(delta(content="x"), delta("stop"), done=False), StreamCut),
        (data(delta(content="x")), StreamCut),
        (data(delta(content="x"), done=False)[:-9], StreamCut),
        (b"", StreamCut),
        (data('{"choices": [', delta("stop")), BadReply),
        (data("[1]"), BadReply),
        (data({"error": {"message": "busy", "type": "service_unavailable_error"}}), ServerBusy),
        (data(delta(reasoning_content="thoughts"), delta("stop")), EmptyAnswer),
    ],
)
def test_a_stream_that_ends_badly_is_named(body, kind):
    client, _, _ = client_of(sse(body), attempts=1)
    with pytest.raises(ChatError) as caught:
        client.stream(ASK)
    assert type(caught.value) is kind


@pytest.mark.parametrize("end", [b"data: [DONE]", b"data: [DONE]\n", b"data:[DONE]\n\ndata: junk\n\n"])
def test_the_end_mark_counts_without_a_blank_line_and_nothing_after_it_is_read(end):
    client, _, _ = client_of(sse(data(delta("stop", content="x"), done=False) + end), attempts=1)
    assert client.stream(ASK).text == "x"


def test_a_byte_order_mark_hides_no_data():
    client, _, _ = client_of(sse(b"\xef\xbb\xbf" + data(delta("stop", content="x"))), attempts=1)
    assert client.stream(ASK).text == "x"


def test_a_server_that_answers_a_stream_request_whole_is_understood():
    client, _, _ = client_of(completion("whole"))
    assert client.stream(ASK).text == "whole"


def test_a_stream_under_another_content_type_is_understood():
    client, _, _ = client_of(
        httpx.Response(
            200, content=data(delta("stop", content="x")), headers={"Content-Type": "application/octet-stream"}
        )
    )
    assert client.stream(ASK).text == "x"


def test_after_text_was_shown_nothing_is_tried_again():
    shown = []
    client, wire, _ = client_of(sse(data(delta(content="half"), done=False)), sse(data(delta("stop", content="whole"))))
    with pytest.raises(StreamCut):
        client.stream(ASK, on_text=shown.append)
    assert (shown, len(wire.requests)) == (["half"], 1)
    assert client.exchanges[0].text == "half"


@pytest.mark.parametrize("on_text", [None, [].append])
def test_a_stream_that_broke_before_any_text_was_shown_is_tried_again(on_text):
    thought = {"content": "half"} if on_text is None else {"reasoning_content": "half", "content": " "}
    client, wire, _ = client_of(sse(data(delta(**thought), done=False)), sse(data(delta("stop", content="whole"))))
    assert client.stream(ASK, on_text=on_text).text == "whole"
    assert len(wire.requests) == 2


# Clocks


class Slow(httpx.SyncByteStream):
    def __init__(self, clock, pieces, seconds):
        self.clock, self.pieces, self.seconds = clock, pieces, seconds

    def __iter__(self):
        for piece in self.pieces:
            self.clock.now += self.seconds
            yield piece


def slow_client(pieces, seconds, kind="text/event-stream", **limits):
    clock = Clock()
    respond = lambda _: httpx.Response(200, stream=Slow(clock, pieces, seconds), headers={"Content-Type": kind})  # noqa: E731
    options = {"attempts": 1, "sleep": clock.sleep, "clock": clock, "timeout": Timeouts(**limits)}
    return ChatClient(key=KEY, transport=httpx.MockTransport(respond), **options)


def test_a_stream_that_sends_only_comments_after_some_text_times_out():
    pieces = [data(delta(content="x"), done=False), *[b": keep-alive\n\n"] * 9]
    with pytest.raises(TimedOut):
        slow_client(pieces, 10, data_idle=30).stream(ASK)


def test_comments_before_the_first_data_may_take_longer():
    pieces = [*[b": keep-alive\n\n"] * 9, data(delta("stop", content="x"))]
    assert slow_client(pieces, 10, data_idle=30).stream(ASK).text == "x"


def test_a_long_stream_that_keeps_bringing_data_is_fine():
    pieces = [*[data(delta(content="x"), done=False)] * 9, data(delta("stop"))]
    assert slow_client(pieces, 10, data_idle=30).stream(ASK).text == "x" * 9


@pytest.mark.parametrize(("call", "kind"), [("chat", "application/json"), ("stream", "text/event-stream")])
def test_blank_lines_for_ever_meet_the_overall_limit(call, kind):
    client = slow_client([b": wait\n\n" if call == "stream" else b"\n"] * 99, 10, kind, total=100)
    with pytest.raises(TimedOut):
        getattr(client, call)(ASK)


def test_a_silent_server_times_out():
    with (
        raw_server([SSE_HEAD, b": keep-alive\n\n"], hold=lambda c: c.recv(1)) as (url, _),
        ChatClient(url, attempts=1, timeout=Timeouts(idle=0.05)) as client,
        pytest.raises(TimedOut),
    ):
        client.stream(ASK)


def test_blank_lines_before_the_json_are_skipped():
    body = json.dumps(completion("late")).encode()
    with raw_server([JSON_HEAD, b"\n", b"\r\n", b"\n", body]) as (url, _), ChatClient(url) as client:
        assert client.chat(ASK).text == "late"


@pytest.mark.parametrize(
    "pieces",
    [
        [JSON_HEAD, b"\n\n"],
        [JSON_HEAD, b'{"id": "x", "choi'],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}"],
        [b""],
        [],
    ],
)
def test_a_connection_closed_early_is_tried_again(pieces):
    good = [JSON_HEAD, json.dumps(completion("second")).encode()]
    with raw_server(pieces, good) as (url, _), ChatClient(url, sleep=lambda _: None) as client:
        assert client.chat(ASK).text == "second"
    assert [(bool(e.error), e.text) for e in client.exchanges] == [(True, ""), (False, "second")]


# Errors and retries

MODEL_400 = "The supported API model names are {}, but you passed deepseek-chat."
TOO_LONG = "This model's maximum context length is 1048576 tokens. However, you requested 1060836 tokens."


@pytest.mark.parametrize(
    ("response", "kind", "status", "words"),
    [
        (
            fault("Authentication Fails, Your api key: ****0000 is invalid", status=401),
            WrongKey,
            401,
            "DEEPSEEK_API_KEY",
        ),
        (fault("Forbidden", status=403), WrongKey, 403, "DEEPSEEK_API_KEY"),
        (fault("Insufficient Balance", "unknown_error", 402), NoBalance, 402, "top it up"),
        (fault(MODEL_400.format("deepseek-flash, deepseek-v4-pro")), ModelRetired, 400, "flash, deepseek-v4-pro."),
        (fault(MODEL_400.format("a, b, and c")), ModelRetired, 400, "DEEPSEEK_MODEL to one of a, b, and c."),
        (fault('model "x" not found, try pulling it first', status=404), ModelRetired, 404, "try pulling it"),
        (fault("gone", status=404, code="model_not_found"), ModelRetired, 404, "DEEPSEEK_MODEL"),
        (fault("no route", status=404), BadRequest, 404, "DEEPSEEK_BASE_URL"),
        (fault(TOO_LONG), ContextOverflow, 400, "shorten"),
        (fault("prompt is too long: 9 > 8"), ContextOverflow, 400, "shorten"),
        (fault("too many tokens"), ContextOverflow, 400, "shorten"),
        (fault("x", code="context_length_exceeded"), ContextOverflow, 400, "shorten"),
        (fault("prompt_too_long"), ContextOverflow, 400, "shorten"),
        (fault("over the context window of this model"), ContextOverflow, 400, "shorten"),
        (fault("the request exceeds the available context size"), ContextOverflow, 400, "shorten"),
        (fault("Input is too long for requested model."), ContextOverflow, 400, "shorten"),
        (httpx.Response(413, text="<html>too large</html>"), ContextOverflow, 413, "shorten"),
        (
            fault("Invalid max_tokens value, the valid range of max_tokens is [1, 393216]"),
            BadRequest,
            400,
            "[1, 393216]",
        ),
        (fault("messages[1].role: unknown variant `developer`", status=422), BadRequest, 422, "developer"),
        (fault("Thinking mode does not support this tool_choice"), BadRequest, 400, "tool_choice"),
        (httpx.Response(301, headers={"Location": "https://elsewhere/"}), BadRequest, 301, "DEEPSEEK_BASE_URL"),
        (httpx.Response(200, json={"error": {"message": "Insufficient Balance"}}), NoBalance, 402, "top it up"),
        (httpx.Response(200, json={"error": {"message": MODEL_400.format("a")}}), ModelRetired, 400, "one of a."),
        (httpx.Response(200, json={"error": {"message": "bad", "type": "authentication_error"}}), WrongKey, 401, "KEY"),
        (httpx.Response(200, text="<html>Welcome</html>"), BadReply, 200, "DEEPSEEK_BASE_URL"),
        (httpx.Response(200, json=[1]), BadReply, 200, "DEEPSEEK_BASE_URL"),
        (httpx.Response(501, text="not built"), ServerBusy, 501, "not built"),
        (completion("", "length"), CutAnswer, 200, "raise max_tokens"),
    ],
)
def test_an_error_that_time_does_not_mend_is_asked_once_and_says_what_to_do(response, kind, status, words):
    client, wire, clock = client_of(response)
    with pytest.raises(ChatError) as caught:
        client.chat(ASK)
    error = caught.value
    assert (type(error), error.status, len(wire.requests), clock.slept) == (kind, status, 1, [])
    assert words in str(error)
    assert str(error).endswith((".", '")')) and "\n" not in str(error) and "<" not in str(error)
    assert client.exchanges[0].error == str(error)


@pytest.mark.parametrize(
    ("response", "kind", "status"),
    [
        (fault("Too many requests. Your current concurrency is 26", "rate_limit_error", 429), RateLimited, 429),
        (fault("Rate limit: too many tokens per minute", status=429), RateLimited, 429),
        (fault("oops", status=500), ServerBusy, 500),
        (httpx.Response(502, text="<html>Bad gateway</html>"), ServerBusy, 502),
        (fault("Service is too busy.", "service_unavailable_error", 503), ServerBusy, 503),
        (httpx.Response(504), ServerBusy, 504),
        (httpx.Response(200, json={"error": {"message": "slow down", "code": 429}}), RateLimited, 429),
        (completion(" " * 64), EmptyAnswer, 200),
        (completion("x", "insufficient_system_resource"), ServerBusy, 200),
        (httpx.Response(200, text="\n\n\n"), StreamCut, 200),
        (httpx.ConnectError("[Errno 111] Connection refused"), NoNetwork, None),
        (httpx.ProxyError("407"), NoNetwork, None),
        (httpx.ReadTimeout("timed out"), TimedOut, None),
        (httpx.ConnectTimeout(""), TimedOut, None),
        (httpx.RemoteProtocolError("peer closed connection"), StreamCut, None),
        (httpx.ReadError(""), StreamCut, None),
    ],
)
def test_an_error_that_time_may_mend_is_tried_five_times_with_growing_pauses(response, kind, status):
    client, wire, clock = client_of(response)
    with pytest.raises(ChatError) as caught:
        client.chat(ASK)
    assert (type(caught.value), caught.value.status) == (kind, status)
    assert (len(wire.requests), clock.slept) == (5, [0.5, 1.0, 2.0, 4.0])
    assert [bool(exchange.error) for exchange in client.exchanges] == [True] * 5


def test_the_second_try_may_succeed():
    client, wire, _ = client_of(fault("busy", status=503), completion("好"))
    assert client.chat(ASK).text == "好"
    assert [exchange.status for exchange in client.exchanges] == [503, 200]
    assert wire.requests[0].content == wire.requests[1].content


@pytest.mark.parametrize(("tries", "sent"), [(1, 1), (2, 2), (7, 7)])
def test_the_number_of_tries_can_be_set_for_one_call(tries, sent):
    client, wire, _ = client_of(fault("busy", status=503))
    with pytest.raises(ServerBusy):
        client.chat(ASK, limit=(tries, 0))
    assert len(wire.requests) == sent


def test_pauses_end_at_ten_seconds_and_jitter_stays_within_a_tenth():
    for jitter, factor in ((0.0, 0.9), (1.0, 1.1)):
        client, _, clock = client_of(fault("busy", status=503), attempts=8, jitter=lambda jitter=jitter: jitter)
        with pytest.raises(ServerBusy):
            client.chat(ASK)
        assert clock.slept == pytest.approx([pause * factor for pause in (0.5, 1, 2, 4, 8, 10, 10)])


@pytest.mark.parametrize(
    ("asked", "pause"),
    [("3", 3.0), ("0", 0.0), ("600", 10.0), ("nan", 0.5), ("-1", 0.5), ("Fri, 31 Dec 1999 23:59:59 GMT", 0.5)],
)
def test_retry_after_wins_up_to_the_longest_pause(asked, pause):
    client, _, clock = client_of(fault("wait", status=429, **{"Retry-After": asked}), completion())
    client.chat(ASK)
    assert clock.slept == [pause]


def test_no_try_begins_after_the_overall_limit():
    client, wire, clock = client_of(fault("busy", status=503), timeout=Timeouts(total=3.0))
    with pytest.raises(ServerBusy):
        client.chat(ASK)
    assert (len(wire.requests), clock.slept) == (3, [0.5, 1.0])


def test_nobody_listening_is_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with ChatClient(url, attempts=1) as client, pytest.raises(NoNetwork, match=r"No connection to 127\.0\.0\.1: check"):
        client.chat(ASK)
    assert client.exchanges[0].status == 0


def test_a_long_server_text_is_cut_short():
    client, _, _ = client_of(fault("x" * 5000))
    with pytest.raises(BadRequest) as caught:
        client.chat(ASK)
    assert len(str(caught.value)) < 400


def test_ctrl_c_goes_straight_through_and_closes_the_socket():
    closed = threading.Event()

    def hold(connection):
        if connection.recv(1) == b"":
            closed.set()

    def interrupt(_):
        raise KeyboardInterrupt

    with raw_server([SSE_HEAD, data(delta(content="x"), done=False)], hold=hold) as (url, _), ChatClient(url) as client:
        with pytest.raises(KeyboardInterrupt):
            client.stream(ASK, on_text=interrupt)
        assert closed.wait(5)
    assert [exchange.error for exchange in client.exchanges] == ["interrupted"]


def test_ctrl_c_between_two_tries_ends_the_call():
    def interrupt(_):
        raise KeyboardInterrupt

    client, wire, _ = client_of(fault("busy", status=503), sleep=interrupt)
    with pytest.raises(KeyboardInterrupt):
        client.chat(ASK)
    assert len(wire.requests) == 1


# Settings


def test_the_environment_names_key_server_and_model():
    client = ChatClient.from_env({"DEEPSEEK_API_KEY": f" {KEY} ", "DEEPSEEK_MODEL": "deepseek-v4-pro"})
    assert (client.url, client.model, client.server) == (
        "https://api.deepseek.com/chat/completions",
        "deepseek-v4-pro",
        "deepseek",
    )
    client = ChatClient.from_env({"DEEPSEEK_BASE_URL": LOCAL, "DEEPSEEK_API_KEY": " ", "DEEPSEEK_MODEL": ""})
    assert (client.server, client.model) == ("other", chat_module.DEFAULT_MODEL)


def test_deepseek_without_a_key_is_refused_before_anything_is_sent():
    for base in ("https://api.deepseek.com", "https://API.DeepSeek.com/v1"):
        with pytest.raises(BadSetting, match="set DEEPSEEK_API_KEY"):
            ChatClient.from_env({"DEEPSEEK_BASE_URL": base})


@pytest.mark.parametrize(
    "base",
    [
        LOCAL,
        LOCAL + "/",
        LOCAL + "/chat/completions",
        LOCAL + "/chat/completions/",
        f" {LOCAL}//\n",
    ],
)
def test_a_base_url_is_read_as_people_write_it(base):
    assert ChatClient(base).url == LOCAL + "/chat/completions"


@pytest.mark.parametrize(
    "base",
    [
        "localhost:11434",
        "ftp://x/",
        "http://",
        "",
        "api.deepseek.com",
        "http://x/\x00",
        "http://x/?a=b",
        "http://u:secret@x/",
    ],
)
def test_a_base_url_that_cannot_work_is_refused_without_repeating_it(base):
    with pytest.raises(BadSetting, match="DEEPSEEK_BASE_URL") as caught:
        ChatClient(base)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-钥匙", "sk-a b", 'sk-"a"', "sk-a\nb"])
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(key):
    with pytest.raises(BadSetting, match="copy it again") as caught:
        ChatClient(LOCAL, key)
    assert "sk-" not in str(caught.value)


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    reply = [JSON_HEAD, json.dumps(completion("direct")).encode()]
    with raw_server(reply) as (url, _), ChatClient(url, attempts=1) as client:
        assert client.chat(ASK).text == "direct"


def test_a_proxy_that_httpx_cannot_use_is_one_sentence(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "gopher://user:secret@127.0.0.1:9")
    with pytest.raises(BadSetting, match="ALL_PROXY") as caught:
        ChatClient(key=KEY)
    assert "secret" not in str(caught.value)


# Exchanges


def test_every_call_becomes_an_exchange_with_its_purpose():
    lines = []
    client, _, _ = client_of(completion("好"), on_exchange=lines.append)
    messages = list(ASK)
    client.ask(messages, purpose="side-query")
    messages.append({"role": "user", "content": "later"})
    (exchange,) = client.exchanges
    assert lines == [exchange]
    assert (exchange.purpose, exchange.text, exchange.messages) == ("side-query", "好", ASK)
    assert exchange.request_headers["Authorization"] == "Bearer ***"
    assert (exchange.status, exchange.usage["total_tokens"], exchange.error) == (200, 9, "")


def test_threads_share_a_client():
    client, _, _ = client_of(completion("好"))
    threads = [threading.Thread(target=client.ask, args=(ASK,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(client.exchanges) == 8


def test_the_key_is_nowhere(caplog):
    caplog.set_level(logging.DEBUG)
    echo = json.dumps({"error": {"message": f"bad key {KEY}", "type": "authentication_error"}}).encode()
    head = f"HTTP/1.1 401 No\r\nX-Echo: {KEY}\r\nSet-Cookie: a={KEY}\r\nConnection: close\r\n\r\n"
    pieces = [head.encode(), echo], [SSE_HEAD, data(delta("stop", content=KEY))]
    with raw_server(*pieces) as (url, seen), ChatClient(url, KEY) as client:
        with pytest.raises(WrongKey) as caught:
            client.chat([{"role": "user", "content": f"my key is {KEY}"}])
        client.stream(ASK)
    assert all(KEY.encode() in head for head in seen)
    assert any(record.name == "hxmem" for record in caplog.records)
    told = [record.getMessage() for record in caplog.records] + [str(record.__dict__) for record in caplog.records]
    for text in (*told, repr(client), str(caught.value), repr(caught.value), repr(client.exchanges)):
        assert KEY not in text
    assert client.exchanges[0].response_headers["Set-Cookie"] == "***"
    assert client.exchanges[0].messages[0]["content"] == "my key is ***"


@pytest.mark.parametrize("length", range(200, 245))
def test_no_part_of_a_key_is_left_where_a_server_text_is_cut(length):
    client, _, _ = client_of(fault("." * length + KEY + "." * 99), attempts=1)
    with pytest.raises(BadRequest) as caught:
        client.chat(ASK)
    assert "sk-" not in str(caught.value)


def test_a_word_for_a_key_does_not_mask_ordinary_text():
    client, _, _ = client_of(completion("ollama says none"), base=LOCAL, key="ollama")
    client.chat(ASK)
    assert client.exchanges[0].text == "ollama says none"


# The classroom, over real sockets


@pytest.mark.parametrize("call", ["chat", "stream"])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("400-model", ModelRetired),
        ("400-context", ContextOverflow),
        ("401", WrongKey),
        ("402", NoBalance),
        ("429", RateLimited),
        ("octet-stream", RateLimited),
        ("500", ServerBusy),
        ("503", ServerBusy),
        ("error-200", ServerBusy),
        ("html", ServerBusy),
        ("html-200", BadReply),
        ("reset", StreamCut),
        ("cut-body", StreamCut),
        ("eof", StreamCut),
        ("starved", CutAnswer),
        ("blank", EmptyAnswer),
        ("reasoning-only", EmptyAnswer),
        ("no-finish", StreamCut),
        ("timeout", TimedOut),
        ("stall", TimedOut),
    ],
)
def test_a_fault_of_the_classroom_is_named(call, fault, kind):
    limits = Timeouts(idle=0.1 if kind is TimedOut else 30)  # short only where nothing is going to come
    with (
        Classroom(faults=fault) as room,
        ChatClient(room.url, room.key, server="classroom", attempts=1, timeout=limits) as client,
        pytest.raises(ChatError) as caught,
    ):
        getattr(client, call)(ASK)
    assert type(caught.value) is kind


@pytest.mark.parametrize("fault", ["", "keep-alive", "bytewise", "u2028", "cut-json"])
def test_whole_and_streamed_answers_of_the_classroom_are_the_same(fault):
    with (
        Classroom(faults=fault or None) as room,
        ChatClient(room.url, room.key, server="classroom", thinking="enabled") as client,
    ):
        whole, streamed = client.chat(ASK), client.stream(ASK)
    assert whole.text == streamed.text != ""
    assert whole.message == streamed.message
    assert "\ufffd" not in whole.text
    assert client.exchanges[0].answer["choices"][0]["message"] == client.exchanges[1].answer["choices"][0]["message"]


def test_without_key_and_base_url_the_classroom_answers_and_stops_with_the_client():
    with ChatClient.from_env({"DEEPSEEK_API_KEY": " ", "DEEPSEEK_BASE_URL": ""}) as client:
        assert client.server == "classroom"
        assert client.ask(ASK)
        assert client.exchanges[0].body["thinking"] == {"type": "disabled"}
    with ChatClient(client.url, "sk-x", attempts=1) as late, pytest.raises(NoNetwork):
        late.ask(ASK)


def test_a_model_name_of_the_environment_that_was_retired_is_explained():
    with ChatClient.from_env({"DEEPSEEK_MODEL": "deepseek-chat"}) as client:
        with pytest.raises(ModelRetired, match=r"model deepseek-chat: set DEEPSEEK_MODEL to one of deepseek-flash"):
            client.ask(ASK)
        assert len(client.exchanges) == 1


def test_importing_the_client_brings_no_server():
    code = "import sys, hxmem.chat; sys.exit('http.server' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_one_call_may_have_less_time_than_the_others():
    with (
        Classroom(faults="stall") as room,
        ChatClient(room.url, room.key, server="classroom") as client,
        pytest.raises(TimedOut),
    ):
        client.ask(ASK, limit=(1, 0.1))
    assert len(client.exchanges) == 1


@pytest.mark.parametrize("url", ["http://a..b/v1", f"http://{'a' * 70}.com", "http://xn--/"])
def test_a_host_that_can_not_be_one_is_a_setting_to_mend(url):
    with pytest.raises(BadSetting):
        ChatClient(url, "sk-x")


def test_an_answer_in_parts_is_read():
    parts = [{"type": "text", "text": "hi "}, {"type": "text", "text": "there"}]
    client, _, _ = client_of(completion(parts))
    assert client.ask(ASK) == "hi there"
