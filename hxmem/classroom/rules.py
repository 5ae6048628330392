"""What the classroom says to a request, from its body alone."""

import json
import re
from typing import Any

from hxmem.classroom.answer_rules import answer
from hxmem.classroom.choosing_rules import choose
from hxmem.classroom.extraction_rules import extract
from hxmem.classroom.wire import Reply, content_text

_SIDE_QUERY = re.compile(r"^User request:[ \t]*\n(?P<first>.*)^Memory catalog:[ \t]*\n?(?P<second>.*)\Z", re.M | re.S)
_EXTRACTION = re.compile(r"^Existing memories:[ \t]*\n?(?P<first>.*?)^Dialogue:[ \t]*\n?(?P<second>.*)\Z", re.M | re.S)
_CATALOG_LINE = re.compile(r"^(\d+): (.*)$", re.M)


def purpose_of(body: dict[str, Any]) -> str:
    """The kind of a request, by its labels: side-query, extraction or answer."""
    return _labelled(body)[0]


def reply_to(body: dict[str, Any]) -> Reply:
    """The reply of the rules; the same body gives the same reply."""
    purpose, first, second = _labelled(body)
    if purpose == "side-query":
        lines = _CATALOG_LINE.findall(second)
        chosen = choose(first.strip(), [line for _, line in lines])
        numbers = [int(lines[at][0]) for at in chosen]
        return Reply(json.dumps(numbers), f"classroom rule: {len(numbers)} of {len(lines)} lines fit the request")
    if purpose == "extraction":
        items = extract(first, second)
        text = json.dumps(items, ensure_ascii=False, indent=1) if items else "[]"
        return Reply(text, f"classroom rule: {len(items)} statements of the user to keep")
    return answer(body)


def _labelled(body: dict[str, Any]) -> tuple[str, str, str]:
    messages = body["messages"]
    if len(messages) == 1 and messages[0]["role"] == "user" and not body.get("tools"):
        text = content_text(messages[0])
        found = [(hit.start(), name, hit) for name, form in _forms() if (hit := form.search(text))]
        if found:
            _, name, hit = min(found, key=lambda each: each[0])
            return name, hit["first"], hit["second"]
    return "answer", "", ""


def _forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return (("side-query", _SIDE_QUERY), ("extraction", _EXTRACTION))
