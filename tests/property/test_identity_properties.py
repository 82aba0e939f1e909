"""Whatever records come and go, in whatever order: the papers are a function of the records that are left."""

from __future__ import annotations

import tempfile
from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from hippo_lit.identifiers import canonical, identifiers, parse
from hippo_lit.identity import Aliases, groups_of
from hippo_lit.lexical.citations import CitationGraph
from hippo_lit.merge import merge_papers
from hippo_lit.storage.store import Store
from hippo_lit.types import Counts, Paper

# Few values, so that records share some and contradict each other in others.
TITLES = [
    "", "Deep nets for proteins, part I", "Deep nets for proteins, part II", "Deep Nets for Proteins: Part I",
    "Supplementary material for Deep nets for proteins", "Editorial",
    "RETRACTED: Deep nets for proteins, part I",
]  # fmt: skip
IDS = ["a", "b", "c", "2001.00001", "10.1/x", "10.1/x#1a2b3c4d", "W7001", "PMID:31"]
NAMES = ["arxiv:2001.00001", "arxiv:2001.00002", "pmid:31", "openalex:W7001", "id:a", "corpusid:5"]
papers = st.builds(
    Paper,
    id=st.sampled_from(IDS),
    title=st.sampled_from(TITLES),
    year=st.sampled_from([None, 2019, 2020]),
    authors=st.sampled_from([(), ("Ann Lee",), ("Lee A",), ("Bo Chu",)]),
    references=st.lists(st.sampled_from([*IDS, *NAMES, "zzz"]), max_size=2).map(tuple),
    source=st.sampled_from(["", "s2", "openalex"]),
    doi=st.sampled_from([None, "10.1/x", "10.1/y", "10.48550/arxiv.2001.00001"]),
    ids=st.sets(st.sampled_from(NAMES), max_size=2).map(lambda names: tuple(sorted(names))),
    retracted=st.booleans(),
)
batches = st.lists(st.lists(papers, max_size=4), max_size=4)
steps = st.tuples(st.sampled_from(["put", "delete", "forget"]), st.lists(papers, min_size=1, max_size=4))


def content(records: list[Paper]) -> list[Paper]:
    """The papers that these records make up, by the rules alone."""
    last = {(paper.id, paper.source): paper for paper in records}
    return sorted(map(merge_papers, groups_of(list(last.values()))), key=lambda paper: paper.id)


@given(batches)
@settings(max_examples=60, deadline=None)
def test_batches_do_not_matter_and_putting_again_changes_nothing(groups) -> None:
    records = list({(p.id, p.source): p for p in chain(*groups)}.values())
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:  # noqa: SIM117
        with Store.open(one, create=True) as stepwise, Store.open(two, create=True) as at_once:
            counts = sum(map(stepwise.put_papers, groups), Counts())
            at_once.put_papers(reversed(records))
            assert list(stepwise.papers()) == list(at_once.papers()) == content(records)
            assert list(stepwise.fingerprints()) == list(at_once.fingerprints())
            assert counts.added + counts.changed + counts.unchanged == sum(map(len, groups))
            assert stepwise.put_papers(records) == Counts(unchanged=len(records))


@given(st.lists(steps, max_size=6))
@settings(max_examples=60, deadline=None)
def test_what_goes_takes_exactly_its_contribution(history) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.open(folder, create=True) as store:
        left: dict[tuple[str, str], Paper] = {}
        for kind, given_papers in history:
            before = dict(store.fingerprints())
            named, source = given_papers[0].id, given_papers[0].source
            if kind == "put":
                store.put_papers(given_papers)
                left |= {(paper.id, paper.source): paper for paper in given_papers}
            else:
                only = source if kind == "forget" else None
                gone = [view for view in store.versions(named) if only in (None, view.source)]
                assert store.delete([named], source=only) == bool(gone)
                for view in gone:
                    del left[view.id, view.source]
            found = list(store.papers())
            assert found == content(list(left.values()))
            assert len(store) == len(found)
            after = dict(store.fingerprints())
            assert list(after) == [paper.id for paper in found]
            # A paper whose records changed has another fingerprint, and no other one has.
            changed = {i for i in before.keys() | after.keys() if before.get(i) != after.get(i)}
            assert bool(changed) or kind != "delete" or not gone
            for view in left.values():
                assert store.paper(view.id) in found


@given(st.lists(papers, max_size=6))
@settings(deadline=None)
def test_every_name_that_one_paper_has_leads_to_it(records) -> None:
    merged = content(records)
    aliases = Aliases(merged)
    with tempfile.TemporaryDirectory() as folder, Store.open(folder, create=True) as store:
        store.put_papers(records)
        for paper in merged:
            assert aliases.find(paper.id) == store.resolve(paper.id) == paper.id
            for name in identifiers(paper):
                owners = [other for other in merged if name in identifiers(other)]
                if len(owners) == 1 and name not in {other.id for other in merged}:
                    assert aliases.find(name.removeprefix("id:")) == paper.id
    graph = CitationGraph.from_papers(merged)
    assert graph.unknown <= sum(len(paper.references) for paper in merged)


@given(st.lists(papers, min_size=1, max_size=6), st.randoms())
@settings(deadline=None)
def test_groups_do_not_depend_on_order(records, random) -> None:
    shuffled = random.sample(records, len(records))
    as_sets = [{frozenset(group) for group in groups_of(order)} for order in (records, shuffled)]
    assert as_sets[0] == as_sets[1]


@given(st.text(max_size=60) | st.sampled_from(NAMES).flatmap(lambda n: st.text(max_size=5).map(n.__add__)))
def test_a_canonical_form_is_its_own(text) -> None:
    found = parse(text)
    if found is not None:
        assert parse(found) == found
        kind, _, value = found.partition(":")
        assert canonical(kind, value) == found
