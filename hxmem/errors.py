"""What can go wrong with a request: one class a kind, one sentence a case, and who may be asked again."""

import re
from typing import Any

import httpx

from hxmem.exchanges import dig


class ChatError(Exception):
    """A request without a usable answer; the text is one sentence that says what to do."""

    transient = False  # another try may succeed
    shown = False  # a part of the answer was given to on_text already

    def __init__(self, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status


class _Transient(ChatError):
    transient = True


class BadSetting(ChatError):
    """The base URL, the key or the proxy settings can't be used, or DeepSeek's key is missing."""


class WrongKey(ChatError):
    """The server refuses the key (401, 403)."""


class NoBalance(ChatError):
    """The account has no money left (402)."""


class BadRequest(ChatError):
    """The server can't use this request (400, 404, 422)."""


class ModelRetired(BadRequest):
    """The server does not serve this model, or no longer."""


class ContextOverflow(BadRequest):
    """The messages are longer than the model's context."""


class RateLimited(_Transient):
    """Too many requests at once (429)."""


class ServerBusy(_Transient):
    """The server is overloaded or failed (5xx)."""


class NoNetwork(_Transient):
    """No connection to the server."""


class TimedOut(_Transient):
    """The answer took too long."""


class StreamCut(_Transient):
    """The connection ended before the answer did."""


class EmptyAnswer(_Transient):
    """The answer is complete but holds no text and no tool call."""


class CutAnswer(ChatError):
    """max_tokens was used up before the answer was complete, or before any text came."""


class BadReply(ChatError):
    """The answer is not one of a chat server, or did not end as answers do."""


_BY_STATUS: dict[int, tuple[type[ChatError], str]] = {
    401: (WrongKey, "The server refuses the key: check DEEPSEEK_API_KEY"),
    402: (NoBalance, "The account has no balance left: top it up, or unset DEEPSEEK_API_KEY to use the classroom"),
    403: (WrongKey, "The server denies this key access: check DEEPSEEK_API_KEY"),
    404: (BadRequest, "The server has nothing at this address: check DEEPSEEK_BASE_URL"),
    413: (ContextOverflow, "The request is too large: shorten the conversation"),
    429: (RateLimited, "Too many requests: wait a little, send fewer at once, or top up the account"),
    500: (ServerBusy, "The server is too busy or has failed: try again later"),
}
_BY_TYPE = {"authentication_error": 401, "rate_limit_error": 429, "service_unavailable_error": 503, "server_error": 500}
_OVERFLOW = re.compile(  # the words of DeepSeek, OpenAI, Anthropic and llama.cpp
    r"(?i)context[_ ](length|window|size)|maximum context|(prompt|input)(_| is )too[_ ]long|too many tokens|token limit"
    r"|exceeds? the model's maximum|reduce the length|input tokens?( count)?[^.]{0,24} exceed"
)
_NO_MODEL = re.compile(
    r"(?i)model names are (?P<names>.+?),? but you passed|model_not_found|unknown model|no such model"
    r"|\bmodel\b.{0,80}?(not found|not exist|not supported|not available)"
)


def refusal(status: int, answer: Any, model: str) -> ChatError:
    """Return the error for an answer that is none: a bad status, or an error envelope around status 200."""
    error = dig(answer, "error", kind=object) or answer
    said = next((text for path in ((), ("message",), ("detail",)) if (text := dig(error, *path, kind=str))), "")
    said, kind, code = " ".join(said.split())[:2000], dig(error, "type", kind=str), dig(error, "code", kind=object)
    if 200 <= status < 300:
        in_words = 402 if "insufficient balance" in said.lower() else 400
        status = code if isinstance(code, int) else _BY_TYPE.get(kind or "", in_words)
    case = 500 if status >= 500 else 404 if 300 <= status < 400 or status == 405 else status  # 3xx: a moved address
    failure, sentence = _BY_STATUS.get(case, (BadRequest, "The server can't use this request: change it"))
    names = ""
    if failure is BadRequest and _OVERFLOW.search(f"{said} {kind} {code}"):
        failure, sentence = (
            ContextOverflow,
            "The messages are too long for the model: shorten them, or give the agent a Desk()",
        )
    elif failure is BadRequest and (found := _NO_MODEL.search(f"{said} {code}")):
        names = (found["names"] or "")[:240]
        wanted = f"one of {names}" if names else "a model that it serves"
        failure, sentence = ModelRetired, f"The server does not serve the model {model}: set DEEPSEEK_MODEL to {wanted}"
    if said and not names and not said.startswith("<"):
        sentence += f' (the server said "{said if len(said) <= 240 else said[:240] + "..."}")'
    made = failure(sentence + ".", status)
    made.transient = status in (429, 500, 502, 503, 504)
    return made


def unfinished(finish: Any, blank: bool) -> ChatError | None:
    """Return the error for an answer that ended with this finish_reason, None where it ended well."""
    if finish is None:
        return StreamCut("The answer has no finish_reason, so it may be cut: try again.", 200)
    if finish == "insufficient_system_resource":
        return ServerBusy("The server ran out of capacity in the middle of the answer: try again later.", 200)
    if finish == "content_filter":
        return BadReply("The server's content filter stopped the answer: say it in other words.", 200)
    if finish not in ("stop", "length", "tool_calls"):
        return BadReply(f"The answer ended with {str(finish)[:40]!r} instead of a known reason: try again.", 200)
    if blank and finish == "length":
        return CutAnswer("max_tokens was used up before any text came: raise max_tokens, or turn thinking off.", 200)
    return EmptyAnswer("The answer is empty: try again, or put the request in other words.", 200) if blank else None


def broken(problem: httpx.HTTPError, host: str) -> ChatError:
    """Return the error for a connection that failed."""
    reason = f" ({problem})." if str(problem) else "."
    if isinstance(problem, httpx.TimeoutException):
        return TimedOut(f"No answer from {host} in time: try again later{reason}")
    if isinstance(problem, (httpx.ConnectError, httpx.ProxyError)):
        return NoNetwork(f"No connection to {host}: check the network, the proxy and DEEPSEEK_BASE_URL{reason}")
    return StreamCut(f"The connection to {host} broke before the answer was complete: try again{reason}")
