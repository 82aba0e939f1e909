"""Replies and vectors survive, are shared, and say so when they cannot be kept."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import hippo_lit.storage.cache_file
from hippo_lit.errors import FormatVersionError, StoreError
from hippo_lit.storage.cache import Cache


def rows(*values: float) -> np.ndarray:
    return np.array([[v, v + 0.5] for v in values], dtype=np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "cache.db"


def test_replies_and_vectors_survive_reopening(path: Path) -> None:
    with Cache(path) as cache:
        cache.put_reply("k", '{"text": "北京 β"}')
        cache.put_vectors("space", ["a", "b"], rows(1, 2))
    with Cache(path) as cache:
        assert cache.get_reply("k") == '{"text": "北京 β"}'
        matrix, found = cache.get_vectors("space", ["b", "missing", "a", "b"])
        assert found.tolist() == [True, False, True, True]
        assert matrix.dtype == np.float32
        assert matrix.tolist() == [[2, 2.5], [0, 0], [1, 1.5], [2, 2.5]]


def test_nothing_found_has_no_dimension() -> None:
    with Cache(None) as cache:
        cache.put_vectors("one", ["a"], rows(1))
        for space, hashes in [("other", ["a"]), ("one", [])]:
            matrix, found = cache.get_vectors(space, hashes)
            assert matrix.shape == (len(hashes), 0)
            assert not found.any()


def test_the_last_write_counts_and_a_reply_can_be_forgotten() -> None:
    with Cache(None) as cache:
        cache.put_reply("k", "1")
        cache.put_reply("k", "2")
        cache.put_vectors("s", ["a"], rows(1))
        cache.put_vectors("s", ["a"], rows(2))
        assert cache.get_reply("k") == "2"
        assert cache.get_vectors("s", ["a"])[0].tolist() == [[2, 2.5]]
        cache.delete_reply("k")
        cache.delete_reply("never there")
        assert cache.get_reply("k") is None


def test_many_hashes_in_one_question() -> None:
    with Cache(None) as cache:
        hashes = [f"h{i}" for i in range(40_000)]
        cache.put_vectors("s", hashes, np.arange(80_000, dtype=np.float32).reshape(-1, 2))
        matrix, found = cache.get_vectors("s", hashes[::-1])
        assert found.all()
        assert matrix[0].tolist() == [79_998, 79_999]


def test_hashes_and_vectors_must_pair_up() -> None:
    with Cache(None) as cache, pytest.raises(ValueError, match="1 hashes for 2 vectors"):
        cache.put_vectors("s", ["a"], rows(1, 2))


def test_a_failed_transaction_leaves_nothing_behind(path: Path) -> None:
    with Cache(path) as cache:
        with pytest.raises(TypeError):
            cache.put_vectors("s", ["a", object()], rows(1, 2))  # type: ignore[list-item]
        assert not cache.get_vectors("s", ["a"])[1].any()


def test_threads_share_one_cache(path: Path) -> None:
    with Cache(path) as cache:

        def work(n: int) -> None:
            for i in range(10):
                cache.put_reply(f"{n}-{i}", str(n))
                assert cache.get_reply(f"{n}-{i}") == str(n)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(cache.get_reply(f"{n}-9") == str(n) for n in range(6))


WRITER = """
import sys
from hippo_lit.storage.cache import Cache
with Cache(sys.argv[1]) as cache:
    for i in range(30):
        cache.put_reply(f"{sys.argv[2]}-{i}", sys.argv[2])
