"""Which language the prompts are in, and that both files beside a module say the same things."""

import string
from pathlib import Path

import pytest

from hxmem.language import language, sentences

PACKAGE = Path(__file__).resolve().parent.parent / "hxmem"
FOLDERS = sorted(path.parent for path in PACKAGE.rglob("prompts.zh.toml"))


@pytest.mark.parametrize(
    ("asked", "environment", "spoken"),
    [("", "", "zh"), ("", "en", "en"), ("", "zh", "zh"), ("zh", "en", "zh"), ("en", "zh", "en"), ("en", "", "en"), ("", "fr", "zh"), ("fr", "en", "zh")],
)  # fmt: skip
def test_what_is_asked_for_wins_then_the_environment_then_chinese(monkeypatch, asked, environment, spoken):
    monkeypatch.setenv("HXMEM_LANG", environment)
    assert language(asked) == spoken


def test_the_sentences_lie_beside_the_module(tmp_path, monkeypatch):
    for lang, text in (("zh", "书桌"), ("en", "desk")):
        (tmp_path / f"prompts.{lang}.toml").write_text(f'place = "{text}"\n', "utf-8")
    module = str(tmp_path / "module.py")
    assert sentences(module) == {"place": "书桌"}
    assert sentences(module, "en") == {"place": "desk"}
    monkeypatch.setenv("HXMEM_LANG", "en")
    assert sentences(module) == {"place": "desk"}


def test_who_changes_the_sentences_changes_a_copy(tmp_path):
    (tmp_path / "prompts.zh.toml").write_text('place = "书桌"\n', "utf-8")
    sentences(str(tmp_path / "module.py"))["place"] = "changed"
    assert sentences(str(tmp_path / "module.py")) == {"place": "书桌"}


def test_a_module_without_sentences_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        sentences(str(tmp_path / "module.py"))


def places(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_both_languages_have_the_same_sentences_with_the_same_places_to_fill(folder):
    module = str(folder / "module.py")
    zh, en = sentences(module, "zh"), sentences(module, "en")
    assert list(zh) == list(en)
    assert all(isinstance(text, str) and text.strip() for text in (*zh.values(), *en.values()))
    assert {name: places(text) for name, text in zh.items()} == {name: places(text) for name, text in en.items()}
