"""The classroom as a server: real sockets on loopback, the protocol, and the faults."""

import ast
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import hxmem.classroom
from hxmem.classroom import Classroom, Faults, UnknownFault, summary

SIDE_QUERY = "Pick.\n\nUser request:\nwhich database?\n\nMemory catalog:\n0: tea - likes tea\n1: store - PostgreSQL 16"
EXTRACTION = "Extract.\n\nExisting memories:\n(none)\n\nDialogue:\nuser: 记住：数据库用 PostgreSQL 16。\nassistant: 好"
OFF = {"thinking": {"type": "disabled"}}
TOOL = {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "required": ["path"]}}}
Post = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def room() -> Iterator[Classroom]:
    with Classroom() as server:
        yield server


@pytest.fixture(scope="module")
def post(room: Classroom) -> Iterator[Post]:
    with httpx.Client(base_url=room.url, headers={"Authorization": f"Bearer {room.key}"}, timeout=5) as client:

        def send(content: Any, fault: str = "", path: str = "/chat/completions", **fields: Any) -> httpx.Response:
            messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
            body = {"model": "deepseek-flash", "messages": messages} | fields
            return client.post(path, json=body, headers={"X-Classroom-Fault": fault} if fault else {})

        yield send


def text(response: httpx.Response) -> str:
    return str(response.json()["choices"][0]["message"]["content"])


def events(response: httpx.Response) -> list[dict[str, Any]]:
    lines = [line[6:] for line in response.content.decode("utf-8").split("\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def joined(response: httpx.Response, field: str) -> str:
    return "".join(event["choices"][0]["delta"].get(field) or "" for event in events(response))


def test_each_kind_of_request_is_known_by_its_body_alone(room: Classroom, post: Post) -> None:
    before = room.requests
    assert text(post(SIDE_QUERY, **OFF)) == "[1]"
    assert [item["type"] for item in json.loads(text(post(EXTRACTION, **OFF)))] == ["project"]
    assert "classroom" in text(post("hello", path="/v1/chat/completions", **OFF))
    grown = {name: count - before.get(name, 0) for name, count in room.requests.items()}
    assert grown == {"side-query": 1, "extraction": 1, "answer": 1}


def test_a_request_with_tools_is_never_a_side_query(post: Post) -> None:
    assert text(post(SIDE_QUERY, tools=[TOOL], **OFF)) != "[1]"


def test_the_answer_says_that_it_comes_from_no_model(post: Post) -> None:
    body = post("hello", **OFF).json()
    assert body["model"] == "classroom" and "not a model" in body["choices"][0]["message"]["content"]


def test_thinking_is_on_unless_it_is_switched_off(post: Post) -> None:
    on, off = post("hello").json(), post("hello", **OFF).json()
    assert on["choices"][0]["message"]["reasoning_content"].startswith("classroom rule")
    assert on["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0
    assert "reasoning_content" not in off["choices"][0]["message"]
    assert "completion_tokens_details" not in off["usage"]


def test_two_servers_answer_alike_to_the_byte() -> None:
    answers = []
    for _ in range(2):
        with Classroom() as server:
            body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": EXTRACTION}]}
            headers = {"Authorization": "Bearer sk-x"}
            answers.append(httpx.post(f"{server.url}/chat/completions", json=body, headers=headers).content)
    assert answers[0] == answers[1]


def test_usage_adds_up_and_a_repeated_beginning_hits_the_cache_in_whole_blocks(post: Post) -> None:
    long = [{"role": "system", "content": "rules " * 400}, {"role": "user", "content": "one"}]
    first, second = post(long, **OFF).json()["usage"], post([long[0], {"role": "user", "content": "two"}], **OFF)
    again = second.json()["usage"]
    assert first["prompt_cache_hit_tokens"] == 0
    assert again["prompt_cache_hit_tokens"] > 256 and again["prompt_cache_hit_tokens"] % 128 == 0
    for counts in (first, again):
        parts = counts["prompt_cache_hit_tokens"] + counts["prompt_cache_miss_tokens"]
        assert counts["prompt_tokens"] == parts == counts["total_tokens"] - counts["completion_tokens"]
        assert counts["prompt_tokens_details"]["cached_tokens"] == counts["prompt_cache_hit_tokens"]


def test_a_stream_carries_the_same_text_as_an_answer_in_one_piece(post: Post) -> None:
    streamed = post(EXTRACTION, stream=True)
    assert streamed.headers["Content-Type"] == "text/event-stream"
    assert joined(streamed, "content") == text(post(EXTRACTION))
    assert joined(streamed, "reasoning_content").startswith("classroom rule")


def test_the_last_piece_of_a_stream_has_the_usage_and_the_first_has_empty_thinking(post: Post) -> None:
    plain = events(post("hello", stream=True))
    assert plain[0]["choices"][0]["delta"]["reasoning_content"] == "" and "usage" not in plain[0]
    assert plain[-1]["choices"][0]["finish_reason"] == "stop" and plain[-1]["usage"]["total_tokens"] > 0
    counted = events(post("hello", stream=True, stream_options={"include_usage": True}))
    assert all(event["usage"] is None for event in counted[:-1]) and counted[-1]["usage"]


def test_tool_calls_come_in_fragments_and_their_result_is_quoted(post: Post) -> None:
    pieces = events(post("read notes.txt", tools=[TOOL], stream=True, **OFF))
    calls = [call for piece in pieces for call in piece["choices"][0]["delta"].get("tool_calls", [])]
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == {"path": "notes.txt"}
    assert calls[0]["function"]["name"] == "read_file" and len(calls) > 2
    assert pieces[-1]["choices"][0]["finish_reason"] == "tool_calls"
    said = post("read notes.txt", tools=[TOOL], **OFF).json()["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "milk and bread"}
    after = post([{"role": "user", "content": "read notes.txt"}, said, result], tools=[TOOL], **OFF).json()
    assert after["choices"][0]["finish_reason"] == "stop"
    assert "milk and bread" in after["choices"][0]["message"]["content"]


def test_max_tokens_is_one_budget_for_thinking_and_text(post: Post) -> None:
    starved = post("hello", max_tokens=3).json()["choices"][0]
    cut = post("hello", max_tokens=3, **OFF).json()["choices"][0]
    assert starved["finish_reason"] == cut["finish_reason"] == "length"
    assert starved["message"]["content"] == "" and cut["message"]["content"] != ""


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "deepseek-chat"}, "names are deepseek-flash, deepseek-v4-pro, but you passed deepseek-chat."),
        ({"model": "no-such"}, "but you passed no-such."),
        ({"messages": []}, "missing field `messages`"),
        ({"max_tokens": 0}, "the valid range of max_tokens is [1, 393216]"),
        ({"max_tokens": 400_000}, "the valid range of max_tokens is [1, 393216]"),
        ({"n": 2}, "currently only n = 1 is supported"),
        ({"stream_options": {"include_usage": True}}, "stream_options should be set along with stream = true"),
        ({"response_format": {"type": "json_object"}}, "must contain the word 'json'"),
        ({"response_format": {"type": "json_schema"}}, "This response_format type is unavailable now"),
        ({"messages": [{"role": "developer", "content": "x"}]}, "messages[0].role: unknown variant `developer`"),
        ({"messages": [USER, {"role": "assistant", "content": None}]}, "content or tool_calls must be set"),
        ({"messages": [USER, {"role": "assistant", "content": "", "tool_calls": [CALL]}, USER]}, "insufficient tool"),
        ({"tools": [TOOL], "tool_choice": "required"}, "Thinking mode does not support this tool_choice"),
        (
            {"tools": [TOOL], "messages": [USER, {"role": "assistant", "content": "a"}, USER]},
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        ),
    ],
)
def test_a_faulty_body_gets_the_vendors_400(post: Post, fields: dict[str, Any], message: str) -> None:
    response = post("hello", **fields)
    error = response.json()["error"]
    assert (response.status_code, error["type"], error["param"]) == (400, "invalid_request_error", None)
    assert message in error["message"]


