"""What of the journal stands in every request: within its budget, the newest kept, our tags only ours."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hxmem.journal import injection
from hxmem.journal.folder import JournalFolder
from hxmem.journal.injection import BUDGET, context
from hxmem.language import sentences
from hxmem.text import estimate_tokens

TAGS = [
    "memory_context",
    "agents_context",
    "loaded_context",
    "relevant_memories",
    "memory",
    "conversation_summary",
    "session_context",
]
GUIDANCE = {lang: sentences(injection.__file__, lang)["guidance"] for lang in ("zh", "en")}


@pytest.fixture
def folder(tmp_path) -> JournalFolder:
    folder = JournalFolder(tmp_path)
    folder.make()
    return folder


def inner(text: str, tag: str) -> str:
    [found] = re.findall(f"<{tag}>\n(.*)\n</{tag}>", text, re.DOTALL)
    return found


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_an_empty_journal_gives_the_guidance_alone(folder, lang):
    assert context(folder, lang) == GUIDANCE[lang]
    folder.memory.write_text("\n\n", "utf-8")
    assert context(folder, lang) == GUIDANCE[lang]
    for word in ("memory_search", "memory_get", "Source: ", "MEMORY.md", "session_search"):
        assert word in GUIDANCE[lang]


def test_both_files_stand_whole_in_their_blocks(folder):
    (folder.root / "AGENTS.md").write_text("Use uv.\n", "utf-8")
    folder.memory.write_text("# Tea\n- green\n", "utf-8")
    text = context(folder, "en")
    loaded = inner(text, "loaded_context")
    assert (inner(loaded, "agents_context"), inner(loaded, "memory_context")) == ("Use uv.", "# Tea\n- green")
    assert text.startswith(GUIDANCE["en"] + "\n\n<loaded_context>\n")
    assert "left out" not in text


def test_one_file_alone_has_no_block_for_the_other(folder):
    folder.memory.write_text("- green\n", "utf-8")
    assert "<agents_context>" not in context(folder, "en")
    folder.memory.unlink()
    (folder.root / "AGENTS.md").write_text("Use uv.\n", "utf-8")
    assert "<memory_context>" not in context(folder, "en")
    assert inner(context(folder, "en"), "agents_context") == "Use uv."


def test_the_same_files_give_the_same_text(folder):
    folder.memory.write_text("- green\n" * 10_000, "utf-8")
    assert context(folder, "en") == context(folder, "en")


def test_of_a_large_memory_the_newest_is_kept_by_whole_lines(folder):
    lines = [f"- entry {n} about tea" for n in range(5_000)]
    folder.memory.write_text(
        "# Old\n" + "\n".join(lines[:2_000]) + "\n## New\n" + "\n".join(lines[2_000:]) + "\n", "utf-8"
    )
    text = context(folder, "en")
    assert BUDGET * 0.98 < estimate_tokens(text) <= BUDGET
    said, *kept = inner(text, "memory_context").split("\n")
    assert kept[:2] == ["# Old", "## New"]
    assert kept[2:] == lines[5_000 - len(kept[2:]) :]
    assert said == f"({5_000 - len(kept[2:])} older lines are left out here: memory_search finds them.)"


def test_an_entry_is_not_cut_between_its_lines(folder):
    folder.memory.write_text("".join(f"- entry {n}\n  more of {n}\n" for n in range(2_000)), "utf-8")
    for budget in range(600, 640):
        kept = inner(context(folder, "en", budget), "memory_context").split("\n")[1:]
        assert kept[0].startswith("- entry ")
        assert kept[-1] == "  more of 1999"


def test_a_huge_agents_file_gets_half_and_says_that_it_is_cut(folder):
    (folder.root / "AGENTS.md").write_text("".join(f"Rule {n}: use uv.\n" for n in range(50_000)), "utf-8")
    folder.memory.write_text("".join(f"- entry {n}\n" for n in range(50_000)), "utf-8")
    text = context(folder, "en")
    agents, memory = inner(text, "agents_context"), inner(text, "memory_context")
    assert BUDGET * 0.98 < estimate_tokens(text) <= BUDGET
    assert abs(estimate_tokens(agents) - estimate_tokens(memory)) < 50
    assert agents.startswith("Rule 0: use uv.\nRule 1")
    assert re.search(r"\nRule \d+: use uv\.\n\(AGENTS\.md is cut here: .*\)$", agents)
    assert memory.endswith("- entry 49999")


def test_a_huge_agents_file_leaves_no_more_than_half_to_a_small_memory_too(folder):
    (folder.root / "AGENTS.md").write_text("x" * 1_000_000, "utf-8")
    folder.memory.write_text("- green\n", "utf-8")
    text = context(folder, "en")
    assert inner(text, "memory_context") == "- green"
    agents = inner(text, "agents_context")
    around = estimate_tokens(text.replace(agents, ""))
    assert 3_000 < estimate_tokens(agents) <= (BUDGET - around) / 2


def test_one_endless_line_of_memory_is_left_out_and_said(folder):
    folder.memory.write_text("# Tea\n- " + "x" * 1_000_000 + "\n", "utf-8")
    assert inner(context(folder, "en"), "memory_context").startswith("(1 older lines are left out here")


@given(
    st.integers(0, 1_200),
    st.lists(
        st.sampled_from(["# A", "## B", "- 决定用数据库", "- tea", "  more", "", "- " + "x" * 300, "<memory>"]),
        max_size=60,
    ),
    st.text(alphabet="规则 rule\n<", max_size=2_000),
    st.sampled_from(["zh", "en"]),
)
def test_the_budget_holds_for_the_whole(tmp_path_factory, budget, lines, agents, lang):
    folder = JournalFolder(tmp_path_factory.getbasetemp() / "budget")
    folder.make()
    folder.memory.write_text("\n".join(lines), "utf-8")
    (folder.root / "AGENTS.md").write_text(agents, "utf-8")
    text = context(folder, lang, budget)
    assert estimate_tokens(text) <= budget
    assert text == "" or text.startswith(GUIDANCE[lang])
    assert (text == "") == (budget < estimate_tokens(GUIDANCE[lang]))


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("form", ["</{}>", "<{}>", "< / {} >", "<{} name='x'>", "</{}\n>", "<\t/{}>"])
def test_our_own_tags_in_a_file_are_neutralised(folder, tag, form):
    for name in (tag, tag.upper()):
        bad = form.format(name)
        folder.memory.write_text(f"- a {bad} b\n", "utf-8")
        (folder.root / "AGENTS.md").write_text(f"a {bad} b\n", "utf-8")
        text = context(folder, "en")
        assert text.count("&lt;" + bad[1:]) == 2
        assert f" {bad} b" not in text
        assert len(re.findall(r"(?i)<\s*/?\s*(?:memory|agents|loaded)_context", text)) == 6


def test_other_tags_stay_as_they_are(folder):
    folder.memory.write_text("- a <b> <memories> <!-- memory --> a < b\n", "utf-8")
    assert inner(context(folder, "en"), "memory_context") == "- a <b> <memories> <!-- memory --> a < b"


def test_a_file_that_can_t_be_read_is_said_and_a_link_out_is_not_followed(folder, tmp_path_factory):
    folder.memory.write_bytes(b"\xff\xfe")
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_text("secret", "utf-8")
    (folder.root / "AGENTS.md").symlink_to(secret)
    text = context(folder, "en")
    assert "not UTF-8" in inner(text, "memory_context")
    assert "leads out of the folder" in inner(text, "agents_context")
    assert "secret" not in text.replace(secret.name + " leads", "")


def test_credentials_in_the_files_are_not_sent(folder):
    key = "sk-abcdefghijklmnopqrstuvwx123456"
    (folder.root / "AGENTS.md").write_text(f"Use {key} here.\n", "utf-8")
    folder.make()
    folder.memory.write_text("- the password is hunter2\n", "utf-8")
    text = context(folder)
    assert "[masked: API key]" in text
    assert "sk-abc" not in text
    assert "hunter2" not in text
