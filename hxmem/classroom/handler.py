"""One connection of the classroom: reads a request, answers by the rules, or badly on purpose."""

import json
import select
import socket
import struct
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol, cast

from hxmem.classroom.faults import WINDOW, UnknownFault, error_of, spoil, too_long
from hxmem.classroom.rules import purpose_of, reply_to
from hxmem.classroom.wire import (
    MAX_OUTPUT,
    MODELS,
    ApiError,
    chunks,
    completion,
    parse_body,
    prompt_text,
    request_tokens,
    thinking,
    usage,
    validate,
    within,
)

BODY_LIMIT = 48 * 1024 * 1024
HTML = b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"
BALANCE = {"currency": "CNY", "total_balance": "23.50", "granted_balance": "3.50", "topped_up_balance": "20.00"}


class Room(Protocol):
    """What a connection needs of the classroom: its context, its faults and its count of answers."""

    context_window: int

    def pick_fault(self, purpose: str, header: str | None) -> str:
        """Count a request and say which fault it gets, "" for none."""

    def remember(self, key: str, body: dict[str, Any]) -> tuple[int, list[str]]:
        """The number of this answer and the earlier prompts of the same key and model."""


class HasRoom(Protocol):
    """The HTTP server behind a connection."""

    room: Room


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "classroom", ""
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 600  # the service closes an idle connection after ten minutes

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    @property
    def _room(self) -> Room:
        return cast(HasRoom, self.server).room

    def do_GET(self) -> None:
        """The two small endpoints."""
        self._guard(self._get)

    def do_POST(self) -> None:
        """The chat endpoint."""
        self._guard(self._post)

    def _guard(self, work: Any) -> None:
        try:
            work()
        except ApiError as error:
            self._send_error(error)
        except (AttributeError, KeyError, RecursionError, TypeError):  # a field of a kind that no client sends
            message = "Failed to deserialize the JSON body into the target type"
            self._send_error(ApiError(400, "invalid_request_error", message))

    def _get(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/v1")
        if path not in ("/models", "/user/balance"):
            raise ApiError(404, "invalid_request_error", f"There is no {path}; the classroom serves /chat/completions.")
        self._key()
        if path == "/models":
            self._send_json(
                200, {"object": "list", "data": [_model(name, self._room.context_window) for name in MODELS]}
            )
        else:
            self._send_json(200, {"is_available": True, "balance_infos": [BALANCE]})

    def _post(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > BODY_LIMIT:
            self.close_connection = True
            raise ApiError(400, "invalid_request_error", "The body needs a Content-Length of at most 48 MiB.")
        raw = self.rfile.read(int(length))
        path = self.path.partition("?")[0].removeprefix("/v1")
        if path != "/chat/completions":
            raise ApiError(404, "invalid_request_error", f"There is no {path}; the classroom serves /chat/completions.")
        key = self._key()
        body = parse_body(raw)
        validate(body)
        purpose = purpose_of(body)
        try:
            fault = self._room.pick_fault(purpose, self.headers.get("X-Classroom-Fault"))
        except UnknownFault as error:
            raise ApiError(400, "invalid_request_error", str(error)) from error
        if not self._fails(fault, body):
            self._measure(body)
            self._answer(key, body, purpose, fault)

    def _measure(self, body: dict[str, Any]) -> None:
        sent, reserved, window = request_tokens(body), body.get("max_tokens") or 0, self._room.context_window
        if window and sent + reserved > window:
            raise too_long(window, sent, reserved)

    def _key(self) -> str:
        scheme, _, key = (self.headers.get("Authorization") or "").partition(" ")
        if scheme != "Bearer" or not key.startswith("sk-"):
            message = "Authentication Fails (auth header format should be Bearer sk-...)"
            raise ApiError(401, "authentication_error", message)
        if "wrong" in key or "invalid" in key:
            raise ApiError(
                401, "authentication_error", f"Authentication Fails, Your api key: ****{key[-4:]} is invalid"
            )
        if "empty" in key:
            raise ApiError(402, "unknown_error", "Insufficient Balance")
        return key

    def _fails(self, fault: str, body: dict[str, Any]) -> bool:
        """Do a fault that leaves no answer; whether it was one."""
        error = error_of(fault, request_tokens(body), body.get("max_tokens") or 0)
        if error:
            form = "application/octet-stream" if fault == "octet-stream" else "application/json"
            self._send_error(error, form)
        elif fault in ("html", "html-200"):
            self._send(200 if fault == "html-200" else 502, HTML, "text/html")
        elif fault == "timeout" or (fault == "stall" and not body.get("stream")):
            self._wait()
        elif fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        else:
            return False
        return True

    def _wait(self) -> None:
        """Say nothing until the client gives up or `close` shuts the connection."""
        self.close_connection = True
        select.select([self.connection], [], [], self.timeout)

    def _answer(self, key: str, body: dict[str, Any], purpose: str, fault: str) -> None:
        think = thinking(body)
        reply = within(spoil(fault, reply_to(body), purpose), body.get("max_tokens"), think)
        number, earlier = self._room.remember(key, body)
        counts = usage(prompt_text(body), earlier, reply, think)
        if body.get("stream"):
            options = body.get("stream_options") or {}
            self._stream(chunks(number, reply, counts, think, bool(options.get("include_usage"))), fault)
        else:
            self._whole(_bytes(completion(number, reply, counts, think)), fault)

    def _whole(self, data: bytes, fault: str) -> None:
        if fault in ("cut-body", "eof"):
            self._head(200, "application/json", str(len(data)))
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
        elif fault == "bytewise":
            self._head(200, "application/json", str(len(data)))
            self._one_by_one(data)
        else:
            self._send(200, b"\n" * (3 if fault == "keep-alive" else 0) + data)

    def _stream(self, pieces: Iterable[dict[str, Any]], fault: str) -> None:
        """Server-sent events in a chunked body; flushed piece by piece, as they come over a real network."""
        self._head(200, "text/event-stream")
        events = [b"data: " + _bytes(piece) + b"\n\n" for piece in pieces]
        half = len(events) // 2
        if fault == "keep-alive":
            events = [b": keep-alive\n\n"] * 3 + events[:half] + [b": keep-alive\n\n"] + events[half:]
        if fault in ("eof", "stall", "cut-body"):
            events = events[: max(1, half)]
        for event in events if fault in ("eof", "stall", "cut-body") else [*events, b"data: [DONE]\n\n"]:
            for part in (event[at : at + 1] for at in range(len(event))) if fault == "bytewise" else (event,):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.flush()
        if fault == "stall":
            self._wait()
        elif fault == "cut-body":
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _one_by_one(self, data: bytes) -> None:
        for at in range(len(data)):
            self.wfile.write(data[at : at + 1])
            self.wfile.flush()

    def _send_error(self, error: ApiError, form: str = "application/json") -> None:
        self._send(error.status, _bytes(error.body()), form, {"Retry-After": "1"} if error.status == 429 else {})

    def _send_json(self, status: int, value: Any) -> None:
        self._send(status, _bytes(value))

    def _send(
        self, status: int, data: bytes, form: str = "application/json", more: dict[str, str] | None = None
    ) -> None:
        self._head(status, form, str(len(data)), more)
        self.wfile.write(data)

    def _head(self, status: int, form: str, length: str = "", more: dict[str, str] | None = None) -> None:
        """Status line and headers, with no clock in them; without a length the body is chunked."""
        self.send_response_only(status)
        self.send_header("Server", "classroom")
        self.send_header("Content-Type", form)
        self.send_header(*(("Content-Length", length) if length else ("Transfer-Encoding", "chunked")))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()


def _bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8")


def _model(name: str, window: int) -> dict[str, Any]:
    limits = {"context_window": window or WINDOW, "max_output_tokens": min(MAX_OUTPUT, window or WINDOW)}
    return {"id": name, "object": "model", "owned_by": "deepseek"} | limits
