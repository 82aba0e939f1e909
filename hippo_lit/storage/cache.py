"""What was paid for or took long, kept on disk: model replies and vectors, by content."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hippo_lit.errors import StoreError
from hippo_lit.storage.cache_file import (
    BUSY,
    BUSY_S,
    DAMAGED,
    code_of,
    connect,
    digest_of,
    intact,
    wrong_reply,
    wrong_vector,
)


class Cache:
    """Replies and vectors in one SQLite file; safe for several threads and several processes.

    `path=None` keeps everything in memory. What was committed survives a power cut (WAL with
    synchronous=FULL). `on_write_error` decides what a read-only folder or a full disk means:

    - "raise" (indexing): StoreError, because work that was paid for would be lost;
    - "skip" (a query): the cache serves what it can read, `writable` turns False and `reason` says
      why; nothing is raised.

    With `read_only` the file is opened as it is, and never changed. A damaged file is a StoreError either
    way, one of another version a FormatVersionError. An entry that is not what was written counts as absent,
    so that it is made again rather than used.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        on_write_error: Literal["raise", "skip"] = "raise",
        read_only: bool = False,
    ) -> None:
        self.path = Path(path) if path is not None else None
        self.writable = True
        self.reason = ""
        self._skip = on_write_error == "skip"
        self._lock = threading.RLock()
        self._has_digests = True
        self._db = self._open(read_only)
        columns = self._read("SELECT name FROM pragma_table_info('vectors')", ())
        self._has_digests = ("digest",) in columns

    # -- replies

    def get_reply(self, key: str) -> str | None:
        """The JSON text stored under `key`, or None."""
        rows = self._read("SELECT reply, digest FROM replies WHERE key = ?", (key,))
        return str(rows[0][0]) if rows and intact(rows[0][1], key, rows[0][0]) else None

    def put_reply(self, key: str, reply: str) -> None:
        """Store JSON text under `key`, replacing what was there."""
        self.put_replies({key: reply})

    def put_replies(self, replies: Mapping[str, str]) -> None:
        """Store JSON texts by key, all in one transaction."""
        self._write(
            "INSERT OR REPLACE INTO replies (key, reply, digest) VALUES (?, ?, ?)",
            [(key, reply, digest_of(key, reply)) for key, reply in replies.items()],
        )

    def expect_reply(self) -> None:
        """Say whether a reply can be kept, before it is paid for; a disk that fills up meanwhile is not seen.

        Where the disk was full as a process opened the file, SQLite lets that process read it for good.
        """
        self._write("DELETE FROM replies WHERE FALSE", [()])

    def delete_reply(self, key: str) -> None:
        """Forget the reply under `key`, if there is one."""
        self._write("DELETE FROM replies WHERE key = ?", [(key,)])

    def forget_replies(self) -> int:
        """Forget all replies, which were paid for; returns how many there were."""
        count = int(self._read("SELECT count(*) FROM replies", ())[0][0])
        self._write("DELETE FROM replies", [()])
        return count

    # -- vectors

    def get_vectors(self, space: str, hashes: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The vectors of `hashes`, shape (len(hashes), dim), and a mask of which were found.

        Rows that were not found are zero; dim is 0 where none was found.
        """
        query = (
            "SELECT text_hash, vector, digest FROM vectors"
            " WHERE space = ? AND text_hash IN (SELECT value FROM json_each(?))"
        )
        rows = self._read(query, (space, json.dumps(list(hashes))))
        stored = {
            text_hash: blob for text_hash, blob, digest in rows if intact(digest, space, text_hash, blob)
        }
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
            "INSERT OR REPLACE INTO vectors (space, text_hash, vector, digest) VALUES (?, ?, ?, ?)",
            (
                (space, h, blob := row.tobytes(), digest_of(space, h, blob))
                for h, row in zip(hashes, rows, strict=True)
            ),
        )

    def keep_vectors(self, needed: Iterable[tuple[str, str]]) -> int:
        """Forget all vectors but those of these (space, text hash); returns how many went."""
        with self._lock:
            self._write("CREATE TEMP TABLE IF NOT EXISTS kept (space TEXT, text_hash TEXT)", [()])
            self._write("DELETE FROM temp.kept", [()])
            self._write("INSERT INTO temp.kept VALUES (?, ?)", needed)
            before = int(self._read("SELECT count(*) FROM vectors", ())[0][0])
            self._write(
                "DELETE FROM vectors WHERE (space, text_hash) NOT IN"
                " (SELECT space, text_hash FROM temp.kept)",
                [()],
            )
            return before - int(self._read("SELECT count(*) FROM vectors", ())[0][0])

    # -- life cycle

    def verify(self) -> list[str]:
        """What is wrong with the file: one line a kind, none where all is well. Reads everything."""
        problems = [str(row[0]) for row in self._read("PRAGMA integrity_check(5)", ())]
        found = Counter("" if problem == "ok" else f"the database: {problem}" for problem in problems)
        for key, reply, digest in self._stream("SELECT key, reply, digest FROM replies"):
            found[wrong_reply(key, reply, digest)] += 1
        for row in self._stream("SELECT space, text_hash, vector, digest FROM vectors"):
            found[wrong_vector(*row)] += 1
        return [f"{problem} ({count:,})" for problem, count in sorted(found.items()) if problem]

    def vacuum(self) -> None:
        """Give the space of what was forgotten back to the disk; all or nothing, if it is interrupted."""
        self._read("VACUUM", ())
        self._read("PRAGMA wal_checkpoint(TRUNCATE)", ())

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

    def _open(self, read_only: bool) -> sqlite3.Connection:
        if self.path is None:
            return connect(":memory:", None)
        if read_only:
            self.writable = False
            self.reason = f"the cache {self.path} was opened read-only"
            return self._open_to_read(self.path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return connect(f"{self.path.resolve().as_uri()}?mode=rwc", self.path)
        except (OSError, sqlite3.DatabaseError) as error:
            self._refuse(error)
        return self._open_to_read(self.path)

    def _open_to_read(self, path: Path) -> sqlite3.Connection:
        # A WAL database needs its -shm file even to be read. Where that can be neither found nor made,
        # nobody is writing, and the file alone is the whole truth ("immutable").
        for mode in ("ro", "ro&immutable=1"):
            try:
                return connect(f"{path.resolve().as_uri()}?mode={mode}", path)
            except sqlite3.DatabaseError as error:
                if code_of(error) in DAMAGED:
                    raise self._damaged(str(error)) from error
        if not self._skip:
            raise StoreError(f"Cannot read the cache {path}. Check that this account may.", path=str(path))
        return connect(":memory:", None)

    def _read(self, sql: str, values: tuple[str, ...]) -> list[Any]:
        with self._lock:
            try:
                return self._db.execute(self._fitting(sql), values).fetchall()
            except sqlite3.DatabaseError as error:
                if code_of(error) in DAMAGED:
                    raise self._damaged(str(error)) from error
                raise StoreError(
                    f"Cannot read the cache {self.path}: {error}.", path=str(self.path)
                ) from error

    def _stream(self, sql: str) -> Iterator[tuple[Any, ...]]:
        with self._lock:
            try:
                yield from self._db.execute(self._fitting(sql))
            except sqlite3.DatabaseError as error:
                raise self._damaged(str(error)) from error

    def _fitting(self, sql: str) -> str:
        return sql if self._has_digests else sql.replace(", digest FROM", ", NULL FROM")

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
        if code_of(error) in DAMAGED:
            raise self._damaged(str(error)) from error
        if code_of(error) in BUSY:
            if not self._skip:
                raise StoreError(
                    f"Another process kept the cache {self.path} locked for {BUSY_S:.0f} s. Try again when"
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
