"""Whether a statement is known already, and which known one it changes."""

import re
from dataclasses import dataclass
from functools import lru_cache

from hxmem.classroom.cues import pattern
from hxmem.classroom.statements import Statement
from hxmem.classroom.vocabulary import is_chinese, marks, overlap, rarity, units

LEAST_SHARED = 0.8  # weight that a changed statement must share with the old note
LEAST_PART = 0.4  # of a changed statement must be in the old note
_FAMILY = {"user": 0, "feedback": 0, "project": 1, "reference": 1}
_NOT = re.compile(r"不|别|没|无需|禁止|勿|讨厌|\b(?:no|not|never|stop|avoid|without|hate|dislike)\b|n't\b", re.I)
_CONTRAST = re.compile(r"\b(?:instead of|rather than|over|than|not)\b", re.I)
_NUMERAL = re.compile(r"(?<![统第])一(?![律定起样些下直])|[二两三四五六七八九十百千万半]")
_CONDITION = re.compile(  # the occasion: "when ...", "讲 ... 时"
    r"(?P<zh>^.{1,24}?(?:时候?|之?前|之?后|里|中)(?=[，,]|都|先|要|必须|别|不|用|改))"
    r"|(?:^in|\b(?:when(?:ever)?|before|after|for|if|during|while))\b"
    r"(?:(?! (?:is|are|must|uses?|has|will|moved|changed|slipped)\b)[^,.;])+",
    re.I,
)
_SUBJECT = re.compile(  # "X is Y", "X 用 Y"
    r"^(?P<zh>[^，,。]{1,24}?)(?:现在|已经|默认|统一|都|一律|目前)*"
    r"(?:改成|改为|改名为|改名叫|改用|换成|换到|改到|改在|放在|存在|写在|位于|依赖|保留|由|见|看|是|使用|采用|用|为|在|叫|住|[：:](?!\d)).+$"
    r"|^(?P<en>.{2,60}?)\s+(?:is|are|lives?|runs?|uses?|moved to|changed to|=|will be)\s+.+$",
    re.I,
)
_OWNED = re.compile(  # "X is responsible for Y" is about Y
    r"负责(?P<a>.+)$|^(?P<b>.+?)(?:现在|已经)?改?由.+负责"
    r"|\b(?:owns|maintains|leads|manages|responsible for|in charge of|contact for"
    r"|(?:owner|lead|maintainer) of) (?P<c>.+)$",
    re.I,
)
_SINGLE = (  # one person has one of each
    r"^我(?:现在|其实)?(?:叫|的名字)|^my name is|^i'?m called",
    r"^(?:叫|称呼)我|^(?:call|address) me",
    r"^我.{0,8}在.{1,14}(?:工作|上班|任职)|^我.{0,8}(?:跳槽|入职)",
    r"^i(?: now| currently)? work (?:at|for)",
    r"^我(?:现在|已经|刚)?(?:住|搬)|^i(?: now| just|'m| am)*(?: have)? (?:live|based|moved to)",
)
_OLD_VALUE = re.compile(
    r"(?:从|把|不再用|不再)\s*(?P<zh>.{1,16}?)(?:改|换|迁|切|升|搬|，|$)"
    r"|\b(?:from|instead of|no longer(?: use)?|replaced|dropped|over)\s+(?P<en>[\w.+-]+)",
    re.I,
)


@dataclass(frozen=True)
class Known:
    """A memory that exists, as the request lists it."""

    name: str
    type: str
    description: str


def same(fact: Statement, other: Known) -> bool:
    """Whether the drawer says this already, in these words or in others."""
    new, old = marks(fact.text), marks(other.description)
    if not new or bool(_NOT.search(fact.text)) != bool(_NOT.search(other.description)):
        return False
    novel = [mark for mark in new if mark not in old]
    if not set(_NUMERAL.findall(fact.text)) <= set(_NUMERAL.findall(other.description)):
        return False
    if any(mark[0].isascii() for mark in novel) or len(novel) > 0.15 * len(new):
        return False
    shared = [mark for mark in new if mark in old]
    reordered = shared != [mark for mark in old if mark in shared]
    return not (reordered and _CONTRAST.search(fact.text) and not is_chinese(fact.text[:2]))


