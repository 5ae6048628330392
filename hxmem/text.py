"""Splits text into tokens for searching, estimates model tokens, and cuts, mends and compares texts."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import accumulate
from typing import TypeVar

# Scripts without spaces between words. Han and kana share a run, because Japanese words mix them (食べる).
HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7ff"
TRIGRAM_SCRIPTS = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"  # Thai, Lao, Burmese, Khmer
_EMOJI = "[\U0001f1e6-\U0001f1ff]{2}|[\u2190-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
CJK = re.compile(f"[{HAN}{KANA}{HANGUL}]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufe00-\ufe0f\ufeff\U0001f3fb-\U0001f3ff]")  # joiners, skin tones
_PART = re.compile(r"[^\w+#]+|_|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])")

# What squash drops: spaces and punctuation. The group holds what stays, for it tells 3.11 from 311 and .env from env.
_DROPPED = re.compile(
    r"((?<=\d)[.,:/-](?=\d)|(?<![\w.-])[.-](?=\w))|[\s_!\"'()*,.:;?`{}\[\]-]"
    "|[\u00a1-\u00bf\u2000-\u206f\u3000-\u3003\u3008-\u303f\u30fb\u060c\u061b\u061f\u0964\u0965\ufe00-\ufe0f\ufeff]"
)
_CUT = " [...] "
T = TypeVar("T")


@lru_cache(maxsize=2)
def runs(ascii_only: bool) -> re.Pattern[str]:
    """The pattern that finds one run; its groups are CJK, a script without spaces, an emoji, and a word."""
    runs, word = "()()()", "[A-Za-z0-9]+"  # plain ASCII holds words only and is four times as fast that way
    if not ascii_only:
        # Vowel signs and accents (category M) are not \w for `re`, yet a Hindi word falls apart without them.
        blocks = (range(0x300, 0x1C00), range(0xA600, 0xAC00), range(0x11000, 0x12000))
        marks = "".join(chr(c) for block in blocks for c in block if unicodedata.category(chr(c))[0] == "M")
        runs = f"([{HAN}{KANA}]+|[{HANGUL}]+)|([{TRIGRAM_SCRIPTS}]+)|({_EMOJI})|"
        letters = f"(?:[A-Za-z0-9]+|[^\\W_{HAN}{KANA}{HANGUL}{TRIGRAM_SCRIPTS}]+)+"
        word = f"{letters}(?:[{marks}]+(?:{letters})?)*"
    return re.compile(f"{runs}((?:(?<![\\w.])\\.)?{word}(?:(?:://|_+|[.\\-@/:]){word})*(?:\\+\\+|\\#)?)")


def normal(text: str) -> str:
    """The text in the form in which it is searched: NFKC, without joiners and skin tones."""
    return text if text.isascii() else _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


def grams(run: str, size: int) -> list[str]:
    """Overlapping pieces of a run; none when the run is shorter.

    >>> grams("小抽屉", 2)
    ['小抽', '抽屉']
    """
    return [run[i : i + size] for i in range(len(run) - size + 1)]


def tokens(text: str) -> list[str]:
    """The tokens of a text in order, found in the same way for documents and queries.

    >>> tokens("小抽屉里有 HarnessX")
    ['小抽', '抽屉', '屉里', '里有', 'harnessx', 'harness']
    """
    found: list[str] = []
    text = normal(text)
    for cjk, other, emoji, word in runs(text.isascii()).findall(text):
        found += word_tokens(word) if word else grams(cjk, 2) or grams(other, 3) or [cjk or other or emoji]
    return found


@lru_cache(maxsize=1 << 14)
def word_tokens(word: str) -> tuple[str, ...]:
    """A word, its parts where it is written together, and its form without accents."""
    whole = word.casefold()
    found = [whole]
    if not (whole.isalpha() and word[1:] == whole[1:]):
        found += [part.casefold() for part in _PART.split(word.rstrip("+#")) if 1 < len(part) < len(word)]
    if not whole.isascii() and whole[0] < "\u0900":  # Latin to Arabic scripts: without accents and vowel points too
        plain = "".join(c for c in unicodedata.normalize("NFD", whole) if unicodedata.category(c) != "Mn")
        found += [plain] if plain != whole else []
    return tuple(found)


def estimate_tokens(text: str) -> int:
    """How many tokens a text takes: 0.6 a CJK character, 0.3 any other (DeepSeek's documentation, "Token usage").

    >>> estimate_tokens("书桌 and 抽屉")
    4
    """
    cjk = len(CJK.findall(text))
    return (6 * cjk + 3 * (len(text) - cjk) + 9) // 10


def cut_middle(text: str, limit: int) -> str:
    """At most `limit` characters of a text: its start and its end, with a mark where the middle is left out.

    >>> cut_middle("first things first, last things last", 20)
    'first t [...] s last'
    """
    if len(text) <= limit:
        return text
    room = max(0, limit - len(_CUT))
    head, tail = edge(text, room - room // 2, -1), edge(text, len(text) - room // 2, 1)
    return text[:head] + _CUT[: max(0, limit)] + text[tail:]


def edge(text: str, at: int, step: int) -> int:
    """The place from `at` on, in at most 16 steps, where a cut parts no accent, vowel sign or joined emoji."""
    for _ in range(16):
        if not 0 < at < len(text):
            break
        if unicodedata.category(text[at])[0] != "M" and not _INVISIBLE.match(text, at) and text[at - 1] != "\u200d":
            break
        at += step
    return at


def fitting(items: Iterable[T], size: Callable[[T], int], room: int) -> list[T]:
    """The first items whose sizes together are at most `room`.

    >>> fitting(["desk", "and", "drawer"], len, 10)
    ['desk', 'and']
    """
    listed = list(items)
    return [item for item, used in zip(listed, accumulate(map(size, listed)), strict=True) if used <= room]


def unix_lines(text: str) -> str:
    """The text with every line end as LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def whole(text: str) -> str:
    r"""The text with halves of a character joined, and one without its other half, which UTF-8 can't write, replaced.

    >>> whole("\ud83d\ude00"), whole("\ud83d!")
    ('😀', '\ufffd!')
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def squash(text: str) -> str:
    """The form in which two texts count as the same: without case, width, spaces and punctuation.

    >>> squash("用 ＵＶ，安装 Python 3.11！") == squash("用uv安装python3.11"), squash("C++") == squash("C#")
    (True, False)
    """
    return _DROPPED.sub(r"\1", unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()))
