"""Finds keys, tokens and passwords in a text and masks them.

A known shape (`sk-...`, `ghp_...`, a PEM block) is a credential wherever it stands. After a label (password, token,
API key, 密码, ...) the value decides: it is taken when a part of it mixes letters and digits or is very long. After a
password label with "is", ":" or the like any word is taken but such as "required" or "stored", and so is a phrase of
small words that ends the clause. A value in Chinese is left alone, unless it stands in quotes after a password label.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True)
class Masked:
    """A text without its credentials, and the kinds that were found, such as "API key"."""

    text: str
    found: tuple[str, ...] = ()


def mask(text: str) -> Masked:
    """Put `[masked: <kind>]` in the place of every credential; masking again changes nothing. Takes linear time.

    >>> mask("my password is hunter2"), mask("the password is required").found
    (Masked(text='my password is [masked: password]', found=('password',)), ())
    """
    shapes, rules = _rules()
    spans = []
    for kind, shape in shapes:
        spans += [(*found.span(found.lastindex or 0), kind) for found in shape.finditer(text)]
    for found in rules["labelled"].finditer(text):
        label = next(name for name in ("password", "key", "token", "secret") if found[name])
        group = next(name for name in ("quoted", "phrase", "bare") if found[name])
        value = found[group].rstrip(".,;:)?>]}|*")
        if _is_secret(value, label == "password" and found["loose"] is None, group == "quoted" and " " in value):
            spans.append((found.start(group), found.start(group) + len(value), "API key" if label == "key" else label))
    parts, kinds, done = [], [], 0
    for start, end, kind in sorted(spans, key=lambda span: span[0]):
        if start >= done:
            parts += [text[done:start], f"[masked: {kind}]"]
            kinds.append(kind)
        done = max(done, end)
    return Masked("".join([*parts, text[done:]]), tuple(dict.fromkeys(kinds)))


def _is_secret(value: str, word_counts: bool, phrase: bool) -> bool:
    """Whether a labelled value is a credential: made up, or any word or quoted phrase where a word counts."""
    _, rules = _rules()
    if len(value) < 4 or rules["no_value"].match(value):
        return False
    return bool(rules["made_up"].search(value, 0, 64)) or (word_counts and (phrase or not rules["plain"].match(value)))


@lru_cache(maxsize=1)
def _rules() -> tuple[list[tuple[str, re.Pattern[str]]], dict[str, re.Pattern[str]]]:
    """The shapes with their kinds, and the other rules of `credentials.toml` by name."""
    read = tomllib.loads(Path(__file__).with_name("credentials.toml").read_text(encoding="utf-8"))
    shapes = [(kind, re.compile(shape, re.ASCII)) for kind, shape in read.pop("shapes")]
    return shapes, {name: re.compile(rule) for name, rule in read.items()}
