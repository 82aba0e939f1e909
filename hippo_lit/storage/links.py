"""In the store: which records are one paper, kept up to date as records come and go.

A record's `merged_id` is the id of the paper that it is a view of. It is a function of the records alone:
a change is followed through everything that shares a key with what changed, before or after, and those
papers are grouped anew.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from hippo_lit.identifiers import parse, preference
from hippo_lit.identity import Traits, conflict, group, link_keys, sole_owner, traits_of
from hippo_lit.storage.payload import is_unicode
from hippo_lit.titles import title_of
from hippo_lit.types import Paper

LINK_SCHEMA = (
    "CREATE INDEX records_merged ON records (merged_id, paper_id, source, digest)",
    """CREATE TABLE link_keys (
        key TEXT NOT NULL, paper_id TEXT NOT NULL, PRIMARY KEY (key, paper_id)) WITHOUT ROWID""",
    "CREATE INDEX link_keys_paper ON link_keys (paper_id)",
)
_VARIABLES = 500  # of one statement; SQLite's own limit is higher everywhere
Read = Callable[[str, str, str], Paper]
"""The paper of a record, given (paper_id, payload, digest)."""
Query = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


def relink(db: sqlite3.Connection, changed: Iterable[str], read: Read) -> None:
    """Bring keys and merged ids up to date after the records of the ids `changed` were written or removed."""

    def query(sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        return db.execute(sql, parameters).fetchall()

    changed = set(changed)
    affected = _connected(query, changed)
    traits = dict(_traits(query, changed, read))
    for part in _parts(changed):
        db.execute(f"DELETE FROM link_keys WHERE paper_id IN ({_marks(part)})", part)  # noqa: S608
    rows = (
        (key, paper_id) for paper_id, each in traits.items() for key in link_keys(each) if is_unicode(key)
    )
    db.executemany("INSERT INTO link_keys VALUES (?, ?)", rows)
    affected = _connected(query, affected | changed)
    # One that shares nothing stands alone, which needs no look at its records.
    shared = _sharing(query, affected)
    traits = {paper_id: each for paper_id, each in traits.items() if paper_id in shared}
    traits |= _traits(query, shared - traits.keys(), read)
    ids = sorted(traits)
    merged = {paper_id: paper_id for paper_id in affected - traits.keys()}
    for members in group([traits[paper_id] for paper_id in ids]):
        chosen = min((ids[i] for i in members), key=preference)
        merged |= {ids[i]: chosen for i in members}
    db.executemany(
        "UPDATE records SET merged_id = ?2 WHERE paper_id = ?1 AND merged_id != ?2", sorted(merged.items())
    )


def link_all(db: sqlite3.Connection, read: Read) -> None:
    """Give a store that has none its links."""
    db.execute("ALTER TABLE records ADD COLUMN merged_id TEXT NOT NULL DEFAULT ''")
    for statement in LINK_SCHEMA:
        db.execute(statement)
    relink(db, (row[0] for row in db.execute("SELECT DISTINCT paper_id FROM records")), read)


def wrong_links(query: Query, read: Read) -> Iterator[str]:
    """The ids whose keys are not those that their records have. Reads everything."""
    kept: dict[str, set[str]] = defaultdict(set)
    for key, paper_id in query("SELECT key, paper_id FROM link_keys", ()):
        kept[paper_id].add(key)
    ids = {str(row[0]) for row in query("SELECT DISTINCT paper_id FROM records", ())}
    for paper_id, each in _traits(query, ids, read):
        if kept.pop(paper_id, set()) != set(filter(is_unicode, link_keys(each))):
            yield paper_id
    yield from kept


def other_ids(query: Query, ids: set[str]) -> dict[str, set[str]]:
    """For each of `ids`, where it is known, the ids of its paper's other records that are not among them."""
    sql = """SELECT DISTINCT other.paper_id FROM records own JOIN records other USING (merged_id)
        WHERE own.paper_id = ?"""
    return {paper_id: {row[0] for row in query(sql, (paper_id,))} - ids for paper_id in ids}


