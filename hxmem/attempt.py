"""One try of a request: a POST, the bytes that come back, and the clocks that watch them."""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from hxmem.answers import DONE, Message, assemble, delta_text, events
from hxmem.errors import BadReply, ChatError, StreamCut, TimedOut, broken, refusal
from hxmem.exchanges import Exchange, clean, dig, masked_headers

OnText = Callable[[str], object] | None


@dataclass(frozen=True)
class Timeouts:
    """Limits in seconds: to connect, for the next byte, for a stream's next data, for a call with all its retries."""

    connect: float = 10.0
    idle: float = 300.0  # the vendor's own client waits as long; comments count
    data_idle: float = 120.0  # from the first data on; comments don't count; noticed at the next byte
    total: float = 600.0


@dataclass
class Attempt:
    """What is sent, and what has come back so far."""

    body: Message
    key: str = field(repr=False)
    clock: Callable[[], float]
    deadline: float
    on_text: OnText
    begun: float
    sent: Sequence[tuple[bytes, bytes]] = ()
    status: int = 0
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    answer: Any = None
    data_at: float | None = None
    shown: bool = False

    def send(self, http: httpx.Client, url: str, limits: Timeouts) -> None:
        """Post the body and read the answer; leaving early, for whatever reason, closes the connection."""
        content = json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
        left = max(self.deadline - self.begun, 0.001)
        timeout = httpx.Timeout(min(limits.idle, left), connect=min(limits.connect, left))
        request = http.build_request("POST", url, content=content, timeout=timeout)
        self.sent = request.headers.raw
        try:
            with contextlib.closing(http.send(request, stream=True)) as response:
                self.status, self.headers = response.status_code, response.headers
                kind = response.headers.get("content-type", "")
                streamed = "event-stream" in kind or (self.body["stream"] and not re.search("json|html", kind))
                read = self._read_events if response.is_success and streamed else self._read_whole
                read(self._watched(response.iter_bytes(), limits.data_idle))
        except httpx.HTTPError as problem:
            raise broken(problem, request.url.host) from problem

    def _watched(self, chunks: Iterator[bytes], data_idle: float) -> Iterator[bytes]:
        for chunk in chunks:
            yield chunk
            now = self.clock()
            if now > self.deadline or (self.data_at is not None and now - self.data_at > data_idle):
                raise TimedOut("The server keeps the line open but does not finish: try again later.")

    def _read_whole(self, chunks: Iterator[bytes]) -> None:
        text = b"".join(chunks).decode("utf-8-sig", "replace").strip()  # empty lines come while a request waits
        self.answer = clean(_json(text))
        if not 200 <= self.status < 300 or bool(dig(self.answer, "error", kind=object)):
            raise self._refused(self.answer)
        if isinstance(self.answer, str) and (not text or text.startswith("{")):
            raise StreamCut("The connection closed before the answer was complete: try again.", self.status)

    def _read_events(self, chunks: Iterator[bytes]) -> None:
        seen: list[Any] = []
        try:
            for data in events(chunks):
                if data == DONE:
                    return
                self.data_at, chunk = self.clock(), _json(data)
                if not isinstance(chunk, dict):
                    raise BadReply("A piece of the stream is not JSON: try again, or don't stream.", self.status)
                if chunk.get("error"):
                    raise self._refused(chunk)
                seen.append(chunk)
                if (piece := delta_text(chunk)) and self.on_text:
                    self.shown = self.shown or bool(piece.strip())
                    self.on_text(clean(piece))  # half an emoji can come alone
            raise StreamCut("The stream ended before the answer was complete: try again.", self.status)
        finally:
            self.answer = clean(assemble(seen))

    def _refused(self, answer: Any) -> ChatError:
        return refusal(self.status, clean(answer, self.key), self.body["model"])  # masked before it is cut short

    def exchange(self, purpose: str, url: str, started: str, error: str) -> Exchange:
        """Return the attempt as an exchange, the key masked everywhere."""
        sent, got = (masked_headers(headers, self.key) for headers in (self.sent, self.headers.raw))
        body, answer = clean(self.body, self.key), clean(self.answer, self.key)
        usage, seconds = dig(answer, "usage", kind=dict), round(self.clock() - self.begun, 4)
        return Exchange(purpose, "POST", url, sent, body, self.status, got, answer, usage, seconds, error, started)


def _json(text: str) -> Any:
    """Return the value, or the text itself where it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
