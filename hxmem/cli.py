"""The command `hx`: run an agent with a drawer, look after the drawer, open and verify the lessons."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hxmem import housekeeping, journaling
from hxmem.drawer.detail import StoreProblem
from hxmem.exchanges import Exchange
from hxmem.files import FileProblem
from hxmem.terminal import Trouble, answer, project, say, shown
from hxmem.wirefiles import json_line, save

if TYPE_CHECKING:
    from hxmem.plugins import Plugin

EXAMPLES = {
    "agent": """examples:
  hx agent "记住：以后给我讲 HarnessX 时，先用“书桌和小抽屉”的例子，再讲代码。"
  hx agent "我之前说过你讲 HarnessX 时要先用什么例子吗？" --wire run.har
  hx agent --lang en "Remember: answer me in short sentences."
  hx agent --session trip "Let us plan the trip to Chengdu."       (the next run with --session trip goes on)
  hx agent --plugins drawer,desk,journal "We decided to use uv."

environment: DEEPSEEK_API_KEY, DEEPSEEK_BASE_URL, DEEPSEEK_MODEL, HXMEM_LANG (zh, en), HXMEM_HOME (the folder).
Without a key and a base URL the classroom answers: a server on this machine that follows rules, not a model.""",
    "memory": """examples:
  hx memory list
  hx memory search 书桌
  hx memory delete tea-preference       (it stays in .history/)
  hx memory restore tea-preference""",
    "journal": """examples:
  hx journal search 数据库
  hx journal consolidate
  hx journal status

