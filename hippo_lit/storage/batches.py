"""The ledger of batch jobs: what was handed to a provider and is not answered yet, safe from any crash.

A request goes by the key of its reply in the cache: a hash of the model, its parameters and the whole text
asked about. So the ledger says for each text where its answer will come from, and for an answer where it
belongs. A job passes these states, each committed before the next step is taken::

    prepared    its requests are noted; nothing was sent, or only a file that costs nothing
    uploaded    the provider has its file under `file_id`; whether a job was made of it, the provider knows
    submitted   the provider's job is `batch_id`
    collected   all answers are in the cache
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hippo_lit.storage.database import Database

LEDGER = "batches.db"
_VERSION = 1
_APPLICATION_ID = 0x48694C62  # "HiLb"
_SCHEMA = (
    """CREATE TABLE jobs (
        token TEXT PRIMARY KEY, server TEXT NOT NULL, state TEXT NOT NULL
            CHECK (state IN ('prepared', 'uploaded', 'submitted', 'collected')),
        file_id TEXT, batch_id TEXT, requests INTEGER NOT NULL,
        created REAL NOT NULL)  -- seconds since 1970""",
    """CREATE TABLE requests (
        key TEXT NOT NULL, token TEXT NOT NULL REFERENCES jobs, PRIMARY KEY (token, key))""",
    "CREATE TABLE cut_off (key TEXT PRIMARY KEY)",
)
# Also the jobs that are missing: all but those collected have just the requests that they say.
_MISCOUNTED = """
    SELECT token FROM jobs NATURAL LEFT JOIN (SELECT token, count(*) AS found FROM requests GROUP BY token)
        WHERE ifnull(found, 0) != iif(state = 'collected', 0, requests)
    UNION SELECT token FROM requests WHERE token NOT IN (SELECT token FROM jobs)"""


@dataclass(frozen=True, slots=True)
class Job:
    """A job that is not collected. `created` in seconds since 1970; ids are "" as long as there are none."""

    token: str
    state: str
    file_id: str
    batch_id: str
    requests: int
    created: float


class BatchLedger:
    """The ledger in the index `folder`, made if absent. Each writing method is one transaction.

    Hold a WriterLock: two processes that submit at the same time could submit the same. Raises StoreError.
    """

    def __init__(self, folder: Path) -> None:
        self._db = Database(folder / LEDGER, "rwc")
        try:
            self._db.create(_APPLICATION_ID, _VERSION, _SCHEMA)
            self._db.check(_APPLICATION_ID, _VERSION)
        except BaseException:
            self._db.close()
            raise

    def jobs(self, server: str) -> list[Job]:
        """The jobs at `server` that are not collected, in the order they were made."""
        rows = self._db.rows(
            "SELECT token, state, ifnull(file_id, ''), ifnull(batch_id, ''), requests, created FROM jobs"
            " WHERE server = ? AND state != 'collected' ORDER BY created, token",
            (server,),
        )
        return [Job(*row) for row in rows]

    def keys(self, token: str) -> set[str]:
        """The requests of a job."""
        return {str(row[0]) for row in self._db.rows("SELECT key FROM requests WHERE token = ?", (token,))}

    def cut_off(self) -> set[str]:
        """Requests whose reply broke off; they are asked again in smaller pieces."""
        return {str(row[0]) for row in self._db.rows("SELECT key FROM cut_off")}

    def prepare(self, token: str, server: str, keys: Iterable[str]) -> None:
        """Note a job before anything of it leaves this machine."""
        rows = [(key, token) for key in keys]
        with self._db.write() as db:
            job = (token, server, len(rows), time.time())
            db.execute("INSERT INTO jobs VALUES (?, ?, 'prepared', NULL, NULL, ?, ?)", job)
            db.executemany("INSERT INTO requests VALUES (?, ?)", rows)

    def uploaded(self, token: str, file_id: str) -> None:
        with self._db.write() as db:
            db.execute("UPDATE jobs SET state = 'uploaded', file_id = ? WHERE token = ?", (file_id, token))

    def submitted(self, token: str, batch_id: str) -> None:
        with self._db.write() as db:
            db.execute("UPDATE jobs SET state = 'submitted', batch_id = ? WHERE token = ?", (batch_id, token))

    def collected(self, token: str, cut_off: Iterable[str] = ()) -> None:
        """The job is done with: its answers are kept, and what has none may be asked again."""
        with self._db.write() as db:
            db.executemany("INSERT OR IGNORE INTO cut_off VALUES (?)", [(key,) for key in cut_off])
            db.execute("DELETE FROM requests WHERE token = ?", (token,))
            db.execute("UPDATE jobs SET state = 'collected' WHERE token = ?", (token,))

    def withdraw(self, token: str) -> None:
        """Forget a job that was never submitted."""
        with self._db.write() as db:
            db.execute("DELETE FROM requests WHERE token = ?", (token,))
            db.execute("DELETE FROM jobs WHERE token = ?", (token,))

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> BatchLedger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def awaited(folder: Path, *, verify: bool = False) -> frozenset[str]:
    """The requests of all jobs that are out, at any server; none where there is no ledger.

    With `verify`, the whole file is examined. Raises IndexCorruptError, FormatVersionError, StoreError.
    """
    if not (folder / LEDGER).is_file():
        return frozenset()
    with closing(Database(folder / LEDGER, "ro")) as db:
        db.check(_APPLICATION_ID, _VERSION)
        if verify:
            db.verify()
            if db.rows(_MISCOUNTED):
                raise db.damaged("a job has not the requests that were noted for it")
        return frozenset(str(row[0]) for row in db.rows("SELECT key FROM requests"))
