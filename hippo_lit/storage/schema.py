"""The store's tables, and the statements that write them."""

from __future__ import annotations

from hippo_lit.storage.links import LINK_SCHEMA

FORMAT_VERSION = 2
APPLICATION_ID = 0x48694C69  # "HiLi"
SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    """CREATE TABLE records (
        paper_id TEXT NOT NULL, source TEXT NOT NULL, payload TEXT NOT NULL, digest TEXT NOT NULL,
        updated REAL NOT NULL,  -- seconds since 1970
        merged_id TEXT NOT NULL DEFAULT '',  -- see `links`
        PRIMARY KEY (paper_id, source))""",
    """CREATE TABLE extractions (
        extractor TEXT NOT NULL, text_hash TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('ok', 'failed')), payload TEXT,
        reason TEXT NOT NULL, attempts INTEGER NOT NULL,
        PRIMARY KEY (extractor, text_hash),
        CHECK ((status = 'ok') = (payload IS NOT NULL)))""",
    "INSERT INTO meta VALUES ('generation', 0)",
    *LINK_SCHEMA,
)
# The sources of a paper, and of each whether its record is this one; compared whole, so that one that is
# damaged is written again.
KNOWN_RECORDS = """SELECT source, digest = ?2 AND CAST(payload AS BLOB) = CAST(?3 AS BLOB) FROM records
    WHERE paper_id = ?1"""
# On its own until `links.relink` has looked.
PUT_RECORD = """INSERT OR REPLACE INTO records (paper_id, source, payload, digest, updated, merged_id)
    VALUES (?1, ?2, ?3, ?4, ?5, ?1)"""
DELETE_RECORDS = "DELETE FROM records WHERE merged_id = ?1 AND (?2 IS NULL OR source = ?2) RETURNING paper_id"
PUT_OK = """INSERT INTO extractions VALUES (?, ?, 'ok', ?, '', 1) ON CONFLICT DO UPDATE
    SET status = 'ok', payload = excluded.payload, reason = '', attempts = attempts + 1"""
# What is known is never lost to a later failure.
PUT_FAILED = """INSERT INTO extractions VALUES (?, ?, 'failed', NULL, ?, 1) ON CONFLICT DO UPDATE
    SET reason = excluded.reason, attempts = attempts + 1 WHERE status = 'failed'"""
EXTRACTED = """SELECT text_hash, payload FROM extractions
    WHERE extractor = ? AND status = 'ok' AND text_hash IN (SELECT value FROM json_each(?))"""
FAILED = """SELECT text_hash, reason, attempts FROM extractions
    WHERE extractor = ? AND status = 'failed' ORDER BY text_hash"""
KEEP_EXTRACTIONS = "DELETE FROM extractions WHERE text_hash NOT IN (SELECT value FROM json_each(?))"