"""


def test_processes_create_and_fill_one_file_together(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stderr=subprocess.PIPE)
        for name in ("a", "b", "c")
    ]
    assert [writer.communicate()[1] for writer in writers] == [b"", b"", b""]
    with Cache(path) as cache:
        assert all(cache.get_reply(f"{name}-{i}") == name for name in "abc" for i in range(30))


def test_a_locked_file_is_an_error_or_skipped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hippo_lit.storage.cache_file, "BUSY_S", 0.05)
    with Cache(path) as strict, Cache(path, on_write_error="skip") as lenient:
        other = sqlite3.connect(path)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            strict.put_reply("k", "1")
        lenient.put_reply("k", "1")
        assert lenient.writable
        assert lenient.get_reply("k") is None
        other.rollback()
        other.close()
        lenient.put_reply("k", "2")
        assert strict.get_reply("k") == "2"


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections as in a folder that cannot be written (chmod does not stop root)."""
    connect = sqlite3.connect

    def refuse(database: str, **options: object) -> sqlite3.Connection:
        if "mode=rwc" in database:
            raise sqlite3.OperationalError("attempt to write a readonly database")
        return connect(database, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(hippo_lit.storage.cache.sqlite3, "connect", refuse)


def test_a_query_reads_from_a_read_only_folder(path: Path, request: pytest.FixtureRequest) -> None:
    with Cache(path) as cache:
        cache.put_reply("k", "kept")
        cache.put_vectors("s", ["a"], rows(1))
    request.getfixturevalue("read_only")
    with Cache(path, on_write_error="skip") as cache:
        assert not cache.writable
        assert "readonly" in cache.reason
        cache.put_reply("new", "1")
        cache.put_vectors("s", ["b"], rows(2))
        assert cache.get_reply("k") == "kept"
        assert cache.get_reply("new") is None
        assert cache.get_vectors("s", ["a", "b"])[1].tolist() == [True, False]


@pytest.mark.usefixtures("read_only")
def test_a_read_only_folder_without_a_cache(path: Path) -> None:
    with Cache(path, on_write_error="skip") as cache:
        assert not cache.writable
        assert cache.get_reply("k") is None
    with pytest.raises(StoreError, match="Cannot write") as caught:
        Cache(path)
    assert caught.value.path == str(path)


def test_a_file_that_turns_out_to_be_read_only(path: Path) -> None:
    with Cache(path) as strict, Cache(path, on_write_error="skip") as lenient:
        for cache in (strict, lenient):
            cache._db.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="readonly"):
            strict.put_reply("k", "1")
        lenient.put_reply("k", "1")
        assert not lenient.writable


def test_a_full_disk(path: Path) -> None:
    big = "x" * 200_000
    with Cache(path) as strict, Cache(path, on_write_error="skip") as lenient:
        strict.put_reply("small", "1")
        for cache in (strict, lenient):
            cache._db.execute("PRAGMA max_page_count = 12")
        with pytest.raises(StoreError, match=r"full.*Free some space"):
            strict.put_reply("k", big)
        lenient.put_reply("k", big)
        assert not lenient.writable
        assert "full" in lenient.reason
        assert lenient.get_reply("small") == "1"


@pytest.mark.parametrize("mode", ["raise", "skip"])
def test_a_damaged_file_says_to_delete_it(path: Path, mode: str) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database, but long enough to have a header " * 100)
    with pytest.raises(StoreError, match="Delete that file") as caught:
        Cache(path, on_write_error=mode)  # type: ignore[arg-type]
    assert caught.value.path == str(path)


def test_damage_inside_is_found_when_it_is_read(path: Path) -> None:
    with Cache(path) as cache:
        for i in range(200):
            cache.put_reply(f"{i:03}", "x" * 500)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="Delete that file"), Cache(path) as cache:
        cache.get_reply("100")


def test_vectors_of_different_lengths_are_damage() -> None:
    with Cache(None) as cache:
        cache.put_vectors("s", ["a"], rows(1))
        cache.put_vectors("s", ["b"], np.ones((1, 3), dtype=np.float32))
        with pytest.raises(StoreError, match="different lengths"):
            cache.get_vectors("s", ["a", "b"])


