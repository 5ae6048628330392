"""Small charts: drawn in HTML with words for a screen reader, of block characters in text; both tell the numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from hxmem.lab.columns import aligned, count, cut, pad, plain, width, wrap
from hxmem.lab.markup import escape
from hxmem.lab.page import WIDTH, Grid, Line, View, render

_BLOCKS = "▁▂▃▄▅▆▇█"
_BAR, _LINE, _LEAST = 40, 36, 8  # columns of a bar, and of a line of blocks at most and at least
_NAME = 18  # columns of a name
_COLOURS = ("#5b93c9", "#b98a3c", "#55a882")  # both themes show them; dashes tell the same
_DASHES = ("", "8 4", "2 4")
_WIDE, _TOP, _HIGH, _LEFT = 720, 36, 150, 70  # pixels: the picture, and where the plot is in it
_MARKS = 8  # of a kind are named
_HEADER, _NUMBERS = ("requests", "highest", "last", "in all"), frozenset(range(1, 5))


def bars(rows: Sequence[tuple[str, int, str]], title: str) -> View:
    """A bar for each (name, tokens, note)."""
    most = max([1, *(value for _, value, _ in rows)])
    told = [f"{count(value, 'token')}{f', {note}' if note else ''}" for _, value, note in rows]
    names = [cut(plain(name), _NAME) for name, _, _ in rows]
    lines, drawn = list[tuple[str, str]](), list[str]()
    for place, (_, value, _) in enumerate(rows):
        share, y, colour = max(0, value) / most, 30 * place, _COLOURS[place % len(_COLOURS)]
        lines.append((names[place], f"{pad('█' * (round(_BAR * share) or int(value > 0)), _BAR)}  {told[place]}"))
        long = max(round(400 * share), 2 * (value > 0))
        bar = f'<rect x="70" y="{y + 4}" width="{long}" height="20" rx="2" fill="{colour}"></rect>'
        drawn += [_text(0, y + 19, names[place]), bar, _text(80 + long, y + 19, told[place])]
    described = "; ".join(map(": ".join, zip(names, told, strict=True)))
    text = "\n".join(line.rstrip() for line in aligned(lines, WIDTH, gap=2)) if lines else ""
    return View(text, _svg(title, described, drawn, 30 * len(rows)))


def token_plot(
    values: Sequence[int] | Mapping[str, Sequence[int]], marks: Mapping[int, str] | None = None, caption: str = ""
) -> View:
    """The tokens of each request of a conversation; conversations are compared as `{"without a desk": [...], ...}`.

    `marks` says what happened before a request, by its number from 1 on: `{12: "compaction"}`.
    """
    named = values if isinstance(values, Mapping) else {"": values}
    series = {cut(plain(name), _NAME): tuple(found) for name, found in named.items()}
    caption, events = caption or "Tokens of each request", _events(marks or {})
    numbers = [[f"{n:,}" for n in (len(v), max(v, default=0), v[-1] if v else 0, sum(v))] for v in series.values()]
    most = max([1, *(value for found in series.values() for value in found)])
    longest = max(map(len, series.values()), default=0)
    # text
    sizes = [3 + max(map(width, column)) for column in zip(_HEADER, *numbers, strict=True)]
    room = WIDTH - sum(sizes) - 3 - max(map(width, series), default=0)
    lines = [_blocks(found, most, longest, max(_LEAST, min(_LINE, room))) for found in series.values()]
    rows = [("", "", *_HEADER), *((name, line, *row) for name, line, row in zip(series, lines, numbers, strict=True))]
    rows = rows if any(series) else [row[1:] for row in rows]
    table = aligned(rows, WIDTH, frozenset(range(len(rows[0]) - 4, len(rows[0]))))
    text = [*wrap(plain(caption), WIDTH), "", *table, *(line for event in events for line in wrap(event, WIDTH))]
    # HTML
    facts = [", ".join(map(" ".join, zip(_HEADER, row, strict=True))) for row in numbers]
    described = [f"{name}: {told}" if name else told for name, told in zip(series, facts, strict=True)]
    drawn = [*_plot(series, marks or {}, most, longest)]
    picture = _svg(caption, "; ".join([*described, *events]), drawn, _TOP + _HIGH + 30)
    grid = Grid([(name, *row) for name, row in zip(series, numbers, strict=True)], ("", *_HEADER), "", _NUMBERS)
    below = render(grid, *(Line((event,)) for event in events))
    return View("\n".join(line.rstrip() for line in text), render(Line((caption,))).html + picture + below.html)


def _events(marks: Mapping[int, str]) -> list[str]:
    """What happened, each with the numbers of the requests before which it did."""
    found = []
    for word in dict.fromkeys(marks.values()):
        places = sorted(place for place, other in marks.items() if other == word)
        more = f" and {len(places) - _MARKS} more" if len(places) > _MARKS else ""
        found.append(f"{plain(word)} before request {', '.join(map(str, places[:_MARKS]))}{more}")
    return found


def _blocks(values: Sequence[int], most: int, longest: int, room: int) -> str:
    """One block a request; where there are more than columns, one for the highest of several."""
    step = max(1.0, longest / room)
    groups = [values[int(n * step) : max(int(n * step) + 1, int((n + 1) * step))] for n in range(room)]
    heights = [max(group) / most for group in groups if group]
    return "".join(_BLOCKS[min(len(_BLOCKS) - 1, int(max(0, height) * len(_BLOCKS)))] for height in heights)


def _plot(series: Mapping[str, Sequence[int]], marks: Mapping[int, str], most: int, longest: int) -> Iterator[str]:
    """Axes, marks, and a line for each series."""
    foot, right = _TOP + _HIGH, _WIDE - 20

    def at(place: int) -> float:
        return round(_LEFT + (right - _LEFT) * (place / (longest - 1) if longest > 1 else 0.5), 1)

    for value, y in ((most, _TOP), (0, foot)):
        yield f'<path d="M{_LEFT} {y}H{right}" stroke="currentColor" stroke-opacity=".3"></path>'
        yield _text(_LEFT - 8, y + 4, f"{value:,}", "end")
    for place in sorted({1, longest} if longest else ()):
        yield _text(at(place - 1), foot + 20, f"request {place}", "end" if place > 1 else "start")
    free = 0.0
    for number, word in sorted(marks.items()):
        if 1 <= number <= longest:
            x, look = at(number - 1), 'stroke="currentColor" stroke-opacity=".6" stroke-dasharray="3 3"'
            yield f'<path d="M{x} {_TOP}V{foot}" {look}></path>'
            if x > free:
                yield _text(x, _TOP - 6, cut(plain(word), _NAME), "end" if x > right - 60 else "middle")
                free = x + 130
    for n, (name, values) in enumerate(series.items()):
        look = f'stroke="{_COLOURS[n % 3]}" stroke-width="2.5" stroke-dasharray="{_DASHES[n % 3]}" fill="none"'
        dots = [(at(place), round(foot - _HIGH * max(0, value) / most, 1)) for place, value in enumerate(values)]
        if len(dots) > 1:
            yield f'<path d="M{" ".join(f"{x} {y}" for x, y in dots)}" {look}></path>'
        if longest <= 60:
            yield "".join(f'<circle cx="{x}" cy="{y}" r="3" fill="{_COLOURS[n % 3]}"></circle>' for x, y in dots)
        if name:
            x = _LEFT + 210 * n
            yield f'<path d="M{x} 10H{x + 30}" {look}></path>{_text(x + 38, 14, cut(plain(name), _NAME))}'


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">{escape(words)}</text>'


def _svg(title: str, description: str, inside: Sequence[str], high: int) -> str:
    """A picture with a title and a description, which a screen reader says."""
    drawn = "".join(inside)
    name = f"hx-{hashlib.sha256(f'{title}{description}{drawn}'.encode('utf-8', 'replace')).hexdigest()[:8]}"
    words = f'<title id="{name}-t">{escape(title)}</title><desc id="{name}-d">{escape(description)}</desc>'
    size = f'viewBox="0 0 {_WIDE} {max(high, 1)}" width="{_WIDE}" height="{max(high, 1)}"'
    style = "display:block;max-width:100%;height:auto;margin:0 0 8px"
    return (
        f'<svg {size} role="img" aria-labelledby="{name}-t {name}-d" style="{style}" font-family="inherit" '
        f'font-size="13">{words}{drawn}</svg>'
    )
