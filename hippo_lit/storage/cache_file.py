"""The file behind `cache`: its format, opening it, and telling a whole entry from a damaged one."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from hippo_lit.errors import FormatVersionError, StoreError

_VERSION = 2
_READ = (0, 1, _VERSION)  # format 1 had no digests; it gets them when it is opened to be written
BUSY_S = 10.0
_TABLES = (
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL, digest BLOB)",
    "CREATE TABLE IF NOT EXISTS vectors (space TEXT NOT NULL, text_hash TEXT NOT NULL,"
    " vector BLOB NOT NULL, digest BLOB, PRIMARY KEY (space, text_hash))",
)
_ADD_DIGESTS = (
    "ALTER TABLE replies ADD COLUMN digest BLOB",
    "ALTER TABLE vectors ADD COLUMN digest BLOB",
)
_UNIT = 1e-3  # how far a kept vector's length may be from 1
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def digest_of(*parts: str | bytes) -> bytes:
    """Of the key and the value together; 8 bytes, since it is to find accidents, not attackers."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def intact(digest: object, *parts: object) -> bool:
    """Whether an entry is what was written; what an earlier version wrote has no digest and is trusted."""
    known = [part for part in parts if isinstance(part, str | bytes)]
    return digest is None or (len(known) == len(parts) and digest == digest_of(*known))


def wrong_reply(key: object, reply: object, digest: object) -> str:
    if not intact(digest, key, reply):
        return "replies that are not what was written"
    try:
        json.loads(str(reply))
    except (ValueError, RecursionError):
        return "replies that are not JSON"
    return ""


def wrong_vector(space: object, text_hash: object, vector: object, digest: object) -> str:
    if not intact(digest, space, text_hash, vector):
        return "vectors that are not what was written"
    if not isinstance(vector, bytes) or len(vector) % 4:
        return "vectors that are none"
    length = float(np.linalg.norm(np.frombuffer(vector, dtype="<f4").astype(np.float64)))
    # Not `>`: a comparison with NaN is False.
    return "" if abs(length - 1) <= _UNIT or length == 0 else "vectors that are not of length 1"


def code_of(error: Exception) -> int:
    """The primary SQLite result code; extended ones carry it in their low byte."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def connect(uri: str, path: Path | None) -> sqlite3.Connection:
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_S, check_same_thread=False)
    try:
        _prepare(db, path, create="mode=ro&" not in f"{uri}&")
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path | None, *, create: bool) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in _READ:
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
        _change(db, version, _TABLES)
    if version == 1 and create:
        _change(db, version, _ADD_DIGESTS)
    db.execute("PRAGMA synchronous = FULL")


def _change(db: sqlite3.Connection, version: int, statements: Iterable[str]) -> None:
    """From `version` to the present one, in one step; nothing where another process was faster."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] == version:
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {_VERSION}")


def _use_wal(db: sqlite3.Connection) -> None:
    # Switching to WAL takes an exclusive lock for which SQLite does not use the busy timeout, so two
    # processes that create the file together must try again themselves.
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if code_of(error) not in BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
