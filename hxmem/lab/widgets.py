"""The Inspector: the requests of a run in a list, one of them in detail; a skin on the plain views."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from hxmem.exchanges import Exchange
from hxmem.lab.bodies import answer_of, path_of, show_body
from hxmem.lab.differences import diff_bodies
from hxmem.lab.markup import pre
from hxmem.lab.page import Grid, Line, View, below, render
from hxmem.lab.views import timeline
from hxmem.wirefiles import curl

_SHOWN = ("accept", "authorization", "content-type", "retry-after", "user-agent")  # others hold hosts, clocks and ids


class Inspector:
    """The exchanges of a run as a widget; without ipywidgets, or with HXMEM_STATIC=1, timeline and last body."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self.exchanges = tuple(exchanges)

    def view(self) -> View:
        """The plain form: the timeline and the last body."""
        if not self.exchanges:
            return render(Line(("no requests",)))
        return below(timeline(self.exchanges), show_body(self.exchanges[-1]))

    def widget(self) -> Any:
        """The ipywidgets form: a list on the left, tabs on the right; the Tab and arrow keys reach all of it."""
        import ipywidgets

        panes = [ipywidgets.HTML() for _ in TABS]
        tabs = ipywidgets.Tab(panes, titles=tuple(TABS), layout={"width": "600px"})
        chosen = ipywidgets.Select(
            options=options(self.exchanges), rows=max(4, min(len(self.exchanges), 20)), layout={"width": "160px"}
        )

        def show(_: Any = None) -> None:
            for pane, shown in zip(panes, all_tabs(self.exchanges, chosen.index).values(), strict=True):
                pane.value = shown.html

        chosen.observe(show, "index")
        show()
        return ipywidgets.HBox([chosen, tabs])

    def __repr__(self) -> str:
        return self.view().text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = self.view()._repr_mimebundle_()
        if self.exchanges and not is_static(os.environ):
            bundle |= self.widget()._repr_mimebundle_(include=(), exclude=())
        return bundle


def is_static(environ: Mapping[str, str]) -> bool:
    """Whether the plain form has to do."""
    return environ.get("HXMEM_STATIC") == "1" or find_spec("ipywidgets") is None


def options(exchanges: Sequence[Exchange]) -> list[tuple[str, int]]:
    """The entries of the list, as (label, place)."""
    return [(f"{n + 1} {e.purpose}{'' if e.status == 200 else ' (failed)'}", n) for n, e in enumerate(exchanges)]


def all_tabs(exchanges: Sequence[Exchange], place: int) -> dict[str, View]:
    """What the tabs show for the exchange at this place."""
    return {name: make(exchanges, place) for name, make in TABS.items()}


def body_tab(exchanges: Sequence[Exchange], place: int) -> View:
    """The body, set off by parts."""
    return show_body(exchanges[place])


def difference_tab(exchanges: Sequence[Exchange], place: int) -> View:
    """The difference to the request before."""
    if place:
        return diff_bodies(exchanges[place - 1], exchanges[place])
    return render(Line(("the first request: nothing to compare",)))


def answer_tab(exchanges: Sequence[Exchange], place: int) -> View:
    """The whole answer with its facts."""
    said, facts = answer_of(exchanges[place])
    return below(View(said, pre(said)), render(Line(facts or ("no usage",))))


def headers_tab(exchanges: Sequence[Exchange], place: int) -> View:
    """The headers that mean something to a reader, the key masked; hosts, clocks and ids are left out."""
    exchange = exchanges[place]
    sides = (("sent", exchange.request_headers), ("came back", exchange.response_headers))
    rows = [(side, name.lower(), value) for side, headers in sides for name, value in sorted(headers.items())]
    rows = [row for row in rows if row[1] in _SHOWN]
    first = (f"{exchange.method} {path_of(exchange)}", f"status {exchange.status}")
    return render(Line(first), Grid(rows, ("", "header", "value")))


def curl_tab(exchanges: Sequence[Exchange], place: int) -> View:
    """The request as a command, with variables in place of the address and the key."""
    start, _, rest = curl(exchanges[place]).partition(" \\\n")
    text = f'{start.split(" ")[0]} "$DEEPSEEK_BASE_URL{path_of(exchanges[place])}" \\\n{rest}'
    return View(text, pre(text))


TABS: Mapping[str, Callable[[Sequence[Exchange], int], View]] = {
    "Body": body_tab,
    "Difference": difference_tab,
    "Answer": answer_tab,
    "Headers": headers_tab,
    "curl": curl_tab,
}
