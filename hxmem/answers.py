"""From bytes to a reply: the events of a stream, the answer they make, and the reply with text and tool calls in it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from hxmem.errors import BadReply, unfinished
from hxmem.exchanges import clean, dig

Message = dict[str, Any]
DONE = "[DONE]"  # the data of a stream's last event


@dataclass(frozen=True)
class ToolCall:
    """One call that the model asks for; ``arguments`` is the raw text, which need not be JSON."""

    id: str
    name: str
    arguments: str

    def parse(self) -> tuple[dict[str, Any] | None, str]:
        """Return the arguments and "", or None and the reason why they can't be used."""
        try:
            value = clean(json.loads(self.arguments or "{}"))
        except (ValueError, RecursionError) as error:
            return None, f"the arguments of {self.name} are not JSON: {error}"
        return (value, "") if isinstance(value, dict) else (None, f"the arguments of {self.name} are no JSON object")

    def as_dict(self) -> dict[str, Any]:
        """Return the call as a message holds it."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True)
class Reply:
    """One answer; ``message`` is what goes back into the messages of the next request."""

    text: str
    reasoning: str | None
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: dict[str, Any]
    message: Message


def read_reply(answer: Any) -> Reply:
    """Return the reply that a chat.completion holds; the ChatError says what is wrong with one that can't be used."""
    choice = dig(answer, "choices", 0, kind=dict) or {}
    said, finish = dig(choice, "message", kind=dict), choice.get("finish_reason")
    if not said:
        raise BadReply("The answer is not one of a chat server: check DEEPSEEK_BASE_URL.", 200)
    parts = dig(said, "content", kind=list) or []  # some servers answer in parts
    text = dig(said, "content", kind=str) or "".join(dig(part, "text", kind=str) or "" for part in parts)
    reasoning = dig(said, "reasoning_content", kind=str)
    calls = tuple(_tool_call([call], number) for number, call in enumerate(dig(said, "tool_calls", kind=list) or []))
    if failure := unfinished(finish, blank=not text.strip() and not calls):
        raise failure
    message: Message = {"role": "assistant", "content": text}
    message |= {} if reasoning is None else {"reasoning_content": reasoning}  # "" goes back too
    message |= {"tool_calls": [call.as_dict() for call in calls]} if calls else {}
    return Reply(text, reasoning, calls, str(finish), dig(answer, "usage", kind=dict) or {}, message)


def events(chunks: Iterable[bytes]) -> Iterator[str]:
    r"""Yield the data of each event up to ``[DONE]``, which is missing at the end when the bytes stopped early.

    Bytes are cut at ``\n`` only and decoded a whole line at a time: no character is torn, and U+2028 ends no line.

    >>> list(events([b": keep-alive\n\nda", b"ta: 1\r\n\r\n", b"data: [DONE]"]))
    ['1', '[DONE]']
    """
    tail, data = b"", list[str]()
    for chunk in chain(chunks, [b"\n"]):
        *lines, tail = (tail + chunk).split(b"\n")
        for raw in lines:
            line = raw.decode("utf-8-sig", "replace").removesuffix("\r")
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            if data == [DONE]:
                yield DONE
                return
            if not line:
                yield from ["\n".join(data)] if any(data) else []
                data = []


def delta_text(chunk: Any) -> str:
    """Return the text that a chunk of a stream adds."""
    return dig(chunk, "choices", 0, "delta", "content", kind=str) or ""


def assemble(chunks: list[Any]) -> dict[str, Any]:
    """Return the answer that the chunks of a stream make, in the shape of one that was not streamed."""
    deltas = [dig(chunk, "choices", 0, "delta", kind=dict) for chunk in chunks]
    message: Message = {"role": "assistant", "content": "".join(map(delta_text, chunks))}
    thoughts = [thought for d in deltas if (thought := dig(d, "reasoning_content", kind=str)) is not None]
    message |= {"reasoning_content": "".join(thoughts)} if thoughts else {}
    calls: dict[int, list[Any]] = {}
    for part in (part for d in deltas for part in dig(d, "tool_calls", kind=list) or []):
        index = dig(part, "index", kind=int)  # the key: calls may interleave, and only a first part has an id
        calls.setdefault(len(calls) if index is None else index, []).append(part)
    if calls:
        message["tool_calls"] = [_tool_call(parts, index).as_dict() for index, parts in sorted(calls.items())]
    ends = [end for chunk in chunks if (end := dig(chunk, "choices", 0, "finish_reason", kind=object))]
    usage = [found for chunk in chunks if (found := dig(chunk, "usage", kind=dict))]  # may come on a chunk of its own
    head = {name: dig(chunks, 0, name, kind=object) for name in ("id", "model", "created")}
    choice = {"index": 0, "message": message, "finish_reason": ends[-1] if ends else None}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage[-1] if usage else None}


def _tool_call(parts: list[Any], number: int) -> ToolCall:
    """Return one call from its parts; looser servers send no id, and the arguments as an object."""

    def first(*path: str) -> str:
        return next((found for part in parts if (found := dig(part, *path, kind=str))), "")

    pieces = [dig(part, "function", "arguments", kind=object) or "" for part in parts]
    texts = [piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False) for piece in pieces]
    return ToolCall(first("id") or f"call_{number}", first("function", "name"), "".join(texts))