def test_what_the_service_accepts_is_accepted(post: Post) -> None:
    turns = [USER, {"role": "assistant", "content": "a"}, USER]
    assert post("hello", model="deepseek-v4-flash").status_code == 200
    assert post("say it in JSON", response_format={"type": "json_object"}).status_code == 200
    assert post(turns).status_code == 200  # no tools: nothing to pass back
    turns[1] = turns[1] | {"reasoning_content": ""}
    assert post(turns, tools=[TOOL]).status_code == 200
    assert post("read a.txt", tools=[TOOL], tool_choice="required", **OFF).status_code == 200


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"messages": "\\ud83d"}', b"\xff"])
def test_a_body_that_is_no_json_mapping_is_a_400(room: Classroom, raw: bytes) -> None:
    response = httpx.post(f"{room.url}/chat/completions", content=raw, headers={"Authorization": "Bearer sk-x"})
    assert response.status_code == 400 and "JSON" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("header", "status", "message"),
    [
        ("", 401, "auth header format should be Bearer sk-..."),
        ("Bearer abc", 401, "auth header format should be Bearer sk-..."),
        ("Bearer sk-wrong-1234", 401, "Authentication Fails, Your api key: ****1234 is invalid"),
        ("Bearer sk-empty", 402, "Insufficient Balance"),
    ],
)
def test_keys_are_refused_as_the_service_does(room: Classroom, header: str, status: int, message: str) -> None:
    response = httpx.get(f"{room.url}/models", headers={"Authorization": header})
    assert response.status_code == status and message in response.json()["error"]["message"]


