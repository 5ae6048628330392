"""The extraction: statements of the user become memories, unless the drawer has them already."""

import re

from hxmem.classroom.changes import Known, replaced, same, with_condition
from hxmem.classroom.statements import Statement, statements
from hxmem.classroom.vocabulary import is_chinese, word_list

NAME_WORDS = 5
_LINE = re.compile(r"^\d+:\s*(?P<name>.+?) \((?P<type>\w+)\) - (?P<description>.*)$", re.M)
_TURN = re.compile(r"^user: ?(.*(?:\n(?:  |\s*$).*)*)", re.M)
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
    if any(same(fact, other) for other in known):
        return None
    old = replaced(fact, known)
    if old is None:
        name, kind, text, full = _unused_name(fact.text, known), fact.type, fact.text, fact.full
    else:
        name, kind, text = old.name, old.type, with_condition(fact.text, old.description)
        full = fact.full if text == fact.text else text
    return {"name": name, "type": kind, "description": _description(text, kind), "body": body_of(full, kind)}


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


def body_of(text: str, kind: str) -> str:
    """A statement as a sentence that stands alone: who said it, then what.

    >>> body_of("我喜欢绿茶", "user"), body_of("we use uv", "project")
    ('用户说：用户喜欢绿茶。', 'Project fact: We use uv.')
    """
    if not is_chinese(text):
        return f"{_LEADS_EN[kind]}: {text[0].upper()}{text[1:]}."
    wish = kind == "user" and re.search(r"给我|讲|解释|回答|回复|称呼|叫我|希望", text)
    return f"{_LEADS_ZH['feedback' if wish else kind]}：{_turned(text, kind)}。"
