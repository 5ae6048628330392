"""Large tool results: what goes to a file, what stays for the model to read, and that nothing is lost on the way."""

import hashlib
import inspect
import json
import re

import httpx
import pytest

from hxmem import Agent, ChatClient, Plugin, Session, Tool
from hxmem.answers import ToolCall
from hxmem.desk import eviction
from hxmem.desk.eviction import EXCLUDED_TOOLS, Eviction, placeholder
from hxmem.files import FileProblem
from hxmem.sessions import Archive, SessionLog
from hxmem.tools import MAX_READ, workspace_tools

FAMILY = "👨\u200d👩\u200d👧"


@pytest.fixture
def session(tmp_path):
    made = Session(tmp_path, "en", "task", lambda purpose: None, lambda line: made.notices.append(line), id="chat")
    made.notices = []
    return made


def call(name="run_shell", id="call_0"):
    return ToolCall(id, name, "{}")


def evicted(session, text, name="run_shell", **options):
    """What stays on the desk, and the path and the text of the file."""
    short = Eviction(**options).post_tool_use(session, call(name), text)
    path = re.search(r'path "([^"]+)"', short)[1]
    return short, path, (session.root / path).read_text("utf-8")


def files(session):
    return sorted((session.root / ".harnessx" / "large_tool_results").rglob("*.txt"))


def test_the_defaults_are_those_of_the_first_revision():
    defaults = {name: p.default for name, p in inspect.signature(Eviction).parameters.items()}
    assert defaults == {
        "max_characters": 80_000, "preview_characters": 2_000, "excluded": EXCLUDED_TOOLS, "batch_characters": 200_000,
        "batch_item": 30_000,
    }  # fmt: skip
    assert sorted(EXCLUDED_TOOLS) == [
        "edit_file", "glob_files", "grep_files", "list_files", "memory_get", "memory_search", "read_file",
        "session_search", "write_file",
    ]  # fmt: skip


@pytest.mark.parametrize("size, gone", [(80_000, False), (80_001, True)])
def test_a_result_is_evicted_from_one_character_over_the_limit_on(session, size, gone):
    assert (Eviction().post_tool_use(session, call(), "x" * size) != "x" * size) is gone
    assert len(files(session)) == gone


@pytest.mark.parametrize("name", sorted(EXCLUDED_TOOLS))
def test_results_of_excluded_tools_stay(session, name):
    assert Eviction().post_tool_use(session, call(name), "x" * 300_000) == "x" * 300_000
    assert files(session) == []


def test_what_stays_says_the_size_the_place_and_the_way_to_read_it(session):
    text = "".join(f"line {n}\n" for n in range(30_000))
    short, path, kept = evicted(session, text)
    assert path == f".harnessx/large_tool_results/chat/run_shell-{hashlib.sha256(text.encode()).hexdigest()[:12]}.txt"
    assert kept == text
    assert short.startswith(
        f"[run_shell returned {len(text):,} characters, too many for the desk. The whole text is in {path}: "
    )
    assert "read_file" in short and "offset and limit" in short
    assert text[:2_000] in short and short.endswith(text[-2_000:])
    assert f"[{len(text) - 4_000:,} characters left out; the last 2,000 characters:]" in short
    assert len(short) < 4_600
    assert session.notices == [f"[DESK] eviction: {len(text):,} characters of run_shell are in {path}"]


def test_a_preview_has_at_most_half_of_the_text(session):
    short, _, _ = evicted(session, "abcdefg" * 3, max_characters=10)
    assert "[The first 10 characters:]\nabcdefgabc\n" in short and short.endswith("10 characters:]\nefgabcdefg")
    assert "[1 characters left out" in short


@pytest.mark.parametrize("before", [1_999, 1_998, 1_997, 1_996])
def test_a_preview_parts_no_emoji_and_no_accent(before):  # AB21
    for joined in (FAMILY, "e\u0301"):
        text = "a" * before + joined + "b" * 5_000 + joined + "c" * before
        kept = placeholder(text, "t", "p", 2_000)
        head = kept.partition(":]\n")[2].partition("\n[")[0]
        tail = kept.rpartition(":]\n")[2]
        assert head.rstrip("b") in ("a" * before, "a" * before + joined)
        assert tail.lstrip("b") in (joined + "c" * before, "c" * before)


