"""The house: who may import whom, how large the core is, what an import costs, what stands at the top."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "hxmem"

# Each room imports only rooms that stand above it in this list, so there are no circles.
FLOORS = [
    "text", "ranking", "credentials", "replies", "files", "language", "classroom",
    "exchanges", "wirefiles", "errors", "answers", "attempt", "chat", "plugins", "tools", "entries", "sessions",
    "drawer.front_matter", "drawer.detail", "drawer.index", "drawer.keywords", "drawer.folder", "drawer.store",
    "drawer.prompts", "drawer.recall", "drawer.catalog", "drawer.extraction", "drawer.plugin",
    "desk.estimates", "desk.cuts", "desk.truncation", "desk.eviction", "desk.sections", "desk.summary", "desk.overflow",
    "desk.compaction", "desk.plugin",
    "journal.folder", "journal.ledger", "journal.losses", "journal.checking", "journal.flush", "journal.pending", "journal.consolidation", "journal.index",
    "journal.search", "journal.reading", "journal.injection", "journal.maintenance", "journal.plugin",
    "agent",
    "lab", "terminal", "housekeeping", "journaling", "cli", "__main__",
]  # fmt: skip
DESIGNS = ("drawer", "desk", "journal")
NOT_CORE = (
    "classroom",
    "tools",
    "wirefiles",
    "entries",
    "sessions",
    "desk",
    "journal",
)  # an agent with a drawer needs none
CORE = [name for name in FLOORS[: FLOORS.index("agent") + 1] if name.partition(".")[0] not in NOT_CORE]
CORE_LINES = 1_800


def modules() -> dict[str, Path]:
    found = {
        path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", "."): path for path in PACKAGE.rglob("*.py")
    }
    return {
        name: path for name, path in found.items() if not name.endswith("__init__") and not name.startswith("_data")
    }


def room(name: str) -> str:
    return name if name in FLOORS else name.partition(".")[0]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    known = modules()
    return {name.removeprefix("hxmem.") for name in found if name.removeprefix("hxmem.") in known}


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_room_imports_only_from_lower_floors(name):
    assert room(name) in FLOORS, f"{name} has no place in FLOORS"
    higher = [other for other in imports(modules()[name]) if FLOORS.index(room(other)) > FLOORS.index(room(name))]
    lazily = {("chat", "classroom")}
    assert [other for other in higher if (name, room(other)) not in lazily] == []


@pytest.mark.parametrize("name", [name for name in sorted(modules()) if name.partition(".")[0] in DESIGNS])
def test_the_designs_meet_in_hooks_and_never_import_each_other(name):
    own = name.partition(".")[0]
    assert {other for other in imports(modules()[name]) if other.partition(".")[0] in set(DESIGNS) - {own}} == set()


def test_the_classroom_imports_nothing_of_ours_but_text():
    for name, path in modules().items():
        if name.startswith("classroom"):
            assert {room(other) for other in imports(path)} <= {"text", "classroom"}, name


def code_lines(path: Path) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    quiet = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            quiet |= set(range(body[0].lineno, body[0].end_lineno + 1))
    lines = path.read_text("utf-8").splitlines()
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and n not in quiet for n, line in enumerate(lines, 1)
    )


def test_the_core_stays_small():
    assert sum(code_lines(modules()[name]) for name in CORE) <= CORE_LINES


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_module_is_one_idea_long(name):
    assert len(modules()[name].read_text("utf-8").splitlines()) <= (250 if name in CORE else 300)


def test_importing_the_package_is_light_and_starts_nothing():
    code = "import sys, threading, json; from hxmem import *; print(json.dumps([sorted(sys.modules), threading.active_count()]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, threads = json.loads(done.stdout)
    assert threads == 1
    heavy = {
        "IPython",
        "ipywidgets",
        "jupyterlab",
        "papermill",
        "nbformat",
        "http.server",
        "numpy",
        "hxmem.lab",
        "hxmem.classroom",
    }
    assert heavy & set(loaded) == set()


def test_the_public_names_are_all_there_and_nothing_else():
    import hxmem

    assert sorted(hxmem.__all__) == list(hxmem.__all__)
    for name in hxmem.__all__:
        assert getattr(hxmem, name).__name__ == name
    assert {name for name in dir(hxmem) if not name.startswith("_")} == set(hxmem.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        hxmem.nonsense  # noqa: B018


def test_every_public_function_has_a_docstring():
    missing = []
    for name, path in modules().items():
        for node in ast.parse(path.read_text("utf-8")).body:
            if (
                isinstance(node, ast.FunctionDef | ast.ClassDef)
                and not node.name.startswith("_")
                and not ast.get_docstring(node)
            ):
                missing.append(f"{name}.{node.name}")
    assert missing == []


def test_the_top_level_holds_the_agreed_names():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
    if not any(tracked):
        pytest.skip("not a checkout")
    agreed = {"pyproject.toml", "README.md", "lessons", "hxmem", "tests", "data", ".gitignore", ".ci"}
    assert {name.split("/")[0] for name in tracked if name} <= agreed


def test_a_model_name_stands_in_one_place():
    places = [
        name
        for name, path in modules().items()
        if re.search(r"deepseek-(flash|chat|v4)", path.read_text("utf-8")) and not name.startswith("classroom")
    ]
    assert places == ["chat"]
