"""The wire client: one POST to /chat/completions, blocking or streamed, tried again where that can help."""

import contextlib
import logging
import os
import random
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self

import httpx

from hxmem.answers import Message, Reply, ToolCall, read_reply
from hxmem.attempt import Attempt, OnText, Timeouts
from hxmem.errors import BadSetting, ChatError, ContextOverflow, CutAnswer
from hxmem.exchanges import Exchange, clean

__all__ = ["ChatClient", "ChatError", "ContextOverflow", "Message", "Reply", "Timeouts", "ToolCall"]

DEFAULT_MODEL = "deepseek-flash"
DEFAULT_BASE_URL = "https://api.deepseek.com"
Messages = Sequence[Message]
Tools = Sequence[Mapping[str, Any]] | None
Limit = tuple[int, float]
_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")


class ChatClient(contextlib.AbstractContextManager["ChatClient"]):
    """Talks to one OpenAI-compatible server; threads may share it.

    `exchanges` holds every attempt so far, failed ones too, in the order in which they ended.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_BASE_URL,
        key: str = "",
        model: str = DEFAULT_MODEL,
        *,
        server: str = "",
        thinking: str | None = "auto",
        timeout: Timeouts | None = None,
        attempts: int = 5,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
        on_exchange: Callable[[Exchange], object] | None = None,
    ) -> None:
        """Raise BadSetting where no request could succeed; server="classroom" names it as such."""
        url, self._key = _endpoint(base_url), key.strip()
        if not re.fullmatch(r"[!#-\[\]-~]*", self._key):  # a header can't carry more
            raise BadSetting("The key holds a space, a quote or a character that no key has: copy it again.")
        self.url, self.model = str(url), model
        self.server = server or ("deepseek" if f".{url.host}".endswith(".deepseek.com") else "other")
        if self.server == "deepseek" and not self._key:
            raise BadSetting("There is no key: set DEEPSEEK_API_KEY, or unset DEEPSEEK_BASE_URL to use the classroom.")
        if thinking == "auto":
            thinking = None if self.server == "other" else "disabled"
        self._thinking = {"type": thinking} if thinking else None
        self._timeout, self._attempts, self._on_exchange = timeout or Timeouts(), attempts, on_exchange
        self._sleep, self._clock, self._jitter = sleep, clock, jitter
        self._lock, self.exchanges = threading.RLock(), tuple[Exchange, ...]()
        self._closing = contextlib.ExitStack()
        self._http = self._closing.enter_context(_http_client(url, self._key, transport))

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **options: Any) -> Self:
        """Follow DEEPSEEK_API_KEY, _BASE_URL and _MODEL; with neither of the first two, start the classroom."""
        env = os.environ if environ is None else environ
        key, base, model = (env.get(f"DEEPSEEK_{name}", "").strip() for name in ("API_KEY", "BASE_URL", "MODEL"))
        if key or base:
            return cls(base or DEFAULT_BASE_URL, key, model or DEFAULT_MODEL, **options)
        from hxmem.classroom import Classroom  # only here: it brings http.server

        with contextlib.ExitStack() as closing:
            room = closing.enter_context(Classroom())
            client = cls(room.url, room.key, model or DEFAULT_MODEL, server="classroom", **options)
            client._closing.push(closing.pop_all())
        return client

    def __repr__(self) -> str:
        return f"ChatClient({self.url!r}, model={self.model!r}, server={self.server!r})"

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, and the classroom if this client started it."""
        self._closing.close()

    def chat(
        self, messages: Messages, *, tools: Tools = None, purpose: str = "answer", limit: Limit = (0, 0), **fields: Any
    ) -> Reply:
        """Ask for one whole answer; ``fields`` are further fields of the body. Raises a ChatError.

        ``limit`` is (tries, seconds) for this call; 0 stands for the client's own.
        """
        return self._call(self._body(messages, tools, fields) | {"stream": False}, purpose, limit, None)

    def stream(
        self, messages: Messages, *, tools: Tools = None, purpose: str = "answer", on_text: OnText = None, **fields: Any
    ) -> Reply:
        """Ask for one answer in pieces, each given to ``on_text``; once text was shown, nothing is tried again."""
        streamed = {"stream": True, "stream_options": {"include_usage": True}}
        return self._call(self._body(messages, tools, fields) | streamed, purpose, (0, 0), on_text)

    def ask(self, messages: Messages, purpose: str = "ask", limit: Limit = (0, 0)) -> str:
        """Return the text of one answer, whole: all that a memory design needs of a model."""
        reply = self.chat(messages, purpose=purpose, limit=limit)
        if reply.finish_reason == "length":
            raise CutAnswer("The answer was cut off at max_tokens: raise it, or ask for less.", 200)
        return reply.text

    def _body(self, messages: Messages, tools: Tools, fields: Mapping[str, Any]) -> Message:
        """Return the body with its keys in a fixed order, which the server's prefix cache needs."""
        body: Message = {"model": self.model, "messages": [_sendable(m) for m in messages], "thinking": self._thinking}
        body = {**body, "tools": tools or None, **fields}
        return dict(clean({name: value for name, value in body.items() if value is not None}))

    def _call(self, body: Message, purpose: str, limit: Limit, on_text: OnText) -> Reply:
        tries, seconds, number = limit[0] or self._attempts, limit[1] or self._timeout.total, 1
        deadline = self._clock() + seconds
        while True:
            attempt = Attempt(body, self._key, self._clock, deadline, on_text, begun=self._clock())
            try:
                return self._run(attempt, purpose)
            except ChatError as error:
                error.shown = attempt.shown
                pause = self._pause(number, attempt.headers.get("retry-after", ""))
                if not error.transient or attempt.shown or number >= tries or self._clock() + pause >= deadline:
                    raise
            self._sleep(pause)
            number += 1

    def _pause(self, number: int, asked: str) -> float:
        """Return 0.5 s, doubled each time, with 10 % jitter, or the Retry-After of the server; at most 10 s."""
        if re.fullmatch(r"\d+(\.\d+)?", asked):
            return min(float(asked), 10.0)
        return min(0.5 * 2.0 ** (number - 1), 10.0) * (0.9 + 0.2 * self._jitter())

    def _run(self, attempt: Attempt, purpose: str) -> Reply:
        """Send the body once; however it ends, even by Ctrl-C, it becomes an exchange."""
        started, error = datetime.now(UTC).isoformat(timespec="milliseconds"), "interrupted"
        try:
            attempt.send(self._http, self.url, self._timeout)
            reply = read_reply(attempt.answer)
            error = ""
            return reply
        except ChatError as failure:
            error = clean(str(failure), self._key)
            failure.args = (error,)
            raise
        finally:
            self._keep(attempt.exchange(purpose, self.url, started, error))

    def _keep(self, exchange: Exchange) -> None:
        logging.getLogger("hxmem").debug("POST %s: status %d, %.2f s", self.url, exchange.status, exchange.seconds)
        with self._lock:  # around the callback too: two threads must not write into one line
            self.exchanges += (exchange,)
            if self._on_exchange:
                self._on_exchange(exchange)


