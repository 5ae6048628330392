"""The words that go to the model: sentences in `prompts.zh.toml` and `prompts.en.toml`, and labels for both."""

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
    """One language's sentences: `rules` are the agent's; `choose` takes the limit; the others are used as they are."""

    rules: str
    choose: str
    extract: str
    recalled: str
    index: str
    no_index: str
    acknowledge: str


def prompts(lang: str = "") -> Prompts:
    """The sentences of a language, chosen as `language` says."""
    return _read(language(lang))


def language(lang: str = "") -> str:
    """The language as "zh" or "en"; left out, HXMEM_LANG says which, and Chinese is the default."""
    return "en" if (lang or os.environ.get("HXMEM_LANG", "")) == "en" else "zh"


@lru_cache
def _read(language: str) -> Prompts:
    return Prompts(**tomllib.loads(Path(__file__).with_name(f"prompts.{language}.toml").read_text(encoding="utf-8")))
