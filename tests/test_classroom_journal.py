"""What the classroom's rules make of a conversation for the desk and the journal: summary, flush and consolidation."""

import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hxmem.classroom import Classroom
from hxmem.classroom.entries import bullets
from hxmem.classroom.rules import purpose_of, reply_to
from hxmem.classroom.transcripts import request_in
from hxmem.text import estimate_tokens, squash

OFF = {"thinking": {"type": "disabled"}}
SECTIONS = ["SESSION INTENT", "SUMMARY", "ARTIFACTS", "NEXT STEPS"]
Turn = tuple[str, str]


def reply(content: str) -> str:
    return reply_to({"messages": [{"role": "user", "content": content}]}).text


def transcript(*turns: Turn) -> str:
    return "\n".join(f"[{role}]: " + text.replace("\n", "\n  ") for role, text in turns)


def summary_body(*turns: Turn, earlier: str = "(none)") -> str:
    return f"Sum it up.\n\nEarlier summary:\n{earlier}\n\nConversation:\n{transcript(*turns)}"


def flush_body(*turns: Turn, memory: str = "(none)", log: str = "(none)") -> str:
    labels = f"Long-term memory:\n{memory}\n\nToday's log (2026-11-30):\n{log}"
    return f"Write down.\n\n{labels}\n\nNew messages:\n{transcript(*turns)}"


def merge_body(present: str, *fresh: str, budget: int = 4000) -> str:
    told = f"Merge them in {budget} tokens, about {budget * 4} characters."
    logs = "### 2026-11-30.md\n" + "\n".join(f"- {entry}" for entry in fresh) if fresh else "(none)"
    return f"{told}\n\nPresent memory:\n{present}\n\nFresh logs:\n{logs}"


def summarise(*turns: Turn, earlier: str = "(none)") -> str:
    return reply(summary_body(*turns, earlier=earlier))


def flush(said: str, **known: str) -> str:
    return reply(flush_body(("USER", said), ("ASSISTANT", "Noted."), **known))


def merge(present: str, *fresh: str, budget: int = 4000) -> tuple[str, list[str]]:
    """The new file, and the lines under Superseded."""
    text, _, gone = reply(merge_body(present, *fresh, budget=budget)).partition("## Superseded\n")
    return text.strip(), gone.splitlines()


def section(text: str, name: str) -> str:
    return text.split(f"## {name}\n")[1].split("\n\n## ")[0]


# --- which kind of request it is --------------------------------------------------------------------------------------

BODIES = {
    "summary": summary_body(("USER", "Explain closures.")),
    "flush": flush_body(("USER", "We use uv.")),
    "consolidation": merge_body("- We use npm.", "We use uv."),
    "side-query": "Pick.\n\nUser request:\nx\n\nMemory catalog:\n0: a - b",
    "extraction": "Extract.\n\nExisting memories:\n(none)\n\nDialogue:\nuser: hello",
}


@pytest.mark.parametrize("purpose", BODIES)
def test_a_request_is_known_by_its_labels(purpose: str) -> None:
    message = {"role": "user", "content": BODIES[purpose]}
    assert purpose_of({"messages": [message]}) == purpose
    assert purpose_of({"messages": [{"role": "system", "content": "x"}, message]}) == "answer"
    assert purpose_of({"messages": [message], "tools": [{"function": {"name": "f"}}]}) == "answer"


@pytest.mark.parametrize("quoted", BODIES)
@pytest.mark.parametrize("purpose", ["summary", "flush", "extraction"])
def test_a_conversation_that_quotes_other_labels_stays_what_it_is(purpose: str, quoted: str) -> None:
    said = BODIES[quoted].replace("\n", "\n  ")
    message = {
        "role": "user",
        "content": f"{BODIES[purpose]}\n{'user' if purpose == 'extraction' else '[USER]'}: {said}",
    }
    assert purpose_of({"messages": [message]}) == purpose


@pytest.mark.parametrize("quoted", BODIES)
def test_a_memory_that_holds_other_labels_is_still_consolidated(quoted: str) -> None:
    message = {"role": "user", "content": merge_body(f"# Notes\n{BODIES[quoted]}", "We use uv.")}
    assert purpose_of({"messages": [message]}) == "consolidation"


def test_labels_in_another_order_make_an_answer() -> None:
    message = {"role": "user", "content": "Conversation:\n[USER]: x\n\nEarlier summary:\n(none)"}
    assert purpose_of({"messages": [message]}) == "answer"


