"""`hx memory` and `hx doctor`: the drawer looked after by hand."""

import argparse
from collections.abc import Callable
from dataclasses import asdict

from hxmem.drawer.folder import folded
from hxmem.drawer.store import MemoryStore
from hxmem.files import FileProblem, read_text
from hxmem.journal.folder import MAX_FILE_BYTES, JournalFolder
from hxmem.terminal import Trouble, answer, answer_json, project, say


def add_actions(parser: argparse.ArgumentParser, root: argparse.ArgumentParser) -> None:
    """Add the actions of `hx memory` to its parser; `root` holds the options that they share."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def action(name: str, run: Callable[..., int], about: str, argument: str = "") -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=about, description=about, parents=[root])
        added.set_defaults(action=run)
        if argument:
            added.add_argument(argument, metavar=argument.upper())
        return added

    action("list", _list, "All memories: type, name, description.")
    action("show", _show, "One memory as it stands on disk.", "name")
    search = action("search", _search, "The memories that share words with QUERY.")
    search.add_argument("query", nargs="+", metavar="QUERY")
    search.add_argument("--limit", type=int, default=5, metavar="N")
    action("delete", _delete, "Move a memory to .history/.", "name")
    action("restore", _restore, "Bring back the newest earlier version of a memory.", "name")
    action("reindex", _reindex, "Write MEMORY.md again from the folder.")


def memory(args: argparse.Namespace) -> int:
    """Run one action of `hx memory`."""
    store = MemoryStore.of(project(args))
    action: Callable[[argparse.Namespace, MemoryStore], int] = args.action
    return action(args, store)


def _list(args: argparse.Namespace, store: MemoryStore) -> int:
    memories = store.list()
    if args.json:
        return answer_json([asdict(memory) for memory in memories])
    for memory in memories:
        answer(f"{memory.type:<9}  {memory.name}  -  {' '.join(memory.description.split())}")
    if not memories:
        say("No note can be read: see `hx doctor`." if store.problems() else "The drawer is empty.")
    return 0


def _show(args: argparse.Namespace, store: MemoryStore) -> int:
    memory = store.get(args.name)
    if memory is None:
        raise _unknown(args.name, store)
    if args.json:
        return answer_json(asdict(memory))
    return answer(read_text(store.folder / memory.file, 10**9).removesuffix("\n"))


def _search(args: argparse.Namespace, store: MemoryStore) -> int:
    if not " ".join(args.query).strip() or args.limit < 1:
        raise Trouble("say what to look for, and a --limit from 1 up.")
    hits = store.search(" ".join(args.query), limit=args.limit)
    if args.json:
        return answer_json([{"name": hit.memory.name, "score": round(hit.score, 3), "why": hit.why} for hit in hits])
    for hit in hits:
        answer(f"{hit.memory.name}  -  {' '.join(hit.memory.description.split())}  ({hit.why})")
    if not hits:
        say("Nothing found.")
    return 0


def _delete(args: argparse.Namespace, store: MemoryStore) -> int:
    memory = store.get(args.name)
    files = [m.file for m in store.list() if folded(m.name) == folded(args.name)]
    if len(files) > 1:
        raise Trouble(f"{', '.join(files)} have this name: say which file.")
    if memory is None or not store.delete(args.name):
        raise _unknown(args.name, store)
    file = memory.file.removesuffix(".md")
    return _done(args, f"Deleted {memory.name}; `hx memory restore '{file}'` brings it back.")


def _restore(args: argparse.Namespace, store: MemoryStore) -> int:
    if not store.folder.is_dir() or not store.restore(args.name):
        raise Trouble(f"there is no earlier version of {args.name} in .history/.")
    return _done(args, f"Restored {args.name}.")


def _reindex(args: argparse.Namespace, store: MemoryStore) -> int:
    return _done(args, f"MEMORY.md lists {_count(store.reindex())}.")


def doctor(args: argparse.Namespace) -> int:
    """Name what is wrong in the drawer and the journal; exit code 1 when something is."""
    root = project(args)
    store = MemoryStore.of(root)
    problems = [*map(str, store.problems()), *_journal_problems(JournalFolder(root))]
    for problem in problems:
        answer(problem)
    if not problems:
        answer(f"The drawer is in order: {_count(len(store.list()))}.")
    return 1 if problems else 0


def _journal_problems(folder: JournalFolder) -> list[str]:
    """What of the journal and of the archived conversations can't be read, a sentence each."""
    from hxmem.entries import read_entries  # only here: `hx memory list` needs no HTTP client

    if folder.path.exists() and not folder.path.is_dir():
        return ["journal: .harnessx/journal is no folder: move the file away."]
    problems = []
    if (folder.path / ".state.json").exists() and not folder.state_is_whole():
        problems.append("journal: .state.json can't be read: every log counts as new; delete the file.")
    for path in [folder.memory, *folder.days()]:
        try:
            if path.exists():
                read_text(path, MAX_FILE_BYTES)
        except FileProblem as error:
            problems.append(f"journal: {error}")
    for path in sorted((folder.root / ".harnessx" / "sessions").glob("*.log.jsonl")):
        lines = path.read_bytes().count(b"\n")
        if (bad := lines - sum(1 for _ in read_entries(path))) > 0:
            problems.append(f"sessions: {path.name}: {bad} of {lines} lines are no entries and are passed over.")
    return problems


def _unknown(name: str, store: MemoryStore) -> Trouble:
    near = ", ".join(hit.memory.name for hit in store.search(name, limit=3))
    return Trouble(f"there is no memory {name}{': did you mean ' + near + '?' if near else '; see `hx memory list`.'}")


def _count(number: int) -> str:
    return f"{number} {'memory' if number == 1 else 'memories'}"


def _done(args: argparse.Namespace, sentence: str) -> int:
    return answer_json({"done": sentence}) if args.json else answer(sentence)
