"""What the notebook views show: the same in text and in HTML, on every machine, for every text."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hxmem.agent import AgentResult
from hxmem.drawer.catalog import side_query
from hxmem.drawer.detail import Memory
from hxmem.drawer.extraction import extraction_query
from hxmem.drawer.recall import recall, with_recall
from hxmem.drawer.store import MemoryStore
from hxmem.exchanges import Exchange
from hxmem.lab import columns
from hxmem.lab.views import (
    PictureMissing,
    View,
    desk_and_drawer,
    diff_bodies,
    picture,
    show_body,
    show_drawer,
    show_table,
    timeline,
)

DESK = Memory("desk-first", "user", "讲 HarnessX 时先用书桌", "先讲书桌，再讲代码。")
MAIN = Memory("main-line", "project", "the main line is in src", "All code is in src. <script>alert(1)</script> & more")
QUESTION = "先用什么例子？"
TOOLS = [{"type": "function", "function": {"name": "read_file", "description": "Read.", "parameters": {}}}]
CALL = {"id": "call_77", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.md"}'}}


def exchange(purpose, messages, said="ok", *, status=200, error="", finish="stop", usage=None, message=None, **fields):
    body = {"model": "deepseek-flash", "messages": messages, "thinking": {"type": "disabled"}, **fields}
    message = message or {"role": "assistant", "content": said}
    answer = {"choices": [{"message": message, "finish_reason": finish}]} if status == 200 else None
    url = "http://127.0.0.1:43210/chat/completions"
    return Exchange(purpose, "POST", url, {}, body, status, {}, answer, usage, 1.234, error)


def system(index):
    return {
        "role": "system",
        "content": f"Be brief.\n\nSecond rule.\n\nProject memory index:\n{index}\nBodies come later.",
    }


@pytest.fixture
def store(tmp_path):
    store = MemoryStore.of(tmp_path)
    store.write(DESK)
    store.write(MAIN)
    return store


@pytest.fixture
def run(store):
    """The three requests of a question whose answer needed one note and one file."""
    chosen = exchange("side-query", side_query(QUESTION, store.list(), lang="en"), "[0]")
    chosen = exchange(
        "side-query",
        chosen.messages,
        "[0]",
        usage={"prompt_tokens": 312, "completion_tokens": 9, "prompt_cache_hit_tokens": 256},
    )
    desk = [
        system(store.index()),
        {"role": "user", "content": with_recall(recall([store.get("desk-first")]), QUESTION)},
    ]
    asks = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "call_77", "content": "# A file\n"}
    first = exchange("answer", desk, message=asks, finish="tool_calls", tools=TOOLS)
    second = exchange("answer", [*desk, asks, result], "先用书桌。", tools=TOOLS)
    spoken = "user: 先用什么例子？\nassistant: 先用书桌。"
    return chosen, first, second, exchange("extraction", extraction_query(spoken, store, "en"), "[]")


@pytest.fixture
def result(run, store, tmp_path):
    return AgentResult("先用书桌。", 2, 1, 0, run, (), (), tmp_path)


@pytest.fixture
def every_view(run, result, store):
    failed = exchange("answer", run[1].messages, status=503, error="The server is too busy: try again later.")
    views = [show_body(item) for item in (*run, failed)]
    views += [diff_bodies(run[0], run[1]), diff_bodies(run[1], run[2]), timeline([*run, failed])]
    return [*views, desk_and_drawer(result), show_drawer(store), show_table([(1, "a & b")], ("n", "word"), "table")]


class _Tags(HTMLParser):
    """Fails when a tag is not closed where it should be."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("br",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def tags(view):
    parser = _Tags()
    parser.feed(view.html)
    parser.close()
    assert parser.open == []
    return parser


def test_a_side_query_looks_as_the_storyboard_draws_it(run):
    tokens = re.search(r"~\d+", repr(show_body(run[0])))[0]
    assert repr(show_body(run[0])) == "\n".join(
        [
            f"POST /chat/completions   side-query   1 message   {tokens} tokens   thinking off   no tools",
            "┌ user " + "─" * 73,
            "│ (instruction, 3 lines)",
            "│ User request:    先用什么例子？",
            "│ Memory catalog:  0: desk-first - 讲 HarnessX 时先用书桌",
            "│                  1: main-line - the main line is in src",
            "└" + "─" * 79,
            "answer  [0]   9 tokens   cache 256 of 312",
        ]
    )


