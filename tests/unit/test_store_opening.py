"""Opening a store, and what a disk or another process can do to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hippo_lit.errors import (
    FormatVersionError,
    IndexCorruptError,
    IndexLockedError,
    IndexNotFoundError,
    StoreError,
)
from hippo_lit.storage.schema import FORMAT_VERSION
from hippo_lit.storage.store import STORE_FILE, Store
from hippo_lit.types import Counts, Extraction, Fact, Mention, Paper

A = Paper("a", "Alpha", "First.", 2020, source="arxiv")
B = Paper("b", "Beta", source="arxiv")
FOUND = Extraction((Mention("Alpha", 0),), (Fact("Alpha", "precedes", "Beta"),), (0,))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path, create=True) as store:
        yield store


def raw(folder: Path, sql: str) -> None:
    connection = sqlite3.connect(folder / STORE_FILE)
    connection.execute(sql)
    connection.commit()
    connection.close()


# Opening


def test_what_was_stored_is_there_after_reopening(tmp_path: Path) -> None:
    with Store.open(tmp_path / "new" / "index", create=True) as store:
        store.put_papers([A, B])
        store.put_extractions("x", [("h", FOUND)])
    for options in ({}, {"create": True}, {"read_only": True}):
        with Store.open(tmp_path / "new" / "index", **options) as store:
            assert list(store.papers()) == [A, B]
            assert store.extractions("x", ["h"]) == {"h": FOUND}
            assert store.generation == 1
            store.verify()


def test_no_index_is_not_found_and_not_made(tmp_path: Path) -> None:
    for read_only in (False, True):
        with pytest.raises(IndexNotFoundError, match="no index at"):
            Store.open(tmp_path / "absent", read_only=read_only)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="read-only"):
        Store.open(tmp_path, create=True, read_only=True)


def test_a_folder_that_is_a_file_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="is a file: name a folder"):
        Store.open(tmp_path / "file", create=True)


def test_an_interrupted_creation_is_named_and_can_be_finished(tmp_path: Path) -> None:
    (tmp_path / STORE_FILE).touch()
    with pytest.raises(IndexCorruptError, match="creation was interrupted"):
        Store.open(tmp_path)
    with Store.open(tmp_path, create=True) as store:
        assert len(store) == 0
    (tmp_path / "2").mkdir()
    raw(tmp_path / "2", "PRAGMA journal_mode = WAL")  # interrupted one step later
    with pytest.raises(IndexCorruptError, match="creation was interrupted"):
        Store.open(tmp_path / "2", read_only=True)
    Store.open(tmp_path / "2", create=True).close()


def test_another_format_is_named(store: Store, tmp_path: Path) -> None:
    raw(tmp_path, "PRAGMA user_version = 7")
    with pytest.raises(FormatVersionError, match="format 7") as caught:
        Store.open(tmp_path, create=True)
    assert (caught.value.found, caught.value.expected) == (7, FORMAT_VERSION)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    raw(tmp_path, "CREATE TABLE bookmarks (url)")
    with pytest.raises(IndexCorruptError, match="another program"):
        Store.open(tmp_path, create=True)


@pytest.mark.parametrize("content", [b"not a database, but long enough to be looked at" * 100, b"short"])
def test_what_is_no_database_is_corrupt(tmp_path: Path, content: bytes) -> None:
    (tmp_path / STORE_FILE).write_bytes(content)
    for options in ({}, {"create": True}, {"read_only": True}):
        with pytest.raises(IndexCorruptError, match=r"damaged: file is not a database\. Restore"):
            Store.open(tmp_path, **options)
    assert (tmp_path / STORE_FILE).read_bytes() == content


def test_a_truncated_or_overwritten_file_is_corrupt(tmp_path: Path) -> None:
    with Store.open(tmp_path, create=True) as store:
        store.put_papers(Paper(f"{i}", "T" * 500) for i in range(200))
    path = tmp_path / STORE_FILE
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content[:8192] + b"\xff" * 40000 + content[48192:]):
        path.write_bytes(damaged)
        with pytest.raises(IndexCorruptError, match="Restore it from a copy"), Store.open(tmp_path) as store:
            list(store.papers())
        with pytest.raises(IndexCorruptError), Store.open(tmp_path) as store:
            store.verify()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE records SET payload = replace(payload, 'Alpha', 'Omega')",
        "UPDATE records SET payload = 'nonsense'",
        "UPDATE records SET payload = x'00ff'",
        "UPDATE records SET payload = CAST(x'ff' AS TEXT)",
        "UPDATE records SET payload = '{}'",
        "UPDATE records SET paper_id = 'z'",
        "UPDATE extractions SET payload = '[]'",
        "UPDATE extractions SET payload = 7",
    ],
)
def test_damaged_content_is_found_on_reading(store: Store, tmp_path: Path, sql: str) -> None:
    store.put_papers([A])
    store.put_extractions("x", [("h", FOUND)])
    store.verify()
    raw(tmp_path, sql)
    with pytest.raises(IndexCorruptError, match="damaged"):
        store.verify()
    with pytest.raises(IndexCorruptError, match="damaged"):  # noqa: PT012
        list(store.papers())
        store.extractions("x", ["h"])


def test_a_missing_generation_is_corrupt(store: Store, tmp_path: Path) -> None:
    raw(tmp_path, "DELETE FROM meta")
    with pytest.raises(IndexCorruptError, match="generation"):
        _ = store.generation


# Refusals of the disk and of others


def test_a_full_disk_undoes_the_batch_and_says_so(store: Store) -> None:
    store.put_papers([A])
    db = store._db._db
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match=r"disk is full\. Free some space"):
        store.put_papers(Paper(f"{i}", "T" * 1000) for i in range(100))
    assert (list(store.papers()), store.generation) == ([A], 1)
    db.execute("PRAGMA max_page_count = 100000")
    assert store.put_papers([B]) == Counts(added=1)


def test_a_read_only_store_refuses_to_write(store: Store, tmp_path: Path) -> None:
    store.put_papers([A])
    with Store.open(tmp_path, read_only=True) as reader:
        with pytest.raises(StoreError, match="readonly"):
            reader.put_papers([B])
        assert len(reader) == 1
        store.put_papers([B])
        assert len(reader) == 2


def test_a_writer_in_the_way_is_a_locked_index(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hippo_lit.storage.database._BUSY_S", 0.01)
    with Store.open(tmp_path) as other, store._db.write():
        with pytest.raises(IndexLockedError, match="another process"):
            other.put_papers([A])
        assert len(other) == 0  # reading goes on


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        len(store)
