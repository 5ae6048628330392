"""`hx agent --session`, `--plugins` and `hx journal`, as a person uses them: in processes, with one sentence a trouble."""

import json
import re

import pytest
from test_cli import hx

from hxmem import MemoryStore
from hxmem.cli import main
from hxmem.sessions import archives

PLUGINS = ("--plugins", "drawer,desk,journal", "--lang", "en")


@pytest.fixture
def journal(tmp_path):
    """A project whose journal holds two facts, told in two processes."""
    for said in ("Remember that we use uv for packages.", "记住：数据库迁移用 alembic。"):
        assert hx("agent", said, *PLUGINS, cwd=tmp_path).returncode == 0
    return tmp_path


def test_a_session_goes_on_in_the_next_process(tmp_path):
    hx("agent", "My number is 4711.", "--session", "trip", "--lang", "en", cwd=tmp_path)
    hx("agent", "And my colour is red.", "--session", "trip", "--lang", "en", "--wire", "two.jsonl", cwd=tmp_path)
    wire = [json.loads(line) for line in (tmp_path / "two.jsonl").read_text("utf-8").splitlines()]
    body = next(line["request"]["body"] for line in wire if line["purpose"] == "answer")
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert "4711" in body["messages"][1]["content"]
    assert [path.name for path in archives(tmp_path)] == ["trip.log.jsonl"]
    assert len(archives(tmp_path)[0].read_text("utf-8").splitlines()) == 4


def test_a_session_says_whether_it_is_new(tmp_path):
    first, second = (hx("agent", "Hello", "--session", "trip", "--lang", "en", cwd=tmp_path).stderr for _ in range(2))
    assert "[ARCHIVE] trip: a new conversation\n" in first
    assert "[ARCHIVE] trip: goes on with 2 messages\n" in second


def test_without_a_session_nothing_of_the_conversation_is_kept(tmp_path):
    hx("agent", "My number is 4711.", cwd=tmp_path)
    assert archives(tmp_path) == []


def test_an_unknown_plugin_is_one_sentence(tmp_path):
    done = hx("agent", "Hello", "--plugins", "drawer,diary", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "hx: there is no plugin diary: use drawer, desk, journal, with commas between.\n",
    )


def test_the_log_and_the_memory_are_searched_in_two_languages(journal):
    for query, word in (("数据库", "alembic"), ("packages", "uv"), ("迁移", "alembic")):
        found = hx("journal", "search", query, cwd=journal)
        assert found.returncode == 0
        assert word in found.stdout
        assert "#" in found.stdout.split(":")[0]
    assert json.loads(hx("journal", "search", "uv", "--json", cwd=journal).stdout)[0]["path"]
    assert "4711" not in hx("journal", "search", "4711", cwd=journal).stdout
    assert hx("journal", "search", "4711", cwd=journal).stderr == "Nothing found.\n"


def test_conversations_are_searched_apart(journal):
    found = hx("journal", "search", "--sessions", "alembic", cwd=journal)
    assert "alembic" in found.stdout


def test_consolidate_says_what_it_did_and_then_that_nothing_is_new(journal):
    (journal / ".harnessx/journal/MEMORY.md").unlink()
    first = hx("journal", "consolidate", "--lang", "en", cwd=journal)
    assert first.stdout.startswith("MEMORY.md was made new from ")
    memory = (journal / ".harnessx/journal/MEMORY.md").read_text("utf-8")
    assert "uv" in memory
    assert "alembic" in memory
    assert hx("journal", "consolidate", cwd=journal).stdout.startswith("Nothing new")


def test_a_refused_consolidation_is_one_sentence_and_changes_nothing(journal):
    from hxmem.classroom import Classroom, Faults

    before = (journal / ".harnessx/journal/MEMORY.md").read_bytes()
    hx("agent", "Remember that we deploy on Fridays.", *PLUGINS, cwd=journal)
    with Classroom(0, Faults.parse("consolidation=refusal")) as room:
        env = {"DEEPSEEK_BASE_URL": room.url, "DEEPSEEK_API_KEY": room.key}
        done = hx("journal", "consolidate", cwd=journal, **env)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("hx: MEMORY.md stays as it was (refused): ")
    assert (journal / ".harnessx/journal/MEMORY.md").read_bytes() == before


