"""An index that grew in steps is, byte for byte, the one that was built at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hippo_lit import assemble
from hippo_lit.config import Settings
from hippo_lit.errors import ChatModelError
from hippo_lit.index import Indexer
from hippo_lit.models.embed_cached import CachedEmbedder
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.publish import open_current
from hippo_lit.storage.store import Store
from hippo_lit.testing import HashEmbedder
from hippo_lit.types import Extraction, Fact, Mention, Paper, Passage

IDS = ["a", "b", "c", "d", "é", "北"]
DOIS = ["10.1000/one", "10.1000/two"]
NAMES = (
    "Alpha|the Alpha|alpha's|Alpha Beta|Alphas|Jiménez|Jimenez|北京大学|大学|C++|It|Transformer|"
    "Transformers|Beta||Trellis 2|Trellis"
).split("|")
SENTENCES = (
    "Alpha Beta met Jiménez.|The alpha sleeps.|北京大学 is in 北京 大学.|It rains.|Transformers need C++.|"
    "Beta beats Alpha Beta's Alpha.|Trellis 2 replaces Trellis."
).split("|")
EXTRACTIONS = st.builds(
    lambda mentions, facts: Extraction(
        tuple(mentions), tuple(fact for fact, _ in facts), tuple(place for _, place in facts)
    ),
    st.lists(
        st.builds(Mention, st.sampled_from(NAMES), st.integers(-1, 3), st.sampled_from(["name", "phrase"])),
        max_size=4,
    ),
    st.lists(
        st.tuples(
            st.builds(Fact, st.sampled_from(NAMES), st.sampled_from(["is", "likes"]), st.sampled_from(NAMES)),
            st.integers(-1, 3),
        ),
        max_size=4,
    ),
)
PAPERS = st.builds(
    lambda i, title, text, references, citations, authors, venue, doi: Paper(
        i, title, text, 2000, authors, references, citations, "json:a.jsonl", doi, venue
    ),
    st.sampled_from(IDS),
    st.sampled_from([*NAMES[:-3], "Alpha (film)", "Beta's Alpha"]).filter(bool),
    st.lists(st.sampled_from(SENTENCES), max_size=12).map(" ".join),
    st.lists(st.sampled_from([*IDS, *DOIS]), max_size=3).map(tuple),
    st.lists(st.sampled_from([*IDS, *DOIS]), max_size=2).map(tuple),
    st.lists(st.sampled_from(["Ada King", "King, A.", "Müller, É.", "李明"]), max_size=3, unique=True).map(
        tuple
    ),
    st.sampled_from([None, "Nature", "J. Graphs"]),
    st.sampled_from([None, *DOIS]),
)
STEPS = st.lists(
    st.tuples(st.lists(PAPERS, max_size=4), st.lists(st.sampled_from(IDS), max_size=2)),
    min_size=1,
    max_size=4,
)


class Given:
    """Finds what is given for a title and a number; a passage in `broken` fails."""

    name = "given"

    def __init__(self, found: list[Extraction], broken: set[str]) -> None:
        self.found, self.broken = found, broken

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        for passage in passages:
            if passage.title in self.broken:
                yield ChatModelError("down", model="m", kind="server")
            else:
                yield self.found[len(passage.text) % len(self.found)]


def built(folder: Path, extractor: Given, given: Settings) -> None:
    with Store.open(folder, create=True) as store, Cache(None) as cache:
        embedder = CachedEmbedder(HashEmbedder(8), cache)
        Indexer(folder, store, embedder, extractor, assemble.make_recipe(given)).build()


def files(folder: Path) -> dict[str, bytes]:
    made = open_current(folder, Snapshot)
    assert made is not None
    paths = (path for path in made.folder.rglob("*") if path.is_file())
    return {made.name + "/" + str(path.relative_to(made.folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize(
    "graph", [{}, {"fact_vectors": "fact", "synonyms": "none"}, {"synonym_threshold": 0.4}]
)
@settings(max_examples=6, deadline=None)
@given(
    steps=STEPS, found=st.lists(EXTRACTIONS, min_size=1, max_size=5), broken=st.sets(st.sampled_from(NAMES))
)
def test_a_history_leaves_no_trace(
    graph: dict[str, object],
    steps: list[tuple[list[Paper], list[str]]],
    found: list[Extraction],
    broken: set[str],
) -> None:
    given_settings = Settings.model_validate({"extract": {"passage_chars": 200}, "graph": graph})
    with tempfile.TemporaryDirectory() as name:
        grown, whole = Path(name, "grown"), Path(name, "whole")
        for number, (papers, deleted) in enumerate(steps):
            with Store.open(grown, create=True) as store:
                store.put_papers(papers, replace=True)
                store.delete(deleted)
            built(grown, Given(found, broken if number < len(steps) - 1 else set()), given_settings)
        with Store.open(grown) as store, Store.open(whole, create=True) as other:
            # Record by record: what merging made of two would be one record, which is another history.
            other.put_papers(view for paper in store.papers() for view in store.versions(paper.id))
        built(whole, Given(found, set()), given_settings)
        ours, theirs = files(grown), files(whole)
        assert ours.keys() == theirs.keys()
        assert [file for file in ours if ours[file] != theirs[file]] == []
