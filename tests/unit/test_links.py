"""One paper under several ids in the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hippo_lit.errors import FormatVersionError
from hippo_lit.storage.store import STORE_FILE, Store
from hippo_lit.types import Counts, Paper

TITLE = "Attention is all you need"
PREPRINT = Paper("1706.03762", TITLE, "Short.", 2017, ("A. Vaswani",), source="arxiv")
PUBLISHED = Paper("10.5555/3295222", TITLE, "A longer one.", 2018, ("Someone Else",), source="crossref")
LINK = Paper("W1", TITLE, year=2017, source="openalex", doi="10.5555/3295222", ids=("arxiv:1706.03762",))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path, create=True) as store:
        yield store


def ids(store: Store) -> list[str]:
    return [paper.id for paper in store.papers()]


def test_preprint_and_article_become_one_by_the_record_that_links_them(store: Store) -> None:
    assert store.put_papers([PREPRINT, PUBLISHED]) == Counts(added=2)
    apart = dict(store.fingerprints())
    assert list(apart) == ["10.5555/3295222", "1706.03762"]
    assert store.put_papers([LINK]) == Counts(changed=1)
    (paper,) = store.papers()
    assert (paper.id, paper.year, paper.abstract) == ("10.5555/3295222", 2017, "A longer one.")
    assert paper.ids == ("arxiv:1706.03762", "openalex:W1")
    assert paper.source == "arxiv+crossref+openalex"
    for name in ("arXiv:1706.03762v3", "https://doi.org/10.5555/3295222", "W1", "https://openalex.org/W1"):
        assert store.paper(name) == paper
    assert len(store) == 1
    assert store.delete(["arxiv:1706.03762"], source="openalex") == 1
    assert dict(store.fingerprints()) == apart
    assert store.paper("W1") is None


def test_any_name_deletes_the_whole_paper_once(store: Store) -> None:
    store.put_papers([PREPRINT, PUBLISHED, LINK])
    assert store.delete(["W1", "1706.03762", "doi:10.5555/3295222"]) == 1
    assert len(store) == 0
    assert store.put_papers([LINK, PREPRINT]) == Counts(added=1, changed=1)


def test_replacing_drops_the_records_of_all_its_names(store: Store) -> None:
    store.put_papers([PREPRINT, PUBLISHED, LINK])
    mine = replace(PREPRINT, title="Mine", source="me")
    assert store.put_papers([mine], replace=True) == Counts(changed=1)
    assert list(store.papers()) == [mine]
    assert store.put_papers([mine], replace=True) == Counts(unchanged=1)


def test_a_name_that_two_papers_have_means_the_main_work(store: Store) -> None:
    main = Paper("main", "Ocean heat content since 1950", doi="10.1/o")
    extra = Paper("extra", "Supplementary material for Ocean heat content since 1950", doi="10.1/o")
    store.put_papers([extra, main])
    assert ids(store) == ["extra", "main"]
    assert store.resolve("10.1/O") == "main"
    assert store.kept_apart("main") == [("doi:10.1/o", "extra", "one belongs to the other")]
    store.put_papers([Paper("rival", "Flood risk in river deltas", doi="10.1/o")])
    assert store.resolve("10.1/o") is None
    assert ("doi:10.1/o", "rival", "their titles differ") in store.kept_apart("main")
    assert store.kept_apart("absent") == []


def test_an_id_that_hundreds_of_papers_carry_joins_only_equal_titles(store: Store) -> None:
    volume = [Paper(f"c{i:03}", f"Chapter on subject number {i}", doi="10.1/v") for i in range(200)]
    store.put_papers([*volume, Paper("again", "Chapter on Subject Number 7", doi="10.1/v")])
    assert len(store) == 200
    assert {view.id for view in store.versions("again")} == {"again", "c007"}


def test_a_store_of_the_first_format_is_brought_up_to_date(tmp_path: Path) -> None:
    with Store.open(tmp_path, create=True) as store:
        store.put_papers([PREPRINT, PUBLISHED, LINK])
        merged = list(store.papers())
    db = sqlite3.connect(tmp_path / STORE_FILE)
    db.executescript(
        "DROP INDEX records_merged; DROP TABLE link_keys; ALTER TABLE records DROP COLUMN merged_id;"
        "PRAGMA user_version = 1"
    )
    db.close()
    with pytest.raises(FormatVersionError, match="brings it up to date"):
        Store.open(tmp_path, read_only=True)
    with Store.open(tmp_path) as store:
        assert list(store.papers()) == merged
        assert store.put_papers([PREPRINT, LINK]) == Counts(unchanged=2)
