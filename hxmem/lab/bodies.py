"""One request body to look at, part by part, with the answer that came back."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from hxmem.exchanges import Exchange
from hxmem.lab.columns import count, width
from hxmem.lab.markup import pre
from hxmem.lab.page import WIDTH, Box, Line, Row, View, below, render
from hxmem.lab.parts import all_in_words, body_tokens, calls, content, parts, tool_names

_IN_HEAD = frozenset({"model", "messages", "tools", "thinking", "stream", "stream_options"})


def show_body(exchange: Exchange, raw: bool = False, limit: int = 40) -> View:
    """One request as it was sent, its parts set off, and what came back; `raw` shows the body as JSON, whole.

    Of a long conversation the first messages and the newest are shown, `limit` in all.
    """
    head = Line((f"{exchange.method} {path_of(exchange)}", *_facts(exchange)))
    if raw:
        text = json.dumps(exchange.body, ensure_ascii=False, indent=2)
        return below(render(head), View(text, pre(text)))
    names, alone = tool_names(exchange.body), len(exchange.messages) == 1
    tools = [Line(("tools", ", ".join(names)))] if names else []
    boxes: list[Box | Line] = [
        Box(str(message.get("role")), parts(message, alone), words if message.get("role") == "tool" else "")
        for message, words in zip(exchange.messages, all_in_words(exchange.messages), strict=True)
    ]
    if (hidden := len(boxes) - max(limit, 1)) > 0:
        first = limit // 4
        boxes[first : first + hidden] = [Line((f"… {count(hidden, 'more message')}",))]
    return render(head, *tools, *boxes, Box("", answer_rows(exchange)))


def path_of(exchange: Exchange) -> str:
    """The path of the request without host and port, which differ from run to run."""
    path = urlsplit(exchange.url).path
    return "/chat/completions" if path.endswith("/chat/completions") else path


def _facts(exchange: Exchange) -> list[str]:
    body = exchange.body
    names, thinking = tool_names(body), body.get("thinking")
    found = [exchange.purpose, count(len(exchange.messages), "message"), f"~{body_tokens(body):,} tokens"]
    if isinstance(thinking, dict):
        found.append("thinking off" if thinking.get("type") == "disabled" else "thinking on")
    found.append(count(len(names), "tool") if names else "no tools")
    found += ["streamed"] if body.get("stream") else []
    return found + [f"{key} {json.dumps(body[key], ensure_ascii=False)}" for key in sorted(body.keys() - _IN_HEAD)]


def answer_rows(exchange: Exchange) -> list[Row]:
    """What came back, and below or beside it the facts."""
    said, facts = answer_of(exchange)
    line = "   ".join([said, *facts])
    if "\n" not in line and width(line) < WIDTH - 25:
        return [Row("answer", line)]
    return [Row("answer", said), *([Row("", "   ".join(facts))] if facts else [])]


def answer_of(exchange: Exchange) -> tuple[str, list[str]]:
    """What came back, "none" if nothing did, and the facts about it: what failed, tokens, cache hits."""
    choice = _choice(exchange.answer)
    message, usage = choice.get("message") or {}, exchange.usage or {}
    said = [content(message), *(f"asks for {name} {arguments}" for name, arguments in calls(message))]
    facts = failure(exchange)
    if choice.get("finish_reason") == "length":
        facts.append("cut off at the token limit")
    if message.get("reasoning_content"):
        facts.append(f"thinking {count(len(message['reasoning_content']), 'character')}")
    if "completion_tokens" in usage:
        facts.append(count(usage["completion_tokens"], "token"))
    if "prompt_cache_hit_tokens" in usage:
        facts.append(f"cache {usage['prompt_cache_hit_tokens']:,} of {usage.get('prompt_tokens', 0):,}")
    return "\n".join(filter(str.strip, said)) or "none", facts


def _choice(answer: Any) -> dict[str, Any]:
    choices = answer.get("choices") if isinstance(answer, dict) else None
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def failure(exchange: Exchange) -> list[str]:
    """The status and our sentence when the exchange failed, without host and port."""
    url = urlsplit(exchange.url)
    error = exchange.error.replace(url.netloc or "\0", "the server").replace(url.hostname or "\0", "the server")
    if exchange.status == 200 and not error:
        return []
    return [f"status {exchange.status}" if exchange.status else "nothing came back", *([error] if error else [])]
