"""The drawer on disk: the folder is the truth, nothing is lost, nothing leaves it."""

import errno
import os
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from hxmem import Memory, MemoryStore, StoreProblem
from hxmem.drawer.store import TRUST_FOLDER_ABOVE

TEA = Memory("tea", "user", "drinks green tea", "The user drinks green tea.")


@pytest.fixture
def store(tmp_path) -> MemoryStore:
    return MemoryStore(tmp_path / ".harnessx" / "memory")


def names(store: MemoryStore) -> list[str]:
    return [memory.name for memory in store.list()]


def index(store: MemoryStore) -> str:
    return (store.folder / "MEMORY.md").read_text("utf-8")


def test_reading_an_empty_drawer_creates_nothing(store, tmp_path):
    assert (store.list(), store.get("tea"), store.search("tea"), store.index(), store.problems()) == (
        [],
        None,
        (),
        "",
        (),
    )
    assert list(tmp_path.iterdir()) == []


def test_a_memory_becomes_a_file_and_an_index_line(store):
    assert store.write(TEA).status == "written"
    assert (store.folder / "tea.md").read_text("utf-8").startswith("---\nname: tea\n")
    assert index(store) == "- [tea](tea.md) - drinks green tea\n"


def test_the_state_folder_ignores_itself_in_git(store):
    store.write(TEA)
    assert (store.folder.parent / ".gitignore").read_text() == "*\n"


def test_another_store_object_reads_what_was_written(store):
    store.write(TEA)
    assert MemoryStore(store.folder).get("tea") == replace(TEA, file="tea.md")


def test_a_changed_memory_replaces_the_old_one_which_is_kept(store):
    store.write(TEA)
    result = store.write(replace(TEA, description="drinks coffee", body="The user drinks coffee."))
    assert (result.status, names(store)) == ("replaced", ["tea"])
    assert "coffee" in index(store)
    assert "green tea" in (store.folder / ".history" / "tea.1.md").read_text("utf-8")


@pytest.mark.parametrize(
    "again",
    [
        TEA,
        replace(TEA, name="other"),
        replace(TEA, name="other", description="something else"),
        replace(TEA, name="other", body="something else"),
        replace(TEA, name="other", description="Drinks  green tea!"),
    ],
)
def test_the_same_description_or_body_again_is_not_written(store, again):
    store.write(TEA)
    before = {path.name: path.read_bytes() for path in store.folder.iterdir()}
    assert store.write(again).status == "duplicate"
    assert {path.name: path.read_bytes() for path in store.folder.iterdir()} == before


def test_bodies_of_signs_only_are_not_the_same(store):
    assert store.write(Memory("a", "user", "!!", "??")).stored
    assert store.write(Memory("b", "user", "!", "?")).stored


@pytest.mark.parametrize("missing", ["description", "body"])
def test_a_memory_without_description_or_body_is_rejected(store, missing):
    result = store.write(replace(TEA, **{missing: " \n"}))
    assert (result.status, result.reason) == ("rejected", f"no {missing}")
    assert names(store) == []


def test_a_body_that_is_no_note_any_more_is_rejected(store):
    assert store.write(replace(TEA, body="x" * 300_000)).status == "rejected"


def test_an_unknown_type_becomes_project(store):
    store.write(replace(TEA, type="mood"))
    assert store.get("tea").type == "project"