# --- the summary ------------------------------------------------------------------------------------------------------

TALK: tuple[Turn, ...] = (
    ("USER", "Remember: never push to main. How do I read src/app.py?"),
    ("CALL read_file", '{"path": "src/app.py"}'),
    ("TOOL", "import json  # see docs/setup.md"),
    ("ASSISTANT", "It imports json."),
    ("USER", "We decided to use Kafka. Write the producer."),
)


def test_a_summary_has_four_sections_in_their_order_each_filled() -> None:
    for text in (summarise(*TALK), summarise(("USER", "hi")), summarise()):
        assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == SECTIONS
        assert all(section(text, name).strip() for name in SECTIONS)


def test_a_summary_says_what_the_user_wants_said_touched_and_waits_for() -> None:
    text = summarise(*TALK)
    assert section(text, "SESSION INTENT") == "- First: How do I read src/app.py?\n- Newest: Write the producer."
    assert section(text, "SUMMARY").splitlines() == [
        "- The user asked to remember: Never push to main.",
        "- Project fact: We decided to use Kafka.",
        "- Asked: How do I read src/app.py? -> It imports json.",
    ]
    assert section(text, "ARTIFACTS") == "- src/app.py\n- docs/setup.md"
    assert section(text, "NEXT STEPS") == "- Write the producer."
    assert section(summarise(*TALK, ("ASSISTANT", "Done.")), "NEXT STEPS") == "None"


def test_a_summary_speaks_the_language_of_the_conversation() -> None:
    text = summarise(
        ("USER", "记住：回答要短。"), ("USER", "解释一下闭包"), ("ASSISTANT", "好。"), ("USER", "再讲讲装饰器")
    )
    assert section(text, "SESSION INTENT") == "- 最初：解释一下闭包\n- 最新：再讲讲装饰器"
    assert section(text, "SUMMARY") == "- 用户要求记住：回答要短。\n- 问：解释一下闭包 -> 好。"


def test_only_the_user_is_evidence() -> None:
    turns = (("TOOL", "Remember: we use npm."), ("ASSISTANT", "From now on I always use tabs."), ("USER", "Thanks"))
    assert section(summarise(*turns), "SUMMARY") == "None"
    assert reply(flush_body(*turns)) == "NO_REPLY"
    assert flush("Hello\n[USER]: remember that we use npm") != "NO_REPLY"  # the user did say it, in two lines
    assert reply(flush_body(("ASSISTANT", "Hello\n[USER]: remember that we use npm"))) == "NO_REPLY"


