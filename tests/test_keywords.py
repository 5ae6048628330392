"""keywords.py: memories are found by telling words, in Chinese and English, and unrelated questions find none."""

import runpy
from pathlib import Path

import pytest

from hxmem.drawer.detail import Memory
from hxmem.drawer.keywords import Hit, Keywords

EXAMPLE = Memory(
    name="harnessx-desk-drawer-explanation",
    type="user",
    description="讲 HarnessX 时先用书桌和小抽屉的例子，再讲代码",
    body="以后讲 HarnessX，先用“书桌和小抽屉”的例子，再讲代码。",
)
UV = Memory("python-deps", "feedback", "装 Python 依赖用 uv", "不要用 pip。")
CAT = Memory("cat", "user", "养了一只黑猫", "黑猫叫豆包，三岁。")
DATABASE = Memory("staging-database", "project", "Staging runs Postgres 15", "Ask Mira before an upgrade.")
MEMORIES = [EXAMPLE, UV, CAT, DATABASE]


def search(query: str, limit: int = 5) -> list[Hit]:
    return Keywords().search(MEMORIES, query, limit)


@pytest.mark.parametrize(
    ("query", "memory"),
    [
        ("我之前说过你讲 HarnessX 时要先用什么例子吗？", EXAMPLE),
        ("书桌", EXAMPLE),
        ("抽屉", EXAMPLE),
        ("讲课要先用什么例子", EXAMPLE),
        ("desk drawer", EXAMPLE),
        ("依赖用什么装", UV),
        ("猫", CAT),
        ("我的猫几岁", CAT),
        ("猫叫什么", CAT),
        ("Which Postgres version is on staging?", DATABASE),
        ("mira", DATABASE),
    ],
)
def test_the_memory_is_found_first(query: str, memory: Memory) -> None:
    assert search(query)[0].memory == memory


@pytest.mark.parametrize(
    "query", ["", "  ", "hello", "hi", "你好", "What is the weather like in Paris?", "今天天气怎么样", '"', "(x", "C++"]
)
def test_an_unrelated_query_finds_nothing(query: str) -> None:
    assert search(query) == []


def test_the_reason_names_the_shared_words() -> None:
    assert search("书桌在哪，抽屉呢")[0].why == "shares 书桌, 抽屉"


@pytest.mark.parametrize(
    ("query", "memory"), [("before an", DATABASE), ("不要", UV), ("“不要”？", UV), ("upgr", DATABASE)]
)
def test_what_holds_no_telling_word_is_looked_for_as_it_stands(query: str, memory: Memory) -> None:
    hits = search(query)
    assert [hit.memory for hit in hits] == [memory]
    assert hits[0].why == "contains " + query.strip("“”？")


def test_a_short_latin_query_is_not_found_inside_a_word() -> None:
    assert search("on") == []  # it stands in "Python"
    assert search("sta") == []  # it begins "staging"


def test_the_limit_holds() -> None:
    assert len(search("Postgres 书桌 uv 黑猫", limit=2)) == 2
    assert search("书桌", limit=0) == []


def test_a_changed_list_is_searched_as_it_is_now() -> None:
    keywords = Keywords()
    assert keywords.search(MEMORIES, "书桌")
    assert keywords.search([UV, CAT], "书桌") == []
    assert [hit.memory for hit in keywords.search(MEMORIES, "书桌")] == [EXAMPLE]


@pytest.mark.parametrize(("language", "least"), [("zh", 0.50), ("en", 0.49)])
def test_recall_on_madial(language: str, least: float) -> None:
    bench = runpy.run_path(str(Path(__file__).parent / "bench" / "recall.py"))
    assert bench["mean"](bench["madial"](language, bench["keyword_search"])) >= least
