"""`hx lab`: JupyterLab on the lessons."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from hxmem.files import FileProblem
from hxmem.lab.course import lessons_folder

COPY = "hxmem-lessons"


def open_lab(port: int, browser: bool = True) -> int:
    """Start JupyterLab in this process's environment; returns its exit code."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise FileProblem("JupyterLab is not installed: run `pip install jupyterlab ipywidgets`.")
    folder = working_copy(Path.cwd())
    print(f"Lessons: {folder}", flush=True)
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}", f"--ServerApp.root_dir={folder}"]
    first = "00_forget_and_remember.ipynb"
    command += [f"--LabApp.default_url=/lab/tree/{first}"] if browser else ["--no-browser"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # In a container there is often no other user, and the server listens on loopback only.
        command.append("--allow-root")
    return subprocess.call(command)


def working_copy(here: Path) -> Path:
    """The folder to work in: a checkout's own lessons, or a copy in `here` when hxmem was installed from a wheel.

    Files that a learner changed in an earlier copy are kept.
    """
    lessons = lessons_folder()
    if lessons.name == "lessons":
        return lessons
    target = here / COPY
    for source in [path for path in lessons.rglob("*") if path.is_file() and "__pycache__" not in path.parts]:
        copy = target / source.relative_to(lessons)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists():
            shutil.copyfile(source, copy)
    return target