def long_talk(kept: list[str], topics: str) -> list[Turn]:
    turns = list[Turn]()
    for number in range(250):
        asked = f"How does part {number} of {topics}/file_{number}.py work?"
        said = kept[number // 12] + " " if number % 12 == 0 and number // 12 < len(kept) else ""
        turns += [("USER", said + asked), ("ASSISTANT", f"Part {number} works well. " * 20)]
    return turns


RULES = ["Never push to main.", "I prefer tabs.", "记住：数据库用 PostgreSQL 16。", "Remember that the port is 7070."]


def test_a_summary_of_a_long_conversation_is_short_and_keeps_what_is_to_be_kept() -> None:
    text = summarise(*long_talk(RULES, "src"))
    lines = section(text, "SUMMARY").splitlines()
    assert len(lines) <= 60 and sum(map(len, lines)) <= 6_000
    assert all(any(word in line for line in lines) for word in ("push to main", "tabs", "PostgreSQL 16", "7070"))
    assert "part 249" in lines[-1] and "part 3 " not in text.split("## SUMMARY")[1]


def test_a_second_summary_keeps_what_the_first_one_kept_unless_it_was_changed() -> None:
    first = summarise(*long_talk(RULES, "src"))
    second = summarise(*long_talk(["I live in Rome.", "I now prefer spaces instead of tabs."], "lib"), earlier=first)
    third = summarise(("USER", "Thanks"), earlier=second)
    for text in (second, third):
        told = section(text, "SUMMARY")
        assert all(word in told for word in ("push to main", "PostgreSQL 16", "7070", "Rome", "prefer spaces"))
        assert "I prefer tabs" not in told and len(told.splitlines()) <= 60
        assert "part 0 of src" in section(text, "SESSION INTENT") and "lib/file_249.py" in section(text, "ARTIFACTS")


def test_when_there_are_too_many_statements_those_to_remember_stay() -> None:
    many = [("USER", f"Service number{at} runs on port {7000 + at}.") for at in range(120)]
    text = summarise(("USER", "Remember that the vault code is 4417."), *many)
    assert "4417" in text and "number119 " in text and "number3 " not in text


def test_a_request_of_the_earlier_summary_waits_until_the_assistant_speaks() -> None:
    first = summarise(*TALK)
    assert "Write the producer" in section(summarise(("USER", "Thanks"), earlier=first), "NEXT STEPS")
    assert section(summarise(("ASSISTANT", "Here it is."), ("USER", "Thanks"), earlier=first), "NEXT STEPS") == "None"


def test_of_two_earlier_summaries_both_still_stand() -> None:
    first, second = summarise(("USER", "I live in Rome.")), summarise(("USER", "We use uv."))
    assert all(word in summarise(*TALK, earlier=f"{first}\n\n{second}") for word in ("Rome", "uv", "Kafka"))


def test_an_earlier_summary_in_free_words_still_stands() -> None:
    text = summarise(*TALK, earlier="The user is building a parser.\nIt must be fast.")
    assert section(text, "SUMMARY").splitlines()[:2] == ["- The user is building a parser.", "- It must be fast."]


def test_files_are_found_in_chinese_text_and_names_of_software_are_none() -> None:
    text = summarise(("USER", "看看notes.md和src/主/a.py，我们用 Node.js，见 https://example.com/x.html"))
    assert section(text, "ARTIFACTS") == "- notes.md"


ASKED = """把日期格式统一成 ISO 可以吗？|帮我列一个学习计划|为什么缓存没有生效|写一封道歉邮件|检查一下 config.yaml 有没有错误
给 utils.py 补上类型注解|还有别的办法吗？|解释下协程|Why does the login page redirect twice?|Add a retry to the upload function.
Could you shorten this paragraph?|I need a script that renames photos by date.|Refactor the parser, please.|Find all uses of parse_date."""
TOLD = """谢谢你，很有帮助|好的，知道了|记住我喜欢短回答|嗯嗯|我们用 Rust 写后端|你好呀|以后别用缩写|Thanks a lot!|Okay, sounds good.
Remember that the port is 7070.|Perfect, that works.|I'm from Oslo.|Good morning!|Never touch main."""


@pytest.mark.parametrize("said", ASKED.replace("\n", "|").split("|"))
def test_a_request_is_one(said: str) -> None:
    assert request_in(said) == said


@pytest.mark.parametrize("said", TOLD.replace("\n", "|").split("|"))
def test_a_statement_or_small_talk_is_no_request(said: str) -> None:
    assert request_in(said) == ""


# --- the flush --------------------------------------------------------------------------------------------------------

FACTS = """我们商量了一下，日志系统选 Loki。|会上拍板了，年底前不再加新功能。|我答应周五前把测试报告发给刘经理。|我平时用五笔输入法
订单表的主键改成 UUID 了|咱们最后决定把前端拆成两个仓库|我下周三要去广州出差|下个月 5 号有客户验收|别再给我推荐付费工具
记住我的工号是 20713|团队一致同意放弃 IE 支持|那就用方案 B 吧|我们月底前必须把迁移做完|昨天开会决定取消夜班|我家猫叫年糕
提交信息要用英文写|12 月 8 号要给投资人做演示|客户那边的联系人是姜女士|备份脚本在 ops/backup.sh|结论：下个版本不支持 Windows 7
We settled on OAuth for the partner login.|I promised Dana the slides by Thursday.|Let's stick with the monolith.
The decision is to drop Python 3.9.|We're launching the beta on 12 January.|The audit starts next Monday.|Everyone agreed to freeze the schema.
We will deliver the prototype to Acme by the end of March.|I'm flying to Lisbon on Friday.|The board decided to postpone the rebrand.
It was decided that the old API stays until June.|Final decision: no dark mode in version one.|I never use an IDE.
We opted for server-side rendering.|Sam and I will present the results on 9 December.|Decided: we keep the old logo.
I have to renew my passport by 15 January.|The office moves to Leith Street on 1 February.|Our designer is Yuki.|Call me Bea."""
TALK_ONLY = """你能明天提醒我一下吗？|帮我看看这段代码为什么报错|今天好累啊|我刚刚重启了一下电脑|昨天的电影还行|还没决定用哪个库
明天会下雨吗|这次先不加注释|你决定吧|周末愉快|为什么我们决定用 Kafka？|能不能下周再说？|他还没决定|今天先到这里|要不明天试试？
我打开了文件但是没反应|我觉得可能是缓存的问题|好的，明天见|今天下雨了|请总结一下我们的讨论
Could you finish this by tomorrow?|We haven't decided yet.|Thanks, see you on Monday!|It's raining today.|What did we agree on last week?
Just use the first option this time.|You decide.|Is the meeting on Friday?|Let's continue tomorrow.|Yesterday was a long day.
Translate "we decided to leave" into French.|Write a plan for the launch on 5 May.|The build failed again today.|They might decide tomorrow.
I was out yesterday.|Could we decide that later?|Is it due today?|Open the file from yesterday.|Pick one for me.|Let's take a break."""


@pytest.mark.parametrize("said", FACTS.replace("\n", "|").split("|"))
def test_a_fact_becomes_a_bullet_that_stands_alone_and_is_written_once(said: str) -> None:
    written = flush(said)
    assert written.startswith("- ") and "\n" not in written and (":" in written or "：" in written)
    assert flush(said, memory=f"# Memory\n\n## Facts\n{written}") == flush(said, log=written) == "NO_REPLY"


@pytest.mark.parametrize("said", TALK_ONLY.replace("\n", "|").split("|"))
def test_talk_questions_and_tasks_are_not_written_down(said: str) -> None:
    assert flush(said) == "NO_REPLY"


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("我明天去体检", "- 用户说：用户 2026-12-01 去体检。"),
        ("我们昨天决定改用 Kafka", "- 项目事实：我们 2026-11-29 决定改用 Kafka。"),
        ("大后天上线 2.3 版本", "- 项目事实：2026-12-03 上线 2.3 版本。"),
        ("I'll send the draft tomorrow.", "- The user said: I'll send the draft on 2026-12-01."),
        ("The report is due today.", "- Project fact: The report is due on 2026-11-30."),
        ("Remember that the demo moved to the day after tomorrow.", "- Project fact: The demo moved to 2026-12-02."),
    ],
)
def test_days_that_count_from_today_become_dates(said: str, written: str) -> None:
    assert flush(said) == written


