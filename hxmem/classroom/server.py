"""A DeepSeek-compatible server on loopback: real sockets, no model behind them."""

import socket
import sys
import threading
from collections import Counter
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any

from hxmem.classroom.faults import Fault, Faults
from hxmem.classroom.handler import Handler
from hxmem.classroom.wire import prompt_text

KEY = "sk-classroom"
REMEMBERED_PROMPTS = 64  # per key and model, for the cache model


class Classroom:
    """The server as a context manager.

    A key that holds "wrong" or "invalid" gets 401, one that holds "empty" gets 402; any other `sk-` key is good.
    `context_window`: a request with more tokens, by the estimate of `usage` and with its `max_tokens`, gets the
    vendor's 400; 0 is no limit.
    """

    def __init__(self, port: int = 0, faults: Faults | str | None = None, context_window: int = 0) -> None:
        self.key = KEY
        self.context_window = context_window  # may be set while the server runs
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
        super().__init__(("127.0.0.1", port), Handler)

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
        if not isinstance(sys.exception() if hasattr(sys, "exception") else sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