def test_a_file_of_another_version(path: Path) -> None:
    with Cache(path) as cache:
        cache._db.execute("PRAGMA user_version = 7")
    with pytest.raises(FormatVersionError) as caught:
        Cache(path)
    assert (caught.value.found, caught.value.expected) == (7, 2)


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    theirs = sqlite3.connect(path)
    theirs.execute("CREATE TABLE theirs (x)")
    theirs.close()
    with pytest.raises(StoreError, match="not a hippo-lit cache"):
        Cache(path)


def test_committed_replies_survive_a_kill(path: Path) -> None:
    script = (
        "import os, sys; from hippo_lit.storage.cache import Cache; c = Cache(sys.argv[1]);"
        "c.put_reply('k', 'paid'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == 9
    with Cache(path) as cache:
        assert cache.get_reply("k") == "paid"
        assert cache._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert cache._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_repr_says_where_and_whether() -> None:
    with Cache(None) as cache:
        assert repr(cache) == "Cache(None, writable=True)"


# -- damage and room


def flip(path: Path, content: bytes) -> None:
    """Change one bit of `content`, wherever it stands in the file."""
    data = path.read_bytes()
    assert content in data
    path.write_bytes(data.replace(content, bytes([content[0] ^ 1]) + content[1:]))


def test_a_changed_reply_is_found_and_asked_for_again(path: Path) -> None:
    with Cache(path) as cache:
        cache.put_reply("k", '{"text": "paid"}')
        cache.put_reply("l", '{"text": "dear"}')
        cache.vacuum()
    flip(path, b"paid")
    with Cache(path) as cache:
        assert cache.get_reply("k") is None
        assert cache.get_reply("l") == '{"text": "dear"}'
        assert cache.verify() == ["replies that are not what was written (1)"]


def test_a_changed_sign_of_a_vector_is_found(path: Path) -> None:
    vector = np.array([[0.6, 0.8]], dtype=np.float32)
    with Cache(path) as cache:
        cache.put_vectors("s", ["a"], vector)
        cache.vacuum()
        assert cache.verify() == []
    damaged = vector * np.array([1, -1], dtype=np.float32)
    path.write_bytes(path.read_bytes().replace(vector.tobytes(), damaged.tobytes()))
    with Cache(path) as cache:
        assert not cache.get_vectors("s", ["a"])[1].any()
        assert cache.verify() == ["vectors that are not what was written (1)"]
        cache.put_vectors("s", ["a"], vector)
        assert cache.verify() == []


def test_a_file_of_format_1_is_read_and_gets_digests(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
        db.execute(
            "CREATE TABLE vectors (space TEXT NOT NULL, text_hash TEXT NOT NULL, vector BLOB NOT NULL,"
            " PRIMARY KEY (space, text_hash))"
        )
        db.execute("INSERT INTO replies VALUES ('k', '\"paid\"')")
        db.execute(
            "INSERT INTO vectors VALUES ('s', 'a', ?)", (np.array([3, 4], dtype=np.float32).tobytes(),)
        )
        db.execute("PRAGMA user_version = 1")
    with Cache(path) as cache:
        assert cache.get_reply("k") == '"paid"'
        assert cache.get_vectors("s", ["a"])[0].tolist() == [[3, 4]]
        assert cache.verify() == ["vectors that are not of length 1 (1)"]
        cache.put_reply("l", "1")
        assert cache.get_reply("l") == "1"


def test_only_what_is_needed_is_kept(path: Path) -> None:
    with Cache(path) as cache:
        cache.put_vectors("s", ["a", "b"], rows(2, 2))
        cache.put_vectors("t", ["a"], rows(1))
        cache.put_reply("k", "1")
        assert cache.keep_vectors([("s", "a"), ("s", "unknown")]) == 2
        assert cache.get_vectors("s", ["a", "b"])[1].tolist() == [True, False]
        assert not cache.get_vectors("t", ["a"])[1].any()
        assert cache.forget_replies() == 1
        assert cache.get_reply("k") is None