`hx agent --plugins drawer,desk,journal` writes the journal: a log a day in .harnessx/journal/memory/, and MEMORY.md
made from the logs.""",
    "lab": "example:\n  hx lab --no-browser --port 8890",
    "verify": "examples:\n  hx verify\n  hx verify 03 05 --out /tmp/runs\n  hx verify 03 -p limit 2",
    "classroom": "examples:\n  hx classroom --port 8765\n  hx classroom --fault side-query=429",
    "doctor": "example:\n  hx doctor --root ~/my-project",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 well, 1 a problem in one sentence, 2 wrong usage, 130 Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a console in another encoding must not stop a Chinese answer
            stream.reconfigure(encoding="utf-8", errors="replace")
    words = [os.fsencode(word).decode("utf-8", "replace") for word in (sys.argv[1:] if argv is None else argv)]
    args = _parser().parse_args(words)
    try:
        run: Callable[[argparse.Namespace], int] = args.run
        return run(args)
    except KeyboardInterrupt:
        say("hx: stopped.")
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as in `hx memory list | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Trouble, StoreProblem, FileProblem) as error:
        say(f"hx: {error}")
        return 1
    except OSError as error:  # a folder that may not be entered, a name that is too long
        say(f"hx: {error.strerror or error}: check the folder and its permissions.")
        return 1


def _agent(args: argparse.Namespace) -> int:
    task = " ".join(args.task).strip()
    if not task:
        raise Trouble("the task is empty: say what the agent should do, in quotes.")
    from hxmem.agent import Agent  # only here: `hx memory list` should not wait for an HTTP client
    from hxmem.chat import ChatClient, ChatError

    root, plugins = project(args), _plugins(args)
    options: dict[str, Any] = {"lang": args.lang, "notify": say, "show": answer, "confirm": _consent()}
    try:
        with _Wire(args.wire) as wire, ChatClient.from_env(on_exchange=wire.add, attempts=3) as client:
            if client.server == "classroom":
                say("[SERVER] classroom on 127.0.0.1: rules, not a model (set DEEPSEEK_API_KEY for DeepSeek)")
            with Agent(client, root, plugins, **options) as agent:
                agent.run(task)
    except ChatError as error:
        raise Trouble(str(error)) from error
    return 0


def _plugins(args: argparse.Namespace) -> list[Plugin]:
    """The memory designs that `--plugins` names, in the order in which their hooks are to run, and the archive."""
    from hxmem.desk.plugin import Desk
    from hxmem.drawer.plugin import Drawer
    from hxmem.journal.plugin import Journal
    from hxmem.sessions import Archive

    known: dict[str, Callable[[], Plugin]] = {"drawer": Drawer, "desk": Desk, "journal": Journal}
    names = [name.strip() for name in args.plugins.split(",")]
    if strange := [name for name in names if name not in known]:
        raise Trouble(
            f"there is no plugin {strange[0] or 'without a name'}: use {', '.join(known)}, with commas between."
        )
    if args.session is not None and not args.session.strip():
        raise Trouble("--session needs a name: the conversation is kept under it.")
    archive = [Archive(args.session)] if args.session else []
    return [*archive, *(make() for name, make in known.items() if name in names)]


class _Wire:
    """The file of `--wire`: JSON lines grow as exchanges happen, HAR is written at the end, however the run ends."""

    def __init__(self, path: str | None) -> None:
        self._path, self._seen = Path(path) if path else None, list[Exchange]()

    def __enter__(self) -> _Wire:
        if self._path:
            save([], self._path)  # a wrong name or folder is told before anything is asked
        return self

    def add(self, exchange: Exchange) -> None:
        self._seen.append(exchange)
        if self._path and self._path.suffix == ".jsonl":
            try:
                with self._path.open("a", encoding="utf-8", newline="\n") as file:
                    file.write(json_line(exchange))
            except OSError as error:  # a full disk must not cost the answer
                say(f"[WIRE] {self._path.name} could not be written: {error.strerror}")
                self._path = None

    def __exit__(self, *exception: object) -> None:
        if self._path and self._path.suffix == ".har":
            save(self._seen, self._path)


def _lab(args: argparse.Namespace) -> int:
    from hxmem.lab.launch import open_lab

    return open_lab(args.port, browser=not args.no_browser)


def _verify(args: argparse.Namespace) -> int:
    from hxmem.lab.verify import verify

    return verify(args.lessons, args.out, dict(args.parameter or []))


def _classroom(args: argparse.Namespace) -> int:
    from hxmem.chat import DEFAULT_MODEL
    from hxmem.classroom import Classroom, Faults, UnknownFault, summary

    if args.fault == "list":
        return answer("\n".join(f"{kind:<14} {what}" for kind, what in summary()))
    try:
        faults = Faults.parse(args.fault) if args.fault else None
        room = Classroom(args.port, faults, context_window=args.window).start()
    except (UnknownFault, OSError, OverflowError) as error:
        raise Trouble(f"the classroom can't start: {error}") from error
    with room:
        answer(f"The classroom, rules and not a model, listens on {room.url} (Ctrl-C ends it). In another terminal:")
        answer(f"  export DEEPSEEK_BASE_URL={room.url} DEEPSEEK_API_KEY={room.key}")
        body = json.dumps({"model": DEFAULT_MODEL, "messages": [{"role": "user", "content": "hello"}]})
        answer(f"  curl {room.url}/chat/completions -H 'Authorization: Bearer {room.key}' -d '{body}'")
        threading.Event().wait()
    return 0


def _consent() -> Callable[[str], bool] | None:
    """Asks the person at the terminal; None when nobody sits there, so that the call is refused."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(call: str) -> bool:
        sys.stderr.write(shown(f"[ASK] allow {call}? [y/N] "))
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes", "是")

    return ask


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hx",
        description="Long-term memory for an AI agent, in files you can read.",
        epilog='Begin with `hx lab`, or: hx agent "Remember: I drink green tea."',
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[..., int], about: str) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=about, description=about, epilog=EXAMPLES[name], formatter_class=argparse.RawTextHelpFormatter
        )
        added.set_defaults(run=run)
        return added

    root = argparse.ArgumentParser(add_help=False)
    root.add_argument("--root", metavar="DIR", help="the project (default: nearest folder with .harnessx or .git)")
    agent = command("agent", _agent, "Answer one task, with long-term memory.")
    agent.add_argument("task", nargs="+", metavar="TASK", help="several words are joined")
    agent.add_argument("--root", metavar="DIR", help="the project (default: nearest folder with .harnessx or .git)")
    agent.add_argument("--wire", metavar="FILE", help="write every exchange to FILE: .jsonl or .har")
    agent.add_argument("--lang", choices=("zh", "en"), default="", help="language of the prompts")
    agent.add_argument("--session", metavar="ID", help="keep the conversation, and go on with it next time")
    agent.add_argument("--plugins", metavar="NAMES", default="drawer,desk", help="of drawer, desk, journal")
    root.add_argument("--json", action="store_true", help="machine-readable output")
    housekeeping.add_actions(command("memory", housekeeping.memory, "Look after the memories of a project."), root)
    journaling.add_actions(command("journal", journaling.journal, "Look after the daily log and its MEMORY.md."), root)
    lab = command("lab", _lab, "Open JupyterLab on the lessons.")
    lab.add_argument("--port", type=int, default=8888, metavar="N")
    lab.add_argument("--no-browser", action="store_true", help="only print the address")
    verify = command("verify", _verify, "Run lessons from top to bottom and say which passed.")
    verify.add_argument("lessons", nargs="*", metavar="LESSON", help="such as 03, or a path (default: all)")
    verify.add_argument("--out", metavar="DIR", help="keep the executed notebooks here")
    verify.add_argument("-p", dest="parameter", nargs=2, action="append", metavar=("NAME", "VALUE"), help="a parameter")
    classroom = command("classroom", _classroom, "Run the loopback server alone, for curl and other programs.")
    classroom.add_argument("--port", type=int, default=8765, metavar="N")
    classroom.add_argument("--fault", metavar="KIND", default="", help="answer badly on purpose; KIND `list` shows all")
    classroom.add_argument("--window", type=int, default=0, metavar="N", help="refuse requests over N tokens")
    doctor = command(
        "doctor", housekeeping.doctor, "Say what is wrong in the project's memory, where, and how to mend it."
    )
    doctor.add_argument("--root", metavar="DIR", help="the project (default: nearest folder with .harnessx or .git)")
    return parser
