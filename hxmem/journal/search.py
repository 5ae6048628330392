"""Searches the journal and the archived conversations: by the index, and where that can't help by reading the files."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hxmem.files import FileProblem, OutsideRoot, inside
from hxmem.journal.folder import JournalFolder
from hxmem.journal.index import LINES, MESSAGES, RANKED, Index, Row, Source, count, match, refresh
from hxmem.plugins import is_summary, without_recall
from hxmem.ranking import document, stem, stop_words
from hxmem.sessions import ENDING, FOLDER, read_entries, text_of
from hxmem.text import CJK, HAN, TRIGRAM_SCRIPTS, fitting, normal, runs, tokens, unix_lines, whole

if TYPE_CHECKING:
    from sqlite3 import Connection

MAX_TERMS = 64  # of a query
_FIRST = 10**8  # MEMORY.md is newer than any log, whose place is its date
_HEADER = re.compile(r"## \d\d:\d\d:\d\d(?!\S)")  # of a section in a log
_SHORT = re.compile(f"{CJK.pattern}|[{TRIGRAM_SCRIPTS}]{{1,2}}")  # less than a token of its script
_HAN_CHARACTER = re.compile(f"[{HAN}]")
_SPARE = 8  # rows to look at for each that is wanted, where some will be passed over


@dataclass(frozen=True)
class Found:
    """A hit: a file of the journal and its line, or a conversation and the number of the message in it."""

    path: str
    line: int
    text: str
    score: float = 0.0  # 0 when the files were read
    note: str = ""  # of a message: its role and the id of its entry


class Search:
    """The search over one project; what changed on disk is taken in before each answer."""

    def __init__(self, folder: JournalFolder) -> None:
        self.folder, self._index = folder, Index(folder.index)
        self.problem = ""  # why the last search could not use the index, or not read a file

    def memory(self, query: str, limit: int = 30) -> list[Found]:
        """The best lines of MEMORY.md and the logs: those with all the words, then those with some telling ones."""
        return self._find(query, limit, LINES)

    def sessions(self, query: str, limit: int = 10) -> list[Found]:
        """The best messages of the archived conversations, found in the same way."""
        return self._find(query, limit, MESSAGES)

    def refresh(self) -> None:
        """Take in what changed; FileProblem when the index can't be written."""
        for table in (LINES, MESSAGES):
            self._indexed(table, self._sources(table), lambda db: [])

    def rebuild(self) -> None:
        """Make the index anew."""
        if self.folder.index.exists():
            self._index.remove()
        self.refresh()

    def _sources(self, table: str) -> list[Source]:
        return log_sources(self.folder) if table == LINES else session_sources(self.folder.root)

    def _find(self, query: str, limit: int, table: str) -> list[Found]:
        query, sources, found = " ".join(query.split()), self._sources(table), list[Found]()
        self.problem = ""
        if tokens(query):
            try:
                found = self._indexed(table, sources, lambda db: _ask(db, table, query, limit))
            except FileProblem as error:
                self.problem = str(error)
        return found or scan(query, sources, limit)

    def _indexed(self, table: str, sources: list[Source], work: "Callable[[Connection], list[Found]]") -> list[Found]:
        def fresh(db: "Connection") -> list[Found]:
            self.problem = " ".join(refresh(db, table, sources))
            return work(db)

        if not self.folder.index.exists():
            if not sources:
                return []  # a search makes no folder where there is nothing to find
            self.folder.make()
        return self._index.run(fresh)


def log_sources(folder: JournalFolder) -> list[Source]:
    """MEMORY.md, then the logs from the newest on; archived logs are not searched."""
    found = [
        Source(entry.name, entry.path, _stamp(entry), _lines, _FIRST) for entry in _files(folder.path, "MEMORY.md")
    ]
    read = partial(_lines, but=_HEADER)
    for entry in _files(folder.logs, r"\d{4}-\d\d-\d\d\.md"):
        order = int(entry.name[:10].replace("-", ""))
        found.append(Source(f"memory/{entry.name}", entry.path, _stamp(entry), read, order))
    return found


def session_sources(root: Path) -> list[Source]:
    """The archived conversations, by their ids, from the last name on."""
    found = _files(root / ".harnessx" / FOLDER, f"(?s:.+){re.escape(ENDING)}")
    return [Source(entry.name.removesuffix(ENDING), entry.path, _stamp(entry), _said) for entry in found]


def telling(query: str) -> dict[str, float]:
    """The terms of a query that tell something, each with its weight: a line needs 1 in all to be worth a look.

    A word counts 1, and so do two of its parts; of the pairs in a run of characters without spaces every other one is a
    word; one character is little; stop words are nothing, and characters of Chinese grammar part the words.

    >>> telling("what is the pre-edit hook"), telling("我的数据库")
    ({'pre-edit': 1.0, 'pre': 0.5, 'edit': 0.5, 'hook': 1.0}, {'数据': 0.5, '据库': 0.5})
    """
    text = normal(query)
    counted, weights = document([(text, 1)]), dict[str, float]()
    text = _HAN_CHARACTER.sub(lambda found: found[0] if found[0] in counted else " ", text)
    for groups in runs(text.isascii()).findall(text):
        pieces = tokens("".join(groups))
        for place, piece in enumerate(pieces):
            # A word comes first, its parts behind it; in other scripts than ASCII that is its form without accents.
            part = place > 0 and pieces[0].isascii() if groups[3] else len(pieces) > 1
            if piece not in stop_words():
                weights[stem(piece)] = 0.25 if len(piece) == 1 else 0.5 if part else 1.0
    return dict(list(weights.items())[:MAX_TERMS])


