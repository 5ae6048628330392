"""A DeepSeek-compatible server on loopback: real sockets, no model behind them."""

import json
import select
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, cast

from hxmem.classroom.faults import Fault, Faults, UnknownFault, error_of, spoil
from hxmem.classroom.rules import purpose_of, reply_to
from hxmem.classroom.wire import (
    MAX_OUTPUT,
    MODELS,
    ApiError,
    chunks,
    completion,
    parse_body,
    prompt_text,
    thinking,
    usage,
    validate,
    within,
)

KEY = "sk-classroom"
BODY_LIMIT = 48 * 1024 * 1024
REMEMBERED_PROMPTS = 64  # per key and model, for the cache model
HTML = b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"
BALANCE = {"currency": "CNY", "total_balance": "23.50", "granted_balance": "3.50", "topped_up_balance": "20.00"}


class Classroom:
    """The server as a context manager.

    A key that holds "wrong" or "invalid" gets 401, one that holds "empty" gets 402; any other `sk-` key is good.
    """

    def __init__(self, port: int = 0, faults: Faults | str | None = None) -> None:
        self.key = KEY
        self._port = port
        self._lock = threading.Lock()
        self._requests: Counter[str] = Counter()
        self._prompts: dict[tuple[str, str], list[str]] = {}
        self._server: _Server | None = None
        self._number = 0
        self.faults = faults if isinstance(faults, Faults) else Faults.parse(faults)

    def __enter__(self) -> "Classroom":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address to use as a base URL; empty before `start`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}" if self._server else ""

    @property
    def requests(self) -> dict[str, int]:
        """How many chat requests came in, by purpose."""
        with self._lock:
            return dict(self._requests)

    @property
    def faults(self) -> Faults:
        """Which requests go wrong; may be set while the server runs, which starts the counts anew."""
        return self._faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        with self._lock:
            self._faults, self._used = faults, Counter[Fault]()

    def start(self) -> "Classroom":
        """Bind and serve in a daemon thread; OSError when the port is taken."""
        if self._server is None:
            self._server = _Server(self, self._port)
            serve = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="classroom", daemon=True)
            serve.start()
        return self

    def close(self) -> None:
        """Stop at once, also while a stalled request is open."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            server.drop_connections()

    def pick_fault(self, purpose: str, header: str | None) -> str:
        """Count a request and say which fault it gets, "" for none."""
        with self._lock:
            self._requests[purpose] += 1
            rule = Faults.parse(header).pick(purpose, Counter()) if header else None
            rule = rule or self._faults.pick(purpose, self._used)
            if rule:
                self._used[rule] += 1
            return rule.kind if rule else ""

    def remember(self, key: str, body: dict[str, Any]) -> tuple[int, list[str]]:
        """The number of this answer and the earlier prompts of the same key and model."""
        with self._lock:
            self._number += 1
            earlier = self._prompts.setdefault((key, str(body["model"])), [])
            before = list(earlier)
            earlier.append(prompt_text(body))
            del earlier[:-REMEMBERED_PROMPTS]
            return self._number, before


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, room: Classroom, port: int) -> None:
        self.room = room
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def drop_connections(self) -> None:
        """End the connections that clients keep open."""
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client was faster

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no event; a fault of ours is shown as usual."""
        import sys

        if not isinstance(sys.exception() if hasattr(sys, "exception") else sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "classroom", ""
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 600  # the service closes an idle connection after ten minutes

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    @property
    def _http(self) -> _Server:
        return cast(_Server, self.server)

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

    def _get(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/v1")
        if path not in ("/models", "/user/balance"):
            raise ApiError(404, "invalid_request_error", f"There is no {path}; the classroom serves /chat/completions.")
        self._key()
        if path == "/models":
            self._send_json(200, {"object": "list", "data": [_model(name) for name in MODELS]})
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
            fault = self._http.room.pick_fault(purpose, self.headers.get("X-Classroom-Fault"))
        except UnknownFault as error:
            raise ApiError(400, "invalid_request_error", str(error)) from error
        if not self._fails(fault, body):
            self._answer(key, body, purpose, fault)

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
        error = error_of(fault)
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
        number, earlier = self._http.room.remember(key, body)
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


def _model(name: str) -> dict[str, Any]:
    limits = {"context_window": 1_048_576, "max_output_tokens": MAX_OUTPUT}
    return {"id": name, "object": "model", "owned_by": "deepseek"} | limits
