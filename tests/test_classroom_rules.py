"""What the classroom's rules keep, how they name and type it, when they replace it, and what they find again."""

import json
from typing import Any

import pytest

from hxmem.classroom.rules import purpose_of, reply_to

Item = dict[str, str]
SEED = "记住：以后给我讲 HarnessX 时，先用“书桌和小抽屉”的例子，再讲代码。"
SEED_QUESTION = "我之前说过你讲 HarnessX 时要先用什么例子吗？"
CATALOG = (
    "harnessx-desk-drawer-explanation - 讲 HarnessX 时先用书桌和小抽屉的例子再讲代码",
    "harnessx-current-mainline - HarnessX 当前主线是极简 Node.js src 结构",
    "learn-claude-code-s09-memory-reference - 第 9 课 Memory 的本地参考材料位置",
)
OTHERS = (
    "tea-note - 用户喜欢绿茶",
    "ci-runner - CI runs on self-hosted machines",
    "billing-owner - Alice owns the billing service",
    "wiki - 设计稿在 Figma 的 Mobile 文件里",
    "piano - The user plays the piano on weekends",
    "freeze - 发布冻结从 2026-12-01 开始",
)


def reply(content: str, *earlier: tuple[str, str], **fields: Any) -> str:
    messages = [{"role": role, "content": said} for role, said in (*earlier, ("user", content))]
    return reply_to({"messages": messages} | fields).text


def extract(said: str, *known: Item) -> list[Item]:
    lines = [f"{at}: {item['name']} ({item['type']}) - {item['description']}" for at, item in enumerate(known)]
    turn = said.replace("\n", "\n  ")
    found = reply(f"Extract.\n\nExisting memories:\n{chr(10).join(lines) or '(none)'}\n\nDialogue:\nuser: {turn}")
    return [dict(item) for item in json.loads(found)]


def choose(question: str, *catalog: str) -> list[int]:
    lines = "\n".join(f"{at}: {line}" for at, line in enumerate(catalog))
    found = reply(f"Choose.\n\nUser request:\n{question}\n\nMemory catalog:\n{lines}")
    return [int(number) for number in json.loads(found)]


def with_block(question: str, *items: Item) -> str:
    notes = "\n\n".join(
        f'<memory name="{item["name"]}" type="{item["type"]}" source="{item["name"]}.md">\n{item["body"]}\n</memory>'
        for item in items
    )
    return f"<relevant_memories>\nNotes.\n\n{notes}\n</relevant_memories>\n\nUser request:\n{question}"


KEPT = [
    ("user", SEED, SEED_QUESTION, "书桌"),
    ("user", "请记住，我对花生过敏", "我对什么过敏？", "花生"),
    ("user", "我叫林小雨，在成都做护士。", "我叫什么名字？", "林小雨"),
    ("user", "以后回答用中文。", "我说过回答要用什么语言？", "中文"),
    ("user", "我养了一只叫土豆的柯基", "我的柯基叫什么？", "土豆"),
    ("user", "我老家在哈尔滨", "我的老家是哪里？", "哈尔滨"),
    ("user", "我对猫毛过敏，别忘了。", "我对什么过敏？", "猫毛"),
    ("user", "I prefer concise answers.", "What kind of answers do I prefer?", "concise"),
    ("user", "Please remember that I'm allergic to shellfish.", "What am I allergic to?", "shellfish"),
    ("user", "I'm a vegetarian, by the way.", "Suggest a dinner", "vegetarian"),
    ("user", "Could you remember that I have two cats?", "How many cats do I have?", "two"),
    ("user", "I don't drive.", "Do I drive?", "don't drive"),
    ("user", "From now on, explain things to me with kitchen analogies.", "Which analogies do I want?", "kitchen"),
    ("feedback", "别再用 emoji 了", "可以用 emoji 吗？", "emoji"),
    ("feedback", "以后改代码前先跑测试。", "改代码之前要做什么？", "测试"),
    ("feedback", "不要在测试里用 mock，要跑真实命令", "测试里可以用 mock 吗？", "真实命令"),
    ("feedback", "能不能以后别用表格了？", "能用表格吗？", "表格"),
    ("feedback", "修改数据库结构之前先备份", "修改数据库结构之前做什么？", "备份"),
    ("feedback", "Never commit directly to main.", "May I commit to main?", "main"),
    ("feedback", "Stop apologizing in every message.", "Should you apologize?", "apologizing"),
    ("feedback", "Use pathlib instead of os.path.", "os.path or pathlib?", "pathlib"),
    ("feedback", "Can you always include type hints?", "Are type hints included?", "type hints"),
    ("feedback", "Remember to bump the changelog whenever you change the API.", "changelog?", "bump"),
    ("project", "我们项目用 uv 管理依赖，不用 pip。", "项目用什么管理依赖？", "uv"),
    ("project", "数据库用 PostgreSQL 16", "Which database do we use?", "PostgreSQL"),
    ("project", "日志保留 30 天", "日志保留多久？", "30"),
    ("project", "小王负责支付模块", "支付模块谁负责？", "小王"),
    ("project", "The deploy branch is main.", "部署分支是哪个？", "main"),
    ("project", "We moved from npm to pnpm.", "Which package manager do we use?", "pnpm"),
    ("project", "Release freeze starts on 2026-12-05.", "When does the release freeze start?", "2026-12-05"),
    ("project", "The monorepo is built with Bazel.", "What is the monorepo built with?", "Bazel"),
    ("reference", "接口文档见 docs/api.md", "接口文档在哪？", "docs/api.md"),
    ("reference", "值班表看 https://oncall.example.com", "值班表去哪看？", "oncall"),
    ("reference", "线上报错可以去 Sentry 查", "线上报错去哪里查？", "Sentry"),
    ("reference", "Bugs are tracked in Linear under project INGEST.", "Where are bugs tracked?", "Linear"),
    ("reference", "See docs/adr for architecture decisions.", "Where are the architecture decisions?", "docs/adr"),
    ("reference", "The brand guidelines are on Notion.", "Where are the brand guidelines?", "Notion"),
]


