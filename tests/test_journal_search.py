"""The journal's search: Chinese and mixed words are found, nothing of a query is syntax, the index mends itself."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hxmem.files import FileProblem, lock
from hxmem.journal import index as index_module
from hxmem.journal.folder import JournalFolder
from hxmem.journal.index import RANKED, terms
from hxmem.journal.search import Search, log_sources, scan
from hxmem.plugins import SUMMARY_TAG, Session, with_recall
from hxmem.sessions import SessionLog

DAY = "2026-11-30"


@pytest.fixture
def folder(tmp_path) -> JournalFolder:
    folder = JournalFolder(tmp_path)
    folder.make()
    return folder


def log(folder: JournalFolder, *lines: str, day: str = DAY) -> Path:
    path = folder.logs / f"{day}.md"
    path.write_text("## 09:00:00 chat-1\n" + "".join(f"- {line}\n" for line in lines), "utf-8", newline="\n")
    return path


def found(search: Search, query: str, limit: int = 30) -> list[str]:
    return [hit.text.removeprefix("- ") for hit in search.memory(query, limit)]


def indexed(search: Search, query: str) -> list[str]:
    """What the index alone finds: a hit of the scan has no score."""
    hits = search.memory(query)
    assert search.problem == ""
    return [hit.text.removeprefix("- ") for hit in hits if hit.score]


def healthy(folder: JournalFolder) -> bool:
    """The index agrees with itself, and holds what the files hold."""
    db = sqlite3.connect(folder.index)
    try:
        db.execute("INSERT INTO lines(lines) VALUES ('integrity-check')")
        held = db.execute(
            "SELECT path, lines.rowid % 4294967296, text FROM lines JOIN files ON kind = 'lines' AND id = lines.rowid / 4294967296"
        )
        rows = sorted(held.fetchall())
    finally:
        db.close()
    return rows == sorted((s.path, n, text) for s in log_sources(folder) for n, text, _ in s.read(s.file))


@pytest.mark.parametrize(
    ("query", "hits", "misses"),
    [
        ("数据库", ["决定使用数据库迁移工具", "用 MySQL 数据库"], ["做数据分析", "查资料库", "据说库存够了"]),
        ("迁移", ["决定使用数据库迁移工具", "迁移"], ["把文件移走", "变迁"]),
        ("猫", ["养了一只猫", "猫", "小猫咪在睡觉", "the 猫 sleeps", "猫粮"], ["养了一只狗"]),
        ("用uv装", ["用 uv 安装依赖", "依赖都用UV装"], ["用 pip 安装依赖"]),
        ("ＵＶ", ["install with uv"], ["install with pip"]),
        ("pre-edit", ["a pre-edit hook", "the Pre-Edit text", "pre edit"], ["edit the file", "prepare"]),
        ("C++", ["written in C++", "C++17 和 Rust"], ["written in C", "C# only", "++i"]),
        ('"', ['he said "no"', "＂"], ["he said no"]),
        ("(x", ["f(x) is pure", "x is unknown"], ["the box", "f(y)"]),
        ("🚀", ["🚀 shipped", "上线🚀"], ["shipped 🛳"]),
        ("🫠", ["so hot 🫠"], ["so hot 🙂"]),  # newer than SQLite's table of characters
        ("👩‍🚀", ["hired an 👩‍🚀"], ["hired a cook"]),
        (".env", ["never read .env"], ["the environment", "env is set"]),
        ("tab", ["prefers tabs"], ["a table"]),
        ("tabs", ["one tab is enough"], ["a table"]),
        ("prefers spaces", ["prefers tabs, not spaces", "the user prefers spaces"], ["has a dog"]),
        ("memory", ["memory is short", "memories of May"], ["nothing here"]),
        ("2026", ["from 2026 on"], ["nothing here", "20260"]),
        ("7", ["at 7 o'clock"], ["nothing here", "17"]),
        ("고양이", ["우리 고양이는 잔다"], ["강아지"]),
        ("이", ["이름", "고양이"], ["강아지"]),
        ("ねこ", ["ねこがすき", "うちのねこ"], ["いぬ"]),
        ("แมว", ["ชอบแมวมาก", "แมว"], ["หมา"]),
        ("café", ["the café is closed"], ["coffee"]),
        ("cafe", ["the café is closed"], ["coffee"]),
        ("हिन्दी", ["वह हिन्दी बोलता है"], ["तमिल"]),
        ("AND", ["this AND that"], ["this or that"]),
        ("NEAR(a b)", ["near a b"], ["far c d"]),
        ("a OR NOT b", ["a or not b"], ["zzz"]),
        ("text:desk", ["text:desk", "the text of the desk"], ["lamp"]),
        ("^desk", ["a desk"], ["lamp"]),
        ("de*", ["de facto"], ["desk", "lamp"]),
        ("{desk}", ["desk"], ["lamp"]),
        ("desk'); DROP TABLE lines; --", ["desk'); DROP TABLE lines; --", "desk, drop, table, lines"], ["lamp"]),
    ],
)  # fmt: skip
def test_a_query_finds_its_lines_and_no_others(folder, query, hits, misses):
    log(folder, *hits, *misses)
    assert sorted(found(Search(folder), query)) == sorted(hits)
    assert query == '"' or healthy(folder)


@pytest.mark.parametrize("query", ["数据库", "迁移", "猫", "用uv装", "pre-edit", "C++", "🚀", "🫠", ".env", "(x", "7"])
def test_the_index_finds_it_without_the_scan(folder, query):
    log(
        folder,
        "决定用数据库迁移工具，猫也同意",
        "依赖用 uv 装",
        "pre-edit hook",
        "C++",
        "🚀",
        "🫠",
        ".env",
        "f(x)",
        "at 7",
    )
    assert len(indexed(Search(folder), query)) == 1


def test_path_line_and_session_headers_are_no_text(folder):
    log(folder, *(f"line about topic {chr(97 + n)}{chr(98 + n)}c" for n in range(12)))
    search = Search(folder)
    for query in ("2026-11-30", "md", "chat-1", "09:00:00", "##"):
        assert found(search, query) == []


def test_lines_with_all_the_words_come_before_lines_with_some(folder):
    log(folder, "the database", "the migration", "migration of the database", "database migration", "an unrelated line")
    hits = found(Search(folder), "the database migration")
    assert hits[:2] == ["database migration", "migration of the database"]
    assert sorted(hits[2:]) == ["the database", "the migration"]


def test_a_question_in_chinese_finds_the_line_that_answers_it(folder):
    log(folder, "决定使用数据库迁移工具 alembic", "周五下午开会", "测试数据放在桌上")
    assert found(Search(folder), "我们的数据库迁移是用什么工具做的？") == ["决定使用数据库迁移工具 alembic"]


def test_common_words_alone_make_no_hit_for_a_longer_question(folder):
    log(folder, "the user is in the office", "tea is ready")
    assert found(Search(folder), "what is the deadline") == []


def test_ties_stand_newest_first_and_memory_before_logs(folder):
    for day in ("2026-11-28", "2026-11-30", "2026-11-29"):
        log(folder, "green tea", "green tea", day=day)
    folder.memory.write_text("- green tea\n", "utf-8")
    search = Search(folder)
    places = [(hit.path, hit.line) for hit in search.memory("tea")]
    assert places == [
        ("MEMORY.md", 1),
        *((f"memory/2026-11-{day}.md", line) for day in (30, 29, 28) for line in (3, 2)),
    ]
    assert [(hit.path, hit.line) for hit in search.memory("tea", 3)] == places[:3]
    search.rebuild()
    assert [(hit.path, hit.line) for hit in search.memory("tea")] == places
    assert [(hit.path, hit.line) for hit in scan("tea", log_sources(folder), 30)] == places


def test_a_rare_old_word_is_found_among_thousands_of_newer_common_ones(folder):
    log(folder, "zebra", day="2026-01-01")
    log(folder, *["desk"] * (RANKED + 10))
    search = Search(folder)
    assert indexed(search, "desk zebra crossing") == ["zebra"]
    assert len(indexed(search, "desk lamp")) == 30  # with nothing rarer to go by


def test_the_limit_holds_for_the_index_and_for_the_scan(folder):
    log(folder, *["green tea"] * 50)
    search = Search(folder)
    assert len(search.memory("tea")) == 30
    assert len(search.memory("tea", 7)) == 7
    assert len(search.memory("een te")) == 30  # no word of it: the scan
    assert len(search.memory('"')) == 0


def test_no_word_at_all_is_looked_for_literally(folder):
    log(folder, "a -> b", "a = b", "ｆｕｌｌ －＞ width")
    assert sorted(found(Search(folder), "->")) == ["a -> b", "ｆｕｌｌ －＞ width"]
    assert found(Search(folder), "->")[0]
    for query in ("", "  ", "\u200b", "\n"):
        assert found(Search(folder), query) == []


def test_half_a_character_in_a_query_is_no_error(folder):
    log(folder, "green tea")
    assert found(Search(folder), "tea \ud83d") == ["green tea"]


def test_a_very_long_query_is_no_error(folder):
    log(folder, "green tea")
    assert found(Search(folder), "tea " + " ".join(f"word{n}" for n in range(5_000))) == ["green tea"]
    assert found(Search(folder), "茶" * 20_000) == []


@given(st.text(max_size=30))
def test_any_text_can_be_asked(tmp_path_factory, query):
    folder = JournalFolder(tmp_path_factory.getbasetemp() / "any")
    if not folder.logs.exists():
        folder.make()
        log(folder, '决定用 uv, C++ and "quotes" (x) * ^ NEAR')
    search = Search(folder)
    search.memory(query)
    assert search.problem == ""


@given(st.text(alphabet="猫数据库小抽屉ab C+.-_@/🚀한글カナ", min_size=1, max_size=12))
def test_a_line_is_found_by_any_of_its_terms(text):
    held = f" {' '.join(terms(f'前 {text} 后'))} "
    assert all(f" {term} " in held for term in terms(text))


# What changed on disk


def test_a_changed_file_is_read_again_and_only_that(folder, monkeypatch):
    log(folder, "old", day="2026-11-29")
    path = log(folder, "first")
    search = Search(folder)
    assert found(search, "first") == ["first"]
    read = []
    monkeypatch.setattr(index_module, "terms", lambda text: read.append(text) or terms(text))
    with path.open("a", encoding="utf-8") as file:
        file.write("- second\n")
    assert found(search, "second") == ["second"]
    assert read == ["- second"]  # the lines that were there are not even split again
    assert healthy(folder)


def test_a_rewritten_file_leaves_no_old_line(folder):
    folder.memory.write_text("# Tea\n- drinks green tea\n- black cat\n", "utf-8")
    search = Search(folder)
    assert found(search, "green") == ["drinks green tea"]
    folder.memory.write_text("# Tea\n- black cat\n", "utf-8")
    assert (found(search, "green"), found(search, "cat")) == ([], ["black cat"])
    assert search.memory("cat")[0].line == 2
    assert healthy(folder)


def test_a_file_replaced_by_one_of_equal_size_and_time_is_read_again(folder):
    folder.memory.write_text("- green\n", "utf-8")
    search = Search(folder)
    assert indexed(search, "green") == ["green"]
    times = folder.memory.stat()
    other = folder.path / "other"
    other.write_text("- white\n", "utf-8")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(folder.memory)
    assert (indexed(search, "white"), indexed(search, "green")) == (["white"], [])


def test_deleted_and_archived_logs_leave_the_index(folder):
    gone, old = log(folder, "gone tea", day="2026-01-01"), log(folder, "old tea", day="2026-01-02")
    log(folder, "new tea")
    search = Search(folder)
    assert len(found(search, "tea")) == 3
    gone.unlink()
    folder.archive.mkdir()
    old.rename(folder.archive / old.name)
    assert found(search, "tea") == ["new tea"]
    assert (found(search, "gone"), found(search, "old")) == ([], [])
    assert healthy(folder)


def test_a_journal_that_is_emptied_is_empty(folder):
    path = log(folder, "tea")
    search = Search(folder)
    assert found(search, "tea")
    path.unlink()
    assert found(search, "tea") == []
    assert healthy(folder)


def test_a_search_where_nothing_is_makes_no_folder(tmp_path):
    search = Search(JournalFolder(tmp_path))
    search.refresh()
    assert (search.memory("tea"), search.sessions("tea"), list(tmp_path.iterdir())) == ([], [], [])


def test_only_logs_are_searched_and_no_link_out_of_the_journal(folder, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("secret tea\n", "utf-8")
    (folder.logs / "2026-01-01.md").symlink_to(secret)
    (folder.logs / "notes.md").write_text("notes about tea\n", "utf-8")
    (folder.logs / "2026-01-02.md").mkdir()
    log(folder, "plain tea")
    assert indexed(Search(folder), "tea") == ["plain tea"]
    assert [hit.text for hit in scan("tea", log_sources(folder), 9)] == ["- plain tea"]


def test_bytes_that_are_no_text_and_windows_lines_are_read_as_far_as_they_go(folder):
    (folder.logs / f"{DAY}.md").write_bytes(b"\xef\xbb\xbf- first\r\n- caf\xe9 tea\r\n- \x00 nul tea\r\n")
    search = Search(folder)
    assert [hit.line for hit in search.memory("first")] == [1]
    assert [hit.line for hit in search.memory("tea")] == [3, 2]


def test_a_huge_line_is_indexed_at_its_ends(folder):
    log(folder, "start " + "x " * 200_000 + "end")
    hits = Search(folder).memory("start end")
    assert len(hits[0].text) == index_module.MAX_TEXT


# An index that can't be used


def breaking(folder, how):
    data = folder.index.read_bytes()
    if how == "garbage":
        folder.index.write_bytes(b"garbage " * 1_000)
    elif how == "short":
        folder.index.write_bytes(data[:50])
    elif how == "middle":
        folder.index.write_bytes(data[:1_024] + os.urandom(0) + b"\xa7" * (len(data) - 1_024))
    elif how == "empty":
        folder.index.write_bytes(b"")
    elif how == "gone":
        folder.index.unlink()
    elif how == "wal":
        folder.index.with_name(".index.db-wal").write_bytes(b"\x37\x7f\x06\x82" + b"garbage " * 1_000)
    else:
        db = sqlite3.connect(folder.index)
        db.executescript(how)
        db.close()


@pytest.mark.parametrize(
    "how",
    ["garbage", "short", "middle", "empty", "gone", "wal", "PRAGMA user_version = 99", "DROP TABLE lines", "DROP TABLE files"],
)  # fmt: skip
def test_a_damaged_index_is_made_anew_and_answers_at_once(folder, how):
    log(folder, "green tea", "数据库")
    Search(folder).refresh()
    breaking(folder, how)
    search = Search(folder)
    assert indexed(search, "tea") == ["green tea"]
    assert indexed(search, "数据") == ["数据库"]
    assert healthy(folder)
    db = sqlite3.connect(folder.index)
    assert db.execute("PRAGMA user_version").fetchone() == (index_module._VERSION,)
    db.close()


def test_another_program_s_database_is_replaced(folder):
    log(folder, "green tea")
    db = sqlite3.connect(folder.index)
    db.executescript("CREATE TABLE files(a); PRAGMA user_version = 1")
    db.close()
    assert indexed(Search(folder), "tea") == ["green tea"]


def test_a_held_database_is_waited_for_and_then_the_files_are_searched(folder, monkeypatch):
    monkeypatch.setattr(index_module, "BUSY_SECONDS", 0.05)
    path = log(folder, "green tea")
    search = Search(folder)
    assert indexed(search, "tea") == ["green tea"]
    before = folder.index.stat().st_ino
    holder = sqlite3.connect(folder.index, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with path.open("a", encoding="utf-8") as file:
        file.write("- black tea\n")
    assert found(search, "tea") == ["black tea", "green tea"]
    assert "locked" in search.problem
    holder.execute("ROLLBACK")
    holder.close()
    assert sorted(indexed(search, "tea")) == ["black tea", "green tea"]
    assert folder.index.stat().st_ino == before  # it was not damaged, so it was not deleted


def test_a_held_lock_file_costs_no_answer(folder, monkeypatch):
    monkeypatch.setattr(index_module, "BUSY_SECONDS", 0.05)
    log(folder, "green tea")
    with lock(folder.path / ".index.db.lock"):
        search = Search(folder)
        assert found(search, "tea") == ["green tea"]
        assert search.problem


def test_without_fts5_or_a_place_for_the_index_the_files_are_searched(folder, monkeypatch):
    log(folder, "prefers tabs, not spaces", "a lamp")
    monkeypatch.setattr(index_module, "_SCHEMA", ["CREATE VIRTUAL TABLE lines USING fts99(terms)"])
    search = Search(folder)
    assert found(search, "prefers spaces") == ["prefers tabs, not spaces"]
    assert "no such module" in search.problem
    with pytest.raises(FileProblem, match="no such module"):
        search.refresh()
    folder.index.unlink()
    folder.index.mkdir()
    assert found(Search(folder), "prefers spaces") == ["prefers tabs, not spaces"]


def test_a_file_that_can_t_be_read_is_named_and_the_others_are_found(folder, monkeypatch):
    log(folder, "bad tea", day="2026-01-01")
    log(folder, "good tea")
    real = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: real(path) if "2026-01-01" not in path.name else denied())
    search = Search(folder)
    assert found(search, "tea") == ["good tea"]
    assert "memory/2026-01-01.md can't be read" in search.problem
    monkeypatch.undo()
    assert len(found(search, "tea")) == 2


def denied() -> bytes:
    raise PermissionError(13, "Permission denied")


@pytest.mark.skipif(os.name != "posix", reason="permission bits")
def test_the_index_is_private(folder):
    log(folder, "green tea")
    Search(folder).memory("tea")
    assert stat.S_IMODE(folder.index.stat().st_mode) == 0o600


def test_it_waits_five_seconds_and_writes_ahead(folder):
    log(folder, "green tea")
    search = Search(folder)
    search.refresh()
    pragmas = search._index.run(
        lambda db: [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "busy_timeout")]
    )
    assert pragmas == ["wal", 5_000]


# Several processes

SEARCHER = """
import sys
from pathlib import Path
from hxmem.journal.folder import JournalFolder
from hxmem.journal.search import Search
folder = JournalFolder(Path(sys.argv[1]))
path = folder.logs / f"2026-10-0{sys.argv[2]}.md"
for n in range(40):
    with path.open("a", encoding="utf-8") as file:
        file.write(f"- word{n}of{sys.argv[2]}\\n")
    search = Search(folder)
    assert [hit.text for hit in search.memory(f"word{n}of{sys.argv[2]}", 1)] == [f"- word{n}of{sys.argv[2]}"], n
    if sys.argv[3] == "break" and n % 10 == 5:
        folder.index.write_bytes(b"garbage " * 1000)
