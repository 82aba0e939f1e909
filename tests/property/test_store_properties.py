from __future__ import annotations

import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st

from hippo_lit.merge import merge_papers
from hippo_lit.storage.payload import extraction_from_json, extraction_to_json, paper_from_json, paper_to_json
from hippo_lit.storage.store import Store
from hippo_lit.types import Counts, Extraction, Fact, Mention, Paper

ids = st.sampled_from(["a", "b", "c"])
sources = st.sampled_from(["", "arxiv", "s2"])
papers = st.builds(
    Paper, id=ids, title=st.sampled_from(["T", "Title"]), year=st.sampled_from([None, 2020]), source=sources
)
steps = st.one_of(
    st.tuples(st.just("put"), st.lists(papers, max_size=4)),
    st.tuples(st.just("replace"), st.lists(papers, max_size=2)),
    st.tuples(st.just("delete"), st.lists(ids, max_size=2)),
    st.tuples(st.just("forget"), st.tuples(st.lists(ids, max_size=2), sources)),
)


def apply(model: dict[tuple[str, str], Paper], kind: str, argument) -> dict[tuple[str, str], Paper]:
    """The store as a dictionary of records."""
    model = dict(model)
    if kind in ("put", "replace"):
        if kind == "replace":
            ids = {paper.id for paper in argument}
            given = {(paper.id, paper.source) for paper in argument}
            model = {key: value for key, value in model.items() if key[0] not in ids or key in given}
        for paper in argument:
            model[paper.id, paper.source] = paper
        return model
    gone, source = argument if kind == "forget" else (argument, None)
    return {k: v for k, v in model.items() if k[0] not in gone or source not in (None, k[1])}


def merged(model: dict[tuple[str, str], Paper]) -> list[Paper]:
    return [merge_papers([p for p in model.values() if p.id == i]) for i in sorted({i for i, _ in model})]


@given(st.lists(steps, max_size=10))
@settings(max_examples=15, deadline=None)
def test_any_history_equals_the_final_papers_put_at_once(history) -> None:
    model: dict[tuple[str, str], Paper] = {}
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:  # noqa: SIM117
        with Store.open(one, create=True) as store, Store.open(two, create=True) as at_once:
            for kind, argument in history:
                before, generation = model, store.generation
                model = apply(model, kind, argument)
                if kind in ("put", "replace"):
                    counts = store.put_papers(argument, replace=kind == "replace")
                    assert counts.added == len({i for i, _ in model} - {i for i, _ in before})
                    assert counts.added + counts.changed + counts.unchanged == len(argument)
                elif kind == "delete":
                    assert store.delete(argument) == len({i for i, _ in before} - {i for i, _ in model})
                else:
                    assert store.delete(argument[0], source=argument[1]) == len(before) - len(model)
                assert list(store.papers()) == merged(model)
                assert (store.generation > generation) or model == before
            assert at_once.put_papers(reversed(model.values())).changed == len(model) - len(merged(model))
            assert list(at_once.papers()) == list(store.papers())
            assert list(at_once.fingerprints()) == list(store.fingerprints())
            assert at_once.put_papers(model.values()) == Counts(unchanged=len(model))


anything = st.text(st.characters(), max_size=8)
texts = st.lists(anything, max_size=3).map(tuple)


@given(
    st.builds(
        Paper, id=anything, title=anything, abstract=anything, year=st.none() | st.integers(), authors=texts,
        references=texts, citations=texts, source=anything, doi=st.none() | anything,
    )
)  # fmt: skip
def test_any_paper_survives_as_json(paper) -> None:
    assert paper_from_json(paper_to_json(paper)) == paper
    paper_to_json(paper).encode()


@given(
    st.builds(
        Extraction,
        st.lists(st.builds(Mention, anything, st.integers(-1, 9), st.sampled_from(["name", "phrase"]))).map(
            tuple
        ),
        st.lists(st.builds(Fact, anything, anything, anything)).map(tuple),
        st.lists(st.integers(-1, 9)).map(tuple),
    )
)
def test_any_extraction_survives_as_json(extraction) -> None:
    assert extraction_from_json(extraction_to_json(extraction)) == extraction


@given(st.text() | st.from_regex(r'\{"(mentions|facts|id)": ?.{0,20}\}'))
def test_any_text_is_read_or_a_value_error(text) -> None:
    for read in (paper_from_json, extraction_from_json):
        try:
            read(text)
        except ValueError:
            continue
