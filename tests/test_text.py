"""text.py: tokens, ranking, token estimates, cutting, and when two texts count as the same."""

import unicodedata

import pytest

from hxmem.ranking import document, rank
from hxmem.text import cut_middle, estimate_tokens, squash, tokens

NOTES = [
    "讲课时先用书桌和小抽屉的例子",
    "装 Python 依赖一律用 uv，不用 pip",
    "The staging database is Postgres 15; ask Mira before an upgrade.",
    "User is allergic to peanuts and likes long walks.",
]


def found(query: str, notes: list[str] = NOTES, limit: int = 5) -> list[str]:
    documents = [document([(note, 1)]) for note in notes]
    return [notes[one.index] for one in rank(query, documents, limit)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天讨论了部署方案", "今天 天讨 讨论 论了 了部 部署 署方 方案"),
        ("猫", "猫"),
        ("用uv装", "用 uv 装"),
        ("重跑gen-itgc后50条", "重跑 gen-itgc gen itgc 后 50 条"),
        ("ＡＰＩ", "api"),
        ("ﾃﾞｰﾀ", "デー ータ"),
        ("食べる", "食べ べる"),
        ("𠮷野家", "𠮷野 野家"),
        ("끝말잇기 놀이", "끝말 말잇 잇기 놀이"),
        ("हिन्दी भाषा", "हिन्दी भाषा"),
        ("ภาษาไทย", "ภาษ าษา ษาไ าไท ไทย"),
        ("ကခဂဃ", "ကခဂ ခဂဃ"),
        ("赵雅琳", "赵雅 雅琳"),
        ("snake_case", "snake_case snake case"),
        ("pre-edit", "pre-edit pre edit"),
        ("getUserName HTTPServer", "getusername get user name httpserver http server"),
        ("C++ C# C", "c++ c# c"),
        (".env env", ".env env env"),
        ("End. Next", "end next"),
        ("Python 3.11, v2", "python 3.11 11 v2"),
        ("li.wei@example.com", "li.wei@example.com li wei example com"),
        ("src/app/main.py", "src/app/main.py src app main py"),
        ("#deploy", "deploy"),
        ("Café", "café cafe"),
        ("🐱👍🏽🇨🇳", "🐱 👍 🇨🇳"),
        ("👩‍🚀", "👩 🚀"),
        ("STRASSE Straße", "strasse strasse"),
        ("\u0301!?…，。", ""),
        ("", ""),
    ],
)
def test_tokens(text: str, expected: str) -> None:
    assert tokens(text) == expected.split()


@pytest.mark.parametrize("text", ["Café", "デート", "한국어", "Việt Nam", "naïve résumé"])
def test_decomposed_text_has_the_same_tokens(text: str) -> None:
    assert tokens(unicodedata.normalize("NFD", text)) == tokens(text)


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("书桌", 0),
        ("抽屉", 0),
        ("讲课要先用什么例子", 0),
        ("依赖怎么装？", 1),
        ("UV", 1),
        ("Who decides about upgrading the database?", 2),
        ("postgres", 2),
        ("is he allergic to a peanut", 3),
        ("Does he like walking?", 3),
    ],
)
def test_a_question_finds_its_note_first(query: str, place: int) -> None:
    assert found(query)[:1] == [NOTES[place]]


@pytest.mark.parametrize(
    "query",
    [
        "",
        " \n\t",
        "the and of",
        "你好，请问你是谁？",
        "你知道什么吗",
        "What do you think about it?",
        "How far is the moon from here?",
        "北京明天会下雨吗",
        "明日の天気は？",
        "¿Qué hora es?",
        '"',
        "(x",
        "NEAR( OR * ^",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 4])
def test_an_unrelated_question_finds_nothing_in_a_small_store_either(query: str, size: int) -> None:
    assert found(query, NOTES[:size]) == []


def test_one_shared_word_is_enough_for_a_short_question_but_not_for_a_long_one() -> None:
    assert found("Which upgrade?") == [NOTES[2]]
    assert found("Write a haiku about walks among autumn leaves") == []
    assert found("Write a haiku about long walks among autumn leaves") == [NOTES[3]]


def test_a_latin_word_in_a_chinese_question_is_enough() -> None:
    assert found("上次讨论的那个关于 Postgres 升级的事情最后是谁负责决定的") == [NOTES[2]]


def test_a_word_that_most_notes_hold_is_not_enough_beside_one_that_none_holds() -> None:
    notes = [f"project number {number}" for number in range(50)] + ["project budget is 900"]
    assert found("project berlin", notes) == []
    assert found("project budget", notes)[0] == "project budget is 900"
    assert len(found("project", notes)) == 5


def test_a_character_that_stands_alone_is_a_word() -> None:
    notes = ["用户养了一只黑猫", "用户喜欢喝绿茶"]
    assert found("你的猫呢", notes) == ["用户养了一只黑猫"]
    assert found("人", ["用户是上海人"]) == []


def test_grammar_and_common_words_are_not_enough() -> None:
    assert found("今天几号", ["今天很忙"]) == []
    assert found("なにがありますか", ["ありがとうカード"]) == []


