from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hippo_lit.errors import ChatModelError, DataError, IndexCorruptError
from hippo_lit.storage.store import Store
from hippo_lit.types import Counts, Extraction, Fact, Mention, Paper

A = Paper("a", "Alpha", "First.", 2020, source="arxiv")
A_S2 = Paper("a", "Alpha", "First and longer.", None, references=("b",), source="s2")
B = Paper("b", "Beta", source="arxiv")
FOUND = Extraction((Mention("Alpha", 0),), (Fact("Alpha", "precedes", "Beta"),), (0,))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path, create=True) as store:
        yield store


# Papers


def test_papers_are_counted_merged_and_ordered_by_id(store: Store) -> None:
    assert store.put_papers([B, A]) == Counts(added=2)
    assert store.put_papers([A_S2, A]) == Counts(changed=1, unchanged=1)
    merged = Paper("a", "Alpha", "First and longer.", 2020, references=("b",), source="arxiv+s2")
    assert list(store.papers()) == [merged, B]
    assert store.paper("a") == merged
    assert store.versions("a") == [A, A_S2]
    assert len(store) == 2


def test_the_last_record_of_a_source_counts(store: Store) -> None:
    shorter = Paper("a", "A", source="arxiv")
    assert store.put_papers([A, A, shorter]) == Counts(added=1, changed=1, unchanged=1)
    assert store.paper("a") == shorter


@pytest.mark.parametrize(
    "sql", ["payload = replace(payload, 'First', 'Worst')", "payload = x'ff00'", "digest = 'x'"]
)
def test_reading_a_damaged_record_again_mends_it(store: Store, sql: str) -> None:
    store.put_papers([A, A_S2, B])
    with store._db.write() as db:
        db.execute(f"UPDATE records SET {sql} WHERE paper_id = 'a' AND source = 'arxiv'")
    with pytest.raises(IndexCorruptError):
        store.verify()
    assert store.put_papers([A, A_S2, B]) == Counts(changed=1, unchanged=2)
    store.verify()
    assert store.versions("a") == [A, A_S2]


def test_replacing_drops_what_other_sources_gave(store: Store) -> None:
    store.put_papers([A, A_S2, B])
    assert store.put_papers([A], replace=True) == Counts(changed=1)
    assert store.put_papers([A, B], replace=True) == Counts(unchanged=2)
    assert list(store.papers()) == [A, B]


def test_a_paper_can_lose_one_source_or_go_altogether(store: Store) -> None:
    store.put_papers([A, A_S2, B])
    assert store.delete(["a", "b"], source="s2") == 1
    assert store.paper("a") == A
    assert store.delete(["a", "a", "absent", "\ud800"]) == 1
    assert list(store.papers()) == [B]
    assert store.delete([B.id], source="") == 0


def test_a_deleted_paper_comes_back_as_new(store: Store) -> None:
    store.put_papers([A])
    store.delete(["a"])
    assert store.paper("a") is None
    assert store.put_papers([A]) == Counts(added=1)
    assert list(store.papers()) == [A]


def test_the_generation_follows_changes_only(store: Store) -> None:
    seen = [store.generation]
    for change in (
        lambda: store.put_papers([A, B]),
        lambda: store.put_papers([A_S2]),
        lambda: store.delete(["b"]),
    ):
        change()
        seen.append(store.generation)
    assert seen == sorted(set(seen))
    store.put_papers([A])
    store.put_papers([])
    store.delete(["absent"])
    store.put_extractions("x", [("h", FOUND)])
    assert store.generation == seen[-1]


def test_fingerprints_tell_what_changed(store: Store) -> None:
    store.put_papers([A, B])
    before = dict(store.fingerprints())
    assert list(before) == ["a", "b"]
    store.put_papers([A_S2])
    after = dict(store.fingerprints())
    assert after["a"] != before["a"]
    assert after["b"] == before["b"]
    store.delete(["a"], source="s2")
    assert dict(store.fingerprints()) == before


