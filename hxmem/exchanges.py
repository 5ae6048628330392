"""What really went over the wire, keys masked."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

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
