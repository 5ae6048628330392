"""The log of a day: it only grows, one clock names it, and nothing that two processes write is lost or mixed."""

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hxmem.files import FileProblem
from hxmem.journal.folder import JournalFolder
from hxmem.journal.ledger import append, blocks, bullet, bullets, closed, portions

SHANGHAI = timezone(timedelta(hours=8))
NOW = datetime(2026, 11, 30, 9, 5, 7, tzinfo=SHANGHAI)

WRITER = """
import sys
from datetime import datetime
from pathlib import Path
from hxmem.journal.folder import JournalFolder
from hxmem.journal.ledger import append
for n in range(40):
    facts = [f"{sys.argv[2]} fact {n}: " + "记" * 3_000 + "\\nand its end", f"{sys.argv[2]} second {n}"]
    append(JournalFolder(Path(sys.argv[1])), facts, datetime(2026, 11, 30, 9), sys.argv[2])
"""


@pytest.fixture
def folder(tmp_path) -> JournalFolder:
    return JournalFolder(tmp_path)


def test_bullets_stand_under_a_header_with_the_time_and_the_session(folder):
    path, line = append(folder, ["Ann leads the project.", "We use uv.\nSince May."], NOW, "chat-7")
    assert path == folder.logs / "2026-11-30.md"
    assert line == 1
    assert path.read_text("utf-8") == "## 09:05:07 chat-7\n- Ann leads the project.\n- We use uv.\n  Since May.\n"


def test_a_second_append_only_adds_and_says_at_which_line(folder):
    path, _ = append(folder, ["one"], NOW)
    before = path.read_bytes()
    _, line = append(folder, ["two"], NOW + timedelta(minutes=1), "s")
    assert path.read_bytes() == before + b"\n## 09:06:07 s\n- two\n"
    assert path.read_text("utf-8").splitlines()[line - 1] == "## 09:06:07 s"


def test_at_the_last_moment_of_a_day_name_and_header_are_of_the_same_day(folder):
    last = datetime(2026, 11, 30, 23, 59, 59, 900_000, tzinfo=SHANGHAI)
    path, _ = append(folder, ["late"], last)
    assert path.name == "2026-11-30.md"
    assert path.read_text("utf-8").startswith("## 23:59:59\n")
    path, _ = append(folder, ["early"], last + timedelta(milliseconds=100))
    assert path.name == "2026-12-01.md"
    assert path.read_text("utf-8").startswith("## 00:00:00\n")


def test_nothing_to_say_makes_no_file(folder):
    assert append(folder, ["", " \n "], NOW) == (folder.logs / "2026-11-30.md", 0)
    assert not folder.path.exists()


@pytest.mark.parametrize("tail", [b"- torn", "- half of 书".encode()[:-1], "- half of 😀".encode()[:-2]])
def test_a_line_that_a_killed_process_left_unfinished_is_closed_first(folder, tail):
    path, _ = append(folder, ["whole"], NOW)
    path.write_bytes(path.read_bytes() + tail)
    _, line = append(folder, ["next"], NOW)
    text = path.read_text("utf-8")
    assert bullets(text) == ["whole", closed(tail).decode()[2:].strip(), "next"]
    assert text.splitlines()[line - 2 : line] == ["", "## 09:05:07"]


def test_only_half_a_character_is_taken_off():
    assert closed("书".encode()) == "书".encode()
    assert closed(b"a\xff") == b"a\xff"  # no part of a character: not ours to remove
    assert closed(b"") == b""


def test_credentials_are_masked_in_bullets_and_in_the_header(folder):
    path, _ = append(folder, ["the password is hunter2"], NOW, "key sk-abcdefghijklmnopqrstuvwx123456")
    text = path.read_text("utf-8")
    assert "hunter2" not in text
    assert "abcdefghijkl" not in text
    assert "[masked: password]" in text


def test_a_bullet_can_not_pass_for_a_header_or_for_another_bullet(folder):
    path, _ = append(folder, ["a\n## 10:00:00 other\n- b\u2028c\r\x00d", "half \ud83d"], NOW, "s\n- x")
    text = path.read_text("utf-8")
    assert text == "## 09:05:07 s - x\n- a\n  ## 10:00:00 other\n  - b\n  c\n  d\n- half \ufffd\n"
    assert len(bullets(text)) == 2


def test_our_tags_stay_in_the_log_as_they_were_said(folder):
    path, _ = append(folder, ["the tag <loaded_context> opens it"], NOW)
    assert "<loaded_context>" in path.read_text("utf-8")


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_log_is_private(folder):
    old = os.umask(0)
    try:
        path, _ = append(folder, ["a"], NOW)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="needs O_NOFOLLOW")
def test_a_link_in_the_place_of_a_log_is_not_followed(folder, tmp_path):
    folder.make()
    (folder.logs / "2026-11-30.md").symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(FileProblem):
        append(folder, ["a"], NOW)
    assert not (tmp_path / "elsewhere.md").exists()


