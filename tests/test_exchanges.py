"""Exchanges on disk: JSON lines, HTTP archives and curl commands, with the key in none of them."""

import json
import os
import stat
import subprocess
from dataclasses import replace
from datetime import datetime

import httpx
import pytest

from hxmem.chat import ChatClient
from hxmem.exchanges import Exchange, clean
from hxmem.files import FileProblem
from hxmem.wirefiles import curl, json_line, save, to_har

KEY = "sk-marker-0123456789abcdef"
AWKWARD = 'it\'s 书桌 $HOME `date` "x" \\ ! % \n line\u2028two'


def exchange(text="好", **changes):
    answer = {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": {"total_tokens": 3}}
    made = Exchange(
        purpose="answer",
        method="POST",
        url="http://127.0.0.1:8000/chat/completions",
        request_headers={"Authorization": "Bearer ***", "Content-Type": "application/json"},
        body={"model": "m", "messages": [{"role": "user", "content": AWKWARD}], "stream": False},
        status=200,
        response_headers={"Content-Type": "application/json"},
        answer=answer,
        usage=answer["usage"],
        seconds=0.25,
    )
    return replace(made, **changes)


def test_a_line_has_the_documented_keys_and_an_error_only_when_there_is_one():
    line = exchange().as_dict()
    assert list(line) == ["purpose", "request", "response", "usage", "seconds"]
    assert list(line["request"]) == ["method", "url", "headers", "body"]
    assert list(line["response"]) == ["status", "headers", "body"]
    assert exchange(error="The server is busy.").as_dict()["error"] == "The server is busy."


@pytest.mark.parametrize(
    "answer", [None, "<html>", [], {}, {"choices": []}, {"choices": [{"message": {"content": None}}]}]
)
def test_an_answer_without_text_has_empty_text(answer):
    assert exchange(answer=answer).text == ""


def test_json_lines_hold_one_exchange_each_whatever_its_text(tmp_path):
    path = tmp_path / "wire.jsonl"
    kept = [
        exchange(),
        exchange("\u2028 \u0085", error="x"),
        exchange(answer="<html>\n</html>", status=502),
        exchange(answer=None),
    ]
    save(kept, path)
    assert path.read_bytes().count(b"\n") == 4
    assert "书桌" in path.read_text(encoding="utf-8")
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [one.as_dict() for one in kept]
    assert json_line(kept[0]).encode() == path.read_bytes().split(b"\n")[0] + b"\n"


@pytest.mark.parametrize("name", ["wire.txt", "wire", "wire.json"])
def test_another_ending_is_refused_and_nothing_is_written(tmp_path, name):
    with pytest.raises(FileProblem, match=r"end it in \.jsonl or \.har"):
        save([exchange()], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "wire.jsonl"
    save([exchange("old")], path)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileProblem, match=r"No space left"):
        save([exchange("new")], path)
    assert path.read_text(encoding="utf-8") == json_line(exchange("old"))
    assert list(tmp_path.iterdir()) == [path]


def test_an_archive_has_what_har_1_2_requires(tmp_path):
    path = tmp_path / "wire.har"
    started = "2026-11-29T01:02:03.456+00:00"
    save(
        [exchange(started=started), exchange(answer=None, status=0, response_headers={}, error="No connection.")], path
    )
    log = json.loads(path.read_text(encoding="utf-8"))["log"]
    assert log["version"] == "1.2"
    assert set(log["creator"]) == {"name", "version"}
    for entry in log["entries"]:
        assert {"startedDateTime", "time", "request", "response", "cache", "timings"} <= set(entry)
        assert datetime.fromisoformat(entry["startedDateTime"]).tzinfo
        common = {"httpVersion", "cookies", "headers", "headersSize", "bodySize"}
        assert common | {"method", "url", "queryString", "postData"} == set(entry["request"])
        assert common | {"status", "statusText", "content", "redirectURL"} == set(entry["response"])
        assert entry["request"]["postData"].keys() >= {"mimeType", "text"}
        assert entry["response"]["content"].keys() == {"size", "mimeType", "text"}
        assert sum(entry["timings"].values()) == entry["time"]
    first, second = log["entries"]
    assert (first["startedDateTime"], first["time"], first["comment"]) == (started, 250.0, "answer")
    assert json.loads(first["request"]["postData"]["text"]) == exchange().body
    assert json.loads(first["response"]["content"]["text"]) == exchange().answer
    assert {"name": "Authorization", "value": "Bearer ***"} in first["request"]["headers"]
    assert second["comment"] == "answer: No connection."


def test_an_answer_that_was_not_json_stays_text_in_the_archive():
    content = to_har([exchange(answer="<html>", status=502)])["log"]["entries"][0]["response"]["content"]
    assert content == {"size": 6, "mimeType": "text/plain", "text": "<html>"}


def run_curl(command, folder, key):
    printer = folder / "curl"
    printer.write_text("#!/bin/sh\nfor part; do printf '%s\\0' \"$part\"; done\n", encoding="utf-8", newline="\n")
    printer.chmod(printer.stat().st_mode | stat.S_IXUSR)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "DEEPSEEK_API_KEY": key}
    done = subprocess.run(["sh", "-c", command], env=env, capture_output=True, check=True)
    return done.stdout.decode("utf-8").split("\0")[:-1]


def test_the_curl_command_sends_the_same_body_with_the_key_of_the_shell(tmp_path):
    command = curl(exchange())
    assert "书桌" in command and "$DEEPSEEK_API_KEY" in command
    parts = run_curl(command, tmp_path, "sk-from-the-shell")
    assert parts[0] == "http://127.0.0.1:8000/chat/completions"
    assert parts[1:5] == ["-H", "Content-Type: application/json", "-H", "Authorization: Bearer sk-from-the-shell"]
    assert parts[5] == "--data-raw"
    assert json.loads(parts[6]) == exchange().body


def test_the_curl_command_of_a_request_without_a_key_has_none():
    assert "Authorization" not in curl(exchange(request_headers={"Content-Type": "application/json"}))


def test_half_characters_and_the_key_are_cleaned_out_of_any_value():
    dirty = {f"a{KEY}": [f"{KEY}\ud83d", 1, None, True], "b": "\ud83d\ude00"}
    assert clean(dirty, KEY) == {"a***": ["***\ufffd", 1, None, True], "b": "\U0001f600"}


def test_the_key_reaches_no_file(tmp_path):
    def echo(request):
        headers = {"Set-Cookie": f"session={KEY}", "X-Echo": KEY}
        said = {"role": "assistant", "content": f"your key is {KEY} \ud83d"}
        answer = {"choices": [{"message": said, "finish_reason": "stop"}]}
        return httpx.Response(200, content=json.dumps(answer), headers=headers)

    with ChatClient("http://127.0.0.1:1", KEY, transport=httpx.MockTransport(echo)) as client:
        for _ in range(2):  # the second request sends the cookie back
            client.chat([{"role": "user", "content": f"{KEY}"}])
    save(client.exchanges, tmp_path / "wire.jsonl")
    save(client.exchanges, tmp_path / "wire.har")
    for text in (*(path.read_text(encoding="utf-8") for path in tmp_path.iterdir()), *map(curl, client.exchanges)):
        assert KEY not in text
    assert client.exchanges[1].request_headers["Cookie"] == "***"
    assert client.exchanges[1].response_headers["Set-Cookie"] == "***"


def test_a_key_of_digits_does_not_break_the_numbers_of_an_answer():
    assert clean({"created": 1112345678, "text": "my 12345678"}, "12345678") == {
        "created": 1112345678,
        "text": "my ***",
    }
