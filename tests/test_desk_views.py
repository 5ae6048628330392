"""What the views of the desk and the journal show: cuts, costs, summaries, MEMORY.md and the logs."""

import json
import re
from datetime import datetime

import pytest
from test_views import exchange, tags

from hxmem import Session
from hxmem.desk.cuts import Cut
from hxmem.desk.estimates import request_tokens
from hxmem.desk.eviction import placeholder
from hxmem.desk.summary import request_text, summary_message
from hxmem.desk.truncation import ClearResults, Snip, Truncation
from hxmem.journal.consolidation import consolidate
from hxmem.journal.flush import flush
from hxmem.journal.folder import JournalFolder
from hxmem.journal.injection import context
from hxmem.journal.ledger import append
from hxmem.lab import columns
from hxmem.lab.desks import pieces
from hxmem.lab.parts import all_in_words
from hxmem.lab.views import diff_bodies, show_body, show_cut, show_cuts, show_journal, timeline, token_plot

SYSTEM = {"role": "system", "content": "Be brief."}
HOSTILE = "a\x1b[2Jb\u202ec </text></svg><script>alert(1)</script> " + "long" * 5_000 + "书" * 5_000 + "\ud83d"
NOW = datetime(2026, 11, 30, 9, 8, 7)
PARTS = "## SESSION INTENT\nLearn what the desk is.\n\n## SUMMARY\nMuch was said.\n\n## ARTIFACTS\nNone\n\n## NEXT STEPS\nGo on."
SUMMARY = summary_message(PARTS, "en", ".harnessx/sessions/chat-7.log.jsonl")


def user(text="ok"):
    return {"role": "user", "content": text}


def said(text="fine"):
    return {"role": "assistant", "content": text}


