"""Which sentences of a user state something to keep, and of what type it is."""

import re
from dataclasses import dataclass

from hxmem.classroom.cues import pattern

LONGEST = 300  # characters; what is longer is a pasted text and no note
QUOTED = r"“[^”]*”|「[^」]*」|《[^》]*》|\"[^\"]*\"|`[^`]*`|(?<!\w)'[^'\n]+'(?!\w)"
_CODE = re.compile(r"```.*?(?:```|\Z)", re.S)
_MARKER = re.compile(r"^\s*(?:[-*•]|\d+[.)、])\s*")
_SENTENCE = re.compile(
    rf"(?:{QUOTED}|https?://[^\s，。；]+|\b(?:e\.g|i\.e|vs|etc|Dr|Mr|Mrs|Ms|St|No)\.|\.(?=\S)|[^。！？!?；;.])+[。！？!?；;.]*"
)


@dataclass(frozen=True)
class Statement:
    """One fact to keep.

    `text` has no cue word such as 以后, `full` is the sentence; `changed`: it says that something was different before;
    `asked`: the user asked in so many words to remember it.
    """

    text: str
    full: str
    type: str
    changed: bool = False
    asked: bool = False


def sentences(text: str) -> list[str]:
    """The sentences of a text; code blocks, quoted lines and list markers are left out.

    >>> sentences("我叫小明。1.5 is a number. Really?")
    ['我叫小明。', '1.5 is a number.', 'Really?']
    """
    text = re.sub("(?<=\\w)[\u2019\u02bc](?=\\w)", "'", text)
    lines = (_MARKER.sub("", line) for line in _CODE.sub("", text).splitlines() if not line.lstrip().startswith(">"))
    return [found.strip() for line in lines for found in _SENTENCE.findall(line) if found.strip(" \t.。;；!！")]


def is_question(sentence: str) -> bool:
    """Whether a sentence asks something."""
    return bool(pattern("question").search(sentence.strip()))


def statements(text: str) -> list[Statement]:
    """All that one message of the user asks to keep.

    >>> [(fact.type, fact.text) for fact in statements("你好。记住：数据库用 PostgreSQL 16。帮我写一个快速排序")]
    [('project', '数据库用 PostgreSQL 16')]
    >>> statements("Do you remember my name?")
    []
    """
    found: list[Statement] = []
    said = [sentence for sentence in sentences(text) if len(sentence) <= LONGEST]
    tasks = [is_question(sentence) or bool(pattern("task").search(_opened(sentence))) for sentence in said]
    told = False  # a line such as "Remember three things:" covers the lines after it
    for number, sentence in enumerate(said):
        rest, cue = _uncued(sentence)
        if not _content(rest) or (cue and rest.endswith((":", "："))):
            told = told or (cue and (number == 0 or rest.endswith((":", "："))))
            continue
        after = number + 1 < len(said) and _is_bare_cue(said[number + 1])
        cue = cue or after or (told and not pattern("task").search(rest))
        found += _keep(rest, cue, alone=not any(tasks[:number] + tasks[number + 1 :]))
    return found


def _keep(rest: str, cue: bool, alone: bool) -> list[Statement]:
    if not is_question(rest):
        return _made(rest, cue, alone)
    asked = pattern("asked_rule").sub("", rest)
    told = pattern("polite_end").sub("", asked)
    if (cue or asked != rest) and type_of(told):
        return _made(told, cue, alone)
    clauses = re.split(r"(?<=[，,])", rest)
    return [
        kept
        for clause in clauses[:-1]
        if not is_question(clause.rstrip("，, "))
        for kept in _made(clause, False, False)
    ]


def _made(text: str, cue: bool, alone: bool) -> list[Statement]:
    full = text.strip().rstrip("。.！!；;，, ")
    if pattern("passing").search(full):
        lasting = "，".join(part for part in re.split(r"[，,]", full) if not pattern("passing").search(part))
        full = lasting if pattern("lasting").search(lasting) else ""
    kind = type_of(full, cue, alone) if full else ""
    short = pattern("lasting_start").sub("", full) or full
    return [Statement(short, full, kind, bool(pattern("changed").search(text)), cue)] if kind else []


def _opened(sentence: str) -> str:
    while (shorter := pattern("opener").sub("", sentence.strip())) != sentence:
        sentence = shorter
    return sentence