def replaced(fact: Statement, known: list[Known]) -> Known | None:
    """The memory that this statement changes, or None; in doubt none, for a replaced one is lost to view."""
    if not fact.changed and re.search(r"还|另外|(?<!再)也(?!不再)|\b(?:too|also|as well|another)\b", fact.text, re.I):
        return None
    family = [other for other in known if _FAMILY.get(other.type, 1) == _FAMILY[fact.type]]
    for other in family:
        if _one_subject(fact.text, other.description) or _close(fact, other):
            return other
    if not fact.changed:
        return None
    rare = rarity(other.description + " " + other.name for other in known)
    scores = [_changed_score(fact.text, other, rare) for other in family]
    best = max(scores, default=0.0)
    rivals = [other for other, score in zip(family, scores, strict=True) if score > 0.75 * best]
    return rivals[0] if best >= LEAST_SHARED and len(rivals) == 1 else None


def _changed_score(text: str, other: Known, rare: dict[str, float]) -> float:
    """The share of the statement that the old note has too; the old value, when it is named, settles it."""
    line = f"{other.name} {other.description}"
    if _conditions_differ(text, other.description):
        return 0.0
    value = _OLD_VALUE.search(text)
    before = (value and (value["zh"] or value["en"])) or ""
    named = bool(before) and overlap(before, line) >= 0.6 * sum(units(before).values()) > 0
    said = units(re.sub(r"已经|现在|目前", " ", pattern("changed").sub(" ", text)))
    shared = sum(weight * rare.get(unit, 1.0) for unit, weight in said.items() if unit in units(line))
    total = sum(said.values())
    return shared + 1.0 if named else shared if shared >= LEAST_PART * total else 0.0


def _one_subject(text: str, description: str) -> bool:
    """Whether both say what one and the same thing is, uses or is called."""
    text = re.sub(r"^(?:其实)?(?:别|不要|不)(?:再)?[^，,]{1,12}了?[，,]\s*(?:是)?", "", text)
    new, old = _subject(text), _subject(description)
    if new and old and new == old:
        return not _conditions_differ(text, description)
    several = re.compile(r"[，,]|\band\b")
    plain = not several.search(description) and (not several.search(text) or pattern("changed").search(text))
    return bool(plain) and any(re.search(form, text, re.I) and re.search(form, description, re.I) for form in _SINGLE)


@lru_cache(maxsize=4096)
def _subject(text: str) -> frozenset[str]:
    owned, found = _OWNED.search(text), _SUBJECT.search(text)
    if owned:
        return frozenset(units(owned["a"] or owned["b"] or owned["c"])) | {"#owner"}
    subject = (found["zh"] or found["en"]) if found else ""
    return frozenset(u for u, weight in units(subject).items() if u[0] != "#" and weight) - {"我们", "项目", "喜欢"}


def _close(fact: Statement, other: Known) -> bool:
    """Whether two sentences are alike but for a small part, and speak of the same occasion."""
    new, old = set(marks(fact.text)), set(marks(other.description))
    heads = [next((m for m in marks(text) if not _NUMERAL.match(m)), "") for text in (fact.text, other.description)]
    if heads[0] not in old or heads[1] not in new:
        return False  # what comes first is mostly what it is about
    if _conditions_differ(fact.text, other.description):
        return False
    if bool(_NOT.search(fact.text)) != bool(_NOT.search(other.description)):
        return new <= old and len(new) >= 0.5 * len(old)
    mine, theirs = units(fact.text), units(other.description)
    shared, every = overlap(fact.text, other.description), sum((mine | theirs).values())
    occasion = _condition(fact.text)
    enough = 0.4 if fact.changed or (occasion and occasion == _condition(other.description)) else 0.5
    by_marks = len(new & old) >= 2 and len(new & old) >= enough * len(new | old)
    return by_marks or (shared >= 1.5 and shared >= enough * every)


def _conditions_differ(first: str, second: str) -> bool:
    one, two = _condition(first), _condition(second)
    if not one or not two or one == two:
        return False
    return not any(unit in two and unit[0] == "#" for unit in one)


@lru_cache(maxsize=4096)
def _condition(text: str) -> frozenset[str]:
    found = _CONDITION.search(text)
    return frozenset(units(found[0])) if found else frozenset()


def with_condition(text: str, old: str) -> str:
    """The new statement with the occasion of the old one, when it names none itself."""
    found = _CONDITION.search(old)
    if not found or _CONDITION.search(text) or not found["zh"]:
        return text
    return f"{found[0]}，{text}"