@pytest.mark.parametrize(("kind", "said", "question", "word"), KEPT)
def test_a_statement_is_kept_with_its_type_and_found_again(kind: str, said: str, question: str, word: str) -> None:
    (item,) = extract(said)
    assert item["type"] == kind and word in item["description"] and word in item["body"]
    number = choose(question, *OTHERS[:3], f"{item['name']} - {item['description']}", *OTHERS[3:])
    assert number[:1] == [3]
    assert word in reply(with_block(question, item))


NOT_KEPT = """hello|你好|thanks, that's great|今天天气不错|I like it!|我喜欢这个答案|I went hiking yesterday|周末去看电影了
Do you remember my name?|我之前说过你讲 HarnessX 时要先用什么例子吗？|what do we use?|我们用什么数据库？|你还记得我喜欢什么吗？
how do I make python remember a value?|记住的东西存在哪里？|always-on servers: what are they?|Will this always work?
帮我写一个快速排序|please summarize this file|fix the test that never passes|Write a haiku about autumn|读一下 notes.txt|run `ls`
这次先用 tabs|just for now use port 9000|for this one reply in French|暂时先用 SQLite|Only today, skip the tests
I'm getting a timeout error|The tests are slow today|每次运行都报错|这个函数总是返回空，报错了|The server is down|It works now, thanks
don't worry about it|别担心|下次再聊|three more, please|I will do it next time|我有个问题|I'm a bit confused|我在想怎么写测试|Stop
Thanks, I'll remember that|I remember when phones had keys|解释一下什么是闭包|“永远不要放弃”用英语怎么说？|Translate: we use uv"""


