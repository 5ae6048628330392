"""The flush: the model says what is new, local code decides what of it is written."""

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest

from hxmem.journal.flush import MAX_BULLET, MAX_BULLETS, MAX_LOG, MAX_MESSAGES, MAX_REQUESTS, Flush, flush, read_facts
from hxmem.journal.folder import JournalFolder
from hxmem.journal.ledger import append, bullets

NOW = datetime(2026, 11, 30, 9, 5, 7, tzinfo=timezone(timedelta(hours=8)))
SAID = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": "We use uv now.\nAnn decided it."},
    {"role": "assistant", "content": "Noted."},
]


@pytest.fixture
def folder(tmp_path) -> JournalFolder:
    return JournalFolder(tmp_path)


def saying(*replies, asked=None):
    left = list(replies)

    def ask(messages):
        if asked is not None:
            asked.append(messages)
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, BaseException):
            raise reply
        return reply

    return ask


def log(folder) -> str:
    path = folder.logs / "2026-11-30.md"
    return path.read_text("utf-8") if path.exists() else ""


def test_new_bullets_go_into_todays_log(folder):
    done = flush(SAID, folder, saying("- We use uv.\n- Ann decided it."), NOW, session="chat-7")
    assert done == Flush(("We use uv.", "Ann decided it."), "", folder.logs / "2026-11-30.md")
    assert log(folder) == "## 09:05:07 chat-7\n- We use uv.\n- Ann decided it.\n"


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_request_is_the_instruction_what_is_known_and_what_was_said(folder, lang):
    append(folder, ["Bob likes tea."], NOW)
    folder.memory.write_text("## Tools\n- pip\n", "utf-8")
    asked = []
    flush(SAID, folder, saying("NO_REPLY", asked=asked), NOW, lang)
    (message,) = asked[0]
    instruction, _, rest = message["content"].partition("\n\nLong-term memory:\n")
    assert message["role"] == "user"
    assert rest == (
        "## Tools\n- pip\n\nToday's log (2026-11-30):\n- Bob likes tea.\n\nNew messages:\n"
        "[USER]: We use uv now.\n  Ann decided it.\n[ASSISTANT]: Noted."
    )
    assert "NO_REPLY" in instruction
    assert ("长期记忆" in instruction) == (lang == "zh")


def test_nothing_known_is_named_as_such_and_a_prompt_of_ones_own_is_used(folder):
    asked = []
    flush(SAID, folder, saying("NO_REPLY", asked=asked), NOW, prompt="Mine {x}.")
    content = asked[0][0]["content"]
    assert content.startswith("Mine {x}.\n\nLong-term memory:\n(none)\n\nToday's log (2026-11-30):\n(none)\n\nNew")


@pytest.mark.parametrize(
    "reply",
    [
        "NO_REPLY", "no_reply", "No_Reply.", "NO_REPLY。", " NO_REPLY \n", "`NO_REPLY`", '"NO_REPLY"', "“NO_REPLY”",
        "```\nNO_REPLY\n```", "```text\nno_reply.\n```", "```NO_REPLY```", "- NO_REPLY", "**NO_REPLY**", "NO REPLY!",
        "\ufeffNO_REPLY", "<think>hm\n- a</think>\nNO_REPLY", "Nothing new here.\nNO_REPLY", "NO_REPLY - nothing new.",
        "- None", "- 无。", "- (no new facts)", "ＮＯ＿ＲＥＰＬＹ",
    ],
)  # fmt: skip
def test_nothing_new_writes_nothing_and_is_no_failure(folder, reply):
    assert flush(SAID, folder, saying(reply), NOW) == Flush()
    assert not folder.logs.exists()


@pytest.mark.parametrize(
    "reply",
    [
        "The user talked about uv.", "I'm sorry, but I can't help with that.", "- I'm sorry, I cannot help with that.",
        "抱歉，我无法处理这段对话。", "- 对不起，我不能协助。", '["We use uv."]', '{"facts": ["We use uv."]}', '```json\n["a"]\n```',
        "", "  \n", "```\n```", "Long-term memory:\n(none)\n\nNew messages:\n- We use uv.", "[USER]: We use uv now.\n- a",
        "- [USER]: We use uv now.", "Today's log (2026-11-30):\n- a", "## Facts", "---",
        TimeoutError("no answer in time"), RuntimeError(),
    ],
)  # fmt: skip
def test_a_reply_that_is_no_list_of_bullets_writes_nothing_and_says_why(folder, reply):
    append(folder, ["before"], NOW)
    before = log(folder)
    done = flush(SAID, folder, saying(reply), NOW)
    assert (done.written, done.path, done.failed) == ((), None, True)
    assert done.reason
    assert log(folder) == before


@pytest.mark.parametrize("wrap", ["```markdown\n{}\n```", "```\n{}\n```", "Here are the new facts:\n\n{}\n\nAnything else?",
                                  "<think>- x</think>{}", "{}\nNO_REPLY", "## New\n{}"])  # fmt: skip
