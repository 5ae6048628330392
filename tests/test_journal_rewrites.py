"""Rewrites of MEMORY.md as models write them: good ones are taken, in whatever style; those that lose something are not."""

import pytest

from hxmem.journal.checking import check

ZH = """\
# 项目记忆

## 技术栈
- 后端使用 Python 3.11，依赖用 pip 安装。
- 数据库是 PostgreSQL 15，部署在阿里云。
- 前端使用 Vue 3 和 TypeScript。

## 人员
- 王芳是项目负责人，负责需求评审。
- 李雷负责后端开发和数据库迁移。
- 小赵 11 月加入团队，负责测试。

## 偏好
- 用户希望回答简短，先给结论再给理由。
- 用户不喜欢在代码里写英文注释。

## 约定
- 每周五下午 4 点发布，发布前必须跑完全部测试。
- 代码合并前至少一人评审。
"""
EN = """\
# Project memory

## Stack
- The backend is written in Python 3.11; dependencies are installed with pip.
- The database is PostgreSQL 15, hosted on AWS RDS in eu-central-1.
- The frontend uses Vue 3 with TypeScript.

## People
- Alice Chen leads the project and reviews every design document.
- Bob is responsible for the backend and for database migrations.
- Carol joined in November 2026 and writes the integration tests.

## Preferences
- The user prefers short answers: first the conclusion, then the reasons.
- The user dislikes comments that only repeat the code.

## Agreements
- Releases go out every Friday at 16:00 after the full test suite has passed.
- At least one colleague must review each pull request before it is merged.
"""


