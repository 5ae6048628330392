"""What two texts have in common: content words, and words that belong to the same everyday field."""

import re
from collections.abc import Iterable
from functools import lru_cache
from math import log

from hxmem.text import tokens

HAN = re.compile(r"[\u3400-\u9fff]")
_EMPTY_HAN = frozenset(
    "的了着在是我你您他她它们这那哪有和与或就不没也都很太更还又再才吗呢吧啊呀么什怎谁个把被给让对从到为以之其而但"
    "时要先用说请帮会能可得该若则地每次别请将及由向于并且只一"
)
_EMPTY_WORDS = frozenset(
    "a about after again all also am an and any are as at be because been before being both but by can could did do does "
    "doing don down for from further had has have having he her him his how i if in into is isn it its just let ll me more "
    "most my no nor not now of off ok on once only or other our out over own please re s same she should so some such t "
    "than that the their them then there these they this those through to too under until up us ve very was wasn we were "
    "what when where which while who whom whose why will with won would you your d m always never remember note told tell "
    "said say know think thing user d ever again anymore longer instead rather keep make get got use used using".split()
)
_SOFT = frozenset(
    "喜欢 习惯 偏好 项目 我们 团队 记住 以后 告诉 知道 内容 东西 事情 问题 情况 代码 怎样 如何 现在 "
    "explain 解释 prefer like love hate enjoy want need project team work code thing question fact good new first one".split()
)
_HOW = re.compile(r"\bhow (?:do|does)\b(.*)\bwork\b", re.I)  # asks about no job
SOFT_WEIGHT, FIELD_WEIGHT, CHARACTER_WEIGHT = 0.2, 0.7, 0.4

# Words that people use for the same thing: a question says "database", the note says "PostgreSQL".
_FIELDS = """
database: database db postgres postgresql mysql mariadb sqlite mongodb oracle 数据库 库表
packages: package dependency npm pnpm yarn bun pip uv poetry conda cargo 包管理 依赖
testing: test pytest unittest jest vitest tdd 测试 单测
deploy: deploy deployment release ship rollout production launch 部署 发布 上线 发版 生产环境
branch: branch trunk 分支 主干
speech: language english chinese japanese spanish french german korean italian 中文 英文 英语 日语 日文 法语 德语 语言
coding: code programming python rust golang javascript typescript java kotlin ruby swift 编程语言 编程 写代码
editor: editor vim neovim emacs vscode ide 编辑器
indent: indent indentation tab space 缩进 制表符 空格
style: format formatter lint linter ruff black prettier eslint 格式化 代码风格
food: food eat pork beef fish meal dinner lunch breakfast recipe restaurant cook snack dish vegetarian vegan diet allergy allergic peanut
 吃 餐 饭 菜 零食 食谱 食物 过敏 素食 忌口
drink: drink coffee tea beer juice 喝 饮料 咖啡 茶
home: grow grew live city home address hometown based 住 城市 老家 来自 家在
job: job work profession occupation career engineer developer teacher nurse doctor designer analyst scientist
 工作 职业 上班 工程师 老师 医生 护士 设计师 从事 做什么的
name: name call 名字 叫 称呼 姓名
pet: pet dog cat 宠物 猫 狗
colour: color colour red blue green yellow purple 颜色 蓝色 红色 绿色 黄色 紫色 黑色 白色
places: doc documentation wiki manual guide handbook link url 文档 资料 手册 教程 指南 参考 链接
tracker: issue bug ticket tracker jira linear backlog 工单 缺陷 看板
watch: dashboard monitoring grafana metric alert 监控 仪表盘 告警 大盘
date: deadline schedule freeze when date 日期 截止 什么时候 几号 何时 冻结 多久
answer: answer reply response respond explain explanation tone concise brief 回答 回复 讲解 解释 语气 简洁 讲
commit: commit push merge 提交 合并 推送
family: wife husband son daughter kid child mother father sister brother family 妻子 老婆 丈夫 老公 儿子 女儿 孩子 妈妈 爸爸 家人
weekday: monday tuesday wednesday thursday friday saturday sunday day weekday 周一 周二 周三 周四 周五 周六 周日 星期 周几
birthday: birthday born 生日 出生
sport: sport hobby climbing running swimming 运动 爱好 兴趣 跑步 游泳
example: example analogy metaphor 例子 比喻 类比 举例
comment: comment docstring 注释
frontend: react vue svelte angular frontend 前端
ci: ci pipeline jenkins 流水线 持续集成
cloud: aws azure gcp cloud 云 阿里云 腾讯云
timezone: timezone utc 时区
"""


@lru_cache(maxsize=1)
def _fields() -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    latin: dict[str, str] = {}
    han: list[tuple[str, str]] = []
    name = ""
    for word in re.findall(r"\S+", _FIELDS):
        if word.endswith(":"):
            name = "#" + word[:-1]
        elif HAN.match(word):
            han.append((word, name))
        else:
            latin[stem(word)] = name
    return latin, tuple(han)


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
    for token in tokens(_HOW.sub(r"\1", text)):
        if HAN.match(token):
            if not _EMPTY_HAN.intersection(token):
                found[token] = SOFT_WEIGHT if token in _SOFT else 1.0 if len(token) > 1 else CHARACTER_WEIGHT
        elif token not in _EMPTY_WORDS and "-" not in token and (len(token) > 1 or token.isdecimal()):
            word = stem(token)
            found[word] = SOFT_WEIGHT if word in _SOFT or token in _SOFT else 1.0
            if word in latin:
                found[latin[word]] = FIELD_WEIGHT
    for word, field in han:
        if word in text:
            found[field] = FIELD_WEIGHT
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


def marks(text: str) -> list[str]:
    """The words and Han characters that carry the meaning, in order, each once.

    >>> marks("The deploy branch is main")
    ['deploy', 'branch', 'main']
    """
    found: dict[str, None] = {}
    for token in tokens(text):
        if HAN.match(token):
            found |= dict.fromkeys(c for c in token if c not in _EMPTY_HAN)
        elif token not in _EMPTY_WORDS:
            found[stem(token)] = None
    return list(found)
