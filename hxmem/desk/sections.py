"""Reads a summary: finds its sections, however a model writes their headings, and refuses what says too little."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hxmem.replies import without_thinking
from hxmem.text import unix_lines

LARGE = 2_000  # tokens: of so much more than one section has something to say
SECTIONS = ("SESSION INTENT", "SUMMARY", "ARTIFACTS", "NEXT STEPS")

_NAMES = {
    "SESSION INTENT": "SESSION INTENT|(?:会话|对话|用户)?(?:意图|目标|目的)",
    "SUMMARY": "SUMMARY|(?:会话|对话|内容)?(?:摘要|总结|概要)",
    "ARTIFACTS": "ARTIFACTS?|产物|产出|工件|成果|相关文件|文件(?:[与和及](?:产出|产物|其他))?",
    "NEXT STEPS": "NEXT STEPS?|下一步(?:计划|行动|工作)?|后续(?:步骤|工作|计划)?|待办(?:事项)?",
}
_ALL = "|".join(f"(?P<{name.replace(' ', '_')}>{names})" for name, names in _NAMES.items())
_HEADING = re.compile(
    r"(?i)(?P<mark>#{1,6}|\*\*|) ?(?:[^\w\s#*<]{1,3} )?\*{0,3}(?:[1-4一二三四①②③④][.、)）．:：]? ?)?\*{0,3}"
    rf"(?:{_ALL})(?!\w) ?(?:[（(][^)）]{{1,20}}[)）]|[/|·] ?[\w ]{{1,20}}(?=[*:：#]|$))? ?[*#]{{0,6}} ?"
    r"(?P<parts>(?:[:：]|[-–—](?= ))?)\*{0,3} ?(?P<text>.*)"  # on the same line
)
_RULE = re.compile(r"[-=*_]{3,}|</\w{1,40}>")
_FENCE = re.compile(r"(?ms)^(`{3,})[^\n`]*\n(.*)\n\1[ \t]*$")
_REFUSAL = re.compile(
    r"(?i)\W*(?:(?:i'm |i am )?(?:very )?(?:sorry|afraid)\W*(?:but )?|很?抱歉\W*|对不起\W*)?(?:that )?"
    r"(?:i (?:can't|can ?not|won't|am (?:unable|not able) to|'m (?:unable|not able) to)|unable to|我?(?:无法|不能))\W*"
    r"(?:\w+ )?(?:(?:summar|assist|help|comply|fulfil)|(?:[为帮给]\S{1,4})?(?:摘要|总结|协助|帮助|满足))"
)
_NOTHING = re.compile(r"(?i)\W{0,9}(?:none|nothing|n/?a|暂?无|没有|暂无内容)?\W{0,9}")
_LEFT_OUT = re.compile(  # what stands for text that was not written
    r"(?i)\W{0,9}(?:(?:the )?(?:rest|remaining \w+|everything else)?(?: is| are)? ?"
    r"(?:unchanged|same as (?:before|above)|omitted)|(?:as|see) (?:before|above)"
    r"|(?:其余|其他|其它)?(?:部分|内容)?(?:不变|同上|同前|从?略|省略))\W{0,9}|\[[^\]\n]* here\]"
)
_TURN = re.compile(r"\s*\[(?:USER|ASSISTANT|TOOL|CALL [^\]\n]*)\]:")


class BadSummary(Exception):
    """A reply that can't take the place of messages; the text says why."""


@dataclass(frozen=True)
class _Heading:
    name: str
    line: int
    form: str  # "##", "**", or "" where the line has no mark
    text: str  # of the section, on the line of its heading


def read_sections(reply: str, instruction: str, replaced: int = 0) -> str:
    """The text of a reply in the form in which it is kept; BadSummary when it can't stand for `replaced` tokens.

    The sections that the instruction names must all be there, each once. A thinking part, one fence around everything
    and what stands before the first heading are taken off.

    >>> read_sections("Here it is:\\n**1. Summary:** The user likes tea.", "## SUMMARY")
    '## SUMMARY\\nThe user likes tea.'
    """
    wanted = [name for name in SECTIONS if re.search(rf"(?m)^## {name}$", instruction)]
    text = _unwrapped(reply, wanted)
    if _echoes(text, instruction):
        raise BadSummary("the reply repeats what was sent")
    if not wanted:
        if _REFUSAL.match(text):
            raise BadSummary("the reply is a refusal")
        return text
    bodies = _bodies(text, wanted)
    _check(bodies, min(len(wanted), 2 if replaced > LARGE else 1))
    return "\n\n".join(f"## {name}\n{bodies[name] or 'None'}" for name in wanted)


