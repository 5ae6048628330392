"""JSON is found in whatever a model wraps around it, and a reply that can't be trusted gives a reason."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hxmem.replies import Item, Parsed, read_choice, read_items, read_json

TEA = {"name": "tea", "type": "user", "description": "drinks tea", "body": "The user drinks tea."}
CAKE = {"name": "cake", "type": "user", "description": "no cake", "body": "The user eats no cake."}
PROSE = st.text(st.characters(blacklist_characters="[]{}<"))


@pytest.mark.parametrize(
    "reply",
    [
        "[0]",
        " \ufeff[ 0 ]\r\n",
        "```json\n[0]\n```",
        "```\n[0]\n```",
        "```json\n[0]",
        "The best one is [0], since it names the desk.",
        "[0] } ] trailing",
        "looked at [2], chose [0]",
        "<think>[2] or [1, 2]? {</think>\n[0]",
        "<thinking>\nmaybe [2\n</thinking>\n```json\n[0]\n```",
        "思考：[2] 和 [1, 2] 都不合适。\n答案：[0]",
        "one of [0, 1 or 2], so [0]",
        "[see the catalog] I choose [0]",
        '{"answer": [0], "reason": "desk"}',
        "[99] is not there, so [0]",
    ],
)
def test_a_choice_is_found(reply):
    assert read_choice(reply, 12) == Parsed([0])


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("[99]", "99 is not a number of the catalog (0-11)"),
        ("[0, -1]", "-1 is not a number of the catalog (0-11)"),
        ("[0, true]", "true is not a whole number"),
        ("[1.0]", "1.0 is not a whole number"),
        ('["1"]', '"1" is not a whole number'),
        ("[null]", "null is not a whole number"),
        ("[[0]]", "a list or object is not a whole number"),
        ('[{"a": [0]}]', "a list or object is not a whole number"),
        ('{"a": [0], "b": [1]}', "the reply holds an object, not an array"),
        ("[" + "1" * 5000 + "]", "Infinity is not a whole number"),
        ("[0, 1", "the reply is cut off inside its JSON"),
        ("looked at [2], chose [0,", "the reply is cut off inside its JSON"),
        ("```json\n[0, 1\n```", "the reply is cut off inside its JSON"),
        ('[{"name": "a', "the reply is cut off inside its JSON"),
        ("<think>[2] or [0]", "the reply is cut off in its thinking part"),
        ("<think>[2]</think> None fits.", "the reply holds no JSON array"),
        ("", "the reply is empty"),
        (" \n" * 9, "the reply is empty"),
        ("null", "the reply holds no JSON array"),
        ("I choose 0.", "the reply holds no JSON array"),
        ("[" * 100_000, "the reply's JSON is nested too deeply"),
    ],
)
def test_a_choice_that_cannot_be_trusted_is_refused_with_its_reason(reply, reason):
    assert read_choice(reply, 12) == Parsed(None, reason)


@pytest.mark.parametrize("reply", ["[0, [1], oops", "[0, 1,]", "[0 1]", "[[1] x]", '[{"a": [0]}, x]'])
def test_the_ruins_of_a_broken_array_are_no_choice(reply):
    choice = read_choice(reply, 12)
    assert choice.value is None and choice.reason.startswith("the reply's JSON is broken")


def test_a_choice_holds_each_number_once_and_at_most_five():
    assert read_choice("[3, 3, 0, 3, 1, 2, 4, 5]", 12).value == [3, 0, 1, 2, 4]
    assert read_choice("[2, 1]", 12, limit=1).value == [2]
    assert read_choice("[]", 12) == Parsed([])


def test_the_last_value_that_fits_is_taken():
    def short(value):
        if len(value) > 1:
            raise ValueError("too long")
        return value

    assert read_json('[1] {"a": 2} [3, 4]', short) == Parsed({"a": 2})
    assert read_json("[1, 2] [3, 4]", short) == Parsed(None, "too long")


@pytest.mark.parametrize("wrap", ["{}", "```json\n{}\n```", "Sure:\n{}\nAnything else, as in [1]?", '{"memories": {}}'])
def test_items_are_found(wrap):
    assert read_items(wrap.replace("{}", json.dumps([TEA, CAKE]))) == ([Item(**TEA), Item(**CAKE)], [])


def test_one_object_or_one_a_line_is_read_like_an_array():
    assert read_items(json.dumps(TEA)) == ([Item(**TEA)], [])
    assert read_items(f"{json.dumps(TEA)}\n{json.dumps(CAKE)}") == ([Item(**TEA), Item(**CAKE)], [])


def test_good_items_are_kept_and_each_bad_one_is_named():
    bad = [{**TEA, "description": " "}, 7, {**TEA, "body": 1.5}, {"description": "d"}, {**TEA, "type": True}]
    items, problems = read_items(json.dumps([TEA, *bad, {"description": "d", "body": "b", "name": None}]))
    assert items == [Item(**TEA), Item("", "", "d", "b")]
    assert problems == [
        "item 2: no description",
        "item 3: not an object",
        "item 4: body is not text",
        "item 5: no body",
        "item 6: type is not text",
    ]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Nothing to keep.", "the reply holds no JSON array"),
        ("[1, 2]", "item 1: not an object"),
        ("{}", "the reply holds an object, not an array"),
        ('[{"name": "x"', "the reply is cut off inside its JSON"),
    ],
)
def test_a_reply_without_items_gives_a_reason(reply, reason):
    assert read_items(reply) == ([], [reason])


def test_objects_left_over_from_a_broken_array_are_not_taken():
    items, (reason,) = read_items(f'[{json.dumps(TEA)}, {{"name" 3}}, {json.dumps(CAKE)}]')
    assert items == [] and "broken" in reason


def test_no_items_is_no_problem():
    assert read_items("[]") == ([], [])


def test_escaped_emoji_become_one_character_and_lone_halves_vanish():
    reply = (
        r'[{"description": "\ud83c\udf78 \ud83c x \udf78", "body": "\\ud83c \n", "name": "'
        + "\ud83c\udf78\ud83c"
        + '"}]'
    )
    assert read_items(reply) == ([Item("🍸�", "", "🍸 � x �", "\\ud83c \n")], [])


def test_a_text_with_plain_line_breaks_is_read():
    assert read_items('[{"description": "d", "body": "one\ntwo"}]')[0][0].body == "one\ntwo"


@given(
    st.text()
    | st.lists(st.sampled_from([*'[]{}",:01 \\', "\\ud83c", "true", "<think>", '"body"', "\ud83c"])).map("".join)
)
def test_no_text_makes_the_reader_fail(text):
    choice = read_choice(text, 3)
    assert (choice.value is None) == bool(choice.reason)
    assert all(type(number) is int and 0 <= number < 3 for number in choice.value or [])
    items, problems = read_items(text)
    assert all(item.description.strip() and item.body.strip() for item in items)
    json.dumps([vars(item) for item in items], ensure_ascii=False).encode("utf-8")
    assert all("\n" not in problem for problem in problems)


@given(PROSE, st.lists(st.integers(0, 11), unique=True, max_size=5), PROSE)
def test_prose_around_an_array_changes_nothing(before, numbers, after):
    assert read_choice(f"{before}{numbers}{after}", 12) == Parsed(numbers)


@given(
    st.lists(
        st.builds(lambda text, body: {"description": text, "body": body}, st.text(max_size=20), st.text()),
        min_size=1,
        max_size=3,
    )
)
def test_any_cut_of_an_array_is_refused(items):
    reply = json.dumps(items)
    for end in range(len(reply)):
        assert read_items(reply[:end])[0] == []
        assert read_choice(reply[:end], 12).value is None


@pytest.mark.parametrize("piece", ["[", "{", '{"a":', '["', "[0x", "[1,", '["\\u', "\\", "[x", "[[]", '"', "[ "])
def test_a_megabyte_of_brackets_is_read_in_few_steps(piece):
    """The reader tries a bounded number of brackets: a quadratic one would not come back from this."""
    assert read_choice(piece * (1_000_000 // len(piece)), 3).value is None