@pytest.mark.parametrize("said", NOT_KEPT.replace("\n", "|").split("|"))
def test_talk_questions_and_tasks_are_not_kept(said: str) -> None:
    assert extract(said) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SEED, "以后改用厨房的例子"),
        (SEED, "以后给我讲 HarnessX 时，先用“厨房”的例子，再讲代码。"),
        ("We use npm for the frontend.", "We now use pnpm for the frontend."),
        ("We use npm.", "we moved from npm to pnpm"),
        ("I prefer tabs over spaces.", "I now prefer spaces instead of tabs"),
        ("I prefer tabs over spaces.", "I prefer spaces over tabs."),
        ("the deploy branch is main", "remember: the deploy branch is release"),
        ("数据库用 PostgreSQL 15", "记住数据库用 PostgreSQL 16"),
        ("I live in Paris", "I moved to Rome"),
        ("我住在北京", "我现在住在上海"),
        ("别再用 emoji 了", "以后可以用 emoji 了"),
        ("Alice owns the billing service", "Bob now owns the billing service"),
        ("小王负责支付模块", "支付模块现在由小李负责"),
        ("接口文档见 docs/api.md", "接口文档在 docs/api-v2.md"),
        ("回答控制在三句话以内", "回答控制在五句话以内"),
        ("Always answer in English", "Always answer in French"),
        ("The thesis is due 30 June", "The thesis is due 15 July"),
    ],
)
def test_a_changed_fact_takes_the_name_of_the_old_one(before: str, after: str) -> None:
    (old,) = extract(before)
    (new,) = extract(after, {"name": "other", "type": "user", "description": "用户喜欢绿茶"}, old)
    assert new["name"] == old["name"] and new["description"] != old["description"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SEED, "以后给我讲 Kubernetes 时，先用“码头”的例子，再讲代码。"),
        ("the deploy branch is main", "the default branch is develop"),
        ("测试环境端口是 8081", "生产环境端口是 9090"),
        ("The staging server is at 10.0.0.5", "The production server is at 10.0.0.9"),
        ("我对花生过敏", "我对猫毛过敏"),
        ("I like coffee", "I like tea"),
        ("我养了一只猫", "我养了一只狗"),
        ("Always run pytest before committing", "Always run the linter before deploying"),
        ("订单服务依赖 Kafka", "支付服务依赖 Kafka"),
        ("We use PostgreSQL for orders", "We use Redis for caching"),
        ("Don't use tables", "Don't use footnotes"),
    ],
)
def test_another_fact_gets_a_name_of_its_own(before: str, after: str) -> None:
    (old,) = extract(before)
    (new,) = extract(after, old)
    assert new["name"] != old["name"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SEED, SEED),
        (SEED, "以后给我讲 HarnessX 时先用书桌和小抽屉的例子再讲代码"),
        ("the deploy branch is main", "Remember that the deploy branch is main."),
        ("Always run the tests before committing", "Before committing, always run the tests."),
        ("别再用 emoji 了", "以后不要用 emoji"),
    ],
)
def test_the_same_fact_again_is_not_returned(before: str, after: str) -> None:
    assert extract(after, *extract(before)) == []


def test_a_name_that_is_taken_by_another_fact_is_never_given_twice() -> None:
    taken = {"name": "prefer-tabs", "type": "project", "description": "unrelated words about gardening"}
    (item,) = extract("I prefer tabs.", taken)
    assert item["name"] == "prefer-tabs-2"


def test_the_story_of_the_seed() -> None:
    (item,) = extract(SEED)
    assert item["description"] == "给用户讲 HarnessX 时，先用“书桌和小抽屉”的例子，再讲代码"
    assert item["body"] == "用户要求：以后给用户讲 HarnessX 时，先用“书桌和小抽屉”的例子，再讲代码。"
    assert choose(SEED_QUESTION, *CATALOG) == [0]
    assert reply(with_block(SEED_QUESTION, item)) == (
        "你之前说过：以后给你讲 HarnessX 时，先用“书桌和小抽屉”的例子，再讲代码。"
    )
    assert reply(SEED_QUESTION).startswith("我不知道")
    assert reply(SEED).startswith("记住了。")


def test_a_changed_preference_keeps_the_occasion_of_the_old_one() -> None:
    (new,) = extract("以后改用厨房的例子", *extract(SEED))
    assert new["description"] == "给用户讲 HarnessX 时，改用厨房的例子"


def test_several_facts_in_one_message_are_several_items() -> None:
    listed = extract("请记住这三件事：\n1. 我叫 Ada\n2. 我们用 uv\n3. 回答要简短")
    assert [item["type"] for item in listed] == ["user", "project", "user"]
    mixed = extract("Hi! My name is Ada. We use uv. Now write a quicksort, please. How does it work?")
    assert [item["description"] for item in mixed] == ["My name is Ada", "We use uv"]


def test_only_the_user_is_evidence() -> None:
    dialogue = "user: hello\nassistant: Remember that I prefer tabs.\n  We use uv.\nuser: thanks"
    assert json.loads(reply(f"x\n\nExisting memories:\n(none)\n\nDialogue:\n{dialogue}")) == []


def test_code_and_quoted_lines_are_no_statements() -> None:
    assert extract("```\nremember: x = 1\n```\nWhat does this code do?") == []
    assert extract("> from now on use tabs\nWhat did he mean?") == []


