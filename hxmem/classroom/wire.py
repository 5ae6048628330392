"""The shapes of DeepSeek's chat protocol: what a request must look like, what an answer looks like."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hxmem.text import estimate_tokens

MODELS = ("deepseek-flash", "deepseek-v4-pro")
ALIASES = ("deepseek-v4-flash", "deepseek-v4-flash-vision-exp", "classroom")
ROLES = ("system", "user", "assistant", "tool", "latest_reminder")
MAX_OUTPUT = 393_216
CACHE_BLOCK = 128  # tokens; measured by others in August and September 2026, not documented by the vendor
CREATED = 1_795_900_000  # a fixed number, so that stored answers are the same on each machine


class ApiError(Exception):
    """An error envelope with its HTTP status."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message

    def body(self) -> dict[str, Any]:
        """The envelope, as the vendor sends it: `param` is null, `code` rarely says more than the status."""
        code = self.kind if self.kind == "service_unavailable_error" else "invalid_request_error"
        return {"error": {"message": self.message, "type": self.kind, "param": None, "code": code}}


@dataclass(frozen=True)
class ToolCall:
    """One call of a function; `arguments` is JSON text, as on the wire."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Reply:
    """What the rules answer, before it is put into the protocol's envelope."""

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str | None = "stop"


def bad_request(message: str) -> ApiError:
    """A 400, the status of every fault in the body."""
    return ApiError(400, "invalid_request_error", message)


def content_text(message: dict[str, Any]) -> str:
    """The text of a message, whether it is a string, a list of parts or null."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def thinking(body: dict[str, Any]) -> bool:
    """Whether the request is answered in thinking mode, which is on when nothing is said."""
    field = body.get("thinking")
    off = isinstance(field, dict) and field.get("type") == "disabled"
    return not off and body.get("reasoning_effort") != "none"


def parse_body(raw: bytes) -> dict[str, Any]:
    """The request body as a mapping; ApiError 400 when it is not one."""
    try:
        body = json.loads(raw.decode("utf-8"))
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise bad_request("Failed to parse the request body as JSON: unexpected end of hex escape") from error
    except ValueError as error:
        raise bad_request(f"Failed to parse the request body as JSON: {error}") from error
    if not isinstance(body, dict):
        raise bad_request("Failed to deserialize the JSON body into the target type: expected a map")
    return body


def validate(body: dict[str, Any]) -> None:
    """Raise the 400 that the real service gives; unknown fields are let through, as there."""
    model, messages = body.get("model"), body.get("messages")
    if model not in MODELS + ALIASES:
        names = ", ".join(MODELS)
        raise bad_request(f"The supported API model names are {names}, but you passed {model}.")
    if not isinstance(messages, list) or not messages:
        raise bad_request("Failed to deserialize the JSON body into the target type: missing field `messages`")
    _check_numbers(body)
    _check_format(body, messages)
    for index, message in enumerate(messages):
        _check_message(index, message)
    _check_tool_answers(messages)
    if thinking(body):
        _check_thinking(body, messages)


def _check_numbers(body: dict[str, Any]) -> None:
    limit, count = body.get("max_tokens"), body.get("n")
    if limit is not None and (type(limit) is not int or not 1 <= limit <= MAX_OUTPUT):
        raise bad_request(f"Invalid max_tokens value, the valid range of max_tokens is [1, {MAX_OUTPUT}]")
    if count not in (None, 1):
        raise bad_request("Invalid n value (currently only n = 1 is supported)")
    if body.get("stream_options") is not None and body.get("stream") is not True:
        raise bad_request("stream_options should be set along with stream = true")


def _check_format(body: dict[str, Any], messages: list[Any]) -> None:
    form = body.get("response_format")
    kind = form.get("type") if isinstance(form, dict) else "text"
    if kind not in ("text", "json_object"):
        raise bad_request("This response_format type is unavailable now")
    if kind == "json_object" and "json" not in json.dumps(messages).lower():
        word = "Prompt must contain the word 'json' in some form"
        raise bad_request(f"{word} to use 'response_format' of type 'json_object'")


def _check_message(index: int, message: Any) -> None:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in ROLES:
        where = f"messages[{index}].role: unknown variant `{role}`, expected one of "
        listed = ", ".join(f"`{name}`" for name in ROLES)
        raise bad_request(f"Failed to deserialize the JSON body into the target type: {where}{listed}")
    if role == "assistant" and message.get("content") is None and not message.get("tool_calls"):
        raise bad_request("Invalid assistant message: content or tool_calls must be set")


def _check_tool_answers(messages: list[dict[str, Any]]) -> None:
    for index, message in enumerate(messages):
        wanted = {call.get("id") for call in message.get("tool_calls") or ()}
        for later in messages[index + 1 :]:
            if later["role"] != "tool":
                break
            wanted.discard(later.get("tool_call_id"))
        if wanted:
            raise bad_request(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. (insufficient tool messages following tool_calls message)"
            )


def _check_thinking(body: dict[str, Any], messages: list[dict[str, Any]]) -> None:
    if body.get("tool_choice") not in (None, "auto", "none"):
        raise bad_request("Thinking mode does not support this tool_choice")
    silent = any(m["role"] == "assistant" and m.get("reasoning_content") is None for m in messages)
    if body.get("tools") and silent:
        raise bad_request("The `reasoning_content` in the thinking mode must be passed back to the API.")


def prompt_text(body: dict[str, Any]) -> str:
    """All that counts as input, in a fixed order, so that equal beginnings are equal text."""
    parts = [body.get("tools") or [], *body["messages"]]
    return "\n".join(json.dumps(part, ensure_ascii=False) for part in parts)


def request_tokens(body: dict[str, Any]) -> int:
    """The estimated tokens of a request, as `usage` counts them."""
    return estimate_tokens(prompt_text(body))


def common_prefix(first: str, second: str) -> str:
    """The beginning that two texts share.

    >>> common_prefix("desk and drawer", "desk and lamp")
    'desk and '
    """
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first.startswith(second[:middle]) else (low, middle - 1)
    return first[:low]


def usage(prompt: str, earlier: list[str], reply: Reply, think: bool) -> dict[str, Any]:
    """Token counts that add up; a cache hit is the longest shared beginning, in whole blocks (a model of the cache)."""
    shared = max((len(common_prefix(prompt, other)) for other in earlier), default=0)
    sent = estimate_tokens(prompt)
    hit = min(estimate_tokens(prompt[:shared]), sent) // CACHE_BLOCK * CACHE_BLOCK
    thought = estimate_tokens(reply.reasoning) if think else 0
    calls = sum(estimate_tokens(call.name + call.arguments) for call in reply.tool_calls)
    written = thought + estimate_tokens(reply.text) + calls
    counts: dict[str, Any] = {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}
    counts["prompt_tokens_details"] = {"cached_tokens": hit}
    counts |= {"prompt_cache_hit_tokens": hit, "prompt_cache_miss_tokens": sent - hit}
    if think:
        counts["completion_tokens_details"] = {"reasoning_tokens": thought}
    return counts


def within(reply: Reply, budget: int | None, think: bool) -> Reply:
    """The reply cut to `max_tokens`: reasoning comes first and eats the same budget; `length` says that it was cut."""
    if budget is None or reply.tool_calls:
        return reply
    reasoning = _cut(reply.reasoning, budget) if think else reply.reasoning
    text = _cut(reply.text, budget - (estimate_tokens(reasoning) if think else 0))
    whole = (reasoning, text) == (reply.reasoning, reply.text)
    return reply if whole else replace(reply, reasoning=reasoning, text=text, finish="length")


def _cut(text: str, budget: int) -> str:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) <= budget else (low, middle - 1)
    return text[:low]


def completion(number: int, reply: Reply, counts: dict[str, Any], think: bool) -> dict[str, Any]:
    """The body of an answer that comes in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if think:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [_call(number, at, call) for at, call in enumerate(reply.tool_calls)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish}
    return _head(number, "chat.completion") | {"choices": [choice], "usage": counts}


