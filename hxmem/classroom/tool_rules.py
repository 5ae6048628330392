"""Tools: which calls a task plainly asks for, and what to say to their results."""

import json
from typing import Any

from hxmem.classroom.cues import pattern
from hxmem.classroom.vocabulary import is_chinese
from hxmem.classroom.wire import Reply, ToolCall, content_text

LONGEST = 500  # characters of a task in which a wish for a tool is looked for
QUOTE = 400  # characters of a tool's result


def tool_calls(task: str, body: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The tools that the task plainly asks for, among those that are offered."""
    choice = body.get("tool_choice", "auto")
    offered = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()}
    if not offered or choice == "none":
        return ()
    wanted = [
        ToolCall(name, json.dumps(args, ensure_ascii=False))
        for name, args in _wanted(task[:LONGEST])
        if name in offered
    ]
    if isinstance(choice, dict):
        name = choice.get("function", {}).get("name", "")
        return (next((call for call in wanted if call.name == name), _filled(name, offered.get(name, {}), task)),)
    if choice == "required" and not wanted:
        name = next(iter(offered))
        return (_filled(name, offered[name], task),)
    return tuple(wanted)


def _wanted(task: str) -> list[tuple[str, dict[str, str]]]:
    run, search, read = pattern("run").search(task), pattern("search").search(task), pattern("read").search(task)
    if run:
        return [("run_shell", {"command": run["command"] or run["bare"]})]
    if read:
        paths = dict.fromkeys(found["path"] for found in pattern("file").finditer(task[read.start() :]))
        return [("read_file", {"path": path}) for path in paths]
    if pattern("list").search(task):
        return [("list_files", {"path": "."})]
    if search:
        return [("search_files", {"query": search["query"].strip(), "path": search["path"] or "."})]
    return []


def _filled(name: str, function: dict[str, Any], task: str) -> ToolCall:
    required = (function.get("parameters") or {}).get("required") or []
    return ToolCall(name, json.dumps(dict.fromkeys(required, task), ensure_ascii=False))


def quoted_results(messages: list[dict[str, Any]], task: str) -> Reply:
    """The beginning of what the tools of this round gave back; no further calls, so that it ends."""
    start = len(messages)
    while start and messages[start - 1]["role"] == "tool":
        start -= 1
    names = {call["id"]: call["function"]["name"] for call in messages[start - 1].get("tool_calls") or ()}
    parts = []
    for message in messages[start:]:
        name, result = names.get(message.get("tool_call_id"), "tool"), content_text(message).strip()
        shown = result[:QUOTE] + ("…" if len(result) > QUOTE else "")
        parts.append(f"{name} 的结果：\n{shown}" if is_chinese(task) else f"{name} returned:\n{shown}")
    return Reply("\n\n".join(parts), "classroom rule: quote the tool's result")
