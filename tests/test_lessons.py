"""What every lesson must be: its form on disk, and that it runs anywhere, offline, and leaves no trace."""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from hxmem.classroom import Classroom
from hxmem.files import FileProblem
from hxmem.lab import checks
from hxmem.lab.verify import verify

ROOT = Path(__file__).resolve().parent.parent
LESSONS = sorted((ROOT / "lessons").glob("[0-9]*.ipynb"))
HEADINGS = [
    "You will be able to", "Setup", "The failure first", "Predict", "Run it", "Look at the body", "Look at the drawer",
    "Build it by hand", "Write, then read", "Break it, repair it", "Exercises", "Change one parameter", "Quiz", "Recap",
]  # fmt: skip
TAGS = {"parameters"}
PARAMETERS = {"parameters", "injected-parameters"}
FORBIDDEN = {
    "an absolute path": r"(?<![\w:/.])/(home|root|tmp|Users|work|var|mnt)/|[A-Z]:\\\\",
    "a key": r"sk-[A-Za-z0-9]{12,}",
    "a model's name": r"deepseek-(flash|chat|reasoner|v4)",
    "an install": r"[!%]pip|apt-get",
    "a question to the terminal": r"\binput\(",
    "a change of the path": r"sys\.path",
    "a port": r"127\.0\.0\.1:\d|localhost:\d",
    "a clock": r"time\.time|perf_counter|datetime\.now|%%?time",
}

lessons = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def output_text(cell) -> str:
    return json.dumps(cell.outputs, ensure_ascii=False)


def shown_text(cell) -> list[str]:
    """What a reader sees, without execution counts."""
    return [output.get("text") or output.get("data", {}).get("text/plain") for output in cell.outputs]


def test_the_lessons_are_there():
    assert [path.stem for path in LESSONS] == [
        "00_forget_and_remember",
        "01_one_request",
        "02_the_drawer",
        "03_choosing",
        "04_stop_hook",
        "05_write_then_read",
        "06_the_desk_overflows",
        "07_two_layers",
        "08_search_in_chinese",
    ]


