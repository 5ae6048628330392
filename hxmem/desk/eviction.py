"""Tool results that are too large for the desk go to a file; what stays is where it is, its head and its tail."""

import hashlib
from collections.abc import Collection

from hxmem.answers import Message, ToolCall
from hxmem.credentials import mask
from hxmem.desk.cuts import Cut, reason_of, tool_names
from hxmem.desk.estimates import Estimator
from hxmem.files import FileProblem, safe_name, state_folder, write_atomic
from hxmem.plugins import Plugin, Session
from hxmem.sessions import SessionLog, text_of
from hxmem.text import edge, unix_lines, whole

FOLDER = "large_tool_results"
# Tools with limits of their own, or that read what was evicted; AgentScope's list. The shell is not among them.
EXCLUDED_TOOLS = frozenset(
    {
        "read_file", "write_file", "edit_file", "grep_files", "glob_files", "list_files", "memory_search", "memory_get",
        "session_search",
    }
)  # fmt: skip


class Eviction(Plugin):
    """Evicts a result of more than `max_characters`, and the largest of a round that has over `batch_characters`.

    Of a round only results of more than `batch_item` are evicted. The preview has at most `preview_characters` of the
    head and as many of the tail. The defaults are AgentScope's `ToolResultEvictionConfig`, for a round those of
    learn-claude-code. Credentials are masked in the file and in the preview. `cuts` holds what was done.
    """

    name = "eviction"

    def __init__(
        self,
        max_characters: int = 80_000,
        preview_characters: int = 2_000,
        excluded: Collection[str] = EXCLUDED_TOOLS,
        batch_characters: int = 200_000,
        batch_item: int = 30_000,
    ) -> None:
        self.max_characters, self.preview_characters, self.excluded = max_characters, preview_characters, excluded
        self.batch_characters, self.batch_item = batch_characters, batch_item
        self.estimator, self.cuts = Estimator(), list[Cut]()

    def post_tool_use(self, session: Session, call: ToolCall, result: str) -> str:
        """The result, or where it is now."""
        if len(result) <= self.max_characters or call.name in self.excluded:
            return result
        short = self._evict(session, call.name, result)
        if short != result:
            old: Message = {"role": "tool", "tool_call_id": call.id, "content": result}
            self._note(session, [*session.messages, old], [*session.messages, {**old, "content": short}])
        return short

    def before_request(self, session: Session) -> None:
        """Evict the largest results of the last round until the rest fits."""
        self.estimator.learn(session)
        desk, names, start = list(session.messages), tool_names(session.messages), len(session.messages)
        while start and desk[start - 1].get("role") == "tool":
            start -= 1
        sizes = {at: len(text_of(desk[at])) for at in range(start, len(desk))}
        total = sum(sizes.values())
        for at in sorted(sizes, key=lambda at: -sizes[at]):
            if total <= self.batch_characters or sizes[at] <= self.batch_item:
                break
            text = text_of(desk[at])
            if names[at] in self.excluded or (short := self._evict(session, names[at], text)) == text:
                continue
            total -= sizes[at] - len(short)
            desk[at] = {**desk[at], "content": short}
            SessionLog.of(session).same(session, session.messages[at], desk[at])
        if any(new is not old for new, old in zip(desk, session.messages, strict=True)):
            self._note(session, session.messages, desk)
            session.messages[:] = desk

    def _evict(self, session: Session, tool: str, result: str) -> str:
        """Write the result to its file; returns what stands for it, or the result when the file can't be written."""
        text = unix_lines(whole(mask(result).text)).lstrip("\ufeff")  # as `read_file` will count it
        name = f"{safe_name(tool)}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.txt"
        id = SessionLog.of(session).id
        try:
            write_atomic(state_folder(session.root, FOLDER, id) / name, text)
        except (FileProblem, OSError) as error:
            session.notify(
                f"[DESK] eviction: the result of {tool} stays on the desk, its file failed: {reason_of(error)}"
            )
            return result
        path = f".harnessx/{FOLDER}/{id}/{name}"
        session.notify(f"[DESK] eviction: {len(text):,} characters of {tool} are in {path}")
        return placeholder(text, tool, path, self.preview_characters)

    def _note(self, session: Session, before: list[Message], after: list[Message]) -> None:
        larger, smaller = (self.estimator.tokens(session, messages) for messages in (before, after))
        self.cuts.append(Cut(self.name, tuple(before), tuple(after), larger, smaller))


def placeholder(text: str, tool: str, path: str, preview: int) -> str:
    """What stands on the desk for a text that is in a file: its size, its place, how to read it, its head and tail."""
    size = max(0, min(preview, len(text) // 2))
    head, tail = text[: edge(text, size, -1)], text[edge(text, len(text) - size, 1) :]
    return (
        f"[{tool} returned {len(text):,} characters, too many for the desk. The whole text is in {path}: "
        f'read a part with read_file, path "{path}", offset and limit in characters.]\n'
        f"[The first {len(head):,} characters:]\n{head}\n"
        f"[{len(text) - len(head) - len(tail):,} characters left out; the last {len(tail):,} characters:]\n{tail}"
    )