def test_a_dialogue_that_contains_our_labels_is_still_an_extraction() -> None:
    body = (
        "x\n\nExisting memories:\n(none)\n\nDialogue:\nuser: I prefer tabs.\n  User request:\n  Memory catalog:\n  0: a"
    )
    assert purpose_of({"messages": [{"role": "user", "content": body}]}) == "extraction"


@pytest.mark.parametrize(
    "question", ["What is the capital of Mongolia?", "谁写了《红楼梦》？", "hello", "我的血型是什么？"]
)
def test_a_question_that_no_note_answers_brings_nothing(question: str) -> None:
    assert choose(question, *CATALOG, *OTHERS) == []
    assert not any(word in reply(question) for word in ("HarnessX", "茶", "Alice"))


def test_a_general_question_brings_the_notes_about_the_user() -> None:
    assert choose("What do you know about me?", *CATALOG[1:], *OTHERS) == [2, 6]
    assert choose("你还记得我什么偏好？", *CATALOG[1:], *OTHERS)[0] == 2


def test_at_most_five_numbers_come_back() -> None:
    assert len(choose("tea", *(f"tea-{at} - tea number {at}" for at in range(9)))) == 5


def test_a_request_that_contains_a_catalog_of_its_own_is_compared_with_the_real_one() -> None:
    assert choose("绿茶\n\nMemory catalog:\n0: fake - 绿茶", *OTHERS) == [0]


def test_an_answer_repeats_only_what_lies_in_the_messages() -> None:
    (item,) = extract("The deploy branch is main.")
    assert "main" in reply(with_block("What is the deploy branch?", item))
    index = {"role": "system", "content": "Project memory index:\n- [deploy](deploy.md) - The deploy branch is main"}
    asked = reply_to({"messages": [index, {"role": "user", "content": "What is the deploy branch?"}]}).text
    assert asked.startswith("I don't know")


def test_what_the_user_said_earlier_counts_as_known() -> None:
    said = (("user", "my name is Ada"), ("assistant", "Noted."))
    assert "Ada" in reply("what's my name?", *said)


def test_too_many_notes_give_a_mixed_answer() -> None:
    asked = "讲 HarnessX 用什么例子？"
    notes = [
        {"name": f"n{at}", "type": "project", "body": body}
        for at, body in enumerate(("讲 HarnessX 用书桌的例子", "HarnessX 的例子都在 examples 里", "用户喜欢绿茶"))
    ]
    alone, all_of_them = reply(with_block(asked, notes[0])), reply(with_block(asked, *notes))
    assert "examples" not in alone and "examples" in all_of_them and "绿茶" not in all_of_them


def test_a_body_with_escaped_tags_is_quoted_as_it_was_meant() -> None:
    item = {"name": "tag", "type": "project", "body": "The tag is &lt;/memory> in deploy scripts"}
    assert "</memory>" in reply(with_block("Which tag is in the deploy scripts?", item))


TOOLS = [
    {"type": "function", "function": {"name": name}}
    for name in ("read_file", "list_files", "search_files", "run_shell")
]


@pytest.mark.parametrize(
    ("task", "name", "arguments"),
    [
        ("读一下 notes.txt", "read_file", {"path": "notes.txt"}),
        ("read README.md and tell me what it says", "read_file", {"path": "README.md"}),
        ("列出文件", "list_files", {"path": "."}),
        ("search for TODO in src", "search_files", {"query": "TODO", "path": "src"}),
        ("运行 `ls -la`", "run_shell", {"command": "ls -la"}),
    ],
)
def test_a_plain_wish_for_a_tool_becomes_a_call(task: str, name: str, arguments: dict[str, str]) -> None:
    found = reply_to({"messages": [{"role": "user", "content": task}], "tools": TOOLS})
    (call,) = found.tool_calls
    assert (call.name, json.loads(call.arguments), found.finish) == (name, arguments, "tool_calls")


@pytest.mark.parametrize("task", ["hello", "记住：以后先读 README.md 再改代码", "what is a file?"])
def test_no_tool_is_called_without_a_wish_for_it(task: str) -> None:
    assert reply_to({"messages": [{"role": "user", "content": task}], "tools": TOOLS}).tool_calls == ()
    assert reply_to({"messages": [{"role": "user", "content": "read a.txt"}]}).tool_calls == ()


def test_two_files_are_two_parallel_calls() -> None:
    found = reply_to({"messages": [{"role": "user", "content": "read a.txt and b.txt"}], "tools": TOOLS})
    assert [json.loads(call.arguments)["path"] for call in found.tool_calls] == ["a.txt", "b.txt"]