def _uncued(sentence: str) -> tuple[str, bool]:
    """The sentence without "remember" at its start or end, and whether there was one."""
    text = _opened(sentence)
    if _is_bare_cue(text):
        return "", True
    rest = pattern("remember").sub("", text)
    after = pattern("remember_after").sub("", rest)
    if after == text or (after != rest and is_question(after)):
        return text, False
    return _opened(after), True


def _is_bare_cue(sentence: str) -> bool:
    return bool(sentence) and not _content(pattern("remember_after").sub("", sentence))


def _content(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def type_of(text: str, cue: bool = False, alone: bool = True) -> str:
    """The type of the memory that a sentence makes, "" when there is nothing to keep in it.

    `cue`: the user asked to remember it, so that everything but a task is kept. `alone`: nothing else in the message
    asks for something, so that an order without an object of its own can only be meant as a rule.
    """
    bare = re.sub(QUOTED, "“”", text)  # what stands in quotation marks is no cue
    lasts, forbids = pattern("lasting").search(bare), bool(pattern("forbid").search(bare))
    lasting = bool(lasts) and not re.search(r"\bi(?:'ll| will|'m going to)\b", text, re.I)
    here = bool(pattern("pointing").search(bare))
    general = cue or not here
    if _is_place(text) and general and not forbids:
        return "reference"
    if not cue and _is_passing(text, lasting, forbids):
        return ""
    ordered = alone and not here and (pattern("style_order").search(text) or pattern("rule_order").search(text))
    firm = lasting and lasts and not lasts[0].lower().endswith(("always", "never"))
    if pattern("task").search(text) and not (cue or firm or ordered):
        return ""
    if pattern("self").search(text) and (general or lasting) and (cue or not _is_news_of_mine(text)):
        return "user"
    if (
        pattern("team").search(text)
        and general
        and text[0] != "你"
        and (not forbids or re.match(r"我们|we\b", text, re.I))
    ):
        return "project"
    return _rule_type(bare, cue, lasting, forbids, alone and not here) or _fact_type(text, cue, general)


def _is_place(text: str) -> bool:
    """Whether a sentence says where something is to be found."""
    owned = re.match(r"i\b|我(?!们|的)", text, re.I)
    return bool(
        not owned
        and pattern("place").search(text)
        and (not re.search(r"[了吧]$", text) or (text.endswith("了") and pattern("changed").search(text)))
        and (not pattern("task").search(text) or pattern("look_order").search(text))
    )


def _is_passing(text: str, lasting: bool, forbids: bool) -> bool:
    """Whether a sentence is a proposal, speaks of today or tells of a failure, as "this always fails" does."""
    if text.endswith("吧") or pattern("day").search(text):
        return True
    often = re.search(r"总是|每次|always|never", text, re.I)
    return (
        bool(pattern("failure").search(text))
        and not pattern("must").search(text)
        and (not lasting or bool(often and not forbids))
    )


def _is_news_of_mine(text: str) -> bool:
    return bool(re.match(r"my\b", text, re.I) and pattern("news").search(text))


def _rule_type(text: str, cue: bool, lasting: bool, forbids: bool, standing: bool) -> str:
    """The type of a rule for the agent: style is a preference of the user, all else is feedback."""
    if forbids and (cue or lasting or standing or pattern("again").search(text)):
        return "feedback"
    style = bool(pattern("style").search(text))
    if lasting or (cue and style) or (standing and pattern("style_order").search(text)):
        return "user" if style else "feedback"
    return "feedback" if pattern("must").search(text) and (cue or standing) else ""


def _fact_type(text: str, cue: bool, general: bool) -> str:
    """The type of a plain fact: without a cue it has to be specific and no news."""
    if general and not pattern("news").search(text):
        specific = pattern("specific").search(text) or pattern("changed").search(text)
        if pattern("role").search(text) or (specific and pattern("states").search(text)):
            return "project"
    if not cue:
        return ""
    if re.search(r"我(?!们)|\b(?:i|my|me|i'm)\b", text, re.I):
        return "user"
    return "feedback" if re.match(r"to \w+|(?:run|use|write|check|ask|keep|put|add)\b|先|用", text, re.I) else "project"
