"""Solutions of lesson 08, and wrong answers that the checks must tell apart."""

import re


def cut(text, pattern="[一-龥]+|[a-z0-9]+", alone=True, size=2):
    found = []
    for run in re.findall(pattern, text):
        pairs = [run[at : at + size] for at in range(len(run) - size + 1)]
        found += [run] if run.isascii() else pairs or [run] * alone
    return found


def pieces(text):
    return cut(text.lower())


def over_signs(text):
    return cut(re.sub("[，。]", "", text.lower()))


def latin_last(text):
    found = pieces(text)
    return [piece for piece in found if not piece.isascii()] + [piece for piece in found if piece.isascii()]


def pairs_of_all(text):
    runs = re.findall(r"\w+", text.lower())
    return [piece for run in runs for piece in [run[at : at + 2] for at in range(len(run) - 1)] or [run]]


SOLUTIONS = {"8.1": "b", "8.2": pieces}

WRONG = {
    "8.1": ["a", "c", "d"],
    "8.2": [
        lambda text: None,
        lambda text: set(pieces(text)),
        lambda text: cut(text.lower(), size=3),
        lambda text: cut(text.lower(), alone=False),
        pairs_of_all,
        lambda text: cut(text, "[一-龥]+|[A-Za-z0-9]+"),
        lambda text: cut(text.lower(), "[一-龥]+|[a-z]+"),
        over_signs,
        latin_last,
        lambda text: list(dict.fromkeys(pieces(text))),
        lambda text: pieces(text) or [text],
    ],
}
