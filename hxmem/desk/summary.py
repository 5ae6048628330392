"""The summary that takes the place of older messages: what the model is asked, and the message made of its reply."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hxmem.answers import Message
from hxmem.credentials import mask
from hxmem.desk.cuts import parts, request_index
from hxmem.desk.estimates import message_tokens
from hxmem.desk.sections import SECTIONS, BadSummary, read_sections
from hxmem.language import sentences
from hxmem.plugins import SUMMARY_TAG, Ask, is_summary
from hxmem.sessions import text_of, transcript
from hxmem.text import edge, estimate_tokens, whole

__all__ = ["SECTIONS", "BadSummary"]

EARLIER_LABEL, CONVERSATION_LABEL = "Earlier summary:", "Conversation:"
MAX_INPUT = 80_000  # characters of the whole request
MAX_RESULT = 500  # characters of a tool's result in it
SPARE = (
    300  # tokens by which a summary may be longer than what it replaces: its headings, and the bounds of an estimate
)

_OWN_TAG = re.compile(rf"(?i)<(?=/?\s*{SUMMARY_TAG})")


@dataclass(frozen=True)
class Division:
    """A desk that is about to be cut: `prefix` is all before the tail; of it `request`, the current one, stays."""

    system: list[Message]
    prefix: list[Message]
    request: list[Message]
    tail: list[Message]

    @property
    def leaving(self) -> list[Message]:
        """What somebody said and will no longer stand on the desk."""
        kept = [id(message) for message in self.request]
        return [message for message in self.prefix if id(message) not in kept and not is_summary(message)]

    def desk(self, summary: Message) -> list[Message]:
        """The messages with a summary in the place of the prefix."""
        return [*self.system, summary, *self.request, *self.tail]


def divide(messages: Sequence[Message], place: int) -> Division:
    """The parts of a desk that is cut at a place."""
    system, prefix, tail = parts(messages, place)
    at = request_index(messages)
    return Division(system, prefix, [messages[at]] if 0 <= at < place else [], tail)


def summarise(division: Division, ask: Ask, lang: str = "", prompt: str = "", limit: int = MAX_INPUT) -> str:
    """The text that takes the place of a prefix; raises BadSummary, or what `ask` raises."""
    instruction = prompt or sentences(__file__, lang)["summary"].strip()
    replaced = sum(map(message_tokens, division.prefix)) - sum(map(message_tokens, division.request))
    reply = ask([{"role": "user", "content": request_text(division.prefix, instruction, limit)}])
    return read_summary(reply, instruction, replaced)


def request_text(prefix: Sequence[Message], instruction: str, limit: int = MAX_INPUT) -> str:
    """What the model is asked; a custom instruction says where the messages stand by `{messages}`.

    Too long a text loses its middle: a quarter of what is kept is its start, three quarters its end.
    """
    earlier = _bounded(earlier_summary(prefix), limit // 2) or "(none)"
    frame = instruction if "{messages}" in instruction else instruction + "\n\n{messages}"
    labels = f"{EARLIER_LABEL}\n{earlier}\n\n{CONVERSATION_LABEL}\n"
    room = max(0, limit - len(frame) - len(labels))
    return frame.replace("{messages}", labels + _bounded(transcript(prefix, result=MAX_RESULT), room), 1)


def read_summary(reply: str, instruction: str = "", replaced: int = 0) -> str:
    """The sections of a reply; BadSummary when it can't stand for messages of `replaced` tokens."""
    text = read_sections(reply, instruction, replaced)
    if estimate_tokens(text) > replaced + SPARE:
        raise BadSummary("the reply is longer than what it replaces")
    return mask(whole(text)).text


def summary_message(text: str, lang: str = "", archive: str = "") -> Message:
    """The message on the desk: what it is, where the whole text stands, and the sections."""
    words = sentences(__file__, lang)
    place = words["summary_place"].format(archive=archive) if archive else ""
    tag = f'{SUMMARY_TAG} archive="{archive}"' if archive else SUMMARY_TAG
    body = _OWN_TAG.sub("&lt;", text)
    return {"role": "user", "content": f"<{tag}>\n{words['summary_head']}{place}\n\n{body}\n</{SUMMARY_TAG}>"}


def earlier_summary(messages: Sequence[Message]) -> str:
    """What summaries among the messages say, without what stands around it; "" when there is none."""
    bodies = [text_of(message).partition("\n\n")[2] for message in messages if is_summary(message)]
    return "\n\n".join(body.removesuffix(f"</{SUMMARY_TAG}>").strip() for body in bodies if body)


def _bounded(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    mark = "\n[...]\n"
    head, tail = edge(text, limit // 4, -1), edge(text, len(text) - max(0, limit - limit // 4 - len(mark)), 1)
    return text[:head] + mark + text[tail:]