@pytest.mark.parametrize("paper", [Paper("", "T"), Paper("\ud800", "T"), Paper("a", "T", source="\udfff")])
def test_an_id_that_cannot_be_stored_is_refused_with_its_batch(store: Store, paper: Paper) -> None:
    with pytest.raises(DataError, match="cannot be stored"):
        store.put_papers([A, paper])
    with pytest.raises(DataError, match="'year'"):
        store.put_papers([A, Paper("b", "B", year="n.d.")])  # type: ignore[arg-type]
    assert (len(store), store.generation) == (0, 0)
    assert store.paper("\ud800") is None


def test_odd_text_is_kept_as_it_is(store: Store) -> None:
    odd = Paper("id \x00 β", "\ud800 title", "x\x00y", -5, ("李",), source="a+b'; DROP TABLE records")
    store.put_papers([odd])
    assert store.paper(odd.id) == odd
    assert list(store.papers()) == [odd]


def test_a_failing_source_leaves_nothing_behind(store: Store) -> None:
    def broken() -> Iterator[Paper]:
        yield A
        raise KeyError("source")

    with pytest.raises(KeyError):
        store.put_papers(broken())
    assert len(store) == 0


def test_reading_sees_one_moment(store: Store, tmp_path: Path) -> None:
    many = [Paper(f"{i:05}", "T") for i in range(2500)]
    store.put_papers(many)
    papers = store.papers()
    first = next(papers)
    store.delete(paper.id for paper in many[1::2])
    store.put_papers([Paper("99999", "late")])
    assert [first, *papers] == many
    assert len(store) == 1251


def test_many_threads_share_a_store(store: Store) -> None:
    def work(number: int) -> None:
        for i in range(10):
            store.put_papers([Paper(f"{number}-{i}", "T"), Paper("shared", str(i), source=str(number))])
            assert sum(1 for _ in store.papers()) >= i + 1

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store) == 41
    assert len(store.versions("shared")) == 4
    assert store.generation == 40


# Extractions


def test_extractions_are_addressed_by_extractor_and_text(store: Store) -> None:
    store.put_extractions("x", [("h1", FOUND), ("h2", Extraction())])
    store.put_extractions("y", [("h1", Extraction())])
    assert store.extractions("x", ["h1", "h2", "h3"]) == {"h1": FOUND, "h2": Extraction()}
    assert store.extractions("y", iter(["h1", "h2"])) == {"h1": Extraction()}
    assert store.extractions("z", ["h1"]) == {}
    assert store.extractions("x", (f"h{i}" for i in range(100_000))).keys() == {"h1", "h2"}


def test_failures_are_counted_until_one_attempt_succeeds(store: Store) -> None:
    store.put_extractions(
        "x", [("h2", ChatModelError("timed out")), ("h1", ChatModelError("bad \ud800\x1b" + "y" * 999))]
    )
    store.put_extractions("x", [("h2", ChatModelError("refused"))])
    (first, reason, attempts), second = store.failures("x")
    assert (first, reason[:24], len(reason), attempts) == ("h1", "ChatModelError: bad yyyy", 500, 1)
    assert second == ("h2", "ChatModelError: refused", 2)
    assert store.extractions("x", ["h1", "h2"]) == {}
    store.put_extractions("x", [("h2", FOUND)])
    assert [text_hash for text_hash, _, _ in store.failures("x")] == ["h1"]
    assert store.extractions("x", ["h2"]) == {"h2": FOUND}


def test_a_later_failure_never_replaces_what_is_known(store: Store) -> None:
    store.put_extractions("x", [("h", FOUND)])
    store.put_extractions("x", [("h", ChatModelError("down"))])
    assert store.extractions("x", ["h"]) == {"h": FOUND}
    assert store.failures("x") == []


def test_an_extraction_that_could_not_be_read_back_is_refused(store: Store) -> None:
    with pytest.raises(DataError, match="text h2"):
        store.put_extractions("x", [("h1", FOUND), ("h2", Extraction(facts=(Fact("a", "b", None),)))])  # type: ignore[arg-type]
    assert store.extractions("x", ["h1"]) == {}
