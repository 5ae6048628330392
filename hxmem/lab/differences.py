"""Two request bodies and what is different between them: a desk before and after."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from hxmem.exchanges import Exchange
from hxmem.lab.columns import count, pad
from hxmem.lab.page import Box, Grid, Row, View, render
from hxmem.lab.parts import Body, body_tokens, calls, content, messages_of, tool_names
from hxmem.text import estimate_tokens

_MAX_LINES, _MAX_CHARACTERS = 14, 400  # of a run of changed lines, and of one line
_MAX_MESSAGES = 6  # messages in a row that are named one by one

Said = tuple[str, str]  # role and text of a message


def diff_bodies(before: Exchange | Body, after: Exchange | Body) -> View:
    """What the second request holds that the first doesn't, and the other way round: only changed lines are shown."""
    old, new = (item.body if isinstance(item, Exchange) else item for item in (before, after))
    sums = []
    for name, item, body in (("before", before, old), ("after", after, new)):
        purpose = item.purpose if isinstance(item, Exchange) else ""
        more = f"{body_tokens(new) - body_tokens(old):+,} tokens" if name == "after" else ""
        sums.append((name, purpose, count(len(messages_of(body)), "message"), f"~{body_tokens(body):,} tokens", more))
    return render(Grid(sums), *_messages(old, new), *_fields(old, new))


def _messages(old: Body, new: Body) -> Iterator[Box]:
    """The messages of both bodies, equal ones matched; what stands between is compared pair by pair."""
    first, second = ([(str(m.get("role")), _said(m)) for m in messages_of(body)] for body in (old, new))
    for kind, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if kind == "equal" and d - c > _MAX_MESSAGES:
            yield _run(c, second[c:d], "{} the same")
        elif abs((b - a) - (d - c)) > _MAX_MESSAGES:  # many came or went at once: no pairs
            yield from [_run(a, first[a:b], "- {} only before")] if b > a else []
            yield from [_run(c, second[c:d], "+ {} only after")] if d - c > _MAX_MESSAGES else []
            if d - c <= _MAX_MESSAGES:
                yield from (_one(c + step, None, now) for step, now in enumerate(second[c:d]))
        else:
            for step in range(max(b - a, d - c)):
                was = first[a + step] if a + step < b else None
                now = second[c + step] if c + step < d else None
                if was and now and (kind == "equal" or was[0] == now[0]):
                    yield _one(c + step, was, now)
                else:
                    yield from [_one(a + step, was, None)] if was else []
                    yield from [_one(c + step, None, now)] if now else []


def _run(place: int, said: Sequence[Said], words: str) -> Box:
    """Many messages in one line."""
    size, tokens = count(len(said), "message"), estimate_tokens("\n".join(text for _, text in said))
    name = f"messages[{place}]" if len(said) == 1 else f"messages[{place}-{place + len(said) - 1}]"
    return Box(pad(name, 21), (), f"{words.format(size)} (~{tokens:,} tokens)", frame=False)


def _one(place: int, was: Said | None, now: Said | None) -> Box:
    """One message, or a pair of them."""
    if was and now:
        if was == now:
            return _box(place, now[0], f"same ({count(len(now[1]), 'character')})")
        more = estimate_tokens(now[1]) - estimate_tokens(was[1])
        return _box(place, now[0], f"changed ({more:+,} tokens)", *_lines(was[1], now[1]))
    if was:
        return _box(place, was[0], f"- only before (-{estimate_tokens(was[1]):,} tokens)", *_lines(was[1], ""))
    role, text = now or ("", "")
    return _box(place, role, f"+ only after (+{estimate_tokens(text):,} tokens)", *_lines("", text))


def _box(place: int, role: str, words: str, *rows: Row) -> Box:
    return Box(f"messages[{place}] {pad(role, 9)}", rows, words, frame=False)


def _said(message: Body) -> str:
    """All that a message says, calls included; ids are left out, since they say nothing."""
    thinking = message.get("reasoning_content")
    said = [f"(thinking) {thinking}" if thinking else "", content(message)]
    return "\n".join(filter(None, [*said, *(f"calls {name} {arguments}" for name, arguments in calls(message))]))


def _lines(was: str, now: str) -> Iterator[Row]:
    """The changed lines; a run of equal ones is a count, a long run of changed ones is cut with a count."""
    first, second = ([line for line in text.split("\n") if line.strip()] for text in (was, now))
    for kind, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if kind == "equal":
            yield Row("=", f"({count(b - a, 'line')} the same)")
            continue
        for sign, lines in (("-", first[a:b]), ("+", second[c:d])):
            for line in lines[:_MAX_LINES]:
                yield Row(sign, line if len(line) <= _MAX_CHARACTERS else f"{line[:_MAX_CHARACTERS]}…", sign)
            if len(lines) > _MAX_LINES:
                yield Row(sign, f"… ({count(len(lines) - _MAX_LINES, 'more line')})", sign)


def _fields(old: Body, new: Body) -> Iterator[Box]:
    """The other fields of the bodies that differ, such as tools, stream and thinking."""
    for key in sorted((old.keys() | new.keys()) - {"messages"}):
        if old.get(key) != new.get(key):
            was, now = (_shown(key, body) for body in (old, new))
            rows = (Row("-", was, "-"), Row("+", now, "+")) if was != now else ()
            yield Box(pad(key, 21), rows, "changed" if rows else f"changed inside: {now}", frame=False)


def _shown(key: str, body: Body) -> str:
    if key == "tools":
        return ", ".join(tool_names(body)) or "no tools"
    return json.dumps(body[key], ensure_ascii=False, sort_keys=True) if key in body else "not there"
