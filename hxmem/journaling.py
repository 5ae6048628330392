"""`hx journal`: the daily log and the long-term memory made from it, looked after by hand."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

from hxmem.journal.folder import JournalFolder
from hxmem.language import language
from hxmem.terminal import Trouble, answer, answer_json, project, say
from hxmem.text import estimate_tokens

if TYPE_CHECKING:
    from hxmem.plugins import Ask  # the rest is imported where it is used: `hx memory list` needs no HTTP client


def add_actions(parser: argparse.ArgumentParser, root: argparse.ArgumentParser) -> None:
    """Add the actions of `hx journal` to its parser; `root` holds the options that they share."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def action(name: str, run: Callable[..., int], about: str) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=about, description=about, parents=[root])
        added.set_defaults(action=run)
        return added

    search = action("search", _search, "The lines of MEMORY.md and of the logs that fit QUERY.")
    search.add_argument("query", nargs="+", metavar="QUERY")
    search.add_argument("--sessions", action="store_true", help="search the archived conversations instead")
    search.add_argument("--limit", type=int, default=30, metavar="N")
    for added in (
        action("consolidate", _consolidate, "Make MEMORY.md new from what the logs have since the last time."),
        action("maintain", _maintain, "Consolidate, archive old logs, prune old sessions, renew the search index."),
    ):
        added.add_argument("--lang", choices=("zh", "en"), default="", help="language of the prompts")
    action("sessions", _sessions, "The archived conversations, the newest first.")
    action("status", _status, "What the journal holds, and what is still to be done.")


def journal(args: argparse.Namespace) -> int:
    """Run one action of `hx journal`."""
    folder = JournalFolder(project(args))
    action: Callable[[argparse.Namespace, JournalFolder], int] = args.action
    return action(args, folder)


def _search(args: argparse.Namespace, folder: JournalFolder) -> int:
    from hxmem.journal.search import Search

    query, search = " ".join(args.query), Search(folder)
    if not query.strip() or args.limit < 1:
        raise Trouble("say what to look for, and a --limit from 1 up.")
    hits = (search.sessions if args.sessions else search.memory)(query, args.limit)
    if args.json:
        return answer_json([asdict(hit) for hit in hits])
    for hit in hits:
        answer(f"{hit.path}#{hit.line}: {' '.join(hit.text.split())}")
    if not hits:
        say("Nothing found.")
    return 0


def _consolidate(args: argparse.Namespace, folder: JournalFolder) -> int:
    from hxmem.journal.consolidation import consolidate
    from hxmem.sessions import now

    with _model("consolidation") as ask:
        done = consolidate(folder, ask, now(), language(args.lang))
    if args.json:
        return answer_json(asdict(done)) or int(done.status not in ("written", "nothing new"))
    if done.reason and done.status in ("written", "nothing new"):
        say(f"hx: {done.reason}")
    if done.status == "nothing new":
        return answer("Nothing new: every line of the logs is in MEMORY.md already, or there is none.")
    if done.status != "written":
        raise Trouble(f"MEMORY.md stays as it was ({done.status}): {done.reason}")
    for entry in done.dropped:
        answer(f"superseded: {entry}")
    kept = "; the version before is in .history/" if done.before else ""
    return answer(f"MEMORY.md was made new from {', '.join(done.logs)}{kept}.")


def _maintain(args: argparse.Namespace, folder: JournalFolder) -> int:
    from hxmem.journal.maintenance import maintain
    from hxmem.sessions import now

    with _model("consolidation") as ask:
        done = maintain(folder, ask, now(), language(args.lang))
    if args.json:
        return answer_json(asdict(done)) or int(bool(done.problems))
    answer(f"consolidation: {done.consolidation.status if done.consolidation else 'not done'}")
    answer(f"logs archived: {', '.join(done.archived) or 'none'}")
    answer(f"conversations deleted: {', '.join(done.pruned) or 'none'}")
    for problem in done.problems:
        say(f"hx: {problem}")
    return int(bool(done.problems))


def _sessions(args: argparse.Namespace, folder: JournalFolder) -> int:
    from hxmem.journal.reading import session_list

    listed = session_list(folder, {})
    return answer_json(listed.splitlines()) if args.json else answer(listed)


def _status(args: argparse.Namespace, folder: JournalFolder) -> int:
    from hxmem.journal.consolidation import fresh
    from hxmem.journal.ledger import bullets
    from hxmem.journal.maintenance import since_last
    from hxmem.sessions import archives, now

    if folder.path.exists() and not folder.path.is_dir():
        raise Trouble(".harnessx/journal is no folder: move the file away.")
    state, memory, days = folder.state(), folder.read_memory(), folder.days()
    waiting, passed = fresh(folder, state), since_last(state, now())
    facts = {
        "logs": len(days),
        "newest log": days[-1].name if days else "none",
        "entries in MEMORY.md": len(bullets(memory)),
        "tokens in MEMORY.md": estimate_tokens(memory),
        "logs with something new": len({piece.log for piece in waiting.pieces}),
        "archived conversations": len(archives(folder.root)),
        "last maintenance": "never" if passed == timedelta.max else f"{passed.total_seconds() / 3600:.1f} h ago",
    }
    if args.json:
        return answer_json(facts)
    for name, value in facts.items():
        answer(f"{name:<24}  {value}")
    return 0


@contextmanager
def _model(purpose: str) -> Iterator[Ask]:
    from hxmem.agent import LIMITS
    from hxmem.chat import ChatClient, ChatError

    try:
        with ChatClient.from_env(attempts=3) as client:
            if client.server == "classroom":
                say("[SERVER] classroom on 127.0.0.1: rules, not a model (set DEEPSEEK_API_KEY for DeepSeek)")
            yield lambda messages: client.ask(messages, purpose=purpose, limit=LIMITS[purpose])
    except ChatError as error:
        raise Trouble(str(error)) from error