HOSTILE = [
    "tea.md",
    "../../x",
    "/etc/x",
    "..\\x",
    "MEMORY",
    "memory",
    "con",
    "",
    "   ",
    ".",
    "..",
    "名" * 300,
    "a\0b",
    "x/../../y",
    "%2e%2e",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_inside_as_a_readable_file(store, tmp_path, name):
    result = store.write(replace(TEA, name=name))
    found = [path for path in tmp_path.rglob("*.md") if path.name != "MEMORY.md"]
    assert [path.parent for path in found] == [store.folder]
    assert len(found[0].name.encode()) <= 203
    assert store.get(result.name).body == TEA.body


def test_names_that_look_alike_are_distinct_files(store):
    wanted = ["C++", "C#", "Café", "Cafe", "Café!", "a/b", "a b", "名" * 300, "名" * 301]
    for number, name in enumerate(wanted):
        assert store.write(Memory(name, "user", f"fact number {number}", f"body number {number}")).status == "written"
    assert len(names(store)) == len(wanted)
    assert len({file.name.casefold() for file in store.folder.glob("*.md")}) == len(wanted) + 1


def test_a_name_is_the_same_in_any_case_and_in_any_unicode_form(store):
    store.write(replace(TEA, name="Café"))
    again = replace(TEA, name=unicodedata.normalize("NFD", "CAFÉ"), description="new", body="new")
    assert (store.write(again).status, len(names(store))) == ("replaced", 1)


def test_a_file_written_by_hand_is_there_at_once(store):
    store.write(TEA)
    (store.folder / "hand.md").write_text("---\nname: hand\ndescription: by hand\ntype: user\n---\n\nbody\n", "utf-8")
    assert names(store) == ["hand", "tea"]
    store.write(replace(TEA, name="third", description="third", body="third"))
    assert "[hand](hand.md)" in index(store)


def test_a_file_edited_in_place_is_read_again(store):
    store.write(TEA)
    path = store.folder / "tea.md"
    path.write_text(path.read_text("utf-8").replace("green tea", "white tea"), "utf-8")
    store.write(Memory("other", "user", "other", "other"))
    assert "white tea" in index(store)
    assert store.get("tea").body == "The user drinks white tea."


def test_unknown_header_keys_survive_a_replacement(store):
    store.folder.mkdir(parents=True)
    (store.folder / "tea.md").write_text("---\nname: tea\nmood: good\ndescription: d\ntype: user\n---\n\nb\n", "utf-8")
    store.write(TEA)
    assert "\nmood: good\n" in (store.folder / "tea.md").read_text("utf-8")


def test_a_broken_file_is_named_and_never_touched(store):
    store.write(TEA)
    broken = store.folder / "notes.md"
    broken.write_bytes(b"---\nname: notes\nnever closed")
    result = store.write(Memory("notes", "user", "a new fact", "a new body"))
    assert result.stored
    assert broken.read_bytes() == b"---\nname: notes\nnever closed"
    assert len(names(store)) == 2
    assert any(p.file == "notes.md" and p.line == 1 and "closed" in p.says for p in store.problems())


def test_a_link_that_leaves_the_folder_is_not_read(store, tmp_path):
    store.write(TEA)
    secret = tmp_path / "secret.md"
    secret.write_text("---\nname: secret\ndescription: d\n---\nbody", "utf-8")
    (store.folder / "link.md").symlink_to(secret)
    assert names(store) == ["tea"]
    assert any(problem.file == "link.md" for problem in store.problems())


def test_a_file_of_5_mb_is_reported_not_read(store):
    store.write(TEA)
    (store.folder / "big.md").write_text("---\nname: big\ndescription: d\n---\n" + "x" * 5_000_000, "utf-8")
    assert names(store) == ["tea"]
    assert next(problem.file for problem in store.problems()) == "big.md"


def test_bom_and_crlf_are_read(store):
    store.folder.mkdir(parents=True)
    raw = b"\xef\xbb\xbf---\r\nname: win\r\ndescription: d\r\ntype: user\r\n---\r\n\r\none\r\ntwo\r\n"
    (store.folder / "win.md").write_bytes(raw)
    assert store.get("win").body == "one\ntwo"


def test_notes_in_a_sub_folder_are_named(store):
    store.write(TEA)
    (store.folder / "x").mkdir()
    (store.folder / "x" / "y.md").write_text("note", "utf-8")
    assert any(problem.file == "x/y.md" for problem in store.problems())


def test_a_persons_words_in_the_index_are_kept(store):
    store.folder.mkdir(parents=True)
    (store.folder / "MEMORY.md").write_text("# My memory\n\nDon't lose this.\n", "utf-8")
    store.write(TEA)
    assert index(store) == "- [tea](tea.md) - drinks green tea\n"
    assert "lose this" in (store.folder / ".history" / "MEMORY.1.md").read_text("utf-8")


def test_deleted_is_gone_everywhere_and_can_be_restored(store):
    store.write(TEA)
    assert store.delete("TEA")
    assert (names(store), store.search("green tea"), index(store)) == ([], (), "")
    assert store.restore("tea")
    assert store.get("tea").body == TEA.body
    assert not store.delete("nothing")
    assert not store.restore("nothing")


def test_a_strange_file_among_the_earlier_versions_is_no_version(store):
    store.write(TEA)
    store.delete("tea")
    (store.folder / ".history" / "tea.².md").write_text("a file of a person", "utf-8")
    assert store.restore("tea")
    assert store.get("tea").body == TEA.body


def test_restore_swaps_the_present_version_with_the_earlier_one(store):
    store.write(TEA)
    store.write(replace(TEA, description="coffee", body="coffee"))
    store.restore("tea")
    assert store.get("tea").description == "drinks green tea"
    store.restore("tea")
    assert store.get("tea").description == "coffee"


@pytest.mark.parametrize("secret", ["sk-" + "a1b2c3d4" * 4, "ghp_abcdefghijklmnopqrstuvwxyz0123456789"])
def test_a_key_never_reaches_the_disk(store, tmp_path, secret):
    result = store.write(Memory(f"key {secret}", "user", f"the key is {secret}", f"Use {secret} for the API."))
    assert result.stored
    assert result.masked
    for path in tmp_path.rglob("*"):
        assert secret not in path.name
        assert not path.is_file() or secret not in path.read_text("utf-8")


def test_half_a_surrogate_pair_is_written_as_a_replacement_sign(store):
    store.write(replace(TEA, body="broken \ud83d half"))
    assert store.get("tea").body == "broken \ufffd half"


def test_a_full_disk_is_one_sentence_and_leaves_the_drawer_as_it_was(store, monkeypatch):
    store.write(TEA)
    before = {path.name: path.read_bytes() for path in store.folder.iterdir()}

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreProblem, match="No space left"):
        store.write(Memory("cake", "user", "eats cake", "Cake."))
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in store.folder.iterdir()} == before
    assert names(store) == ["tea"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_can_not_be_written_is_one_sentence(store):
    store.folder.mkdir(parents=True)
    store.folder.chmod(0o500)
    with pytest.raises(StoreProblem, match="could not be written"):
        store.write(TEA)


def test_a_file_in_the_folders_place_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreProblem, match="could not be written"):
        MemoryStore(tmp_path / "file" / "memory").write(TEA)


