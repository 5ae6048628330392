"""Long-term memory for an AI agent that you can read with your own eyes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hxmem.agent import Agent, AgentResult
    from hxmem.chat import ChatClient, ChatError, Reply, ToolCall
    from hxmem.desk.compaction import Compaction
    from hxmem.desk.eviction import Eviction
    from hxmem.desk.plugin import Desk
    from hxmem.desk.truncation import ClearResults, Snip, Truncation
    from hxmem.drawer.catalog import Selection, select
    from hxmem.drawer.detail import Memory, StoreProblem
    from hxmem.drawer.extraction import Extraction, extract
    from hxmem.drawer.keywords import Hit
    from hxmem.drawer.plugin import Drawer
    from hxmem.drawer.recall import recall
    from hxmem.drawer.store import MemoryStore, WriteResult
    from hxmem.exchanges import Exchange
    from hxmem.journal.plugin import Journal
    from hxmem.plugins import Plugin, Section, Session, Tool
    from hxmem.sessions import Archive, SessionLog

# Where each public name lives; it is imported when it is first used, so that `hx memory list` needs no HTTP client.
_HOMES = {
    "agent": ("Agent", "AgentResult"),
    "chat": ("ChatClient", "ChatError", "Reply", "ToolCall"),
    "desk.compaction": ("Compaction",),
    "desk.eviction": ("Eviction",),
    "desk.plugin": ("Desk",),
    "desk.truncation": ("ClearResults", "Snip", "Truncation"),
    "drawer.catalog": ("Selection", "select"),
    "drawer.detail": ("Memory", "StoreProblem"),
    "drawer.extraction": ("Extraction", "extract"),
    "drawer.keywords": ("Hit",),
    "drawer.plugin": ("Drawer",),
    "drawer.recall": ("recall",),
    "drawer.store": ("MemoryStore", "WriteResult"),
    "exchanges": ("Exchange",),
    "journal.plugin": ("Journal",),
    "plugins": ("Plugin", "Section", "Session", "Tool"),
    "sessions": ("Archive", "SessionLog"),
}

__all__ = [
    "Agent",
    "AgentResult",
    "Archive",
    "ChatClient",
    "ChatError",
    "ClearResults",
    "Compaction",
    "Desk",
    "Drawer",
    "Eviction",
    "Exchange",
    "Extraction",
    "Hit",
    "Journal",
    "Memory",
    "MemoryStore",
    "Plugin",
    "Reply",
    "Section",
    "Selection",
    "Session",
    "SessionLog",
    "Snip",
    "StoreProblem",
    "Tool",
    "ToolCall",
    "Truncation",
    "WriteResult",
    "extract",
    "recall",
    "select",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"hxmem.{home}"), name)
    raise AttributeError(f"module 'hxmem' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__file__", "__name__", "__path__"]
