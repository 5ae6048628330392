"""Solutions of lesson 03, and wrong answers that the checks must tell apart."""

import json


def read(reply, count):
    try:
        value = json.loads(reply)
    except ValueError:
        return None
    fits = isinstance(value, list) and all(type(n) is int and 0 <= n < count for n in value)
    return value if fits else None


def guard(reply, count, limit):
    numbers = read(reply, count)
    return None if numbers is None else list(dict.fromkeys(numbers))[:limit]


def drops_the_wrong_ones(reply, count, limit):
    try:
        value = json.loads(reply)
    except ValueError:
        return None
    if not isinstance(value, list):
        return None
    good = list(dict.fromkeys(n for n in value if type(n) is int and 0 <= n < count))[:limit]
    return good if good or not value else None


def takes_true(reply, count, limit):
    try:
        value = json.loads(reply)
    except ValueError:
        return None
    fits = isinstance(value, list) and all(isinstance(n, int) and 0 <= n < count for n in value)
    return list(dict.fromkeys(value))[:limit] if fits else None


def cuts_first(reply, count, limit):
    try:
        value = json.loads(reply)
    except ValueError:
        return None
    if isinstance(value, list) and len(value) == 3:
        value = list(dict.fromkeys(value))[:limit]
    return guard(json.dumps(value), count, limit)


SOLUTIONS = {"3.1": "c", "3.2": guard}

WRONG = {
    "3.1": ["a", "b", "d"],
    "3.2": [
        lambda reply, count, limit: None,
        lambda reply, count, limit: read(reply, count),
        lambda reply, count, limit: sorted(set(read(reply, count) or [])),
        lambda reply, count, limit: list(dict.fromkeys(read(reply, count) or [])),
        lambda reply, count, limit: guard(reply, count, limit) or None,
        lambda reply, count, limit: list(dict.fromkeys(json.loads(reply)))[:limit],
        lambda reply, count, limit: guard(reply, count, limit) or [],
        lambda reply, count, limit: guard(reply, count + 1, limit),
        drops_the_wrong_ones,
        takes_true,
        cuts_first,
    ],
}
