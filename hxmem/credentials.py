"""Finds keys, tokens and passwords in a text and masks them.

A known shape (`sk-...`, `ghp_...`, a PEM block) is a credential wherever it stands. After a label (password, token,
API key, 密码, ...) the value decides: it is taken when a part of it mixes letters and digits or is very long. After a
password label with "is", ":" or the like any word is taken but such as "required" or "stored", and so is a phrase of
small words that ends the clause. A value in Chinese is left alone, unless it stands in quotes after a password label.
"""

import re
from dataclasses import dataclass

_SHAPES = (  # kind, expression; its group, if any, is the credential
    ("private key", r"(?s)-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----.*?(?:-----END [^-\n]{0,60}-----|\Z)"),
    ("password", r"(?i)(?<![a-z\d])[a-z][a-z\d+.-]{1,20}://[^\s/@:]{0,100}:(?![$<{*\[])([^\s/]{1,200})@"),
    ("API key", r"(?<![\w-])[spr]k[-_](?=[\w-]{0,40}?(?:(?=[A-Za-z]{0,7}\d)[A-Za-z\d]{8}|[A-Za-z\d]{16}))[\w-]{8,}"),
    ("API key", r"(?<![\w-])(?:(?:AKIA|ASIA)[A-Z\d]{16}|LTAI[A-Za-z\d]{12,})"),
    ("API key", r"(?<![\w-])(?:AIza[\w-]{30,}|SG\.[\w-]{16,}\.[\w-]{16,})"),
    ("token", r"(?<![\w-])(?:gh[opsur]_[A-Za-z\d]{10,}|github_pat_\w{10,}|glpat-[\w-]{10,}|xox[a-z]-[\w-]{10,})"),
    ("token", r"(?<![\w-])(?:hf_[A-Za-z\d]{20,}|npm_[A-Za-z\d]{30,}|pypi-[\w-]{40,})"),
    ("token", r"(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]{5,}"),
    (
        "password",
        r"(?<![!-~])(?=\S{0,60}\d)([!-Z^-~]{6,64})\s(?:是|(?:as|is)\s)(?:我的|my\s)(?:[\w-]+\s)?(?:密码|口令|password)",
    ),
)
_LABELLED = re.compile(
    r"""(?ix)
    (?:(?P<password>pass(?:word|wd|phrase|code)|pwd|(?<=_)pass|密码|口令|暗号)
      |(?P<key>(?:api|access|secret|private|account)[ _-]?key|密钥|私钥)
      |(?P<token>token|bearer|令牌)|(?P<secret>secret|凭证))(?![a-z\]])[\\"'`”’」*]{0,3}
    (?:(?:\s(?:for|to|of|at|on|in|from)(?:\s[\w.@/-]{1,30}){1,5}?|\s?[(（][^()（）\n]{1,30}[)）])?    # "for the server"
       (?:\s{0,3}(?:[:：=＝|]{1,2}>?|->|→)[\s*]{0,4}
         |(?:'s|’s|\s(?:(?:is|was)\s)?(?:now\s)?(?:re)?(?:set|changed)\sto|\s(?:is|was|will\sbe))(?:\snow)?\s?[:：]?\s{1,3})
      |\s?(?:现在|目前|已经?|就|都|也|统一|默认|暂时|更新|设置?|改|换|变|定){0,3}(?:是|为|成了?|叫)\s{0,2}[:：]?\s{0,3}
      |(?P<loose>\s{0,3}))
    (?=(?:\\?["'`“‘「『](?P<quoted>[^\\"'`”’」』\n]{4,200})["'`”’」』\\]
      |(?P<phrase>[a-z]{3,12}(?:\ [a-z]{3,12}){2,5})(?=\s*(?:[.,;!?。，；！？\n]|\Z))
      |(?P<bare>[!\#-&(-_a-~\u00c0-\u024f]{4,300}+))(?!\s?[位年月天个次]))"""
)
_NO_VALUE = re.compile(
    r"[$<{%]|\[masked|[~.]?/|\d{1,2}[-~]\d|[*.xX•_-]+\Z|[A-Z]+(?:_[A-Z\d]+)+\Z|.*(?:[(\[]|\.(?:json|ya?ml|toml|env|txt|py|md))\Z"
)
_MADE_UP = re.compile(
    r"(?i)(?<![a-z\d])(?!(?:base64|sha\d+|oauth2|argon2\w*|ed25519)(?![a-z\d]))"
    r"(?:[a-z\d]{20}|(?=[a-z\d]{0,20}?(?:[a-z]\d|\d[a-z]))[a-z\d]{6})"
)
_PLAIN = re.compile(  # what follows "password is" or "password:" without being one
    r"""(?ix)(?:[a-z]{3,}(?:ed|ing)|an?|the|in|on|at|to|by|for|from|of|with|not?|none|null|true|false|optional|missing
    |empty|wrong|incorrect|invalid|strong|weak|strict|secure|safe|long|short|too|very|always|never|only|also|still|just
    |now|set|kept|hidden|see|ask|check|use|known|unknown|same|different|case|my|your|our|his|her|their|this|that|it|what
    |where|when|how|who|if|and|or|but|must|should|can|will|may|be|been|sent|important|forbidden|visible|available|common
    |default|one|min|minimum|max|string|str|text|secret|password|passwd|token|key|value|auth|base64|sha\d+)(?![a-z\d])"""
)


@dataclass(frozen=True)
class Masked:
    """A text without its credentials, and the kinds that were found, such as "API key"."""

    text: str
    found: tuple[str, ...] = ()


def mask(text: str) -> Masked:
    """Put `[masked: <kind>]` in the place of every credential; masking again changes nothing. Takes linear time.

    >>> mask("my password is hunter2"), mask("the password is required").found
    (Masked(text='my password is [masked: password]', found=('password',)), ())
    """
    spans = []
    for kind, shape in _SHAPES:
        spans += [(*found.span(found.lastindex or 0), kind) for found in re.finditer(shape, text, re.ASCII)]
    for found in _LABELLED.finditer(text):
        label = next(name for name in ("password", "key", "token", "secret") if found[name])
        group = next(name for name in ("quoted", "phrase", "bare") if found[name])
        value = found[group].rstrip(".,;:)?>]}|*")
        if _is_secret(value, label == "password" and found["loose"] is None, group == "quoted" and " " in value):
            spans.append((found.start(group), found.start(group) + len(value), "API key" if label == "key" else label))
    parts, kinds, done = [], [], 0
    for start, end, kind in sorted(spans, key=lambda span: span[0]):
        if start >= done:
            parts += [text[done:start], f"[masked: {kind}]"]
            kinds.append(kind)
        done = max(done, end)
    return Masked("".join([*parts, text[done:]]), tuple(dict.fromkeys(kinds)))


def _is_secret(value: str, word_counts: bool, phrase: bool) -> bool:
    """Whether a labelled value is a credential: made up, or any word or quoted phrase where a word counts."""
    if len(value) < 4 or _NO_VALUE.match(value):
        return False
    return bool(_MADE_UP.search(value, 0, 64)) or (word_counts and (phrase or not _PLAIN.match(value)))
