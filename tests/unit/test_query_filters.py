"""Filters in every mode: what may be ranked, and what is said where little is left."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import numpy as np
import pytest
from tiny import Angles, Scripted, settings, snapshot

from hippo_lit import assemble
from hippo_lit.facets import Facets, facets_of, is_from, source_keys, write_facets
from hippo_lit.retrieve.allowed import allowed
from hippo_lit.retrieve.retriever import Retriever
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.columns import Columns, ColumnWriter
from hippo_lit.types import MODES, Filters, Mode, Paper, RetrievalResult

PAPERS = (
    Paper(
        "a",
        "Common words",
        "Common text.",
        2001,
        ("Ada Lind", "王小明"),
        venue="The Lancet",
        source="s2",
        open_access=True,
    ),
    Paper(
        "b",
        "Common words too",
        "",
        2005,
        ("Lind, Bo",),
        venue="Nature",
        source="json:refs/b.jsonl",
        open_access=False,
    ),
    Paper("c", "Common words again", "Common text.", None, (), source="arxiv+bibtex:my/refs.bib"),
    Paper("d", "Common", "Common text.", 2010, ("Jörg Müller",), venue="Nature Physics", retracted=True),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return snapshot(tmp_path_factory.mktemp("filters"), PAPERS, Angles({}, 0.5), Scripted({}))


def ask(
    made: Snapshot, filters: Filters | None, mode: Mode = "dense", query: str = "common"
) -> RetrievalResult:
    given = settings()
    retriever = Retriever(made, Angles({}, 0.5), assemble.make_filter(given, None, Cache(None)), given)
    return retriever.retrieve(query, 10, mode, filters=filters)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (Filters(), "abcd"),
        (Filters(2002, 2010), "bd"),
        (Filters(authors=("lind",)), "ab"),
        (Filters(authors=("A. Lind", "muller")), "ad"),
        (Filters(authors=("王",)), "a"),
        (Filters(venues=("lancet", "NATURE")), "ab"),
        (Filters(sources=("json",)), "b"),
        (Filters(sources=("refs.bib",)), "c"),
        (Filters(sources=("s2", "ArXiv")), "ac"),
        (Filters(has_abstract=True), "acd"),
        (Filters(has_abstract=False), "b"),
        (Filters(open_access=True), "a"),
        (Filters(open_access=False), "bcd"),
        (Filters(retracted=True), "d"),
        (Filters(retracted=False), "abc"),
        (Filters(only=("d", "a", "zz")), "ad"),
        (Filters(only=()), ""),
        (Filters(exclude=("a", "zz")), "bcd"),
        (Filters(2001, 2005, ("Lind",), only=("a", "c", "d")), "a"),
    ],
)
def test_what_may_be_ranked(made: Snapshot, filters: Filters, left: str, mode: Mode) -> None:
    ranked = {paper.paper.id for paper in ask(made, filters, mode).papers}
    everything = {paper.paper.id for paper in ask(made, None, mode).papers}
    assert ranked == everything & set(left)
    assert everything >= {"a", "c", "d"}


def test_an_empty_answer_says_what_each_filter_left(made: Snapshot) -> None:
    filters = Filters(2004, None, ("Lind",), ("Nature Physics",), has_abstract=True, exclude=("a",))
    assert ask(made, filters).reason == (
        'the filters leave 0 of 4 papers (2 of the years 2004–, 2 of author "Lind",'
        ' 1 of venue "Nature Physics", 3 with an abstract, 3 not excluded)'
    )
    strangers = ask(made, Filters(venues=("nature",)), "bm25", "absent").reason
    assert strangers.endswith('(1 of venue "nature"), and none of these has anything to do with the query')
    assert ask(made, Filters(venues=("nature",))).reason == ""


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        (
            Filters(authors=("Lindt", "Müller")),
            'no paper has the author "Lindt"; near ones: Ada Lind, Lind, Bo',
        ),
        (Filters(authors=("Ada Müler",)), 'the author "Ada Müler"; near ones: Jörg Müller'),
        (Filters(venues=("Physics",)), 'no paper has the venue "Physics"; near ones: Nature Physics'),
        (Filters(venues=("Natur",)), "near ones: Nature"),
        (Filters(venues=("The Lancets",)), "near ones: The Lancet"),
        (Filters(sources=("jason",)), "near ones: json"),
        (Filters(authors=("🦛",)), 'no paper has the author "🦛"'),
        (Filters(only=("a", "z1", "z2", "z3", "z4")), "the index holds no paper z1, z2, z3 and 1 more"),
    ],
)
def test_what_nobody_has_is_told_with_what_may_have_been_meant(
    made: Snapshot, filters: Filters, says: str
) -> None:
    assert says in ask(made, filters).reason


def test_ids_to_exclude_that_nobody_has_are_told(made: Snapshot) -> None:
    result = ask(made, Filters(exclude=("a", "zz")))
    assert result.reason == "the index holds no paper zz, which is to be excluded"
    assert "a" not in [ranked.paper.id for ranked in result.papers]


def test_lone_surrogates_ask_for_nobody(made: Snapshot) -> None:
    given = Filters(authors=("\ud800x",), venues=("\ud800",), sources=("\udfff",), only=("\ud800",))
    assert ask(made, given).papers == ()
    assert ask(made, Filters(exclude=("\ud800",))).papers


def test_keys_of_a_source() -> None:
    keys = set(source_keys("arxiv+json:refs/a.jsonl"))
    assert keys - {""} == {"arxiv", "json", "refs a jsonl", "json refs a jsonl", "a jsonl"}
    told = set(source_keys("json:refs/a.jsonl~3f9a1c"))
    assert told - {"refs a jsonl 3f9a1c", "json refs a jsonl 3f9a1c"} == keys - {"", "arxiv"}


def test_a_record_is_from_a_source_if_all_it_says_is() -> None:
    names = ("json", "a.jsonl", "refs/a.jsonl", "json:refs/a.jsonl~3f9a1c", "JSON:refs/a.jsonl")
    assert all(is_from("json:refs/a.jsonl~3f9a1c", name) for name in names)
    assert not any(is_from("arxiv+s2", name) for name in ("arxiv", "s2", "", "arxiv+"))
    assert is_from("arxiv+s2", "arxiv+s2")


def test_a_hundred_thousand_papers_are_filtered_in_milliseconds(tmp_path: Path) -> None:
    """Ten thousand here; the work of a filter depends on what it finds."""
    papers = [
        Paper(f"p{n}", "T", "", 2000, (f"Given{n} Family{n % 500}", "Common Name"), venue=f"Venue {n % 100}")
        for n in range(10_000)
    ]
    with ColumnWriter(tmp_path) as columns:
        write_facets(columns, facets_of(papers))
    facets = Facets(Columns(tmp_path))
    assert sorted(facets.by_author("Family7").tolist()) == list(range(7, 10_000, 500))
    began = process_time()
    assert len(facets.by_author("Given8 Family8")) == 1
    assert len(facets.by_venue("venue 7")) == 100
    assert facets.near_authors("Familly7")
    assert process_time() - began < 0.5


def test_of_no_papers(tmp_path: Path) -> None:
    with ColumnWriter(tmp_path) as columns:
        write_facets(columns, facets_of([]))
    facets = Facets(Columns(tmp_path))
    assert (len(facets.by_author("x")), facets.near_authors("x"), facets.near_venues("x")) == (0, [], [])
    assert facets.near_sources("x") == []


def test_the_mask_cannot_be_changed_by_who_gets_it(made: Snapshot) -> None:
    mask = allowed(Filters(), made).mask
    with pytest.raises(ValueError, match="read-only"):
        mask[0] = False
    assert np.all(mask)