def _sendable(message: Message) -> Message:
    """Return the message with "" where an assistant's content is null: servers refuse null without tool calls."""
    return {**message, "content": message.get("content") or ""} if message.get("role") == "assistant" else message


def _endpoint(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url.strip())
        url.host.encode("idna")
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        known = f"{DEFAULT_BASE_URL} or http://127.0.0.1:11434/v1"
        raise BadSetting(f"DEEPSEEK_BASE_URL must look like {known}, with the key in DEEPSEEK_API_KEY.")
    path = url.path.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return url.copy_with(path=f"{path}/chat/completions")


def _http_client(url: httpx.URL, key: str, transport: httpx.BaseTransport | None) -> httpx.Client:
    headers = {"User-Agent": "hxmem", "Content-Type": "application/json"}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    trust_env = not _LOOPBACK.fullmatch(url.host)  # a proxy of the environment can't reach this machine's own servers
    logging.getLogger("httpcore.http11").addFilter(_without_headers)  # adding it twice changes nothing
    try:
        return httpx.Client(headers=headers, transport=transport, trust_env=trust_env, verify=url.scheme == "https")
    except (ImportError, ValueError) as error:
        raise BadSetting("HTTPS_PROXY or ALL_PROXY can't be used: unset it, or name an http proxy.") from error


def _without_headers(record: logging.LogRecord) -> bool:
    """Drop what httpcore logs of response headers at DEBUG: a server may echo the key in them."""
    return not record.getMessage().startswith("receive_response_headers.complete")
