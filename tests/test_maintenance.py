"""Maintenance: the order of its steps, what is archived and pruned, and what a failure or a kill leaves behind."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from hxmem.journal import maintenance
from hxmem.journal.consolidation import consolidate
from hxmem.journal.folder import JournalFolder, State
from hxmem.journal.ledger import append
from hxmem.journal.maintenance import (
    EVERY,
    GAP,
    LOG_DAYS,
    SESSION_DAYS,
    archive_logs,
    due,
    maintain,
    prune_sessions,
    since_last,
)  # fmt: skip
from hxmem.sessions import archives

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MEMORY = "## Project\n- We use uv.\n"


@pytest.fixture
def folder(tmp_path):
    return JournalFolder(tmp_path)


def log(folder, days_ago, *bullets):
    return append(folder, bullets, NOW - timedelta(days=days_ago), "s")[0]


def session(folder, name, days_ago):
    path = folder.root / ".harnessx" / "sessions" / f"{name}.log.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n", "utf-8")
    time = (NOW - timedelta(days=days_ago)).timestamp()
    os.utime(path, (time, time))
    return path


def model(reply=MEMORY):
    return lambda messages: reply


def test_the_defaults_are_those_of_the_first_revision():
    assert (timedelta(hours=6), timedelta(minutes=30), 90, 180) == (EVERY, GAP, LOG_DAYS, SESSION_DAYS)


def test_a_log_is_archived_only_after_it_was_consolidated(folder):
    old = log(folder, 91, "- We use uv.")
    assert archive_logs(folder, NOW) == ()
    assert maintain(folder, model("I cannot do that."), NOW).archived == ()
    assert old.exists()
    done = maintain(folder, model(), NOW)
    assert (done.archived, done.problems) == ((old.name,), ())
    assert not old.exists()
    assert "We use uv." in (folder.archive / old.name).read_text("utf-8")


def test_a_line_that_came_after_the_consolidation_keeps_its_log(folder):
    old = log(folder, 91, "- We use uv.")
    consolidate(folder, model(), NOW)
    log(folder, 91, "- We use ruff.")
    assert archive_logs(folder, NOW) == ()
    assert old.exists()


@pytest.mark.parametrize(("days", "goes"), [(89, False), (90, False), (91, True)])
def test_a_log_is_old_after_ninety_days(folder, days, goes):
    log(folder, days, "- We use uv.")
    assert bool(maintain(folder, model(), NOW).archived) is goes


def test_files_without_a_date_as_their_name_stay(folder):
    log(folder, 91, "- We use uv.")
    other = folder.logs / "notes.md"
    other.write_text("- mine\n", "utf-8")
    maintain(folder, model(), NOW)
    assert other.read_text("utf-8") == "- mine\n"


def test_nothing_in_the_archive_is_overwritten(folder):
    old = log(folder, 91, "- We use uv.")
    folder.archive.mkdir()
    (folder.archive / old.name).write_text("- an earlier one\n", "utf-8")
    maintain(folder, model(), NOW)
    assert (folder.archive / old.name).read_text("utf-8") == "- an earlier one\n"
    assert "We use uv." in (folder.archive / f"{old.stem}-2.md").read_text("utf-8")


def test_without_memory_file_no_log_leaves(folder):
    old = log(folder, 91, "- We use uv.")
    consolidate(folder, model(), NOW)
    folder.memory.unlink()
    assert archive_logs(folder, NOW) == ()
    assert old.exists()


@pytest.mark.parametrize(("days", "goes"), [(179, False), (181, True)])
def test_a_conversation_is_pruned_after_half_a_year(folder, days, goes):
    session(folder, "chat", days)
    assert prune_sessions(folder, NOW) == (("chat",) if goes else ())
    assert bool(archives(folder.root)) is not goes


def test_what_was_flushed_of_a_pruned_conversation_is_forgotten(folder):
    session(folder, "old", 200)
    session(folder, "new", 1)
    with folder.locked():
        folder.write_state(State(flushed={"old": "a", "new": "b"}))
    prune_sessions(folder, NOW)
    assert folder.state().flushed == {"new": "b"}


def test_large_results_of_old_conversations_go_too(folder):
    for name, days in (("old", 200), ("new", 1)):
        path = folder.results / name / "run_shell-abc.txt"
        path.parent.mkdir(parents=True)
        path.write_text("x", "utf-8")
        time = (NOW - timedelta(days=days)).timestamp()
        os.utime(path, (time, time))
        os.utime(path.parent, (time, time))
    prune_sessions(folder, NOW)
    assert [path.name for path in folder.results.iterdir()] == ["new"]


def test_a_pass_counts_only_when_the_consolidation_ended_well(folder):
    log(folder, 0, "- We use uv.")
    assert since_last(folder.state(), NOW) == timedelta.max
    assert maintain(folder, model(""), NOW).problems
    assert since_last(folder.state(), NOW) == timedelta.max
    maintain(folder, model(), NOW)
    assert since_last(folder.state(), NOW + timedelta(hours=2)) == timedelta(hours=2)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-30T12:00:00", "2027-11-30T12:00:00+00:00"])
def test_a_time_that_can_not_be_right_is_no_time(text):
    assert since_last(State(maintained=text), NOW) == timedelta.max


def test_one_step_that_fails_does_not_stop_the_others(folder, monkeypatch):
    log(folder, 91, "- We use uv.")
    session(folder, "chat", 200)

    def broken(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(maintenance, "archive_logs", broken)
    done = maintain(folder, model(), NOW)
    assert (done.pruned, done.problems) == (("chat",), ("the disk is gone",))
    assert folder.memory.exists()


def test_the_order_is_consolidate_archive_prune_reindex(folder, monkeypatch):
    seen = []
    for name in ("consolidate", "archive_logs", "prune_sessions"):
        real = getattr(maintenance, name)
        monkeypatch.setattr(maintenance, name, lambda *a, name=name, real=real: seen.append(name) or real(*a))
    real_refresh = maintenance.Search.refresh
    monkeypatch.setattr(maintenance.Search, "refresh", lambda self: seen.append("reindex") or real_refresh(self))
    maintain(folder, model(), NOW)
    assert seen == ["consolidate", "archive_logs", "prune_sessions", "reindex"]


def test_of_the_earlier_versions_the_newest_hundred_stay(folder):
    folder.history.mkdir(parents=True)
    for n in range(103):
        (folder.history / f"MEMORY.20261130-{n:06}.md").write_text("x", "utf-8")
    prune_sessions(folder, NOW)
    assert sorted(path.name for path in folder.history.iterdir())[0] == "MEMORY.20261130-000003.md"
    assert len(list(folder.history.iterdir())) == 100


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX thing")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_killed_while_archiving_loses_no_log(folder, when):
    names = [log(folder, days, f"- Fact {days}.").name for days in (91, 92, 93)]
    consolidate(folder, model("## P\n- Fact 91.\n- Fact 92.\n- Fact 93.\n"), NOW)
    code = f"""
