"""The views of a notebook: functions that return a `View`, which has a text form and an HTML form."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from hxmem.exchanges import Exchange
from hxmem.files import FileProblem
from hxmem.lab.bodies import answer_of, failure, show_body
from hxmem.lab.charts import token_plot
from hxmem.lab.columns import count, cut, plain, wrap
from hxmem.lab.desks import CUT, NEW, SHORTENED, STAYED, pieces, show_cut, show_cuts
from hxmem.lab.differences import diff_bodies
from hxmem.lab.drawers import desk_and_drawer, show_drawer
from hxmem.lab.journals import show_journal
from hxmem.lab.page import WIDTH, Grid, View, render
from hxmem.lab.parts import all_in_words, body_tokens, messages_of

__all__ = [
    "View",
    "desk_and_drawer",
    "diff_bodies",
    "picture",
    "show_body",
    "show_cut",
    "show_cuts",
    "show_drawer",
    "show_journal",
    "show_table",
    "timeline",
    "token_plot",
]

_ENDS = 4  # messages that are named at either end of a long list


class PictureMissing(FileProblem):
    """There is no picture of this name."""


def timeline(exchanges: Sequence[Exchange]) -> View:
    """The requests of a run in their order: what each was for, what was new in it, what came back."""
    purposes = Counter(exchange.purpose for exchange in exchanges)
    caption = ": ".join([count(len(exchanges), "request"), ", ".join(f"{n} {name}" for name, n in purposes.items())])
    header = ("#", "purpose", "messages", "~tokens", "new on the desk", "answer")
    rows: list[tuple[str, ...]] = []
    before: Exchange | None = None
    latest: dict[str, Exchange] = {}
    for number, exchange in enumerate(exchanges, 1):
        size = (f"{len(exchange.messages):,}", f"{body_tokens(exchange.body):,}")
        new = _new(before, latest.get(exchange.purpose), exchange)
        rows.append((str(number), exchange.purpose, *size, new, _in_short(exchange)))
        before = latest[exchange.purpose] = exchange
    return render(Grid(rows, header, caption.removesuffix(": "), frozenset({0, 2, 3})))


def _new(before: Exchange | None, earlier: Exchange | None, exchange: Exchange) -> str:
    """What a request holds, in words; of one that goes on with an earlier one of its purpose, what came and went."""
    messages = messages_of(exchange.body)
    words = all_in_words(messages)
    if before and before.body == exchange.body:
        return "nothing, the same body again"
    known = messages_of(earlier.body) if earlier else []
    if 0 < len(known) < len(messages) and messages[: len(known)] == known:
        return "+ " + _listed(words[len(known) :])
    found = pieces(known, messages) if known else []
    states = Counter(piece.state for piece in found)
    if states[CUT] + states[SHORTENED] and any(p.state == STAYED and p.message.get("role") != "system" for p in found):
        changed = [f"- {count(states[CUT], 'message')}"] if states[CUT] else []
        changed += [f"{count(states[SHORTENED], 'message')} shortened"] if states[SHORTENED] else []
        came = [piece.words for piece in found if piece.state == NEW]
        return "; ".join([*changed, *(["+ " + _listed(came)] if came else [])])
    return _listed(words)


def _listed(words: Sequence[str]) -> str:
    """The words of all messages, of many those at the ends."""
    if len(words) > 2 * _ENDS + 1:
        words = [*words[:_ENDS], f"… {count(len(words) - 2 * _ENDS, 'more message')}", *words[-_ENDS:]]
    return "; ".join(words)


def _in_short(exchange: Exchange) -> str:
    if failed := failure(exchange):
        return ": ".join(failed)
    said = answer_of(exchange)[0]
    try:
        value = json.loads(said)
    except ValueError:
        return cut(plain(said), 70)
    named = [str(item.get("name", "?")) for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return f"{count(len(named), 'item')}: {', '.join(named)}" if named else cut(plain(said), 70)


def show_table(rows: Iterable[Sequence[Any]], header: Sequence[str], caption: str = "") -> View:
    """A small table, such as measured numbers; columns of numbers are aligned to the right."""
    listed = [tuple(row) for row in rows]
    numbers = {n for n in range(len(header)) if listed and all(type(row[n]) in (int, float) for row in listed)}
    shown = [tuple(f"{cell:,}" if type(cell) is int else str(cell) for cell in row) for row in listed]
    return render(Grid(shown, header, caption, frozenset(numbers)))


def picture(name: str) -> View:
    """A picture of the course, by its file's name without ending; the text form is its title and description."""
    from hxmem.lab.course import data_folder

    folder = data_folder() / "pictures"
    known = sorted(path.stem for path in folder.glob("*.svg"))
    if name not in known:
        raise PictureMissing(f"There is no picture {name}: use one of {', '.join(known)}.")
    svg = (folder / f"{name}.svg").read_text(encoding="utf-8")
    root = ET.fromstring(svg)
    words = [" ".join((root.findtext(f"{{*}}{tag}") or "").split()) for tag in ("title", "desc")]
    return View("\n".join(wrap("\n".join(words), WIDTH)), svg[svg.index("<svg") :].strip())