def test_of_two_notes_with_the_same_word_the_shorter_comes_first() -> None:
    notes = ["tea, coffee, milk, sugar, lemon, honey and cake", "tea and cake"]
    assert found("tea", notes) == notes[::-1]


def test_traditional_characters_do_not_find_simplified_ones() -> None:
    assert found("書桌") == []


def test_c_plus_plus_and_c_sharp_are_two_languages() -> None:
    notes = ["prefers C++ at work", "prefers C# at home"]
    assert found("C++", notes) == notes[:1]
    assert found("C#", notes) == notes[1:]


def test_accents_may_be_left_out_and_an_exact_match_comes_first() -> None:
    assert found("cafe", ["meets at Café Nord"]) == ["meets at Café Nord"]
    assert found("café", ["the cafe", "the café"])[0] == "the café"


def test_emoji_are_found() -> None:
    assert found("🍕?", ["likes 🍕", "likes 🍣"]) == ["likes 🍕"]


def test_ties_keep_the_order_given_and_the_limit_holds() -> None:
    notes = ["green tea", "green tea", "green tea"]
    documents = [document([(note, 1)]) for note in notes]
    assert [one.index for one in rank("green tea", documents, limit=2)] == [0, 1]
    assert rank("green tea", documents, limit=0) == []
    assert rank("green tea", []) == []


def test_a_heavier_field_wins() -> None:
    first, second = document([("tea", 1), ("coffee", 3)]), document([("tea", 3), ("coffee", 1)])
    assert [one.index for one in rank("tea", [first, second])] == [1, 0]


def test_field_weights_alike_for_all_change_no_score() -> None:
    def scores(weight: int) -> list[float]:
        return [one.score for one in rank("database upgrade", [document([(note, weight)]) for note in NOTES])]

    assert scores(3) == pytest.approx(scores(1))


def test_repeating_a_word_saturates() -> None:
    documents = [document([("tea from Assam", 1)])]
    once, often = (rank("tea " * times, documents)[0].score for times in (1, 500))
    assert once < often < 10 * once


def test_in_a_dialogue_the_first_and_the_last_line_weigh_more() -> None:
    notes = ["a garden", "a piano"]
    assert found("the garden\nthe piano piano\nsee the garden", notes) == ["a garden", "a piano"]
    assert found("the piano\nthe garden garden\nsee the piano", notes) == ["a piano", "a garden"]


def test_surrounding_blank_lines_change_nothing() -> None:
    documents = [document([(note, 1)]) for note in NOTES]
    assert rank("\n\n database upgrade \n", documents) == rank("database upgrade", documents)


def test_the_shared_words_are_told_as_the_question_has_them() -> None:
    documents = [document([(note, 1)]) for note in NOTES]
    assert rank("upgrades of databases", documents)[0].terms == ("databases", "upgrades")


def test_the_rarest_shared_word_is_told_first() -> None:
    documents = [document([(note, 1)]) for note in ("tea zebra", "tea lion", "tea wolf")]
    assert rank("tea zebra", documents)[0].terms == ("zebra", "tea")


def test_a_long_query_is_answered() -> None:
    assert found("讲课要先用什么例子？" * 1000)[0] == NOTES[0]


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0), ("书桌", 2), ("hello", 2), ("书桌 and 抽屉", 4), ("𠮷" * 10, 6), ("a" * 10, 3)]
)
def test_token_estimates(text: str, expected: int) -> None:
    assert estimate_tokens(text) == expected


def test_a_short_text_is_not_cut() -> None:
    assert cut_middle("as it is", 8) == "as it is"


@pytest.mark.parametrize("limit", range(-1, 40))
@pytest.mark.parametrize("text", ["0123456789" * 5, "e\u0301" * 30, "👩\u200d🚀" * 20, "हि" * 30, "❤\ufe0f" * 30])
def test_a_cut_text_keeps_to_the_limit_and_parts_no_character(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)
    assert len(cut) <= max(0, limit)
    head, mark, tail = cut.partition(" [...] ")
    if mark:
        assert text.startswith(head) and text.endswith(tail)
        size = len(text) // text.count(text[0])
        assert text[0].isdigit() or len(head) % size == len(tail) % size == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("先用书桌，再讲代码。", "先用书桌 再讲代码"),
        ("Use tabs!", "use  TABS"),
        ("ＵＶ", "uv"),
        ("“so”", '"so"'),
        ("等等…再说", "等等，再说"),
        ("Café", unicodedata.normalize("NFD", "CAFÉ")),
        ("- an item", "an item"),
        ("`uv`", "uv"),
        ("❤\ufe0f", "❤"),
        ("Straße", "STRASSE"),
    ],
)
def test_texts_that_count_as_the_same(one: str, other: str) -> None:
    assert squash(one) == squash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C++", "C#"),
        ("C++", "C"),
        ("C#", "C"),
        ("3.11", "311"),
        ("12:30", "1230"),
        (".env", "env"),
        ("-5", "5"),
        ("50%", "50"),
        ("Café", "Cafe"),
        ("🐱", "🐶"),
        ("हिन्दी", "हन्दी"),
    ],
)
def test_texts_that_differ(one: str, other: str) -> None:
    assert squash(one) != squash(other)