def _unwrapped(reply: str, wanted: Sequence[str]) -> str:
    """A reply without its thinking part, and of one that is in a fence only what is in it."""
    told = unix_lines(reply).strip() if isinstance(reply, str) else ""
    text = without_thinking(told)[0].strip()
    if told and not text:
        raise BadSummary("the reply holds nothing but thinking")
    if (fence := _FENCE.search(text)) and not _headings(text[: fence.start()].splitlines(), wanted):
        if wanted or fence[0] == text:  # a text without sections may have a fence anywhere
            text = fence[2].strip()
    elif text.startswith("```"):
        raise BadSummary("the reply breaks off inside a fence")
    if not text:
        raise BadSummary("the reply is empty")
    return text


def _headings(lines: Sequence[str], wanted: Sequence[str]) -> list[_Heading]:
    """The headings of the wanted sections; BadSummary when the text ends inside a fence."""
    found, fence = list[_Heading](), ""
    for number, line in enumerate(lines):
        mark = line.strip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        elif not fence and (heading := _heading(number, line)) and heading.name in wanted:
            found.append(heading)
    if fence:
        raise BadSummary("the reply breaks off inside a fence")
    return found


def _heading(number: int, line: str) -> _Heading | None:
    """The heading on a line, if it is one; an unmarked line, or one with more words, must have its name in capitals."""
    if not (found := _HEADING.fullmatch(line.strip())):
        return None
    name = next(name for name in SECTIONS if found[name.replace(" ", "_")])
    capitals = found[name.replace(" ", "_")].isupper()
    if not capitals and (not found["mark"] or (found["text"] and not found["parts"])):
        return None
    if not found["mark"] and found["text"] and not found["parts"]:
        return None
    return _Heading(name, number, found["mark"], found["text"])


def _bodies(text: str, wanted: Sequence[str]) -> dict[str, str]:
    """What each wanted section says; headings of one form count, where some form has them all."""
    lines = text.splitlines()
    headings = _headings(lines, wanted)
    for form in dict.fromkeys(heading.form for heading in headings):
        of_form = [heading for heading in headings if heading.form == form]
        if {heading.name for heading in of_form} == set(wanted):
            headings = of_form
            break
    names = [heading.name for heading in headings]
    if missing := [name for name in wanted if name not in names]:
        refused = _REFUSAL.match(text) is not None
        raise BadSummary("the reply is a refusal" if refused else f"the reply has no section {missing[0]}")
    if len(names) > len(wanted):
        raise BadSummary("the reply does not have each section once")
    ends = [*(heading.line for heading in headings[1:]), len(lines)]
    bodies = [_body([each.text, *lines[each.line + 1 : end]]) for each, end in zip(headings, ends, strict=True)]
    return dict(zip(names, bodies, strict=True))


def _body(lines: Sequence[str]) -> str:
    """A section without rules, underlines and closing tags around it."""
    said = [at for at, line in enumerate(lines) if line.strip() and not _RULE.fullmatch(line.strip())]
    return "\n".join(lines[said[0] : said[-1] + 1]).strip() if said else ""


def _check(bodies: dict[str, str], least: int) -> None:
    """Raise BadSummary unless so many sections say something; ARTIFACTS may be blank, as models like to have it."""
    if any(map(_REFUSAL.match, bodies.values())):
        raise BadSummary("the reply is a refusal")
    if blank := [name for name, body in bodies.items() if not body and name != "ARTIFACTS"]:
        raise BadSummary(f"the section {blank[0]} of the reply is blank")
    if sum(not _NOTHING.fullmatch(body) for body in bodies.values()) < least:
        raise BadSummary("the reply says None in every section" + ", or in all but one" * (least - 1))
    if any(_LEFT_OUT.fullmatch(line) for body in bodies.values() for line in body.splitlines()):
        raise BadSummary("the reply leaves out what it should say")


def _echoes(text: str, instruction: str) -> bool:
    """Whether a reply repeats a line of the instruction, or is for a good part turns of the conversation."""
    told = {line.strip() for line in instruction.splitlines() if len(line) >= 16 and not line.startswith("#")}
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    turns = sum(_TURN.match(line) is not None for line in lines)
    return (turns > 2 and 2 * turns >= len(lines)) or any(line in told for line in lines)