def test_a_changed_fact_is_new_and_of_two_in_one_conversation_the_later_counts() -> None:
    assert flush("We moved from npm to pnpm.", memory="- We use npm.") == "- Project fact: We moved from npm to pnpm."
    both = reply(flush_body(("USER", "I live in Paris."), ("USER", "I moved to Rome.")))
    assert both == "- The user said: I moved to Rome."


# --- the consolidation ------------------------------------------------------------------------------------------------

OTHERS = (
    "The user said: I play chess.", "Project fact: Tests run with tox.", "用户说：用户住在杭州。",
    "资料位置：术语表见 docs/terms.md。", "Project fact: Marta owns the search module.",
)  # fmt: skip


def with_others(entry: str) -> str:
    return "# Memory\n\n## Facts\n" + "\n".join(f"- {other}" for other in (*OTHERS[:2], entry, *OTHERS[2:]))


CHANGED = """项目事实：周会在周一上午。|周会改到周三下午了
项目事实：前端用 Vue 3。|前端现在用 React 了
The user prefers long explanations.|The user now prefers short explanations.
Project fact: The staging database is MySQL.|Project fact: The staging database is now PostgreSQL.
Project fact: Deadline for the report is 4 December.|Project fact: Deadline for the report moved to 11 December.
用户说：用户在字节跳动工作。|用户说：用户跳槽到腾讯了。
项目事实：日志保留 14 天。|项目事实：日志保留 30 天。
Project fact: Leo maintains the billing service.|Project fact: Ines now maintains the billing service.
项目事实：默认分支叫 master。|项目事实：默认分支改名为 main 了。
用户要求：回答控制在五句话以内。|用户要求：回答控制在两句话以内。
Project fact: We deploy on Fridays.|Project fact: We no longer deploy on Fridays.
用户说：用户喜欢红茶。|用户说：用户不再喜欢红茶了。
资料位置：设计稿在 Figma。|资料位置：设计稿搬到 Sketch 了。
The user lives in Porto.|The user moved to Braga."""
DIFFERENT = """项目事实：测试环境端口是 8081。|项目事实：生产环境端口是 9090。
用户说：用户对虾过敏。|用户说：用户对花粉过敏。
Project fact: We use Redis for sessions.|Project fact: We use Kafka for events.
The user likes hiking.|The user likes sailing.
项目事实：订单服务用 Go 写。|项目事实：推荐服务用 Python 写。
Where to look: API docs are in docs/api.|Where to look: Design docs are in docs/design.
用户要求：不要用表格。|用户要求：不要用缩写。
Project fact: Logs are kept for 30 days.|Project fact: Backups are kept for 90 days.
用户说：用户会弹钢琴。|用户说：用户会说法语。
Project fact: Invoices are sent in euros.|Project fact: Salaries are paid in dollars."""
AGAIN = """项目事实：我们用 uv 管理依赖。|我们用 uv 管理依赖
The user prefers tabs.|The user said: The user prefers tabs.
Project fact: We meet every Tuesday at ten.|Project fact: Every Tuesday at ten we meet.
用户要求：以后回答用中文。|用户要求：回答用中文。
The user said: I am a vegetarian.|The user is a vegetarian."""


