"""Whatever the order, the batches and the questions: one index, and a proper ranking."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hippo_lit import HippoLit, Settings
from hippo_lit.graph.build import GraphBuilder
from hippo_lit.graph.factgraph import EDGE_KINDS, FactGraph
from hippo_lit.graph.matching import matches
from hippo_lit.passages import passages_of
from hippo_lit.sentences import sentence_spans
from hippo_lit.types import MODES, Extraction, Fact, Mention, Mode, Paper, Passage, RetrievalResult

QUICK = Settings.model_validate({"embedding": {"kind": "hash"}, "extract": {"kind": "simple"}})
PAPERS = [
    Paper("p1", "Sparse Attention", "Sparse Attention (SA) lowers cost. Longformer uses SA.", 2019,
          references=("p2", "p1")),
    Paper("p2", "Longformer", "Longformer reads long documents. It was made at AI2 in Seattle.", 2020),
    Paper("p3", "Same Title", "MNIST is compressed by Dataset Distillation."),
    Paper("p4", "Same Title", "MNIST is compressed by Dataset Distillation."),
    Paper("p5", "北京大学", "北京大学在北京。C++ and C# differ; β-Catenin. " * 110, 1999, (), (), ("p1",)),
    Paper("p6", "Bare", references=("p5", "p7")),
]  # fmt: skip
QUESTIONS = ["Who made Longformer in Seattle?", "MNIST", "北京大学", "what lowers the cost of C++?"]


@contextmanager
def indexed(batches: Sequence[Sequence[Paper]]) -> Iterator[HippoLit]:
    with tempfile.TemporaryDirectory() as folder, HippoLit.open(folder, QUICK) as lit:
        for batch in batches:
            lit.add(batch)
        yield lit


def told(result: RetrievalResult) -> list[tuple[object, ...]]:
    return [(r.paper, r.rank, r.score, dict(r.scores), r.path) for r in result.papers]


def answers(lit: HippoLit) -> list[object]:
    return [told(lit.retrieve(question, mode=mode)) for question in QUESTIONS for mode in MODES]


def graph_of(lit: HippoLit) -> FactGraph:
    snapshot = lit.snapshot()
    assert snapshot is not None
    return snapshot.graph


def weights(graph: FactGraph) -> dict[tuple[str, int, int], float]:
    return {
        (kind, int(a), int(b)): float(w)
        for kind, edges in graph.edges.items()
        for a, b, w in zip(edges.source, edges.target, edges.weight, strict=True)
    }


@pytest.fixture(scope="module")
def at_once() -> Iterator[HippoLit]:
    with indexed([PAPERS]) as lit:
        yield lit


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(PAPERS), st.lists(st.integers(1, 5), max_size=3))
def test_order_and_batches_leave_no_trace(at_once: HippoLit, papers: list[Paper], cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(papers)]
    batches = [papers[a:b] for a, b in pairwise(ends)]
    with indexed([*batches, papers[:2]]) as lit:  # the first two once more: nothing to do
        ours, theirs = lit.snapshot(), at_once.snapshot()
        assert ours is not None
        assert theirs is not None
        assert ours.name == theirs.name
        assert weights(ours.graph) == weights(theirs.graph)
        assert answers(lit) == answers(at_once)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.text(max_size=60),
        st.text(st.characters(codec=None), max_size=20),
        st.lists(st.sampled_from("who made Longformer 北京大学 C++ β-catenin ? \ud800 \x00 🎉 MNIST".split()),
                 max_size=8).map(" ".join),
    ),
    st.sampled_from(MODES),
    st.integers(1, 8),
)  # fmt: skip
def test_any_question_has_a_proper_answer(at_once: HippoLit, query: str, mode: Mode, k: int) -> None:
    result = at_once.retrieve(query, k, mode)
    assert result.query == query
    assert result.mode == mode
    assert not result.degraded
    assert (result.route == mode) == (not result.reason) or not query.strip()
    assert len(result.papers) <= k
    assert [ranked.rank for ranked in result.papers] == list(range(1, len(result.papers) + 1))
    scores = [ranked.score for ranked in result.papers]
    assert scores == sorted(scores, reverse=True)
    assert np.isfinite(scores).all()
    assert len({ranked.paper.id for ranked in result.papers}) == len(result.papers)
    assert set(result.trace.kept) <= set(result.trace.candidates)
    for candidate in result.trace.candidates:
        assert 0 <= candidate.score <= 1
        assert 0 <= candidate.specificity <= 1
    assert at_once.retrieve(query, k, mode).papers == result.papers


NAMES = st.sampled_from(["Alpha", "the Beta", "Beta's", "C++", "C#", "北京", "é", "e", "", "Gamma Ray"])
EXTRACTIONS = st.builds(
    lambda mentions, facts: Extraction(
        tuple(mentions), tuple(f for f, _ in facts), tuple(s for _, s in facts)
    ),
    st.lists(st.builds(Mention, NAMES, st.integers(-2, 3), st.sampled_from(["name", "phrase"])), max_size=5),
    st.lists(
        st.tuples(st.builds(Fact, NAMES, st.sampled_from(["likes", "is"]), NAMES), st.integers(-2, 3)),
        max_size=5,
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EXTRACTIONS, max_size=5))
def test_a_graph_is_well_formed_whatever_was_extracted(extractions: list[Extraction]) -> None:
    builder = GraphBuilder()
    for number, extraction in enumerate(extractions):
        builder.add(Passage(f"p{number}", 0, "Alpha", "Beta is C++. 北京."), 2, extraction)
    graph = builder.build()
    n, size = graph.n_passages, graph.n_passages + graph.n_entities
    assert set(graph.edges) == set(EDGE_KINDS)
    for kind, edges in graph.edges.items():
        pairs = list(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)
        assert all(0 <= a < b < size for a, b in pairs)
        assert (edges.weight > 0).all()
        if kind == "mention":
            assert all(a < n <= b for a, b in pairs)
        elif kind in ("fact", "cooccurrence"):
            assert all(a >= n for a, _ in pairs)
    assert ((graph.spread >= 1) & (graph.spread <= max(n, 1))).all()
    assert len(graph.fact_start) == graph.n_facts + 1
    assert (np.diff(graph.fact_start) > 0).all()
    stated = graph.fact_sentence
    assert ((stated < 2 * n) & (stated >= -n)).all()
    assert "" not in graph.names


@given(st.text(max_size=200), st.lists(st.text(max_size=6), max_size=6))
def test_matches_never_fail(text: str, names: list[str]) -> None:
    known = dict(zip(names, names, strict=True))
    assert set(matches(text, known.get)) <= set(names)


@given(st.text(max_size=3000), st.integers(5, 300), st.sampled_from(["", "T"]))
def test_passages_keep_every_character(abstract: str, most: int, title: str) -> None:
    found = passages_of(Paper("p", title, abstract), most)
    whole = passages_of(Paper("p", title, abstract), 10**6)[0].body
    assert "".join("".join(p.body.split()) for p in found) == "".join(whole.split())
    assert all(len(p.body) <= most for p in found)
    for passage in found:
        shift = len(passage.text) - len(passage.body)
        for start, end in sentence_spans(passage.body):
            assert passage.text[start + shift : end + shift] == passage.body[start:end]
