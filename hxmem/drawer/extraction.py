"""Extraction: after an answer the model proposes memories, and only local code writes them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hxmem.chat import Message
from hxmem.drawer.catalog import catalog, narrow
from hxmem.drawer.detail import Memory
from hxmem.drawer.prompts import DIALOGUE_LABEL, EXISTING_LABEL, prompts
from hxmem.drawer.store import MemoryStore, WriteResult
from hxmem.plugins import Ask, is_summary, without_recall
from hxmem.replies import read_items
from hxmem.text import cut_middle, fitting

MAX_DIALOGUE = 8_000  # characters; the newest turns are kept
MAX_CONTEXT = 500  # characters of one answer of the assistant: context, not evidence
MAX_ITEMS = 10  # of one reply: more is noise, not memory

_PLACEHOLDER = re.compile(
    r"(?i)\W*(?:the )?(?:(?:rest|body|content) )?(?:is )?(?:unchanged|same as before|不变|同上|略)\W*|\W{0,9}"
)


@dataclass(frozen=True)
class Extraction:
    """What was written, what was not and why; `reason` is set when the whole extraction failed."""

    written: tuple[WriteResult, ...] = ()
    skipped: tuple[str, ...] = ()
    reason: str = ""


def extract(messages: Sequence[Message], store: MemoryStore, ask: Ask, lang: str = "") -> Extraction:
    """Ask the model what in a finished conversation is worth keeping, check each proposal, and write the good ones.

    It never raises for what a model or a disk does: the failure is in the result, and every file stays as it was.
    """
    spoken = dialogue(messages)
    if "user: " not in spoken:
        return Extraction()
    written: list[WriteResult] = []
    skipped: list[str] = []
    reason = ""
    try:
        items, skipped = read_items(ask(extraction_query(spoken, store, lang)))
        if skipped and not items:
            skipped, reason = [], "; ".join(skipped)
        if len(items) > MAX_ITEMS:
            skipped.append(f"{len(items) - MAX_ITEMS} items over the limit of {MAX_ITEMS}")
        for item in items[:MAX_ITEMS]:
            if _PLACEHOLDER.fullmatch(item.body):
                skipped.append(f"{item.name}: its body is a placeholder, not a text")
                continue
            result = store.write(Memory(item.name, item.type, item.description, item.body))
            if result.stored:
                written.append(result)
            else:
                skipped.append(f"{result.name}: {result.reason}")
    except Exception as error:  # whatever the model's client or the disk raises must not cost the answer
        reason = f"{error}" or type(error).__name__
    return Extraction(tuple(written), tuple(skipped), reason)


def extraction_query(spoken: str, store: MemoryStore, lang: str = "") -> list[dict[str, str]]:
    """The messages of the extraction: one user message with the existing catalog and the dialogue."""
    existing = catalog(narrow(store.list(), store, spoken), types=True)
    shown = f"{EXISTING_LABEL}\n{existing or '(none)'}\n\n{DIALOGUE_LABEL}\n{spoken}"
    return [{"role": "user", "content": f"{prompts(lang).extract}\n\n{shown}"}]


def dialogue(messages: Sequence[Message], limit: int = MAX_DIALOGUE) -> str:
    """The conversation as evidence: what the user said, without recalled notes; the newest part where it is long.

    Tool results never appear, nor an answer of the assistant in a turn that used tools, since it may quote them.

    >>> print(dialogue([{"role": "user", "content": "I like tea."}, {"role": "assistant", "content": "Noted."}]))
    user: I like tea.
    assistant: Noted.
    """
    turns: list[str] = []
    tools_used = False
    for message in messages:
        role, content = message.get("role"), "" if is_summary(message) else _text(message.get("content"))
        content = without_recall(content) if role == "user" else cut_middle(content, MAX_CONTEXT)
        tools_used = role != "user" and (tools_used or role == "tool" or bool(message.get("tool_calls")))
        if content.strip() and (role == "user" or (role == "assistant" and not tools_used)):
            turn = f"{role}: " + "\n  ".join(content.strip().splitlines())
            turns.append(cut_middle(turn, limit - 2 * MAX_CONTEXT))  # a huge turn leaves room for the answer behind it
    kept = fitting(reversed(turns), lambda turn: len(turn) + 1, limit + 1)
    return "\n".join(reversed(kept))


def _text(content: Any) -> str:
    if isinstance(content, list):  # content as parts: only the text counts
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
