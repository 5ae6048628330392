"""The desk in an agent: its parts, one after the other."""

from collections.abc import Iterable
from typing import Any

from hxmem.answers import ToolCall
from hxmem.desk.compaction import Compaction
from hxmem.desk.cuts import Cut, reason_of
from hxmem.desk.eviction import Eviction
from hxmem.plugins import Plugin, Session, Tool


class Desk(Plugin):
    """Keeps a conversation within the model's window: `Desk()`, or `Desk(Truncation(), Compaction(keep_tokens=4_000))`.

    A part that fails is reported in a line, and the next one acts. `cuts` holds what was done, in its order.
    """

    name = "desk"

    def __init__(self, *parts: Plugin) -> None:
        self.parts, self.cuts = parts or (Eviction(), Compaction()), list[Cut]()
        self._taken = dict.fromkeys(self.parts, 0)  # how many cuts of a part stand in `cuts`

    def session_start(self, session: Session) -> None:
        """Let every part begin."""
        for part in self.parts:
            self._act(part, "session_start", session)

    def tools(self, session: Session) -> Iterable[Tool]:
        """The tools of all parts."""
        return [tool for part in self.parts for tool in self._act(part, "tools", session, otherwise=())]

    def before_request(self, session: Session) -> None:
        """Let every part shorten the desk."""
        for part in self.parts:
            self._act(part, "before_request", session)

    def post_tool_use(self, session: Session, call: ToolCall, result: str) -> str:
        """The result as the parts leave it."""
        for part in self.parts:
            result = self._act(part, "post_tool_use", session, call, result, otherwise=result)
        return result

    def context_overflow(self, session: Session, error: Exception) -> bool:
        """Let the first part that can make the desk shorter do it."""
        return any(self._act(part, "context_overflow", session, error) for part in self.parts)

    def stop(self, session: Session) -> None:
        """Let every part finish the run."""
        for part in self.parts:
            self._act(part, "stop", session)

    def _act(self, part: Plugin, hook: str, session: Session, *arguments: Any, otherwise: Any = None) -> Any:
        """What a hook of a part returns; what the part cut is noted."""
        try:
            return getattr(part, hook)(session, *arguments)
        except Exception as error:
            session.notify(f"[DESK] {part.name} failed: {reason_of(error)}")
            return otherwise
        finally:
            cuts = getattr(part, "cuts", [])
            self.cuts += cuts[self._taken[part] :]
            self._taken[part] = len(cuts)