def test_maintain_and_status_for_people_and_for_programs(journal):
    assert hx("journal", "maintain", cwd=journal).stdout.splitlines()[0].startswith("consolidation: ")
    facts = json.loads(hx("journal", "status", "--json", cwd=journal).stdout)
    assert facts["logs"] == 1
    assert facts["entries in MEMORY.md"] == 2
    assert facts["logs with something new"] == 0
    assert "entries in MEMORY.md" in hx("journal", "status", cwd=journal).stdout


def test_an_empty_project_has_an_empty_journal_and_no_new_folder(tmp_path, capsys):
    assert main(["journal", "status", "--root", str(tmp_path)]) == 0
    assert main(["journal", "search", "uv", "--root", str(tmp_path)]) == 0
    assert "Nothing found." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_doctor_names_what_is_damaged(journal):
    (journal / ".harnessx/journal/.state.json").write_text("{", "utf-8")
    with archives(journal)[0].open("ab") as file:
        file.write(b"\xff\xfe\n{half a line")
    done = hx("doctor", cwd=journal)
    assert done.returncode == 1
    state, session = done.stdout.splitlines()
    assert state == "journal: .state.json can't be read: every log counts as new; delete the file."
    assert session.startswith("sessions: ")
    assert "1 of 3 lines" in session


def test_a_file_in_the_place_of_the_journal_is_a_sentence(tmp_path):
    (tmp_path / ".harnessx").mkdir()
    (tmp_path / ".harnessx/journal").write_text("", "utf-8")
    for words in (("journal", "status"), ("doctor",)):
        done = hx(*words, cwd=tmp_path)
        assert done.returncode == 1
        assert ".harnessx/journal is no folder: move the file away." in done.stdout + done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("agent", "--session", "", "hi"),
        ("agent", "--plugins", "", "hi"),
        ("journal", "search", ""),
        ("journal", "search", "x", "--limit", "0"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, words):
    done = hx(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"hx: .+\n", done.stderr)


def test_the_conversations_are_listed(tmp_path):
    hx("agent", "My number is 4711.", "--session", "trip", cwd=tmp_path)
    assert re.fullmatch(r"trip  \S+  2 messages  My number is 4711\.\n", hx("journal", "sessions", cwd=tmp_path).stdout)


def test_doctor_names_files_of_the_journal_that_can_not_be_read(journal):
    (journal / ".harnessx/journal/MEMORY.md").write_bytes(b"## Project\n- caf\xe9\n")
    done = hx("doctor", cwd=journal)
    assert (done.returncode, done.stdout) == (1, "journal: MEMORY.md is not UTF-8 (line 2): save it as UTF-8.\n")


def test_consolidate_says_what_was_left_out_and_names_no_earlier_version_where_there_is_none(journal):
    (journal / ".harnessx/journal/MEMORY.md").unlink()
    (journal / ".harnessx/journal/memory/2026-01-01.md").write_bytes(b"- caf\xe9\n")
    done = hx("journal", "consolidate", "--lang", "en", cwd=journal)
    assert ".history" not in done.stdout
    assert "hx: 2026-01-01.md was left out until it is mended" in done.stderr


def test_a_fact_that_was_replaced_does_not_come_back_in_a_later_run_of_the_session(tmp_path):
    for said in ("Remember: the backend uses FastAPI.", "We moved from FastAPI to Litestar.", "What is new?"):
        done = hx("agent", said, "--session", "s", "--lang", "en", cwd=tmp_path)
    assert "[MEMORY]" not in done.stderr
    (memory,) = MemoryStore.of(tmp_path).list()
    assert "Litestar" in memory.body
