"""What the commands share: the project's folder, what they print, and how they say what went wrong."""

import argparse
import json
import os
import re
import sys
from pathlib import Path

from hxmem.files import find_root

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Trouble(Exception):
    """One sentence for the person at the terminal."""


def project(args: argparse.Namespace) -> Path:
    """The folder that `--root` or HXMEM_HOME names, else the nearest one that holds .harnessx or .git."""
    chosen = args.root or os.environ.get("HXMEM_HOME", "")
    if chosen and not Path(chosen).is_dir():
        raise Trouble(f"there is no folder {chosen}: make it first, or name another with --root.")
    return Path(chosen).resolve() if chosen else find_root(Path.cwd())


def shown(text: str) -> str:
    """The text without characters that could move the cursor, change colours or turn the direction of writing."""
    return _CONTROL.sub("\ufffd", text)


def say(line: str) -> None:
    """Print a line for the person at the terminal, beside the output."""
    print(shown(line), file=sys.stderr, flush=True)


def answer(text: str) -> int:
    """Print the output of a command; returns its exit code."""
    print(shown(text), flush=True)
    return 0


def answer_json(value: object) -> int:
    """Print the output of a command for programs."""
    print(json.dumps(value, ensure_ascii=False, indent=1))
    return 0