def test_the_budget_keeps_the_newest_and_says_what_is_left_out(store):
    for number in range(205):
        store.write(Memory(f"fact-{number:03}", "project", f"fact number {number}", f"body {number}"))
        path = store.folder / f"fact-{number:03}.md"
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    lines = store.index().splitlines()
    assert len(lines) == 200
    assert "fact-204" in lines[-2]
    assert "fact-005" not in store.index()
    assert lines[-1].startswith("(6 more, older")
    assert len(index(store).splitlines()) == 205


def test_above_the_trust_limit_files_that_come_and_go_are_still_seen(store):
    for number in range(TRUST_FOLDER_ABOVE + 2):
        store.write(Memory(f"n{number}", "project", f"fact number {number}", f"body {number}"))
    other = MemoryStore(Path(store.folder))
    other.write(Memory("foreign", "user", "written elsewhere", "elsewhere"))
    assert store.write(Memory("again", "user", "written elsewhere", "new body")).status == "duplicate"
    assert "foreign" in index(store)


def test_the_project_drawer_may_not_be_a_link_to_elsewhere(tmp_path):
    (tmp_path / "outside").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / ".harnessx").symlink_to(tmp_path / "outside")
    with pytest.raises(Exception, match=r"\w+ \w+"):
        MemoryStore.of(project)


def test_a_file_whose_name_is_not_utf_8_is_named_and_the_rest_works(store):
    store.write(TEA)
    (store.folder / os.fsdecode(b"a\xff.md")).write_text("x", "utf-8")
    assert names(store) == ["tea"]
    assert any("not UTF-8" in problem.says for problem in store.problems())
    for name in ("a", "c", "z"):
        store.write(Memory(name, "user", f"fact {name}", f"body {name}"))
    store.delete("c")
    assert [line.split("]")[0] for line in index(store).splitlines()] == ["- [a", "- [tea", "- [z"]


@pytest.mark.parametrize(
    "deep", ["tags: " + "[" * 600 + "]" * 600, "x:\n" + "".join(" " * n + "a:\n" for n in range(1, 700))]
)
def test_a_header_nested_too_deep_is_named_and_the_rest_works(store, deep):
    store.write(TEA)
    (store.folder / "deep.md").write_text(f"---\nname: deep\n{deep}\ndescription: x\n---\n\nb\n", "utf-8")
    assert "tea" in names(store)
    assert any(problem.file == "deep.md" for problem in store.problems())


