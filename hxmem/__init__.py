"""Long-term memory for an AI agent that you can read with your own eyes."""

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
