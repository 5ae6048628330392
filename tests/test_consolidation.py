"""The consolidation: MEMORY.md is made anew from the logs, and no reply, crash or neighbour can lose what it holds."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hxmem.errors import CutAnswer
from hxmem.files import lock
from hxmem.journal.checking import check
from hxmem.journal.consolidation import MAX_FRESH, consolidate, fresh
from hxmem.journal.folder import JournalFolder, State
from hxmem.journal.ledger import append, bullets

NOW = datetime(2026, 11, 30, 9, 5, 7, tzinfo=timezone(timedelta(hours=8)))
DAY = timedelta(days=1)
PRESENT = """\
# Memory

## People
- Ann leads the billing project.
- Bob is on call in December.
- 小王负责数据库迁移。

## Tools
- Packages are installed with pip.
- Tests run with pytest on every push.
- 部署在每周五下午进行。
- The database is PostgreSQL 16.
- Releases are tagged by Carol.
"""
GOOD = PRESENT.replace("- Packages are installed with pip.", "- Packages are installed with uv since November 2026.")
NAMED = "\n## Superseded\n- Packages are installed with pip. -> uv replaced it\n"
ENTRIES = bullets(PRESENT)


@pytest.fixture
def folder(tmp_path) -> JournalFolder:
    """A journal with a MEMORY.md, one log that was taken in, and one bullet behind it."""
    folder = JournalFolder(tmp_path)
    append(folder, ["Bob is on call in December."], NOW - DAY)
    folder.memory.write_text(PRESENT, "utf-8")
    folder.write_state(fresh(folder, State()).state)
    append(folder, ["Packages are installed with uv since November 2026."], NOW)
    return folder


def saying(*replies, asked=None):
    left = list(replies)

    def ask(messages):
        if asked is not None:
            asked.append(messages[0]["content"])
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, BaseException):
            raise reply
        return reply() if callable(reply) else reply

    return ask


def everything(folder) -> dict[str, bytes]:
    files = (path for path in folder.path.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(folder.path).as_posix(): path.read_bytes() for path in files}


def memory(folder) -> str:
    return folder.memory.read_text("utf-8")


def news(folder) -> list[str]:
    return [piece.text for piece in fresh(folder, folder.state()).pieces]


def without(*entries: str) -> str:
    return "".join(line for line in PRESENT.splitlines(keepends=True) if line[2:-1] not in entries)


def test_a_good_reply_becomes_memory_and_the_old_text_is_kept(folder):
    done = consolidate(folder, saying(GOOD + NAMED), NOW)
    assert (done.status, done.reason, done.logs) == ("written", "", ("2026-11-30.md",))
    assert (done.before, done.after, memory(folder)) == (PRESENT, GOOD, GOOD)
    assert done.dropped == ("Packages are installed with pip.",)
    assert (folder.history / "MEMORY.20261130-090507.md").read_text("utf-8") == PRESENT
    assert news(folder) == []


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_request_holds_the_budget_the_present_text_and_only_what_is_new(folder, lang):
    asked = []
    consolidate(folder, saying("NO_REPLY", asked=asked), NOW, lang, max_tokens=3_000)
    instruction, _, rest = asked[0].partition("\n\nPresent memory:\n")
    assert rest == (
        f"{PRESENT.strip()}\n\nFresh logs:\n### 2026-11-30.md\n- Packages are installed with uv since November 2026."
    )
    assert "3000" in instruction
    assert ("9000" if lang == "en" else "4500") in instruction  # models count badly: a tenth less than would fit in
    assert ("长期记忆" in instruction) == (lang == "zh")


def test_a_prompt_of_ones_own_may_name_the_budget(folder):
    asked = []
    consolidate(folder, saying("NO_REPLY", asked=asked), NOW, "en", 300, prompt="Mine: {tokens}/{characters} {x}.")
    assert asked[0].startswith("Mine: 300/900 {x}.\n\nPresent memory:\n")


def test_without_news_nobody_is_asked(folder):
    consolidate(folder, saying(GOOD + NAMED), NOW)
    before, asked = everything(folder), []
    assert consolidate(folder, saying(GOOD, asked=asked), NOW).status == "nothing new"
    os.utime(folder.logs / "2026-11-30.md", (1, 1))  # time stamps say nothing
    os.utime(folder.logs / "2026-11-29.md")
    assert consolidate(folder, saying(GOOD, asked=asked), NOW).status == "nothing new"
    assert asked == []
    assert everything(folder) == before


def test_an_empty_journal_is_nothing_new(tmp_path):
    assert consolidate(JournalFolder(tmp_path), saying("- a"), NOW).status == "nothing new"
    assert not JournalFolder(tmp_path).memory.exists()


def test_an_appended_line_feeds_only_itself(folder):
    consolidate(folder, saying(GOOD + NAMED), NOW)
    append(folder, ["Dora joined."], NOW)
    append(folder, ["Late."], NOW - DAY)
    assert news(folder) == ["- Late.", "- Dora joined."]


def test_a_log_that_was_changed_before_its_end_is_new_as_a_whole(folder):
    consolidate(folder, saying(GOOD + NAMED), NOW)
    path = folder.logs / "2026-11-30.md"
    path.write_text("- Edited.\n- Packages are installed with uv since November 2026.\n- More words.\n", "utf-8")
    assert news(folder) == ["- Edited.", "- Packages are installed with uv since November 2026.", "- More words."]


def test_an_entry_that_grew_is_new_as_a_whole_and_a_closed_line_is_not(folder):
    path = folder.logs / "2026-11-30.md"
    path.write_bytes(path.read_bytes() + b"- torn")
    consolidate(folder, saying("NO_REPLY"), NOW)
    append(folder, ["next"], NOW)
    assert news(folder) == ["- next"]
    consolidate(folder, saying("NO_REPLY"), NOW)
    with path.open("a", encoding="utf-8") as file:
        file.write("  and a word more\n")
    assert news(folder) == ["- next\n  and a word more"]


def test_what_is_appended_during_a_run_is_new_afterwards(folder):
    def late():
        append(folder, ["Said meanwhile."], NOW)
        return GOOD + NAMED

    assert consolidate(folder, saying(late), NOW).status == "written"
    assert news(folder) == ["- Said meanwhile."]


def test_no_reply_keeps_the_file_and_counts_the_logs_as_read(folder):
    done = consolidate(folder, saying("`no_reply`。"), NOW)
    assert (done.status, done.reason, done.logs) == ("nothing new", "", ("2026-11-30.md",))
    assert memory(folder) == PRESENT
    assert not folder.history.exists()
    assert news(folder) == []


def test_the_state_of_others_is_kept(folder):
    def meanwhile():
        folder.write_state(replace(folder.state(), flushed={"s": "e1"}, maintained="2026-11-30"))
        return GOOD + NAMED

    consolidate(folder, saying(meanwhile), NOW)
    assert (folder.state().flushed, folder.state().maintained) == ({"s": "e1"}, "2026-11-30")


LINES = GOOD.splitlines()
BAD = {
    "empty": "",
    "blank": " \n\n",
    "an empty fence": "```markdown\n```",
    "a refusal": "I'm sorry, but I can't help with that.",
    "a refusal in Chinese": "抱歉，我无法整理这份文件。",
    "a refusal as an entry": "- I am sorry, I cannot do that.",
    "a refusal in front of the file": f"As an AI, I must say that some is private.\n\n{GOOD}",
    "a fence that does not close": f"```markdown\n{GOOD}",
    "a fence inside": GOOD.replace("## Tools", "```\n## Tools\n```"),
    "two fences": f"```\n{PRESENT}```\n\n```\n{GOOD}```",
    "the rest is unchanged": "# Memory\n- Packages are installed with uv.\n[rest unchanged]",
    "a placeholder entry": f"{GOOD}- ...\n",
    "other entries remain": f"{GOOD}- (all other entries remain the same)\n",
    "unchanged in line": GOOD.replace("in December.", "in December; the rest is unchanged"),
    "a comment for the rest": f"{GOOD}<!-- rest of the file -->\n",
    "unchanged in Chinese": f"{GOOD}（其余内容保持不变）\n",
    "an entry in Chinese for the rest": f"{GOOD}- 其他条目不变\n",
    "in line in Chinese": GOOD.replace("每周五下午进行。", "每周五下午进行，其余同上。"),
    "left out in Chinese": f"{GOOD}- 略\n",
    "prose": "The team moved from pip to uv in November and everything else is as it was.",
    "headings only": "# Memory\n\n## People\n\n## Tools\n",
    "a remark inside": GOOD.replace("## Tools", "Now to the tools, where I merged two entries:\n\n## Tools"),
    "a remark behind that the rest is unchanged": f"{GOOD}\nThe rest is unchanged.",
    "a remark around a fence that the rest is unchanged": f"```\n{GOOD}```\n\n其余内容不变。",
    "over budget": GOOD + "".join(f"- A long story about thing number {n} goes on and on.\n" for n in range(800)),
    "cut off at a heading": f"{PRESENT}\n## Plans",
    "cut off in an entry": GOOD.replace("- Releases are tagged by Carol.\n", "- Releases are tag"),
    "JSON": json.dumps({"People": ENTRIES}),
    "a JSON array": json.dumps(ENTRIES, ensure_ascii=False, indent=1),
    "the labels": f"Present memory:\n{GOOD}",
    "the log": f"{GOOD}\n### 2026-11-30.md\n- Packages are installed with uv since November 2026.\n",
    "a third is gone": without(*ENTRIES[:3]),
    "all is replaced": "# Memory\n- Packages are installed with uv since November 2026.",
    "gone without a reason": without(*ENTRIES[:3]) + "\n## Superseded\n" + "".join(f"- {e}\n" for e in ENTRIES[:3]),
    "only the superseded": "## Superseded\n" + "".join(f"- {entry} -> old\n" for entry in ENTRIES),
    "cut off by the server": CutAnswer("max_tokens was used up"),
    "no network": TimeoutError("no answer in time"),
    "an error without words": RuntimeError(),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_reply_loses_nothing(folder, kind):
    before = everything(folder)
    done = consolidate(folder, saying(BAD[kind]), NOW)
    assert (done.status, done.before, done.after, done.logs) == ("refused", PRESENT, PRESENT, ())
    assert done.reason
    assert everything(folder) == before
    assert consolidate(folder, saying(GOOD + NAMED), NOW).status == "written"


@pytest.mark.parametrize("kind", [kind for kind, reply in BAD.items() if not isinstance(reply, OSError | RuntimeError)])
def test_after_a_bad_reply_the_model_is_told_once_what_was_wrong(folder, kind):
    asked = []
    assert consolidate(folder, saying(BAD[kind], GOOD + NAMED, asked=asked), NOW).status == "written"
    assert len(asked) == 2
    assert "上一次的回复没有被采用" in asked[1].partition("\n\nPresent memory:")[0]
    asked.clear()
    append(folder, ["More."], NOW)
    consolidate(folder, saying(BAD[kind], asked=asked), NOW)
    assert len(asked) == 2


REASONS = {
    "blank": "empty", "a refusal": "refused", "a refusal in Chinese": "refused", "a refusal as an entry": "refused",
    "a refusal in front of the file": "refused", "two fences": "fence", "prose": "no entries", "over budget": "budget",
    "a third is gone": "neither kept", "the log": "repeats the request", "JSON": "JSON", "a JSON array": "JSON",
    "cut off in an entry": "cut off", "the rest is unchanged": "stands in the place", "a remark inside": "Now to the tools",
    "an error without words": "RuntimeError", "cut off by the server": "max_tokens",
}  # fmt: skip


@pytest.mark.parametrize("kind", REASONS)
def test_the_reason_names_what_is_wrong(folder, kind):
    assert REASONS[kind] in consolidate(folder, saying(BAD[kind]), NOW).reason


@pytest.mark.parametrize(
    "reply",
    [
        f"```markdown\n{GOOD}```", f"````\n{GOOD}\n````\n", f"\ufeff{GOOD}", f"<think>- x\n</think>\n{GOOD}",
        GOOD.replace("- ", "* "), GOOD.replace("\n", "\r\n"), f"Here is the new file:\n\n{GOOD}",
        f"{GOOD}\nI merged two entries.", f"{GOOD}\n---\n\n以上是整理后的文件，如需调整请告诉我。",
        f"好的，以下是更新后的文件：\n\n```markdown\n{GOOD}```\n\n如需调整请告诉我。", f"{GOOD}\n*Last updated: 2026-11-30*\n",
        f"Sure!\n\n---\n\n{GOOD}\n---\n", f"NO_REPLY\n\n{GOOD}",
    ],
)  # fmt: skip
def test_wrapped_or_otherwise_marked_replies_are_understood(folder, reply):
    done = consolidate(folder, saying(reply), NOW)
    assert done.status == "written"
    assert bullets(memory(folder)) == bullets(GOOD)


def judged(reply: str, present: str = PRESENT, news: str = "- x", budget: int = 4_000) -> str:
    return check(reply, present, news, budget).reason


def test_up_to_a_quarter_may_go_without_a_word_but_is_told():
    checked = check(without(*ENTRIES[:2]), PRESENT, "", 4_000)
    assert (checked.reason, checked.missing) == ("", tuple(ENTRIES[:2]))
    assert "Ann leads" in judged(without(*ENTRIES[:3]))


@pytest.mark.parametrize(("entries", "lost"), [(1, 1), (2, 1), (3, 1), (4, 2)])
def test_a_small_file_loses_nothing_unless_it_is_named(entries, lost):
    names = ["Ann drinks tea.", "Build with make.", "数据库用 PostgreSQL。", "Ship on Fridays."][:entries]
    present = "".join(f"- {name}\n" for name in names)
    reply = "".join(f"- {name}\n" for name in names[lost:]) + "- Something else entirely.\n"
    assert "neither kept, merged nor superseded" in judged(reply, present)
    named = reply + "## Superseded\n" + "".join(f"- {name} → no longer so\n" for name in names[:lost])
    checked = check(named, present, "", 4_000)
    assert (checked.reason, checked.superseded) == ("", tuple(names[:lost]))
    assert "Superseded" not in checked.text


def test_one_of_four_may_go():
    present = "- a one\n- b two\n- c three\n- d four\n"
    assert judged("- a one\n- b two\n- c three\n", present) == ""


def test_entries_that_were_merged_are_no_loss():
    present = "- 用户喜欢喝绿茶。\n- 用户爱喝绿茶，不加糖。\n- Ann leads billing.\n- Ann leads the billing project in Berlin.\n"
    merged = check("- 用户喜欢喝绿茶，爱喝不加糖的。\n- Ann leads the billing project (Berlin).\n", present, "", 4_000)
    assert (merged.reason, merged.superseded, merged.missing) == ("", (), ())


def test_an_entry_that_stood_there_before_is_no_merge():
    present = "- Ann likes green tea.\n- Bob likes green tea.\n- Build with make.\n"
    assert "Ann likes" in judged("- Bob likes green tea.\n- Build with make.\n", present)


def test_a_changed_value_is_a_loss_that_must_be_named():
    present = "- Deploys are on Friday at 17:00.\n- Build with make.\n"
    reply = "- Deploys are on Monday at 09:00.\n- Build with make.\n"
    assert "Friday" in judged(reply, present)
    assert judged(reply + "## Superseded\n- Deploys are on Friday at 17:00 -> moved\n", present) == ""
    assert "pip" in judged("- The team uses uv.\n", "- The team uses pip.\n")  # two words of three are no merge


def test_nested_entries_and_lines_of_a_person_count_too():
    present = "The team is in Berlin.\n\n- team\n  - Ann leads\n  - Bob codes\n  - Carol tests\n"
    reason = judged("- team\n  - Ann leads\n  - Carol tests\n", present)
    assert '"The team is in Berlin."; "Bob codes"' in reason
    assert judged("The team is in Berlin.\n- team\n  - Ann leads\n  - Carol tests\n", present) == ""


@pytest.mark.parametrize(
    "line",
    [
        "The price is unchanged since 2024.", "The rest API is versioned.", "Call open(...) with a mode.", "策略：先测后发",
        "Others join in May.", "Existing users keep their price.", "Etc/UTC is the zone.", "- [ ] write docs", "用省略号结尾…好",
    ],
)  # fmt: skip
def test_ordinary_entries_are_no_placeholders(line):
    assert judged(f"{PRESENT}- {line}\n") == ""


def test_words_that_somebody_wrote_are_never_a_placeholder():
    assert judged(f"{PRESENT}- 其他条目不变\n", news="- 其他条目不变") == ""
    kept = PRESENT + "A line of prose.\n\n```\nmake test\n```\n"
    assert judged(kept, kept) == ""


def test_the_budget_counts_tokens_and_not_the_superseded():
    assert "over the budget of 50" in judged(PRESENT, "- Ann leads the billing project.\n", budget=50)
    assert judged(GOOD + NAMED * 40) == ""


def test_credentials_are_masked_and_one_that_a_person_wrote_blocks_nothing(folder):
    folder.memory.write_text(PRESENT + "- the password is hunter2\n", "utf-8")
    asked = []
    reply = GOOD + "- the password is [masked: password]\n- the key is sk-abcdefghijklmnopqrstuvwx123456\n"
    assert consolidate(folder, saying(reply, asked=asked), NOW).status == "written"
    assert "hunter2" not in asked[0] + memory(folder)
    assert "sk-abc" not in memory(folder)


def test_what_a_person_wrote_into_memory_is_the_present_text(folder):
    folder.memory.write_text("- My own words.\r\n", "utf-8", newline="")
    asked = []
    done = consolidate(folder, saying("- My own words.\n- We use uv.", asked=asked), NOW)
    assert "Present memory:\n- My own words.\n\nFresh" in asked[0]
    assert memory(folder) == "- My own words.\n- We use uv.\n"
    assert done.status == "written"
    assert [path.read_bytes() for path in folder.history.iterdir()] == [b"- My own words.\r\n"]


def test_memory_changed_while_the_model_was_asked_stays_and_the_logs_stay_new(folder):
    def meanwhile():
        folder.memory.write_text("- Written by hand.\n", "utf-8")
        return GOOD + NAMED

    done = consolidate(folder, saying(meanwhile), NOW)
    assert done.status == "refused"
    assert "changed meanwhile" in done.reason
    assert memory(folder) == "- Written by hand.\n"
    assert len(news(folder)) == 1
    assert not folder.history.exists()


def test_earlier_versions_are_never_overwritten(folder):
    for number in range(3):
        append(folder, [f"fact {number}"], NOW)
        text = memory(folder)
        assert consolidate(folder, saying(f"{text}- fact {number}\n"), NOW).status == "written"
    kept = sorted(path.name for path in folder.history.iterdir())
    assert kept == ["MEMORY.20261130-090507-2.md", "MEMORY.20261130-090507-3.md", "MEMORY.20261130-090507.md"]
    assert len({path.read_text("utf-8") for path in folder.history.iterdir()}) == 3


def test_a_second_consolidation_at_the_same_time_is_busy_and_the_journal_is_not_locked(folder):
    seen = []

    def inside():
        seen.append(consolidate(folder, saying(GOOD), NOW).status)
        append(folder, ["Said meanwhile."], NOW)
        return GOOD + NAMED

    assert consolidate(folder, saying(inside), NOW).status == "written"
    assert seen == ["busy"]
    with lock(folder.path / ".consolidation.lock", timeout=0):
        assert consolidate(folder, saying(GOOD), NOW).status == "busy"


@pytest.mark.parametrize("failing", ["MEMORY.md", ".state.json", "MEMORY.20261130-090507.md"])
def test_a_failed_write_moves_nothing_that_depends_on_it(folder, monkeypatch, failing):
    real, state = Path.replace, folder.state()

    def full(path, target):
        if Path(target).name == failing:
            raise OSError(28, "No space left on device")
        return real(path, target)

    monkeypatch.setattr(Path, "replace", full)
    done = consolidate(folder, saying(GOOD + NAMED), NOW)
    assert done.status == "refused"
    assert "No space left" in done.reason
    assert folder.state() == state
    assert memory(folder) == (GOOD if failing == ".state.json" else PRESENT)
    monkeypatch.undo()
    assert consolidate(folder, saying(GOOD), NOW).status in ("written", "nothing new")
    assert news(folder) == []


def test_an_interrupt_passes_and_loses_nothing(folder):
    before = everything(folder)
    with pytest.raises(KeyboardInterrupt):
        consolidate(folder, saying(KeyboardInterrupt()), NOW)
    assert everything(folder) == before
    assert consolidate(folder, saying(GOOD + NAMED), NOW).status == "written"


def test_a_deleted_memory_is_made_anew_from_all_logs_the_archived_ones_too(folder):
    consolidate(folder, saying(GOOD + NAMED), NOW)
    append(folder, ["Long ago."], NOW - 200 * DAY)
    folder.archive.mkdir()
    old = folder.logs / "2026-05-14.md"
    old.rename(folder.archive / old.name)
    folder.memory.unlink()
    asked = []
    assert consolidate(folder, saying("- Long ago.\n- uv", asked=asked), NOW).status == "written"
    assert asked[0].endswith(
        "Present memory:\n(none)\n\nFresh logs:\n### 2026-05-14.md\n- Long ago.\n### 2026-11-29.md\n"
        "- Bob is on call in December.\n### 2026-11-30.md\n- Packages are installed with uv since November 2026."
    )
    assert news(folder) == []


def test_a_log_that_was_archived_under_another_name_is_not_new_again(folder):
    consolidate(folder, saying(GOOD + NAMED), NOW)
    folder.archive.mkdir()
    path = folder.logs / "2026-11-30.md"
    path.rename(folder.archive / "2026-11-30-2.md")
    assert news(folder) == []
    append(folder, ["Again on that day."], NOW)
    assert news(folder) == ["- Again on that day."]
    consolidate(folder, saying("NO_REPLY"), NOW)
    assert news(folder) == []


def test_a_damaged_state_skips_nothing(folder):
    consolidate(folder, saying(GOOD + NAMED), NOW)
    (folder.path / ".state.json").write_text("{", "utf-8")
    assert len(news(folder)) == 2


def test_a_log_that_can_not_be_read_is_named_and_the_others_go_on(folder):
    bad = folder.logs / "2026-11-28.md"
    bad.write_bytes(b"- \xff\xfe\n")
    done = consolidate(folder, saying(GOOD + NAMED), NOW)
    assert (done.status, done.logs) == ("written", ("2026-11-30.md",))
    assert done.reason.startswith("2026-11-28.md was left out")
    bad.write_text("- Mended.\n", "utf-8")
    assert news(folder) == ["- Mended."]


def test_half_a_character_at_the_end_of_a_log_is_no_obstacle(folder):
    path = folder.logs / "2026-11-30.md"
    path.write_bytes(path.read_bytes() + "- 书".encode()[:-1])
    done = consolidate(folder, saying(GOOD + NAMED), NOW)
    assert (done.status, done.reason) == ("written", "")


def test_a_log_of_headers_alone_asks_nobody_and_counts_as_read(folder):
    consolidate(folder, saying(GOOD + NAMED), NOW)
    with (folder.logs / "2026-11-30.md").open("a", encoding="utf-8") as file:
        file.write("\n## 10:00:00 s\n\n")
    asked = []
    assert consolidate(folder, saying(GOOD, asked=asked), NOW).status == "nothing new"
    assert asked == []
    data = (folder.logs / "2026-11-30.md").read_bytes()
    assert folder.state().consolidated["2026-11-30.md"][0] == len(data)


def keeping(asked=None):
    """A model that keeps every present entry and adds every fresh one."""

    def ask(messages):
        content = messages[0]["content"]
        present, _, new = content.partition("Present memory:\n")[2].partition("\n\nFresh logs:\n")
        if asked is not None:
            asked.append(new)
        kept = bullets(present)
        return "\n".join(f"- {entry}" for entry in [*kept, *(e.split(" ")[0] for e in bullets(new))])

    return ask


def long_logs(folder) -> list[str]:
    facts = [f"fact-{n} " + "x" * 900 for n in range(100)]
    for day in range(4):
        append(folder, facts[day * 25 : day * 25 + 25], NOW + day * DAY)
    return [fact.split(" ")[0] for fact in facts]


def test_many_logs_are_taken_in_portion_by_portion(tmp_path):
    folder, asked = JournalFolder(tmp_path), []
    facts = long_logs(folder)
    done = consolidate(folder, keeping(asked), NOW)
    assert (done.status, len(asked)) == ("written", 4)
    assert max(map(len, asked)) <= MAX_FRESH + 200
    assert bullets(memory(folder)) == facts
    assert len(list(folder.history.iterdir())) == 3


def test_what_was_taken_in_before_a_refused_portion_stays(tmp_path):
    folder, model, calls = JournalFolder(tmp_path), keeping(), []
    long_logs(folder)

    def tired(messages):
        calls.append(1)
        return model(messages) if len(calls) < 3 else "I'm sorry."

    done = consolidate(folder, tired, NOW)
    assert (done.status, done.reason, len(calls)) == ("refused", "the model refused", 4)
    assert done.after == memory(folder) != done.before
    asked = []
    assert consolidate(folder, keeping(asked), NOW).status == "written"
    assert len(asked) == 2


def test_one_endless_entry_is_shown_in_part(tmp_path):
    folder, asked = JournalFolder(tmp_path), []
    append(folder, ["long " + "x" * 100_000, "short"], NOW)
    assert consolidate(folder, keeping(asked), NOW).status == "written"
    assert max(map(len, asked)) <= MAX_FRESH + 100
    assert bullets(memory(folder)) == ["long", "short"]


# Consolidates, and kills itself at the chosen call of the chosen step, as a power cut would.
DYING = """
import os, signal, sys
from datetime import datetime
from pathlib import Path
from hxmem.journal.consolidation import consolidate
from hxmem.journal.folder import JournalFolder
from hxmem.journal.ledger import bullets
root, step, at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
seen = 0
def dying(real):
    def call(*arguments, **options):
        global seen
        seen += 1
        if seen == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    return call