@lessons
def test_the_file_is_a_clean_notebook(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    assert path.stat().st_size < 150_000
    assert "\\u" not in path.read_text("utf-8"), "Chinese is stored as Chinese"


@lessons
def test_the_cells_have_the_agreed_size_and_number(path):
    notebook = read(path)
    code = code_cells(notebook)
    assert 24 <= len(notebook.cells) <= 40
    assert 0.35 <= len(code) / len(notebook.cells) <= 0.65
    for cell in notebook.cells:
        assert cell.source.strip(), f"cell {cell.id} is empty"
    for cell in code:
        assert len(cell.source.splitlines()) <= 25, f"cell {cell.id} is long: its code belongs in the package"


@lessons
def test_outputs_are_stored_with_counts(path):
    code = code_cells(read(path))
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        shows = re.search(
            r"^(print|show_|timeline|diff_|desk_and|check\(|hint\(|picture|compare|lesson\.hx)", cell.source, re.M
        )
        assert cell.outputs or not shows, f"cell {cell.id} shows something and stores nothing"
        errors = [output for output in cell.outputs if output.output_type == "error"]
        assert errors == [], f"cell {cell.id} stores an error: papermill stops there, whatever its tags"
        assert len(output_text(cell)) < 20_000, f"cell {cell.id} stores too much"


@lessons
def test_tags_are_the_agreed_ones_and_parameters_come_first(path):
    code = code_cells(read(path))
    tags = [set(cell.metadata.get("tags", [])) for cell in code]
    assert set().union(*tags) <= TAGS
    assert [("parameters" in found) for found in tags] == [True] + [False] * (len(code) - 1)
    assert all(set(cell.metadata) <= {"tags"} for cell in code)


@lessons
def test_the_sections_come_in_the_agreed_order(path):
    text = prose(read(path))
    assert text.startswith(f"# {path.stem[:2]} ")
    assert re.findall(r"^## (.+)$", text, re.M) == HEADINGS


@lessons
@pytest.mark.parametrize("what", FORBIDDEN)
def test_nothing_of_one_machine_or_one_moment_is_in_it(path, what):
    for cell in read(path).cells:
        source = cell.source + (output_text(cell) if cell.cell_type == "code" else "")
        assert not re.search(FORBIDDEN[what], source), f"cell {cell.id} holds {what}"


@lessons
def test_links_and_pictures(path):
    text = prose(read(path))
    for alt, _ in re.findall(r"!\[(.*?)\]\((.*?)\)", text):
        assert alt.strip(), "a picture needs words"
    for target in re.findall(r"\]\(([^)#\s]+)\)", text):
        assert target.startswith("https://") or (path.parent / target).is_file(), target


@lessons
def test_the_quiz_has_three_questions_with_folded_answers_in_changing_places(path):
    quiz = prose(read(path)).partition("## Quiz")[2].partition("## Recap")[0]
    right = re.findall(r"<details>\s*<summary>[^<]*</summary>\s*\*\*([abc])\*\*", quiz)
    assert len(right) == 3
    assert len(set(right)) > 1
    assert len(re.findall(r"^\s*- [abc]\) ", quiz, re.M)) == 9


@lessons
def test_every_lesson_has_two_exercises_with_three_hints_and_a_solution(path):
    number, source = int(path.stem[:2]), "\n".join(cell.source for cell in code_cells(read(path)))
    solutions = solved(path.stem[:2])
    for exercise in (f"{number}.1", f"{number}.2"):
        assert f'check("{exercise}"' in source
        assert f'hint("{exercise}"' in source
        found = checks.find(exercise)
        assert len(set(found.hints)) == 3
        assert all(10 < len(text) < 240 for text in found.hints)
        assert checks.check(exercise).state == checks.NOT_YET
        assert checks.check(exercise, solutions[exercise]).state == checks.RIGHT


@lessons
def test_known_wrong_answers_get_their_own_reasons(path):
    reasons = []
    for exercise, answers in solved(path.stem[:2], "WRONG").items():
        for answer in answers:
            verdict = checks.check(exercise, answer)
            assert verdict.state == checks.NOT_RIGHT, (exercise, answer)
            reasons.append((exercise, verdict.because))
    assert len(reasons) >= 4
    assert len(set(reasons)) == len(reasons)


def solved(number: str, name: str = "SOLUTIONS") -> dict:
    space: dict = {}
    source = (ROOT / "lessons" / "_solutions" / f"{number}.py").read_text("utf-8")
    exec(compile(source, f"{number}.py", "exec"), space)
    return space[name]


def test_unknown_exercises_and_failing_answers_are_verdicts_not_errors():
    assert checks.check("99.1", 1).state == checks.UNCHECKED
    assert checks.check("x", 1).state == checks.UNCHECKED
    assert "no exercise" in checks.hint("99.1")


# --- running -----------------------------------------------------------------------------------------------


def strict_encoding() -> dict[str, str]:
    """Settings under which our code, cells included, fails where it opens a text without naming its encoding."""
    package = ROOT / "hxmem"
    ours = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in package.rglob("*.py")]
    filters = [f"error::EncodingWarning:{name}" for name in ["__main__", *ours]]
    return {"PYTHONWARNDEFAULTENCODING": "1", "PYTHONWARNINGS": ",".join(filters)}


def nbval(path: Path, **env: str) -> subprocess.CompletedProcess:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "--nbval",
        "--nbval-current-env",
        "-p",
        "no:cacheprovider",
        str(path),
    ]
    options = {
        "cwd": path.parent,
        "env": {**os.environ, **env},
        "capture_output": True,
        "encoding": "utf-8",
        "errors": "replace",
    }
    return subprocess.run(command, **options)


