"""What two texts have in common: content words, and words that belong to the same everyday field."""

import re
from collections.abc import Iterable
from functools import lru_cache
from math import log
from pathlib import Path

from hxmem.text import tokens

HAN = re.compile(r"[\u3400-\u9fff]")
_EMPTY_HAN = frozenset(
    "的了着在是我你您他她它们这那哪有和与或就不没也都很太更还又再才吗呢吧啊呀么什怎谁个把被给让对从到为以之其而但"
    "时要先用说请帮会能可得该若则地每次别请将及由向于并且只一"
)
_IDLE = re.compile(r"(\bhow (?:do|does)\b.*)\bwork\b|\bgo(?:es|ing)? to\b", re.I)  # no job, and no language
_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_EMPTY_RUN = re.compile(f"[{''.join(_EMPTY_HAN)}]+")
_PLAIN_VERBS = "后上下里中做有去来想问见找几多少看写点好"
_SAYING = """\
性能 功能 技能 时区 时间 时长 周会 例会 会议 会员 会计 会话 晨会 晚会 年会 开会 社会 机会 用户 费用
应用 用量 信用 地址 地区 地点 对象 对接 类别 级别 要求 要点 先后 优先 一级 个人 个数 每周 和平 与会 可用 得分 规则 原则
只读 向量 方向 以太 将来 及时 请假 请求 申请 帮助 小说 从库 主从"""
_WHOLE = frozenset(_SAYING.split())  # words with a character of _EMPTY_HAN that say something all the same
SOFT_WEIGHT, FIELD_WEIGHT, CHARACTER_WEIGHT = 0.2, 0.7, 0.45


@lru_cache(maxsize=1)
def _lists() -> dict[str, frozenset[str]]:
    text = Path(__file__).with_name("fields.txt").read_text(encoding="utf-8")
    return {name: frozenset(words.split()) for name, words in re.findall(r"^([\w-]+):(.*(?:\n .*)*)", text, re.M)}


def word_list(name: str) -> frozenset[str]:
    """One list of `fields.txt`."""
    return _lists()[name]


@lru_cache(maxsize=1)
def _fields() -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """The field of each English stem, and pairs of a Chinese word and its field."""
    pairs = [(word, "#" + name) for name, words in _lists().items() if name[0] != "-" for word in sorted(words)]
    latin = {stem(word): field for word, field in pairs if not HAN.match(word)}
    return latin, tuple(pair for pair in pairs if HAN.match(pair[0]))


@lru_cache(maxsize=1)
def _soft_han() -> re.Pattern[str]:
    return re.compile("|".join(sorted(word for word in word_list("-soft") if HAN.match(word))))


def is_chinese(text: str) -> bool:
    """Whether to answer in Chinese."""
    return bool(HAN.search(text))


def stem(word: str) -> str:
    """An English word without its commonest endings, so that "tests" meets "testing".

    >>> stem("testing"), stem("deployed"), stem("replies")
    ('test', 'deploy', 'reply')
    """
    if not (word.isascii() and word.isalpha()) or len(word) < 4:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


@lru_cache(maxsize=4096)
def units(text: str) -> dict[str, float]:
    """The content of a text as units with a weight: stemmed words, pairs of Han characters, fields (with a #)."""
    found: dict[str, float] = {}
    latin, han = _fields()
    empty, soft = word_list("-empty"), word_list("-soft")
    apart = _soft_han().sub(r" \g<0> ", _IDLE.sub(r"\1", text))  # no pairs across a filler word
    for token in tokens(apart):
        if HAN.match(token):
            if len(token) > 1 and (token in _WHOLE or not _EMPTY_HAN.intersection(token)):
                found[token] = SOFT_WEIGHT if token in soft else 1.0
        elif token not in empty and "-" not in token and (len(token) > 1 or token.isdecimal()):
            word = stem(token)
            found[word] = SOFT_WEIGHT if word in soft or token in soft else 1.0
            if word in latin:
                found[latin[word]] = FIELD_WEIGHT
    for word, field in han:
        if word in text and not (word == "茶" and re.search("茶水间|茶几", text)):
            found[field] = FIELD_WEIGHT
    for run in _HAN_RUN.findall(text):
        for part in _EMPTY_RUN.split(run):
            alone = CHARACTER_WEIGHT if len(part) == 1 and part not in _PLAIN_VERBS else 0.0
            found |= {character: max(alone, found.get(character, 0.0)) for character in part}
    return found


def overlap(first: str, second: str) -> float:
    """How much two texts share, by weight of the shared units."""
    other = units(second)
    return sum(weight for unit, weight in units(first).items() if unit in other)


def rarity(texts: Iterable[str]) -> dict[str, float]:
    """For each unit of a collection a factor from 0 to 1: 1 when one text alone has it, less when many share it."""
    counts: dict[str, int] = {}
    total = 0
    for text in texts:
        total += 1
        for unit in units(text):
            counts[unit] = counts.get(unit, 0) + 1
    return {unit: log(1 + total / count) / log(1 + total) for unit, count in counts.items()}


@lru_cache(maxsize=4096)
def marks(text: str) -> tuple[str, ...]:
    """The words and Han characters that carry the meaning, in order, each once.

    >>> marks("The deploy branch is main")
    ('deploy', 'branch', 'main')
    """
    found: dict[str, None] = {}
    for token in tokens(text):
        if HAN.match(token):
            found |= dict.fromkeys(c for c in token if c not in _EMPTY_HAN)
        elif token not in word_list("-empty"):
            found[stem(token)] = None
    return tuple(found)