def chunks(number: int, reply: Reply, counts: dict[str, Any], think: bool, counted: bool) -> Iterator[dict[str, Any]]:
    """The same answer as a stream: reasoning, text, tool calls in fragments, then one empty piece with the usage."""

    def chunk(delta: dict[str, Any], finish: str | None = None, final: bool = False) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        body = _head(number, "chat.completion.chunk") | {"choices": [choice]}
        return body | {"usage": counts if final else None} if counted or final else body

    quiet: dict[str, Any] = {"reasoning_content": None} if think else {}
    first: dict[str, Any] = {"role": "assistant", "content": None if think else ""}
    yield chunk(first | ({"reasoning_content": ""} if think else {}))
    for piece in _pieces(reply.reasoning) if think else ():
        yield chunk({"content": None, "reasoning_content": piece})
    for piece in _pieces(reply.text):
        yield chunk({"content": piece} | quiet)
    for at, call in enumerate(reply.tool_calls):
        opened = _call(number, at, replace(call, arguments=""))
        yield chunk({"tool_calls": [{"index": at} | opened]})
        for piece in _pieces(call.arguments):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({"content": ""} | quiet, reply.finish, final=True)


def _head(number: int, kind: str) -> dict[str, Any]:
    head = {"id": f"classroom-{number}", "object": kind, "created": CREATED + number}
    return head | {"model": "classroom", "system_fingerprint": "fp_classroom"}


def _call(number: int, at: int, call: ToolCall) -> dict[str, Any]:
    made = {"id": f"call_{at:02}_classroom{number:015}", "type": "function"}
    return made | {"function": {"name": call.name, "arguments": call.arguments}}


def _pieces(text: str, size: int = 3) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
