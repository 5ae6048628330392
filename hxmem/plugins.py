"""What an agent offers to a memory design: hooks, sections of the system text, tools, and a session to ask."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hxmem.chat import Message, ToolCall

Ask = Callable[[list[Message]], str]  # all that a memory design needs of a model: messages in, text out
TASK_LABEL = "User request:"
SUMMARY_TAG = "conversation_summary"  # around what stands on the desk in the place of older messages
_END = f">\n\n{TASK_LABEL}\n"  # behind the last block, whichever plugin it comes from


@dataclass(frozen=True)
class Section:
    """A part of the system text; sections are put together in ascending `order`."""

    order: int
    text: str


class ToolProblem(Exception):
    """A tool can't do what it was asked; the model reads the sentence, like that of a FileProblem, as the result."""


@dataclass(frozen=True)
class Tool:
    """A function that the model may call; `permission` is "allow", "ask" (a person is asked each time) or "deny"."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Mapping[str, Any]], str]
    permission: str = "allow"

    def schema(self) -> dict[str, Any]:
        """The tool as it stands in the request body."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


@dataclass
class Session:
    """One run of an agent, as its plugins see it: the folder, the desk (`messages`), counters, and a model to ask."""

    root: Path
    lang: str
    task: str
    asker: Callable[[str], Ask]  # purpose -> a way to ask the model, labelled so in the exchange log
    notify: Callable[[str], None]  # one line for the person at the terminal
    compacting: Callable[[list[Message]], object] = list  # fires PreCompact: called before messages leave the desk
    messages: list[Message] = field(default_factory=list)
    turns: int = 0
    tool_calls: int = 0
    blocked: int = 0
    id: str = ""  # names the archive of the conversation, if a plugin keeps one
    tools: list[dict[str, Any]] = field(default_factory=list)  # the schemas, as they stand in each request
    sent: list[Message] = field(default_factory=list)  # the messages of the last request that was answered
    usage: Mapping[str, Any] = field(default_factory=dict)  # what the server counted for it
    archived: dict[int, tuple[Message, str]] = field(default_factory=dict)  # by id(): a message and its archive entry


class Plugin:
    """A memory design; override what it needs. The names of the hooks are those of the agent's log lines in snake case.

    A hook that raises is reported in one line and never costs the answer.
    """

    name = "plugin"

    def sections(self, session: Session) -> Iterable[Section]:
        """What the model is to see in the system text of every request."""
        return ()

    def tools(self, session: Session) -> Iterable[Tool]:
        """The tools this design gives to the model."""
        return ()

    def session_start(self, session: Session) -> None:
        """Before anything else of a run; `session.messages` holds what was said before, and may be replaced."""

    def user_prompt_submit(self, session: Session) -> str:
        """After the user's task came in; returns a block to lay in front of it, or ""."""
        return ""

    def before_request(self, session: Session) -> None:
        """Before each request of the conversation: the place to shorten `session.messages`."""

    def pre_compact(self, session: Session, messages: list[Message]) -> None:
        """Before a design drops `messages` from the desk: the last chance to keep what matters."""

    def context_overflow(self, session: Session, error: Exception) -> bool:
        """After the server refused a request as too long; True when the desk is shorter now and may be sent again."""
        return False

    def pre_tool_use(self, session: Session, call: ToolCall) -> str:
        """Before a tool runs; a sentence refuses the call, "" lets it pass. An error refuses it too."""
        return ""

    def post_tool_use(self, session: Session, call: ToolCall, result: str) -> str:
        """After a tool ran; returns the result as the model will read it."""
        return result

    def stop(self, session: Session) -> None:
        """After the answer was shown; `session.messages` is the whole conversation."""

    def session_end(self, session: Session) -> None:
        """After everything else of a run that answered."""

    def close(self) -> None:
        """When the agent is done: finish what still runs in the background."""


def with_recall(block: str, task: str) -> str:
    """The user message: the block in front of the task, or the task alone."""
    return f"{block}\n\n{TASK_LABEL}\n{task}" if block else task


def without_recall(content: str) -> str:
    """What the user really said in a message that `with_recall` made; any other message is returned as it is."""
    _, end, task = content.rpartition(_END)
    return task if end and content.startswith("<") else content


def is_summary(message: Message) -> bool:
    """Whether a message stands for older ones that left the desk: nobody said it."""
    text = str(message.get("content"))
    return message.get("role") == "user" and text.startswith(f"<{SUMMARY_TAG}") and text.endswith(f"</{SUMMARY_TAG}>")
