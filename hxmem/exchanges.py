"""What really went over the wire, keys masked: as JSON lines, as HAR, as a curl command."""

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hxmem.files import FileProblem, write_atomic
from hxmem.text import whole

_SECRET_HEADERS = ("proxy-authorization", "x-api-key", "api-key", "cookie", "set-cookie")
_MASKED = dict.fromkeys(_SECRET_HEADERS, "***") | {"authorization": "Bearer ***"}
_SHORTEST_KEY = 8  # local servers take any word, such as "none", as a key: masking that would eat ordinary text
T = TypeVar("T")


@dataclass(frozen=True)
class Exchange:
    """One request and what came back for it; ``status`` is 0 when nothing did."""

    purpose: str
    method: str
    url: str
    request_headers: dict[str, str]
    body: dict[str, Any]
    status: int
    response_headers: dict[str, str]
    answer: Any
    usage: dict[str, Any] | None
    seconds: float
    error: str = ""
    started: str = ""  # ISO time at which the request was sent; only HAR shows it

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the request."""
        return dig(self.body, "messages", kind=list) or []

    @property
    def text(self) -> str:
        """The assistant's text, "" if there is none."""
        return dig(self.answer, "choices", 0, "message", "content", kind=str) or ""

    def as_dict(self) -> dict[str, Any]:
        """Return the exchange as one line of a wire file holds it."""
        request = {"method": self.method, "url": self.url, "headers": self.request_headers, "body": self.body}
        response = {"status": self.status, "headers": self.response_headers, "body": self.answer}
        line = {"purpose": self.purpose, "request": request, "response": response, "usage": self.usage}
        return {**line, "seconds": self.seconds, **({"error": self.error} if self.error else {})}


def dig(value: Any, *path: str | int, kind: type[T]) -> T | None:
    """Return what lies at a path of a JSON value, None where the path ends early or it is of another kind.

    >>> dig({"choices": [{"text": "a"}]}, "choices", 0, "text", kind=str)
    'a'
    """
    for step in path:
        try:
            value = value[step]
        except (TypeError, LookupError):
            return None
    return value if isinstance(value, kind) else None


def clean(value: Any, key: str = "") -> Any:
    r"""Return a copy of a JSON value without half characters, and with ``***`` wherever the key stood.

    >>> clean({"a": "\ud83d", "b": ["my sk-12345678"]}, "sk-12345678")
    {'a': '\ufffd', 'b': ['my ***']}
    """
    value = json.loads(whole(json.dumps(value, ensure_ascii=False)))
    return _masked(value, key) if len(key) >= _SHORTEST_KEY else value


def _masked(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return value.replace(key, "***")
    if isinstance(value, dict):
        return {name.replace(key, "***"): _masked(item, key) for name, item in value.items()}
    return [_masked(item, key) for item in value] if isinstance(value, list) else value


def masked_headers(raw: Iterable[tuple[bytes, bytes]], key: str = "") -> dict[str, str]:
    """Return headers as text, with keys and cookies masked whole."""
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]
    return {name: _MASKED.get(name.lower()) or clean(value, key) for name, value in headers}


def save(exchanges: Iterable[Exchange], path: str | Path) -> None:
    """Write exchanges as JSON lines (``.jsonl``) or for a browser's network panel (``.har``); replaces the file."""
    path, listed = Path(path), list(exchanges)
    if path.suffix == ".jsonl":
        text = "".join(json_line(exchange) for exchange in listed)
    elif path.suffix == ".har":
        text = json.dumps(to_har(listed), ensure_ascii=False, indent=1) + "\n"
    else:
        raise FileProblem(f"{path.name} is no name for exchanges: end it in .jsonl or .har.")
    write_atomic(path, text)


def json_line(exchange: Exchange) -> str:
    """Return one line of a ``.jsonl`` file, line end included."""
    return json.dumps(exchange.as_dict(), ensure_ascii=False) + "\n"


def to_har(exchanges: Iterable[Exchange]) -> dict[str, Any]:
    """Return exchanges as an HTTP archive (HAR 1.2), which a browser's network panel can import."""
    creator = {"name": "hxmem", "version": "1"}
    return {"log": {"version": "1.2", "creator": creator, "pages": [], "entries": [_entry(e) for e in exchanges]}}


def _entry(exchange: Exchange) -> dict[str, Any]:
    text, kind = exchange.answer, "text/plain"
    if not isinstance(text, str):  # a stream is put together again
        text, kind = json.dumps(text, ensure_ascii=False), "application/json"
    got = {"size": len(text.encode()), "mimeType": kind, "text": text}
    sent = {"mimeType": "application/json", "text": json.dumps(exchange.body, ensure_ascii=False)}
    asked = {"method": exchange.method, "url": exchange.url, "queryString": [], "postData": sent}
    came = {"status": exchange.status, "statusText": "", "redirectURL": "", "content": got}
    entry = {"request": _half(exchange.request_headers, asked), "response": _half(exchange.response_headers, came)}
    time = round(exchange.seconds * 1000, 3)
    note = f"{exchange.purpose}: {exchange.error}" if exchange.error else exchange.purpose
    clock = {"startedDateTime": exchange.started or "1970-01-01T00:00:00.000Z", "time": time}
    return {**clock, **entry, "cache": {}, "timings": {"send": 0, "wait": time, "receive": 0}, "comment": note}


def _half(headers: dict[str, str], own: dict[str, Any]) -> dict[str, Any]:
    pairs = [{"name": name, "value": value} for name, value in headers.items()]
    common = {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": -1, "bodySize": -1}  # -1: not known, says HAR
    return {**common, "headers": pairs, **own}


def curl(exchange: Exchange) -> str:
    """Return the request as a command for sh, with ``$DEEPSEEK_API_KEY`` in place of the key."""
    lines = [f"curl {shlex.quote(exchange.url)}", "-H 'Content-Type: application/json'"]
    if "authorization" in {name.lower() for name in exchange.request_headers}:
        lines.append('-H "Authorization: Bearer $DEEPSEEK_API_KEY"')
    body = json.dumps(exchange.body, ensure_ascii=False, separators=(",", ":"))
    return " \\\n  ".join([*lines, f"--data-raw {shlex.quote(body)}"])
