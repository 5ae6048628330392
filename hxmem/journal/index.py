"""The database of the search: SQLite FTS5 over texts that are split into terms before it sees them.

It holds nothing that isn't in the files, so a damaged one, or one of another version, is deleted and made anew. It is
opened and deleted under a lock file; who works with it is kept apart from others by SQLite's own transactions.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hxmem.files import NEW_FILE_MODE, FileProblem, lock
from hxmem.ranking import stem
from hxmem.text import HAN, HANGUL, KANA, TRIGRAM_SCRIPTS, cut_middle, normal, tokens

if TYPE_CHECKING:
    from sqlite3 import Connection

LINES, MESSAGES = "lines", "messages"  # the tables: of MEMORY.md and the logs, of the archived conversations
RANKED = 2_000  # of the lines that match, the newest so many are ranked: ranking costs more than finding
MAX_TEXT = 100_000  # characters of one line or message that are indexed
BUSY_SECONDS = 5  # how long to wait for another process
_VERSION = 1
_ROWS = 1 << 32  # of one file: a row's id is its file's id times this, plus its number
_SCHEMA = [
    "CREATE TABLE files(kind TEXT, id INTEGER, path TEXT, stamp TEXT, PRIMARY KEY(kind, id), UNIQUE(kind, path))",
    # This tokenizer parts at ASCII signs only, and these occur within terms; unicode61 would drop newer emoji.
    *(
        f"""CREATE VIRTUAL TABLE {table} USING fts5(
        terms, text UNINDEXED, note UNINDEXED, tokenize = "ascii tokenchars '+#._-@:/'")"""
        for table in (LINES, MESSAGES)
    ),
    f"PRAGMA user_version = {_VERSION}",
]
_ADD = """INSERT OR IGNORE INTO files
VALUES (?1, coalesce(?2, (SELECT coalesce(max(id), 0) + 1 FROM files WHERE kind = ?1)), ?3, '')"""
_MATCH = f"""SELECT terms, path, row % {_ROWS}, text, -points, note FROM (
    SELECT * FROM (
        SELECT rowid AS row, rank AS points FROM {{0}} WHERE {{0}} MATCH ? ORDER BY rowid DESC LIMIT {RANKED}
    ) ORDER BY points, row DESC LIMIT ?
) JOIN {{0}} ON {{0}}.rowid = row JOIN files ON kind = '{{0}}' AND id = row / {_ROWS} ORDER BY points, row DESC"""
_RUN_END = re.compile(  # the end of a run of which only pairs or triples of characters are tokens
    f"(?<=[{HAN}{KANA}])[{HAN}{KANA}](?![{HAN}{KANA}])|(?<=[{HANGUL}])[{HANGUL}](?![{HANGUL}])"
    f"|(?<=[{TRIGRAM_SCRIPTS}])[{TRIGRAM_SCRIPTS}]{{2}}(?![{TRIGRAM_SCRIPTS}])"
)
Row = tuple[int, str, str]  # the number of a line or a message, its text, a note that is given back with it
T = TypeVar("T")


class Source(NamedTuple):
    """A file to search: the name it goes by, a stamp that changes when it does, and how its rows are read.

    `order` is its place among the others, a later one being newer; None puts it behind those already there.
    """

    path: str
    file: str
    stamp: str
    read: Callable[[str], list[Row]]
    order: int | None = None


def terms(text: str) -> list[str]:
    """What is stored of a text: its tokens without endings, and each run's end, so that a prefix finds any character.

    >>> terms("养小猫, tabs")
    ['养小', '小猫', 'tab', '猫']
    """
    return [stem(token) for token in tokens(text)] + (_RUN_END.findall(normal(text)) if not text.isascii() else [])


class Index:
    """The database file; it is opened for each piece of work, so any thread may ask for one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, work: "Callable[[Connection], T]") -> T:
        """Do some work with the open database, with a new one if this one is damaged; FileProblem says why not."""
        import sqlite3

        try:
            try:
                return self._once(work)
            except sqlite3.Error as error:
                if not _damaged(error):
                    raise
            self.remove()
            return self._once(work)
        except (sqlite3.Error, OSError) as error:
            raise FileProblem(f"The search index can't be used ({error}): the files are searched instead.") from error

    def remove(self) -> None:
        """Delete the database; who still has it open goes on with the deleted one."""
        with self._lock():
            for ending in ("-wal", "-shm", ""):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    def _once(self, work: "Callable[[Connection], T]") -> T:
        with self._lock():
            db = _connect(self.path)
        with closing(db):
            return work(db)

    def _lock(self) -> AbstractContextManager[None]:
        return lock(self.path.with_name(f"{self.path.name}.lock"), BUSY_SECONDS)