def snapshot() -> dict[str, tuple[int, int]]:
    quiet = ("__pycache__", ".pytest_cache", ".git", ".venv", ".hypothesis", ".mypy_cache", ".ruff_cache")
    found = (path for path in ROOT.rglob("*") if path.is_file() and not set(quiet) & set(path.parts))
    return {path.relative_to(ROOT).as_posix(): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


@lessons
def test_a_copy_elsewhere_gives_the_same_outputs_when_no_encoding_may_go_unnamed(path, tmp_path):
    before = snapshot()
    folder = tmp_path / "课程 copy"
    folder.mkdir()
    copied = Path(shutil.copy(path, folder))
    done = nbval(copied, **strict_encoding())
    assert done.returncode == 0, done.stdout[-3000:]
    assert [found.name for found in folder.iterdir() if found.suffix != ".ipynb" and found.name != "__pycache__"] == []
    assert snapshot() == before


def test_the_inspector_shows_the_plain_view_without_ipywidgets(tmp_path):
    source = next(path for path in LESSONS if "Inspector(" in path.read_text("utf-8"))
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text("import sys; sys.modules['ipywidgets'] = None", "utf-8")
    done = nbval(Path(shutil.copy(source, tmp_path)), HXMEM_STATIC="", PYTHONPATH=str(tmp_path / "blocked"))
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("fault", ["", "side-query=429"])
def test_a_lesson_runs_unchanged_with_another_server(fault, tmp_path, monkeypatch, capsys):
    with Classroom(faults=fault or None) as room:
        monkeypatch.setenv("DEEPSEEK_BASE_URL", room.url)
        monkeypatch.setenv("DEEPSEEK_API_KEY", room.key)
        assert verify(["05", "06", "07"], str(tmp_path), {}) == 0, capsys.readouterr().out
        assert room.requests["answer"] + room.requests["side-query"] > 0
    ran = list(tmp_path.glob("*.ipynb"))
    assert len(ran) == 3
    assert all("server: other" in path.read_text("utf-8") for path in ran)


def test_an_altered_stored_output_fails(tmp_path):
    notebook = read(LESSONS[0])
    altered = copy.deepcopy(notebook)
    cell = next(cell for cell in code_cells(altered)[2:] if cell.outputs and cell.outputs[0].output_type == "stream")
    cell.outputs[0].text = cell.outputs[0].text.replace("e", "3", 1) + "altered\n"
    nbformat.write(altered, tmp_path / "altered.ipynb")
    done = nbval(tmp_path / "altered.ipynb")
    assert done.returncode == 1
    assert "altered" in done.stdout


@pytest.mark.parametrize(
    ("lesson", "name", "value"),
    [
        ("00", "lang", "zh"),
        ("01", "turns", "1"),
        ("02", "kind", "feedback"),
        ("03", "limit", "1"),
        ("04", "lang", "zh"),
        ("05", "lang", "zh"),
        ("06", "lang", "zh"),
        ("07", "days", "2"),
        ("08", "n", "1"),
    ],
)
def test_papermill_runs_a_lesson_with_a_changed_parameter_and_it_shows(lesson, name, value, tmp_path, capsys):
    assert verify([lesson], str(tmp_path), {name: value}) == 0
    assert "1 of 1 lessons passed" in capsys.readouterr().out
    (ran,) = tmp_path.glob("*.ipynb")
    stored = next(path for path in LESSONS if path.name == ran.name)
    shown = [
        [shown_text(cell) for cell in code_cells(read(path)) if not PARAMETERS & set(cell.metadata.get("tags", []))]
        for path in (ran, stored)
    ]
    changed = [text for text, other in zip(*shown, strict=True) if text != other]
    assert changed, "the parameter changed nothing that can be seen"


def test_a_misspelt_parameter_is_an_error_that_names_the_right_ones(tmp_path):
    with pytest.raises(FileProblem, match=r"no parameter limitt; it has .*limit"):
        verify(["03"], str(tmp_path), {"limitt": "2"})
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_lesson_is_an_error_that_names_the_lessons(tmp_path):
    with pytest.raises(FileProblem, match="03_choosing"):
        verify(["77"], str(tmp_path), {})


def test_a_lesson_that_fails_is_a_failure(tmp_path, capsys):
    notebook = read(LESSONS[0])
    notebook.cells = [*notebook.cells[:4], nbformat.v4.new_code_cell("raise ValueError('on purpose')")]
    nbformat.write(notebook, tmp_path / "bad.ipynb")
    assert verify([str(tmp_path / "bad.ipynb")], str(tmp_path / "out"), {}) == 1
    assert "ValueError: on purpose" in capsys.readouterr().out
