"""What a view is, and the few blocks that all views are made of, each in a text form and an HTML form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hxmem.lab.columns import aligned, count, cut, pad, plain, shorten, width, wrap
from hxmem.lab.markup import FAINT, SHADE, code, div, entries, escape, fold, marked, pre, table

WIDTH = 100  # columns of the text form: a terminal, GitHub and a notebook all show as many
_LEFT = 39  # columns of the left one of two grids
_LABEL = 40  # columns of a label at most

_BOX = f"border:1px {FAINT};border-radius:6px;padding:8px 12px;margin:0 0 8px;box-sizing:border-box"
_NUMBER = "text-align:right;font-variant-numeric:tabular-nums;"


@dataclass(frozen=True, repr=False)
class View:
    """Something to look at: `text` stands by itself, `html` tells the same in a notebook."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}


@dataclass(frozen=True)
class Line:
    """Short facts in a row."""

    items: Sequence[str]


@dataclass(frozen=True)
class Row:
    """A labelled text. `kind`: "prose", "list" (one entry a line), "fold" (opens on demand), "head", "+" or "-"."""

    label: str
    text: str
    kind: str = "prose"
    title: str = ""


@dataclass(frozen=True)
class Box:
    """Rows under a title; `frame` is for the text form, which is indented without it."""

    title: str
    rows: Sequence[Row] = ()
    words: str = ""
    frame: bool = True


@dataclass(frozen=True)
class Grid:
    """A table; the first cell of a row is its header. Cells that begin with `bold` stand out."""

    rows: Sequence[Sequence[str]]
    header: Sequence[str] = ()
    caption: str = ""
    numbers: frozenset[int] = frozenset()
    bold: str = "\0"


@dataclass(frozen=True)
class Beside:
    """Two grids side by side."""

    left: Grid
    right: Grid


Block = Line | Box | Grid | Beside


def render(*blocks: Block) -> View:
    """The view of these blocks."""
    lines = [line.rstrip() for block in blocks for line in _lines(block)]
    style = "max-width:760px;line-height:1.5;text-align:left;overflow-wrap:break-word"
    return View("\n".join(lines), div(style, *map(_html, blocks)))


def below(*views: View) -> View:
    """Views one below the other."""
    return View("\n\n".join(view.text for view in views), "<br>".join(view.html for view in views))


def _lines(block: Block) -> list[str]:
    match block:
        case Line():
            return wrap(plain("   ".join(block.items)), WIDTH)
        case Box():
            return _box_lines(block)
        case Grid():
            return _grid_lines(block, WIDTH)
        case Beside():
            left, right = _grid_lines(block.left, _LEFT, 2), _grid_lines(block.right, WIDTH - 3 - _LEFT, 2)
            height = max(len(left), len(right))
            left, right = ([*side, *[""] * (height - len(side))] for side in (left, right))
            return [f"{pad(cut(one, _LEFT), _LEFT)}   {other}" for one, other in zip(left, right, strict=True)]


def _grid_lines(grid: Grid, room: int, gap: int = 3) -> list[str]:
    rows = [[plain(cell) for cell in row] for row in ([grid.header] if grid.header else []) + list(grid.rows)]
    lines = aligned(rows, room, grid.numbers, gap) if rows else []
    return [*([plain(grid.caption)] if grid.caption else []), *([""] if grid.caption and grid.header else []), *lines]


def _box_lines(box: Box) -> list[str]:
    title = plain("   ".join(filter(None, (box.title, box.words))))
    framed = box.frame and box.title
    edge = "│ " if framed else "    " if title else ""
    labels = [cut(plain(row.label), _LABEL) for row in box.rows]
    column = max((width(label) + 2 for label in labels if label), default=0)
    title = cut(title, WIDTH - 4)
    lines = [f"┌ {title} " + "─" * (77 - width(title))] if framed else [title] if title else []
    for row, label in zip(box.rows, labels, strict=True):
        space = 0 if row.kind == "fold" and not label else column
        for text in _row_lines(row, WIDTH - space - len(edge)):
            lines.append(f"{edge}{pad(label, space)}{text}")
            label = ""
    return [*lines, "└" + "─" * 79] if framed else lines


def _row_lines(row: Row, room: int) -> list[str]:
    if row.kind == "fold":
        return [_folded(row)]
    text, more = shorten(plain(row.text).rstrip())
    lines = [cut(line, room) for line in text.split("\n")] if row.kind == "list" else wrap(text, room)
    return [*filter(None, [plain(row.title)]), *lines, *filter(None, [more]), *([""] if row.kind == "head" else [])]


def _folded(row: Row) -> str:
    return f"({row.title}, {count(len(row.text.splitlines()), 'line')})"


def _html(block: Block) -> str:
    match block:
        case Line():
            first, *rest = map(escape, block.items)
            return f'<p style="margin:0 0 6px">{" &nbsp;·&nbsp; ".join([f"<strong>{first}</strong>", *rest])}</p>'
        case Box():
            title = f"<strong>{escape(block.title)}</strong> &nbsp;{escape(block.words)}" if block.title else ""
            return div(_BOX if title else f"{_BOX};border-style:dashed", title, _rows_html(block.rows))
        case Grid():
            return _grid_html(block)
        case Beside():
            left = div(f"{_BOX};border-width:2px;flex:1 1 270px", _grid_html(block.left))
            right = div(f"{_BOX};border-width:2px;border-style:dashed;flex:1.6 1 430px", _grid_html(block.right))
            return div("font-size:.95em;display:flex;flex-wrap:wrap;gap:0 12px", left, right)


def _rows_html(rows: Sequence[Row]) -> str:
    if not any(row.label for row in rows):
        return "".join(map(_row_html, rows))
    cells = [[_label(row.label), _row_html(row)] if row.label else [_row_html(row)] for row in rows]
    return table(cells, {0: "white-space:nowrap", 1: "width:100%;"})


def _label(label: str) -> str:
    return code(label) if label.startswith("<") else escape(label)


def _row_html(row: Row) -> str:
    if row.kind == "fold":
        return fold(_folded(row)[1:-1], row.text)
    text, more = shorten(row.text)
    inside = entries(text) if row.kind == "list" else pre(text, SHADE if row.kind == "head" else "")
    title = f"<strong>{escape(row.title)}</strong>" if row.title else ""
    inside = title + inside + (f"<em>{escape(more)}</em>" if more else "")
    return marked(row.kind, inside) if row.kind in "+-" else inside


def _grid_html(grid: Grid) -> str:
    cells = [[f"<strong>{c}</strong>" if c.startswith(grid.bold) else c for c in map(escape, row)] for row in grid.rows]
    sizes = (max(map(width, column)) for column in zip(*grid.rows, strict=True))
    styles = {n: "white-space:nowrap;" if size < 16 else "overflow-wrap:anywhere;" for n, size in enumerate(sizes)}
    styles |= {n: styles[n] + _NUMBER for n in grid.numbers if n in styles}
    return table(cells, styles, list(map(escape, grid.header)), escape(grid.caption))
