"""The extraction: statements of the user become memories, unless the drawer has them already."""

import re
from dataclasses import dataclass

from hxmem.classroom.cues import pattern
from hxmem.classroom.statements import Statement, statements
from hxmem.classroom.vocabulary import is_chinese, marks, overlap, rarity, units, word_list

NAME_WORDS = 5
LEAST_SHARED = 0.8  # weight that a changed statement must share with the old note
LEAST_PART = 0.4  # of a changed statement must be in the old note
_LINE = re.compile(r"^\d+:\s*(?P<name>.+?) \((?P<type>\w+)\) - (?P<description>.*)$", re.M)
_TURN = re.compile(r"^user: ?(.*(?:\n(?:  |\s*$).*)*)", re.M)
_FAMILY = {"user": 0, "feedback": 0, "project": 1, "reference": 1}
_NOT = re.compile(r"不|别|没|无需|禁止|勿|讨厌|\b(?:no|not|never|stop|avoid|without|hate|dislike)\b|n't\b", re.I)
_CONTRAST = re.compile(r"\b(?:instead of|rather than|over|than|not)\b", re.I)
_NUMERAL = re.compile(r"(?<![统第])一(?![律定起样些下直])|[二两三四五六七八九十百千万半]")
_CONDITION = re.compile(  # the occasion: "when ...", "讲 ... 时"
    r"(?P<zh>^.{1,24}?(?:时候?|之?前|之?后|里|中)(?=[，,]|都|先|要|必须|别|不|用|改))"
    r"|(?:^in|\b(?:when(?:ever)?|before|after|for|if|during|while))\b(?:(?! (?:is|are|must|uses?|has|will)\b)[^,.;])+",
    re.I,
)
_SUBJECT = re.compile(  # "X is Y", "X 用 Y"
    r"^(?P<zh>[^，,。]{1,24}?)(?:现在|已经|默认|统一|都|一律|目前)*"
    r"(?:改成|改为|改用|换成|换到|改到|改在|放在|存在|写在|位于|依赖|保留|由|见|看|是|使用|采用|用|为|在|叫|住|[：:](?!\d)).+$"
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
_NAME_BREAKS = re.compile(
    r"[\W_]+|给我|给用户|向我|对我|我们|用户|我|你们?|的时候|时|先|再|用|使用|采用|的|和|与|是|在|要|都|不要|别|请|把|从|到|里|了|也|就|对"
    r"|必须|一律|一定|喜欢|更?偏好|习惯|放|以后|可以|说|讲(?=\s)"
)
_LEADS_ZH = {"user": "用户说", "feedback": "用户要求", "project": "项目事实", "reference": "资料位置"}
_LEADS_EN = {
    "user": "The user said",
    "feedback": "The user asked",
    "project": "Project fact",
    "reference": "Where to look",
}


@dataclass(frozen=True)
class Known:
    """A memory that exists, as the request lists it."""

    name: str
    type: str
    description: str


def extract(existing: str, dialogue: str) -> list[dict[str, str]]:
    """The memories to write, as the items of the reply.

    >>> extract("(none)", "user: Remember that I prefer tabs.")[0]["name"]
    'prefer-tabs'
    """
    known = [Known(name, kind, line.replace("用户", "我")) for name, kind, line in _LINE.findall(existing)]
    items: dict[str, dict[str, str]] = {}
    for turn in _TURN.finditer(dialogue):
        text = "\n".join(line.removeprefix("  ") for line in turn[1].splitlines())
        for fact in statements(text):
            item = _item(fact, known)
            if item:
                items[item["name"]] = item
                known = [k for k in known if k.name != item["name"]]
                known.append(Known(item["name"], item["type"], item["description"]))
    return list(items.values())


def _item(fact: Statement, known: list[Known]) -> dict[str, str] | None:
    if any(_same(fact, other) for other in known):
        return None
    old = _replaced(fact, known)
    if old is None:
        name, kind, text, full = _unused_name(fact.text, known), fact.type, fact.text, fact.full
    else:
        name, kind, text = old.name, old.type, _with_condition(fact.text, old.description)
        full = fact.full if text == fact.text else text
    return {"name": name, "type": kind, "description": _description(text, kind), "body": _body(full, kind)}


def _same(fact: Statement, other: Known) -> bool:
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


def _replaced(fact: Statement, known: list[Known]) -> Known | None:
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


def _condition(text: str) -> frozenset[str]:
    found = _CONDITION.search(text)
    return frozenset(units(found[0])) if found else frozenset()


def _with_condition(text: str, old: str) -> str:
    """The new statement with the occasion of the old one, when it names none itself."""
    found = _CONDITION.search(old)
    if not found or _CONDITION.search(text) or not found["zh"]:
        return text
    return f"{found[0]}，{text}"


def _unused_name(text: str, known: list[Known]) -> str:
    taken = {other.name.casefold() for other in known}
    name, number = name_for(text), 2
    while (name if number == 2 else f"{name}-{number - 1}").casefold() in taken:
        number += 1
    return name if number == 2 else f"{name}-{number - 1}"


def name_for(text: str) -> str:
    """A short name from the words that carry the meaning, in their order.

    >>> name_for("以后讲 Docker 时，先用“货轮”的例子"), name_for("We use PostgreSQL 16 for the orders")
    ('docker-货轮-例子', 'use-postgresql-16-orders')
    """
    parts = [part.lower() for part in _NAME_BREAKS.split(re.sub(r"https?://", "", text)) if part]
    pieces = [piece for part in parts for piece in re.findall(r"[\u3400-\u9fff]+|[^\u3400-\u9fff]+", part)]
    nameless = word_list("-nameless")
    words = [word for word in dict.fromkeys(pieces) if word not in nameless]
    if len([word for word in words if len(word) > 1]) > 1:
        words = [word for word in words if len(word) > 1 or not is_chinese(word)]
    return "-".join(word[:16] for word in words[:NAME_WORDS]) or "note"


def _turned(text: str, kind: str) -> str:
    """The speaker as the third person, where that needs no other change: in Chinese, outside quotations."""
    if not is_chinese(text) or kind not in ("user", "feedback"):
        return text
    pieces = re.split(r"(“[^”]*”|「[^」]*」|\"[^\"]*\"|`[^`]*`)", text)
    return "".join(re.sub(r"我(?!们)", "用户", p) if at % 2 == 0 else p for at, p in enumerate(pieces))


def _description(text: str, kind: str) -> str:
    line = " ".join(_turned(text, kind).split())
    return line if len(line) <= 120 else line[:119] + "…"


def _body(text: str, kind: str) -> str:
    if not is_chinese(text):
        return f"{_LEADS_EN[kind]}: {text[0].upper()}{text[1:]}."
    wish = kind == "user" and re.search(r"给我|讲|解释|回答|回复|称呼|叫我|希望", text)
    return f"{_LEADS_ZH['feedback' if wish else kind]}：{_turned(text, kind)}。"