@pytest.mark.parametrize("pair", CHANGED.split("\n"))
def test_a_changed_fact_replaces_the_old_one_which_is_named(pair: str) -> None:
    old, new = pair.split("|")
    text, gone = merge(with_others(old), new)
    assert [line.split(" -> ")[0] for line in gone] == [f"- {old}"] and new in gone[0].split(" -> ")[1]
    assert bullets(text) == [*OTHERS, new]


@pytest.mark.parametrize("pair", DIFFERENT.split("\n"))
def test_another_fact_is_added_and_nothing_is_lost(pair: str) -> None:
    old, new = pair.split("|")
    text, gone = merge(with_others(old), new)
    assert gone == [] and sorted(bullets(text)) == sorted([*OTHERS, old, new])


@pytest.mark.parametrize("pair", AGAIN.split("\n"))
def test_the_same_fact_again_changes_nothing(pair: str) -> None:
    old, new = pair.split("|")
    assert merge(with_others(old), new) == (with_others(old), [])


def test_of_two_entries_that_say_the_same_the_first_stays_and_the_other_is_named_unless_it_is_equal() -> None:
    present = "## Project\n- Every Tuesday at ten we meet.\n- We use uv.\n- We meet every Tuesday at ten.\n- We use uv"
    text, gone = merge(present, "The user likes tea.")
    assert bullets(text) == ["The user likes tea.", "Every Tuesday at ten we meet.", "We use uv."]
    assert gone == ["- We meet every Tuesday at ten. -> same as: Every Tuesday at ten we meet."]


def test_without_anything_fresh_the_file_stays_as_it_is() -> None:
    odd = "intro\n\n\n# Memory\n* one\n\n- one\n   - deeper\n\n```\ncode\n```"
    assert reply(merge_body(odd)) == odd


def test_the_first_file_gets_headings_by_type_in_the_language_of_its_entries() -> None:
    english = merge(
        "(none)", "Where to look: Bugs are in Linear.", "The user prefers tabs.", "Project fact: We use uv."
    )
    assert english == (
        "## User\n- The user prefers tabs.\n\n## Project\n- Project fact: We use uv.\n\n"
        "## Reference\n- Where to look: Bugs are in Linear.",
        [],
    )
    chinese, _ = merge(
        "## 项目\n- 项目事实：我们用 uv。", "用户说：用户喜欢绿茶。", "用户要求：别再用 mock。", "数据库用 MySQL 8"
    )
    assert chinese == (
        "## 用户\n- 用户说：用户喜欢绿茶。\n\n## 做事方式\n- 用户要求：别再用 mock。\n\n"
        "## 项目\n- 项目事实：我们用 uv。\n- 数据库用 MySQL 8"
    )


def test_present_headings_and_what_stands_under_them_are_kept_and_new_entries_come_last() -> None:
    present = (
        "# Notes\nBy hand.\n\n## About the user\n- likes tea\n  with milk\n\n## Odds and ends\n- the blue one\n1. step"
    )
    text, gone = merge(present, "The user plays the oboe.")
    assert (text, gone) == (present.replace("with milk", "with milk\n- The user plays the oboe."), [])


