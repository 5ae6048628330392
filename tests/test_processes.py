"""Several processes on one drawer, and processes that die: nothing is lost, nothing is half written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hxmem import MemoryStore

WRITER = """
import sys
from hxmem import Memory, MemoryStore
store = MemoryStore(sys.argv[1])
for n in range(int(sys.argv[3])):
    result = store.write(Memory(f"{sys.argv[2]}-{n}", "project", f"fact {n} of {sys.argv[2]}", f"body {n} of {sys.argv[2]}"))
    assert result.status == "written", result
"""

# Writes for ever; kills itself at the chosen step of the chosen write, as a power cut would.
DYING = """
import os, signal, sys
from hxmem import Memory, MemoryStore
folder, step, at = sys.argv[1], sys.argv[2], int(sys.argv[3])
seen = 0
real = {"fsync": os.fsync, "replace": os.replace}
def dying(name):
    def call(*arguments, **options):
        global seen
        seen += 1
        if seen == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real[name](*arguments, **options)
    return call
setattr(os, step, dying(step))
store = MemoryStore(folder)
store.write(Memory("tea", "user", "drinks coffee", "Coffee, since today."))
store.write(Memory("cake", "user", "eats cake", "Cake."))
"""


def run(code: str, *arguments: object) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stderr=subprocess.PIPE, text=True)


def test_two_processes_with_50_writes_each_lose_nothing(tmp_path):
    writers = [run(WRITER, tmp_path / "memory", name, 50) for name in ("a", "b")]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors
    store = MemoryStore(tmp_path / "memory")
    assert len(store.list()) == 100
    assert len((tmp_path / "memory" / "MEMORY.md").read_text("utf-8").splitlines()) == 100
    assert store.problems() == ()


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
def test_a_process_killed_in_a_write_leaves_a_whole_drawer(tmp_path, step, at):
    folder = tmp_path / "memory"
    store = MemoryStore(folder)
    from hxmem import Memory

    store.write(Memory("tea", "user", "drinks green tea", "Green tea."))
    dead = run(DYING, folder, step, at)
    dead.communicate(timeout=60)
    assert dead.returncode == -signal.SIGKILL
    memories = {memory.name: memory.body for memory in MemoryStore(folder).list()}
    assert memories["tea"] in ("Green tea.", "Coffee, since today.")
    assert set(memories) <= {"tea", "cake"}
    assert [p for p in MemoryStore(folder).problems() if p.file != "MEMORY.md"] == []
    again = MemoryStore(folder)
    assert again.write(Memory("after", "user", "after the crash", "After.")).status == "written"
    assert again.problems() == ()


def test_a_name_that_the_file_system_can_not_hold_is_one_sentence(tmp_path):
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code = "from hxmem import *; MemoryStore('m').write(Memory('\\u4e66\\u684c', 'user', 'd', 'b'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
    if done.returncode == 0:
        pytest.skip("this system takes any name")
    assert "StoreProblem: the memory could not be written: " in done.stderr
    assert "ascii" in done.stderr


def test_a_lock_that_is_held_is_one_sentence(tmp_path, monkeypatch):
    from hxmem import Memory, StoreProblem
    from hxmem.files import lock

    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.setattr("hxmem.drawer.store.lock", lambda path: lock(path, timeout=0.05))
    with lock(folder / ".lock"), pytest.raises(StoreProblem, match="lock"):
        MemoryStore(Path(folder)).write(Memory("a", "user", "d", "b"))
