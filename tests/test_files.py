"""Names are safe and stay apart, paths stay inside, writes are whole or absent, locks hold."""

import os
import stat
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hxmem.files import (
    MAX_NAME_BYTES,
    FileProblem,
    OutsideRoot,
    find_root,
    inside,
    lock,
    read_text,
    safe_name,
    write_atomic,
)

FAMILY = "👩\u200d👩\u200d👧\u200d👦"

# Names that differ in more than spaces, edges and the way an accent is encoded.
BANK = [
    *("C", "C++", "C#", "Café", "Cafe", "Café!", "Café?", "a b", "a/b", "a\\b", "a:b", "a%b", "a\0b"),
    *("../../x", "x", "/x", "..\\x", "%2e%2e%2f", "%2e%2e%5c", "MEMORY", "MEMORY!", "con", "CON:", "nul", "com1"),
    *("书桌", "抽屉", "书桌！", "书，桌", "书、桌", "👍", "👍🏽", FAMILY, "!!!", "???", "a.b", "a_b", "\ud83dx"),
    *("x" * 300, "x" * 301, "书" * 120, "书" * 121),
]


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("harnessx-desk-drawer", "harnessx-desk-drawer"),
        ("讲 HarnessX 的方式", "讲-HarnessX-的方式"),
        ("C++ style", "C++-style"),
        ("C#", "C#"),
        ("Cafe\u0301", "Café"),
        (f"my {FAMILY}", f"my-{FAMILY}"),
        ("  ..spaces - and.dots. ", "spaces-and.dots"),
        ("MEMORY", "MEMORY-note"),
        ("memory.md", "memory-note.md"),
        ("con", "con-note"),
        ("Com¹.tar.gz", "Com¹-note.tar.gz"),
        ("console", "console"),
    ],
)
def test_a_name_stays_readable(name, stem):
    assert safe_name(name) == stem


def test_what_is_lost_is_told_apart_by_a_hash():
    assert safe_name("a/b").startswith("a-b-")
    assert safe_name("../../x").startswith("x-")
    assert len({safe_name(name).casefold() for name in BANK}) == len(BANK)


def test_the_same_name_always_maps_to_the_same_file():
    assert safe_name("Cafe\u0301/x") == safe_name("Café/x")
    assert safe_name(" a\tb ") == safe_name("a b")


@given(st.text(), st.text())
@example(FAMILY * 20, "")
@example("", "e\u0301" * 200)
@example("a" + "\u0301" * 300, "")
@example("con." + "x" * 200, "")
@example("memory/", "")
def test_every_name_is_portable_and_stable(name, fallback):
    stem = safe_name(name, fallback)
    assert stem and not set(stem) & set('/\\:*?"<>|\0')
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zs", "Zl", "Zp") for char in stem)
    assert stem[0] not in ".-" and stem[-1] not in ".-"
    assert stem.split(".")[0].casefold() not in ("memory", "con", "prn", "aux", "nul", "com1", "lpt9")
    assert unicodedata.is_normalized("NFC", stem) and len(stem.encode("utf-8")) <= MAX_NAME_BYTES
    assert safe_name(stem) == stem


@pytest.mark.parametrize("letter", ["书", "q\u0301", FAMILY, "👍🏽"])
def test_a_long_name_is_cut_between_letters(letter):
    kept = safe_name(letter * 100).rpartition("-")[0]
    assert 150 < len(kept.encode("utf-8")) < MAX_NAME_BYTES
    assert kept == letter * kept.count(letter)


def test_an_empty_name_is_made_from_the_description():
    assert safe_name("", "uses pnpm") == "uses-pnpm"
    assert safe_name(" .. ", "one two three four five six seven eight nine").startswith("one-two-three-four-five-six-")
    long = "讲代码之前先用书桌和小抽屉的例子" * 5
    assert safe_name("", long) != safe_name("", long + "再讲") and len(safe_name("", long)) < 50
    assert safe_name("").startswith("note-") and safe_name("!") != safe_name("?")


def test_a_path_inside_the_root_is_resolved(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert inside(tmp_path, "link/x.md") == tmp_path.resolve() / "real" / "x.md"
    assert inside(tmp_path, ".") == tmp_path.resolve()


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "/etc/passwd", "out/x", "out", "loop/x", "a\0b"])
def test_a_path_that_leaves_the_root_is_refused_without_showing_the_host(tmp_path, path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    with pytest.raises(OutsideRoot) as refused:
        inside(root, path)
    assert "/" not in str(refused.value) and str(refused.value).endswith(".")


def test_written_text_reads_back_with_plain_line_ends(tmp_path):
    path = tmp_path / "a.md"
    write_atomic(path, "书桌\r\n👍\rend\n")
    assert path.read_bytes() == "书桌\n👍\nend\n".encode()
    assert read_text(path, 100) == "书桌\n👍\nend\n"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc")
    assert read_text(path, 100) == "a\nb\nc"


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path):
    path = tmp_path / "a.md"
    write_atomic(path, "1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    write_atomic(path, "2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_link_is_replaced_and_its_target_left_alone(tmp_path):
    (tmp_path / "target").write_text("mine", encoding="utf-8")
    (tmp_path / "a.md").symlink_to("target")
    write_atomic(tmp_path / "a.md", "new")
    assert (tmp_path / "target").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "a.md").is_symlink()


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_a_failed_write_keeps_the_old_file_and_removes_the_temporary_one(tmp_path, monkeypatch, name):
    path = tmp_path / "a.md"
    write_atomic(path, "old")

    def full_disk(*_):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(os, name, full_disk)
    with pytest.raises(FileProblem, match=r"^a\.md could not be written \(No space left on device\)"):
        write_atomic(path, "new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.md"]
    assert path.read_text(encoding="utf-8") == "old"


