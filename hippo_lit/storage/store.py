"""The durable truth: what every source said of every paper, and what was extracted from their texts.

Everything else of an index (BM25, graphs, matrices) is derived from this file and can be built again;
vectors and model replies are kept by `cache`.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import TracebackType

from hippo_lit.errors import DataError, IndexNotFoundError, StoreError
from hippo_lit.merge import merge_papers
from hippo_lit.storage.database import Database
from hippo_lit.storage.disk import reporting
from hippo_lit.storage.links import count_papers, link_all, other_ids, relink, resolve, rivals, wrong_links
from hippo_lit.storage.payload import (
    checked_json,
    extraction_from_json,
    extraction_to_json,
    is_unicode,
    paper_from_json,
)
from hippo_lit.storage.schema import (
    APPLICATION_ID,
    DELETE_RECORDS,
    EXTRACTED,
    FAILED,
    FORMAT_VERSION,
    KEEP_EXTRACTIONS,
    KNOWN_RECORDS,
    PUT_FAILED,
    PUT_OK,
    PUT_RECORD,
    SCHEMA,
)
from hippo_lit.text import clean, content_hash
from hippo_lit.types import Counts, Extraction, Paper

STORE_FILE = "store.db"
_REASON_CHARS = 500


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
        if Path(folder).is_file():
            raise StoreError(f"{folder} is a file: name a folder", path=str(folder))
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
                database.create(APPLICATION_ID, FORMAT_VERSION, SCHEMA)
            store = cls(database)
            if not read_only:
                database.upgrade(APPLICATION_ID, 1, store._upgrade)
            database.check(APPLICATION_ID, FORMAT_VERSION)
        except BaseException:
            database.close()
            raise
        return store

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

        With `replace`, other records of the same papers go, whatever ids they came under: a paper is then
        exactly what is given here. Raises DataError (record, field) for one that could not be read back.
        """
        rows = [(paper.id, paper.source, checked_json(paper)) for paper in papers]
        given: dict[str, set[str]] = {}
        for paper_id, source, _ in rows:
            given.setdefault(paper_id, set()).add(source)
        new, touched = set(), set()
        changed = unchanged = 0
        with self._changing_papers() as db:
            aliases = other_ids(self._db.rows, {row[0] for row in rows}) if replace else {}
            for paper_id, source, payload in rows:
                digest = content_hash(payload)
                known = dict(db.execute(KNOWN_RECORDS, (paper_id, digest, payload)))
                gone = aliases.pop(paper_id, set())
                db.executemany("DELETE FROM records WHERE paper_id = ?", ((other,) for other in gone))
                others = known.keys() - given[paper_id] if replace else ()
                for other in others:
                    db.execute("DELETE FROM records WHERE paper_id = ? AND source = ?", (paper_id, other))
                if not known.get(source):
                    db.execute(PUT_RECORD, (paper_id, source, payload, digest, time.time()))
                elif not others and not gone:
                    unchanged += 1
                    continue
                touched |= {paper_id, *gone}
                if known or gone:
                    changed += 1
                else:
                    new.add(paper_id)
            relink(db, touched, self._paper)
            added = count_papers(self._db.rows, new)
        return Counts(added, changed + len(new) - added, unchanged)

    def delete(self, ids: Iterable[str], *, source: str | Collection[str] | None = None) -> int:
        """Forget papers, or only what `source` (one, or several) said of them; returns how many that touched.

        Any name of a paper will do (`resolve`). What only that source's record had joined comes apart.
        Unknown ids are passed over. Extractions stay: they belong to texts, not to papers.
        """
        named = list(ids)
        sources = [source] if source is None or isinstance(source, str) else sorted(source)
        with self._changing_papers() as db:
            merged = {found for name in named if (found := self.resolve(name)) is not None}
            gone: set[str] = set()
            touched = 0
            for merged_id in merged:
                rows = (row for one in sources for row in db.execute(DELETE_RECORDS, (merged_id, one)))
                removed = {row[0] for row in rows}
                gone |= removed
                touched += bool(removed)
            relink(db, gone, self._paper)
            return touched

    def all_sources(self) -> list[str]:
        """Every source of a record, ascending."""
        return [row[0] for row in self._db.rows("SELECT DISTINCT source FROM records ORDER BY source")]

    def ids_from(self, sources: Iterable[str]) -> list[str]:
        """The papers of which one of these sources says something, by ascending id."""
        sql = "SELECT DISTINCT merged_id FROM records WHERE source = ?"
        return sorted({row[0] for source in sources for row in self._db.rows(sql, (source,))})

    def sources(self, name: str) -> list[str]:
        """Who gave what is known of a paper, ascending, each once; empty for an unknown name."""
        return list(dict.fromkeys(view.source for view in self.versions(name)))

    def papers(self) -> Iterator[Paper]:
        """Every paper, merged from all its records, by ascending id; as of the first one asked for."""
        sql = "SELECT merged_id, paper_id, payload, digest FROM records ORDER BY merged_id, paper_id, source"
        rows = self._db.stream(sql)
        for merged_id, group in groupby(rows, key=lambda row: row[0]):
            yield self._merged(merged_id, [self._paper(*row[1:]) for row in group])

    def paper(self, name: str) -> Paper | None:
        """One paper, merged from all its records, by any of its names."""
        versions = self.versions(name)
        return merge_papers(versions) if versions else None

    def versions(self, name: str) -> list[Paper]:
        """What each source gave for a paper, by ascending source; empty for an unknown name."""
        merged_id = self.resolve(name)
        if merged_id is None:
            return []
        sql = "SELECT paper_id, payload, digest FROM records WHERE merged_id = ? ORDER BY source, paper_id"
        return [self._paper(*row) for row in self._db.rows(sql, (merged_id,))]

    def resolve(self, name: str) -> str | None:
        """The id of the paper that `name` means: an id it came under, or an identifier in any form."""
        return resolve(self._db.rows, name, self._paper) if is_unicode(name) else None

    def kept_apart(self, name: str) -> list[tuple[str, str, str]]:
        """Papers that share an identifier with this one and yet are others: (identifier, id, why)."""
        merged_id = self.resolve(name)
        return [] if merged_id is None else rivals(self._db.rows, merged_id, self._paper)

    def fingerprints(self) -> Iterator[tuple[str, str]]:
        """(id, hash of all its records) by ascending id: tells what changed without reading papers."""
        rows = self._db.stream("SELECT merged_id, digest FROM records ORDER BY merged_id, paper_id, source")
        for merged_id, group in groupby(rows, key=lambda row: row[0]):
            yield merged_id, content_hash(*(digest for _, digest in group))

    def __len__(self) -> int:
        return int(self._db.rows("SELECT count(DISTINCT merged_id) FROM records")[0][0])

    # Extractions

    def extractions(self, extractor: str, hashes: Iterable[str]) -> dict[str, Extraction]:
        """What `extractor` found in the texts with these hashes; texts not done, or failed, are absent."""
        rows = self._db.rows(EXTRACTED, (extractor, json.dumps(list(hashes))))
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
            db.executemany(PUT_FAILED, failed)
            db.executemany(PUT_OK, done)

    def failures(self, extractor: str) -> list[tuple[str, str, int]]:
        """(text hash, reason of the last attempt, attempts) of each text that failed, by hash."""
        rows = self._db.rows(FAILED, (extractor,))
        return [(str(text_hash), str(reason), int(n)) for text_hash, reason, n in rows]

    def keep_extractions(self, hashes: Iterable[str]) -> int:
        """Forget what was extracted, by whomever, from all other texts; returns how many outcomes went."""
        with self._db.write() as db:
            return db.execute(KEEP_EXTRACTIONS, (json.dumps(list(hashes)),)).rowcount

    # Life cycle

    def vacuum(self) -> None:
        """Give the space of what was deleted back to the disk."""
        self._db.vacuum()

    def verify(self) -> None:
        """Read everything and check it. Raises IndexCorruptError with what is wrong."""
        self._db.verify()
        if found := next(wrong_links(self._db.rows, self._paper), None):
            raise self._db.damaged(f"the links of paper {found!r} are not those of its records")
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

    def _upgrade(self, db: sqlite3.Connection) -> int:
        """From format 1, which knew no links."""
        link_all(db, self._paper)
        return FORMAT_VERSION

    def _merged(self, merged_id: str, versions: list[Paper]) -> Paper:
        paper = merge_papers(versions)
        if paper.id != merged_id:
            raise self._db.damaged(f"the records of paper {merged_id!r} make up {paper.id!r}")
        return paper

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
