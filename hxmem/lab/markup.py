"""The small pieces of HTML that views are made of: semantic tags, no script, no fixed colour."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from hxmem.lab.columns import plain

# Lines and tints mix with the page's own colours. Notebook pages stripe and shrink tables, so cells say how to look.
FAINT = "solid;border-color:color-mix(in srgb,currentColor 28%,transparent)"
SHADE = "background:color-mix(in srgb,currentColor 6%,transparent);padding:6px 10px;margin:2px 0 8px;border-radius:4px"
_PLAIN = "border:none;background:none;line-height:1.5"
_CELL = f"{_PLAIN};text-align:left;vertical-align:top;padding:2px 12px 2px 0;font-weight:normal;max-width:none"
_FONT = "font-family:var(--jp-code-font-family,monospace);font-size:.93em"
_BREAK = "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
_PRE = f"{_PLAIN};margin:0;padding:0;color:inherit;{_FONT};{_BREAK}"
_TABLE = "border-collapse:collapse;border:none;margin:0;font-size:inherit;color:inherit;table-layout:auto"
_CAPTION = "text-align:left;caption-side:top;padding:0 0 4px;color:inherit;font-size:inherit"
_MARKS = {"+": ("ins", "rgba(46,160,67,.18)"), "-": ("del", "rgba(220,80,70,.18)")}


def escape(text: str) -> str:
    """The text as HTML shows it."""
    return html.escape(plain(text))


def div(style: str, *inside: str) -> str:
    """A division of the page; `inside` is HTML."""
    return f'<div style="{style}">{"".join(inside)}</div>'


def code(text: str) -> str:
    """A tag or a name as it was sent."""
    return f'<code style="background:none;padding:0;color:inherit;{_FONT}">{escape(text)}</code>'


def pre(text: str, style: str = "") -> str:
    """Text whose line breaks count."""
    return f'<pre style="{_PRE};{style}">{escape(text)}</pre>'


def entries(text: str) -> str:
    """Text with one entry a line: a long entry goes on with an indent."""
    lines = (
        f'<span style="display:block;padding-left:3ch;text-indent:-3ch">{escape(row)}</span>'
        for row in text.split("\n")
    )
    return f'<pre style="{_PRE}">{"".join(lines)}</pre>'


def fold(summary: str, text: str) -> str:
    """Text that opens on a click or with the Enter key."""
    return f'<details><summary style="cursor:pointer">{escape(summary)}</summary>{pre(text, SHADE)}</details>'


def marked(sign: str, inside: str) -> str:
    """Something that was added ("+") or taken away ("-")."""
    tag, tint = _MARKS[sign]
    return f'<{tag} style="display:block;text-decoration:none;padding:1px 6px;background:{tint}">{inside}</{tag}>'


def table(
    rows: Sequence[Sequence[str]], styles: Mapping[int, str], header: Sequence[str] = (), caption: str = ""
) -> str:
    """A table of HTML cells; `styles` are added by column. A row's first cell is its header, a lone one is wide."""
    size = max(map(len, rows), default=0)

    def line(cells: Sequence[str], top: str = "") -> str:
        made = []
        for place, cell in enumerate(cells):
            wide = f' colspan="{size}"' if len(cells) < size else ""
            tag = 'th scope="col"' if top else f"td{wide}" if place or wide else 'th scope="row"'
            style = ("" if wide else styles.get(place, "")) + ("padding-right:0" if place == len(cells) - 1 else "")
            made.append(f'<{tag} style="{_CELL};{top}{style}">{cell}</{tag[:2]}>')
        return f'<tr style="background:none">{"".join(made)}</tr>'

    one_line = "white-space:nowrap" if len(caption) < 60 else ""
    name = f'<caption style="{_CAPTION};{one_line}"><strong>{caption}</strong></caption>' if caption else ""
    head = f"<thead>{line(header, f'font-weight:600;border-bottom:1px {FAINT};')}</thead>" if header else ""
    return f'<table style="{_TABLE}">{name}{head}<tbody>{"".join(map(line, rows))}</tbody></table>'