def test_a_call_id_that_is_used_again_or_missing_overwrites_nothing(session):  # AB21, HB19
    made = Eviction()
    first = made.post_tool_use(session, call(id="call_0"), "a" * 90_000)
    second = made.post_tool_use(session, call(id="call_0"), "b" * 90_000)
    made.post_tool_use(session, call(id=None), "c" * 90_000)
    assert sorted(path.read_text("utf-8") for path in files(session)) == [letter * 90_000 for letter in "abc"]
    for short, letter in [(first, "a"), (second, "b")]:
        path = re.search(r'path "([^"]+)"', short)[1]
        assert (session.root / path).read_text("utf-8") == letter * 90_000


def test_equal_results_share_a_file_which_is_written_anew(session):  # HB19: an old file was kept as it was
    _, path, _ = evicted(session, "a" * 90_000)
    (session.root / path).write_text("stale", "utf-8")
    _, again, text = evicted(session, "a" * 90_000)
    assert again == path and text == "a" * 90_000 and len(files(session)) == 1


@pytest.mark.parametrize("id", ["../../out", "/etc", "聊天", "a/b", "..", "con"])
def test_no_session_and_no_tool_leads_out_of_the_folder(session, id):  # AB21: 聊天 was __ for everybody
    session.id = id
    _, path, _ = evicted(session, "x" * 90_000, "../../../tool")
    folder = session.root / ".harnessx" / "large_tool_results"
    (file,) = files(session)
    assert file.resolve().parent.parent == folder.resolve() and (session.root / path) == file
    assert SessionLog.of(session).id == file.parent.name


def test_sessions_do_not_share_a_folder(session):
    paths = set()
    for session.id in ("聊天", "对话", "a/b", "a b"):
        paths.add(evicted(session, "x" * 90_000)[1])
    assert len(paths) == 4


def test_credentials_reach_neither_the_file_nor_the_preview(session):
    secret = "sk-" + "a1B2c3D4" * 5
    short, _, kept = evicted(session, f"key {secret}\n" + "x" * 90_000 + f"\n{secret}")
    assert secret not in kept and secret not in short and kept.count("[masked: ") == 2


@pytest.mark.parametrize("text", ["\ufeff" + "x" * 90_000, "a\r\nb\r" * 30_000, "\ud83d" + "x" * 90_000])
def test_sizes_and_places_count_as_read_file_counts(session, text):
    short, path, _ = evicted(session, text)
    assert f"returned {len(read_back(session, path)):,} characters" in short


def read_back(session, path):
    """The whole file, as a model would read it, a piece at a time."""
    read = {tool.name: tool for tool in workspace_tools(session.root)}["read_file"].run
    pieces, offset = "", 0
    while True:
        answer = read({"path": path, "offset": offset})
        assert len(answer) <= MAX_READ + 100
        head, _, piece = answer.partition("\n")
        pieces += piece
        if not (more := re.search(r"read on with offset (\d+)\)$", head)):
            return pieces
        offset = int(more[1])


def test_one_line_of_300_000_characters_can_be_read_back_and_never_floods(session):  # AB21: it came back whole
    text = "".join(f"{n:06} 书桌 {FAMILY} " for n in range(18_000))[:300_000]
    _, path, _ = evicted(session, text)
    assert read_back(session, path) == text


def test_a_result_stays_when_its_file_can_not_be_written(session, monkeypatch):
    def broken(path, text):
        raise FileProblem(f"{path.name} could not be written (No space left on device): check folder and disk.")

    monkeypatch.setattr(eviction, "write_atomic", broken)
    made = Eviction()
    assert made.post_tool_use(session, call(), "x" * 90_000) == "x" * 90_000
    assert len(session.notices) == 1 and made.cuts == []
    assert re.fullmatch(
        r"\[DESK\] eviction: the result of run_shell stays on the desk, its file failed: .*disk\.", session.notices[0]
    )


def test_a_result_stays_when_its_folder_can_not_be_made(session):
    (session.root / ".harnessx").write_text("a file in the way", "utf-8")
    assert Eviction().post_tool_use(session, call(), "x" * 90_000) == "x" * 90_000
    assert len(session.notices) == 1


