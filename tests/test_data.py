"""What must stay true of data/: the notes, the broken files, the recall set and the pictures."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hxmem import MemoryStore
from hxmem.drawer.detail import MEMORY_TYPES, Unreadable, parse

DATA = Path(__file__).parent.parent / "data"
SEED = {
    "harnessx-desk-drawer-explanation": "user",
    "no-mock-for-course-validation": "feedback",
    "harnessx-current-mainline": "project",
    "learn-claude-code-s09-memory-reference": "reference",
}
NOTE = re.compile(r"---\nname: (.+)\ndescription: (.+)\ntype: (.+)\n---\n\n(\S[^\0]*\S)\n")
HAN = re.compile(r"[\u4e00-\u9fff]")
KEY_LIKE = re.compile(
    r"sk-\w{8}|gh[pousr]_\w{8}|AKIA[A-Z0-9]{8}|-----BEGIN|Bearer \w|://[^/\s]+:[^/\s]+@|[A-Za-z0-9+/]{40}"
)
PICTURES = sorted((DATA / "pictures").glob("*.svg"))


def text(path: Path) -> str:
    """The file as it is on disk, line ends untouched."""
    return path.read_bytes().decode("utf-8")


def notes(folder: str) -> dict[str, tuple[str, str, str, str]]:
    """File name -> (name, description, type, body) of a drawer under data/."""
    found = {}
    for path in (DATA / folder).iterdir():
        if path.name != "MEMORY.md":
            match = NOTE.fullmatch(text(path))
            assert match, f"{path.name} is not laid out as a note: name, description, type, blank line, body, line end"
            found[path.name] = match.groups()
    return found


def broken() -> dict[str, dict[str, Any]]:
    return json.loads(text(DATA / "broken.json"))


@pytest.fixture(scope="module")
def recall() -> dict[str, Any]:
    return json.loads(text(DATA / "recall" / "hxmem.json"))


@pytest.mark.parametrize("folder", ["drawer", "twelve"])
def test_the_index_has_one_line_for_each_note_in_order_of_the_file_names(folder: str) -> None:
    found = notes(folder)
    lines = [f"- [{found[file][0]}]({file}) - {found[file][1]}\n" for file in sorted(found)]
    assert text(DATA / folder / "MEMORY.md") == "".join(lines)


@pytest.mark.parametrize("folder", ["drawer", "twelve"])
def test_a_note_is_named_like_its_file_and_read_back_without_a_complaint(folder: str) -> None:
    for file, (name, description, kind, body) in notes(folder).items():
        memory, problems = parse(text(DATA / folder / file), file)
        assert (memory.name, memory.type, memory.description, memory.body) == (name, kind, description, body)
        assert file == f"{name}.md"
        assert problems == ()


def test_the_sample_drawer_holds_one_note_of_each_type() -> None:
    assert {name: kind for name, _, kind, _ in notes("drawer").values()} == SEED


def test_the_lesson_drawer_holds_twelve_notes_of_all_types_in_two_languages() -> None:
    found = notes("twelve")
    assert len(found) == 12
    assert {kind for _, _, kind, _ in found.values()} == set(MEMORY_TYPES)
    assert 4 <= sum(bool(HAN.search(description)) for _, description, _, _ in found.values()) <= 8


def test_the_lesson_drawer_holds_the_four_sample_notes_unchanged() -> None:
    for name in SEED:
        assert text(DATA / "twelve" / f"{name}.md") == text(DATA / "drawer" / f"{name}.md")


def test_the_table_describes_every_broken_file_and_no_other() -> None:
    table = broken()
    assert set(table) == {path.name for path in (DATA / "broken").iterdir()}
    assert len({row["problem"] for row in table.values()}) == len(table)
    for file, row in table.items():
        assert list(row) == ["problem", "readable", "line", "says"], file
        lines = (DATA / "broken" / file).read_bytes().count(b"\n")
        assert row["line"] is None or 1 <= row["line"] <= max(lines, 1), file


@pytest.mark.parametrize(("file", "row"), broken().items(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_broken_file_is_readable_or_not_as_the_table_says(file: str, row: dict[str, Any]) -> None:
    raw = (DATA / "broken" / file).read_bytes()
    try:
        memory, _ = parse(raw.decode("utf-8-sig").replace("\r\n", "\n"), file)
    except (Unreadable, UnicodeDecodeError):
        assert not row["readable"]
    else:
        assert row["readable"]
        assert (memory.name, memory.description != "") == (file.removesuffix(".md"), True)


def test_the_faults_that_an_editor_could_mend_are_still_there() -> None:
    raw = {path.name: path.read_bytes() for path in (DATA / "broken").iterdir()}
    assert raw["byte-order-mark.md"].startswith(b"\xef\xbb\xbf---\n")
    assert raw["windows-line-ends.md"].count(b"\r\n") == raw["windows-line-ends.md"].count(b"\n") > 5
    assert b"\n\ttype:" in raw["tab-indent.md"]
    assert raw["empty-file.md"] == b""
    assert "他习惯".encode("gbk") in raw["gbk-bytes.md"]
    assert b"</memory></relevant_memories>" in raw["closes-our-tag.md"]


def test_the_recall_set_is_large_and_half_chinese_half_english(recall: dict[str, Any]) -> None:
    for part, least in (("memories", 70), ("questions", 140)):
        languages = Counter(item["lang"] for item in recall[part])
        assert set(languages) == {"zh", "en"}
        assert sum(languages.values()) >= least
        assert 0.4 <= languages["zh"] / sum(languages.values()) <= 0.6, part
    assert {memory["type"] for memory in recall["memories"]} == set(MEMORY_TYPES)


def test_every_memory_of_the_recall_set_is_whole_unique_and_asked_for(recall: dict[str, Any]) -> None:
    memories = recall["memories"]
    for key in ("name", "description", "body"):
        assert len({memory[key].casefold() for memory in memories}) == len(memories), key
        assert all(memory[key] == memory[key].strip() != "" for memory in memories), key
    assert all(bool(HAN.search(memory["body"])) == (memory["lang"] == "zh") for memory in memories)
    asked = {name for question in recall["questions"] for name in question["relevant"]}
    assert asked == {memory["name"] for memory in memories}


def test_the_questions_are_unique_and_some_are_short_cross_script_or_without_an_answer(recall: dict[str, Any]) -> None:
    questions = recall["questions"]
    languages = {memory["name"]: memory["lang"] for memory in recall["memories"]}
    assert len({question["text"].casefold() for question in questions}) == len(questions)
    assert all(len(question["relevant"]) == len(set(question["relevant"])) <= 5 for question in questions)
    unanswered = Counter(question["lang"] for question in questions if not question["relevant"])
    assert min(unanswered.values()) >= 12
    assert 25 <= sum(unanswered.values()) <= len(questions) / 4
    short = [question for question in questions if HAN.match(question["text"]) and len(question["text"]) <= 4]
    assert len(short) >= 15
    crossing = [q for q in questions if q["relevant"] and q["lang"] not in {languages[name] for name in q["relevant"]}]
    assert len(crossing) >= 8


def test_each_picture_is_shown_somewhere() -> None:
    shown = "".join(text(path) for path in [DATA.parent / "README.md", *(DATA.parent / "lessons").glob("*.ipynb")])
    assert [picture.stem for picture in PICTURES if picture.stem not in shown] == []
    assert len(PICTURES) == 9


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_a_picture_has_a_title_and_a_description_and_is_small(picture: Path) -> None:
    root = ElementTree.fromstring(text(picture))
    title, description = root[0], root[1]
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert title.tag.endswith("}title") and title.text
    assert description.tag.endswith("}desc") and len(description.text or "") > 80
    assert picture.stat().st_size < 8_000
    assert int(root.get("width", "0")) <= 760


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_a_picture_runs_nothing_and_fetches_nothing(picture: Path) -> None:
    source = text(picture).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|href|<script|<style|<image|<foreignObject|\son\w+=|@import|url\((?!#)", source, re.I)
    ids = re.findall(r' id="([^"]+)"', source)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", source)) <= set(ids)


def test_the_pictures_share_no_id_so_that_a_page_can_hold_all_of_them() -> None:
    ids = Counter(i for picture in PICTURES for i in re.findall(r' id="([^"]+)"', text(picture)))
    assert [i for i, count in ids.items() if count > 1] == []


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_a_picture_has_no_background_and_its_text_lies_on_a_coloured_card(picture: Path) -> None:
    root = ElementTree.fromstring(text(picture))
    size = [float(root.get(side, "0")) for side in ("width", "height")]
    cards = [
        tuple(float(rect.get(side, "0")) for side in ("x", "y", "width", "height"))
        for group in root.iter()
        for rect in group
        if rect.tag.endswith("}rect") and (rect.get("fill") or group.get("fill")) != "none"
    ]
    assert all(card[2:] != tuple(size) for card in cards)
    for line in root.iter("{http://www.w3.org/2000/svg}text"):
        x, y = float(line.get("x", "0")), float(line.get("y", "0"))
        assert any(left < x < left + width and top < y < top + height for left, top, width, height in cards), line.text


def test_no_file_of_ours_holds_anything_like_a_key() -> None:
    ours = [path for part in ("drawer", "twelve", "broken", "recall", "pictures") for path in (DATA / part).iterdir()]
    for path in ours:
        assert not KEY_LIKE.search(path.read_bytes().decode("utf-8", "replace")), path.name


MENDED = {  # what hxmem says of each broken file: a word of it; None: nothing is wrong for hxmem
    "byte-order-mark": None, "type-under-metadata": None, "closes-our-tag": None, "dashes-in-value": None,
    "no-name": None, "no-body": None, "yaml-word": None, "value-over-two-lines": None, "yaml-time": None,
    "yaml-number": None, "crlf": None, "unquoted-colon": "quotes", "duplicate-key": "twice", "empty-file": "empty",
    "full-width-colon": "colon", "not-utf-8": "(line 3)", "hash-starts-comment": "quotes", "header-is-a-list": "key: value",
    "no-header": "no header", "starts-with-star": "quotes", "tab-indent": "spaces", "header-not-closed": "never closed",
    "unknown-type": "type `", "line-without-key": "indent",
}  # fmt: skip


@pytest.mark.parametrize(("file", "row"), broken().items(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_broken_file_in_a_drawer_is_named_with_its_line_and_the_cure(file: str, row: dict[str, Any]) -> None:
    store = MemoryStore(DATA / "broken")
    assert (file in {memory.file for memory in store.list()}) == row["readable"]
    said = [problem for problem in store.problems() if problem.file == file]
    word = MENDED[row["problem"]]
    assert [word in problem.says for problem in said] == ([True] if word else [])
    assert all(problem.line in (0, row["line"]) for problem in said)


def test_reading_the_broken_drawer_changes_none_of_its_files() -> None:
    before = {path.name: path.read_bytes() for path in (DATA / "broken").iterdir()}
    MemoryStore(DATA / "broken").problems()
    assert {path.name: path.read_bytes() for path in (DATA / "broken").iterdir()} == before