def test_the_small_endpoints_and_the_404(room: Classroom) -> None:
    with httpx.Client(base_url=room.url, headers={"Authorization": "Bearer sk-x"}) as client:
        assert [model["id"] for model in client.get("/v1/models").json()["data"]] == [
            "deepseek-flash",
            "deepseek-v4-pro",
        ]
        assert client.get("/user/balance").json()["is_available"] is True
        for response in (client.get("/nothing"), client.post("/completions", json={})):
            assert response.status_code == 404 and response.json()["error"]["message"]


STATUS = {"400-model": 400, "400-context": 400, "401": 401, "402": 402, "429": 429, "500": 500, "503": 503}


@pytest.mark.parametrize(("kind", "status"), [*STATUS.items(), ("error-200", 200), ("octet-stream", 429)])
def test_an_error_fault_is_an_envelope_with_its_status(post: Post, kind: str, status: int) -> None:
    response = post("hello", kind)
    assert response.status_code == status and set(response.json()) == {"error"}
    assert response.headers.get("Retry-After") == ("1" if status == 429 else None)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        ("cut-json", lambda t, f: f == "length" and t and not t.endswith("]")),
        ("starved", lambda t, f: f == "length" and t == ""),
        ("reasoning-only", lambda t, f: f == "stop" and t == ""),
        ("blank", lambda t, f: f == "stop" and t == " " * 64),
        ("no-finish", lambda t, f: f is None and t),
        ("prose", lambda t, f: "[" not in t),
        ("fence", lambda t, f: t.startswith("```json\n[") and t.endswith("]\n```")),
        ("talkative", lambda t, f: t.count("[") > 2),
        ("out-of-range", lambda t, f: t == "[99]"),
        ("bool", lambda t, f: t == "[true]"),
        ("bad-item", lambda t, f: len(json.loads(t)) == 2),
        ("bad-arguments", lambda t, f: t.startswith("[") and not t.endswith("]")),
        ("nonsense", lambda t, f: "lamp" in t),
        ("u2028", lambda t, f: t.endswith("\u2028\u0085")),
    ],
)
@pytest.mark.parametrize("content", [SIDE_QUERY, EXTRACTION])
def test_a_fault_of_the_content(post: Post, kind: str, check: Callable[[str, Any], object], content: str) -> None:
    choice = post(content, kind).json()["choices"][0]
    assert check(choice["message"]["content"], choice["finish_reason"])


def test_bad_arguments_are_one_brace_short(post: Post) -> None:
    message = post("read a.txt", "bad-arguments", tools=[TOOL], **OFF).json()["choices"][0]["message"]
    assert message["tool_calls"][0]["function"]["arguments"] == '{"path": "a.txt"'


@pytest.mark.parametrize("kind", ["keep-alive", "bytewise"])
def test_faults_that_a_patient_client_survives(post: Post, kind: str) -> None:
    assert text(post(EXTRACTION, kind)) == text(post(EXTRACTION))
    assert joined(post(EXTRACTION, kind, stream=True), "content") == text(post(EXTRACTION))


def test_keep_alive_means_blank_lines_or_comments(post: Post) -> None:
    assert post("hello", "keep-alive").content.startswith(b"\n\n\n{")
    assert post("hello", "keep-alive", stream=True).content.startswith(b": keep-alive\n\n")


def test_an_early_end_of_a_stream_has_no_done(post: Post) -> None:
    assert b"[DONE]" not in post("hello", "eof", stream=True).content


def test_html_comes_under_both_statuses(post: Post) -> None:
    assert [(r.status_code, r.text[:9]) for r in (post("hi", "html"), post("hi", "html-200"))] == [
        (502, "<!DOCTYPE"),
        (200, "<!DOCTYPE"),
    ]


@pytest.mark.parametrize(
    ("kind", "stream", "error"),
    [
        ("reset", False, httpx.NetworkError),
        ("cut-body", False, httpx.RemoteProtocolError),
        ("cut-body", True, httpx.RemoteProtocolError),
        ("timeout", False, httpx.ReadTimeout),
        ("stall", True, httpx.ReadTimeout),
    ],
)
def test_a_fault_of_the_transport(room: Classroom, kind: str, stream: bool, error: type[Exception]) -> None:
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "hello"}], "stream": stream}
    headers = {"Authorization": "Bearer sk-x", "X-Classroom-Fault": kind}
    with pytest.raises(error):
        httpx.post(f"{room.url}/chat/completions", json=body, headers=headers, timeout=0.3)


