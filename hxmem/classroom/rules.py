"""What the classroom says to a request, from its body alone."""

import json
import re
from typing import Any

from hxmem.classroom.answer_rules import answer
from hxmem.classroom.choosing_rules import choose
from hxmem.classroom.consolidation_rules import consolidate
from hxmem.classroom.extraction_rules import extract
from hxmem.classroom.flush_rules import NOTHING, flush
from hxmem.classroom.summary_rules import summarise
from hxmem.classroom.wire import Reply, content_text

_CATALOG_LINE = re.compile(r"^(\d+): (.*)$", re.M)
_LABELS = {  # at the starts of lines; a text in between may hold such a line too, so that the last one counts
    "side-query": r"^User request:[ \t]*\n(?P<a>.*)^Memory catalog:[ \t]*\n?(?P<b>.*)\Z",
    "extraction": r"^Existing memories:[ \t]*\n?(?P<a>.*?)^Dialogue:[ \t]*\n?(?P<b>.*)\Z",
    "summary": r"^Earlier summary:[ \t]*\n(?P<a>.*)^Conversation:[ \t]*\n?(?P<b>.*)\Z",
    "flush": r"^Long-term memory:[ \t]*\n(?P<a>.*)^Today's log \((?P<day>[^)\n]*)\):[ \t]*\n(?P<log>.*)"
    r"^New messages:[ \t]*\n?(?P<b>.*)\Z",
    "consolidation": r"^Present memory:[ \t]*\n(?P<a>.*)^Fresh logs:[ \t]*\n?(?P<b>.*)\Z",
}
_FORMS = {name: re.compile(form, re.M | re.S) for name, form in _LABELS.items()}


def purpose_of(body: dict[str, Any]) -> str:
    """The kind of a request, by its labels: side-query, extraction, summary, flush, consolidation or answer."""
    return _labelled(body)[0]


def reply_to(body: dict[str, Any]) -> Reply:
    """The reply of the rules; the same body gives the same reply."""
    purpose, found = _labelled(body)
    if found is None:
        return answer(body)
    if purpose == "side-query":
        return _chosen(found["a"].strip(), _CATALOG_LINE.findall(found["b"]))
    if purpose == "extraction":
        items = extract(found["a"], found["b"])
        text = json.dumps(items, ensure_ascii=False, indent=1) if items else "[]"
        return Reply(text, f"classroom rule: {len(items)} statements of the user to keep")
    if purpose == "summary":
        return Reply(
            summarise(found["a"], found["b"]), "classroom rule: what the user said and asked, in four sections"
        )
    if purpose == "flush":
        text = flush(found["a"], found["day"], found["log"], found["b"])
        count = 0 if text == NOTHING else text.count("\n") + 1
        return Reply(text, f"classroom rule: {count} facts of the user that the journal does not have")
    text = consolidate(found.string[: found.start()], found["a"], found["b"])
    return Reply(text, "classroom rule: fresh entries merged into the present ones")


def _chosen(request: str, lines: list[tuple[str, str]]) -> Reply:
    chosen = choose(request, [line for _, line in lines])
    numbers = [int(lines[at][0]) for at in chosen]
    return Reply(json.dumps(numbers), f"classroom rule: {len(numbers)} of {len(lines)} lines fit the request")


def _labelled(body: dict[str, Any]) -> tuple[str, re.Match[str] | None]:
    """The kind of request whose label comes first, and what stands under its labels."""
    messages = body["messages"]
    if len(messages) == 1 and messages[0]["role"] == "user" and not body.get("tools"):
        text = content_text(messages[0])
        found = [(hit.start(), name, hit) for name, form in _FORMS.items() if (hit := form.search(text))]
        if found:
            return min(found, key=lambda each: each[0])[1:]
    return "answer", None
