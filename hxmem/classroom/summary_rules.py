"""The summary: what a conversation was about, in four sections, for a desk that can't hold all of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hxmem.classroom.entries import ASKED_EN, ASKED_ZH, Entry, bullets, entry_of, judged, lead_of, type_of_entry
from hxmem.classroom.facts import facts
from hxmem.classroom.transcripts import Turn, mainly_chinese, request_in, shortened, turns

SECTIONS = ("SESSION INTENT", "SUMMARY", "ARTIFACTS", "NEXT STEPS")
MOST_LINES, MOST_CHARACTERS = 60, 6_000
MOST_FILES, MOST_OPEN = 30, 3
REQUEST, RESULT = 160, 200  # characters of a line
_PATH = re.compile(
    r"(?<![\w/.:@-])(?:~|\.{1,2})?/?(?:[\w.-]+/)+[\w-][\w.-]*\.\w{1,8}\b"
    r"|(?<![\w/.:@-])(?!(?i:node|vue|next|nuxt|react|express|three|chart|d3)\.js\b)\.?[\w-][\w.-]*\.(?:pyi?|md|txt|json[cl]?|ya?ml|toml|ini|cfg|conf|env|lock|[jt]sx?|mjs|vue|html?|s?css|java|kts?|go|rs|rb|php|c|h|cc|cpp|hpp"
    r"|cs|swift|sh|bash|sql|db|csv|tsv|xml|ipynb|log|docx?|xlsx?|pptx?|pdf|png|jpe?g|svg|gif|zip|gz|tar|tex|bib)\b(?!/|\.\w)",
    re.A,  # Chinese around a name is no part of it
)
_CALLED = re.compile(r'"(?:path|file|file_?name|file_?path|target|source|destination)":\s*"((?:[^"\\]|\\.)+)"')
_ASKED = re.compile(r"^(?:Asked: |问：)")
_UNKNOWN = re.compile(r"\Z|我不知道|I don't know", re.I)  # no result
_RESULT_RANK = 3
_LEAST = 600  # characters that a summary may always take
_FIRST, _NEWEST = re.compile(r"^(?:First: |最初：)"), re.compile(r"^(?:Newest: |最新：)")


@dataclass(frozen=True)
class Asked:
    """A request of the user and what was answered, "" when nothing was."""

    text: str
    answer: str


def summarise(earlier: str, transcript: str) -> str:
    """The four sections; what the earlier summary says still stands unless it was changed since.

    >>> print(summarise("(none)", "[USER]: Remember: we use uv.\\n[USER]: What is in notes.md?"))
    ## SESSION INTENT
    - What is in notes.md?
    <BLANKLINE>
    ## SUMMARY
    - The user asked to remember: We use uv.
    <BLANKLINE>
    ## ARTIFACTS
    - notes.md
    <BLANKLINE>
    ## NEXT STEPS
    - What is in notes.md?
    """
    old, said = _sections(earlier), turns(transcript)
    chinese = mainly_chinese(" ".join(t.text for t in said if t.role == "USER") or earlier)
    asked = _requests(said)
    parts = (
        _intent(old["SESSION INTENT"], asked, said, chinese),
        _bounded(_statements(old["SUMMARY"], said, asked, chinese), len(earlier) + len(transcript)),
        _files(old["ARTIFACTS"], said),
        _open(old["NEXT STEPS"], asked, said),
    )
    filled = ("\n".join(f"- {line}" for line in lines) or "None" for lines in parts)
    return "\n\n".join(f"## {name}\n{text}" for name, text in zip(SECTIONS, filled, strict=True))


def _sections(text: str) -> dict[str, list[str]]:
    """The bullets of an earlier summary by section; one without our sections is all SUMMARY."""
    pieces = re.split(rf"^#+ ({'|'.join(SECTIONS)})[ \t]*$", text, flags=re.M)
    found: dict[str, list[str]] = {name: [] for name in SECTIONS}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):  # several summaries may stand one after the other
        found[name] += _lines(body)
    return found if len(pieces) > 1 else found | {"SUMMARY": _lines(text)}


def _lines(text: str) -> list[str]:
    lines = bullets(text) or [line for line in text.splitlines() if not line.lstrip().startswith(("<", "#"))]
    return [" ".join(line.split()) for line in lines if line.strip().strip(".").lower() not in ("", "none", "(none)")]


def _requests(said: Sequence[Turn]) -> list[Asked]:
    found = list[Asked]()
    for at, turn in enumerate(said):
        text = request_in(turn.text) if turn.role == "USER" else ""
        if text:
            after = next((n for n in range(at + 1, len(said)) if said[n].role == "USER"), len(said))
            answers = [other.text for other in said[at + 1 : after] if other.role == "ASSISTANT"]
            found.append(Asked(shortened(text, REQUEST), answers[-1] if answers else ""))
    return found


def _intent(old: list[str], asked: list[Asked], said: Sequence[Turn], chinese: bool) -> list[str]:
    """The first request and the newest one; without any, what the user said first."""
    spoken = [shortened(turn.text, REQUEST) for turn in said if turn.role == "USER" and turn.text]
    texts = [request.text for request in asked] or ([] if old else spoken[:1])
    first = _FIRST.sub("", old[0]) if old else next(iter(texts), "")
    newest = texts[-1] if texts else _NEWEST.sub("", old[-1]) if old else ""
    if first == newest:
        return [first] if first else []
    return [f"最初：{first}", f"最新：{newest}"] if chinese else [f"First: {first}", f"Newest: {newest}"]


def _statements(old: list[str], said: Sequence[Turn], asked: list[Asked], chinese: bool) -> list[str]:
    entries = [Entry(line, type_of_entry(line)) for line in old if not _ASKED.match(line)]
    for turn in said:
        for fact in facts(turn.text) if turn.role == "USER" else ():
            entry = entry_of(fact, marked=True)
            how, at = judged(entry, entries)
            if how == "changed":
                del entries[at]
            if how != "same":
                entries.append(entry)
    results = [line for line in old if _ASKED.match(line)]
    results += [_result(request, chinese) for request in asked if not _UNKNOWN.match(request.answer)]
    return [entry.line for entry in entries] + list(dict.fromkeys(results))


def _result(asked: Asked, chinese: bool) -> str:
    lead, answer = "问：" if chinese else "Asked: ", shortened(asked.answer, RESULT)
    return f"{lead}{asked.text} -> {answer}"


def _rank(line: str) -> int:
    """What stays first when there is no room: what was to be remembered, statements, other lines, results."""
    if line.startswith((ASKED_ZH, ASKED_EN)):
        return 0
    return _RESULT_RANK if _ASKED.match(line) else 1 if lead_of(line)[0] else 2


def _bounded(lines: list[str], length: int) -> list[str]:
    """The lines within the bounds, in their order; of two of a kind the newer one stays.

    Results take no more than half of the characters that the summary stands for, so that it saves something.
    """
    order = sorted(range(len(lines)), key=lambda at: (_rank(lines[at]), -at))
    kept, room = set[int](), MOST_CHARACTERS
    for at in order:
        size = len(lines[at]) + 3
        spare = max(_LEAST, length // 2) - (MOST_CHARACTERS - room) if _rank(lines[at]) == _RESULT_RANK else room
        if len(kept) < MOST_LINES and size <= min(room, spare):
            kept.add(at)
            room -= size
    return [lines[at] for at in sorted(kept)]


def _files(old: list[str], said: Sequence[Turn]) -> list[str]:
    """The files of the earlier summary and of the conversation, each once, the newest when there are many."""
    found = dict.fromkeys(line.strip("`") for line in old)
    for turn in said:
        named = _CALLED.findall(turn.text) if turn.role == "CALL" else []
        for path in [*named, *_PATH.findall(re.sub(r"\w+://\S+", " ", turn.text))]:
            name = path.removeprefix("./").replace("\\\\", "\\").rstrip(".")
            if name not in ("", ".", "/"):
                found.pop(name, None)
                found[name] = None
    return list(found)[-MOST_FILES:]


def _open(old: list[str], asked: list[Asked], said: Sequence[Turn]) -> list[str]:
    """Requests that have no answer yet; an earlier one has it when the assistant spoke before the user did again."""
    first = next((turn.role for turn in said if turn.role in ("USER", "ASSISTANT")), "")
    waiting = [] if first == "ASSISTANT" else list(old)
    waiting += [request.text for request in asked if not request.answer]
    return list(dict.fromkeys(waiting))[-MOST_OPEN:]
