"""Reads a conversation that a request carries as text: `[USER]: ...`, further lines indented by two spaces."""

import re
from dataclasses import dataclass

from hxmem.classroom.cues import pattern
from hxmem.classroom.statements import is_question, sentences, statements
from hxmem.classroom.vocabulary import HAN

_TURN = re.compile(r"^\[(?P<role>[A-Z]+)(?: (?P<name>[^\]\n]*))?\]: ?(?P<text>.*(?:\n(?:  .*|[ \t]*$))*)", re.M)
_WORD = re.compile(r"[A-Za-z][\w'-]*")
_OURS = re.compile(r"\A<(\w+)\b[^>]*>.*?</\1>\s*(?:User request:\s*\n)?", re.S)  # blocks in front of what was said


@dataclass(frozen=True)
class Turn:
    """One turn; `name` is the tool of a call."""

    role: str
    text: str
    name: str = ""


def turns(transcript: str) -> list[Turn]:
    """The turns of a transcript, in their order.

    >>> turns("[USER]: Hello\\n  there\\n[CALL read_file]: {}")
    [Turn(role='USER', text='Hello\\nthere', name=''), Turn(role='CALL', text='{}', name='read_file')]
    """
    found = []
    for turn in _TURN.finditer(transcript):
        text = "\n".join(line.removeprefix("  ") for line in turn["text"].splitlines()).strip()
        found.append(Turn(turn["role"], _said(text) if turn["role"] == "USER" else text, turn["name"] or ""))
    return found


def _said(text: str) -> str:
    while (shorter := _OURS.sub("", text, count=1)) != text:
        text = shorter
    return text


def request_in(text: str) -> str:
    """What a message of the user asks or orders, in one line; "" when it states something, or is small talk.

    >>> request_in("Remember: we use uv. How do I add a package?"), request_in("谢谢！")
    ('How do I add a package?', '')
    """
    kept = [fact.full for fact in statements(text)]
    rest = [sentence for sentence in sentences(text) if not any(full in sentence for full in kept)]
    rest = [sentence for sentence in rest if not _empty(sentence)]
    asked = [sentence for sentence in rest if is_question(sentence) or pattern("task").search(sentence)]
    return " ".join(" ".join(asked or rest).split())


def _empty(sentence: str) -> bool:
    """Whether a sentence is small talk, or a mere "remember this:"."""
    rest = pattern("remember_after").sub("", pattern("remember").sub("", sentence)).strip(" :：")
    return not rest or bool(pattern("small_talk").search(sentence.strip("。.！!，, ")))


def mainly_chinese(text: str) -> bool:
    """Whether a text has more Chinese in it than words of other languages.

    >>> mainly_chinese("我们用 PostgreSQL 保存订单"), mainly_chinese("The word 抽屉 means drawer")
    (True, False)
    """
    return len(HAN.findall(text)) > 1.5 * len(_WORD.findall(text))


def shortened(text: str, limit: int) -> str:
    """A text in one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
