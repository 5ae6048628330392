"""The README's promises: its commands are those of the checks, its code runs, its links lead somewhere."""

import re
from pathlib import Path

import pytest

from hxmem import MemoryStore
from hxmem.lab.launch import working_copy

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def test_the_checks_run_the_readmes_own_test_command():
    command = next(block.strip() for block in blocks("sh") if block.strip().endswith("pytest"))
    assert command == 'python3 -m venv .venv && .venv/bin/pip install -e ".[lessons,test]" && .venv/bin/pytest'
    assert f"\n{command}\n" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_table_of_floors_names_every_module():
    table = README.partition("| floor | modules |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", table))
    folders = ("", "drawer", "desk", "journal")
    modules = {path.stem for folder in folders for path in (ROOT / "hxmem" / folder).glob("*.py")}
    assert modules - {"__init__", "__main__"} <= named


def test_the_lesson_list_is_complete():
    listed = re.findall(r"\]\(lessons/(\d\d_\w+\.ipynb)\)", README)
    assert listed == sorted(path.name for path in (ROOT / "lessons").glob("[0-9]*.ipynb"))


def test_links_lead_somewhere_and_pictures_have_words():
    for words, target in re.findall(r"(!?\[[^\]]*\])\(([^)]+)\)", README):
        assert not words.startswith("![]")
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_the_code_to_reuse_runs_as_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _ = blocks("python")
    assert len(code.strip().splitlines()) <= 16
    asked = []

    class Client:
        """Stands for any OpenAI-compatible client."""

        class chat:
            class completions:
                @staticmethod
                def create(model, messages):
                    asked.append(messages)
                    content = messages[0]["content"]
                    text = "fine"
                    if "Dialogue:" in content:
                        text = '[{"name": "tea", "type": "user", "description": "drinks tea", "body": "Green tea."}]'
                    elif "Memory catalog:" in content:
                        text = "[0]"
                    reply = type("Reply", (), {"message": type("Message", (), {"content": text})})
                    return type("Answer", (), {"choices": [reply]})

    space = {"client": Client, "model": "any"}
    exec(compile(code, "README.md", "exec"), space)
    assert space["answer"]("Remember: I drink green tea.") == "fine"
    assert [memory.name for memory in MemoryStore(".harnessx/memory").list()] == ["tea"]
    space["answer"]("What do I drink?")
    assert "Green tea." in asked[-2][0]["content"]


def test_the_agent_with_all_designs_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _, code = blocks("python")
    for _ in range(2):
        exec(compile(code, "README.md", "exec"), {})
        assert capsys.readouterr().out.strip()
    assert len((tmp_path / ".harnessx/sessions/trip.log.jsonl").read_text("utf-8").splitlines()) == 4
    assert "Chengdu" in next((tmp_path / ".harnessx/journal/memory").glob("*.md")).read_text("utf-8")


def test_every_command_that_the_readme_names_exists(capsys):
    from hxmem.cli import main

    for name in set(re.findall(r"`hx (\w+)", README)) - {"COMMAND"}:
        with pytest.raises(SystemExit) as done:
            main([name, "--help"])
        assert done.value.code == 0
        capsys.readouterr()


def test_an_installed_package_copies_its_lessons_and_keeps_what_was_changed(tmp_path, monkeypatch):
    packed = tmp_path / "site" / "_lessons"
    (packed / "_solutions").mkdir(parents=True)
    (packed / "00_a.ipynb").write_text("new", "utf-8")
    (packed / "_solutions" / "00.py").write_text("x = 1\n", "utf-8")
    (tmp_path / "site" / "_data").mkdir()
    monkeypatch.setattr("hxmem.lab.launch.lessons_folder", lambda: packed)
    here = tmp_path / "here"
    here.mkdir()
    copy = working_copy(here)
    assert copy == here / "hxmem-lessons"
    (copy / "00_a.ipynb").write_text("mine", "utf-8")
    working_copy(here)
    assert (copy / "00_a.ipynb").read_text("utf-8") == "mine"
    assert (copy / "_solutions" / "00.py").exists()


def test_a_checkout_opens_its_own_lessons(tmp_path):
    assert working_copy(tmp_path) == ROOT / "lessons"
    assert list(tmp_path.iterdir()) == []