def edited(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


GOOD = {
    "zh update named": (
        ZH,
        "- 2026-11-30：团队决定用 uv 代替 pip 安装依赖，因为更快。",
        edited(
            ZH,
            {
                "- 后端使用 Python 3.11，依赖用 pip 安装。\n": "- 后端使用 Python 3.11，依赖用 uv 安装（2026-11-30 起，代替 pip）。\n",
                "- 代码合并前至少一人评审。\n": "- 代码合并前至少一人评审。\n\n## Superseded\n- 后端使用 Python 3.11，依赖用 pip 安装。 -> 2026-11-30 决定改用 uv\n",
            },
        ),
    ),
    "zh update not named, merged": (
        ZH,
        "- 2026-11-30：团队决定用 uv 代替 pip 安装依赖，因为更快。",
        edited(
            ZH,
            {
                "- 后端使用 Python 3.11，依赖用 pip 安装。\n": "- 后端使用 Python 3.11，依赖自 2026-11-30 起用 uv 安装（不再用 pip）。\n"
            },
        ),
    ),
    "zh reworded bold": (
        ZH,
        "- 小赵完成了登录模块的测试。",
        """\
# 项目记忆

## 技术栈
- **后端**：Python 3.11，用 pip 安装依赖
- **数据库**：PostgreSQL 15，部署在阿里云
- **前端**：Vue 3 + TypeScript

## 人员
- **王芳**：项目负责人，负责需求评审
- **李雷**：负责后端开发和数据库迁移
- **小赵**：11 月加入团队，负责测试，已完成登录模块的测试

## 偏好
- 回答简短，先给结论再给理由
- 不喜欢代码里写英文注释

## 约定
- 每周五下午 4 点发布，发布前必须跑完全部测试
- 代码合并前至少一人评审
""",
    ),
    "zh merged heavily": (
        ZH,
        "- 用户要求提交信息用中文。",
        """\
# 项目记忆

## 技术栈
- 后端 Python 3.11（pip 安装依赖），数据库 PostgreSQL 15（阿里云），前端 Vue 3 + TypeScript。

## 人员
- 王芳（项目负责人，需求评审）、李雷（后端开发、数据库迁移）、小赵（2026 年 11 月加入，测试）。

## 偏好
- 用户希望回答简短：先结论，后理由。
- 用户不喜欢代码里的英文注释，提交信息也要用中文。

## 约定
- 每周五下午 4 点发布，发布前跑完全部测试；代码合并前至少一人评审。
""",
    ),
    "zh reordered plus new": (
        ZH,
        "- 客户是华星公司，联系人陈经理。",
        edited(ZH, {"# 项目记忆\n": "# 项目记忆\n\n## 客户\n- 客户是华星公司，联系人是陈经理。\n"}),
    ),
    "zh friendly sentence front": (
        ZH,
        "- 服务器在上海。",
        "好的，以下是整理后的完整文件：\n\n" + ZH + "- 服务器在上海。\n",
    ),
    "zh friendly + fence + after": (
        ZH,
        "- 服务器在上海。",
        """\
以下是更新后的 MEMORY.md：

```markdown
"""
        + ZH
        + "- 服务器在上海。\n```\n\n如需进一步调整，请告诉我。",
    ),
    "zh note after": (
        ZH,
        "- 服务器在上海。",
        ZH + "- 服务器在上海。\n\n---\n\n以上是更新后的完整记忆文件，已合并新的日志内容。",
    ),
    "zh superseded cn heading": (
        ZH,
        "- 发布改到每周三上午 10 点。",
        edited(
            ZH,
            {
                "- 每周五下午 4 点发布，发布前必须跑完全部测试。\n": "- 每周三上午 10 点发布，发布前必须跑完全部测试。\n",
                "- 代码合并前至少一人评审。\n": "- 代码合并前至少一人评审。\n\n## 已取代（Superseded）\n- 每周五下午 4 点发布，发布前必须跑完全部测试 → 发布时间改为每周三上午 10 点\n",
            },
        ),
    ),
    "zh superseded short": (
        ZH,
        "- 发布改到每周三上午 10 点。李雷离职，韩梅接手后端。",
        edited(
            ZH,
            {
                "- 李雷负责后端开发和数据库迁移。\n": "- 韩梅负责后端开发和数据库迁移（接替离职的李雷）。\n",
                "- 每周五下午 4 点发布，发布前必须跑完全部测试。\n": "- 每周三上午 10 点发布，发布前必须跑完全部测试。\n",
                "- 代码合并前至少一人评审。\n": "- 代码合并前至少一人评审。\n\n## Superseded\n- 每周五下午 4 点发布 -> 改为每周三上午 10 点\n- 李雷负责后端 -> 李雷离职，由韩梅接手\n",
            },
        ),
    ),
    "zh superseded none": (
        ZH,
        "- 服务器在上海。",
        ZH
        + """\
- 服务器在上海。

## Superseded
（无）
""",
    ),
    "zh nested": (
        ZH,
        "- 王芳喜欢用飞书沟通。",
        edited(
            ZH, {"- 王芳是项目负责人，负责需求评审。\n": "- 王芳\n  - 项目负责人，负责需求评审\n  - 喜欢用飞书沟通\n"}
        ),
    ),
    "en update named": (
        EN,
        "- 2026-11-30: we replaced pip by uv.",
        edited(
            EN,
            {
                "- The backend is written in Python 3.11; dependencies are installed with pip.\n": "- The backend is written in Python 3.11; dependencies are installed with uv since 2026-11-30.\n",
                "- At least one colleague must review each pull request before it is merged.\n": "- At least one colleague must review each pull request before it is merged.\n\n## Superseded\n- The backend is written in Python 3.11; dependencies are installed with pip. -> pip was replaced by uv on 2026-11-30\n",
            },
        ),
    ),
    "en reworded bold": (
        EN,
        "- Carol finished the login tests.",
        """\
# Project Memory

## Stack
- **Backend**: Python 3.11, dependencies installed with pip
- **Database**: PostgreSQL 15 on AWS RDS (eu-central-1)
- **Frontend**: Vue 3 with TypeScript

## People
- **Alice Chen**: project lead, reviews every design document
- **Bob**: backend and database migrations
- **Carol**: joined November 2026, writes the integration tests (login tests done)

## Preferences
- Short answers: conclusion first, then reasons
- Dislikes comments that only repeat the code

## Agreements
- Releases every Friday at 16:00 after the full test suite passes
- Each pull request needs a review by at least one colleague before merging
""",
    ),
    "en merged": (
        EN,
        "- The user wants commit messages in English.",
        """\
# Project memory

## Stack
- Python 3.11 backend (pip for dependencies), PostgreSQL 15 on AWS RDS (eu-central-1), Vue 3 + TypeScript frontend.

## People
- Alice Chen leads the project and reviews every design document; Bob owns the backend and database migrations; Carol (joined November 2026) writes the integration tests.

## Preferences
- The user prefers short answers (conclusion first, then reasons), dislikes comments that only repeat the code, and wants commit messages in English.

## Agreements
- Releases: every Friday at 16:00, after the full test suite has passed. Pull requests: at least one colleague must review before merge.
""",
    ),
    "en chatty fence": (
        EN,
        "- Server in Berlin.",
        """\
Here's the updated MEMORY.md:

```markdown
"""
        + EN
        + "- The server is in Berlin.\n```\n",
    ),
    "en chatty both": (
        EN,
        "- Server in Berlin.",
        "Sure! Here is the complete new file:\n\n"
        + EN
        + "- The server is in Berlin.\n\nLet me know if you'd like any changes.",
    ),
    "en superseded variants": (
        EN,
        "- Releases moved to Wednesday 10:00.",
        edited(
            EN,
            {
                "- Releases go out every Friday at 16:00 after the full test suite has passed.\n": "- Releases go out every Wednesday at 10:00 after the full test suite has passed.\n",
                "- At least one colleague must review each pull request before it is merged.\n": "- At least one colleague must review each pull request before it is merged.\n\n**Superseded**\n- Releases every Friday at 16:00 — moved to Wednesday 10:00\n",
            },
        ),
    ),
    "en table kept": (
        EN
        + """\

| Env | URL |
|---|---|
| dev | dev.example.com |
""",
        "- prod is at www.example.com",
        EN
        + """\

| Env | URL |
|---|---|
| dev | dev.example.com |
| prod | www.example.com |
""",
    ),
    "en person leaves": (
        EN,
        "- Bob left the company on 2026-12-01; Dora takes over his tasks.",
        edited(
            EN,
            {
                "- Bob is responsible for the backend and for database migrations.\n": "- Dora is responsible for the backend and for database migrations (took over from Bob on 2026-12-01).\n"
            },
        ),
    ),
    "en closing remark italic": (
        EN,
        "- Server in Berlin.",
        EN
        + """\
- The server is in Berlin.

*Last updated: 2026-11-30*
""",
    ),
    "zh header quote": (
        ZH,
        "- 服务器在上海。",
        edited(
            ZH,
            {
                "# 项目记忆\n": "# 项目记忆\n\n> 最后更新：2026-11-30\n",
                "- 代码合并前至少一人评审。\n": "- 代码合并前至少一人评审。\n- 服务器在上海。\n",
            },
        ),
    ),
    "en versions kept": (
        EN,
        "- Backups: we agreed to keep the previous versions for 30 days.",
        EN + "- Backups: previous versions are kept for 30 days.\n- API v2: existing endpoints stay the same.\n",
    ),
    "zh code span": (
        ZH,
        "- 函数签名是 def f(*args, ...) 用省略号",
        ZH + "- 函数 `f` 的签名写作 `f(*args, ...)`，返回 `{...}` 或 `[...]`。\n",
    ),
    "zh small file": (
        "- 用户叫小明，住在成都。\n- 用户喜欢喝绿茶。\n",
        "- 小明 12 月搬到上海。",
        """\
## 用户
- 小明，2026 年 12 月从成都搬到上海
- 喜欢喝绿茶
""",
    ),
    "en small": (
        "- The user is called Tom and lives in Berlin.\n- The user likes green tea.\n",
        "- Tom moves to Paris in December.",
        """\
## User
- Tom; moved from Berlin to Paris in December 2026
- Likes green tea
""",
    ),
    "zh translate date": (
        ZH,
        "- 明年 3 月上线。",
        ZH + "- 项目计划 2027 年 3 月上线。\n",
    ),
    "en user prose": (
        "We are a small team in Berlin. I can't stand meetings before ten.\n\n" + EN,
        "- Server in Berlin.",
        "We are a small team in Berlin. I can't stand meetings before ten.\n\n" + EN + "- The server is in Berlin.\n",
    ),
    "zh numbered": (
        ZH,
        "- 服务器在上海。",
        """\
# 项目记忆

1. 后端使用 Python 3.11，依赖用 pip 安装。
2. 数据库是 PostgreSQL 15，部署在阿里云。
3. 前端使用 Vue 3 和 TypeScript。
4. 王芳是项目负责人，负责需求评审。
5. 李雷负责后端开发和数据库迁移。
6. 小赵 11 月加入团队，负责测试。
7. 用户希望回答简短，先给结论再给理由。
8. 用户不喜欢在代码里写英文注释。
9. 每周五下午 4 点发布，发布前必须跑完全部测试。
10. 代码合并前至少一人评审。
11. 服务器在上海。
""",
    ),
    "zh chinese numbered tight": (
        ZH,
        "- 服务器在上海。",
        """\
# 项目记忆

1.后端使用 Python 3.11，依赖用 pip 安装。
2.数据库是 PostgreSQL 15，部署在阿里云。
3.前端使用 Vue 3 和 TypeScript。
4.王芳是项目负责人，负责需求评审。
5.李雷负责后端开发和数据库迁移。
6.小赵 11 月加入团队，负责测试。
7.用户希望回答简短，先给结论再给理由。
8.用户不喜欢在代码里写英文注释。
9.每周五下午 4 点发布，发布前必须跑完全部测试。
10.代码合并前至少一人评审。
11.服务器在上海。
""",
    ),
    "front matter": (
        """\
---
title: Memory
owner: Ann
---

"""
        + EN,
        "- Server in Berlin.",
        """\
---
title: Memory
owner: Ann
---

"""
        + EN
        + "- The server is in Berlin.\n",
    ),
    "en checkbox": (
        EN + "- [ ] write the docs\n- [x] set up CI\n",
        "- docs are written",
        EN + "- [x] write the docs\n- [x] set up CI\n",
    ),
    "en paraphrase": (
        EN,
        "- Server in Berlin.",
        edited(
            EN,
            {
                "- Bob is responsible for the backend and for database migrations.\n- Carol joined in November 2026 and writes the integration tests.\n": "- Bob owns the backend and handles database migrations.\n- Carol has written the integration tests since joining in November 2026.\n",
                "- At least one colleague must review each pull request before it is merged.\n": "- Every pull request needs a review from at least one colleague before merge.\n- Server location: Berlin.\n",
            },
        ),
    ),
    "zh paraphrase": (
        ZH,
        "- 服务器在上海。",
        edited(
            ZH,
            {
                "- 王芳是项目负责人，负责需求评审。\n": "- 项目由王芳负责，需求评审也由她主持。\n",
                "- 用户希望回答简短，先给结论再给理由。\n": "- 回答要简短：结论在前，理由在后。\n",
                "- 代码合并前至少一人评审。\n": "- 合并代码之前，至少要有一个人评审。\n- 服务器位于上海。\n",
            },
        ),
    ),
    "zh promote from logs only": (
        "",
        "- 用户小陈是数据工程师。\n- 团队用 Airflow 调度。",
        """\
## 用户
- 小陈，数据工程师

## 工具
- 调度用 Airflow
""",
    ),
    "zh user profile": (
        """\
- 用户叫林悦，是前端工程师。
- 用户所在公司是一家做物流的创业公司。
- 用户养了一只叫“年糕”的猫。
- 用户每天早上 7 点跑步。
- 用户对花生过敏。
""",
        "- 林悦下个月 15 号去东京出差。",
        """\
## 个人
- 林悦，前端工程师，就职于一家物流创业公司
- 养了一只猫，名叫“年糕”
- 对花生过敏
- 习惯每天早上 7 点跑步

## 日程
- 2026-12-15 去东京出差
""",
    ),
    "zh 规则": (
        """\
- 提交信息格式：类型(范围): 说明。
- 分支命名用 feature/ 开头。
- 禁止直接推送 main 分支。
- 日志级别默认 INFO。
- 线上故障先回滚再排查。
""",
        "- CI 改用 GitHub Actions。",
        """\
## 规范
- 提交信息按“类型(范围): 说明”的格式写。
- 分支名以 feature/ 开头。
- 不允许直接推送到 main 分支。
- 默认日志级别为 INFO。
- 出现线上故障时，先回滚，再排查原因。

## CI
- 使用 GitHub Actions。
""",
    ),
    "zh api": (
        """\
- 登录接口是 POST /api/v1/login，返回 JWT，有效期 2 小时。
- 刷新令牌有效期 7 天。
- 限流：每个 IP 每分钟 60 次。
- 错误码 4001 表示参数错误，4003 表示没有权限。
""",
        "- 限流放宽到每分钟 120 次。",
        """\
## API
- 登录：`POST /api/v1/login`，返回 JWT（有效期 2 小时），刷新令牌有效期 7 天
- 限流：每个 IP 每分钟 120 次（2026-11-30 起，原为 60 次）
- 错误码：4001 参数错误；4003 没有权限
""",
    ),
    "zh decisions": (
        """\
- 2026-11-02：决定采用 FastAPI，因为异步支持好、文档自动生成。
- 2026-11-05：决定缓存用 Redis，过期时间 10 分钟。
- 2026-11-09：否决了微服务方案，团队只有 4 人，维护成本太高。
- 2026-11-12：约定每周一上午开站会。
""",
        "- 站会改到周二。",
        """\
## 决策
- 框架采用 FastAPI（2026-11-02）：异步支持好，文档自动生成
- 缓存采用 Redis，过期时间 10 分钟（2026-11-05）
- 不采用微服务（2026-11-09 否决）：团队只有 4 人，维护成本太高

## 约定
- 站会每周二上午举行（2026-11-30 由周一改）
""",
    ),
    "zh short entries": (
        """\
- 用 uv
- 用 ruff
- 用 pytest
- 用 mypy
- 部署用 Docker
""",
        "- 用 GitHub Actions",
        """\
## 工具
- Python 工具：uv、ruff、pytest、mypy
- 部署：Docker
- CI：GitHub Actions
""",
    ),
    "en short entries": (
        """\
- uses uv
- uses ruff
- uses pytest
- uses mypy
- Docker for deployment
""",
        "- GitHub Actions",
        """\
## Tools
- Python tooling: uv, ruff, pytest, mypy
- Deployment: Docker
- CI: GitHub Actions
""",
    ),
    "en profile": (
        """\
- The user is Maria, a data engineer at a logistics startup.
- Maria has a cat named Mochi.
- Maria runs every morning at 7.
- She is allergic to peanuts.
- Maria prefers metric units.
""",
        "- Trip to Tokyo on December 15.",
        """\
## About Maria
- Data engineer at a logistics startup
- Cat: Mochi
- Runs every morning at 7
- Allergic to peanuts
- Prefers metric units

## Schedule
- Trip to Tokyo on 2026-12-15
""",
    ),
    "en decisions": (
        """\
- 2026-11-02: we chose FastAPI because it is asynchronous and documents itself.
- 2026-11-05: Redis is the cache, entries expire after 10 minutes.
- 2026-11-09: microservices were rejected; four people can't maintain them.
- 2026-11-12: stand-up every Monday morning.
""",
        "- The stand-up moves to Tuesday.",
        """\
## Decisions
- FastAPI (chosen 2026-11-02: asynchronous, self-documenting)
- Redis as cache, 10-minute expiry (2026-11-05)
- No microservices (rejected 2026-11-09: too much to maintain for four people)

## Agreements
- Stand-up every Tuesday morning (was Monday until 2026-11-30)
""",
    ),
    "split": (
        """\
- Bob owns the backend and the database migrations and is on call in odd weeks.
- Alice leads.
- Carol tests.
- Dora designs.
""",
        "- Eve joins.",
        """\
## People
- Bob
  - owns the backend
  - owns database migrations
  - on call in odd weeks
- Alice leads
- Carol tests
- Dora designs
- Eve joins
""",
    ),
    "en past tense resolved todo": (
        """\
- TODO: migrate CI from Jenkins to GitHub Actions by 2026-12-15.
- Alice leads.
- Carol tests.
- Dora designs.
""",
        "- CI migration to GitHub Actions is done.",
        """\
- CI runs on GitHub Actions (migrated from Jenkins in December 2026)
- Alice leads.
- Carol tests.
- Dora designs.

## Superseded
- TODO: migrate CI from Jenkins to GitHub Actions -> done
""",
    ),
    "one entry in the other language": (
        """\
- Tests are run with pytest -q.
- 部署在周五。
- 数据库用 PostgreSQL。
- Alice leads.
""",
        "- uv",
        """\
- 测试用 `pytest -q` 运行。
- 部署在周五。
- 数据库用 PostgreSQL。
- Alice leads.
- 用 uv。
""",
    ),
    "zh superseded colon": (
        """\
- 部署在周五下午。
- 数据库用 MySQL。
- 王芳负责前端。
""",
        "- 数据库换成 PostgreSQL。王芳转岗。",
        """\
- 部署在周五下午。
- 数据库用 PostgreSQL。

## Superseded
- 数据库用 MySQL：已换成 PostgreSQL
- 王芳负责前端：王芳已转岗
""",
    ),
    "en superseded parentheses": (
        """\
- Deploy on Friday.
- The database is MySQL.
- Wendy owns the frontend.
""",
        "- Database is PostgreSQL now. Wendy left.",
        """\
- Deploy on Friday.
- The database is PostgreSQL.

## Superseded
- The database is MySQL (replaced by PostgreSQL)
- Wendy owns the frontend (she left)
""",
    ),
}
BAD = {
    "drop 3 of 10": (
        EN,
        "- Server in Berlin.",
        edited(
            EN,
            {
                "- The frontend uses Vue 3 with TypeScript.\n": "",
                "- Carol joined in November 2026 and writes the integration tests.\n": "",
                "- The user dislikes comments that only repeat the code.\n": "",
                "- At least one colleague must review each pull request before it is merged.\n": "- At least one colleague must review each pull request before it is merged.\n- The server is in Berlin.\n",
            },
        ),
    ),
    "drop 3 zh": (
        ZH,
        "- 服务器在上海。",
        edited(
            ZH,
            {
                "- 前端使用 Vue 3 和 TypeScript。\n": "",
                "- 小赵 11 月加入团队，负责测试。\n": "",
                "- 用户不喜欢在代码里写英文注释。\n": "",
                "- 代码合并前至少一人评审。\n": "- 代码合并前至少一人评审。\n- 服务器在上海。\n",
            },
        ),
    ),
    "one generic sentence": (
        EN,
        "- Server in Berlin.",
        """\
# Project memory
- The project has a backend, a database, a frontend, people and release rules.
- The server is in Berlin.
""",
    ),
    "hallucinated numbers": (
        EN,
        "- Server in Berlin.",
        edited(
            EN,
            {
                "- The backend is written in Python 3.11; dependencies are installed with pip.\n- The database is PostgreSQL 15, hosted on AWS RDS in eu-central-1.\n": "- The backend is written in Python 3.9; dependencies are installed with pip.\n- The database is PostgreSQL 12, hosted on AWS RDS in eu-central-1.\n",
                "- Carol joined in November 2026 and writes the integration tests.\n": "- Carol joined in March 2024 and writes the integration tests.\n",
                "- Releases go out every Friday at 16:00 after the full test suite has passed.\n": "- Releases go out every Friday at 18:30 after the full test suite has passed.\n",
                "- At least one colleague must review each pull request before it is merged.\n": "- At least one colleague must review each pull request before it is merged.\n- The server is in Berlin.\n",
            },
        ),
    ),
    "hallucinated numbers zh": (
        ZH,
        "- 服务器在上海。",
        edited(
            ZH,
            {
                "- 后端使用 Python 3.11，依赖用 pip 安装。\n- 数据库是 PostgreSQL 15，部署在阿里云。\n": "- 后端使用 Python 3.9，依赖用 pip 安装。\n- 数据库是 PostgreSQL 12，部署在阿里云。\n",
                "- 小赵 11 月加入团队，负责测试。\n": "- 小赵 3 月加入团队，负责测试。\n",
                "- 每周五下午 4 点发布，发布前必须跑完全部测试。\n": "- 每周五下午 6 点发布，发布前必须跑完全部测试。\n",
                "- 代码合并前至少一人评审。\n": "- 代码合并前至少一人评审。\n- 服务器在上海。\n",
            },
        ),
    ),
    "people lost in merge": (
        EN,
        "- Server in Berlin.",
        edited(
            EN,
            {
                "- Alice Chen leads the project and reviews every design document.\n- Bob is responsible for the backend and for database migrations.\n- Carol joined in November 2026 and writes the integration tests.\n": "- Alice Chen leads the project; two colleagues write the backend, migrations and tests.\n",
                "- At least one colleague must review each pull request before it is merged.\n": "- At least one colleague must review each pull request before it is merged.\n- x y z\n",
            },
        ),
    ),
    "rest unchanged": (
        EN,
        "- Server in Berlin.",
        """\
# Project memory
- The server is in Berlin.

（其余条目保持不变）
""",
    ),
    "rest unchanged in chat after": (
        EN,
        "- Server in Berlin.",
        EN
        + """\
- The server is in Berlin.

The rest is unchanged.
""",
    ),
    "truncated mid": (
        EN,
        "- Server in Berlin.",
        edited(
            EN,
            {
                "- Carol joined in November 2026 and writes the integration tests.\n\n## Preferences\n- The user prefers short answers: first the conclusion, then the reasons.\n- The user dislikes comments that only repeat the code.\n\n## Agreements\n- Releases go out every Friday at 16:00 after the full test suite has passed.\n- At least one colleague must review each pull request before it is merged.\n": "- Carol joi"
            },
        ),
    ),
    "values gone": (
        EN,
        "- Server in Berlin.",
        edited(
            EN,
            {
                "- The backend is written in Python 3.11; dependencies are installed with pip.\n- The database is PostgreSQL 15, hosted on AWS RDS in eu-central-1.\n": "- The backend is written in Python; dependencies are installed with pip.\n- The database is PostgreSQL, hosted on AWS RDS in the cloud.\n",
                "- Carol joined in November 2026 and writes the integration tests.\n": "- Carol joined and writes the integration tests.\n",
                "- Releases go out every Friday at 16:00 after the full test suite has passed.\n": "- Releases go out every Friday after the full test suite has passed.\n",
                "- At least one colleague must review each pull request before it is merged.\n": "- At least one colleague must review each pull request before it is merged.\n- The server is in Berlin.\n",
            },
        ),
    ),
    "zh two of five people vanish": (
        """\
- 王芳负责前端。
- 李雷负责后端。
- 韩梅负责测试。
- 小赵负责运维。
- 小陈负责设计。
""",
        "- 用 uv。",
        """\
- 王芳负责前端。
- 李雷负责后端。
- 小赵负责运维。
- 用 uv。
""",
    ),
    "en negation flips": (
        """\
- Alice does not eat meat.
- Never push to main.
- Bob drives.
""",
        "- uv",
        """\
- Alice eats meat.
- Push to main.
- Bob drives.
- uv
""",
    ),
    "zh negation flips": (
        """\
- 小王不吃肉。
- 禁止推送 main 分支。
- 小李开车。
""",
        "- uv",
        """\
- 小王吃肉。
- 推送 main 分支。
- 小李开车。
- uv
""",
    ),
    "zh vague": (
        """\
- 用户对花生过敏。
- 用户 1990 年出生在西安。
- 用户的猫叫年糕。
""",
        "- uv",
        "- 用户有一些个人信息和偏好。\n- uv\n",
    ),
    "en vague": (
        """\
- The user is allergic to peanuts.
- Born in Xi'an in 1990.
- The cat is called Mochi.
""",
        "- uv",
        "- The user has some allergies and a cat.\n- uv\n",
    ),
    "phone number changed": (
        """\
- 电话 13800138000。
- 邮箱 a@example.com。
- 地址上海。
""",
        "- uv",
        """\
- 电话 13800138001。
- 邮箱 a@example.com。
- 地址上海。
- uv
""",
    ),
    "only new": (
        """\
- a one.
- b two.
- c three.
- d four.
- e five.
""",
        "- f six.",
        "- f six.\n",
    ),
    "heading swallows": (
        """\
- Alice leads billing.
- Bob leads search.
- Carol leads ads.
- D x.
""",
        "- u",
        """\
## Alice, Bob, Carol
- D x.
- u
""",
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_rewrite_is_taken_without_what_is_not_part_of_the_file(name):
    present, fresh, reply = GOOD[name]
    checked = check(reply, present, fresh, 4_000)
    assert checked.reason == ""
    for word in ("uperseded", "已取代", "告诉我", "Let me know", "以下是", "Here", "```"):
        assert word not in checked.text


@pytest.mark.parametrize("name", GOOD)
def test_a_good_rewrite_is_seldom_said_to_have_lost_anything(name):
    present, fresh, reply = GOOD[name]
    assert len(check(reply, present, fresh, 4_000).missing) <= 1


@pytest.mark.parametrize("name", BAD)
def test_a_rewrite_that_loses_or_invents_something_is_refused(name):
    present, fresh, reply = BAD[name]
    assert check(reply, present, fresh, 4_000).reason


def test_something_said_of_one_person_does_not_replace_what_is_known_of_another():
    for present, fresh in [
        ("- 李雷负责后端开发。\n", "- 韩梅负责前端开发。"),
        ("- Alice leads billing in Berlin.\n", "- Bob leads search in Berlin."),
        ("- 8001 端口给服务 A。\n", "- 8002 端口给服务 B。"),
    ]:
        assert "neither kept" in check(f"{fresh}\n", present, fresh, 4_000).reason


def test_what_comes_from_the_logs_replaces_what_was_known_of_the_same():
    for present, fresh, reply in [
        ("- 用户住在成都。\n", "- 用户搬到了上海。", "- 用户住在上海。\n"),
        ("- Tom lives in Berlin.\n", "- Tom moves to Paris.", "- Tom moved from Berlin to Paris.\n"),
    ]:
        assert check(reply, present, fresh, 4_000).reason == ""
        assert "neither kept" in check(reply, present, "- x", 4_000).reason


def test_a_file_over_the_budget_may_shrink_in_steps():
    present = "".join(f"- Fact number {n} is about thing {n * 7} and place {n * 11}.\n" for n in range(100))
    less = "".join(line for n, line in enumerate(present.splitlines(keepends=True)) if n % 8)
    assert check(less, present, "", 500).reason == ""
    assert "over the budget" in check(present, present, "", 500).reason


def test_a_sentence_of_a_person_is_no_refusal_and_no_remark():
    present = "I can't eat peanuts.\n\n- We use uv.\n\nUnfortunately we are four people only.\n"
    checked = check(present.replace("- We use uv.", "- We use uv.\n- We use ruff."), present, "- ruff", 4_000)
    assert (checked.reason, checked.missing) == ("", ())
    assert "peanuts" in checked.text
    assert "four people" in checked.text


@pytest.mark.parametrize(
    "line",
    [
        "Backups: previous versions are kept.", "Existing endpoints stay the same.", "函数 `f` 返回 `{...}` 或 `[...]`。",
        "`f(*args, ...)` takes any number", "Items are read in order: existing entries first.",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_placeholder_is_an_entry(line):
    assert check(f"- We use uv.\n- {line}\n", "- We use uv.\n", "- x", 4_000).reason == ""


def test_the_last_entry_may_be_the_start_of_another_one():
    present = "- Ann likes tea.\n- Ann likes tea\n- Ann likes tea in the morning\n"
    reordered = "- Ann likes tea in the morning\n- Ann likes tea\n"
    assert check(reordered, present, "", 4_000).reason == ""
    assert "cut off" in check("- Ann likes tea.\n- Ann li\n", present, "", 4_000).reason
