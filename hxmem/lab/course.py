"""Where the lessons and their data are, and a fresh folder for one lesson."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hxmem.agent import Agent, AgentResult
from hxmem.chat import ChatClient
from hxmem.drawer.store import MemoryStore
from hxmem.files import FileProblem
from hxmem.plugins import Plugin


def data_folder() -> Path:
    """The course's `data` folder: beside the package in a checkout, inside it when it was installed from a wheel."""
    return _folder("data")


def lessons_folder() -> Path:
    """The course's `lessons` folder, found like the data."""
    return _folder("lessons")


class Lesson:
    """A fresh temporary folder with an agent's drawer, and a client: `lesson = Lesson("03", drawer="twelve")`.

    The client talks to DeepSeek when DEEPSEEK_API_KEY is set, to the server that DEEPSEEK_BASE_URL names, or to the
    classroom, a server of rules on this machine. Nothing outside the folder is written; it goes when the kernel is
    shut down in good order.
    """

    def __init__(self, number: str, drawer: str = "", lang: str = "en") -> None:
        if lang not in ("en", "zh"):
            raise ValueError(f'lang is "en" or "zh", not {lang!r}')
        self.number, self.lang = number, lang
        self._temporary = tempfile.TemporaryDirectory(prefix=f"hxmem-{number}-")
        self.root = Path(self._temporary.name).resolve()
        self.client = ChatClient.from_env()
        self.store = MemoryStore.of(self.root)
        if drawer:
            self.fill(drawer)

    def __repr__(self) -> str:
        return f"lesson {self.number} · server: {self.client.server} · notes in the drawer: {len(self.store.list())}"

    @property
    def agent(self) -> Agent:
        """A new agent in the lesson's folder: what it knows, it reads."""
        return Agent(self.client, self.root, lang=self.lang)

    def agent_with(self, *plugins: Plugin, **options: Any) -> Agent:
        """A new agent in the lesson's folder with these memory designs in place of the drawer."""
        return Agent(self.client, self.root, plugins, lang=self.lang, **options)

    @property
    def story(self) -> dict[str, str]:
        """The sentences that the lessons say to the agent, in the lesson's language."""
        stories: dict[str, dict[str, str]] = json.loads((data_folder() / "story.json").read_text("utf-8"))
        return stories[self.lang]

    def lines(self, result: AgentResult) -> str:
        """The lines that a run showed, with the folder as `<folder>`."""
        return "\n".join(result.notices).replace(str(self.root), "<folder>")

    def fill(self, drawer: str) -> None:
        """Copy a drawer of the data folder over the lesson's own."""
        shutil.copytree(data_folder() / drawer, self.store.folder, dirs_exist_ok=True)
        self.store.reindex()

    def empty(self) -> None:
        """Take everything out of the drawer."""
        shutil.rmtree(self.root / ".harnessx", ignore_errors=True)

    def files(self) -> list[str]:
        """The files below the folder, relative to it, without lock files and those of git."""
        found = (path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file())
        return sorted(name for name in found if not name.endswith(".lock") and ".git/" not in name)

    def hx(self, *words: str) -> str:
        """Run `hx` in a new process, in the lesson's folder; returns what it printed, with the folder as `<folder>`."""
        return self.run(sys.executable, "-m", "hxmem", *words)

    def wire(self, file: str) -> list[dict[str, Any]]:
        """The request bodies in a file that `hx agent --wire` wrote in the lesson's folder, in their order."""
        lines = (self.root / file).read_text("utf-8").splitlines()
        return [json.loads(line)["request"]["body"] for line in lines]

    def run(self, *command: str) -> str:
        """Run a command in the lesson's folder; the lines that name the server are left out."""
        # Bytes, so that Chinese words arrive whatever encoding this process has.
        words = [word.encode() if os.name == "posix" else word for word in command]
        env = {**os.environ, "PYTHONIOENCODING": "utf-8", "HXMEM_LANG": self.lang, "HXMEM_HOME": str(self.root)}
        options: dict[str, Any] = {"cwd": self.root, "env": env, "encoding": "utf-8", "errors": "replace"}
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, **options)
        lines = [line.replace(str(self.root), "<folder>") for line in done.stdout.splitlines()]
        return "\n".join(line for line in lines if not line.startswith("[SERVER]"))


def _folder(name: str) -> Path:
    package = Path(__file__).resolve().parent.parent
    places = (package.parent / name, package / f"_{name}")
    checkout = (package.parent / "pyproject.toml").is_file()
    place = places[0] if checkout and places[0].is_dir() else places[1]
    if not place.is_dir():
        raise FileProblem(f"the course's {name} are not here: install hxmem again, or work in its checkout.")
    return place
