"""The answer: what the notes in front of it say, or that there are none."""

import re
from dataclasses import dataclass
from typing import Any

from hxmem.classroom.changes import Known, replaced, same
from hxmem.classroom.choosing_rules import is_general
from hxmem.classroom.cues import pattern
from hxmem.classroom.entries import bullets, lead_of, type_of_entry
from hxmem.classroom.statements import Statement, is_question, sentences, statements
from hxmem.classroom.tool_rules import quoted_results, tool_calls
from hxmem.classroom.vocabulary import is_chinese, overlap
from hxmem.classroom.wire import Reply, content_text, prompt_text
from hxmem.text import estimate_tokens

LEAST = 0.45
NEAR = 0.6  # no catalog, no rarity: whatever overlaps nearly as much as the best note is repeated too
QUOTE = 400  # characters of a note
_BLOCK = re.compile(r"<relevant_memories>(.*?)</relevant_memories>", re.S)
_MEMORY = re.compile(r'<memory name="([^"]*)" type="([^"]*)"[^>]*>\n?(.*?)\n?</memory>', re.S)
_LIST = re.compile(r"<(conversation_summary|memory_context)\b[^>]*>(.*?)</\1>", re.S)
_LEAD = re.compile(
    r"^(?:用户(?:明确)?(?:要求|说|反馈)|项目事实|资料位置|The user (?:said|asked)|Project fact|Where to look)[：:]\s*",
    re.I,
)


@dataclass(frozen=True)
class Note:
    """Something that lies in the messages: a memory, or what the user said earlier."""

    topic: str
    type: str
    body: str


def answer(body: dict[str, Any]) -> Reply:
    """The reply to a request that is neither a side-query nor an extraction."""
    messages = body["messages"]
    if messages[-1]["role"] == "tool":
        return quoted_results(messages, split_block(_last_task(messages))[1])
    last = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=-1)
    if last < 0:
        return Reply(_greeting(body, ""), "classroom rule: no question")
    block, task = split_block(content_text(messages[last]))
    orders = "\n".join(sentence for sentence in sentences(task) if not statements(sentence))
    calls = tool_calls(orders, body)
    if calls:
        return Reply("", "classroom rule: the user asks for a tool", calls, "tool_calls")
    return _spoken(task, _notes(messages[:last], block), body)


def _last_task(messages: list[dict[str, Any]]) -> str:
    return next((content_text(message) for message in reversed(messages) if message["role"] == "user"), "")


def split_block(content: str) -> tuple[str, str]:
    """The block of memories and the task of a user message.

    >>> split_block("Hello")
    ('', 'Hello')
    """
    found = _BLOCK.match(content.lstrip())
    block = found[1] if found else ""
    rest = content.lstrip()[found.end() :] if found else content
    return block, re.sub(r"\A\s*User request:\s*\n", "", rest).strip()


def _notes(earlier: list[dict[str, Any]], block: str) -> list[Note]:
    notes = list[Note]()
    for message in earlier:
        content = content_text(message)
        if message["role"] in ("system", "user"):
            notes += _in_lists(content)
        if message["role"] == "user" and not _LIST.match(content):
            old_block, task = split_block(content)
            known = set(map(_bare, notes))
            notes += [note for note in _in_block(old_block) if _bare(note) not in known]
            for fact in statements(task):
                notes = [*_without_old(notes, fact), Note("", fact.type, fact.full)]
    return _in_block(block) + notes


def _bare(note: Note) -> str:
    return _LEAD.sub("", note.body).casefold().rstrip("。. ")


def _without_old(notes: list[Note], fact: Statement) -> list[Note]:
    """The notes without those that a later statement says again or changes."""
    known = [Known(str(at), note.type, _LEAD.sub("", note.body)) for at, note in enumerate(notes)]
    old = {other.name for other in known if same(fact, other)}
    while changed := replaced(fact, [other for other in known if other.name not in old]):
        old.add(changed.name)
    return [note for at, note in enumerate(notes) if str(at) not in old]


def _in_lists(content: str) -> list[Note]:
    """The entries of a summary or of a journal that lie in a message."""
    texts = [text for name, body in _LIST.findall(content) for text in bullets(_known_part(name, body))]
    return [Note("", type_of_entry(text), _plain(lead_of(" ".join(text.split()))[2])) for text in texts]


