"""Solutions of lesson 06, and wrong answers that the checks must tell apart."""


def place_for(messages, budget, tokens_of):
    place = len(messages) - 1
    room = budget - tokens_of(messages[place])
    while place > 0 and tokens_of(messages[place - 1]) <= room:
        place -= 1
        room -= tokens_of(messages[place])
    while place > 0 and messages[place]["role"] == "tool":
        place -= 1
    return place


def from_the_start(messages, budget, tokens_of):
    place = 0
    while place < len(messages) and tokens_of(messages[place]) <= budget:
        budget -= tokens_of(messages[place])
        place += 1
    return place


def too_strict(messages, budget, tokens_of):
    return place_for(messages, budget - 1, tokens_of)


def never_all(messages, budget, tokens_of):
    return max(1, place_for(messages, budget, tokens_of))


def may_be_empty(messages, budget, tokens_of):
    return len(messages) if tokens_of(messages[-1]) > budget else place_for(messages, budget, tokens_of)


def naive(messages, budget, tokens_of):
    last = len(messages) - 1
    fits = (at for at in range(last) if sum(map(tokens_of, messages[at:])) <= budget)
    return next(fits, last)


def one_step(messages, budget, tokens_of):
    place = naive(messages, budget, tokens_of)
    return place - 2 if place == 3 and messages[3]["role"] == "tool" else place


def always_back(messages, budget, tokens_of):
    place = place_for(messages, budget, tokens_of)
    return 0 if place == 1 and budget == 45 else place


def pops(messages, budget, tokens_of):
    place = place_for(messages, budget, tokens_of)
    del messages[:place]
    return place


SOLUTIONS = {"6.1": "b", "6.2": place_for}

WRONG = {
    "6.1": ["a", "c", "d"],
    "6.2": [
        lambda messages, budget, tokens_of: messages[place_for(messages, budget, tokens_of) :],
        lambda messages, budget, tokens_of: place_for(messages, budget, tokens_of) - len(messages),
        pops,
        from_the_start,
        too_strict,
        never_all,
        may_be_empty,
        naive,
        one_step,
        always_back,
    ],
}
