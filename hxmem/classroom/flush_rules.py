"""The flush: what the user said that the journal does not have yet, as bullets."""

from hxmem.classroom.entries import Entry, bullets, entry_of, judged, type_of_entry
from hxmem.classroom.facts import facts
from hxmem.classroom.transcripts import turns

NOTHING = "NO_REPLY"


def flush(memory: str, today: str, log: str, transcript: str) -> str:
    """The new facts of the user's turns as a list in Markdown, or NO_REPLY.

    >>> flush("(none)", "2026-11-30", "- The user said: I like tea.", "[USER]: I like tea. We use uv.")
    '- Project fact: We use uv.'
    """
    known = [Entry(text, type_of_entry(text)) for text in bullets(memory) + bullets(log)]
    new = list[Entry]()
    for turn in turns(transcript):
        for fact in facts(turn.text, today) if turn.role == "USER" else ():
            entry = entry_of(fact)
            if judged(entry, known)[0] == "same":
                continue
            how, at = judged(entry, new)
            if how == "changed":
                del new[at]  # the user changed it within this conversation
            if how != "same":
                new.append(entry)
    return "\n".join(f"- {entry.line}" for entry in new) or NOTHING
