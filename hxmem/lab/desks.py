"""A cut to look at: what left the desk, what stayed, what was shortened, what is new, and what it saved."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

from hxmem.answers import Message
from hxmem.desk.cuts import Cut
from hxmem.desk.estimates import message_tokens
from hxmem.lab.charts import bars
from hxmem.lab.columns import count, cut, plain, width
from hxmem.lab.page import Box, Grid, Line, Row, View, render
from hxmem.lab.parts import all_in_words, calls, parts
from hxmem.plugins import is_summary, without_recall
from hxmem.sessions import text_of

CUT, STAYED, SHORTENED, NEW = "cut", "stayed", "shortened", "new"
_HEADER = ("state", "before", "after", "role", "message", "~tokens")
_WORDS = 40  # columns of what a message is, and of its first words
_ALIKE = 8  # characters at the start or the end by which a shortened text is known
_SAID = 200  # characters are enough for the first words


@dataclass(frozen=True)
class Piece:
    """One message in a cut: its state, its places on the desk before and after, -1 where it was not on it."""

    state: str
    message: Message
    words: str
    before: int
    after: int
    tokens: tuple[int, int]


def show_cut(done: Cut, limit: int = 12) -> View:
    """The desk before and after a cut, in at most `limit` rows; of a long one runs of equal state are one row."""
    size = f"{count(len(done.before), 'message')}, ~{done.tokens_before:,} tokens"
    because = [Box("", (Row("reason", done.reason),))] if done.reason else []
    if done.how == "kept":
        return render(Line(("KEPT", "nothing changed on the desk", size)), *because)
    sizes = f"{len(done.before):,} -> {count(len(done.after), 'message')}"
    share = saved(done)
    head = (done.how.upper(), sizes, f"~{done.tokens_before:,} -> ~{done.tokens_after:,} tokens", share)
    rows = [("before", done.tokens_before, ""), ("after", done.tokens_after, share)]
    chart = bars(rows, f"Tokens of the next request before and after {done.how}")
    listed = _rows(pieces(done.before, done.after), max(limit, 3))
    views = (render(Line(head), *because), chart, render(Grid(listed, _HEADER, "", frozenset({5}), NEW)))
    return View("\n\n".join(view.text for view in views), "".join(view.html for view in views))


def show_cuts(cuts: Sequence[Cut]) -> View:
    """What the desk did in a conversation, one row a cut."""
    rows = []
    for number, done in enumerate(cuts, 1):
        states = Counter(piece.state for piece in pieces(done.before, done.after))
        what = ", ".join(f"{states[state]:,} {state}" for state in (CUT, STAYED, SHORTENED, NEW) if states[state])
        tokens = (f"{done.tokens_before:,}", f"{done.tokens_after:,}")
        rows.append((str(number), done.how, what, *tokens, done.reason if done.how == "kept" else saved(done)))
    header = ("#", "what", "messages", "~tokens before", "after", "result")
    return render(Grid(rows, header, count(len(rows), "cut"), frozenset({0, 3, 4})))


def saved(done: Cut) -> str:
    """The share of the tokens that a cut saved, in words."""
    if not done.tokens_before:
        return "nothing saved"
    share = (done.tokens_before - done.tokens_after) / done.tokens_before
    return f"{share:.0%} saved" if share >= 0 else f"{-share:.0%} more"


def pieces(before: Sequence[Message], after: Sequence[Message]) -> list[Piece]:
    """Every message of both desks in order, with what became of it."""
    words = all_in_words(before), all_in_words(after)
    same = _same(before, after)
    kept = same | _shortened(before, after, same)
    found, old, new = list[Piece](), 0, 0
    while old < len(before) or new < len(after):
        if kept.get(old) == new:
            state = STAYED if old in same else SHORTENED
            sizes = message_tokens(before[old]), message_tokens(after[new])
            found.append(Piece(state, after[new], words[1][new], old, new, sizes))
            old, new = old + 1, new + 1
        elif old < len(before) and old not in kept:
            found.append(Piece(CUT, before[old], words[0][old], old, -1, (message_tokens(before[old]), 0)))
            old += 1
        else:
            found.append(Piece(NEW, after[new], words[1][new], -1, new, (0, message_tokens(after[new]))))
            new += 1
    return found


def _same(before: Sequence[Message], after: Sequence[Message]) -> dict[int, int]:
    """The places of messages that are on both desks."""
    shared = {id(message) for message in before} & {id(message) for message in after}

    def key(message: Message) -> str:  # an object that lies on both desks is itself, whatever equals it
        return str(id(message)) if id(message) in shared else json.dumps(message, sort_keys=True, default=str)

    # From the end, since a desk is cut at its start: of equal messages the later ones stayed.
    first, second = ([key(message) for message in reversed(desk)] for desk in (before, after))
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    places = ((a + step, b + step) for a, b, size in blocks for step in range(size))
    return {len(before) - 1 - a: len(after) - 1 - b for a, b in places}


def _shortened(before: Sequence[Message], after: Sequence[Message], same: Mapping[int, int]) -> dict[int, int]:
    """The places of messages that came back shorter, between those that are the same."""
    found, at, stayed = dict[int, int](), 0, {new: old for old, new in same.items()}
    for new, message in enumerate(after):
        old = stayed.get(new, at)
        while new not in stayed and old < len(before) and old not in same and not _kin(before[old], message):
            old += 1
        if new in stayed:
            at = old + 1
        elif old < len(before) and old not in same:
            found[old], at = new, old + 1
    return found


def _kin(old: Message, new: Message) -> bool:
    """Whether the second message is the first one in fewer words."""
    if old.get("role") != new.get("role") or is_summary(new) or is_summary(old):
        return False
    if new.get("role") == "tool":
        return old.get("tool_call_id") == new.get("tool_call_id")
    if new.get("tool_calls") or old.get("tool_calls"):
        return _ids(old) == _ids(new)
    was, now = text_of(old), text_of(new)
    return was[:_ALIKE] == now[:_ALIKE] or was[-_ALIKE:] == now[-_ALIKE:]


def _ids(message: Message) -> list[str]:
    return [str(call.get("id")) for call in message.get("tool_calls") or ()]


def _rows(found: Sequence[Piece], limit: int) -> list[tuple[str, ...]]:
    """At most `limit` rows: the longest runs of one state become one row each, then the middle does."""
    runs = [list(run) for _, run in groupby(found, lambda piece: piece.state)]
    whole = set[int]()
    while sum(1 if n in whole else len(run) for n, run in enumerate(runs)) > limit and len(whole) < len(runs):
        whole.add(max(set(range(len(runs))) - whole, key=lambda n: len(runs[n])))
    groups = [group for n, run in enumerate(runs) for group in ([run] if n in whole else [[piece] for piece in run])]
    if len(groups) > limit:
        head, tail = limit // 2, limit - limit // 2 - 1
        groups[head : len(groups) - tail] = [[piece for group in groups[head : len(groups) - tail] for piece in group]]
    return [_row(group) for group in groups]


def _row(group: Sequence[Piece]) -> tuple[str, ...]:
    """One row for one message or for several."""
    states = Counter(piece.state for piece in group)
    roles = Counter(str(piece.message.get("role")) for piece in group)
    places = (_places([piece.before for piece in group]), _places([piece.after for piece in group]))
    was, now = (sum(sizes) for sizes in zip(*(piece.tokens for piece in group), strict=True))
    state = group[0].state if len(states) == 1 else "several"
    size = f"{was:,} -> {now:,}" if state in (SHORTENED, "several") else f"{was or now:,}"
    role, words = group[0].message.get("role"), group[0].words
    if len(group) > 1:
        role, words = count(len(group), "message"), _counted(states if len(states) > 1 else roles)
    says = "" if len(states) > 1 or "(placeholder" in group[0].words else _first_words(group[0].message)
    words += "; the first" if says and len(group) > 1 else ""
    return state, *places, plain(str(role)), _joined(words, says), size


def _counted(words: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {word}" for word, number in words.items())


def _places(places: Sequence[int]) -> str:
    on = [place for place in places if place >= 0]
    return "" if not on else f"{on[0]}" if len(on) == 1 else f"{on[0]}-{on[-1]}"


def _joined(words: str, says: str) -> str:
    """What a message is and its first words, on one line where there is room."""
    if not says or width(plain(words)) > _WORDS:
        return cut(plain(words), 2 * _WORDS)
    words, says = cut(plain(words), _WORDS), cut(plain(says), _WORDS)
    return f"{words}: {says}" if width(words) + width(says) + 2 <= _WORDS else f"{words}:\n{says}"


def _first_words(message: Message) -> str:
    """The beginning of what a message says on one line; of a summary that of its first section."""
    if message.get("role") == "system":
        return ""
    if is_summary(message):
        rows = [row.text for row in parts(message) if row.kind == "prose" and not row.label.startswith("<")]
        return " ".join("".join(rows[:1])[:_SAID].split())
    said = [without_recall(text_of(message)), *(arguments for _, arguments in calls(message))]
    return " ".join(next(filter(str.strip, said), "")[:_SAID].split())