def ask(messages):
    present, _, new = messages[0]["content"].partition("Present memory:\\n")[2].partition("\\n\\nFresh logs:\\n")
    return "\\n".join(f"- {entry}" for entry in [*bullets(present), *(e.split(" ")[0] for e in bullets(new))])
if step == "ask":
    ask = dying(ask)
else:
    setattr(os, step, dying(getattr(os, step)))
consolidate(JournalFolder(root), ask, datetime(2026, 12, 5))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize(
    ("step", "at"),
    [("ask", 1), ("ask", 3), ("fsync", 2), *[("replace", at) for at in range(1, 7)]],
)
@pytest.mark.parametrize("deleted", [False, True])
def test_a_process_killed_during_a_consolidation_loses_nothing(tmp_path, step, at, deleted):
    folder = JournalFolder(tmp_path)
    facts = long_logs(folder)
    if deleted:  # all was taken in once, and then somebody deleted MEMORY.md
        consolidate(folder, keeping(), NOW)
        folder.memory.unlink()
    dead = subprocess.run([sys.executable, "-c", DYING, str(tmp_path), step, str(at)], timeout=60, check=False)
    assert dead.returncode == -signal.SIGKILL
    half, asked = bullets(folder.read_memory()), []
    assert half == facts[: len(half)]  # a whole file of some portions, or none
    assert consolidate(folder, keeping(asked), NOW).status == "written"
    assert list(dict.fromkeys(bullets(memory(folder)))) == facts
    assert len(asked) <= 4 - (len(half) // 25 - 1 if half else 0)  # at most one portion is asked about again
    assert news(folder) == []


def test_credentials_that_a_person_wrote_into_a_log_are_not_sent(folder):
    with (folder.logs / "2026-11-30.md").open("a", encoding="utf-8") as file:
        file.write("- the password is hunter2\n")
    asked = []
    consolidate(folder, saying("NO_REPLY", asked=asked), NOW)
    assert "hunter2" not in asked[0]


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_links_out_of_the_journal_are_not_followed(folder, tmp_path_factory):
    outside, asked = tmp_path_factory.mktemp("outside") / "secret.md", []
    outside.write_text("- top secret\n", "utf-8")
    (folder.logs / "2026-11-28.md").symlink_to(outside)
    assert consolidate(folder, saying(GOOD + NAMED, asked=asked), NOW).logs == ("2026-11-30.md",)
    folder.memory.unlink()
    folder.memory.symlink_to(outside)
    append(folder, ["More."], NOW)
    done = consolidate(folder, saying("- More.", asked=asked), NOW)
    assert (done.status, outside.read_text("utf-8")) == ("refused", "- top secret\n")
    assert "leads out of the folder" in done.reason
    assert "secret" not in "".join(asked)


def test_a_run_asks_a_bounded_number_of_times_and_the_next_one_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("hxmem.journal.consolidation.MAX_PORTIONS", 2)
    folder, asked = JournalFolder(tmp_path), []
    facts = long_logs(folder)
    done = consolidate(folder, keeping(asked), NOW)
    assert (done.status, len(asked), done.reason) == (
        "written",
        2,
        "2 more portions of the logs are left for the next time",
    )
    assert consolidate(folder, keeping(asked), NOW).reason == ""
    assert (len(asked), bullets(memory(folder))) == (4, facts)
