"""The language of the prompts, and the files beside a module that hold its sentences."""

import os
import tomllib
from functools import lru_cache
from pathlib import Path


def language(lang: str = "") -> str:
    """The language as "zh" or "en"; left out, HXMEM_LANG says which, and Chinese is the default."""
    return "en" if (lang or os.environ.get("HXMEM_LANG", "")) == "en" else "zh"


def sentences(module: str, lang: str = "") -> dict[str, str]:
    """The sentences of `prompts.zh.toml` or `prompts.en.toml` beside a module, by name; `module` is its `__file__`."""
    return dict(_read(Path(module).with_name(f"prompts.{language(lang)}.toml")))


@lru_cache
def _read(file: Path) -> dict[str, str]:
    return tomllib.loads(file.read_text(encoding="utf-8"))
