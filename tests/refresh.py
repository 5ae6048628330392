"""Run lessons in place and store their outputs in the one form that the tests accept.

python tests/refresh.py [lessons/03_choosing.ipynb ...]      all lessons when none is named
python tests/refresh.py --check                              changes nothing, fails where a run would change a file
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

LESSONS = Path(__file__).resolve().parent.parent / "lessons"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
OFFLINE = {"HXMEM_STATIC": "1", "PYTHONHASHSEED": "0"}
SETTINGS = ("DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "DEEPSEEK_MODEL", "HXMEM_LANG", "HXMEM_HOME")


def refreshed(path: Path) -> str:
    """The notebook after a run from top to bottom, offline, as text."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": folder}})
        client.execute()
    return nbformat.writes(clean(notebook), version=4) + "\n"


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Only what a reader or a test needs: tags, outputs, counts from 1; no times, no widget state."""
    notebook.metadata, notebook.nbformat, notebook.nbformat_minor = nbformat.from_dict(METADATA), 4, 5
    count = 0
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = joined(cell.outputs)
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
    return notebook


def joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """The outputs with neighbouring pieces of one stream put together: where a stream is cut is a matter of timing."""
    kept: list[nbformat.NotebookNode] = []
    for output in outputs:
        if kept and output.output_type == kept[-1].output_type == "stream" and output.name == kept[-1].name:
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def main() -> int:
    """Refresh the named lessons, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lessons", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    for name in SETTINGS:
        os.environ.pop(name, None)
    os.environ.update(OFFLINE)
    changed = 0
    for path in args.lessons or sorted(LESSONS.glob("[0-9]*.ipynb")):
        text = refreshed(path)
        same = path.read_text("utf-8") == text
        changed += not same
        print(f"{path.name}: {'same' if same else 'changed'}", flush=True)
        if not same and not args.check:
            path.write_text(text, "utf-8", newline="\n")
    return 1 if args.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