def test_a_fenced_or_talkative_reply_is_understood(folder, wrap):
    assert read_facts(wrap.replace("{}", "* a fact\n  and more\n2. another")).bullets == ("a fact\nand more", "another")


def test_what_is_known_is_not_written_again(folder):
    append(folder, ["Bob likes tea."], NOW)
    folder.memory.write_text("## Tools\n- Python 3.11\n  - 用 uv 装\n", "utf-8")
    reply = "- bob likes  TEA\n- Python ３.11。\n- 用uv装\n- Python 3.12\n- python 3.12!"
    assert flush(SAID, folder, saying(reply), NOW).written == ("Python 3.12",)


def test_a_reply_of_only_known_facts_is_nothing_new(folder):
    append(folder, ["Bob likes tea."], NOW)
    assert flush(SAID, folder, saying("- Bob likes tea"), NOW) == Flush()


def test_too_many_and_too_long_bullets_are_bounded_and_named(folder):
    many = flush(SAID, folder, saying("\n".join(f"- fact {n}" for n in range(MAX_BULLETS + 3))), NOW)
    assert (len(many.written), many.failed) == (MAX_BULLETS, False)
    assert "3 bullets over the limit" in many.reason
    long = flush(SAID, folder, saying("- long " + "x" * 5_000), NOW)
    assert len(long.written[0]) <= MAX_BULLET
    assert long.reason == "a long bullet was cut"


def test_credentials_are_masked_and_named(folder):
    key = "sk-abcdefghijklmnopqrstuvwx123456"
    done = flush(
        SAID,
        folder,
        saying(f"- {'x' * (MAX_BULLET // 2 - 20)} {key} {'y' * MAX_BULLET}\n- the password is hunter2"),
        NOW,
    )
    assert "masked: API key; a long bullet was cut; masked: password" in done.reason
    assert not done.failed
    for text in (log(folder), " ".join(done.written)):
        assert "sk-abc" not in text
        assert "hunter2" not in text


@pytest.mark.parametrize(
    "messages", [[], SAID[:1], [{"role": "user", "content": "<conversation_summary>old</conversation_summary>"}]]
)
def test_no_words_no_request(folder, messages):
    asked = []
    assert flush(messages, folder, saying("- a", asked=asked), NOW) == Flush()
    assert asked == []


def test_a_long_conversation_is_asked_about_in_portions_and_nothing_is_dropped(folder):
    messages = [{"role": "user", "content": f"word-{n} " + "x" * 3_000} for n in range(30)]
    asked = []
    done = flush(messages, folder, saying("- first", "- second", "- third", "NO_REPLY", asked=asked), NOW)
    spoken = [request[0]["content"].partition("New messages:\n")[2] for request in asked]
    assert len(spoken) == 5
    assert max(map(len, spoken)) <= MAX_MESSAGES + 100
    assert [n for n in range(30) if f"word-{n} " in "\n".join(spoken)] == list(range(30))
    assert spoken[-1].startswith("[USER]: word-")
    assert "- first" in asked[1][0]["content"]  # written before the next was asked for
    assert done.written == ("first", "second", "third")


def test_of_an_endless_conversation_the_newest_part_counts_and_the_rest_is_named(folder):
    messages = [{"role": "user", "content": f"word-{n} " + "x" * 3_900} for n in range(80)]
    asked = []
    done = flush(messages, folder, saying("NO_REPLY", asked=asked), NOW)
    assert len(asked) == MAX_REQUESTS
    assert "word-79 " in asked[-1][0]["content"]
    assert done.reason.startswith("the oldest ")
    assert not done.failed


def test_what_was_written_stays_when_a_later_portion_fails(folder):
    messages = [{"role": "user", "content": "x" * 3_900} for _ in range(10)]
    done = flush(messages, folder, saying("- first", TimeoutError("no answer in time")), NOW)
    assert (done.written, done.reason, done.failed) == (("first",), "no answer in time", True)
    assert bullets(log(folder)) == ["first"]


def test_of_a_long_log_the_newest_part_is_shown_but_all_of_it_is_known(folder):
    append(folder, [f"old fact {n} " + "x" * 500 for n in range(60)], NOW)
    asked = []
    done = flush(SAID, folder, saying(f"- old fact 0 {'x' * 500}", asked=asked), NOW)
    shown = asked[0][0]["content"].partition("Today's log (2026-11-30):\n")[2].partition("\n\nNew messages:")[0]
    assert len(shown) <= MAX_LOG
    assert "old fact 59 " in shown
    assert "old fact 0 " not in shown
    assert done == Flush()


def test_a_file_that_can_not_be_read_stops_no_flush(folder):
    folder.make()
    folder.memory.write_bytes(b"\xff\xfe")
    done = flush(SAID, folder, saying("- We use uv."), NOW)
    assert (done.written, done.failed) == (("We use uv.",), False)
    assert "MEMORY.md is not UTF-8" in done.reason