def scan(query: str, sources: Iterable[Source], limit: int) -> list[Found]:
    """Reads the files for lines that hold the query literally, or all its words; case and width are ignored."""
    wanted, found = folded(query), list[Found]()
    words = [part[0] for part in runs(wanted.isascii()).finditer(wanted)]
    needles = words if len(words) > 1 else [wanted] * bool(wanted)
    plain = [needle for needle in needles if not set('"\\') & set(needle)]  # those that JSON writes as they are
    for source in sources if needles else ():
        try:
            text = folded(Path(source.file).read_bytes().decode("utf-8", "replace"))
            rows = source.read(source.file) if all(needle in text for needle in plain) else []
        except (OSError, FileProblem):
            continue  # gone meanwhile, or unreadable: the other files can still be searched
        hits = [row for row in reversed(rows) if all(needle in folded(row[1]) for needle in needles)]
        found += [Found(source.path, number, text, 0.0, note) for number, text, note in hits]
        if len(found) >= limit:
            break
    return sorted(found, key=lambda hit: wanted not in folded(hit.text))[:limit]


def folded(text: str) -> str:
    """A text without its case, width and joiners."""
    return normal(text).casefold()


def _ask(db: "Connection", table: str, query: str, limit: int) -> list[Found]:
    """Ask for the words in their order, for all of them, for some; nothing of the query is syntax, each is quoted."""
    words = tokens(query)[:MAX_TERMS]
    wanted = [word for word in words if word not in stop_words()] or words
    words, wanted = list(map(stem, words)), list(map(stem, wanted))
    found: dict[tuple[str, int], Found] = {}
    for expression in dict.fromkeys((_quoted(" ".join(words), words[-1]), " AND ".join(map(_quoted, wanted)))):
        if len(found) < limit:
            for _, *hit in match(db, table, expression, limit):
                found.setdefault((hit[0], hit[1]), Found(*hit))
    weights = telling(query) if len(found) < limit and len(words) > 1 else {}
    if some := _some(db, table, weights):
        for held, *hit in match(db, table, some, limit * _SPARE):
            if sum(weight for term, weight in weights.items() if _holds(held, term)) >= min(1, sum(weights.values())):
                found.setdefault((hit[0], hit[1]), Found(*hit))
    return list(found.values())[:limit]


def _some(db: "Connection", table: str, weights: Mapping[str, float]) -> str:
    """Any of the rarer terms: of all lines with a common one only the newest would be ranked."""
    held = {term: number for term in map(_quoted, weights) if (number := count(db, table, term))}
    rarest = sorted(held, key=held.__getitem__)
    return " OR ".join(fitting(rarest, held.__getitem__, RANKED) or rarest[:1])


def _quoted(term: str, last: str = "") -> str:
    """A term as FTS5 takes it literally; what is less than a token of its script may be the start of one."""
    return '"' + term.replace('"', '""') + '"' + "*" * bool(_SHORT.fullmatch(last or term))


def _holds(held: str, term: str) -> bool:
    return f" {term}{'' if _SHORT.fullmatch(term) else ' '}" in f" {held} "


def _files(folder: Path, name: str) -> list[os.DirEntry[str]]:
    """The files of a folder that are named so, last name first; a link must stay in the folder."""
    named = re.compile(name).fullmatch
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if named(entry.name) and entry.is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FileProblem(f"{folder.name} can't be read ({error.strerror}): check its permissions.") from error
    return sorted(
        (e for e in found if not e.is_symlink() or _stays(folder, e.name)), key=lambda e: e.name, reverse=True
    )


def _stays(folder: Path, name: str) -> bool:
    try:
        return bool(inside(folder, name))
    except OutsideRoot:
        return False


def _stamp(entry: os.DirEntry[str]) -> str:
    try:
        stat = entry.stat()
    except OSError:
        return "gone"  # reading it says so too
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ino}"


def _lines(file: str, but: re.Pattern[str] | None = None) -> list[Row]:
    """The lines that say something, numbered from 1 as they stand in the file."""
    text = unix_lines(Path(file).read_bytes().decode("utf-8-sig", "replace"))
    lines = ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1))
    return [(number, line, "") for number, line in lines if line and not (but and but.match(line))]


def _said(file: str) -> list[Row]:
    """What was said in a conversation and what its tools answered; no summaries, and no recalled blocks."""
    rows = list[Row]()
    for number, entry in enumerate((entry for entry in read_entries(Path(file)) if entry.kind == "message"), 1):
        role, text = entry.message.get("role"), whole(text_of(entry.message)).strip()
        if role in ("user", "assistant", "tool") and text and not is_summary(entry.message):
            rows.append((number, without_recall(text) if role == "user" else text, f"{role} {entry.id}"))
    return rows