def test_a_header_key_of_many_spaces_is_read_in_no_time(store):
    store.folder.mkdir(parents=True)
    (store.folder / "spaces.md").write_text("---\nk" + " " * 200_000 + "\ndescription: d\n---\n\nb\n", "utf-8")
    assert names(store) == ["spaces"]


@pytest.mark.parametrize("value", ["2024-13-45", "2024-01-01T99:99:99", "0x_", "0b_", "9" * 5_000])
def test_what_looks_like_a_date_or_a_number_and_is_none_is_text(store, value):
    assert store.write(replace(TEA, description=value)).stored
    assert store.get("tea").description == value


def test_a_history_that_is_a_link_to_elsewhere_is_refused(store, tmp_path):
    store.write(TEA)
    (tmp_path / "outside").mkdir()
    (store.folder / ".history").symlink_to(tmp_path / "outside")
    with pytest.raises(StoreProblem):
        store.write(replace(TEA, description="coffee", body="coffee"))
    assert list((tmp_path / "outside").iterdir()) == []
    assert store.get("tea").body == TEA.body


def test_a_name_that_ends_in_md_twice_is_another_memory(store):
    store.write(Memory("x", "user", "about x", "body x"))
    assert store.write(Memory("x.md.md", "user", "about other", "other")).status == "written"
    assert store.get("x").body == "body x"


def test_a_name_in_decomposed_form_is_found(store):
    store.folder.mkdir(parents=True)
    (store.folder / unicodedata.normalize("NFD", "Café.md")).write_text("A café.\n", "utf-8")
    assert store.get("Café").body == "A café."


def test_an_index_that_can_not_be_written_does_not_undo_the_write(store):
    store.folder.mkdir(parents=True)
    (store.folder / "MEMORY.md").mkdir()
    assert store.write(TEA).status == "written"
    assert names(store) == ["tea"]
    assert any(problem.file == "MEMORY.md" for problem in store.problems())


def test_a_persons_bullet_that_looks_like_ours_is_kept(store):
    store.folder.mkdir(parents=True)
    (store.folder / "MEMORY.md").write_text("- [Guide](guide.md) - my own bullet\n", "utf-8")
    store.write(TEA)
    assert "my own bullet" in (store.folder / ".history" / "MEMORY.1.md").read_text("utf-8")


def test_a_long_description_does_not_hide_the_index(store):
    store.write(TEA)
    store.write(Memory("long", "user", "d" * 30_000, "body"))
    assert "[tea](tea.md)" in store.index()
    assert "[long](long.md)" in store.index()


def test_a_deleted_file_with_another_name_in_its_header_comes_back_by_its_file_name(store):
    store.folder.mkdir(parents=True)
    (store.folder / "my note.md").write_text("---\nname: something else\ndescription: d\n---\n\nb\n", "utf-8")
    assert store.delete("something else")
    assert store.restore("my note")
    assert names(store) == ["something else"]


def test_an_edit_in_place_survives_a_replacement_in_a_large_drawer(store):
    for number in range(TRUST_FOLDER_ABOVE + 2):
        store.write(Memory(f"n{number}", "project", f"fact number {number}", f"body {number}"))
    path = store.folder / "n5.md"
    path.write_text(path.read_text("utf-8").replace("type:", "keep: me\ntype:"), "utf-8")
    store.write(Memory("n5", "project", "new fact", "new body"))
    assert "keep: me" in path.read_text("utf-8")


def test_the_masks_cover_header_lines_of_other_programs(store):
    store.write(replace(TEA, extra="api_key: sk-" + "a1b2c3d4" * 4))
    assert "a1b2c3d4" not in (store.folder / "tea.md").read_text("utf-8")


def test_control_characters_are_not_text(store):
    assert store.write(replace(TEA, body="\x00\x07")).status == "rejected"


def test_a_linked_folder_is_not_walked(store, tmp_path):
    store.write(TEA)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "y.md").write_text("x", "utf-8")
    (store.folder / "vault").symlink_to(tmp_path / "vault")
    assert store.problems() == ()


def test_a_question_of_ten_megabytes_is_answered(store):
    store.write(TEA)
    assert store.search("a b" * 3_300_000) == ()