"""
DYING = """
import os, signal, sys
from pathlib import Path
from hxmem.journal import index
from hxmem.journal.folder import JournalFolder
from hxmem.journal.search import Search
left = int(sys.argv[2])
real = index.terms
def dying(text):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(text)
index.terms = dying
Search(JournalFolder(Path(sys.argv[1]))).memory("tea")
"""


def run(code: str, *arguments: object) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("how", ["whole", "break"])
def test_two_processes_at_once_find_everything_and_leave_a_good_index(folder, how):
    log(folder, *(f"common line {n}" for n in range(200)))
    processes = [run(SEARCHER, folder.root, n, how) for n in (1, 2)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert found(Search(folder), "word39of1")[0] == "word39of1"
    assert healthy(folder)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("at", [1, 2, 150, 199, 201, 350])
def test_a_process_killed_while_it_indexes_leaves_nothing_half_done(folder, at):
    for day in ("2026-11-28", "2026-11-29"):
        log(folder, *(f"tea {n}" for n in range(199)), day=day)
    dead = run(DYING, folder.root, at)
    dead.communicate(timeout=60)
    assert dead.returncode == -signal.SIGKILL
    db = sqlite3.connect(folder.index)
    assert db.execute("SELECT count(*) FROM lines").fetchone()[0] == (at - 1) // 199 * 199  # whole files only
    db.close()
    search = Search(folder)
    assert len(indexed(search, "tea")) == 30
    assert healthy(folder)


# The archived conversations


def archive(root: Path, id: str, *messages: dict[str, object]) -> SessionLog:
    session = Session(root, "en", "", lambda purpose: lambda messages: "", lambda line: None, id=id)
    session.messages = [dict(message) for message in messages]
    log = SessionLog.of(session, lambda: datetime(2026, 11, 30, 9, tzinfo=UTC))
    log.append(session)
    return log


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def test_what_users_assistants_and_tools_said_is_found_and_nothing_else(folder):
    archive(
        folder.root, "chat-7", {"role": "system", "content": "rules about tea"}, user(with_recall("<relevant_memories>\nold tea\n</relevant_memories>", "green 数据库")),
        {"role": "assistant", "content": "green answer", "tool_calls": []}, {"role": "tool", "tool_call_id": "1", "content": "green result"},
        user(f"<{SUMMARY_TAG}>\ngreen summary\n</{SUMMARY_TAG}>"),
    )  # fmt: skip
    search = Search(folder)
    hits = search.sessions("green")
    assert sorted((hit.line, hit.text, hit.note.split()[0]) for hit in hits) == [
        (1, "green 数据库", "user"), (2, "green answer", "assistant"), (3, "green result", "tool"),
    ]  # fmt: skip
    assert all(hit.path == "chat-7" and hit.score for hit in hits)
    assert (search.sessions("old tea"), search.sessions("summary"), search.sessions("rules")) == ([], [], [])
    assert len(search.sessions("数据")) == 1
    assert search.memory("green") == []


@pytest.mark.parametrize("id", ["chat.log", "书桌", "a/../../b", "x.log.jsonl", "😀 'quoted' \"id\"", "%_*"])
def test_a_conversation_may_have_any_id(folder, id):
    log = archive(folder.root, id, user("green tea"))
    assert [hit.path for hit in Search(folder).sessions("tea")] == [log.id]


def test_a_conversation_that_grows_is_found_and_one_that_is_deleted_is_not(folder):
    path = archive(folder.root, "chat-7", user("green tea")).path
    search = Search(folder)
    assert len(search.sessions("tea")) == 1
    archive(folder.root, "chat-7", user("green tea"), user("black tea"))
    assert sorted(hit.text for hit in search.sessions("tea")) == ["black tea", "green tea"]
    path.unlink()
    assert search.sessions("tea") == []


def test_the_scan_reads_conversations_too(folder):
    archive(folder.root, "chat-7", user('he said "no" \\ twice, then """\nand left'), user("green tea"))
    search = Search(folder)
    for query in ('"', "\\", '"""'):  # JSON writes them in another way
        assert [hit.line for hit in search.sessions(query)] == [1]
    assert [hit.text for hit in search.sessions("een te")] == ["green tea"]
    assert len(search.sessions("e", 1)) == 1


def test_logs_and_conversations_do_not_mix(folder):
    log(folder, "tea in the log")
    archive(folder.root, f"{DAY}", user("tea in the chat"))
    search = Search(folder)
    assert [hit.text for hit in search.memory("tea")] == ["- tea in the log"]
    assert [hit.text for hit in search.sessions("tea")] == ["tea in the chat"]


def test_importing_the_search_brings_no_database():
    code = "import sys, hxmem.journal.search, hxmem.journal.reading; sys.exit('sqlite3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_word_of_two_characters_is_not_found_by_one_of_them(folder):
    log(folder, "我对青霉素过敏", "王敏负责前端")
    assert [hit.text for hit in Search(folder).memory("过敏")] == ["- 我对青霉素过敏"]
