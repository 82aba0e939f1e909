"""The durable truth: what every source said of every paper, and what was extracted from their texts.

Everything else of an index (BM25, graphs, matrices) is derived from this file and can be built again;
vectors and model replies are kept by `cache`.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import TracebackType

from hippo_lit.errors import DataError, IndexNotFoundError
from hippo_lit.merge import merge_papers
from hippo_lit.storage.database import Database
from hippo_lit.storage.disk import reporting
from hippo_lit.storage.payload import (
    extraction_from_json,
    extraction_to_json,
    is_unicode,
    paper_from_json,
    paper_to_json,
)
from hippo_lit.text import clean, content_hash
from hippo_lit.types import Extraction, Paper

STORE_FILE = "store.db"
FORMAT_VERSION = 1
_APPLICATION_ID = 0x48694C69  # "HiLi"
_REASON_CHARS = 500
_SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    """CREATE TABLE records (
        paper_id TEXT NOT NULL, source TEXT NOT NULL, payload TEXT NOT NULL, digest TEXT NOT NULL,
        updated REAL NOT NULL,  -- seconds since 1970
        PRIMARY KEY (paper_id, source))""",
    """CREATE TABLE extractions (
        extractor TEXT NOT NULL, text_hash TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('ok', 'failed')), payload TEXT,
        reason TEXT NOT NULL, attempts INTEGER NOT NULL,
        PRIMARY KEY (extractor, text_hash),
        CHECK ((status = 'ok') = (payload IS NOT NULL)))""",
    "INSERT INTO meta VALUES ('generation', 0)",
)
_PUT_OK = """INSERT INTO extractions VALUES (?, ?, 'ok', ?, '', 1) ON CONFLICT DO UPDATE
    SET status = 'ok', payload = excluded.payload, reason = '', attempts = attempts + 1"""
# What is known is never lost to a later failure.
_PUT_FAILED = """INSERT INTO extractions VALUES (?, ?, 'failed', NULL, ?, 1) ON CONFLICT DO UPDATE
    SET reason = excluded.reason, attempts = attempts + 1 WHERE status = 'failed'"""


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the papers of a batch.

    `added`: the id was new. `changed`: the id was known, the source was new or said something else.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.added + other.added, self.changed + other.changed, self.unchanged + other.unchanged
        )


class Store:
    """Papers and extractions of the index in `folder`; made by `Store.open`.

    Each writing method is one transaction: a crash at any instant leaves all of it or none. Any of them
    may raise StoreError (disk full, read-only); reading may raise IndexCorruptError. The store itself
    admits writers one after the other; hold a WriterLock over a run that writes more than once.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    @classmethod
    def open(cls, folder: Path | str, *, create: bool = False, read_only: bool = False) -> Store:
        """Open the store in `folder`, making both first where `create` is set and they are absent.

        `read_only` also works without any right to write in the folder; where nobody was writing when it
        was opened, it then shows the papers of that moment, and must be closed before anybody writes.
        Raises IndexNotFoundError, FormatVersionError (found, expected), IndexCorruptError, StoreError.
        """
        if create and read_only:
            raise ValueError("a store cannot be created read-only")
        path = Path(folder, STORE_FILE)
        with reporting("open the index at", Path(folder)):
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            elif not path.is_file():
                raise IndexNotFoundError(
                    f"there is no index at {folder}. Check the path, or make one with the index command.",
                    path=str(folder),
                )
        database = Database(path, "ro" if read_only else "rwc" if create else "rw")
        try:
            if create:
                database.create(_APPLICATION_ID, FORMAT_VERSION, _SCHEMA)
            database.check(_APPLICATION_ID, FORMAT_VERSION)
        except BaseException:
            database.close()
            raise
        return cls(database)

    # Papers

    @property
    def generation(self) -> int:
        """Grows with every committed change of papers; stays when nothing changed."""
        rows = self._db.rows("SELECT value FROM meta WHERE key = 'generation'")
        if not rows or not isinstance(rows[0][0], int):
            raise self._db.damaged("its generation is missing")
        return rows[0][0]

    def put_papers(self, papers: Iterable[Paper], *, replace: bool = False) -> Counts:
        """Keep what `papers` say, one record per (id, source); a later record replaces an earlier one.

        With `replace`, records of other sources of the same ids go: the paper is then exactly what is
        given here. Raises DataError (record, field) for one that could not be read back.
        """
        rows = [_record(paper) for paper in papers]
        given: dict[str, set[str]] = {}
        for paper_id, source, _ in rows:
            given.setdefault(paper_id, set()).add(source)
        added = changed = unchanged = 0
        with self._changing_papers() as db:
            for paper_id, source, payload in rows:
                found = db.execute("SELECT source, digest FROM records WHERE paper_id = ?", (paper_id,))
                known, digest = dict(found), content_hash(payload)
                others = known.keys() - given[paper_id] if replace else ()
                for other in others:
                    db.execute("DELETE FROM records WHERE paper_id = ? AND source = ?", (paper_id, other))
                if known.get(source) != digest:
                    row = (paper_id, source, payload, digest, time.time())
                    db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)", row)
                elif not others:
                    unchanged += 1
                    continue
                added, changed = added + (not known), changed + bool(known)
        return Counts(added, changed, unchanged)

    def delete(self, ids: Iterable[str], *, source: str | None = None) -> int:
        """Forget papers, or only what `source` said of them; returns how many papers that touched.

        Unknown ids are passed over. Extractions stay: they belong to texts, not to papers.
        """
        sql = "DELETE FROM records WHERE paper_id = ?1 AND (?2 IS NULL OR source = ?2)"
        given = [paper_id for paper_id in ids if is_unicode(paper_id)]
        with self._changing_papers() as db:
            return sum(db.execute(sql, (paper_id, source)).rowcount > 0 for paper_id in given)

    def sources(self, paper_id: str) -> list[str]:
        """Who gave what is known of a paper, ascending; empty for an unknown id."""
        if not is_unicode(paper_id):
            return []
        sql = "SELECT source FROM records WHERE paper_id = ? ORDER BY source"
        return [str(source) for (source,) in self._db.rows(sql, (paper_id,))]

    def papers(self) -> Iterator[Paper]:
        """Every paper, merged from its sources, by ascending id; as of the first one asked for."""
        rows = self._db.stream("SELECT paper_id, payload, digest FROM records ORDER BY paper_id, source")
        for _, group in groupby(rows, key=lambda row: row[0]):
            yield merge_papers([self._paper(*row) for row in group])

    def paper(self, paper_id: str) -> Paper | None:
        """One paper, merged from its sources."""
        versions = self.versions(paper_id)
        return merge_papers(versions) if versions else None

    def versions(self, paper_id: str) -> list[Paper]:
        """What each source gave for a paper, by ascending source; empty for an unknown id."""
        if not is_unicode(paper_id):
            return []
        sql = "SELECT paper_id, payload, digest FROM records WHERE paper_id = ? ORDER BY source"
        return [self._paper(*row) for row in self._db.rows(sql, (paper_id,))]

    def fingerprints(self) -> Iterator[tuple[str, str]]:
        """(id, hash of all its records) by ascending id: tells what changed without reading papers."""
        rows = self._db.stream("SELECT paper_id, digest FROM records ORDER BY paper_id, source")
        for paper_id, group in groupby(rows, key=lambda row: row[0]):
            yield paper_id, content_hash(*(digest for _, digest in group))

    def __len__(self) -> int:
        return int(self._db.rows("SELECT count(DISTINCT paper_id) FROM records")[0][0])

    # Extractions

    def extractions(self, extractor: str, hashes: Iterable[str]) -> dict[str, Extraction]:
        """What `extractor` found in the texts with these hashes; texts not done, or failed, are absent."""
        rows = self._db.rows(
            "SELECT text_hash, payload FROM extractions WHERE extractor = ? AND status = 'ok'"
            " AND text_hash IN (SELECT value FROM json_each(?))",
            (extractor, json.dumps(list(hashes))),
        )
        return {text_hash: self._extraction(text_hash, payload) for text_hash, payload in rows}

    def put_extractions(self, extractor: str, items: Iterable[tuple[str, Extraction | Exception]]) -> None:
        """Keep outcomes by text hash: what was found, or the error that prevented it.

        Raises DataError for an extraction that could not be read back.
        """
        done, failed = [], []
        for text_hash, outcome in items:
            if isinstance(outcome, Exception):
                reason = clean(f"{type(outcome).__name__}: {outcome}")[:_REASON_CHARS]
                failed.append((extractor, text_hash, reason))
                continue
            try:
                done.append((extractor, text_hash, extraction_to_json(outcome)))
            except ValueError as e:
                raise DataError(f"the extraction of text {text_hash} cannot be stored: {e}", path=None) from e
        with self._db.write() as db:
            db.executemany(_PUT_FAILED, failed)
            db.executemany(_PUT_OK, done)

    def failures(self, extractor: str) -> list[tuple[str, str, int]]:
        """(text hash, reason of the last attempt, attempts) of each text that failed, by hash."""
        sql = """SELECT text_hash, reason, attempts FROM extractions
            WHERE extractor = ? AND status = 'failed' ORDER BY text_hash"""
        return [(str(h), str(reason), int(n)) for h, reason, n in self._db.rows(sql, (extractor,))]

    # Life cycle

    def verify(self) -> None:
        """Read everything and check it. Raises IndexCorruptError with what is wrong."""
        problems = [str(row[0]) for row in self._db.rows("PRAGMA integrity_check(5)")]
        if problems != ["ok"]:
            raise self._db.damaged("; ".join(problems))
        for _ in self.papers():
            pass
        for text_hash, payload in self._db.stream(
            "SELECT text_hash, payload FROM extractions WHERE status = 'ok'"
        ):
            self._extraction(text_hash, payload)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Inside

    @contextmanager
    def _changing_papers(self) -> Iterator[sqlite3.Connection]:
        with self._db.write() as db:
            before = db.total_changes
            yield db
            if db.total_changes != before:
                db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")

    def _paper(self, paper_id: str, payload: str, digest: str) -> Paper:
        try:
            paper = paper_from_json(payload)
        except ValueError as e:
            raise self._db.damaged(f"the record of paper {paper_id!r} cannot be read: {e}") from e
        if paper.id != paper_id or content_hash(payload) != digest:
            raise self._db.damaged(f"the record of paper {paper_id!r} is not what was stored")
        return paper

    def _extraction(self, text_hash: str, payload: str) -> Extraction:
        try:
            return extraction_from_json(payload)
        except ValueError as e:
            raise self._db.damaged(f"the extraction of text {text_hash!r} cannot be read: {e}") from e


def _record(paper: Paper) -> tuple[str, str, str]:
    try:
        payload = paper_to_json(paper)
    except ValueError as e:
        raise DataError(f"paper {paper.id!r} cannot be stored: {e}", record=str(paper.id), field="") from e
    if not paper.id or not is_unicode(paper.id) or not is_unicode(paper.source):
        raise DataError(
            f"paper {paper.id!r} from {paper.source!r} cannot be stored: an id is a non-empty text, and id "
            "and source hold no lone surrogates. Clean them with hippo_lit.text.clean first.",
            record=paper.id,
            field="id",
        )
    return paper.id, paper.source, payload
