"""Solutions of lesson 00, and wrong answers that the checks must tell apart."""


def lay(note, question):
    return f"{note}\n\nUser request:\n{question}"


SOLUTIONS = {"0.1": "b", "0.2": lay}

WRONG = {
    "0.1": ["a", "c", "d"],
    "0.2": [
        lambda note, question: question,
        lambda note, question: note,
        lambda note, question: f"{question}\n\nUser request:\n{note}",
        lambda note, question: f"{note}\n{question}",
        lambda note, question: [note, question],
    ],
}
