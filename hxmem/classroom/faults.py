"""The ways in which a real service goes wrong, to be had on request."""

import json
from collections import Counter
from dataclasses import dataclass, replace

from hxmem.classroom.wire import ApiError, Reply, ToolCall

PURPOSES = ("side-query", "extraction", "answer", "summary", "flush", "consolidation")
_LISTS = PURPOSES[3:]  # purposes that are answered in Markdown
BUSY = "Service is too busy. We advise users to temporarily switch to alternative LLM API service providers."
CROWDED = (
    "Too many requests. Your current concurrency is 26, which exceeds your concurrency limit of 25 based on your "
    "remaining balance. Please top up your balance to restore your concurrency."
)
WINDOW = 1_048_576  # tokens, DeepSeek's context

KINDS: dict[str, str] = {
    "400-model": "HTTP 400, as for a retired model name",
    "400-context": "HTTP 400, the request is longer than the context",
    "overflow": "HTTP 400, as 400-context for a context that this very request just exceeds",
    "401": "HTTP 401, the key is wrong",
    "402": "HTTP 402, no balance",
    "429": "HTTP 429 with Retry-After: 1",
    "500": "HTTP 500",
    "503": "HTTP 503, too busy",
    "octet-stream": "HTTP 429 whose JSON is labelled application/octet-stream",
    "error-200": "the error envelope under status 200",
    "html": "an HTML error page under status 502",
    "html-200": "an HTML error page under status 200",
    "timeout": "nothing is ever sent; the client's patience decides",
    "reset": "the connection is reset before an answer",
    "cut-body": "the body ends in the middle, then the connection closes",
    "eof": "a stream ends without [DONE]; otherwise as cut-body",
    "stall": "a stream goes silent after some pieces; otherwise as timeout",
    "keep-alive": "comments or blank lines before the answer, which then comes whole",
    "bytewise": "every byte alone, so that characters are split",
    "u2028": "raw U+2028 and U+0085 in the text",
    "cut-json": "the text is cut in half, finish_reason length",
    "starved": "all tokens go into thinking: empty text, finish_reason length",
    "blank": "64 spaces, finish_reason stop",
    "reasoning-only": "thinking but no text, finish_reason stop",
    "no-finish": "finish_reason is missing",
    "prose": "sentences where JSON or a list was asked for",
    "fence": "the right answer inside a code fence",
    "talkative": "prose around the right answer; where an array was asked for, with several, the right one last",
    "out-of-range": "[99]; where a text was asked for, one that is far too long",
    "bool": "[true]; where a text was asked for, the word true",
    "bad-item": "one item that cannot be used in front of the good ones",
    "bad-arguments": "tool arguments that are one brace short; a text is cut by its last character",
    "partial": "the first half, then [rest unchanged]",
    "refusal": "a refusal in place of the answer",
    "nonsense": "words without sense, the same ones each time",
}

_STATUS: dict[str, tuple[int, str, str]] = {
    "400-model": (
        400,
        "invalid_request_error",
        "The supported API model names are deepseek-flash, deepseek-v4-pro, but you passed deepseek-chat.",
    ),
    "401": (401, "authentication_error", "Authentication Fails, Your api key: ****0000 is invalid"),
    "402": (402, "unknown_error", "Insufficient Balance"),
    "429": (429, "rate_limit_error", CROWDED),
    "500": (500, "server_error", "The server had an error while processing your request."),
    "503": (503, "service_unavailable_error", BUSY),
    "octet-stream": (429, "rate_limit_error", CROWDED),
    "error-200": (200, "service_unavailable_error", BUSY),
}


class UnknownFault(ValueError):
    """A fault that the classroom does not have."""


@dataclass(frozen=True)
class Fault:
    """One rule: which kind, for which purpose (empty: every one), how often (0: always)."""

    kind: str
    purpose: str = ""
    times: int = 0


@dataclass(frozen=True)
class Faults:
    """Which requests are to go wrong, and how.

    >>> Faults.parse("side-query=429*2, extraction=prose").pick("extraction", Counter())
    Fault(kind='prose', purpose='extraction', times=0)
    """

    rules: tuple[Fault, ...] = ()

    @classmethod
    def parse(cls, text: str | None) -> "Faults":
        """Read `KIND`, `KIND*2` (the first two only) or `purpose=KIND`, several with commas; UnknownFault otherwise."""
        return cls(tuple(_rule(part.strip()) for part in (text or "").split(",") if part.strip()))

    def pick(self, purpose: str, used: Counter[Fault]) -> Fault | None:
        """The first rule that fits this purpose and is not used up; the caller counts."""
        for rule in self.rules:
            if rule.purpose in ("", purpose) and (not rule.times or used[rule] < rule.times):
                return rule
        return None