def count_papers(query: Query, ids: set[str]) -> int:
    """How many papers the records of `ids` make up all by themselves."""
    others = {paper_id: bool(rest) for paper_id, rest in other_ids(query, ids).items()}
    sql = "SELECT merged_id FROM records WHERE paper_id = ? LIMIT 1"
    return len({query(sql, (paper_id,))[0][0] for paper_id in ids if not others[paper_id]})


def resolve(query: Query, name: str, read: Read) -> str | None:
    """The merged id of the paper that `name` leads to: an id of a record, or an identifier in any form.

    None for what no paper has, and for what several have unless all but one are satellites of it.
    """
    if own := query("SELECT merged_id FROM records WHERE paper_id = ? LIMIT 1", (name,)):
        return str(own[0][0])
    owners = query(
        "SELECT DISTINCT r.merged_id, r.paper_id, r.payload, r.digest FROM link_keys k"
        " JOIN records r ON r.paper_id = k.paper_id WHERE k.key = ?",
        (parse(name) or f"id:{name}",),
    )
    found = {merged_id for merged_id, *_ in owners}
    if len(found) < 2:
        return found.pop() if found else None
    return sole_owner(
        (bool(title_of(read(*record).title).satellite), merged_id) for merged_id, *record in owners
    )


def rivals(query: Query, merged_id: str, read: Read) -> list[tuple[str, str, str]]:
    """Other papers that share an identifier with this one: (identifier, merged id, why they are not one).

    At most twenty: an identifier of hundreds of papers identifies none.
    """
    sql = """SELECT DISTINCT theirs.key, r.merged_id FROM records own
        JOIN link_keys mine ON mine.paper_id = own.paper_id
        JOIN link_keys theirs ON theirs.key = mine.key
        JOIN records r ON r.paper_id = theirs.paper_id
        WHERE own.merged_id = ?1 AND r.merged_id != ?1
            AND mine.key NOT LIKE 'title:%' ORDER BY 1, 2 LIMIT 20"""
    shared = query(sql, (merged_id,))
    records = "SELECT paper_id, payload, digest FROM records WHERE merged_id = ?"
    traits = {
        each: traits_of(read(*row) for row in query(records, (each,)))
        for each in {merged_id, *(other for _, other in shared)}
    }
    return [(key, other, conflict(traits[merged_id], traits[other], key)) for key, other in shared]


def _connected(query: Query, ids: set[str]) -> set[str]:
    """The ids, and all that share a key with them, directly or through others."""
    found, frontier = set(ids), set(ids)
    while frontier:
        frontier = _sharing(query, frontier) - found
        found |= frontier
    return found


def _sharing(query: Query, ids: Iterable[str]) -> set[str]:
    """Those that share a key with another one of the store: the ids themselves, and the others."""
    keys: set[str] = set()
    for part in _parts(ids):
        sql = f"SELECT key FROM link_keys WHERE paper_id IN ({_marks(part)})"  # noqa: S608
        keys.update(row[0] for row in query(sql, part))
    members: dict[str, list[str]] = defaultdict(list)
    for part in _parts(keys):
        sql = f"SELECT key, paper_id FROM link_keys WHERE key IN ({_marks(part)})"  # noqa: S608
        for key, paper_id in query(sql, part):
            members[key].append(paper_id)
    return {paper_id for together in members.values() if len(together) > 1 for paper_id in together}


def _traits(query: Query, ids: Iterable[str], read: Read) -> Iterator[tuple[str, Traits]]:
    for part in _parts(ids):
        sql = f"SELECT paper_id, payload, digest FROM records WHERE paper_id IN ({_marks(part)})"  # noqa: S608
        versions: dict[str, list[Paper]] = defaultdict(list)
        for row in query(sql, part):
            versions[row[0]].append(read(*row))
        for paper_id, papers in versions.items():
            yield paper_id, traits_of(papers)


def _parts(ids: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(sorted(ids))
    while part := list(islice(rest, _VARIABLES)):
        yield part


def _marks(part: Sequence[str]) -> str:
    return ", ".join("?" * len(part))