def test_a_disk_that_refuses_is_a_reason(folder, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = flush(SAID, folder, saying("- We use uv."), NOW)
    assert (done.written, done.failed) == ((), True)
    assert "could not be" in done.reason


def test_an_interrupt_passes(folder):
    with pytest.raises(KeyboardInterrupt):
        flush(SAID, folder, saying(KeyboardInterrupt()), NOW)


FLUSHER = """
import sys
from datetime import datetime
from pathlib import Path
from hxmem.journal.flush import flush
from hxmem.journal.folder import JournalFolder
for n in range(25):
    said = [{"role": "user", "content": "words"}]
    done = flush(said, JournalFolder(Path(sys.argv[1])), lambda m: f"- {sys.argv[2]} one {n}\\n- {sys.argv[2]} two {n}",
                 datetime(2026, 11, 30, 9), session=sys.argv[2])
    assert len(done.written) == 2, done
"""


def test_two_processes_flushing_at_once_lose_nothing(tmp_path):
    env = {**os.environ, "HXMEM_LANG": "en"}
    flushers = [subprocess.Popen([sys.executable, "-c", FLUSHER, str(tmp_path), name], env=env) for name in ("a", "b")]
    assert [flusher.wait(timeout=120) for flusher in flushers] == [0, 0]
    written = bullets(log(JournalFolder(tmp_path)))
    assert sorted(written) == sorted(
        f"{name} {word} {n}" for name in "ab" for word in ("one", "two") for n in range(25)
    )


@pytest.mark.parametrize(
    "fact",
    [
        "不能写死路径，必须用相对路径。", "无法处理大于 10 MB 的文件，要先切分。", "作为 AI 工程师，王芳负责评测。", "拒绝提供退款的决定由李雷做出。",
        "As an AI engineer, Ann owns the evaluation.", "Sorry pages live under /sorry.", "[ ] write the docs",
        "Unfortunately named `utils`, the module becomes `core`.", "NO_REPLY is what the model says",
    ],
)  # fmt: skip
def test_a_single_fact_that_sounds_like_a_refusal_is_written(folder, fact):
    assert flush(SAID, folder, saying(f"- {fact}"), NOW).written == (fact,)


def test_a_heading_that_tells_whom_it_is_about_stays_with_its_bullets():
    reply = "## New facts\n- a b\n\n### Alice\n- prefers tabs\n- Alice likes tea\n\n**Bob:**\n- prefers spaces"
    assert read_facts(reply).bullets == ("a b", "Alice: prefers tabs", "Alice likes tea", "Bob: prefers spaces")
    assert read_facts("### Alice\n- prefers tabs", ["prefers tabs"]).bullets == ()


@pytest.mark.parametrize(
    "reply",
    ["没有新的内容，NO_REPLY", "NO_REPLY\n\n（本次对话没有新的长期信息。）", "这次没有新内容。\n\n**NO_REPLY**"],
)
def test_nothing_new_may_come_with_a_sentence(folder, reply):
    assert flush(SAID, folder, saying(reply), NOW) == Flush()


def test_a_reply_that_can_not_be_used_gets_one_more_try_that_names_the_fault(folder):
    asked = []
    done = flush(SAID, folder, saying("The user uses uv.", "- The user uses uv.", asked=asked), NOW, "en")
    assert done == Flush(("The user uses uv.",), "", folder.logs / "2026-11-30.md")
    assert asked[1][0]["content"].startswith("Your last reply was not used: the reply holds no entries.")
    assert asked[1][0]["content"].endswith(asked[0][0]["content"])
    refused = flush(SAID, folder, saying("Words."), NOW)
    assert (refused.failed, refused.refused) == (True, True)
    assert not flush(SAID, folder, saying(TimeoutError("no answer")), NOW).refused


def test_credentials_in_what_is_known_and_said_are_not_sent(folder):
    key, asked = "sk-abcdefghijklmnopqrstuvwx123456", []
    folder.make()
    folder.memory.write_text(f"- the key {key}\n", "utf-8")
    (folder.logs / "2026-11-30.md").write_text("- the password is hunter2\n", "utf-8")
    flush([{"role": "user", "content": f"use {key}"}], folder, saying("NO_REPLY", asked=asked), NOW)
    assert "sk-abc" not in asked[0][0]["content"]
    assert "hunter2" not in asked[0][0]["content"]


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_out_of_the_journal_is_not_sent(folder, tmp_path_factory):
    folder.make()
    outside, asked = tmp_path_factory.mktemp("outside") / "secret.md", []
    outside.write_text("- top secret\n", "utf-8")
    folder.memory.symlink_to(outside)
    done = flush(SAID, folder, saying("- We use uv.", asked=asked), NOW)
    assert done.written == ("We use uv.",)
    assert "MEMORY.md leads out of the folder" in done.reason
    assert "secret" not in asked[0][0]["content"]
