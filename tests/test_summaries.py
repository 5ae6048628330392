"""Summaries as models write them: a good one counts, whatever its headings look like, and one that says nothing not."""

import pytest

from hxmem.desk import summary
from hxmem.desk.summary import SECTIONS, SPARE, BadSummary, read_summary
from hxmem.language import sentences
from hxmem.text import estimate_tokens

PROMPT = sentences(summary.__file__, "en")["summary"]
BODIES = ("Move the tea shop.", "The database moves first.", "None", "Write the script.")
GOOD = "\n\n".join(f"## {name}\n{body}" for name, body in zip(SECTIONS, BODIES, strict=True))
CHINESE = ("会话意图", "摘要", "产物", "下一步")


def reply(form, names=SECTIONS, bodies=BODIES):
    """A reply whose headings are in some form: {0} the name, {1} the text, {2} a Chinese name, {3} a number."""
    rows = zip(names, bodies, CHINESE, range(1, 5), strict=True)
    return "\n\n".join(form.format(name, body, chinese, number) for name, body, chinese, number in rows)


@pytest.mark.parametrize(
    "form",
    [
        "## {0}: {1}",
        "## {0}：{1}",
        "## {0} {1}",
        "## {0} - {1}",
        "**{0}**\n{1}",
        "**{0}:** {1}",
        "**{0}**: {1}",
        "## **{0}:**\n{1}",
        "## {2}\n{1}",
        "## {0}（{2}）\n{1}",
        "## {0} / {2}\n{1}",
        "## {2} ({0})\n{1}",
        "## {3}. {0}\n{1}",
        "{3}. {0}\n{1}",
        "{0}:\n{1}",
        "{0}\n----------\n{1}",
        "## {0} ##\n{1}",
        "##### {0}\n{1}",
        "  ## {0}\n{1}",
        "## 📝 {0}\n{1}",
        "## {0}\n{1}\n\n---",
    ],
)
def test_headings_of_any_form_are_found(form):
    assert read_summary(reply(form), PROMPT) == GOOD


@pytest.mark.parametrize(
    "text",
    [
        reply("## {0}\n{1}", names=("SESSION INTENT", "SUMMARY", "ARTIFACT", "NEXT STEP")),
        reply("## {3}{0}\n{1}").replace("## 1", "## 一、").replace("## 2", "## 二、").replace("## 3", "## 三、").replace("## 4", "## 四、"),
        "# Summary\n\n" + GOOD,
        f"<conversation_summary>\n{GOOD}\n</conversation_summary>",
        f"Here it is:\n\n```markdown\n{GOOD}\n```\n\nTell me if something is missing.",
        GOOD.replace("None", ""),
        "\n\n".join(reversed(GOOD.split("\n\n"))),
    ],
)  # fmt: skip
def test_what_stands_around_the_sections_and_their_order_make_no_difference(text):
    assert read_summary(text, PROMPT) == GOOD


@pytest.mark.parametrize(
    "body",
    [
        "- The README begins so:\n```markdown\n## Summary\nTea.\n## Next steps\n```\n- It is short.",
        "### Decisions\n- uv\n### Summary of findings\n- none yet\n### Summary\n- tea",
        "| Topic | Decision |\n|---|---|\n| build | uv |",
        "Said word for word:\n  [USER]: use uv\n  [ASSISTANT]: yes\n  [USER]: and tabs\n- both were done\n- tests pass",
        "- Summary: all is well\nNext steps: none",
        "Sorry to interrupt, wrote the user, help me with this request: find out why I cannot log in.",
        "对不起，用户纠正说：要求用 tab 缩进。",
        "“我无法登录系统”，用户请求帮助排查。",
    ],
)
def test_a_section_may_hold_anything_that_was_talked_about(body):
    text = GOOD.replace("The database moves first.", body)
    assert read_summary(text, PROMPT) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (reply("## {0}\n{1}", bodies=("暂无", "无", "无。", "没有")), "None in every section"),
        (reply("## {0}\n{1}", bodies=("Chat.", "None", "None", "None")), "all but one"),
        (GOOD.replace("The database moves first.", "- tea\n[rest unchanged]"), "leaves out"),
        (GOOD.replace("The database moves first.", "（其余不变）"), "leaves out"),
        (GOOD.replace("Move the tea shop.", "同上"), "leaves out"),
        (GOOD.replace("The database moves first.", "[summary here]"), "leaves out"),
        (f"{GOOD}\n```bash\nuv sync", "inside a fence"),
        (GOOD.replace("Move the tea shop.", "I'm sorry, but I can't help with that."), "refusal"),
        ("I am unable to assist with this.\n\n" + reply("## {0}\n{1}", bodies=("None",) * 4), "None in every section"),
        ('{"session_intent": "Move", "summary": "tea", "artifacts": [], "next_steps": []}', "no section"),
        ("抱歉，我无法总结这段对话。", "refusal"),
        (f"{GOOD}\n\n{GOOD}", "each section once"),
    ],
)
def test_a_reply_that_says_nothing_is_refused(text, reason):
    with pytest.raises(BadSummary, match=reason):
        read_summary(text, PROMPT, replaced=3_000)


def test_a_line_of_a_hundred_thousand_signs_takes_no_time():
    for sign in (" ", "*", "#", "(", "."):
        text = GOOD.replace("Write the script.", f"Write.\n{100_000 * sign}x")
        assert read_summary(text, PROMPT, replaced=10**6) == text


def test_a_summary_may_be_a_little_longer_than_what_it_replaces():  # many short turns say more in a record
    text = GOOD.replace("The database moves first.", "word " * 400 + "end")
    size = estimate_tokens(text)
    assert read_summary(text, PROMPT, replaced=size - SPARE)
    with pytest.raises(BadSummary, match="longer than what it replaces"):
        read_summary(text, PROMPT, replaced=size - SPARE - 1)
