"""What a reply must be before it changes a file of the journal; a reply that is not gets one sentence why."""

import re
from collections.abc import Set
from dataclasses import dataclass
from itertools import takewhile

from hxmem.credentials import mask
from hxmem.journal.ledger import blocks, bullets
from hxmem.journal.losses import changed, entries, gone, is_named, split_superseded
from hxmem.replies import without_thinking
from hxmem.text import estimate_tokens, squash, whole

MEMORY_LABEL, MESSAGES_LABEL = "Long-term memory:", "New messages:"  # of the flush, with LOG_LABEL between them
LOG_LABEL = "Today's log ({day}):"
PRESENT_LABEL, FRESH_LABEL = "Present memory:", "Fresh logs:"  # of the consolidation
LOSS = 4  # one entry of so many may go without a word; with fewer entries none
SHRINK = 0.9  # a file that is over the budget already, as a person may have written it, gets there in such steps

_OUTER = re.compile(r"(`{3,}|~{3,})[\w-]*[ \t]*\n(.*?)\n?[ \t]*\1", re.DOTALL)
_INNER = re.compile(r"(?ms)^(`{3,}|~{3,})(?:markdown|md|text)?[ \t]*\n(.*)\n\1[ \t]*$")
_NO_REPLY = re.compile(r"<*(?:reply|answer|output|回复|输出)?noreply>*")
_JSON = re.compile(r"""\[\s*(?:["{]|\[\s*["\d]|\]\s*\Z)|\{\s*["}]""")  # "[ ] a task" is none
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
_APOLOGY = re.compile(  # what an entry must begin with to be a refusal: "不能写死路径" is none
    r"(?i)\W*(?:i(?:['’]m| am) (?:sorry|unable|not able|afraid)|sorry[,.!]|i apologi[sz]e"
    r"|as an ai(?: (?:language )?model| assistant)?, |i (?:can(?:['’]t|not| not)|must) "
    r"(?:help|assist|do|comply|decline)"
    r"|[很非常十分]*抱歉[，,。！]|对不起[，,。！]|不好意思[，,]|很遗憾，?我|作为(?:一个|一名)?\s*(?:ai|人工智能)?\s*"
    r"(?:语言模型|大模型|模型|助手|助理)?[，,]\s*我|我(?:无法|不能|没办法|没有办法)(?:完成|处理|协助|帮|满足|整理|生成|回答))"
)
# What stands for text that was left out: named ("the rest is unchanged"), or only by a word in brackets or a line.
_LEFT_OUT = (
    r"(?:all |the )*(?:(?:rest|remainder|others?)\b(?: [\w-]+){0,6}?|(?:remaining|previous|existing|earlier|other)"
    r"(?: (?:file|memory|entries|entry|sections?|content|items|lines|bullets|notes|are|is|above))+) ?"
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
_CODE = re.compile(r"(`+)[^`\n]+\1")
_ASIDE = re.compile(r"\||>|<!--|(\*\*?|__?)(?=\S)[^\n]*\1$")  # a row of a table, a quotation, a comment, a note
_SIGNS = " \t\n-*+•·.…。_#<>()[]{}（）【】〔〕!！,，;；:：`\"'“”/"
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
    text, named = split_superseded(mask(whole(without_silence(text))).text)
    reason = wrong(text, present) or _left_out(text, f"{present}\n{fresh}")
    text = without_remarks(text, present)
    if reason := reason or _foreign(text, present, fresh) or _cut_off(text, present, fresh):
        return Checked("", reason=reason)
    superseded = tuple(entry for entry in changed(text, present) if is_named(entry, named))
    missing = tuple(entry for entry in gone(text, present, fresh) if entry not in superseded)
    if len(missing) > len(entries(present)) // LOSS:
        shown = "; ".join(f'"{entry[:60]}"' for entry in missing[:5])
        return Checked("", reason=f"{len(missing)} present entries are neither kept, merged nor superseded: {shown}")
    allowed = max(max_tokens, int(SHRINK * estimate_tokens(present)))
    if (size := estimate_tokens(text)) > allowed:
        return Checked("", reason=f"the file has about {size} tokens, over the budget of {allowed}")
    return Checked(f"{text}\n", superseded, "", missing)


def unwrapped(reply: str) -> str:
    """The reply without a thinking part and without the one fence around the file; what is said around that stays."""
    told = reply.strip("\ufeff \t\r\n")
    text, endless = without_thinking(told)
    text = told if endless else text.strip()  # what never ended is no reply: it is refused as it stands
    if fence := _OUTER.fullmatch(text):
        return fence[2].strip("\n")
    if (fence := _INNER.search(text)) and bullets(fence[2]):
        before, after = text[: fence.start()], text[fence.end() :]
        if all(kind == "prose" for kind, _ in blocks(before) + blocks(after)):
            return f"{before}\n{fence[2]}\n\n{after}".strip()
    return text


def says_nothing(text: str) -> bool:
    """Whether a text is NO_REPLY, however it is written, also with a sentence about it, but without an entry.

    >>> [says_nothing(text) for text in ("NO_REPLY。", "Nothing new: `no reply`", "NO_REPLY\\n- a", "- a NO_REPLY", "")]
    [True, True, False, False, False]
    """
    rest = without_silence(text)
    start_or_end = squash(text).startswith("noreply") or squash(text).endswith("noreply")
    return (rest != text or start_or_end) and not bullets(rest)


def without_silence(text: str) -> str:
    """The text without lines that are only NO_REPLY."""
    lines = text.splitlines()
    kept = [line for line in lines if not _NO_REPLY.fullmatch(squash(line))]
    return text if len(kept) == len(lines) else "\n".join(kept)


def wrong(text: str, present: str = "") -> str:
    """Why a text is no list of entries, "" when it is one; lines of the present text are never a refusal."""
    parts, known = blocks(text), {squash(line) for line in present.splitlines()}
    entries = [part for kind, part in parts if kind == "entry"]
    prose = [part for kind, part in parts if kind == "prose" and squash(part) not in known]
    if not squash(text):
        return "the reply is empty"
    if _JSON.match(text):
        return "the reply is JSON, not Markdown"
    if any(map(_REFUSAL.match, prose)) or (len(entries) == 1 and _APOLOGY.match(entries[0])):
        return "the model refused"
    if _ECHO.search(text):
        return "the reply repeats the request"
    return "" if entries else "the reply holds no entries"


def without_remarks(text: str, present: str) -> str:
    """The text without what is said to the reader before its first and behind its last heading or entry."""
    known = {squash(line) for line in present.splitlines()} - {""}
    parts, lines = blocks(text), text.splitlines()
    full = [number for number, line in enumerate(lines) if line.strip()]  # a part that is prose has one line
    start, end = 0, len(lines)
    head = list(takewhile(lambda part: _is_remark(part, known), parts))
    if any(squash(part) for _, part in head):
        start = full[len(head) - 1] + 1
    tail = list(takewhile(lambda part: _is_remark(part, known), parts[: len(head) - 1 : -1] if head else parts[::-1]))
    if any(squash(part) for _, part in tail):
        end = full[-len(tail)]
    return "\n".join(lines[start:end]).strip()


def _is_remark(part: tuple[str, str], known: Set[str]) -> bool:
    return part[0] == "prose" and not part[1].startswith("|") and squash(part[1]) not in known


def _left_out(text: str, written: str) -> str:
    """Why a text does not write out everything; a line or a clause that somebody wrote before is no placeholder."""
    known, anywhere = {squash(line) for line in written.splitlines()}, squash(written)
    for line in text.splitlines():
        if squash(line) not in known - {""} and _stands_for_more(line, anywhere):
            return f'"{line.strip()[:60]}" stands in the place of text: every entry must be written out'
    return ""


def _foreign(text: str, present: str, fresh: str) -> str:
    """Why a text holds something that is neither a heading nor an entry and that nobody wrote before."""
    known = {squash(line) for line in f"{present}\n{fresh}".splitlines()}
    parts = [(kind, part) for kind, part in blocks(text) if squash(part) not in known | {""} or kind == "fence"]
    if sum(kind == "fence" for kind, _ in parts) > sum(kind == "fence" for kind, _ in blocks(present)):
        return "the reply holds a code fence"
    prose = [part for kind, part in parts if kind == "prose" and not _ASIDE.match(part)]
    return f'"{prose[0][:60]}" is neither a heading nor an entry' if prose else ""


def _stands_for_more(line: str, known: str) -> bool:
    """Whether a line, a part of it in brackets or a clause of it is a placeholder; a clause of `known` is none."""
    if re.search(r"[^\s#*_`~-]", line) and _ALONE.fullmatch(line.strip(_SIGNS)):
        return True
    line = _CODE.sub(" ", line)
    if any(part.strip(_SIGNS) and _ALONE.fullmatch(part.strip(_SIGNS)) for part in _BRACKETS.findall(line)):
        return True
    clauses = re.split(r"[.…。,，;；:：|—(（\[【]", line)
    return any(_NAMED.fullmatch(part.strip(_SIGNS)) and squash(part) not in known for part in clauses)


def _cut_off(text: str, present: str, fresh: str) -> str:
    """Why a text seems to break off: at a heading, or inside of an entry that the present text has in full."""
    kind, last = blocks(text)[-1]
    start = squash(last)
    longer = [squash(entry) for entry in changed(text, present) if len(squash(entry)) > len(start)]
    known = start in map(squash, bullets(present, deep=True) + bullets(fresh, deep=True))
    open_end = kind == "entry" and not (known or last.endswith(_ENDS))
    inside = open_end and any(entry.startswith(start) for entry in longer)
    return "the reply is cut off at its end" if inside or (kind == "heading" and last not in present) else ""
