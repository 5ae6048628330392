"""The command as a person uses it: two processes, one sentence for every trouble, no traceback."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hxmem import MemoryStore
from hxmem.classroom import Classroom
from hxmem.cli import main

TELL = "记住：以后给我讲 HarnessX 时，先用“书桌和小抽屉”的例子，再讲代码。"
ASK = "我之前说过你讲 HarnessX 时要先用什么例子吗？"


def hx(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess:
    """One run of the command in a new process."""
    options = {
        "cwd": cwd,
        "env": {**os.environ, **env},
        "capture_output": True,
        "encoding": "utf-8",
        "stdin": subprocess.DEVNULL,
    }
    return subprocess.run([sys.executable, "-m", "hxmem", *words], timeout=60, **options)


def test_a_sentence_told_in_one_process_is_answered_in_the_next(tmp_path):
    told = hx("agent", TELL, cwd=tmp_path)
    assert told.returncode == 0
    lines = told.stderr.splitlines()
    assert lines[0].startswith("[SERVER] classroom on 127.0.0.1")
    assert lines[1:] == [
        f"[HOOK] UserPromptSubmit cwd={tmp_path}",
        "[HOOK] Stop: turns=1, tool_calls=0, blocked=0",
        "[MEMORY] extracted 1 new memories",
    ]
    assert told.stdout.startswith("记住了")
    (memory,) = MemoryStore.of(tmp_path).list()
    assert memory.type == "user"
    assert "书桌和小抽屉" in memory.body
    index = (tmp_path / ".harnessx/memory/MEMORY.md").read_text("utf-8")
    assert index == f"- [{memory.name}]({memory.file}) - {memory.description}\n"

    asked = hx("agent", *ASK.split(" "), "--wire", "wire.jsonl", cwd=tmp_path)
    assert "书桌" in asked.stdout
    assert "小抽屉" in asked.stdout
    assert "[MEMORY]" not in asked.stderr
    wire = [json.loads(line) for line in (tmp_path / "wire.jsonl").read_text("utf-8").splitlines()]
    assert [line["purpose"] for line in wire] == ["side-query", "answer", "extraction"]
    choice, answer = (line["request"]["body"] for line in wire[:2])
    assert "tools" not in choice
    assert choice["stream"] is False
    assert memory.body not in json.dumps(choice, ensure_ascii=False)
    assert wire[0]["response"]["body"]["choices"][0]["message"]["content"] == "[0]"
    user = answer["messages"][-1]["content"]
    assert user.startswith("<relevant_memories>\n")
    assert memory.body in user
    assert user.endswith(f"</relevant_memories>\n\nUser request:\n{ASK}")
    assert "Bearer ***" in wire[0]["request"]["headers"].values()


SENTENCES = [
    ("Remember: I prefer answers without emoji.", "user", "Do I like emoji in answers?", "emoji"),
    ("以后提交代码前一定要先跑 pytest。", "feedback", "提交代码前要做什么？", "pytest"),
    ("Please don't use mocks in the payment tests again.", "feedback", "What about mocks in payment tests?", "mocks"),
    ("我们项目的消息队列用的是 RabbitMQ。", "project", "消息队列用的是什么？", "RabbitMQ"),
    (
        "This project deploys from the release branch.",
        "project",
        "Which branch does this project deploy from?",
        "release",
    ),
    ("接口文档在 https://docs.example.com/api 。", "reference", "接口文档在哪里？", "https://docs.example.com/api"),
    ("The incident runbook is in wiki/runbook.md.", "reference", "Where is the incident runbook?", "wiki/runbook.md"),
    ("记住，我对花生过敏。", "user", "我对什么过敏？", "花生"),
]


@pytest.mark.parametrize(("told", "kind", "asked", "answer"), SENTENCES, ids=[s[3] for s in SENTENCES])
def test_any_lasting_statement_is_kept_with_its_type_and_found_again(
    told, kind, asked, answer, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["agent", told]) == 0
    (memory,) = MemoryStore.of(tmp_path).list()
    assert memory.type == kind
    capsys.readouterr()
    assert main(["agent", asked]) == 0
    assert answer in capsys.readouterr().out


@pytest.mark.parametrize(
    "said",
    ["hello", "你好", ASK, "今天天气不错", "Thanks, that was great", "Write a quicksort in Python", "帮我翻译这句话"],
)
def test_small_talk_questions_and_one_off_tasks_leave_no_file(said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["agent", said]) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_changed_fact_replaces_the_old_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for said in (
        "Remember: the deploy branch is main.",
        "Remember: the deploy branch is main.",
        "From now on the deploy branch is release.",
    ):
        main(["agent", said])
    (memory,) = MemoryStore.of(tmp_path).list()
    assert "release" in memory.description
    assert "main" not in memory.description
    (old,) = (tmp_path / ".harnessx/memory/.history").glob("*.md")
    assert "main" in old.read_text("utf-8")


def test_a_key_in_the_sentence_is_masked_with_a_notice(tmp_path):
    secret = "sk-" + "a1B2c3D4" * 4
    done = hx("agent", f"Remember: my API key is {secret} for the staging server.", cwd=tmp_path)
    assert "[MEMORY] masked" in done.stderr
    for path in (tmp_path / ".harnessx").rglob("*"):
        assert secret not in path.name
        assert not path.is_file() or secret not in path.read_text("utf-8")


@pytest.mark.parametrize("fault", ["429", "500", "503", "prose", "cut-json", "out-of-range", "bool", "html", "reset"])
def test_a_side_query_that_fails_costs_nothing_but_a_line(fault, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["agent", TELL])
    with Classroom(faults=f"side-query={fault}") as room:
        monkeypatch.setenv("DEEPSEEK_BASE_URL", room.url)
        monkeypatch.setenv("DEEPSEEK_API_KEY", room.key)
        capsys.readouterr()
        assert main(["agent", ASK]) == 0
    shown = capsys.readouterr()
    assert "书桌" in shown.out
    assert "[MEMORY] side-query failed, chose by keywords: " in shown.err


@pytest.mark.parametrize("fault", ["429", "500", "prose", "cut-json", "nonsense", "blank", "html"])
def test_an_extraction_that_fails_is_skipped_and_changes_no_file(fault, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["agent", "Remember: I drink green tea."])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"}
    with Classroom(faults=f"extraction={fault}") as room:
        monkeypatch.setenv("DEEPSEEK_BASE_URL", room.url)
        monkeypatch.setenv("DEEPSEEK_API_KEY", room.key)
        capsys.readouterr()
        assert main(["agent", TELL]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("记住了")
    assert "[MEMORY] extraction skipped: " in shown.err
    assert {
        path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"
    } == before


TROUBLE = [
    ({"DEEPSEEK_API_KEY": "sk-wrong-key-0000"}, "DEEPSEEK_API_KEY"),
    ({"DEEPSEEK_API_KEY": "sk-empty-purse"}, "balance"),
    ({"DEEPSEEK_MODEL": "deepseek-chat"}, "DEEPSEEK_MODEL"),
]


@pytest.mark.parametrize(("env", "word"), TROUBLE)
def test_a_setting_that_can_not_work_is_one_sentence_and_exit_code_1(env, word, tmp_path):
    with Classroom() as room:
        done = hx("agent", TELL, cwd=tmp_path, **{"DEEPSEEK_BASE_URL": room.url, "DEEPSEEK_API_KEY": room.key, **env})
    assert (done.returncode, done.stdout) == (1, "")
    sentence = done.stderr.splitlines()[-1]
    assert sentence.startswith("hx: ")
    assert word in sentence
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("env", "word"), TROUBLE)
def test_with_notes_in_the_drawer_it_is_still_one_sentence_and_no_file_changes(env, word, tmp_path):
    hx("agent", TELL, cwd=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with Classroom() as room:
        done = hx("agent", ASK, cwd=tmp_path, **{"DEEPSEEK_BASE_URL": room.url, "DEEPSEEK_API_KEY": room.key, **env})
    assert [line for line in done.stderr.splitlines() if not line.startswith("[HOOK]")] == [
        done.stderr.splitlines()[-1]
    ]
    assert word in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_no_network_is_one_sentence(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = hx("agent", TELL, cwd=tmp_path, DEEPSEEK_BASE_URL=f"http://127.0.0.1:{port}", DEEPSEEK_API_KEY="sk-x")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("hx: ")
    assert "Traceback" not in done.stderr


def test_deepseek_without_a_key_says_which_variable_to_set(tmp_path):
    done = hx("agent", "hi", cwd=tmp_path, DEEPSEEK_BASE_URL="https://api.deepseek.com")
    assert (done.returncode, "DEEPSEEK_API_KEY" in done.stderr) == (1, True)


def test_an_unwritable_place_costs_the_memory_not_the_answer(tmp_path):
    (tmp_path / ".harnessx").write_text("a file in the folder's place")
    done = hx("agent", "Remember: I drink tea.", "--root", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("Noted")
    assert any("can't be" in line or "could not be" in line for line in done.stderr.splitlines())
    assert "Traceback" not in done.stderr


def test_wire_files_are_har_too_and_a_wrong_name_is_told_before_asking(tmp_path):
    assert hx("agent", "hello", "--wire", "run.har", cwd=tmp_path).returncode == 0
    har = json.loads((tmp_path / "run.har").read_text("utf-8"))
    assert har["log"]["version"] == "1.2"
    assert len(har["log"]["entries"]) == 2
    done = hx("agent", "hello", "--wire", "run.txt", cwd=tmp_path)
    assert (done.returncode, ".jsonl" in done.stderr, done.stdout) == (1, True, "")


def test_a_sub_folder_uses_the_drawer_of_its_project(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    (tmp_path / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "src" / "deep")
    main(["agent", "Remember: I drink green tea."])
    assert [memory.type for memory in MemoryStore.of(tmp_path).list()] == ["user"]
    monkeypatch.setenv("HXMEM_HOME", str(tmp_path / "src"))
    capsys.readouterr()
    main(["memory", "list"])
    assert "empty" in capsys.readouterr().err


def test_git_ignores_the_drawer(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    hx("agent", "Remember: I drink green tea.", cwd=tmp_path)
    status = subprocess.run(
        ["git", "status", "--porcelain", "--ignored"], cwd=tmp_path, capture_output=True, text=True
    ).stdout
    assert status == "!! .harnessx/\n"


@pytest.fixture
def drawer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    main(["agent", "Remember: I drink green tea."])
    main(["agent", TELL])
    return MemoryStore.of(tmp_path)


def test_memory_commands_for_people_and_for_programs(drawer, capsys):
    capsys.readouterr()
    assert main(["memory", "list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    main(["memory", "list", "--json"])
    listed = json.loads(capsys.readouterr().out)
    assert {"name", "type", "description", "body", "file"} <= set(listed[0])
    name = next(memory["name"] for memory in listed if "tea" in memory["description"])
    main(["memory", "show", name])
    assert capsys.readouterr().out == (drawer.folder / f"{name}.md").read_text("utf-8")
    assert main(["memory", "search", "书桌"]) == 0
    assert "书桌" in capsys.readouterr().out
    main(["memory", "search", "nothing like it", "--json"])
    assert json.loads(capsys.readouterr().out) == []
    assert main(["memory", "delete", name]) == 0
    assert drawer.get(name) is None
    assert main(["memory", "restore", name]) == 0
    assert drawer.get(name)
    (drawer.folder / "MEMORY.md").unlink()
    assert main(["memory", "reindex"]) == 0
    assert len((drawer.folder / "MEMORY.md").read_text("utf-8").splitlines()) == 2


def test_a_note_can_not_control_the_terminal(drawer, capsys):
    text = '---\nname: esc\ndescription: "clears \\e[2J the screen"\ntype: user\n---\n\nbody\x1b[2J\n'
    (drawer.folder / "esc.md").write_text(text, "utf-8")
    capsys.readouterr()
    main(["memory", "list"])
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "clears \ufffd[2J the screen" in shown
    main(["memory", "show", "esc"])
    assert "body\ufffd[2J" in capsys.readouterr().out


@pytest.mark.parametrize("action", ["show", "delete", "restore"])
def test_an_unknown_memory_is_one_sentence(drawer, action, capsys):
    assert main(["memory", action, "nothing"]) == 1
    assert "nothing" in capsys.readouterr().err


def test_doctor_names_file_line_and_cure(drawer, capsys):
    capsys.readouterr()
    assert main(["doctor"]) == 0
    assert "in order" in capsys.readouterr().out
    (drawer.folder / "broken.md").write_text("---\nname: x\n", "utf-8")
    assert main(["doctor"]) == 1
    assert "broken.md:1: " in capsys.readouterr().out
    assert (drawer.folder / "broken.md").exists()


def test_the_help_has_examples(capsys):
    for words in (
        ["--help"],
        *([name, "--help"] for name in ("agent", "memory", "lab", "verify", "classroom", "doctor")),
    ):
        with pytest.raises(SystemExit) as done:
            main(words)
        assert done.value.code == 0
        shown = capsys.readouterr().out
        assert words == ["--help"] or "example" in shown


@pytest.mark.parametrize(
    "words", [[], ["agent"], ["agent", " "], ["nonsense"], ["memory"], ["agent", "x", "--root", "nowhere"]]
)
def test_wrong_usage_is_no_traceback(words, tmp_path):
    done = hx(*words, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_at_once_and_leaves_the_drawer_whole(tmp_path):
    hx("agent", "Remember: I drink green tea.", cwd=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with Classroom(faults="answer=timeout") as room:
        env = {**os.environ, "DEEPSEEK_BASE_URL": room.url, "DEEPSEEK_API_KEY": room.key}
        run = subprocess.Popen(
            [sys.executable, "-m", "hxmem", "agent", TELL], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True
        )
        while room.requests.get("answer", 0) == 0:
            assert run.poll() is None, "the command ended by itself"
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=20)
    assert run.returncode == 130
    assert "Traceback" not in errors
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_classroom_alone_answers_curl(tmp_path):
    command = [sys.executable, "-m", "hxmem", "classroom", "--port", "0", "--fault", "side-query=429"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, encoding="utf-8")
    try:
        said = [run.stdout.readline() for _ in range(3)]
        env = dict(word.split("=", 1) for word in said[1].split()[1:])
        done = hx("agent", "Remember: I drink green tea.", cwd=tmp_path, **env)
        assert done.stdout.startswith("Noted")
        done = hx("agent", "What do I drink?", cwd=tmp_path, **env)
        assert "tea" in done.stdout
        assert "chose by keywords" in done.stderr
        assert said[2].strip().startswith("curl http://127.0.0.1:")
    finally:
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=20)
    assert run.returncode == 130


def test_an_unknown_fault_names_the_known_ones(capsys):
    assert main(["classroom", "--fault", "nonsuch"]) == 1
    assert "429" in capsys.readouterr().err
    assert main(["classroom", "--fault", "list"]) == 0
    assert "503" in capsys.readouterr().out


def test_a_wire_file_on_a_full_disk_costs_a_line_not_the_answer(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    real = Path.open

    def full(self, *arguments, **options):
        if self.name == "wire.jsonl":
            raise OSError(28, "No space left on device")
        return real(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", full)
    assert main(["agent", "Remember: I drink green tea.", "--wire", "wire.jsonl"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Noted")
    assert shown.err.count("[WIRE] wire.jsonl could not be written") == 1


def test_two_files_of_one_name_are_not_deleted_by_guess(drawer, capsys):
    for file in ("s1", "s2"):
        (drawer.folder / f"{file}.md").write_text(f"---\nname: same\ndescription: {file}\n---\n\nb\n", "utf-8")
    assert main(["memory", "delete", "same"]) == 1
    assert "s1.md, s2.md" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["classroom", "--port", "99999"], ["memory", "list", "--root", "x" * 5_000]])
def test_a_number_or_a_name_out_of_range_is_one_sentence(words, tmp_path):
    done = hx(*words, cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)


@pytest.mark.parametrize("words", [("",), ("tea", "--limit", "0"), ("tea", "--limit", "-1")])
def test_a_search_for_nothing_is_one_sentence(tmp_path, words):
    done = hx("memory", "search", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hx: say what to look for, and a --limit from 1 up.\n"
