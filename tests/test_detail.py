"""Detail files: what is written is read back, what people and other programs write is read, the rest is named."""

import frontmatter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hxmem import Memory
from hxmem.drawer.detail import parse, render, tidy
from hxmem.drawer.front_matter import Unreadable

HARD_VALUES = [
    "no",
    "1.10",
    "12:30",
    "0123",
    "2025-10-24",
    "~",
    "a: b",
    "fix PR #762 # now",
    "a --- b",
    "---",
    '"abc "def" ghi"',
    "it's",
    "- item",
    "[x]",
    "line\nbreak\ntype: user",
    "😀 讲课",
    "a\u2028b\u0085c",
    "@home",
    "%TAG",
    "trailing:",
    "C++ & C#",
]


def read_back(memory: Memory) -> Memory:
    return parse(render(memory), "x.md")[0]


@pytest.mark.parametrize("value", HARD_VALUES)
def test_a_hard_description_reads_back_to_the_same_value(value):
    memory = read_back(Memory("x", "user", value, "body"))
    assert (memory.description, memory.type, memory.body) == (value, "user", "body")


@pytest.mark.parametrize("value", HARD_VALUES)
def test_any_other_front_matter_reader_gets_the_same_text(value):
    post = frontmatter.loads(render(Memory("x", "user", value, "body")))
    assert post["description"] == value


text = st.text(st.characters(exclude_categories=("Cs",))).filter(str.strip)


@given(
    name=text.map(str.strip), description=text.map(str.strip), body=text, kind=st.sampled_from(["user", "reference"])
)
def test_every_memory_reads_back_to_itself(name, description, body, kind):
    memory = Memory(name, kind, description, tidy(body), "x.md")
    assert parse(render(memory), "x.md") == (memory, ())


@given(st.text())
def test_any_text_is_read_or_named_unreadable(raw):
    try:
        memory, _ = parse(raw.replace("\r", "\n"), "x.md")
    except Unreadable as error:
        assert error.says
    else:
        assert memory.description


def test_a_plain_file_has_the_documented_shape():
    memory = Memory("tea", "user", "喝绿茶", "用户只喝绿茶。")
    assert render(memory) == "---\nname: tea\ndescription: 喝绿茶\ntype: user\n---\n\n用户只喝绿茶。\n"


def test_only_whole_lines_are_fences():
    memory, _ = parse("---\nname: x\ndescription: a --- b\ntype: user\n---\n\nabove\n---\nbelow\n", "x.md")
    assert memory.body == "above\n---\nbelow"


def test_the_first_lines_indent_is_kept():
    assert read_back(Memory("x", "user", "d", "    code\nmore")).body == "    code\nmore"


def test_unknown_keys_survive_a_rewrite_word_for_word():
    raw = "---\nname: x\n# a comment\ntags:\n  - a\n  - 'b'\ndescription: d\ndate: 2025-10-24T10:00:00Z\ntype: user\n---\n\nb\n"
    memory, _ = parse(raw, "x.md")
    again = render(memory)
    for line in ("tags:", "  - a", "  - 'b'", "date: 2025-10-24T10:00:00Z"):
        assert f"\n{line}\n" in again
    assert parse(again, "x.md")[0] == memory


def test_a_number_is_read_as_it_was_written():
    memory, _ = parse("---\nname: 1.10\ndescription:\n  12:30\ntype: user\n---\nbody", "x.md")
    assert (memory.name, memory.description) == ("1.10", "12:30")


def test_claude_codes_nested_type_is_read():
    memory, problems = parse("---\nname: x\ndescription: d\nmetadata:\n  type: feedback\n---\nb", "x.md")
    assert (memory.type, problems) == ("feedback", ())
    assert "metadata:\n  type: feedback" in render(memory)


def test_an_unknown_type_is_read_as_project_and_named():
    memory, problems = parse("---\nname: x\ndescription: d\ntype: mood\n---\nb", "x.md")
    assert memory.type == "project"
    assert "mood" in problems[0].says


@pytest.mark.parametrize(
    "value", ["Split: Core", "fix PR #7 # now", '"abc "def" ghi"', "* star", "[x", "@x", "ends:", "[a, b]"]
)
def test_a_value_that_yaml_misreads_is_read_as_written_and_its_line_named(value):
    memory, problems = parse(f"---\nname: x\ndescription: {value}\ntype: user\n---\nb", "x.md")
    assert (memory.description, memory.type) == (value, "user")
    assert [(problem.line, "quotes" in problem.says) for problem in problems] == [(3, True)]


def test_a_line_without_a_key_is_named_and_the_rest_is_read():
    memory, problems = parse("---\nname: x\ndescription: one\ntype：user\ntags: [a]\n---\nb", "x.md")
    assert (memory.description, memory.type) == ("one", "project")
    assert [problem.line for problem in problems] == [4]


def test_a_key_that_stands_twice_is_named():
    memory, problems = parse("---\nname: x\ndescription: d\ndescription: e\n---\nb", "x.md")
    assert memory.description == "e"
    assert "twice" in problems[0].says


def test_a_file_without_header_is_a_note_named_after_the_file():
    memory, problems = parse("# Tea\n\nGreen tea.\n", "tea.md")
    assert (memory.name, memory.description, memory.type) == ("tea", "Tea", "project")
    assert problems


def test_a_header_alone_is_a_note_whose_body_is_empty():
    memory, _ = parse("---\nname: x\ndescription: d\ntype: user\n---\n", "x.md")
    assert (memory.description, memory.body) == ("d", "")


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("---\nname: x\ndescription: d\n\nbody", 1),
        ("---\njust words\n---\nbody", 2),
        ("---\n- a\n- b\n---\nbody", 2),
        ("", 0),
    ],
)
def test_what_can_not_be_read_names_its_line(raw, line):
    with pytest.raises(Unreadable) as error:
        parse(raw, "x.md")
    assert error.value.line in (line, line + 1)