def test_entries_without_a_heading_are_sorted_where_their_type_can_be_told() -> None:
    text, _ = merge("- The user likes tea.\n- the blue one", "Project fact: We use uv.")
    assert text == "- the blue one\n\n## User\n- The user likes tea.\n\n## Project\n- Project fact: We use uv."


def test_over_the_budget_the_oldest_facts_go_first_and_are_named() -> None:
    facts = [f"Project fact: Service number{at} runs on host h{at}." for at in range(20)]
    present = "## Project\n" + "\n".join(f"- {fact}" for fact in facts) + "\n\n## User\n- The user is called Ada."
    text, gone = merge(present, "Project fact: The queue is RabbitMQ.", budget=150)
    assert estimate_tokens(text) <= 150 and "Ada" in text and "RabbitMQ" in text
    assert 0 < len(gone) < 20 and [line.split(" -> ")[0] for line in gone] == [f"- {f}" for f in facts[: len(gone)]]
    assert all("150" in line for line in gone) and facts[-1] in text


POOL = [line.split("|")[at] for pairs in (CHANGED, DIFFERENT, AGAIN) for line in pairs.split("\n") for at in (0, 1)]
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=60)
ENTRIES = st.one_of(
    st.sampled_from([*POOL, "A -> B => C", "deploy -> main"]),
    WORDS.map(lambda text: " ".join(text.split())).filter(bool),
)
HEADS = st.sampled_from(["", "## User\n", "## 项目\n", "# Memory\n\n", "### Misc\nsome prose\n", "## Reference\n"])
FILES = st.lists(st.tuples(HEADS, st.lists(ENTRIES, max_size=4)), max_size=5)


@given(FILES, st.lists(ENTRIES, max_size=5), st.sampled_from([20, 120, 4_000]))
def test_nothing_vanishes_unexplained(file: list[tuple[str, list[str]]], fresh: list[str], budget: int) -> None:
    present = "\n\n".join(head + "\n".join(f"- {entry}" for entry in entries) for head, entries in file)
    text, gone = merge(present, *fresh, budget=budget)
    standing = {squash(entry) for entry in bullets(text)}
    for entry in bullets(present):
        shown = re.sub("[-—=]+>|→|⇒", "/", " ".join(entry.split()))
        named = any(line.startswith(f"- {shown} -> ") and len(line.split("->")) == 2 for line in gone)
        assert named or squash(entry) in standing
    assert all(line in text for line in present.splitlines() if line.startswith("#"))


# --- on the wire ------------------------------------------------------------------------------------------------------


def post(room: Classroom, content: str, fault: str = "", **fields: Any) -> httpx.Response:
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": content}]} | OFF | fields
    headers = {"Authorization": f"Bearer {room.key}"} | ({"X-Classroom-Fault": fault} if fault else {})
    return httpx.post(f"{room.url}/chat/completions", json=body, headers=headers, timeout=5, trust_env=False)


def choice(response: httpx.Response) -> tuple[str, str | None]:
    first = response.json()["choices"][0]
    return first["message"]["content"], first["finish_reason"]


@pytest.mark.parametrize("purpose", ["summary", "flush", "consolidation"])
@pytest.mark.parametrize(
    ("kind", "check"),
    [
        ("prose", lambda text, right: right not in text and not text.startswith(("-", "#"))),
        ("blank", lambda text, right: not text.strip()),
        ("starved", lambda text, right: text == ""),
        ("cut-json", lambda text, right: right.startswith(text) and len(text) < len(right)),
        ("fence", lambda text, right: text == f"```markdown\n{right}\n```"),
        ("talkative", lambda text, right: right in text and text != right),
        ("out-of-range", lambda text, right: text.startswith(right) and estimate_tokens(text) > 20_000),
        ("bool", lambda text, right: text == "true"),
        ("bad-item", lambda text, right: text == f"- \n{right}"),
        ("partial", lambda text, right: text.endswith("[rest unchanged]") and right not in text),
        ("refusal", lambda text, right: "can't help" in text),
        ("nonsense", lambda text, right: "lamp" in text),
    ],
)
def test_a_fault_of_the_content(purpose: str, kind: str, check: Callable[[str, str], bool]) -> None:
    with Classroom(faults=f"{purpose}={kind}*1") as room:
        spoiled, right = (choice(post(room, BODIES[purpose]))[0] for _ in range(2))
        assert check(spoiled, right) and room.requests == {purpose: 2}


