"""The words that drive the drawer: sentences in two files, `prompts.zh.toml` and `prompts.en.toml`, and labels."""

import os
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

TASK_LABEL = "User request:"
CATALOG_LABEL = "Memory catalog:"
EXISTING_LABEL = "Existing memories:"
DIALOGUE_LABEL = "Dialogue:"
INDEX_LABEL = "Project memory index:"


@dataclass(frozen=True)
class Prompts:
    """One language's sentences: `choose` takes the limit, the others are used as they are."""

    choose: str
    extract: str
    recalled: str
    index: str
    no_index: str
    acknowledge: str


def prompts(lang: str = "") -> Prompts:
    """The sentences of a language, "zh" or "en"; left out, HXMEM_LANG says which, and Chinese is the default."""
    return _read("en" if (lang or os.environ.get("HXMEM_LANG", "")) == "en" else "zh")


@lru_cache
def _read(language: str) -> Prompts:
    return Prompts(**tomllib.loads(Path(__file__).with_name(f"prompts.{language}.toml").read_text(encoding="utf-8")))
