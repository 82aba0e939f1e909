"""What was paid for or took long, kept on disk: model replies and vectors, by content."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hippo_lit.errors import FormatVersionError, StoreError

_VERSION = 1
_BUSY_S = 10.0
_TABLES = (
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS vectors (space TEXT NOT NULL, text_hash TEXT NOT NULL,"
    " vector BLOB NOT NULL, PRIMARY KEY (space, text_hash))",
)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Cache:
    """Replies and vectors in one SQLite file; safe for several threads and several processes.

    `path=None` keeps everything in memory. What was committed survives a power cut (WAL with
    synchronous=FULL). `on_write_error` decides what a read-only folder or a full disk means:

    - "raise" (indexing): StoreError, because work that was paid for would be lost;
    - "skip" (a query): the cache serves what it can read, `writable` turns False and `reason` says
      why; nothing is raised.

    A damaged file is a StoreError either way, one of another version a FormatVersionError.
    """

    def __init__(
        self, path: str | Path | None = None, *, on_write_error: Literal["raise", "skip"] = "raise"
    ) -> None:
        self.path = Path(path) if path is not None else None
        self.writable = True
        self.reason = ""
        self._skip = on_write_error == "skip"
        self._lock = threading.RLock()
        self._db = self._open()

    # -- replies

    def get_reply(self, key: str) -> str | None:
        """The JSON text stored under `key`, or None."""
        rows = self._read("SELECT reply FROM replies WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def put_reply(self, key: str, reply: str) -> None:
        """Store JSON text under `key`, replacing what was there."""
        self.put_replies({key: reply})

    def put_replies(self, replies: Mapping[str, str]) -> None:
        """Store JSON texts by key, all in one transaction."""
        self._write("INSERT OR REPLACE INTO replies VALUES (?, ?)", replies.items())

    def delete_reply(self, key: str) -> None:
        """Forget the reply under `key`, if there is one."""
        self._write("DELETE FROM replies WHERE key = ?", [(key,)])

    # -- vectors

    def get_vectors(self, space: str, hashes: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The vectors of `hashes`, shape (len(hashes), dim), and a mask of which were found.

        Rows that were not found are zero; dim is 0 where none was found.
        """
        query = (
            "SELECT text_hash, vector FROM vectors"
            " WHERE space = ? AND text_hash IN (SELECT value FROM json_each(?))"
        )
        stored = dict(self._read(query, (space, json.dumps(list(hashes)))))
        lengths = {len(blob) for blob in stored.values()}
        if len(lengths) > 1 or any(length % 4 for length in lengths):
            raise self._damaged(f"it holds vectors of different lengths for {space!r}")
        found = np.array([h in stored for h in hashes], dtype=np.bool_)
        matrix = np.zeros((len(hashes), lengths.pop() // 4 if lengths else 0), dtype=np.float32)
        for row, text_hash in enumerate(hashes):
            if found[row]:
                matrix[row] = np.frombuffer(stored[text_hash], dtype="<f4")
        return matrix, found

    def put_vectors(self, space: str, hashes: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Store `vectors[i]` under `hashes[i]`, all in one transaction."""
        if len(hashes) != len(vectors):
            raise ValueError(f"{len(hashes)} hashes for {len(vectors)} vectors")
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        self._write(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
            [(space, h, row.tobytes()) for h, row in zip(hashes, rows, strict=True)],
        )

    # -- life cycle

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Cache({str(self.path) if self.path else None!r}, writable={self.writable})"

    # -- inside

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return _connect(":memory:", None)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return _connect(f"{self.path.resolve().as_uri()}?mode=rwc", self.path)
        except (OSError, sqlite3.DatabaseError) as error:
            self._refuse(error)
        return self._open_to_read(self.path)

    def _open_to_read(self, path: Path) -> sqlite3.Connection:
        # A WAL database needs its -shm file even to be read. Where that can be neither found nor made,
        # nobody is writing, and the file alone is the whole truth ("immutable").
        for mode in ("ro", "ro&immutable=1"):
            try:
                return _connect(f"{path.resolve().as_uri()}?mode={mode}", path)
            except sqlite3.DatabaseError as error:
                if _code(error) in _DAMAGED:
                    raise self._damaged(str(error)) from error
        return _connect(":memory:", None)

    def _read(self, sql: str, values: tuple[str, ...]) -> list[Any]:
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except sqlite3.DatabaseError as error:
                if _code(error) in _DAMAGED:
                    raise self._damaged(str(error)) from error
                raise StoreError(
                    f"Cannot read the cache {self.path}: {error}.", path=str(self.path)
                ) from error

    def _write(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        with self._lock:
            if not self.writable:
                return
            try:
                with self._db:  # one transaction: commits, or rolls back on an error
                    self._db.executemany(sql, rows)
            except sqlite3.ProgrammingError:  # a bug of the caller's, not a state of the file
                raise
            except sqlite3.DatabaseError as error:
                self._refuse(error)

    def _refuse(self, error: OSError | sqlite3.DatabaseError) -> None:
        """Raise what a failed write means, or note it where that is allowed."""
        if _code(error) in _DAMAGED:
            raise self._damaged(str(error)) from error
        if _code(error) in _BUSY:
            if not self._skip:
                raise StoreError(
                    f"Another process kept the cache {self.path} locked for {_BUSY_S:.0f} s. Try again when"
                    " it is done.",
                    path=str(self.path),
                ) from error
            return
        if not self._skip:
            raise StoreError(
                f"Cannot write to the cache {self.path}: {error}. Free some space, or choose a folder that"
                " can be written.",
                path=str(self.path),
            ) from error
        self.writable = False
        self.reason = f"the cache {self.path} cannot be written: {error}"

    def _damaged(self, why: str) -> StoreError:
        return StoreError(
            f"The cache {self.path} is damaged ({why}). Delete that file: it only saves work and model"
            " calls that will be done again.",
            path=str(self.path),
        )


def _code(error: Exception) -> int:
    """The primary SQLite result code; extended ones carry it in their low byte."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _connect(uri: str, path: Path | None) -> sqlite3.Connection:
    db = sqlite3.connect(uri, uri=True, timeout=_BUSY_S, check_same_thread=False)
    try:
        _prepare(db, path, create="mode=ro&" not in f"{uri}&")
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path | None, *, create: bool) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _VERSION):
        raise FormatVersionError(
            f"The cache {path} has format {version}; here {_VERSION} is read. Delete it, or move it away.",
            path=str(path),
            found=version,
            expected=_VERSION,
        )
    if version == 0 and create:
        foreign = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name NOT IN ('replies', 'vectors')"
        if db.execute(foreign).fetchone():
            raise StoreError(
                f"{path} is a database, but not a hippo-lit cache. Choose another file.", path=str(path)
            )
        _use_wal(db)
        with db:
            db.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                db.execute(table)
            db.execute(f"PRAGMA user_version = {_VERSION}")
    db.execute("PRAGMA synchronous = FULL")


def _use_wal(db: sqlite3.Connection) -> None:
    # Switching to WAL takes an exclusive lock for which SQLite does not use the busy timeout, so two
    # processes that create the file together must try again themselves.
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