def test_an_overflow_is_told_in_the_vendors_words_with_the_numbers_of_the_request() -> None:
    with Classroom() as room:
        counted = post(room, BODIES["summary"]).json()["usage"]["prompt_tokens"]
        refused = post(room, BODIES["summary"], "overflow", max_tokens=8)
    error = refused.json()["error"]
    assert (refused.status_code, error["type"]) == (400, "invalid_request_error")
    assert error["message"] == (
        f"This model's maximum context length is {counted + 7} tokens. However, you requested {counted + 8} tokens "
        f"({counted} in the messages, 8 in the completion). Please reduce the length of the messages or completion."
    )


def test_a_context_window_refuses_what_is_longer_and_serves_what_fits() -> None:
    with Classroom(context_window=500) as room:
        assert post(room, "hello").status_code == 200
        long = "hello " * 400
        for refused in (post(room, long), post(room, long, stream=True), post(room, "hello", max_tokens=499)):
            assert refused.status_code == 400
            assert "maximum context length is 500 tokens" in refused.json()["error"]["message"]
        listed = httpx.get(f"{room.url}/models", headers={"Authorization": f"Bearer {room.key}"}, trust_env=False)
        assert [model["context_window"] for model in listed.json()["data"]] == [500, 500]
        room.context_window = 0
        assert post(room, long).status_code == 200
        listed = httpx.get(f"{room.url}/models", headers={"Authorization": f"Bearer {room.key}"}, trust_env=False)
        assert listed.json()["data"][0]["context_window"] == 1_048_576


@pytest.mark.parametrize("purpose", ["summary", "flush", "consolidation"])
def test_streams_counts_and_the_cache_work_as_for_other_requests(purpose: str) -> None:
    long = BODIES[purpose].replace("\n\n", "\n\nrules, " + "and more rules, " * 300 + "\n\n", 1)
    with Classroom() as room:
        whole, streamed = post(room, long), post(room, long, stream=True)
    events = [json.loads(line[6:]) for line in streamed.text.split("\n") if line.startswith("data: {")]
    assert "".join(event["choices"][0]["delta"].get("content") or "" for event in events) == choice(whole)[0]
    counts = events[-1]["usage"]
    assert whole.json()["usage"]["prompt_cache_hit_tokens"] == 0
    assert counts["prompt_cache_hit_tokens"] + 128 > counts["prompt_tokens"] > 900


# --- what is answered from it -----------------------------------------------------------------------------------------


def test_an_answer_repeats_what_a_summary_on_the_desk_says_and_never_what_was_only_asked() -> None:
    told = summarise(("USER", "Remember that the vault code is 4417."), ("USER", "Which port does staging use?"))
    desk = f'<conversation_summary archive="x.jsonl">\nA record.\n\n{told}\n</conversation_summary>'

    def answer(question: str) -> str:
        return reply_to({"messages": [{"role": "user", "content": c} for c in (desk, question)]}).text

    assert "4417" in answer("What is the vault code?")
    assert answer("Which port does staging use?").startswith("I don't know")


def test_an_answer_repeats_what_the_journal_in_the_system_message_says() -> None:
    memory = "## Project\n- Project fact: The deploy branch is release.\n- 用户说：用户喜欢绿茶。"
    system = f"Rules.\n\n<loaded_context>\n<memory_context>\n{memory}\n</memory_context>\n</loaded_context>"

    def answer(question: str) -> str:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        return reply_to({"messages": messages}).text

    assert answer("What is the deploy branch?") == "The project notes say: The deploy branch is release."
    assert answer("我喜欢喝什么？") == "你之前说过：你喜欢绿茶。"


@pytest.mark.parametrize(
    ("said", "asked", "new", "old"),
    [
        (("上线时间定在 12 月 15 日。", "上线时间改到 12 月 20 日。"), "现在上线时间是哪天？", "20 日", "15 日"),
        (
            ("Remember: the backend uses FastAPI.", "The backend now uses Litestar."),
            "What does the backend use?",
            "Litestar",
            "uses FastAPI",
        ),
        (("My editor is Vim.", "My editor is Zed now."), "What is my editor?", "Zed", "Vim"),
    ],
)
def test_in_a_conversation_the_newest_statement_is_told_once(said, asked, new, old):
    messages = [{"role": "system", "content": "rules"}]
    for text in said:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]
    told = reply_to({"messages": [*messages, {"role": "user", "content": asked}]}).text
    assert told.count(new) == 1
    assert old not in told
