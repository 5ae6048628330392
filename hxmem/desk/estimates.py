"""How many tokens a request takes: estimated before it is sent, corrected by what the server counted afterwards."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hxmem.answers import Message
from hxmem.plugins import Session
from hxmem.sessions import text_of
from hxmem.text import estimate_tokens

MESSAGE, CALL, RESULT = 5, 10, 8  # tokens around a message, a tool call and a tool result; AgentScope's values
_LEAST, _MOST = 0.25, 4.0  # a correction outside of these is a server's fault, not a tokenizer's


def message_tokens(message: Message) -> int:
    """The tokens of one message: its text, its reasoning, its tool calls with their arguments.

    >>> message_tokens({"role": "user", "content": "书桌 and 抽屉"})
    9
    """
    calls = message.get("tool_calls") or ()
    texts = [text_of(message), str(message.get("reasoning_content") or "")]
    for call in calls:
        texts += [str(call.get("function", {}).get(name) or "") for name in ("name", "arguments")]
    around = MESSAGE + CALL * len(calls) + (RESULT if message.get("role") == "tool" else 0)
    return around + sum(map(estimate_tokens, texts))


def request_tokens(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> int:
    """The tokens of a whole request: the system text with its sections, all messages, and the schemas of the tools."""
    schemas = estimate_tokens(json.dumps(list(tools), ensure_ascii=False)) if tools else 0
    return schemas + sum(map(message_tokens, messages))


class Estimator:
    """Estimates the requests of a conversation, and learns from the `usage` of the answers."""

    def __init__(self) -> None:
        self.scale = 1.0  # what the server counted, divided by what was estimated

    def learn(self, session: Session) -> None:
        """Take in what the server counted for the last request; a server that counts nothing changes nothing."""
        counted = session.usage.get("prompt_tokens")
        if type(counted) is int and counted > 0 and session.sent:
            self.scale = min(_MOST, max(_LEAST, counted / request_tokens(session.sent, session.tools)))

    def tokens(self, session: Session, messages: Sequence[Message] | None = None) -> int:
        """The tokens of the session's next request, or of that request with other messages on the desk."""
        listed = session.messages if messages is None else messages
        return round(self.scale * request_tokens(listed, session.tools))