def refresh(db: "Connection", table: str, sources: Iterable[Source]) -> list[str]:
    """Take in the files that changed and forget those that are gone, one transaction each; returns what went wrong."""
    problems = list[str]()
    gone = dict(db.execute("SELECT path, stamp FROM files WHERE kind = ?", (table,)).fetchall())
    for source in sources:
        if gone.pop(source.path, None) != source.stamp:
            try:
                rows = source.read(source.file)
            except (OSError, FileProblem) as error:
                problems.append(f"{source.path} can't be read ({error}).")
                continue
            _replace(db, table, source, rows)
    for path in gone:
        _replace(db, table, Source(path, "", "", lambda path: []), ())
    return problems


def match(db: "Connection", table: str, expression: str, limit: int) -> list[tuple[Any, ...]]:
    """The best rows for an FTS5 expression: their terms, path, number, text, points, note; ties newest first."""
    return db.execute(_MATCH.format(table), (expression, limit)).fetchall()


def count(db: "Connection", table: str, expression: str) -> int:
    """How many rows match, up to one more than are ranked."""
    select = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT {RANKED + 1})"
    return int(db.execute(select, (expression,)).fetchone()[0])


def _replace(db: "Connection", table: str, source: Source, rows: Sequence[Row]) -> None:
    """Bring one file's rows up to date; those that stay as they are cost little, so a log may grow cheaply."""
    new = {(number, cut_middle(text, MAX_TEXT), note) for number, text, note in rows}
    with db:  # commits, or rolls back
        db.execute("BEGIN IMMEDIATE")
        db.execute(_ADD, (table, source.order, source.path))
        [id] = db.execute("SELECT id FROM files WHERE kind = ? AND path = ?", (table, source.path)).fetchone()
        start = id * _ROWS
        select = f"SELECT rowid - {start}, text, note FROM {table} WHERE rowid BETWEEN {start} AND {start + _ROWS - 1}"
        old = set(db.execute(select).fetchall())
        db.executemany(f"DELETE FROM {table} WHERE rowid = ?", [(start + number,) for number, _, _ in old - new])
        added = ((start + number, " ".join(terms(text)), text, note) for number, text, note in sorted(new - old))
        db.executemany(f"INSERT INTO {table}(rowid, terms, text, note) VALUES (?, ?, ?, ?)", added)
        if source.stamp:
            db.execute("UPDATE files SET stamp = ? WHERE kind = ? AND id = ?", (source.stamp, table, id))
        else:
            db.execute("DELETE FROM files WHERE kind = ? AND id = ?", (table, id))


def _connect(path: Path) -> "Connection":
    import sqlite3

    path.touch(NEW_FILE_MODE)
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")  # with WAL, a power cut can take the last change, never the database
        [version] = db.execute("PRAGMA user_version").fetchone()
        if version == 0 and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
            with db:
                db.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    db.execute(statement)
        elif version != _VERSION:
            raise sqlite3.DatabaseError(f"version {version}")
    except BaseException:
        db.close()
        raise
    return db


def _damaged(error: Exception) -> bool:
    """Whether a new database would help: not when this one is held, full or read-only, or SQLite has no FTS5."""
    code = getattr(error, "sqlite_errorcode", 11) & 0xFF
    return code in (1, 11, 26) and "no such module" not in str(error)  # SQLITE_ERROR, _CORRUPT, _NOTADB
