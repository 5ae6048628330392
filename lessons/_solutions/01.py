"""Solutions of lesson 01, and wrong answers that the checks must tell apart."""


def next_messages(history, text):
    return [*history, {"role": "user", "content": text}]


def changes_the_list(history, text):
    history.append({"role": "user", "content": text})
    return history


SOLUTIONS = {"1.1": "b", "1.2": next_messages}

WRONG = {
    "1.1": ["a", "c", "d"],
    "1.2": [
        changes_the_list,
        lambda history, text: {"role": "user", "content": text},
        lambda history, text: [*history, text],
        lambda history, text: list(history),
        lambda history, text: [*history, {"role": "assistant", "content": text}],
        lambda history, text: [{"role": "user", "content": text}],
        lambda history, text: [{"role": "user", "content": text}, *history],
        lambda history, text: [*history, *history, {"role": "user", "content": text}],
    ],
}
