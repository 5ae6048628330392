"""Exchanges in files: as JSON lines, as HAR for a browser's network panel, as a curl command."""

import json
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hxmem.exchanges import Exchange
from hxmem.files import FileProblem, write_atomic


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
