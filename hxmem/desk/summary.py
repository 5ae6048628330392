"""The summary that takes the place of older messages: what the model is asked, and whether its reply can be used."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hxmem.answers import Message
from hxmem.credentials import mask
from hxmem.desk.cuts import parts, request_index
from hxmem.desk.estimates import message_tokens
from hxmem.language import sentences
from hxmem.plugins import SUMMARY_TAG, Ask, is_summary
from hxmem.sessions import text_of, transcript
from hxmem.text import edge, estimate_tokens, unix_lines, whole

SECTIONS = ("SESSION INTENT", "SUMMARY", "ARTIFACTS", "NEXT STEPS")
EARLIER_LABEL, CONVERSATION_LABEL = "Earlier summary:", "Conversation:"
MAX_INPUT = 80_000  # characters of the whole request
MAX_RESULT = 500  # characters of a tool's result in it
ALWAYS_FITS = 300  # tokens: a summary of that size is never too long for what it replaces

_HEADING = re.compile(rf"(?im)^#{{1,4}}[ \t]*\**({'|'.join(SECTIONS)})[*:：]*[ \t]*$")
_THINKING = re.compile(r"(?s)<(think(?:ing)?)>(?:.*?(</\1>)|.*)")
_FENCE = re.compile(r"(?s)(`{3,})[^\n`]*\n(.*)\n\1")
_REFUSAL = re.compile(
    r"(?i)\W*(i'm |i am )?(sorry|unable|afraid|i (can't|cannot|can not|won't)|很?抱歉|对不起|我无法|我不能)"
    r"(?=.{0,80}?(summar|assist|help|comply|request|摘要|总结|协助|帮|要求|请求))"
)
_NOTHING = re.compile(r"(?i)\W*(none|nothing|n/?a|无|没有)?\W*")
_TURN = re.compile(r"(?m)^\s*\[(USER|ASSISTANT|TOOL|CALL [^\]\n]*)\]:")
_OWN_TAG = re.compile(rf"(?i)<(?=/?\s*{SUMMARY_TAG})")


class BadSummary(Exception):
    """A reply that can't take the place of messages; the text says why."""


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
    """The sections of a reply; BadSummary when it can't stand for messages of `replaced` tokens.

    The sections that the instruction names must all be there, in their order, none blank and not all of them None.
    A thinking part, one fence around everything and a sentence before the first heading are taken off.

    >>> read_summary("Here it is:\\n## SUMMARY:\\nThe user likes tea.", "## SUMMARY")
    '## SUMMARY\\nThe user likes tea.'
    """
    text = _unwrapped(reply)
    if _echoes(text, instruction):
        raise BadSummary("the reply repeats what was sent")
    wanted = [name for name in SECTIONS if re.search(rf"(?m)^## {name}$", instruction)]
    if wanted:
        text = _sections(text, wanted)
    elif _REFUSAL.match(text):
        raise BadSummary("the reply is a refusal")
    if estimate_tokens(text) > max(ALWAYS_FITS, replaced):
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


def _unwrapped(reply: str) -> str:
    """A reply without its thinking part and one fence around the rest."""
    text = unix_lines(reply).strip() if isinstance(reply, str) else ""
    if thinking := _THINKING.match(text):
        text = text[thinking.end() :].strip()
        if not text:
            raise BadSummary("the reply holds nothing but thinking")
    if fence := _FENCE.fullmatch(text):
        text = fence[2].strip()
    elif text.startswith("```"):
        raise BadSummary("the reply breaks off inside a fence")
    if not text:
        raise BadSummary("the reply is empty")
    return text


def _sections(text: str, wanted: Sequence[str]) -> str:
    """The wanted sections in the form in which they are kept."""
    headings = list(_HEADING.finditer(text))
    if _REFUSAL.match(text[headings[0].end() :] if headings else text):
        raise BadSummary("the reply is a refusal")
    names = [heading[1].upper() for heading in headings]
    if missing := [name for name in wanted if name not in names]:
        raise BadSummary(f"the reply has no section {missing[0]}")
    if names != list(wanted):
        raise BadSummary("the sections of the reply are not in their order, each once")
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    bodies = [text[heading.end() : end].strip() for heading, end in zip(headings, ends, strict=True)]
    if "" in bodies:
        raise BadSummary(f"the section {names[bodies.index('')]} of the reply is blank")
    if all(map(_NOTHING.fullmatch, bodies)):
        raise BadSummary("the reply says None in every section")
    return "\n\n".join(f"## {name}\n{body}" for name, body in zip(names, bodies, strict=True))


def _echoes(text: str, instruction: str) -> bool:
    """Whether a reply repeats a line of the instruction, or turns of the conversation."""
    told = {line.strip() for line in instruction.splitlines() if len(line) >= 16 and not line.startswith("#")}
    return len(_TURN.findall(text)) > 2 or any(line.strip() in told for line in text.splitlines())


def _bounded(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    mark = "\n[...]\n"
    head, tail = edge(text, limit // 4, -1), edge(text, len(text) - max(0, limit - limit // 4 - len(mark)), 1)
    return text[:head] + mark + text[tail:]
