"""Lesson 01: which body can have led to an answer, and building the messages of the next turn."""

import copy
from collections.abc import Callable
from typing import Any

from hxmem.lab.checks import Exercise, choice, expect, returned

_CHATS: tuple[tuple[list[dict[str, str]], str], ...] = (
    ([], "Hello"),
    (
        [
            {"role": "user", "content": "My cat is called Rice Cake."},
            {"role": "assistant", "content": "Noted.", "reasoning_content": "A name."},
        ],
        "我的猫叫什么？",
    ),
)


def _next(next_messages: Callable[[list[dict[str, str]], str], Any]) -> None:
    for history, text in _CHATS:
        given = copy.deepcopy(history)
        made = next_messages(given, text)
        expect(given == history, "the list that you were given has changed: build a new one")
        messages = returned(made)
        expect(isinstance(messages, list), "return a list of messages")
        expect(all(isinstance(message, dict) for message in messages), "each message is a dictionary, not a bare text")
        new = [message for message in messages if message.get("content") == text]
        expect(bool(new), "no message has the new text as its content")
        expect(new[0].get("role") == "user", "the new text is said by you: look at its role")
        expect(len(messages) > len(history), "earlier messages are missing: then the model can't know them")
        expect(messages[-1] == new[0], "the new message belongs at the end, after all earlier ones")
        expect(
            messages == [*history, {"role": "user", "content": text}], "send the earlier messages whole, once, in order"
        )


EXERCISES = {
    "1.1": Exercise(
        choice(
            "b",
            {
                "a": "a number is not the text behind it: the server keeps no chats",
                "c": "an order to remember brings nothing to the desk: the name is not in this body",
            },
        ),
        (
            "Forget who said what. Look for the name itself.",
            "The model sees all text in the messages. It need not stand in a message of yours.",
            "Search each body for the two words of the answer.",
        ),
    ),
    "1.2": Exercise(
        _next,
        (
            'The program under "Run it" does this in one line, in the call of chat.',
            "A message is a dictionary with a role and a content. Who is speaking?",
            "`[*a, b]` is a new list with everything in a, and then b. `append` would change the old one.",
        ),
    ),
}
