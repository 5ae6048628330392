"""The Inspector: the same views behind a list and tabs, and a plain form that needs no widget."""

import subprocess
import sys

import pytest

from hxmem.exchanges import Exchange
from hxmem.lab import widgets
from hxmem.lab.bodies import show_body
from hxmem.lab.views import timeline
from hxmem.lab.widgets import Inspector


def exchange(said, status=200):
    body = {"model": "m", "messages": [{"role": "user", "content": f"It's {said}"}]}
    sent = {"Host": "127.0.0.1:43210", "Authorization": "Bearer ***", "Content-Type": "application/json"}
    came = {"date": "Mon, 01 Jan", "x-request-id": "77", "content-type": "application/json"}
    answer = {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}
    return Exchange(
        "answer", "POST", "http://127.0.0.1:43210/v1/chat/completions", sent, body, status, came, answer, None, 0.1
    )


RUN = (exchange("one"), exchange("two", 503))


def test_without_widgets_it_shows_the_timeline_and_the_last_body(monkeypatch):
    monkeypatch.setenv("HXMEM_STATIC", "1")
    bundle = Inspector(RUN)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert repr(Inspector(RUN)) == bundle["text/plain"] == f"{timeline(RUN)}\n\n{show_body(RUN[-1])}"


def test_a_long_run_stays_small_in_its_plain_form():
    turns = [{"role": role, "content": f"turn {n}"} for n in range(250) for role in ("user", "assistant")]
    long = Exchange("answer", "POST", "", {}, {"messages": turns}, 200, {}, None, None, 0.1)
    assert len(repr(Inspector([long, RUN[0]] * 20)).split("\n")) < 200


def test_static_means_the_variable_or_no_ipywidgets(monkeypatch):
    assert widgets.is_static({"HXMEM_STATIC": "1"})
    monkeypatch.setattr(widgets, "find_spec", lambda name: None)
    assert widgets.is_static({})


def test_an_empty_run_is_a_sentence():
    assert repr(Inspector(())) == "no requests"


def test_the_tabs_of_a_request_are_views():
    shown = widgets.all_tabs(RUN, 1)
    assert list(shown) == ["Body", "Difference", "Answer", "Headers", "curl"]
    assert shown["Body"] == show_body(RUN[1])
    assert "-  It's one" in shown["Difference"].text and "+  It's two" in shown["Difference"].text
    assert "nothing to compare" in widgets.all_tabs(RUN, 0)["Difference"].text
    assert shown["Answer"].text.startswith("two")


def test_no_tab_names_a_port_a_clock_or_an_id():
    for view in widgets.all_tabs(RUN, 1).values():
        for word in ("43210", "127.0.0.1", "Jan", "77"):
            assert word not in view.text + view.html


def test_headers_keep_what_a_reader_needs():
    shown = widgets.headers_tab(RUN, 0).text
    assert "authorization" in shown and "Bearer ***" in shown and shown.count("application/json") == 2


@pytest.mark.skipif(sys.platform == "win32", reason="the command is for sh")
def test_the_curl_command_sends_the_body_to_the_address_in_the_variable():
    script = f"curl() {{ printf '%s\\n' \"$@\"; }}\n{widgets.curl_tab(RUN, 0).text}"
    env = {"DEEPSEEK_BASE_URL": "http://x", "DEEPSEEK_API_KEY": "k", "PATH": "/usr/bin:/bin"}
    shown = subprocess.run(["sh", "-c", script], env=env, capture_output=True, encoding="utf-8", check=True).stdout
    assert shown.startswith("http://x/chat/completions\n") and "Authorization: Bearer k" in shown
    assert "It's one" in shown


def test_choosing_a_request_changes_the_panes(monkeypatch):
    pytest.importorskip("ipywidgets")
    listed, tabs = Inspector(RUN).widget().children
    assert [label for label, _ in listed.options] == ["1 answer", "2 answer (failed)"]
    assert tabs.children[0].value == show_body(RUN[0]).html
    listed.index = 1
    assert [pane.value for pane in tabs.children] == [view.html for view in widgets.all_tabs(RUN, 1).values()]
    monkeypatch.delenv("HXMEM_STATIC", raising=False)
    assert "application/vnd.jupyter.widget-view+json" in Inspector(RUN)._repr_mimebundle_()


def test_importing_the_lab_imports_no_notebook_package():
    code = "import sys, hxmem.lab, hxmem.lab.widgets; print([m for m in ('ipywidgets', 'IPython') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout == "[]\n"
    )