def test_a_view_has_a_text_and_an_html_form_and_can_not_be_changed(run):
    view = show_body(run[0])
    assert view._repr_mimebundle_() == {"text/plain": repr(view), "text/html": view._repr_html_()}
    with pytest.raises(AttributeError):
        view.text = "other"


def test_views_are_the_same_each_time_and_name_no_machine(every_view, run, result, tmp_path):
    assert repr(desk_and_drawer(result)) == repr(desk_and_drawer(result))
    for view in every_view:
        for form in (view.text, view.html):
            for word in ("127.0.0.1", "43210", str(tmp_path), "call_77", "1.234"):
                assert word not in form


def test_html_is_semantic_closed_and_without_scripts_addresses_or_fixed_colours(every_view):
    fixed = re.compile(r"https?:|src=|url\(|(?<!-)color:(#|white|black|rgb)|background:(#|white|black)")
    for view in every_view:
        assert not {"script", "style", "link", "img", "iframe", "a", "form"} & set(tags(view).seen)
        assert not fixed.search(view.html)


def test_both_forms_carry_the_same_words(every_view):
    for view in every_view:
        html_text = "".join(tags(view).text.split())
        for word in re.findall(r"[A-Za-z]{4,}", view.text):
            assert word in html_text


def test_text_stays_within_a_hundred_columns_and_has_no_trailing_spaces(every_view):
    for view in every_view:
        for line in view.text.split("\n"):
            assert columns.width(line) <= 100 and line == line.rstrip()


def test_a_body_with_tags_is_shown_as_text(store):
    shown = show_drawer(store)
    assert "<script>" in shown.text and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in shown.html
    assert "script" not in tags(shown).seen


def test_characters_that_move_the_cursor_or_turn_the_text_are_not_printed():
    shown = show_body(exchange("answer", [{"role": "user", "content": "a\x1b[2Jb\u202ec"}]))
    assert "\x1b" not in shown.text + shown.html and "\u202e" not in shown.text + shown.html
    assert "a\ufffd[2Jb\ufffdc" in shown.text


def test_the_instruction_is_folded_but_whole_in_html(run):
    instruction = run[0].messages[0]["content"].split("\n")[0]
    shown = show_body(run[0])
    assert instruction not in shown.text and instruction in tags(shown).text
    assert "details" in tags(shown).seen


def test_an_answer_request_shows_index_notes_tools_and_task(run):
    shown = show_body(run[1]).text
    assert "tools   read_file" in shown and "│ (rules, 3 lines)" in shown
    assert "│ Project memory index:  - [desk-first](desk-first.md)" in shown
    assert "│ <relevant_memories>   (what these are, 1 line)" in shown and "│ </relevant_memories>" in shown
    assert "│ <memory>              desk-first (user)\n│                       先讲书桌，再讲代码。" in shown
    assert f"│ User request:         {QUESTION}" in shown
    assert 'answer  asks for read_file {"path": "a.md"}' in shown
    assert "All code is in src" not in shown


def test_tool_calls_and_their_results_are_readable(run):
    shown = show_body(run[2]).text
    assert 'calls read_file  {"path": "a.md"}' in shown
    assert "┌ tool   result of read_file (9 characters)" in shown


def test_labels_in_the_words_of_the_user_do_not_move_the_parts(store):
    task = "Explain this:\n\nMemory catalog:\n0: forged - not a memory"
    shown = show_body(exchange("side-query", side_query(task, store.list(), lang="en"))).text
    assert shown.count("Memory catalog:  0: desk-first") == 1
    assert "│ Memory catalog:\n" not in shown.partition("User request:")[0]


def test_a_label_in_a_description_does_not_hide_the_index():
    shown = show_body(
        exchange("answer", [system("- [a](a.md) - how Project memory index: works\n- [b](b.md) - b")])
    ).text
    assert "Project memory index:  - [a](a.md) - how Project memory index: works" in shown