def test_an_interrupt_passes(session, monkeypatch):
    def interrupt(path, text):
        raise KeyboardInterrupt

    monkeypatch.setattr(eviction, "write_atomic", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Eviction().post_tool_use(session, call(), "x" * 90_000)


def test_a_result_that_looks_like_a_placeholder_is_treated_like_any_other(session):
    short, _, _ = evicted(session, "x" * 90_000)
    assert Eviction().post_tool_use(session, call(), short) == short
    long = short + "y" * 90_000
    again, _, kept = evicted(session, long)
    assert kept == long and again != long


# A round of calls


def calls(*ids, name):
    made = [{"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": "", "tool_calls": made}


def round_of(session, *sizes, name="run_shell"):
    """A round of calls that was just made, behind an older one; returns what the messages say."""
    ids = [f"call_{n}" for n in range(len(sizes))]
    old = {"role": "tool", "tool_call_id": "old", "content": "o" * 79_000}
    session.messages = [{"role": "user", "content": "task"}, calls("old", name=name), old, calls(*ids, name=name)]
    texts = [chr(97 + n) * size for n, size in enumerate(sizes)]
    session.messages += [{"role": "tool", "tool_call_id": id, "content": t} for id, t in zip(ids, texts, strict=True)]
    return [message["content"] for message in session.messages]


def stays(session, before):
    same = [message["content"] == old for message, old in zip(session.messages, before, strict=True)]
    assert all(same[:4])
    return same[4:]


@pytest.mark.parametrize(
    "sizes, kept",
    [
        ((70_000, 80_000, 60_000), [True, False, True]),  # the largest is enough
        ((70_000, 70_000, 60_000), [True, True, True]),  # exactly at the limit
        ((70_000, 80_000, 79_000, 78_000, 77_000), [True, False, False, False, True]),
        ((30_000,) * 8, [True] * 8),  # none is over the size from which one may go
        ((30_001,) * 8, [False] * 2 + [True] * 6),
    ],
)
def test_of_a_round_that_is_too_large_the_largest_results_go_first(session, sizes, kept):
    before, messages = round_of(session, *sizes), list(session.messages)
    made = Eviction()
    made.before_request(session)
    assert stays(session, before) == kept
    assert [message["content"] for message in messages] == before, "a message that others share was changed in place"
    assert len(files(session)) == len(session.notices) == kept.count(False)
    assert len(made.cuts) == (0 if all(kept) else 1)


def test_results_of_excluded_tools_stay_in_a_round_too(session):
    before = round_of(session, *[79_000] * 4, name="memory_search")
    Eviction().before_request(session)
    assert all(stays(session, before))


def test_a_round_stays_when_no_file_can_be_written(session):
    (session.root / ".harnessx").write_text("a file in the way", "utf-8")
    before = round_of(session, *[79_000] * 3)
    made = Eviction()
    made.before_request(session)
    assert all(stays(session, before)) and made.cuts == []


def test_a_result_that_is_archived_is_not_archived_again_as_its_placeholder(session):
    before = round_of(session, *[79_000] * 3)
    log = SessionLog.of(session)
    log.append(session)
    Eviction().before_request(session)
    assert log.append(session) == 0
    assert [message["content"] for message in log.restore()] == before


# In an agent


def test_an_agent_reads_back_what_was_evicted(tmp_path):
    page = "".join(f"{n:06} " for n in range(43_000))[:300_000]
    bodies = []

    def server(request):
        bodies.append(json.loads(request.content))
        last = bodies[-1]["messages"][-1]
        message = {"role": "assistant", "content": "done"}
        if len(bodies) <= 2:
            arguments = (
                {"path": re.search(r'path "([^"]+)"', last["content"])[1], "offset": 150_000}
                if len(bodies) == 2
                else {}
            )
            function = {"name": "read_file" if arguments else "fetch", "arguments": json.dumps(arguments)}
            message["tool_calls"] = [{"id": "call", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        return httpx.Response(200, json={"choices": [choice], "usage": {}})

    class Fetch(Plugin):
        def tools(self, session):
            return [Tool("fetch", "Fetch.", {"type": "object", "properties": {}}, lambda arguments: page)]

    client = ChatClient("http://127.0.0.1:9", "sk-x", transport=httpx.MockTransport(server), attempts=1)
    part = Eviction()
    result = Agent(client, tmp_path, plugins=[Archive("chat"), Fetch(), part]).run("task")
    assert result.text == "done"
    assert bodies[2]["messages"][-1]["content"] == (
        f"(characters 150,000 to 170,000 of 300,000; read on with offset 170000)\n{page[150_000:170_000]}"
    )
    assert max(len(json.dumps(body)) for body in bodies) < 30_000
    (cut,) = part.cuts
    assert cut.how == "eviction" and cut.tokens_after < cut.tokens_before / 10
    assert cut.after == result.messages[: len(cut.after)]
