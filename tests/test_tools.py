"""The agent's tools: contained in the root, bounded, and honest about what they can't do."""

import os
import subprocess
import time

import pytest

from hxmem.files import FileProblem, OutsideRoot
from hxmem.plugins import ToolProblem
from hxmem.tools import MAX_READ, workspace_tools


@pytest.fixture
def use(tmp_path):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("# Demo\n书桌 and drawer\n", "utf-8")
    (root / "src" / "main.py").write_text("print('drawer')\n", "utf-8")
    (root / "photo.bin").write_bytes(b"\xff\xfe\x00drawer")
    tools = {tool.name: tool for tool in workspace_tools(root)}
    return lambda name, **arguments: tools[name].run(arguments)


def test_the_four_tools_and_their_permissions(tmp_path):
    found = {tool.name: tool.permission for tool in workspace_tools(tmp_path)}
    assert found == {"read_file": "allow", "list_files": "allow", "search_files": "allow", "run_shell": "ask"}


def test_files_are_read_listed_and_searched(use):
    assert use("read_file", path="README.md") == "# Demo\n书桌 and drawer\n"
    assert use("list_files") == "README.md\nphoto.bin\nsrc/main.py"
    assert use("search_files", query="DRAWER") == "README.md:2: 书桌 and drawer\nsrc/main.py:1: print('drawer')"
    assert use("search_files", query="书桌", path="README.md") == "README.md:2: 书桌 and drawer"
    assert use("search_files", query="nowhere") == "(nothing found)"


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "link.txt", "src/../../secret.txt"])
def test_nothing_outside_the_root_is_read(use, tmp_path, path):
    (tmp_path / "secret.txt").write_text("SECRET drawer", "utf-8")
    (tmp_path / "project" / "link.txt").symlink_to(tmp_path / "secret.txt")
    for tool in ("read_file", "list_files"):
        with pytest.raises(OutsideRoot) as error:
            use(tool, path=path)
        assert str(tmp_path) not in str(error.value)
    assert "SECRET" not in use("search_files", query="drawer")


@pytest.mark.parametrize(
    "arguments", [{}, {"path": ""}, {"path": 7}, {"path": None}, {"path": "a\0b"}, {"path": "missing.txt"}]
)
def test_bad_arguments_are_a_sentence(use, arguments):
    with pytest.raises((ToolProblem, FileProblem), match=r"\w+ \w+"):
        use("read_file", **arguments)


def test_a_long_line_is_read_piece_by_piece_and_nothing_is_left_out(use, tmp_path):
    line = "".join(f"{n}," for n in range(10_000))
    (tmp_path / "project" / "long.txt").write_text(line, "utf-8")
    first = use("read_file", path="long.txt")
    assert first.startswith(f"(characters 0 to {MAX_READ:,} of {len(line):,}; read on with offset {MAX_READ})\n")
    pieces = [use("read_file", path="long.txt", offset=at).split("\n", 1)[1] for at in range(0, len(line), MAX_READ)]
    assert "".join(pieces) == line
    assert max(map(len, pieces)) == MAX_READ


def test_a_part_of_a_file_is_read_by_its_characters(use, tmp_path):
    (tmp_path / "project" / "zh.txt").write_text("书桌和小抽屉", "utf-8")
    assert use("read_file", path="zh.txt") == "书桌和小抽屉"
    assert use("read_file", path="zh.txt", offset=3, limit=3) == "(characters 3 to 6 of 6)\n小抽屉"
    assert use("read_file", path="zh.txt", offset=None, limit=10**9) == "书桌和小抽屉"


@pytest.mark.parametrize("wrong", [{"offset": 6}, {"offset": -1}, {"offset": "3"}, {"limit": True}, {"limit": 1.5}])
def test_a_part_that_is_not_there_is_a_sentence(use, tmp_path, wrong):
    (tmp_path / "project" / "zh.txt").write_text("书桌和小抽屉", "utf-8")
    with pytest.raises(ToolProblem, match=r"\w+ \w+"):
        use("read_file", path="zh.txt", **wrong)


def test_a_shell_command_runs_in_the_root_without_the_key(use, monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-marker")
    assert use("run_shell", command="ls src") == "exit code 0\nmain.py\n"
    assert "sk-marker" not in use("run_shell", command="env")
    assert use("run_shell", command="exit 3").startswith("exit code 3")


@pytest.mark.skipif(os.name != "posix", reason="process groups are a POSIX thing")
def test_a_command_that_hangs_is_stopped_with_its_children(use, monkeypatch, tmp_path):
    monkeypatch.setattr("hxmem.tools.SHELL_SECONDS", 2)
    with pytest.raises(ToolProblem, match="stopped"):
        use("run_shell", command="sleep 60 & echo $! > child; wait")
    child = int((tmp_path / "project" / "child").read_text())
    assert ended(child)


def ended(pid: int) -> bool:
    """Whether a process that got its signal goes within ten seconds; a zombie has ended."""
    for _ in range(1_000):
        status = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
        if not status or status.startswith("Z"):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.skipif(os.name != "posix", reason="uses sh")
def test_a_command_that_prints_without_end_is_stopped(use):
    with pytest.raises(ToolProblem, match="printed too much"):
        use("run_shell", command="yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")


@pytest.mark.skipif(os.name != "posix", reason="uses sh")
def test_a_child_that_stays_behind_is_not_waited_for(use):
    assert use("run_shell", command="sleep 30 & echo done") == "exit code 0\ndone\n"