def _rule(text: str) -> Fault:
    left, equals, right = text.partition("=")
    kind, star, times = (right if equals else left).partition("*")
    purpose = left.strip() if equals else ""
    if purpose and purpose not in PURPOSES:
        raise UnknownFault(f"There is no kind of request {purpose!r}; use one of: {', '.join(PURPOSES)}.")
    if kind.strip() not in KINDS:
        raise UnknownFault(f"There is no fault {kind.strip()!r}; use one of: {', '.join(KINDS)}.")
    if star and not (times.strip().isdecimal() and int(times)):
        raise UnknownFault(f"{text!r} needs a number from 1 on after the star, as in 429*2.")
    return Fault(kind.strip(), purpose, int(times) if star else 0)


def error_of(kind: str, sent: int = 0, reserved: int = 0) -> ApiError | None:
    """The error envelope of a fault that is one; `sent` and `reserved` are tokens of the request and for its answer."""
    if kind == "400-context":
        return too_long(WINDOW, 1_060_828, 8)
    if kind == "overflow":
        return too_long(max(1, sent + reserved - 1), sent, reserved)
    return ApiError(*_STATUS[kind]) if kind in _STATUS else None


def too_long(window: int, sent: int, reserved: int) -> ApiError:
    """The 400 for a request that exceeds the context, in the vendor's words.

    >>> too_long(4096, 5000, 8).message[:84]
    "This model's maximum context length is 4096 tokens. However, you requested 5008 toke"
    """
    message = (
        f"This model's maximum context length is {window} tokens. However, you requested {sent + reserved} tokens "
        f"({sent} in the messages, {reserved} in the completion). "
        "Please reduce the length of the messages or completion."
    )
    return ApiError(400, "invalid_request_error", message)


def spoil(kind: str, reply: Reply, purpose: str) -> Reply:
    """The reply as a fault of its content leaves it; unchanged for the faults of the transport.

    >>> spoil("out-of-range", Reply("[0]"), "side-query").text
    '[99]'
    """
    text = reply.text
    if kind == "cut-json":
        return replace(reply, text=text[: len(text) // 2] if len(text) > 2 else text[:1], finish="length")
    if kind == "starved":
        return Reply("", reply.reasoning, (), "length")
    if kind == "reasoning-only":
        return Reply("", reply.reasoning)
    if kind == "no-finish":
        return replace(reply, finish=None)
    if kind == "bad-arguments":
        broken = tuple(ToolCall(call.name, call.arguments[:-1]) for call in reply.tool_calls)
        return replace(reply, text=text if broken else text[:-1], tool_calls=broken)
    changed = _texts(text, purpose).get(kind)
    return reply if changed is None else Reply(changed, reply.reasoning)


def _texts(text: str, purpose: str) -> dict[str, str]:
    spoiled: dict[str, object] = {"name": "../../x", "type": "user", "description": "", "body": ""}
    spoilt = {
        "blank": " " * 64,
        "prose": "I looked at all of it and I think that the first one may fit. 我觉得第一条可能有关。",
        "fence": f"```json\n{text}\n```",
        "talkative": f"Not [], and an example would be [7] or [1, 2].\n\nThe answer: {text}\n\nAnything else?",
        "out-of-range": "[99]",
        "bool": "[true]",
        "bad-item": _with_item(text, spoiled if purpose == "extraction" else "0"),
        "u2028": f"{text}\u2028\u0085",
        "partial": _partial(text),
        "refusal": "I'm sorry, but I can't help with that request. 抱歉，我不能处理这个请求。",
        "nonsense": 'lamp ][ seven, {under: the} 雨 of \\ [[ never " 42 } moss,, 河',
    }
    return spoilt | (_markdown(text) if purpose in _LISTS else {})


def _markdown(text: str) -> dict[str, str]:
    """The kinds that look different where a list or sections in Markdown were asked for."""
    more = "\n".join(f"- Note {number}: nothing in particular, at some length." for number in range(2_000))
    return {
        "prose": "I read all of it. The two of you spoke about several things. 我读完了，里面谈到了好几件事。",
        "fence": f"```markdown\n{text}\n```",
        "talkative": f"Sure, here it is:\n\n{text}\n\nAnything else?",
        "out-of-range": f"{text}\n{more}",
        "bool": "true",
        "bad-item": f"- \n{text}",
    }


def _partial(text: str) -> str:
    lines = text.split("\n")
    return "\n".join([*lines[: len(lines) // 2], "[rest unchanged]"])


def _with_item(text: str, item: object) -> str:
    try:
        items = json.loads(text)
    except ValueError:
        return text
    return json.dumps([item, *items], ensure_ascii=False) if isinstance(items, list) else text


def summary() -> list[tuple[str, str]]:
    """Every kind with its explanation, for a help text."""
    return list(KINDS.items())
