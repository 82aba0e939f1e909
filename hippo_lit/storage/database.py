"""SQLite as the store uses it: write-ahead log, one transaction a batch, errors that say what to do."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from hippo_lit.errors import FormatVersionError, IndexCorruptError, IndexLockedError, StoreError
from hippo_lit.storage.disk import ADVICE_PERMISSION, ADVICE_SPACE

Access = Literal["ro", "rw", "rwc"]
_BUSY_S = 10.0
_PAGE_ROWS = 1000
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_FORBIDDEN = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class Database:
    """One SQLite file. Safe for several threads of a process, and for readers beside one writer.

    A committed transaction survives a power cut (WAL with synchronous=FULL). Every sqlite3.Error comes
    out as IndexCorruptError, IndexLockedError or StoreError, with the path and what to do.
    """

    def __init__(self, path: Path, access: Access) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._uri = f"{path.absolute().as_uri()}?mode={access}"
        with self._reporting():
            self._db = self._connect_to_read() if access == "ro" else self._connect()

    def create(self, application_id: int, version: int, schema: Sequence[str]) -> None:
        """Run the statements of `schema` once, in a file that is new or whose making was interrupted."""
        if any(self._identity()):
            return
        self.rows("PRAGMA journal_mode = WAL")
        with self.write() as db:
            if any(self._identity()):  # another process was faster
                return
            for statement in schema:
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {application_id:d}")
            db.execute(f"PRAGMA user_version = {version:d}")

    def upgrade(self, application_id: int, version: int, step: Callable[[sqlite3.Connection], int]) -> None:
        """Where the file has the format `version`, run `step`, which returns the format it then has."""
        if self._identity()[:2] != (application_id, version):
            return
        with self.write() as db:
            if self._identity()[1] == version:  # no other process was faster
                db.execute(f"PRAGMA user_version = {step(db):d}")

    def check(self, application_id: int, version: int) -> None:
        """Raises IndexCorruptError for an empty or foreign file, FormatVersionError (found, expected)."""
        found_id, found, tables = self._identity()
        path = str(self.path)
        if not tables:
            raise IndexCorruptError(
                f"{path} is empty: its creation was interrupted. Run the index command again to finish it.",
                path=path,
            )
        if found_id != application_id:
            raise IndexCorruptError(
                f"{path} is a database of another program. Choose another folder for the index.", path=path
            )
        if found != version:
            raise FormatVersionError(
                f"{path} has format {found}, and this version of hippo-lit reads format {version}. "
                + (
                    "Index any paper into it once: that brings it up to date."
                    if found < version
                    else "Use the version that wrote it, or index the papers again into a new folder."
                ),
                path=path,
                found=found,
                expected=version,
            )

    def _identity(self) -> tuple[int, int, int]:
        """Application id, format version, number of tables: all zero for an empty file."""
        # One statement, so that all three are of one moment even while another process creates the file.
        application_id, version, tables = self.rows(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
            " FROM pragma_application_id, pragma_user_version"
        )[0]
        return application_id, version, tables

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The result of one query, whole."""
        with self._lock, self._reporting():
            return self._db.execute(sql, parameters).fetchall()

    def stream(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """The result of one query, row by row, as of the moment the first row is asked for.

        A connection of its own keeps that moment whatever is written meanwhile, here or elsewhere.
        """
        with self._lock, self._reporting():
            connection = self._connect()
        with closing(connection):
            cursor = connection.cursor()
            with self._reporting():
                cursor.execute(sql)
            while True:
                with self._reporting():
                    page = cursor.fetchmany(_PAGE_ROWS)
                if not page:
                    return
                yield from page

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction: committed when the block ends, undone when it raises."""
        with self._lock, self._reporting():
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SQLite itself rolls back on some errors
                    self._db.execute("ROLLBACK")
                raise

    def verify(self) -> None:
        """Check the file's structure and its constraints. Raises IndexCorruptError with what is wrong."""
        problems = [str(row[0]) for row in self.rows("PRAGMA integrity_check(5)")]
        if problems != ["ok"]:
            raise self.damaged("; ".join(problems))

    def vacuum(self) -> None:
        """Give the space of what was deleted back to the disk; all or nothing, whenever it is interrupted."""
        self.rows("VACUUM")
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def damaged(self, what: str) -> IndexCorruptError:
        return IndexCorruptError(
            f"{self.path} is damaged: {what}. Restore it from a copy; or remove it and index anew.",
            path=str(self.path),
        )

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _connect(self) -> sqlite3.Connection:
        # Threads take turns by the lock above, so that the module's own check is not needed.
        db = sqlite3.connect(
            self._uri, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            db.execute("PRAGMA synchronous = FULL")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the first real look at the file
        except BaseException:
            db.close()
            raise
        return db

    def _connect_to_read(self) -> sqlite3.Connection:
        """Without a right to write in the folder, SQLite cannot make the log's index, which readers share.

        Where there is no log either, nobody writes and the file is the whole truth: "immutable" says so.
        """
        try:
            return self._connect()
        except sqlite3.OperationalError as e:
            log = self.path.with_name(self.path.name + "-wal")
            if _code(e) not in _FORBIDDEN or not self.path.exists():
                raise
            if log.exists() and log.stat().st_size:
                raise StoreError(
                    f"{self.path} has a log of changes ({log.name}) that cannot be read without the right to "
                    "write in its folder. Copy the index to a folder of yours and open it there.",
                    path=str(self.path),
                ) from e
        self._uri += "&immutable=1"
        return self._connect()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as e:
            raise self._explained(e) from e

    def _explained(self, error: sqlite3.Error) -> StoreError:
        code, path = _code(error), str(self.path)
        if code in _DAMAGED or "decode to UTF-8" in str(error):
            return self.damaged(str(error))
        if code in _BUSY:
            return IndexLockedError(
                f"{path} is being written by another process. Wait until it has finished, then try again.",
                path=path,
                pid=None,
                host=None,
                since=None,
            )
        if code == sqlite3.SQLITE_FULL:
            return StoreError(f"cannot write {path}: the disk is full. {ADVICE_SPACE}", path=path)
        if code in _FORBIDDEN:
            return StoreError(f"cannot open or write {path}: {error}. {ADVICE_PERMISSION}", path=path)
        return StoreError(f"the database {path} failed: {error}. Check the disk and try again.", path=path)


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for errors of the Python module itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
