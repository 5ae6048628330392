"""The agent's own tools: read, list and search files inside one root, and run a shell command."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hxmem.files import FileProblem, inside, read_text
from hxmem.plugins import Tool, ToolProblem

Arguments = Mapping[str, Any]
MAX_READ = 20_000  # characters of a file at a time: one long line must not flood the desk
MAX_FILE_BYTES = 50_000_000  # of a file to read or to search
MAX_ENTRIES, MAX_HITS = 500, 100
SHELL_SECONDS = 60
MAX_PRINTED = 1_000_000  # bytes of a command's output
_SKIPPED = frozenset({".git", ".harnessx", ".venv", "node_modules", "__pycache__"})


def workspace_tools(root: Path) -> tuple[Tool, ...]:
    """The four tools, contained in `root`; a path that leaves it, links included, is refused."""
    root = root.resolve()

    def path_of(arguments: Arguments, default: str = "") -> Path:
        return inside(root, _word(arguments, "path", default))

    def read_file(arguments: Arguments) -> str:
        text = read_text(path_of(arguments), MAX_FILE_BYTES)
        start, size = _number(arguments, "offset", 0), min(_number(arguments, "limit", MAX_READ) or MAX_READ, MAX_READ)
        if start and start >= len(text):
            raise ToolProblem(f"the file ends before character {start:,}: it has {len(text):,}")
        piece = text[start : start + size]
        if len(piece) == len(text):
            return piece
        more = f"; read on with offset {start + size}" if start + size < len(text) else ""
        return f"(characters {start:,} to {start + len(piece):,} of {len(text):,}{more})\n{piece}"

    def list_files(arguments: Arguments) -> str:
        names = [path.relative_to(root).as_posix() for path in _files(path_of(arguments, "."))]
        more = f"\n({len(names) - MAX_ENTRIES} more)" if len(names) > MAX_ENTRIES else ""
        return "\n".join(names[:MAX_ENTRIES]) + more or "(no files)"

    def search_files(arguments: Arguments) -> str:
        wanted, hits = _word(arguments, "query").casefold(), []
        for path in _files(path_of(arguments, ".")):
            try:
                lines = read_text(inside(root, path), MAX_FILE_BYTES).splitlines()
            except FileProblem:
                continue  # not a text file, or a link that leaves the root
            found = [(number, line) for number, line in enumerate(lines, 1) if wanted in line.casefold()]
            hits += [f"{path.relative_to(root).as_posix()}:{number}: {line.strip()[:200]}" for number, line in found]
            if len(hits) >= MAX_HITS:
                break
        return "\n".join(hits[:MAX_HITS]) or "(nothing found)"

    def run_shell(arguments: Arguments) -> str:
        return _shell(_word(arguments, "command"), root)

    path = {"type": "string", "description": "relative to the project folder"}
    offset = {"type": "integer", "description": "the first character to read, 0 when left out"}
    limit = {"type": "integer", "description": f"how many characters, at most {MAX_READ}"}
    query = {"type": "string", "description": "words to look for, case is ignored"}
    command = {"type": "string", "description": "a command line for the shell, run in the project folder"}
    return (
        Tool("read_file", "Read a text file.", _schema(["path"], path=path, offset=offset, limit=limit), read_file),
        Tool("list_files", "List the files below a folder.", _schema([], path=path), list_files),
        Tool("search_files", "Find lines in files.", _schema(["query"], query=query, path=path), search_files),
        Tool("run_shell", "Run a shell command.", _schema(["command"], command=command), run_shell, "ask"),
    )


def _schema(required: list[str], **properties: dict[str, str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _word(arguments: Arguments, key: str, default: str = "") -> str:
    value = arguments.get(key) or default
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ToolProblem(f"`{key}` must be a text that is not empty")
    return value


def _number(arguments: Arguments, key: str, default: int) -> int:
    value = arguments.get(key)
    if value is None:
        return default
    if type(value) is not int or value < 0:
        raise ToolProblem(f"`{key}` must be a whole number from 0 up")
    return value


def _files(start: Path) -> Iterator[Path]:
    if start.is_file():
        yield start
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        yield from (Path(folder) / name for name in sorted(names))


def _shell(command: str, root: Path) -> str:
    """Run in a process group of its own, so that a time-out or Ctrl-C ends its children too; the key stays out."""
    env = {key: value for key, value in os.environ.items() if key != "DEEPSEEK_API_KEY"}
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(
            command, shell=True, cwd=root, env=env, stdin=subprocess.DEVNULL, stdout=printed,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        end = time.monotonic() + SHELL_SECONDS
        try:
            while process.poll() is None and time.monotonic() < end:
                if os.fstat(printed.fileno()).st_size >= MAX_PRINTED:
                    break
                time.sleep(0.02)
            stopped = process.poll() is None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # none left, as Linux or a Mac says it
                os.killpg(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()
            process.wait()
        printed.seek(0)
        output = printed.read(MAX_PRINTED).decode("utf-8", "replace")
    if stopped:
        raise ToolProblem(f"the command was stopped: it ran {SHELL_SECONDS} seconds or printed too much.\n{output}")
    return f"exit code {process.returncode}\n{output}"