def test_a_write_that_fails_leaves_the_log_as_it_was(folder, monkeypatch):
    path, _ = append(folder, ["a"], NOW)
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileProblem, match=r"2026-11-30\.md could not be written \(No space left on device\)"):
        append(folder, ["b"], NOW)
    assert path.read_bytes() == before


def test_a_bullet_is_on_the_disk_when_append_returns(folder, monkeypatch):
    flushed = []
    real = os.fsync
    monkeypatch.setattr("os.fsync", lambda handle: (real(handle), flushed.append(os.fstat(handle).st_size)))
    path, _ = append(folder, ["a"], NOW)
    assert path.stat().st_size in flushed


def test_two_processes_appending_at_once_lose_and_mix_nothing(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("a", "b")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    text = (JournalFolder(Path(tmp_path)).logs / "2026-11-30.md").read_text("utf-8")
    long = "记" * 3_000
    for name in ("a", "b"):
        own = [section for section in text.split("## 09:00:00 ") if section.startswith(f"{name}\n")]
        assert [section.rstrip("\n") for section in own] == [
            f"{name}\n- {name} fact {n}: {long}\n  and its end\n- {name} second {n}" for n in range(40)
        ]


def test_every_usual_mark_makes_an_entry():
    text = "- a\n* b\n+ c\n• d\n•e\n1. f\n12) g\n1、h\n- [ ] i\n-j\n3.11 k"
    assert bullets(text) == ["a", "b", "c", "d", "e", "f", "g", "h", "[ ] i\n-j\n3.11 k"]


def test_further_lines_belong_to_their_entry_until_a_blank_line():
    assert bullets("- a\nb\n  c\n\n  d\n\nprose\n- e") == ["a\nb\nc\nd", "e"]


def test_nested_entries_belong_to_the_outer_one_or_count_by_themselves():
    text = "- team\n  - Ann\n  - Bob\n- next"
    assert bullets(text) == ["team\n- Ann\n- Bob", "next"]
    assert bullets(text, deep=True) == ["team", "Ann", "Bob", "next"]


def test_the_parts_of_a_text_are_told_apart():
    kinds = [kind for kind, _ in blocks("# T\nwords\n- a\n\n```\n- b\n```\n\n---")]
    assert kinds == ["heading", "prose", "entry", "fence", "entry", "fence", "prose"]


def test_portions_keep_the_order_and_lose_nothing():
    assert portions(["aa", "bb", "c", "dddddd", "e", ""], len, 4) == [["aa", "bb"], ["c"], ["dddddd"], ["e", ""]]
    assert portions([""], len, 4) == [[""]]
    assert portions([], len, 4) == []


@pytest.mark.parametrize(
    "text",
    [
        "Written in C++ and Rust.",
        "Python 3. We need it.",
        "1. May is a holiday.",
        "价格是 12、13 元",
        "a • b",
        "x - y * z",
    ],
)
def test_a_sign_within_a_bullet_stays(text):
    assert bullet(text) == bullet(f"- {text}") == bullet(f"* {text}") == f"- {text}\n"


@pytest.mark.parametrize(
    "text", ["+ 5% for Ann", "– 5 °C in the cold room", "+1 from Bob", "-5 °C", "2026-12-01: release"]
)
def test_an_amount_at_the_start_of_an_entry_is_no_mark(text):
    assert bullet(bullets(f"- {text}")[0]) == f"- {text}\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1.使用 uv\n2.部署在周五", ["使用 uv", "部署在周五"]), ("1.**Stack**: uv\n2.**Time**: 5", ["**Stack**: uv", "**Time**: 5"]),
        ("（1）用 uv\n（2）用 ruff", ["用 uv", "用 ruff"]), ("(1) uv\n(2) ruff", ["uv", "ruff"]), ("① 用 uv\n②用 ruff", ["用 uv", "用 ruff"]),
        ("● 用 uv\n▪ 用 ruff\n◦ c", ["用 uv", "用 ruff", "c"]), ("-用 uv\n-用 ruff", ["用 uv", "用 ruff"]),
        ("- a\n---\n- b\n***\n- c\n* * *", ["a", "b", "c"]),
    ],
)  # fmt: skip
def test_marks_and_rules_as_models_write_them(text, found):
    assert bullets(text) == found


def test_deeper_entries_and_code_keep_their_indentation():
    text = "- team\n    - Ann\n        - Berlin\n- run:\n```python\ndef f():\n    return 1\n```\n- next"
    found = bullets(text)
    assert found == ["team\n  - Ann\n      - Berlin", "run:\n```python\ndef f():\n    return 1\n```", "next"]
    log = "".join(map(bullet, found))
    assert log.startswith("- team\n  - Ann\n      - Berlin\n- run:\n  ```python\n  def f():\n      return 1\n  ```\n")
    assert "".join(map(bullet, bullets(log))) == log


def test_a_fence_around_entries_is_no_code_of_an_entry():
    assert bullets("```markdown\n- a\n- b\n```\n\nA sentence.") == ["a", "b"]
    assert bullets("- a\n```\nno end\n- b") == ["a", "b"]
