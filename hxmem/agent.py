"""The loop of an agent: hooks, sections, requests, tool calls and permissions, for one task at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from hxmem.chat import ChatClient, ContextOverflow, Message, Reply, ToolCall
from hxmem.drawer.plugin import Drawer
from hxmem.drawer.prompts import prompts
from hxmem.exchanges import Exchange
from hxmem.files import FileProblem
from hxmem.language import language
from hxmem.plugins import Ask, Plugin, Section, Session, Tool, ToolProblem, with_recall
from hxmem.text import cut_middle
from hxmem.tools import workspace_tools

MAX_TOOL_ROUNDS = 20
MAX_RESULT = 100_000  # characters of one tool result on the desk, after the plugins had it
LIMITS = {  # tries and seconds: keywords can stand in for a choice, the others are tried again another time
    "side-query": (1, 30.0), "extraction": (2, 120.0), "summary": (2, 120.0), "flush": (2, 120.0),
    "consolidation": (2, 300.0),
}  # fmt: skip


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
    session: str = ""  # the archive of the conversation, if a plugin keeps one


class Agent(AbstractContextManager["Agent"]):
    """An agent at work in one folder: `Agent(ChatClient.from_env(), root=".").run("task").text`.

    `plugins` are the memory designs (the drawer when left out). `notify` gets the bracketed lines, `show` the answer
    before the Stop hooks run, `on_text` gets its pieces as they come. `confirm` is asked before a tool with permission
    "ask"; without it such a call is refused. `permissions` overrides the tools' own: name -> "allow", "ask" or "deny".
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
        on_text: Callable[[str], object] | None = None,
        confirm: Callable[[str], bool] | None = None,
    ) -> None:
        self.client, self.root, self.lang = client, Path(root).resolve(), language(lang)
        self.plugins = tuple(plugins) if plugins is not None else (Drawer(),)
        self._tools = tuple(tools) if tools is not None else workspace_tools(self.root)
        self._permissions = dict(permissions or {})
        self._notify, self._show, self._on_text, self._confirm = notify or str, show or str, on_text, confirm
        self._session = ""  # of the last run: a run with a history goes on in the same archive

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for what the plugins still do in the background."""
        for plugin in self.plugins:
            try:
                plugin.close()
            except Exception as error:
                self._notify(f"[HOOK] Close of {plugin.name} failed: {error or type(error).__name__}")

    def run(self, task: str, history: Sequence[Message] = ()) -> AgentResult:
        """Answer one task; `history` holds earlier messages of the same conversation, without a system message.

        Raises ChatError when the server gives no answer; nothing is written to the drawer then.
        """
        notices: list[str] = []

        def notify(line: str) -> None:
            notices.append(line)
            self._notify(line)

        before = len(self.client.exchanges)
        session = Session(self.root, self.lang, task, self._asker, notify, messages=list(history))
        session.id = self._session if history else ""
        session.compacting = lambda dropped: self._each("pre_compact", session, dropped)
        self._each("session_start", session)
        notify(f"[HOOK] UserPromptSubmit cwd={self.root}")
        block = "\n\n".join(block for block in self._each("user_prompt_submit", session) if block)
        tools = self._offered(session)
        session.tools = [tool.schema() for tool in tools.values()]
        said: Message = {"role": "user", "content": with_recall(block, task)}
        session.messages = [self._system(session), *session.messages, said]
        text = self._answer(session, tools)
        self._show(text)
        notify(f"[HOOK] Stop: turns={session.turns}, tool_calls={session.tool_calls}, blocked={session.blocked}")
        self._each("stop", session)
        self._each("session_end", session)
        self._session = session.id
        counts, sent = (session.turns, session.tool_calls, session.blocked), self.client.exchanges[before:]
        return AgentResult(text, *counts, sent, tuple(notices), tuple(session.messages), self.root, session.id)

    def _answer(self, session: Session, tools: Mapping[str, Tool]) -> str:
        """Ask until an answer comes without tool calls, at most `MAX_TOOL_ROUNDS` times with them."""
        for _ in range(MAX_TOOL_ROUNDS + 1):
            reply = self._request(session)
            session.turns += 1
            session.messages.append(reply.message)
            if not reply.tool_calls:
                return reply.text
            if session.turns > MAX_TOOL_ROUNDS:
                break
            for call in reply.tool_calls:
                result = self._call(session, tools, call)
                session.messages.append({"role": "tool", "content": result, "tool_call_id": call.id})
        text = f"Stopped after {MAX_TOOL_ROUNDS} rounds of tool calls without an answer: ask for a smaller step."
        session.messages[-1] = {"role": "assistant", "content": text}  # calls may not stay without their results
        return text

    def _request(self, session: Session) -> Reply:
        """One answer; a desk that was too long for the server and could be shortened is sent once more."""
        self._each("before_request", session)
        try:
            return self._send(session)
        except ContextOverflow as error:
            if error.shown or not any(self._each("context_overflow", session, error)):
                raise
        return self._send(session)

    def _send(self, session: Session) -> Reply:
        ask = partial(self.client.stream, on_text=self._on_text) if self._on_text else self.client.chat
        reply = ask(session.messages, tools=session.tools, purpose="answer")
        session.sent, session.usage = list(session.messages), reply.usage
        return reply

    def _call(self, session: Session, tools: Mapping[str, Tool], call: ToolCall) -> str:
        """The result of one tool call as the model reads it; a refusal or an error is a sentence too."""
        session.tool_calls += 1
        if refusal := self._refusal(session, tools, call):
            session.blocked += 1
            return f"Refused: {refusal}"
        arguments, reason = call.parse()
        if arguments is None:
            return f"Error: {reason}"
        try:
            result = tools[call.name].run(arguments)
        except (ToolProblem, FileProblem) as error:
            return f"Error: {error}"
        except Exception as error:  # a tool's own fault: the model reads it, the run goes on
            return f"Error: {call.name} failed ({type(error).__name__}: {error})"
        for plugin in self.plugins:
            changed = self._hook(plugin, "post_tool_use", session, call, result, otherwise=result)
            result = changed if isinstance(changed, str) else result
        return cut_middle(result, MAX_RESULT)

    def _refusal(self, session: Session, tools: Mapping[str, Tool], call: ToolCall) -> str:
        """Why this call may not run, "" if it may."""
        tool = tools.get(call.name)
        if tool is None or tool.permission not in ("allow", "ask"):
            return f"the tool {call.name} is not allowed here."
        for plugin in self.plugins:  # a guard that can't judge must not let a call through
            failed = f"the check of {plugin.name} failed."
            if reason := self._hook(plugin, "pre_tool_use", session, call, otherwise=failed):
                return str(reason)
        if tool.permission == "ask" and not (self._confirm and self._confirm(f"{call.name} {call.arguments}")):
            return f"{call.name} needs a person's consent, and none was given."
        return ""

    def _offered(self, session: Session) -> dict[str, Tool]:
        """The tools of the agent and of its plugins as the table of permissions has them, without denied ones."""
        tools = [*self._tools, *chain.from_iterable(self._each("tools", session))]
        ruled = [replace(tool, permission=self._permissions.get(tool.name, tool.permission)) for tool in tools]
        return {tool.name: tool for tool in ruled if tool.permission != "deny"}

    def _system(self, session: Session) -> Message:
        rules = Section(0, prompts(session.lang).rules)
        sections = [rules, *chain.from_iterable(self._each("sections", session))]
        return {"role": "system", "content": "\n\n".join(s.text for s in sorted(sections, key=lambda s: s.order))}

    def _asker(self, purpose: str) -> Ask:
        return lambda messages: self.client.ask(messages, purpose=purpose, limit=LIMITS.get(purpose, (0, 0)))

    def _each(self, hook: str, session: Session, *arguments: Any) -> list[Any]:
        """What the hook of each plugin returns, () for nothing."""
        return [self._hook(plugin, hook, session, *arguments, otherwise=()) or () for plugin in self.plugins]

    def _hook(self, plugin: Plugin, hook: str, session: Session, *arguments: Any, otherwise: Any) -> Any:
        """What one hook of one plugin returns; one that fails is reported in a line."""
        try:
            found = getattr(plugin, hook)(session, *arguments)
            return list(found) if isinstance(found, Iterator) else found  # a generator fails only when it is read
        except Exception as error:
            name = hook.title().replace("_", "")
            session.notify(f"[HOOK] {name} of {plugin.name} failed: {error or type(error).__name__}")
            return otherwise
