"""Long-term memory for an AI agent that you can read with your own eyes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hxmem.agent import Agent, AgentResult
    from hxmem.chat import ChatClient, ChatError, Reply, ToolCall
    from hxmem.drawer.catalog import Selection, select
    from hxmem.drawer.detail import Memory, StoreProblem
    from hxmem.drawer.extraction import Extraction, extract
    from hxmem.drawer.keywords import Hit
    from hxmem.drawer.plugin import Drawer
    from hxmem.drawer.recall import recall
    from hxmem.drawer.store import MemoryStore, WriteResult
    from hxmem.exchanges import Exchange
    from hxmem.plugins import Plugin, Section, Session, Tool

# Where each public name lives; it is imported when it is first used, so that `hx memory list` needs no HTTP client.
_HOMES = {
    "agent": ("Agent", "AgentResult"),
    "chat": ("ChatClient", "ChatError", "Reply", "ToolCall"),
    "drawer.catalog": ("Selection", "select"),
    "drawer.detail": ("Memory", "StoreProblem"),
    "drawer.extraction": ("Extraction", "extract"),
    "drawer.keywords": ("Hit",),
    "drawer.plugin": ("Drawer",),
    "drawer.recall": ("recall",),
    "drawer.store": ("MemoryStore", "WriteResult"),
    "exchanges": ("Exchange",),
    "plugins": ("Plugin", "Section", "Session", "Tool"),
}

__all__ = [
    "Agent",
    "AgentResult",
    "ChatClient",
    "ChatError",
    "Drawer",
    "Exchange",
    "Extraction",
    "Hit",
    "Memory",
    "MemoryStore",
    "Plugin",
    "Reply",
    "Section",
    "Selection",
    "Session",
    "StoreProblem",
    "Tool",
    "ToolCall",
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
