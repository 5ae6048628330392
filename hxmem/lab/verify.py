"""`hx verify`: run lessons from top to bottom with papermill and say which passed."""

from __future__ import annotations

import importlib.util
import json
import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hxmem.files import FileProblem
from hxmem.lab.course import lessons_folder


@dataclass(frozen=True)
class Run:
    """One executed lesson; `problem` is "" when it passed."""

    lesson: str
    seconds: float
    problem: str = ""


def verify(wanted: Sequence[str], out: str | None, parameters: Mapping[str, str]) -> int:
    """Run the lessons, all when none is named, and print a line for each; 0 when all passed, else 1."""
    if importlib.util.find_spec("papermill") is None:
        raise FileProblem("papermill is not installed: run `pip install papermill ipykernel`.")
    lessons = [_lesson(name) for name in wanted] or sorted(lessons_folder().glob("[0-9]*.ipynb"))
    values = {name: _value(text) for name, text in parameters.items()}
    for lesson in lessons:
        _known(lesson, values)
    with tempfile.TemporaryDirectory(prefix="hxmem-verify-", ignore_cleanup_errors=True) as scratch:
        folder = Path(out) if out else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        runs = []
        for number, lesson in enumerate(lessons, 1):
            print(f"[{number}/{len(lessons)}] {lesson.name} ...", end=" ", flush=True)
            runs.append(run(lesson, folder / lesson.name, values))
            print(runs[-1].problem or f"passed ({runs[-1].seconds:.1f} s)", flush=True)
    failed = [run for run in runs if run.problem]
    print(f"{len(runs) - len(failed)} of {len(runs)} lessons passed.")
    return 1 if failed else 0


def run(lesson: Path, output: Path, values: Mapping[str, Any]) -> Run:
    """Execute one lesson in a scratch folder; the executed notebook goes to `output`, which may not be the lesson."""
    import papermill

    if output.resolve() == lesson.resolve():
        raise FileProblem(f"{output.name} would be overwritten: choose another folder with --out.")
    logging.getLogger("papermill").setLevel(logging.ERROR)
    start = time.perf_counter()
    problem = ""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cwd:
        try:
            papermill.execute_notebook(
                str(lesson),
                str(output),
                dict(values),
                kernel_name="python3",
                cwd=cwd,
                progress_bar=False,
                extra_arguments=["--IPKernelApp.log_level=40"],  # a warning between the lines says nothing to a learner
            )
        except papermill.PapermillExecutionError as error:
            first = str(error.source).partition("\n")[0]
            problem = f"FAILED at `{first[:60]}`: {error.ename}: {str(error.evalue)[:300]}"
        except Exception as error:  # a kernel that dies or does not start is a failed lesson, the others still run
            problem = f"FAILED: {type(error).__name__}: {str(error)[:300]}"
    return Run(lesson.name, time.perf_counter() - start, problem)


def _lesson(name: str) -> Path:
    folder = lessons_folder()
    if Path(name).suffix == ".ipynb" and Path(name).is_file():
        return Path(name)
    found = sorted(folder.glob(f"{int(name):02d}_*.ipynb" if name.isdigit() else f"{Path(name).stem}.ipynb"))
    if not found:
        known = ", ".join(path.stem for path in sorted(folder.glob("[0-9]*.ipynb")))
        raise FileProblem(f"there is no lesson {name}; there are {known}.")
    return found[0]


def _known(lesson: Path, values: Mapping[str, Any]) -> None:
    """Papermill only warns about a parameter that a notebook doesn't have, and runs with the default."""
    import papermill

    names = papermill.inspect_notebook(str(lesson))
    unknown = [name for name in values if name not in names]
    if unknown:
        raise FileProblem(f"{lesson.name} has no parameter {', '.join(unknown)}; it has {', '.join(names) or 'none'}.")


def _value(text: str) -> Any:
    """`2` is a number, `true` a truth value, anything that isn't JSON a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
