"""Reads `cues.txt`: the words by which a sentence shows what it is."""

import re
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def _cues() -> dict[str, re.Pattern[str]]:
    lists: dict[str, str] = {}
    found: dict[str, re.Pattern[str]] = {}
    text = Path(__file__).with_name("cues.txt").read_text(encoding="utf-8")
    for part in re.split(r"\n{2,}", "\n".join(line for line in text.split("\n") if line[:1] != "#")):
        for kind, name, rest in re.findall(r"^(words )?(\w+):((?: .*|)(?:\n(?!words |\w+:$).+)*)", part, re.M):
            if kind:
                lists[name] = "(?:" + "|".join(word.replace("+", " ") for word in rest.split()) + ")"
            else:
                found[name] = re.compile("|".join(_filled(line, lists) for line in rest.strip("\n").split("\n")), re.I)
    return found


def _filled(line: str, lists: dict[str, str]) -> str:
    return re.sub(r"@(\w+)@", lambda hit: lists[hit[1]], line)


def pattern(name: str) -> re.Pattern[str]:
    """The pattern of one section of the file.

    >>> bool(pattern("lasting").search("from now on, ask first"))
    True
    """
    return _cues()[name]