import os, pathlib, signal, sys
from datetime import datetime
from hxmem.journal.folder import JournalFolder
from hxmem.journal.maintenance import archive_logs
real, seen = pathlib.Path.rename, []
def rename(self, target):
    seen.append(self)
    if len(seen) == 2 and {when == "before"}: os.kill(os.getpid(), signal.SIGKILL)
    real(self, target)
    if len(seen) == 2: os.kill(os.getpid(), signal.SIGKILL)
pathlib.Path.rename = rename
archive_logs(JournalFolder(pathlib.Path(sys.argv[1])), datetime.fromisoformat(sys.argv[2]))
"""
    done = subprocess.run([sys.executable, "-c", code, str(folder.root), NOW.isoformat()])
    assert done.returncode == -signal.SIGKILL
    kept = {path.name for path in folder.days()}, {path.name for path in folder.archive.glob("*.md")}
    assert kept[0] | kept[1] == set(names)
    assert kept[0] & kept[1] == set()
    assert kept[0], "the kill came before the last one"
    archive_logs(folder, NOW)
    assert {path.name for path in folder.archive.glob("*.md")} == set(names)


def test_a_pass_that_failed_is_tried_again_at_once_and_then_rests(folder):
    log(folder, 0, "- We use uv.")
    assert due(folder.state(), NOW, GAP)
    maintain(folder, model("I'm sorry."), NOW)
    assert due(folder.state(), NOW, GAP)
    maintain(folder, model("I'm sorry."), NOW)
    assert not due(folder.state(), NOW + GAP / 2, GAP)
    assert due(folder.state(), NOW + GAP, GAP)
    assert due(folder.state(), NOW - GAP, GAP)  # a clock that was set back
    maintain(folder, model(), NOW)
    assert (folder.state().failed, folder.state().tried) == (0, "")