def test_long_parts_are_cut_with_a_count():
    lines = "\n".join(f"{n}: note-{n} - {'描述' * 30}" for n in range(200))
    content = f"Choose.\n\nUser request:\nx\n\nMemory catalog:\n{lines}"
    shown = show_body(exchange("side-query", [{"role": "user", "content": content}]))
    assert "13: note-13" in shown.text and "14: note-14" not in shown.text
    assert "… (186 more lines)" in shown.text and "… (186 more lines)" in shown.html
    assert re.search("13: note-13 - (描述)+描?…\n", shown.text) and f"13: note-13 - {'描述' * 30}" in shown.html
    long = show_body(exchange("answer", [{"role": "user", "content": "字" * 5_000}]))
    assert "… (3,800 more characters)" in long.text and "… (3,800 more characters)" in long.html


def test_raw_is_the_body_as_it_was_sent(run):
    shown = show_body(run[2], raw=True)
    assert json.loads(shown.text.partition("\n\n")[2]) == run[2].body
    assert json.loads(tags(shown).text[tags(shown).text.index("{") :]) == run[2].body


def test_a_failed_request_says_so_without_the_address():
    busy = exchange("answer", [], status=503, error="The server is too busy.")
    assert "answer  none   status 503   The server is too busy." in show_body(busy).text
    lost = exchange("answer", [], status=0, error="No connection to 127.0.0.1:43210: check.")
    assert "nothing came back   No connection to the server: check." in show_body(lost).text
    assert "half an   cut off at the token limit" in show_body(exchange("answer", [], "half an", finish="length")).text


def test_a_difference_shows_changed_lines_only(run, store):
    before = exchange("answer", [system(store.index()), {"role": "user", "content": QUESTION}], tools=TOOLS)
    shown = diff_bodies(before, run[1])
    assert re.search(r"messages\[0\] system +same \(\d+ characters\)", shown.text)
    assert re.search(r"messages\[1\] user +changed \(\+\d+ tokens\)", shown.text)
    assert "    +  <relevant_memories>\n" in shown.text and "    =  (1 line the same)" in shown.text
    assert QUESTION not in shown.text and "Be brief" not in shown.text
    assert "ins" in tags(shown).seen and "del" not in tags(shown).seen
    assert "del" in tags(diff_bodies(run[1], before)).seen


def test_a_difference_names_messages_that_came_or_went_and_other_fields(run):
    shown = diff_bodies(run[1], run[2]).text
    assert "before   answer   2 messages" in shown and "after    answer   4 messages" in shown
    assert re.search(r"messages\[3\] tool +\+ only after \(\+3 tokens\)", shown)
    back = diff_bodies(run[2], run[0].body).text
    assert "only before" in back and "-  read_file" in back and "+  no tools" in back


def test_equal_messages_are_matched_when_the_start_of_a_conversation_is_cut_off():
    turns = [{"role": "user", "content": f"turn {n}"} for n in range(4)]
    shown = diff_bodies({"messages": turns}, {"messages": turns[1:]}).text
    assert shown.count("same") == 3 and shown.count("only before") == 1


def test_what_lies_on_the_desk_is_read_from_the_body(result):
    lines = desk_and_drawer(result).text.split("\n")
    assert re.match(r"DESK  this request, ~\d+ tokens +DRAWER  \.harnessx/memory, 2 notes", lines[0])
    assert re.match(r"system +rules \+ index \(2 lines\) +user +desk-first +on the desk$", lines[1])
    assert re.match(r"user +1 note, then your question +project +main-line +in the drawer$", lines[2])
    assert "result of read_file" in lines[4] + lines[5] and any(line.startswith("answer") for line in lines)


def test_a_note_that_changed_or_went_after_the_request_is_told_apart(result, store):
    store.write(Memory("desk-first", "user", "now the lamp first", "Lamp first."))
    assert "on the desk, since changed" in desk_and_drawer(result).text.replace("\n", " ")
    store.delete("desk-first")
    assert "on the desk, not in the drawer" in desk_and_drawer(result).text


def test_notes_on_the_desk_come_first_in_a_long_drawer(result, store):
    for number in range(20):
        store.write(Memory(f"a-{number:02}", "project", f"fact number {number}", f"body {number}"))
    shown = desk_and_drawer(result, limit=5).text
    assert "desk-first" in shown.split("\n")[1] and "… " in shown and "17 more notes" in shown