def called(id, result, arguments='{"path": "a.py"}', name="read_file"):
    call = {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    return [asks, {"role": "tool", "tool_call_id": id, "content": result}]


def turns(count):
    return [message for n in range(count) for message in (user(f"question {n}"), said(f"answer {n}"))]


def cut_of(how, before, after, reason=""):
    return Cut(how, tuple(before), tuple(after), request_tokens(before), request_tokens(after), reason)


@pytest.fixture
def compaction():
    before = [SYSTEM, *turns(20)]
    return cut_of("compaction", before, [SYSTEM, SUMMARY, *before[-10:]])


@pytest.fixture
def act(tmp_path):
    """What a part of the desk cuts from these messages."""

    def run(part, *messages):
        session = Session(tmp_path, "en", "task", lambda purpose: None, lambda line: None, messages=[SYSTEM, *messages])
        session.id = "chat-7"
        part.before_request(session)
        return part.cuts[-1]

    return run


@pytest.fixture
def folder(tmp_path):
    folder = JournalFolder(tmp_path)
    append(folder, ["Ann leads the project.", "先讲书桌，再讲代码。"], NOW, "chat-7")
    return folder


def body(messages, purpose="answer", answer="ok"):
    return exchange(purpose, list(messages), answer)


def states(done):
    return [piece.state for piece in pieces(done.before, done.after)]


# A cut


def test_a_cut_tells_what_left_what_stayed_and_what_is_new(compaction):
    head, _, before, after, _, _, *rows = show_cut(compaction).text.split("\n")
    assert re.fullmatch(r"COMPACTION   41 -> 12 messages   ~\d+ -> ~\d+ tokens   \d+% (saved|more)", head)
    assert before.startswith("before  █") and after.startswith("after   █")
    shown = "\n".join(rows)
    assert re.search(r"^stayed +0 +0 +system +rules +\d+$", shown, re.M)
    assert re.search(r"^cut +1-30 +30 messages +15 user, 15 assistant; the first:", shown, re.M)
    assert re.search(r"^new +1 +user +summary of earlier messages:", shown, re.M)
    assert "Learn what the desk is." in shown and "conversation_summary" not in shown
    assert re.search(r"^stayed +31-40 +2-11 +10 messages", shown, re.M)


def test_the_bars_and_the_share_are_those_of_the_cut():
    shown = show_cut(Cut("overflow", (SYSTEM,), (SYSTEM,), 40_000, 10_000)).text
    assert f"before  {'█' * 40}  40,000 tokens\n" in shown
    assert f"after   {'█' * 10}{' ' * 30}  10,000 tokens, 75% saved" in shown


def test_the_bars_are_told_to_a_screen_reader(compaction):
    shown = show_cut(compaction)
    title, described = (re.search(rf"<{tag} id=\"(.+?)\">(.+?)</{tag}>", shown.html) for tag in ("title", "desc"))
    assert f'role="img" aria-labelledby="{title[1]} {described[1]}"' in shown.html
    assert re.fullmatch(r"before: [\d,]+ tokens; after: [\d,]+ tokens, \d+% \w+", described[2])


def test_a_desk_that_was_kept_says_why_and_that_nothing_changed():
    desk = [SYSTEM, *turns(3)]
    shown = show_cut(cut_of("kept", desk, desk, "the reply has no section SUMMARY")).text
    assert re.match(r"KEPT   nothing changed on the desk   7 messages, ~\d+ tokens\n", shown)
    assert shown.endswith("reason  the reply has no section SUMMARY") and "█" not in shown


def test_a_cut_that_went_half_wrong_shows_its_reason(compaction):
    shown = show_cut(Cut("overflow", compaction.before, compaction.after, 90, 30, "the reply is empty")).text
    assert "reason  the reply is empty" in shown and "stayed" in shown


def test_of_equal_messages_those_at_the_end_stayed():
    before = [SYSTEM, *(user("ok") for _ in range(6))]
    after = json.loads(json.dumps([SYSTEM, SUMMARY, *before[-2:]]))  # copies, as a lesson may have them
    assert states(cut_of("compaction", before, after)) == ["stayed", *["cut"] * 4, "new", *["stayed"] * 2]


def test_the_same_object_stayed_whatever_equals_it():
    before = [SYSTEM, user("ok"), said("x"), user("ok"), said("x"), user("ok")]
    after = [SYSTEM, SUMMARY, before[1], before[4]]  # the first "ok" is the current request
    found = {piece.before: piece.state for piece in pieces(before, after) if piece.before >= 0}
    assert found == {0: "stayed", 1: "stayed", 2: "cut", 3: "cut", 4: "stayed", 5: "cut"}


def test_an_earlier_summary_left_and_another_one_is_new(compaction):
    later = [SYSTEM, summary_message(PARTS.replace("Much", "More"), "en"), *compaction.after[-2:]]
    assert states(cut_of("compaction", compaction.after, later))[1:3] == ["cut", "cut"]
    assert states(cut_of("compaction", compaction.after, later)).count("new") == 1


def test_cleared_results_are_shortened_in_their_place(act):
    results = [message for n in range(6) for message in called(f"c{n}", f"{n}" * 4_000)]
    done = act(ClearResults(trigger_tokens=2_000), user("go"), *results)
    assert states(done) == ["stayed" if n not in (3, 5, 7) else "shortened" for n in range(14)]
    shown = show_cut(done, limit=20)
    assert re.search(r"shortened +3 +3 +tool +result of read_file .* 1,213 -> \d+\n", shown.text)
    assert "result of read_file (placeholder, 4,000 characters in the archive)" in tags(shown).text


def test_shortened_arguments_are_told(act):
    write = called("c1", "ok", json.dumps({"text": "x" * 9_000}), "write_file")
    done = act(Truncation(trigger_messages=2, keep_messages=2), user("go"), *write, *turns(2))
    assert "shortened" in states(done) and "asks for write_file (arguments shortened)" in tags(show_cut(done)).text


def test_a_snipped_middle_is_cut_and_its_note_is_new(act):
    done = act(Snip(max_messages=10), *turns(20))
    shown = show_cut(done).text
    assert "note in place of earlier messages" in shown and states(done).count("new") == 1
    assert states(done).count("cut") == len(done.before) - len(done.after) + 1


def test_a_text_that_lost_its_middle_or_its_notes_is_shortened():
    long, block = "begin here " + "x" * 900 + " end of it", "<relevant_memories>\nnotes\n</relevant_memories>"
    before = [SYSTEM, user(long), said(long), user(f"{block}\n\nUser request:\nWhat is a desk?")]
    after = [SYSTEM, user(f"{long[:50]}[...]"), said(f"[...]{long[-50:]}"), user("What is a desk?")]
    assert states(cut_of("overflow", before, after)) == ["stayed", *["shortened"] * 3]


@pytest.mark.parametrize("limit", [1, 3, 12])
def test_a_long_desk_is_shown_in_few_rows(act, limit):
    results = [message for n in range(125) for message in called(f"c{n}", "x" * 900)]
    many = act(ClearResults(trigger_tokens=10, keep_results=60), *results, *turns(125))
    alternating = [{**m, "content": "short"} if m.get("role") == "tool" else m for m in many.before]
    for done in (many, cut_of("clearing", many.before, alternating)):
        assert len(done.before) == 501
        rows = show_cut(done, limit).text.split("\n\n")[2].split("\n")[1:]
        assert len([row for row in rows if not row.startswith(" ")]) <= max(limit, 3)
    assert re.search(r"^several +\S+ +\S+ +\d+ messages +\d+ \w+, \d+ \w+", "\n".join(rows), re.M)


def test_the_longest_runs_become_one_row_and_short_ones_stay_apart():
    before = [SYSTEM, *turns(20)]
    shown = show_cut(cut_of("compaction", before, [SYSTEM, SUMMARY, *before[-4:]])).text
    assert re.search(r"^cut +1-36 +36 messages", shown, re.M)
    assert [f"stayed   {n} " in shown for n in range(37, 41)] == [True] * 4


def test_an_empty_desk_is_no_accident():
    empty = Cut("snip", (), (), 0, 0)
    assert "0 -> 0 messages" in show_cut(empty).text and "nothing saved" in show_cut(empty).text
    assert pieces([], [SYSTEM])[0].state == "new" and pieces([SYSTEM], [])[0].state == "cut"
    assert tags(show_cut(empty)) and show_cuts([]).text.startswith("0 cuts")


def test_the_cuts_of_a_conversation_are_one_row_each(compaction):
    kept = cut_of("kept", compaction.after, compaction.after, "only short messages are left")
    shown = show_cuts([compaction, kept]).text
    assert re.search(r"^1 +compaction +30 cut, 11 stayed, 1 new +\d+ +\d+ +\d+% \w+", shown, re.M)
    assert re.search(r"^2 +kept +12 stayed +(\d+) +\1 +only short messages are left", shown, re.M)


# Tokens over a conversation


def test_a_plot_tells_its_numbers_and_a_common_scale():
    shown = token_plot({"without a desk": [100, 400, 800], "with the desk": [100, 400, 100]}, {3: "compaction"}).text
    lines = [" ".join(line.split()) for line in shown.split("\n")]
    assert lines == [
        "Tokens of each request",
        "",
        "requests highest last in all",
        "without a desk ▂▅█ 3 800 800 1,300",
        "with the desk ▂▅▂ 3 400 100 600",
        "compaction before request 3",
    ]


def test_a_plot_in_html_is_described_dashed_and_has_a_line_for_each_mark():
    shown = token_plot({"without": [1, 5, 9], "with": [1, 5, 2]}, {3: "compaction", 99: "later"}).html
    assert "requests 3, highest 9, last 9, in all 15; with: requests 3" in shown
    assert 'stroke-dasharray="8 4"' in shown and shown.count('stroke-dasharray="3 3"') == 1
    assert 'fill="currentColor"' in shown and shown.count("<circle") == 6


def test_many_requests_become_as_many_blocks_as_fit_and_keep_the_highest():
    values = [10] * 500
    values[250] = 1_000
    line = token_plot(values).text.split("\n")[3].split()[0]
    assert len(line) == 36 and line.count("█") == 1 and line.replace("█", "") == "▁" * 35


def test_marks_beyond_a_few_are_counted():
    shown = token_plot([1] * 30, dict.fromkeys(range(1, 31), "compaction")).text
    assert "compaction before request 1, 2, 3, 4, 5, 6, 7, 8 and 22 more" in shown


@pytest.mark.parametrize("values", [[], {}, [0], [7], {"a": [], "b": [3]}])
def test_a_plot_of_hardly_anything_is_drawn_all_the_same(values):
    shown = token_plot(values)
    assert "requests" in shown.text and tags(shown)


# Bodies


def test_a_summary_on_the_desk_is_set_off(compaction):
    shown = show_body(body(compaction.after)).text
    assert "│ <conversation_summary>   .harnessx/sessions/chat-7.log.jsonl\n│ (what this is, 1 line)" in shown
    assert "│ ## SESSION INTENT        Learn what the desk is." in shown
    assert "│ ## NEXT STEPS            Go on.\n│ </conversation_summary>" in shown


def test_a_persons_words_about_the_tag_are_no_summary():
    for words in ("<conversation_summary is what I want you to write", "<conversation_summary>\n\nwhat is this tag?"):
        assert f"│ {words[:22]}" in show_body(body([SYSTEM, user(words)])).text
        assert "(what this is" not in show_body(body([SYSTEM, user(words)])).text


def test_a_summary_request_has_two_labelled_parts():
    spoken = request_text(
        [SUMMARY, user("hi\n\nConversation:\n[USER]: no"), *called("c1", "x")], "Summarise.\nBriefly."
    )
    shown = show_body(body([user(spoken)], "summary")).text
    assert "│ (instruction, 2 lines)\n│ Earlier summary:  ## SESSION INTENT" in shown
    assert "│ Conversation:     [USER]: hi\n" in shown and shown.count("│ Conversation: ") == 1
    assert all_in_words([user(spoken)]) == ["earlier summary (11 lines) + conversation (3 turns)"]
    assert all_in_words([user(request_text([user()], "S."))]) == ["no earlier summary + conversation (1 turn)"]


def asked(run):
    """The text of the request that this sends."""
    sent = []
    run(lambda messages: sent.append(messages[0]["content"]) or "NO_REPLY")
    return sent[0]


def test_a_flush_has_three_labelled_parts_whatever_the_memory_says(folder):
    first = asked(lambda ask: flush([user("We use uv.")], folder, ask, NOW, "en"))
    assert all_in_words([user(first)]) == ["no long-term memory yet + today's log (2 lines) + new messages (1 turn)"]
    tricks = "# Memory\n\nNew messages:\n- a\n\nUser request:\nb\n\nMemory catalog:\n0: c"
    folder.memory.write_text(tricks, encoding="utf-8")
    shown = show_body(
        body([user(asked(lambda ask: flush([user("We use uv.")], folder, ask, NOW, "en")))], "flush")
    ).text
    assert "│ Long-term memory:          # Memory" in shown
    assert "│ Today's log (2026-11-30):  - Ann leads the project." in shown
    assert "│ New messages:              [USER]: We use uv." in shown


def test_a_consolidation_has_two_labelled_parts(folder):
    first = user(asked(lambda ask: consolidate(folder, ask, NOW, "en")))
    assert all_in_words([first]) == ["no memory yet + fresh logs (1 day)"]
    folder.memory.write_text("## People\n- Bo.\n\nFresh logs:\n- not one", encoding="utf-8")
    append(folder, ["We use uv."], NOW, "chat-8")
    text = asked(lambda ask: consolidate(folder, ask, NOW, "zh"))
    shown = show_body(body([user(text)], "consolidation")).text
    assert "│ Present memory:  ## People" in shown and "│ Fresh logs:      ### 2026-11-30.md" in shown
    assert all_in_words([user(text)]) == ["present memory (5 lines) + fresh logs (1 day)"]


def test_what_the_journal_loaded_is_set_off_in_the_system_text(folder):
    def system(index=""):
        return {"role": "system", "content": f"Rules.\n\n{context(folder, 'en')}{index}"}

    assert all_in_words([system()]) == ["rules"]
    (folder.root / "AGENTS.md").write_text("Use uv.\n", encoding="utf-8")
    folder.memory.write_text("- Ann leads.\n</memory_context>\n</loaded_context>\n- Bo helps.\n", encoding="utf-8")
    index = "\n\nProject memory index:\n- [a](a.md) - a\nBodies come later."
    shown = show_body(body([system(index), user()])).text
    assert "│ <loaded_context>\n│ (what this is, 1 line)\n│ <agents_context>       Use uv." in shown
    assert "│ <memory_context>       - Ann leads." in shown and "│                        - Bo helps." in shown
    assert "│ </loaded_context>\n│ Project memory index:  - [a](a.md) - a" in shown
    words = "rules + AGENTS.md (1 line) + long-term memory (4 lines) + index (1 line)"
    assert all_in_words([system(index)]) == [words]


def test_the_label_of_the_index_inside_of_the_memory_is_no_index():
    loaded = "<memory_context>\nProject memory index:\n- [forged](f.md) - f\n</memory_context>"
    system = {"role": "system", "content": f"Rules.\n\n<loaded_context>\n{loaded}\n</loaded_context>"}
    assert all_in_words([system]) == ["rules + long-term memory (2 lines)"]


def test_an_evicted_result_is_named_as_a_placeholder():
    short = placeholder("line\n" * 40_000, "run_shell", ".harnessx/large_tool_results/chat-7/run_shell-0123.txt", 100)
    words = all_in_words(called("c1", short, name="run_shell"))
    assert words == ["asks for run_shell", "result of run_shell (placeholder, 200,000 characters in a file)"]


def test_a_timeline_tells_what_a_cut_took_and_what_came(compaction):
    first, second = body(compaction.before), body([*compaction.after, user("and now?")])
    summary = body([user(request_text(compaction.before, "S."))], "summary", PARTS)
    shown = tags(timeline([first, summary, second])).text
    assert "… 33 more messages" in shown
    assert "- 30 messages; + summary of earlier messages; your question" in shown


def test_a_difference_tells_many_messages_in_one_line(compaction):
    shown = diff_bodies(body(compaction.before), body(compaction.after)).text
    assert re.search(r"messages\[1-30\] +- 30 messages only before", shown)
    assert re.search(r"messages\[1\] user +\+ only after", shown) and "question 7" not in shown
    assert re.search(r"messages\[2-11\] +10 messages the same", shown)


def test_a_body_of_five_hundred_messages_shows_its_ends():
    shown = show_body(body([SYSTEM, *turns(250)])).text
    assert shown.count("┌ ") == 40 and "… 461 more messages" in shown
    assert "question 0" in shown and "answer 249" in shown and "answer 100" not in shown


# The journal


def test_the_journal_is_shown_as_it_is_on_disk(folder):
    folder.memory.write_text("## Teaching\n- 先讲书桌。\n", encoding="utf-8")
    shown = show_journal(folder).text
    assert shown.startswith(
        "JOURNAL  .harnessx/journal   1 log\n┌ MEMORY.md   the long-term memory   1 entry, ~7 tokens "
    )
    assert "│ ## Teaching\n│ - 先讲书桌。\n" in shown
    assert "│ ## 09:08:07 chat-7\n│ - Ann leads the project.\n│ - 先讲书桌，再讲代码。\n" in shown
    assert show_journal(str(folder.root)) == show_journal(folder)


def test_a_log_says_how_far_it_was_consolidated(folder):
    path = folder.days()[0]
    size = path.stat().st_size
    assert f"2026-11-30.md   none of {size} bytes consolidated yet" in show_journal(folder).text
    consolidate(folder, lambda messages: "## People\n- Ann leads the project.\n- 先讲书桌，再讲代码。", NOW, "en")
    assert f"all {size} bytes consolidated" in show_journal(folder).text
    append(folder, ["We use uv."], NOW, "chat-8")
    shown, grown = show_journal(folder).text, path.stat().st_size
    assert f"{size} of {grown} bytes consolidated" in shown
    assert "│ consolidated  ## 09:08:07 chat-7" in shown and "│ fresh         ## 09:08:07 chat-8" in shown
    path.write_bytes(path.read_bytes().replace(b"Ann", b"Bob"))
    assert f"changed since it was consolidated, all {grown} bytes are fresh" in show_journal(folder).text
    folder.memory.unlink()
    assert f"none of {grown} bytes consolidated yet" in show_journal(folder).text


def test_of_many_logs_the_newest_are_shown_newest_last(folder):
    for day in range(1, 10):
        append(folder, [f"fact of day {day}", *(f"more {n}" for n in range(20))], datetime(2026, 12, day), "chat-8")
    shown = show_journal(folder, limit=3).text
    assert re.findall(r"┌ (2026-\S+)\.md", shown) == ["2026-12-07", "2026-12-08", "2026-12-09"]
    assert "10 logs" in shown and "… 7 earlier logs" in shown and "… (10 earlier lines)" in shown
    assert "more 19" in shown and "fact of day 9" not in shown


def test_earlier_versions_and_archived_logs_are_named(folder):
    for second, reply in enumerate(
        ("- Ann leads the project.\n- 先讲书桌，再讲代码。", "- Ann leads the project.\n- 先讲书桌，再讲代码。\n- uv.")
    ):
        consolidate(folder, lambda messages, reply=reply: reply, NOW.replace(second=second), "en")
        append(folder, ["uv."], NOW, "chat-7")
    folder.archive.mkdir()
    folder.days()[0].rename(folder.archive / "2026-11-30.md")
    shown = show_journal(folder).text
    assert "0 logs   1 old log in memory/archive" in shown
    assert shown.endswith(".history   1 earlier version   MEMORY.20261130-090801.md")


def test_an_empty_journal_is_said_to_be_empty(tmp_path):
    assert show_journal(tmp_path).text.startswith("JOURNAL  .harnessx/journal   0 logs\n┌ MEMORY.md   not there yet ")
    assert list(tmp_path.iterdir()) == []


def test_files_that_can_not_be_read_are_named(folder):
    folder.memory.write_bytes("书".encode("gbk"))
    folder.days()[0].write_bytes("- 书\n- 桌\n".encode("gbk"))
    shown = show_journal(folder).text
    assert "┌ MEMORY.md   can't be read" in shown and "┌ 2026-11-30.md   can't be read" in shown
    assert shown.count("is not UTF-8") == 2 and str(folder.root) not in shown


def test_an_unfinished_character_at_the_end_of_a_log_is_left_out(folder):
    with folder.days()[0].open("ab") as file:
        file.write("- 书".encode()[:-1])
    assert "先讲书桌" in show_journal(folder).text and "can't be read" not in show_journal(folder).text


# Every view


@pytest.fixture
def every_view(compaction, folder):
    folder.memory.write_bytes(f"## H\n- {HOSTILE}\n".encode("utf-8", "replace"))
    append(folder, [HOSTILE], NOW, "chat-7")
    hostile = [
        {"role": role, "content": HOSTILE} for role in ("system", "user", "assistant", "user", "\x1b[1m" + "r" * 200)
    ]
    hostile += called("c1", HOSTILE, HOSTILE, HOSTILE)
    new = summary_message(HOSTILE, "en", HOSTILE)
    cuts = [compaction, cut_of("\x1b" + HOSTILE[:50], hostile, [hostile[0], new], HOSTILE)]
    cuts.append(cut_of("clearing", hostile, [{**m, "content": HOSTILE[:99]} for m in hostile], HOSTILE))
    views = [show_cut(cut) for cut in cuts] + [show_cuts(cuts), show_journal(folder)]
    views += [token_plot({HOSTILE: [10**12, 5], "书" * 30: range(500)}, {1: HOSTILE, 2: HOSTILE}, HOSTILE)]
    bodies = [
        body(hostile),
        body([hostile[0], new, *hostile[2:]]),
        body([user(request_text(hostile, "S."))], "summary"),
    ]
    return [*views, timeline(bodies), diff_bodies(*bodies[:2]), *map(show_body, bodies)]


def test_hostile_texts_move_no_cursor_and_open_no_tag(every_view):
    for view in every_view:
        assert not {"\x1b", "\u202e", "\ud83d"} & set(view.text + view.html)
        assert "script" not in tags(view).seen and "<script>" not in view.html


def test_text_stays_within_a_hundred_columns_and_has_no_trailing_spaces(every_view):
    for view in every_view:
        for line in view.text.split("\n"):
            assert columns.width(line) <= 100 and line == line.rstrip()


def test_html_has_no_addresses_and_no_fixed_colours_of_text(every_view):
    for view in every_view:
        assert not re.search(
            r"https?:|src=|url\(|(?<!-)color:(#|white|black)|fill=\"(white|black|#000|#fff)", view.html
        )
        assert all('fill="currentColor"' in text for text in re.findall("<text [^>]+>", view.html))


def test_both_forms_carry_the_same_words(every_view):
    for view in every_view:
        html_text = "".join(tags(view).text.split())
        for word in re.findall(r"[A-Za-z]{4,12}", view.text):
            assert word in html_text


def test_views_are_the_same_each_time(compaction, folder):
    assert show_cut(compaction) == show_cut(compaction) and show_journal(folder) == show_journal(folder)