def _known_part(name: str, text: str) -> str:
    """Of a summary only what was found out: what was asked is no answer."""
    return (
        "\n".join(re.findall(r"^## SUMMARY\n(.*?)(?=^## |\Z)", text, re.M | re.S)) if name != "memory_context" else text
    )


def _in_block(block: str) -> list[Note]:
    return [Note(_plain(name), kind, _plain(body)) for name, kind, body in _MEMORY.findall(block)]


def _plain(text: str) -> str:
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        text = text.replace(entity, character)
    return text.strip()


def _spoken(task: str, notes: list[Note], body: dict[str, Any]) -> Reply:
    chinese = is_chinese(task)
    asks = is_question(task) or bool(pattern("asks").search(task))
    facts = [] if asks and not statements(task) else statements(task)
    if facts:
        said = [_to_you(fact.full, chinese) for fact in facts]
        text = f"记住了。{'；'.join(said)}。" if chinese else f"Noted: {'; '.join(said)}."
        return Reply(text, "classroom rule: the user states something to keep")
    fitting = _fitting(task, notes)
    if fitting:
        reason = f"classroom rule: {len(fitting)} of {len(notes)} notes overlap with the request"
        told = dict.fromkeys(_told(note, chinese) for note in fitting)
        return Reply("\n".join(told) + ("" if asks else _limits(chinese)), reason)
    if asks:
        unknown = (
            "我不知道：这次请求里没有关于这件事的笔记。"
            if chinese
            else "I don't know: no note about this lies in this request."
        )
        return Reply(unknown, "classroom rule: nothing in the messages answers the question")
    return Reply(_greeting(body, task), "classroom rule: nothing to look up")


def _fitting(task: str, notes: list[Note]) -> list[Note]:
    if is_general(task):
        return notes
    scores = [overlap(task, f"{note.topic} {note.body}") for note in notes]
    best = max(scores, default=0.0)
    if best < LEAST:
        return []
    ranked = sorted(zip(scores, range(len(notes)), strict=True), key=lambda pair: (-pair[0], pair[1]))
    return [notes[at] for score, at in ranked if score >= max(LEAST, NEAR * best)]


def _told(note: Note, chinese: bool) -> str:
    fact = _LEAD.sub("", " ".join(note.body.split()))[:QUOTE].rstrip("。. ")
    fact = _to_you(fact, chinese and note.type in ("user", "feedback"))
    if chinese:
        lead = {
            "user": "你之前说过",
            "feedback": "你之前要求过",
            "project": "项目笔记里写着",
            "reference": "可以到这里找",
        }
        return f"{lead.get(note.type, '笔记里写着')}：{fact}。"
    words = {
        "user": "You told me",
        "feedback": "You asked me",
        "project": "The project notes say",
        "reference": "You can look here",
    }
    return f"{words.get(note.type, 'The notes say')}: {fact}."


def _to_you(text: str, turn: bool) -> str:
    """The same fact said to the user, where Chinese allows it: 我 and 用户 become 你, quotations stay."""
    if not turn or not is_chinese(text):
        return text
    pieces = re.split(r"(“[^”]*”|「[^」]*」|\"[^\"]*\"|`[^`]*`)", text)
    turned = [
        re.sub(r"(?:这位|该|这个)?用户(?![名表组端数界登注手])|我(?!们)", "你", re.sub(r"你(?!们)", "我", p))
        for p in pieces[::2]
    ]
    pieces[::2] = turned
    return "".join(pieces)


def _limits(chinese: bool) -> str:
    if chinese:
        return "\n（这里是教室：按规则运行，不是模型，只能复述上面的笔记。）"
    return "\n(This is the classroom: rules, not a model. It can only repeat the notes above.)"


def _greeting(body: dict[str, Any], task: str) -> str:
    count, size = len(body["messages"]), estimate_tokens(prompt_text(body))
    if is_chinese(task):
        return f"这里是教室：按规则运行，不是模型。我看到 {count} 条消息，约 {size} 个 token，没有可以复述的笔记。"
    plural = "" if count == 1 else "s"
    seen = f"{count} message{plural}, ~{size} tokens"
    return f"This is the classroom: rules, not a model. I saw {seen}, and no note to repeat."
