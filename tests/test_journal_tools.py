"""The journal's tools: bounded answers, sentences for what went wrong, and no other file is ever read."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hxmem.files import FileProblem
from hxmem.journal.folder import JournalFolder
from hxmem.journal.reading import MAX_READ, preview, tools
from hxmem.journal.search import Search
from hxmem.plugins import Session, ToolProblem, with_recall
from hxmem.sessions import SessionLog

MORNING = datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path) -> JournalFolder:
    folder = JournalFolder(tmp_path)
    folder.make()
    folder.memory.write_text("# Drinks\n\n- drinks green tea\n- 决定使用数据库迁移工具\n", "utf-8")
    (folder.logs / "2026-11-30.md").write_text("## 09:00:00 chat-7\n- bought green tea\n", "utf-8")
    return folder


def use(folder: JournalFolder, name: str, /, **arguments: object) -> str:
    known = {tool.name: tool for tool in tools(Search(folder), save=True, clock=lambda: MORNING)}
    return known[name].run(arguments)


def archive(root: Path, id: str, *messages: dict[str, object], time: datetime = MORNING) -> list[str]:
    """Archive a conversation; returns the ids of its entries."""
    session = Session(root, "en", "", lambda purpose: lambda messages: "", lambda line: None, id=id)
    session.messages = [dict(message) for message in messages]
    log = SessionLog.of(session, lambda: time)
    log.append(session)
    return [entry.id for entry in log.entries()]


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def test_there_are_five_and_saving_is_an_option(folder):
    five = ["memory_search", "memory_get", "session_search", "session_list", "session_history"]
    assert [tool.name for tool in tools(Search(folder))] == five
    assert [tool.name for tool in tools(Search(folder), save=True)] == [*five, "memory_save"]
    assert all(tool.permission == "allow" for tool in tools(Search(folder), save=True))
    required = {tool.name: tool.parameters["required"] for tool in tools(Search(folder))}
    assert required == dict(zip(five, (["query"], ["path"], ["query"], [], ["session"]), strict=True))


# memory_search


def test_hits_name_their_source(folder):
    assert use(folder, "memory_search", query="green tea") == (
        "Found 2 matches:\nSource: MEMORY.md#3: - drinks green tea\nSource: memory/2026-11-30.md#2: - bought green tea"
    )
    assert use(folder, "memory_search", query="迁移").endswith("Source: MEMORY.md#4: - 决定使用数据库迁移工具")


def test_no_hit_and_no_query_are_sentences(folder):
    assert use(folder, "memory_search", query="zeppelin") == "No matching memories found for: zeppelin"
    for query in ("", "  ", None, 7):
        with pytest.raises(ToolProblem, match="No query provided"):
            use(folder, "memory_search", query=query)


def test_at_most_thirty_hits_and_no_endless_line(folder):
    lines = [f"- tea {n}" for n in range(100)] + ["- tea " + "leaf " * 10_000]
    (folder.logs / "2026-11-29.md").write_text("\n".join(lines), "utf-8")
    found = use(folder, "memory_search", query="tea")
    assert found.startswith("Found 30 matches:\n")
    assert len(found.splitlines()) == 31
    assert len(use(folder, "memory_search", query="leaf")) < 1_200
    assert len(use(folder, "memory_search", query="zeppelin" * 1_000)) < 300


# memory_get


def test_lines_are_counted_from_one_and_both_ends_are_read(folder):
    assert use(folder, "memory_get", path="MEMORY.md", start=1, end=3) == "1|# Drinks\n2|\n3|- drinks green tea"
    assert use(folder, "memory_get", path="MEMORY.md", start=4, end=4) == "4|- 决定使用数据库迁移工具"
    assert use(folder, "memory_get", path="memory/2026-11-30.md", start=2) == "2|- bought green tea"
    assert use(folder, "memory_get", path="MEMORY.md", start=3, end=900).endswith("\n4|- 决定使用数据库迁移工具")


def test_what_search_names_get_reads(folder):
    (folder.logs / "2026-11-29.md").write_bytes(
        "\ufeff## 09:00:00\r\n- a\x0bb\u2028c\x85d\r\n- black coffee\r\n".encode()
    )
    source = use(folder, "memory_search", query="coffee").splitlines()[1].removeprefix("Source: ")
    path, _, rest = source.partition("#")
    number = int(rest.partition(":")[0])
    assert use(folder, "memory_get", path=path, start=number, end=number) == f"{number}|- black coffee"


def test_an_archived_log_can_be_read(folder):
    folder.archive.mkdir()
    (folder.logs / "2026-11-30.md").rename(folder.archive / "2026-11-30.md")
    assert use(folder, "memory_get", path="memory/archive/2026-11-30.md", start=2) == "2|- bought green tea"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "`path` is required"),
        ({"path": ""}, "`path` is required"),
        ({"path": "memory/2026-01-01.md"}, "is not found"),
        ({"path": "MEMORY.md", "start": 5}, "ends at line 4"),
        ({"path": "MEMORY.md", "start": 3, "end": 2}, "before `start`"),
        ({"path": "MEMORY.md", "start": 0}, "`start` must be a whole number from 1 up"),
        ({"path": "MEMORY.md", "start": -1}, "`start` must be"),
        ({"path": "MEMORY.md", "start": True}, "`start` must be"),
        ({"path": "MEMORY.md", "start": "2"}, "`start` must be"),
        ({"path": "MEMORY.md", "end": 0}, "`end` must be"),
    ],
)
def test_a_wrong_call_is_a_sentence(folder, arguments, sentence):
    with pytest.raises(ToolProblem, match=sentence):
        use(folder, "memory_get", **arguments)


@pytest.mark.parametrize(
    "path",
    [
        "../../secret.md", "/etc/passwd", "memory/../../../secret.md", "memory/link.md", "linked/secret.md", "memory", ".",
        ".state.json", ".index.db", "memory/.state.json", ".history/MEMORY.md", "memory/archive/deep/x.md", "notes.md",
        "memory/deep/x.md", "MEMORY.md/../.state.json", "memory/state.md", "MEMORY.md\0", "memory/notes.txt", "../journal", "MEMORY.md.bak",
    ],
)  # fmt: skip
def test_no_other_file_is_read(folder, path):
    (folder.root / "secret.md").write_text("secret", "utf-8")
    (folder.logs / "link.md").symlink_to(folder.root / "secret.md")
    (folder.path / "linked").symlink_to(folder.root)
    (folder.logs / "state.md").symlink_to(folder.path / ".state.json")
    for name in (
        ".state.json",
        "notes.md",
        ".history/MEMORY.md",
        "memory/.state.json",
        "memory/deep/x.md",
        "memory/notes.txt",
        "MEMORY.md.bak",
    ):
        (folder.path / name).parent.mkdir(parents=True, exist_ok=True)
        (folder.path / name).write_text("secret", "utf-8")
    with pytest.raises((ToolProblem, FileProblem), match=r"outside|leads out|can't be followed"):
        use(folder, "memory_get", path=path)


def test_a_link_within_the_journal_and_a_relative_root_are_fine(folder, monkeypatch):
    (folder.logs / "2026-11-29.md").symlink_to(folder.logs / "2026-11-30.md")
    assert "green tea" in use(folder, "memory_get", path="memory/2026-11-29.md")
    monkeypatch.chdir(folder.root)
    assert "green tea" in use(JournalFolder(Path()), "memory_get", path="./MEMORY.md")


def test_an_answer_is_bounded_and_says_where_to_read_on(folder):
    folder.memory.write_text("".join(f"- line {n} {'x' * 90}\n" for n in range(1, 1_001)), "utf-8")
    first = use(folder, "memory_get", path="MEMORY.md")
    assert len(first) <= MAX_READ
    following = int(first.rpartition("start ")[2].rstrip(")"))
    assert first.splitlines()[-2].startswith(f"{following - 1}|")
    assert use(folder, "memory_get", path="MEMORY.md", start=following).startswith(f"{following}|- line {following} ")


def test_a_long_line_is_cut_with_a_mark(folder):
    folder.memory.write_text("a" * 100_000 + "\n" + "b" * 1_000 + "\n", "utf-8")
    answer = use(folder, "memory_get", path="MEMORY.md")
    assert len(answer) <= MAX_READ
    assert " [...] " in answer
    assert "start 2" in answer


# The conversations


def test_a_conversation_is_found_with_a_preview(folder):
    [entry] = archive(folder.root, "chat-7", user("word " * 100 + "the database is ready " + "word " * 100))
    answer = use(folder, "session_search", query="database")
    head = f"Found 1 matches:\nSession: chat-7 user {entry}: "
    assert answer.startswith(head)
    assert "the database is ready" in answer
    assert len(answer) <= len(head) + 200
    assert use(folder, "session_search", query="zeppelin") == "No matching messages found for: zeppelin"
    with pytest.raises(ToolProblem, match="No query provided"):
        use(folder, "session_search")


def test_the_limit_of_hits_is_ten_unless_it_is_given(folder):
    archive(folder.root, "chat-7", *(user(f"tea {n}") for n in range(30)))
    assert len(use(folder, "session_search", query="tea").splitlines()) == 11
    assert len(use(folder, "session_search", query="tea", limit=3).splitlines()) == 4
    with pytest.raises(ToolProblem, match="`limit` must be"):
        use(folder, "session_search", query="tea", limit=0)


@pytest.mark.parametrize("text", ["short", "x" * 1_000, "数" * 1_000, "ß" * 500, "a b " * 400, "数据库 " + "ﬃ" * 400])
def test_a_preview_is_at_most_200_characters_in_one_line(text):
    for query in ("", "x", "数据库", "zeppelin"):
        assert len(preview(f"{text}\n{text}", query)) <= 200
        assert "\n" not in preview(f"{text}\n{text}", query)


def test_conversations_are_listed_newest_first(folder):
    assert use(folder, "session_list") == "No conversations are archived"
    archive(
        folder.root, "b", user(with_recall("<relevant_memories>\nold\n</relevant_memories>", "about\ntea " + "y " * 99))
    )
    archive(folder.root, "a.log", user("about cats"), user("more"), time=MORNING.replace(hour=11))
    os.utime(folder.root / ".harnessx" / "sessions" / "a.log.log.jsonl", (1, 1))  # copied: what was said last counts
    lines = use(folder, "session_list").splitlines()
    assert lines[0] == "a.log  2026-11-30T11:00:00+00:00  2 messages  about cats"
    assert lines[1].startswith("b  2026-11-30T09:00:00+00:00  1 messages  about tea y y")
    assert len(lines[1]) < 150
    (folder.root / ".harnessx" / "sessions" / "b.log.jsonl").unlink()
    assert len(use(folder, "session_list").splitlines()) == 1


def test_very_many_conversations_are_not_all_listed(folder):
    for n in range(53):
        archive(folder.root, f"chat-{n}", user("tea"))
    lines = use(folder, "session_list").splitlines()
    assert (len(lines), lines[-1]) == (51, "(3 older ones)")


def test_the_end_of_a_conversation_is_read(folder):
    ids = archive(folder.root, "chat-7", *(user(f"message {n} " + "x" * 1_000) for n in range(30)))
    lines = use(folder, "session_history", session="chat-7").splitlines()
    assert [line.split()[0] for line in lines] == ids[-20:]
    assert "[USER]: message 29 " in lines[-1]
    assert all(len(line) <= 500 + 40 for line in lines)
    assert len(use(folder, "session_history", session="chat-7", last=3).splitlines()) == 3
    assert len(use(folder, "session_history", session="chat-7", last=9_999)) < 60_000


def test_one_message_is_read_whole_in_pieces(folder):
    call = {"id": "1", "type": "function", "function": {"name": "run_shell", "arguments": '{"command": "ls"}'}}
    text = "".join(f"{n:06d} " for n in range(5_000))
    ids = archive(
        folder.root, "chat-7", user("go"), {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": text},
    )  # fmt: skip
    assert use(folder, "session_history", session="chat-7", entry=ids[0]) == "go"
    assert use(folder, "session_history", session="chat-7", entry=ids[1]) == '[CALL run_shell]: {"command": "ls"}'
    first = use(folder, "session_history", session="chat-7", entry=ids[2])
    assert first.startswith("(characters 0 to 20,000 of 35,000; read on with offset 20000)\n")
    second = use(folder, "session_history", session="chat-7", entry=ids[2], offset=20_000)
    assert first.partition("\n")[2] + second.partition("\n")[2] == text
    with pytest.raises(ToolProblem, match="has 35,000"):
        use(folder, "session_history", session="chat-7", entry=ids[2], offset=35_000)
    with pytest.raises(ToolProblem, match="no message has the id 'zzz'"):
        use(folder, "session_history", session="chat-7", entry="zzz")


@pytest.mark.parametrize(
    "session", ["", "unknown", "../sessions/chat-7", "chat-7.log", "chat-7.log.jsonl", "../../secret", "*", None]
)
def test_an_unknown_conversation_is_a_sentence(folder, session):
    archive(folder.root, "chat-7", user("tea"))
    (folder.root / "secret.log.jsonl").write_text("{}", "utf-8")
    with pytest.raises(ToolProblem, match="session_list"):
        use(folder, "session_history", session=session)


def test_an_archive_that_is_a_link_out_of_its_folder_is_not_read(folder, tmp_path):
    archive(tmp_path / "elsewhere", "other", user("secret tea"))
    archive(folder.root, "chat-7", user("tea"))
    link = folder.root / ".harnessx" / "sessions" / "link.log.jsonl"
    link.symlink_to(tmp_path / "elsewhere" / ".harnessx" / "sessions" / "other.log.jsonl")
    assert "secret" not in use(folder, "session_list") + use(folder, "session_search", query="tea")
    with pytest.raises(ToolProblem, match="session_list"):
        use(folder, "session_history", session="link")


@pytest.mark.parametrize("id", ["chat.log", "书桌", "a/../../b", "😀 'x' \"y\""])
def test_a_conversation_with_any_id_is_listed_and_read_by_it(folder, id):
    archive(folder.root, id, user("green tea"))
    listed = use(folder, "session_list").partition("  ")[0]
    assert "green tea" in use(folder, "session_history", session=listed)
    assert f"Session: {listed} user " in use(folder, "session_search", query="tea")


# memory_save


def test_a_saved_fact_stands_in_today_s_log_and_is_found(folder):
    before = folder.memory.read_bytes()
    answer = use(folder, "memory_save", text="the cat is called 咪咪")
    assert answer.startswith("Saved under memory/2026-11-30.md#")
    assert "- the cat is called 咪咪\n" in (folder.logs / "2026-11-30.md").read_text("utf-8")
    assert "咪咪" in use(folder, "memory_search", query="咪咪")
    assert folder.memory.read_bytes() == before
    with pytest.raises(ToolProblem, match="`text` is required"):
        use(folder, "memory_save", text=" ")


def test_credentials_that_a_person_wrote_into_a_file_do_not_reach_the_model(folder):
    folder.memory.write_text("- the password is hunter2\n", "utf-8")
    for answer in (use(folder, "memory_search", query="password"), use(folder, "memory_get", path="MEMORY.md")):
        assert "[masked: password]" in answer
        assert "hunter2" not in answer
