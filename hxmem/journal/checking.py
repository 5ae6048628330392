"""What a reply must be before it changes a file of the journal; a reply that is not gets one sentence why."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hxmem.credentials import mask
from hxmem.journal.ledger import blocks, bullets
from hxmem.ranking import stem, stop_words
from hxmem.text import estimate_tokens, squash, tokens, whole

MEMORY_LABEL, MESSAGES_LABEL = "Long-term memory:", "New messages:"  # of the flush, with LOG_LABEL between them
LOG_LABEL = "Today's log ({day}):"
PRESENT_LABEL, FRESH_LABEL = "Present memory:", "Fresh logs:"  # of the consolidation
MERGED = 2 / 3  # more of an entry's words than this stand in one new entry: it was merged into that one
LOSS = 4  # one entry of so many may go without a word; with fewer entries none

_THINKING = re.compile(r"\A<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_OUTER = re.compile(r"(`{3,}|~{3,})[\w-]*[ \t]*\n(.*?)\n?[ \t]*\1", re.DOTALL)
_NO_REPLY = re.compile(r"<*(?:reply|answer|output|回复|输出)?noreply>*")
_JSON = re.compile(r"""[\[{]\s*["{}\[\]]""")
_ECHO = re.compile(
    r"(?m)^[^\w\n]*(?:(?:Long-term memory|New messages|Present memory|Fresh logs|Today's log .*):[^\w\n]*(?:none\W?)?$"
    r"|\[(?:USER|ASSISTANT|TOOL|CALL [^\]\n]*)\]:|\d{4}-\d\d-\d\d\.md[^\w\n]*$)"
)
_REFUSAL = re.compile(
    r"(?i)\W*(?:i(?:['’]m| am) (?:sorry|unable|not able|afraid)|sorry\b|i apologi[sz]e|as an ai\b|unfortunately\b"
    r"|i (?:can(?:['’]t|not| not)|could(?:n['’]t| not)|won['’]t|will not|must decline|(?:don['’]t|do not) have)\b"
    r"|[很非常十分]*抱歉|对不起|不好意思|很遗憾|作为(?:一个|一名)?\s*(?:ai|人工智能|语言模型|大模型)"
    r"|我?(?:无法|不能|没办法|没有办法|拒绝)(?:完成|处理|协助|帮|提供|满足|整理|生成|回答|执行|写))"
)
# What stands for text that was left out: named ("the rest is unchanged"), or only by a word in brackets or a line.
_LEFT_OUT = (
    r"(?:all |the )*(?:rest|remaining|remainder|others?|previous|existing|earlier)\b(?: [\w-]+){0,6}? ?"
    r"(?:unchanged|omitted|same|as (?:is|before|above)|(?:stays?|remains?|kept|keep)\b(?: the same| as is)?)"
    r"|(?:all |the )*(?:rest|remaining|remainder|others?|previous|existing|earlier)"
    r"(?: of (?:the )?(?:file|memory|entries|sections?)| entries| sections?| content)"
    r"|(?:其余|其他|其它|剩余|剩下|余下|后面|以下|原有|现有)的?(?:内容|条目|部分|记忆|记录|各条|各节|章节|都|均|全部)*"
    r"(?:保持|维持)?(?:不变|同上|同前|相同|从略|省略|略|照旧|未变|无变化|没有变化|原样保留|保留)"
)
_BARE = r"(?:content )?unchanged|no changes?|same as (?:before|above)|omitted(?: for brevity)?"
_BARE += r"|同上|从?略|(?:此处)?省略|不变|等等"
_NAMED = re.compile(f"(?i)(?:{_LEFT_OUT})")
_ALONE = re.compile(f"(?i)(?:{_LEFT_OUT}|{_BARE}|)")
_BRACKETS = re.compile(r"(?<![A-Za-z0-9_])[\[(（【<{〔]([^\[\](){}（）【】<>〔〕]{0,80})[\])）】>}〕]")
_SIGNS = " \t\n-*+•·.…。_#<>()[]{}（）【】〔〕!！,，;；:：`\"'“”/"
_SUPERSEDED = re.compile(r"(?im)^#{1,6}[ \t]*Superseded[ \t]*[:：]?[ \t]*$")
_ARROW = re.compile(r"\s*(?:[-—=]{1,3}>|→|⇒)\s*(?=\S)")
_ENDS = tuple(".。!！?？)）]】\"”'`;；:：")


@dataclass(frozen=True)
class Checked:
    """The text that may be stored; entries that were named as superseded or are missing; or the reason against it."""

    text: str
    superseded: tuple[str, ...] = ()
    reason: str = ""
    missing: tuple[str, ...] = ()  # without a word, but few enough


def check(reply: str, present: str, fresh: str, max_tokens: int) -> Checked:
    """Whether a reply is a whole new MEMORY.md that loses nothing of the present one without saying so.

    NO_REPLY stands for the present text. `fresh` is what the logs say: words from there or from the present text are
    never taken for a placeholder.
    """
    text = unwrapped(reply)
    if says_nothing(text):
        return Checked(present)
    present = mask(present).text
    text, named = _without_superseded(mask(whole(text)).text)
    reason = wrong(text) or _foreign(text, present, fresh) or _cut_off(text, present)
    if reason:
        return Checked("", reason=reason)
    gone = _gone(text, present)
    superseded = tuple(entry for entry in gone if _covered(entry, map(_words, named)))
    missing = tuple(entry for entry in gone if entry not in superseded)
    if len(missing) > len(_entries(present)) // LOSS:
        shown = "; ".join(f'"{entry[:60]}"' for entry in missing[:5])
        return Checked("", reason=f"{len(missing)} present entries are neither kept, merged nor superseded: {shown}")
    if (size := estimate_tokens(text)) > max_tokens:
        return Checked("", reason=f"the file has about {size} tokens, over the budget of {max_tokens}")
    return Checked(f"{text}\n", superseded, "", missing)


def unwrapped(reply: str) -> str:
    """The reply without a thinking part and without one fence around the whole."""
    text = _THINKING.sub("", reply.strip("\ufeff \t\r\n")).strip()
    fence = _OUTER.fullmatch(text)
    return fence[2].strip("\n") if fence else text


def says_nothing(text: str) -> bool:
    """Whether a text is NO_REPLY, however it is written.

    >>> [says_nothing(text) for text in ("NO_REPLY。", "`no reply`", "NO_REPLY: none", "")]
    [True, True, False, False]
    """
    return bool(_NO_REPLY.fullmatch(squash(text)))


def wrong(text: str) -> str:
    """Why a text is no list of entries, "" when it is one."""
    parts = blocks(text)
    entries = [part for kind, part in parts if kind == "entry"]
    prose = [part for kind, part in parts if kind == "prose"]
    if not squash(text):
        return "the reply is empty"
    if _JSON.match(text):
        return "the reply is JSON, not Markdown"
    if any(map(_REFUSAL.match, prose + entries[: len(entries) == 1])):
        return "the model refused"
    if _ECHO.search(text):
        return "the reply repeats the request"
    return "" if entries else "the reply holds no entries"


def _foreign(text: str, present: str, fresh: str) -> str:
    """Why a text holds something that is neither a heading nor an entry and that nobody wrote before."""
    written = f"{present}\n{fresh}"
    known, anywhere = {squash(line) for line in written.splitlines()}, squash(written)
    for line in text.splitlines():
        if squash(line) not in known - {""} and _stands_for_more(line, anywhere):
            return f'"{line.strip()[:60]}" stands in the place of text: every entry must be written out'
    fences = [part for kind, part in blocks(text) if kind == "fence"]
    if len(fences) > sum(kind == "fence" for kind, _ in blocks(present)):
        return "the reply holds a code fence"
    prose = [part for kind, part in blocks(text) if kind == "prose" and squash(part) and squash(part) not in known]
    return f'"{prose[0][:60]}" is neither a heading nor an entry' if prose else ""


def _stands_for_more(line: str, known: str) -> bool:
    """Whether a line, a part of it in brackets or a clause of it is a placeholder; a clause of `known` is none."""
    alone = [line, *_BRACKETS.findall(line)]
    if any(re.search(r"[^\s#*_`~-]", part) and _ALONE.fullmatch(part.strip(_SIGNS)) for part in alone):
        return True
    clauses = re.split(r"[.…。,，;；:：|—(（\[【]", line)
    return any(_NAMED.fullmatch(part.strip(_SIGNS)) and squash(part) not in known for part in clauses)


def _cut_off(text: str, present: str) -> str:
    """Why a text seems to break off: at a heading, or inside of an entry that the present text has in full."""
    kind, last = blocks(text)[-1]
    start = squash(last)
    longer = [squash(entry) for entry in _entries(present) if len(squash(entry)) > len(start)]
    inside = kind == "entry" and not last.endswith(_ENDS) and any(entry.startswith(start) for entry in longer)
    return "the reply is cut off at its end" if inside or (kind == "heading" and last not in present) else ""


def _without_superseded(text: str) -> tuple[str, list[str]]:
    """The text without its section `## Superseded`, and the old entries which that one names with a reason."""
    head, *rest = _SUPERSEDED.split(text, maxsplit=1)
    if not rest:
        return text.strip(), []
    following = re.search(r"(?m)^#{1,6}\s", rest[0])
    end = following.start() if following else len(rest[0])
    named = [_ARROW.split(entry, maxsplit=1) for entry in bullets(rest[0][:end], deep=True)]
    return f"{head}{rest[0][end:]}".strip(), [parts[0] for parts in named if len(parts) == 2]


def _gone(text: str, present: str) -> list[str]:
    """The present entries that neither stand in the text nor were merged into one of its new entries."""
    before, after = _entries(present), _entries(text)
    old, kept = {squash(entry) for entry in before}, {squash(entry) for entry in after}
    new = [_words(entry) for entry in after if squash(entry) not in old]
    return [entry for entry in before if squash(entry) not in kept and not _covered(entry, new)]


def _covered(entry: str, others: Iterable[frozenset[str]]) -> bool:
    """Whether most words of an entry stand in one of the others."""
    words = _words(entry)
    return any(len(words & other) > MERGED * len(words) for other in others)


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(token) for token in tokens(text) if token not in stop_words())


def _entries(text: str) -> list[str]:
    return [part for kind, part in blocks(text, deep=True) if kind in ("entry", "prose") and squash(part)]