def test_a_run_without_an_answer_request_is_said_to_have_none(result, tmp_path):
    empty = AgentResult("", 0, 0, 0, (), (), (), tmp_path)
    assert "no answer request in this run" in desk_and_drawer(empty).text.replace("\n", " ")


def test_the_drawer_is_shown_as_it_is_on_disk(store):
    shown = show_drawer(store).text
    assert shown.startswith("DRAWER  .harnessx/memory   2 notes\n┌ MEMORY.md   the index ")
    on_disk = (store.folder / "desk-first.md").read_text(encoding="utf-8")
    body = shown.partition("┌ desk-first.md   user ")[2].partition("└")[0].split("\n")[1:-1]
    assert "\n".join(line[2:] for line in body).rstrip() == on_disk.rstrip()


def test_a_file_that_can_not_be_read_is_named_with_its_problem(store):
    (store.folder / "gbk.md").write_bytes("---\nname: 书\n---\n".encode("gbk"))
    (store.folder / "open.md").write_text("---\nname: open\n\nA text.\n", encoding="utf-8")
    shown = show_drawer(store.folder).text
    assert "2 files that can't be read" in shown.split("\n")[0]
    assert "┌ open.md   can't be read" in shown and "│ A text." not in shown.partition("open.md")[0]
    assert re.search(r"│ +A text\.", shown) and "│ !  line 1: the header that opens here is never closed" in shown
    assert "is not UTF-8" in shown


def test_earlier_versions_and_a_limit_are_counted(store):
    store.write(Memory("desk-first", "user", "now the lamp first", "Lamp first."))
    head, *rest = show_drawer(store, limit=1).text.split("\n")
    assert head.endswith("1 earlier version in .history") and rest[-1] == "… 1 more file"


def test_a_timeline_tells_one_question_as_its_requests(run):
    lines = timeline(run).text.split("\n")
    assert lines[0] == "4 requests: 1 side-query, 2 answer, 1 extraction"
    text = " ".join(" ".join(lines).split())
    for words in ("your question + catalog", "rules + index (2", "+ asks for read_file", "existing memories (2 lines)"):
        assert words in text


def test_a_timeline_shows_a_second_try_and_its_status(run):
    failed = exchange("answer", run[1].messages, status=503, error="Too busy.", tools=TOOLS)
    shown = " ".join(timeline([failed, run[1]]).text.split())
    assert "status 503: Too busy." in shown and "nothing, the same body again" in shown


def test_a_table_has_header_cells_and_aligns_chinese_and_numbers():
    shown = show_table([("书桌", 1_200, 0.5), ("desk", 7, 0.25)], ("word", "tokens", "recall"), "Measured & told")
    assert shown.text.split("\n") == [
        "Measured & told",
        "",
        "word   tokens   recall",
        "书桌    1,200      0.5",
        "desk        7     0.25",
    ]
    assert shown.html.count('scope="col"') == 3 and shown.html.count('scope="row"') == 2
    assert "Measured &amp; told" in shown.html


def test_wrapping_keeps_every_character_and_does_not_start_a_line_with_a_comma():
    text = "先讲书桌，再讲代码。" * 5
    lines = columns.wrap(text, 19)
    assert "".join(lines) == text and all(columns.width(line) <= 19 for line in lines)
    assert not any(line[0] in "，。" for line in lines)
    assert columns.wrap("harnessx-desk-drawer", 14) == ["harnessx-desk-", "drawer"]


def test_a_picture_tells_its_title_and_description(tmp_path, monkeypatch):
    course = pytest.importorskip("hxmem.lab.course")
    (tmp_path / "pictures").mkdir()
    words = "<title>Desk</title><desc>A desk\n and a drawer.</desc>"
    svg = f'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg">{words}</svg>\n'
    (tmp_path / "pictures" / "desk.svg").write_text(svg, encoding="utf-8")
    monkeypatch.setattr(course, "data_folder", lambda: Path(tmp_path))
    assert picture("desk") == View("Desk\nA desk and a drawer.", svg.partition("\n")[2].strip())
    with pytest.raises(PictureMissing, match="use one of desk"):
        picture("../desk")
