"""What a user says that outlives the conversation: statements, decisions, and promises with a date."""

import re
from dataclasses import replace
from datetime import date, timedelta

from hxmem.classroom.cues import pattern
from hxmem.classroom.statements import LONGEST, QUOTED, Statement, is_question, sentences, statements

_DAYS_ZH = {
    "大后天": 3, "后天": 2, "明天": 1, "明日": 1, "明早": 1, "明晚": 1, "今天": 0, "今日": 0, "今早": 0, "今晚": 0,
    "昨天": -1, "昨日": -1, "昨晚": -1, "大前天": -3, "前天": -2,
}  # fmt: skip
_DAYS_EN = {
    "the day after tomorrow": 2, "the day before yesterday": -2, "tomorrow": 1, "today": 0, "tonight": 0,
    "yesterday": -1,
}  # fmt: skip
_PARTS = {"早": "早上", "晚": "晚上"}
_ZH = re.compile(rf"\s*(?<!以)(?P<day>{'|'.join(_DAYS_ZH)})\s*")
_EN = re.compile(
    rf"\b(?P<before>(?:by|to|until|till|before|after|from|since|for|on|due|as of) )?(?P<day>{'|'.join(_DAYS_EN)})\b",
    re.I,
)


def facts(text: str, today: str = "") -> list[Statement]:
    """All that one message says and that is worth a line; a day such as "tomorrow" becomes a date when `today` is one.

    >>> [fact.text for fact in facts("Thanks! I'll send the draft to Mia tomorrow. How long is it?", "2026-11-30")]
    ["I'll send the draft to Mia on 2026-12-01"]
    """
    kept, found = statements(text), list[Statement]()
    for sentence in sentences(text):
        found += [fact for fact in kept if fact.full in sentence and fact not in found] or _more(sentence, kept)
    found += [fact for fact in kept if fact not in found]
    return [
        replace(fact, text=dated(fact.text, today), full=dated(fact.full, today), type=_type(fact)) for fact in found
    ]


def _type(fact: Statement) -> str:
    """The type of a statement; what was decided, or has to be done by a day, is no rule for the agent."""
    if fact.type == "feedback" and pattern("decision").search(fact.full):
        return "project"
    once = pattern("date").search(fact.full) and pattern("promise").search(fact.full)
    rule = pattern("lasting").search(fact.full) or pattern("forbid").search(fact.full)
    return "project" if fact.type == "feedback" and once and not rule and not fact.asked else fact.type


def _more(sentence: str, kept: list[Statement]) -> list[Statement]:
    """A decision or a promise that the rules for statements pass over, as they speak of a day."""
    text = sentence
    while (shorter := pattern("opener").sub("", text.strip())) != text:
        text = shorter
    text = text.rstrip("。.！!；;，, ")
    bare = re.sub(QUOTED, "“”", text)
    if len(text) > LONGEST or is_question(sentence) or any(fact.full in sentence for fact in kept):
        return []
    decided = bool(pattern("decision").search(bare))
    promised = bool(pattern("date").search(bare) and pattern("promise").search(bare))
    if not decided and (not promised or pattern("task").search(bare)):
        return []
    mine = re.match(r"(?:.{0,8}我(?!们))|.*\b(?:i|i'm|i'll|my)\b", bare, re.I)
    return [Statement(text, text, "user" if mine and not decided else "project", bool(pattern("changed").search(text)))]


def dated(text: str, today: str) -> str:
    """The text with the days that count from today as dates; unchanged when `today` is no date.

    >>> dated("我明天交报告", "2026-11-30"), dated("due tomorrow", "2026-12-31"), dated("today", "someday")
    ('我 2026-12-01 交报告', 'due on 2027-01-01', 'today')
    """
    try:
        start = date.fromisoformat(today)
    except ValueError:
        return text
    text = _ZH.sub(lambda hit: f" {start + timedelta(_DAYS_ZH[hit['day']])} {_PARTS.get(hit['day'][-1], '')}", text)
    text = _EN.sub(lambda hit: _day_en(hit, start), text)
    return re.sub(r" (?=[，。,.；;])", "", re.sub(" {2,}", " ", text.strip()))


def _day_en(hit: re.Match[str], start: date) -> str:
    word, before = hit["day"].lower(), hit["before"] or ""
    day = f"{start + timedelta(_DAYS_EN[word])}"
    if (before and before.lower() != "due ") or hit.string.startswith("'s", hit.end()):
        return before + day
    first = "On" if hit[0][0].isupper() and not before else "on"
    return f"{before}{first} {'the evening of ' if word == 'tonight' else ''}{day}"
