"""Reads JSON out of a model's reply: a value, or the reason why not."""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hxmem.text import whole

T = TypeVar("T")
MAX_TRIES = 1_000  # brackets that turn out to be no JSON: with more of them the reply is refused
_START = re.compile(r"""\[(?=\s*(?:["\[\]{\d-]|true|false|null|\Z))|\{(?=\s*(?:["}]|\Z))""")
_THINKING = re.compile(r"<think(?:ing)?>(?:.*?(</think(?:ing)?>)|.*)", re.DOTALL)


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """A value found in a reply, or None and the reason."""

    value: T | None
    reason: str = ""


@dataclass(frozen=True)
class Item:
    """A proposed memory; description and body are never blank, name and type may be."""

    name: str
    type: str
    description: str
    body: str


def without_thinking(text: str) -> tuple[str, bool]:
    """What follows the thinking part at the start of a reply, and whether that part has no end.

    >>> without_thinking("<think>Hm.</think>[0]"), without_thinking("<think>Hm."), without_thinking("[0]")
    (('[0]', False), ('', True), ('[0]', False))
    """
    found = _THINKING.match(text)
    return (text[found.end() :], not found[1]) if found else (text, False)


def read_json(text: str, fits: Callable[[Any], T]) -> Parsed[T]:
    """Return the last JSON array or object of a reply that fits.

    `fits` returns the value to use, or raises ValueError with the reason. A thinking part is skipped, values
    inside other values don't count, and a reply that breaks off is refused whole. Takes linear time.
    """
    return _last(*_values(text), fits)


def read_choice(text: str, count: int, limit: int = 5) -> Parsed[list[int]]:
    """Read an array of numbers below `count`: each once, the first `limit`; one wrong item refuses the array.

    An object with one array, such as `{"answer": [0]}`, counts as that array.

    >>> read_choice("I looked at [2] and choose [0].", 3), read_choice("[true]", 3).reason
    (Parsed(value=[0], reason=''), 'true is not a whole number')
    """

    def fits(value: Any) -> list[int]:
        for item in (numbers := _array(value)):
            if type(item) is not int:  # isinstance takes a boolean for an int
                shown = "a list or object" if isinstance(item, list | dict) else json.dumps(item, ensure_ascii=False)
                raise ValueError(f"{shown[:40]} is not a whole number")
            if not 0 <= item < count:
                raise ValueError(f"{item} is not a number of the catalog (0-{count - 1})")
        return list(dict.fromkeys(numbers))[:limit]

    return read_json(text, fits)


def read_items(text: str) -> tuple[list[Item], list[str]]:
    """Read an array of proposed memories; return the good ones and what is wrong with each of the others.

    A single object, or one object a line, is read like an array, unless it is the rest of a broken array.

    >>> read_items('[{"description": "tea", "body": "Likes tea."}, 7]')
    ([Item(name='', type='', description='tea', body='Likes tea.')], ['item 2: not an object'])
    """

    def fits(value: Any) -> list[Any]:
        array = _array(value)
        if array and not any(isinstance(item, dict) for item in array):
            raise ValueError("item 1: not an object")
        return array

    values, problem = _values(text)
    if all(isinstance(value, dict) and {"name", "description", "body"} & value.keys() for value in values):
        values = [values] if values and not problem else []
    parsed = _last(values, problem, fits)
    items: list[Item] = []
    problems = [parsed.reason] if parsed.value is None else []
    for number, value in enumerate(parsed.value or [], 1):
        try:
            items.append(_item(value))
        except ValueError as error:
            problems.append(f"item {number}: {error}")
    return items, problems


def _last(values: Sequence[Any], problem: str, fits: Callable[[Any], T]) -> Parsed[T]:
    reasons = [] if values else [problem or "the reply holds no JSON array"]
    for value in reversed(values):
        try:
            return Parsed(fits(value))
        except ValueError as error:
            reasons.append(f"{error}")
    return Parsed(None, reasons[0])


def _values(text: str) -> tuple[list[Any], str]:
    """Return the outermost arrays and objects in a text, and what is broken in it, if anything."""
    text, cut = without_thinking(text.strip("\ufeff \t\r\n`"))
    if cut:
        return [], "the reply is cut off in its thinking part"
    if not text.strip():
        return [], "the reply is empty"
    # A number of any length would take quadratic time; none of 20 digits is meant as a number here.
    decode = json.JSONDecoder(strict=False, parse_int=lambda n: int(n) if len(n) < 20 else math.inf).raw_decode
    values, problem, at, tries = [], "", 0, 0
    while (start := _START.search(text, at)) and tries < MAX_TRIES:
        try:
            value, at = decode(text, start.start())
            values.append(json.loads(whole(json.dumps(value, ensure_ascii=False))))  # halves can come escaped
        except json.JSONDecodeError as error:
            if error.pos >= len(text) or error.msg.startswith("Unterminated string"):
                return [], "the reply is cut off inside its JSON"
            # What was read up to here is part of the broken value: looking into it would choose from ruins.
            problem, at, tries = f"the reply's JSON is broken ({error})", max(error.pos, start.end()), tries + 1
        except RecursionError:
            return [], "the reply's JSON is nested too deeply"
    return values, problem if tries < MAX_TRIES else "the reply holds too many brackets"


def _array(value: Any) -> list[Any]:
    """Return an array, or the only array of an object that wraps it."""
    arrays = [value] if isinstance(value, list) else [inner for inner in value.values() if isinstance(inner, list)]
    if len(arrays) != 1:
        raise ValueError("the reply holds an object, not an array")
    return arrays[0]


def _item(value: Any) -> Item:
    if not isinstance(value, dict):
        raise ValueError("not an object")
    fields = {name: "" if value.get(name) is None else value[name] for name in Item.__annotations__}
    for name, field in fields.items():
        if not isinstance(field, str):
            raise ValueError(f"{name} is not text")
        if name in ("description", "body") and not field.strip():
            raise ValueError(f"no {name}")
    return Item(**fields)