def test_every_kind_of_fault_is_answered_or_breaks_the_connection(room: Classroom) -> None:
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": SIDE_QUERY}]} | OFF
    headers = {"Authorization": "Bearer sk-x"}
    broken = set()
    with httpx.Client(base_url=room.url, headers=headers, timeout=0.2) as client:
        healthy = client.post("/chat/completions", json=body).json()["choices"]
        for kind, explanation in summary():
            try:
                spoiled = client.post("/chat/completions", json=body, headers={"X-Classroom-Fault": kind})
            except httpx.TransportError:
                broken.add(kind)
                continue
            whole = spoiled.status_code == 200 and spoiled.text.lstrip().startswith('{"id"')
            assert explanation and (
                kind in ("keep-alive", "bytewise") or not whole or spoiled.json()["choices"] != healthy
            )
    assert broken == {"timeout", "reset", "cut-body", "eof", "stall"}


def test_faults_are_chosen_by_purpose_and_counted() -> None:
    with Classroom(faults="side-query=429*2,extraction=prose") as server:
        headers = {"Authorization": f"Bearer {server.key}"}

        def send(content: str) -> httpx.Response:
            body = {"model": "classroom", "messages": [{"role": "user", "content": content}]} | OFF
            return httpx.post(f"{server.url}/chat/completions", json=body, headers=headers)

        assert [send(SIDE_QUERY).status_code for _ in range(3)] == [429, 429, 200]
        assert text(send(SIDE_QUERY)) == "[1]" and "not a model" in text(send("hello"))
        assert "[" not in text(send(EXTRACTION))
        assert server.requests == {"side-query": 4, "extraction": 1, "answer": 1}
        server.faults = Faults.parse("500*1")
        assert [send("hello").status_code for _ in range(2)] == [500, 200]


@pytest.mark.parametrize("wrong", ["teapot", "side-query=teapot", "coffee=429", "429*0", "429*x"])
def test_an_unknown_fault_is_refused_with_a_sentence(room: Classroom, post: Post, wrong: str) -> None:
    with pytest.raises(UnknownFault) as caught:
        Faults.parse(wrong)
    assert isinstance(caught.value, ValueError) and str(caught.value).endswith(".")
    response = post("hello", wrong)
    assert response.status_code == 400 and response.json()["error"]["message"] == str(caught.value)


def test_an_unknown_kind_lists_the_known_ones() -> None:
    with pytest.raises(UnknownFault, match=", ".join(kind for kind, _ in summary())):
        Faults.parse("teapot")


def test_closing_ends_a_stalled_request_and_frees_the_port() -> None:
    server = Classroom(faults="timeout").start()
    port = int(server.url.rsplit(":", 1)[1])
    ended = threading.Event()

    def wait_for_ever() -> None:
        body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "hello"}]}
        with pytest.raises(httpx.TransportError):
            httpx.post(
                f"{server.url}/chat/completions", json=body, headers={"Authorization": "Bearer sk-x"}, timeout=30
            )
        ended.set()

    waiting = threading.Thread(target=wait_for_ever, daemon=True)
    waiting.start()
    while not server.requests:
        waiting.join(0.01)
    server.close()
    server.close()  # twice is no harm
    assert ended.wait(5)
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_many_clients_at_once_all_get_their_own_answer(room: Classroom) -> None:
    got: dict[int, str] = {}

    def ask(number: int) -> None:
        content = f"x\n\nExisting memories:\n(none)\n\nDialogue:\nuser: Remember: the port is {9000 + number}"
        body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": content}]} | OFF
        headers = {"Authorization": "Bearer sk-x"}
        got[number] = text(httpx.post(f"{room.url}/chat/completions", json=body, headers=headers))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert all(str(9000 + number) in got[number] for number in range(12))


def test_nothing_is_printed() -> None:
    code = (
        "import sys, httpx\nfrom hxmem.classroom import Classroom\n"
        "with Classroom() as room:\n"
        "    httpx.get(room.url + '/models'); httpx.post(room.url + '/chat/completions', content=b'x')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_classroom_imports_nothing_of_the_package_but_text() -> None:
    folder = Path(hxmem.classroom.__file__).parent
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in folder.glob("*.py")]
    names = {node.module for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    ours = {name for name in names if name and name.startswith("hxmem") and not name.startswith("hxmem.classroom")}
    assert ours == {"hxmem.text"}


@pytest.mark.parametrize("field", [{"tools": 5}, {"tools": [5]}, {"stream": True, "stream_options": 5}])
def test_a_field_of_a_strange_kind_is_a_400(field):
    import httpx

    body = {
        "model": "classroom",
        "messages": [{"role": "user", "content": "read a.txt"}],
        "thinking": {"type": "disabled"},
    }
    with Classroom() as room:
        headers = {"Authorization": f"Bearer {room.key}"}
        answer = httpx.post(f"{room.url}/chat/completions", json=body | field, headers=headers, trust_env=False)
    assert answer.status_code == 400
    assert "deserialize" in answer.json()["error"]["message"]