def test_half_a_character_and_a_folder_that_is_a_file_are_plain_problems(tmp_path):
    with pytest.raises(FileProblem, match="half a character"):
        write_atomic(tmp_path / "a.md", "x\ud83d")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    for action in (lambda path: write_atomic(path, "x"), lambda path: lock(path).__enter__()):
        with pytest.raises(FileProblem) as problem:
            action(tmp_path / "file" / "a.md")
        assert str(tmp_path) not in str(problem.value)


SHORT_WRITE = """
import resource, signal, sys
from pathlib import Path
from hxmem.files import FileProblem, write_atomic
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomic(Path(sys.argv[1]), "x" * 5000)
except FileProblem as problem:
    print(problem)
"""

KILLED = """
import os, signal, sys
from pathlib import Path
from hxmem.files import write_atomic
step = int(sys.argv[2])
def stop_before(name, real):
    def call(*args, **kwargs):
        global step
        step -= 1
        if step < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)
    setattr(os, name, call)
for name in ("fsync", "chmod", "replace"):
    stop_before(name, getattr(os, name))
write_atomic(Path(sys.argv[1]), "new" * 1000)
"""


@pytest.mark.skipif(os.name == "nt", reason="no file size limits")
def test_a_short_write_never_installs_half_a_file(tmp_path):
    path = tmp_path / "a.md"
    write_atomic(path, "old")
    done = subprocess.run([sys.executable, "-c", SHORT_WRITE, path], capture_output=True, text=True, check=True)
    assert "a.md could not be written" in done.stdout
    assert path.read_text(encoding="utf-8") == "old" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
@pytest.mark.parametrize(("step", "left"), [(0, "old"), (1, "old"), (2, "old"), (3, "new" * 1000)])
def test_a_killed_write_leaves_the_old_file_or_the_new_one(tmp_path, step, left):
    path = tmp_path / "a.md"
    write_atomic(path, "old")
    killed = subprocess.run([sys.executable, "-c", KILLED, path, str(step)], check=False)
    assert killed.returncode == -9
    assert path.read_text(encoding="utf-8") == left
    others = [entry.name for entry in tmp_path.iterdir() if entry != path]
    assert all(name.startswith(".") and name.endswith(".tmp") for name in others)
    write_atomic(path, "again")
    assert read_text(path, 10) == "again"


def test_what_cannot_be_read_says_why(tmp_path):
    (tmp_path / "big.md").write_bytes(b"x" * 11)
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    (tmp_path / "wide.md").write_bytes("a".encode("utf-16"))
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    reasons = {
        "big.md": "has 11 bytes, over 10: shorten",
        "latin.md": r"is not UTF-8 \(line 1\)",
        "wide.md": "is not UTF-8",
        "pipe.md": "is not a regular file",
        "folder.md": "directory|regular file",
        "gone.md": "No such file",
    }
    for name, reason in reasons.items():
        with pytest.raises(FileProblem, match=reason) as problem:
            read_text(tmp_path / name, 10)
        assert str(problem.value).startswith(name) and str(tmp_path) not in str(problem.value)


def test_a_held_lock_times_out_with_its_name_and_frees_afterwards(tmp_path):
    path = tmp_path / ".lock"
    holder = "import sys; from pathlib import Path; from hxmem.files import lock\n"
    holder += "with lock(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holder, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(FileProblem, match=r"^\.lock is held by another process"), lock(path, timeout=0):
            pass
        other.kill()
    with lock(path, timeout=5):
        pass


def test_a_lock_is_freed_when_its_block_fails(tmp_path):
    with pytest.raises(KeyError), lock(tmp_path / ".lock"):
        raise KeyError
    with lock(tmp_path / ".lock", timeout=0):
        pass


def test_the_root_is_the_nearest_parent_with_a_drawer_or_a_repository(tmp_path):
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (tmp_path / ".harnessx").mkdir()
    assert find_root(deep) == tmp_path.resolve()
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere", encoding="utf-8")
    assert find_root(str(deep)) == (tmp_path / "a").resolve()
    assert find_root(Path(deep.anchor)) == Path(deep.anchor)
