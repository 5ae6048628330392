"""Solutions of lesson 07, and wrong answers that the checks must tell apart."""


def vanished(before, after, named=()):
    return [entry for entry in before if entry not in after and entry not in named]


def lost(before, after, named):
    gone = vanished(before, after, named)
    return gone if len(gone) > len(before) / 4 else []


def at_most_less(before, after, named):
    gone = vanished(before, after, named)
    return gone if len(gone) >= len(before) / 4 else []


def deaf(before, after, named):
    gone = vanished(before, after)
    return gone if len(gone) > len(before) / 4 else []


def trusting(before, after, named):
    return [] if named else lost(before, after, named)


def by_length(before, after, named):
    gone = vanished(before, after, named)
    return gone if len(before) - len(after) - len(named) > len(before) / 4 else []


def of_the_new(before, after, named):
    gone = vanished(before, after, named)
    return gone if len(gone) > len(after) / 4 else []


def rounded(before, after, named):
    gone = vanished(before, after, named)
    return gone if len(gone) > -(-len(before) // 4) else []


SOLUTIONS = {"7.1": "b", "7.2": lost}

WRONG = {
    "7.1": ["a", "c", "d"],
    "7.2": [
        lambda before, after, named: bool(lost(before, after, named)),
        lambda before, after, named: [before.index(entry) for entry in lost(before, after, named)],
        lambda before, after, named: [],
        at_most_less,
        deaf,
        trusting,
        by_length,
        of_the_new,
        rounded,
    ],
}
