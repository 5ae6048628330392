"""The loop of an agent: hooks, sections, requests, tool calls and permissions, for one task at a time."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hxmem.chat import ChatClient, ContextOverflow, Message, Reply, ToolCall
from hxmem.drawer.plugin import Drawer
from hxmem.drawer.recall import with_recall
from hxmem.exchanges import Exchange
from hxmem.plugins import Ask, Plugin, Section, Session, Tool, ToolProblem
from hxmem.tools import workspace_tools

MAX_TOOL_ROUNDS = 20
SIDE_ATTEMPTS = {"side-query": 1, "extraction": 2}  # tries; keywords stand in for a failed side-query at once
RULES = {
    "zh": "你是在用户项目里工作的助手。用用户的语言回答，简短、准确；不知道就说不知道。需要看文件时用工具。",
    "en": "You are an assistant at work in the user's project. Answer in the user's language, briefly and exactly; "
    "say so when you don't know. Use the tools to look at files.",
}


@dataclass(frozen=True)
class AgentResult:
    """The answer, what it took, every exchange of the run, the lines that were shown, and the whole desk."""

    text: str
    turns: int
    tool_calls: int
    blocked: int
    exchanges: tuple[Exchange, ...]
    notices: tuple[str, ...]
    messages: tuple[Message, ...]
    root: Path


class Agent:
    """An agent at work in one folder: `Agent(ChatClient.from_env(), root=".").run("task").text`.

    `plugins` are the memory designs (the drawer when left out). `notify` gets the bracketed lines, `show` the answer
    before the Stop hooks run. `confirm` is asked before a tool with permission "ask"; without it such a call is
    refused. `permissions` overrides the tools' own: name -> "allow", "ask" or "deny".
    """

    def __init__(
        self,
        client: ChatClient,
        root: str | Path = ".",
        plugins: Sequence[Plugin] | None = None,
        *,
        lang: str = "",
        tools: Sequence[Tool] | None = None,
        permissions: Mapping[str, str] | None = None,
        notify: Callable[[str], object] | None = None,
        show: Callable[[str], object] | None = None,
        confirm: Callable[[str], bool] | None = None,
    ) -> None:
        self.client, self.root = client, Path(root).resolve()
        self.lang = lang or os.environ.get("HXMEM_LANG") or "zh"
        self.plugins = tuple(plugins) if plugins is not None else (Drawer(),)
        self._tools = tuple(tools) if tools is not None else workspace_tools(self.root)
        self._permissions = dict(permissions or {})
        self._notify, self._show, self._confirm = notify or str, show or str, confirm

    def run(self, task: str, history: Sequence[Message] = ()) -> AgentResult:
        """Answer one task; `history` holds earlier messages of the same conversation, without a system message.

        Raises ChatError when the server gives no answer; nothing is written to the drawer then.
        """
        notices: list[str] = []

        def notify(line: str) -> None:
            notices.append(line)
            self._notify(line)

        before = len(self.client.exchanges)
        session = Session(self.root, self.lang, task, self._asker, notify)
        self._each(session, "SessionStart", lambda plugin: plugin.session_start(session))
        notify(f"[HOOK] UserPromptSubmit cwd={self.root}")
        blocks = self._each(session, "UserPromptSubmit", lambda plugin: plugin.user_prompt_submit(session))
        tools = self._offered(session)
        block = "\n\n".join(block for block in blocks if block)
        session.messages = [self._system(session), *history, {"role": "user", "content": with_recall(block, task)}]
        text = self._answer(session, tools)
        self._show(text)
        notify(f"[HOOK] Stop: turns={session.turns}, tool_calls={session.tool_calls}, blocked={session.blocked}")
        self._each(session, "Stop", lambda plugin: plugin.stop(session))
        self._each(session, "SessionEnd", lambda plugin: plugin.session_end(session))
        exchanges = self.client.exchanges[before:]
        counts = (session.turns, session.tool_calls, session.blocked)
        return AgentResult(text, *counts, exchanges, tuple(notices), tuple(session.messages), self.root)

    def _answer(self, session: Session, tools: Mapping[str, Tool]) -> str:
        """Ask until an answer comes without tool calls, at most `MAX_TOOL_ROUNDS` times with them."""
        for _ in range(MAX_TOOL_ROUNDS + 1):
            reply = self._request(session, tools)
            session.turns += 1
            session.messages.append(reply.message)
            if not reply.tool_calls:
                return reply.text
            if session.turns > MAX_TOOL_ROUNDS:
                break
            for call in reply.tool_calls:
                result = self._call(session, tools, call)
                session.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        session.messages.pop()  # calls without results may not stay in a conversation
        text = f"Stopped after {MAX_TOOL_ROUNDS} rounds of tool calls without an answer: ask for a smaller step."
        session.messages.append({"role": "assistant", "content": text})
        return text

    def _request(self, session: Session, tools: Mapping[str, Tool]) -> Reply:
        schemas = [tool.schema() for tool in tools.values()] or None
        self._each(session, "BeforeRequest", lambda plugin: plugin.before_request(session))
        try:
            return self.client.chat(session.messages, tools=schemas, purpose="answer")
        except ContextOverflow as overflow:
            error = overflow  # the name that `as` binds ends with this block, the hooks below need it
            if not any(self._each(session, "ContextOverflow", lambda plugin: plugin.context_overflow(session, error))):
                raise
            return self.client.chat(session.messages, tools=schemas, purpose="answer")

    def _call(self, session: Session, tools: Mapping[str, Tool], call: ToolCall) -> str:
        """The result of one tool call as the model reads it; a refusal or an error is a sentence too."""
        session.tool_calls += 1
        refusal = self._refusal(session, tools, call)
        if refusal:
            session.blocked += 1
            return f"Refused: {refusal}"
        arguments, reason = call.parse()
        if arguments is None:
            return f"Error: {reason}"
        try:
            result = tools[call.name].run(arguments)
        except ToolProblem as error:
            return f"Error: {error}"
        except Exception as error:  # a tool's own fault: the model reads it, the run goes on
            return f"Error: {call.name} failed ({type(error).__name__}: {error})"
        for plugin in self.plugins:
            try:
                result = plugin.post_tool_use(session, call, result)
            except Exception as error:
                self._report(session, "PostToolUse", plugin, error)
        return result

    def _refusal(self, session: Session, tools: Mapping[str, Tool], call: ToolCall) -> str:
        """Why this call may not run: the permission table, the person at the terminal, or a plugin; "" lets it run."""
        tool = tools.get(call.name)
        permission = self._permissions.get(call.name, tool.permission if tool else "deny")
        if tool is None or permission not in ("allow", "ask"):
            return f"the tool {call.name} is not allowed here."
        for plugin in self.plugins:
            try:
                if reason := plugin.pre_tool_use(session, call):
                    return reason
            except Exception as error:  # a guard that can't judge must not let a call through
                self._report(session, "PreToolUse", plugin, error)
                return f"the check of {plugin.name} failed."
        if permission == "ask" and not (self._confirm and self._confirm(f"{call.name} {call.arguments}")):
            return f"{call.name} needs a person's consent, and none was given."
        return ""

    def _offered(self, session: Session) -> dict[str, Tool]:
        """The tools of the agent and of its plugins, without those that are denied."""
        extra = self._each(session, "Tools", lambda plugin: tuple(plugin.tools(session)))
        tools = {tool.name: tool for tool in (*self._tools, *(tool for tools in extra for tool in tools))}
        return {n: tool for n, tool in tools.items() if self._permissions.get(n, tool.permission) != "deny"}

    def _system(self, session: Session) -> Message:
        parts = [
            part for parts in self._each(session, "Sections", lambda p: tuple(p.sections(session))) for part in parts
        ]
        parts.append(Section(0, RULES.get(session.lang, RULES["zh"])))
        return {
            "role": "system",
            "content": "\n\n".join(part.text for part in sorted(parts, key=lambda part: part.order)),
        }

    def _asker(self, purpose: str) -> Ask:
        return lambda messages: self.client.ask(messages, purpose=purpose, attempts=SIDE_ATTEMPTS.get(purpose))

    def _each(self, session: Session, hook: str, do: Callable[[Plugin], Any]) -> list[Any]:
        """What each plugin returns; one that fails is reported in a line and left out."""
        results = []
        for plugin in self.plugins:
            try:
                results.append(do(plugin))
            except Exception as error:
                self._report(session, hook, plugin, error)
        return results

    def _report(self, session: Session, hook: str, plugin: Plugin, error: Exception) -> None:
        session.notify(f"[HOOK] {hook} of {plugin.name} failed: {error or type(error).__name__}")
