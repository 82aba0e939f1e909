"""Properties of the lesson retriever's parts, on generated inputs."""

from __future__ import annotations

import math
from collections import Counter, deque
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hippo_lit.lexical.bm25 import BM25Index
from hippo_lit.lexical.citations import CitationGraph
from hippo_lit.lexical.twopass import two_pass, year_array
from hippo_lit.sentences import first_sentences, sentence_spans, split_sentences
from hippo_lit.text import normalise
from hippo_lit.tokenizers import PlainTokenizer, UnicodeTokenizer
from hippo_lit.topk import best_above_zero

WORDS = st.sampled_from("a b c dd Ee é 北 .".split())
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=8)
EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30)
PIECES = [*"aA1. !?…。।)\"'(\n-[],/:@%é北と", " et al. ", "e.g. ", "The ", "www.", "Fig. "]
PROSE = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(st.one_of(st.text(), PROSE))
def test_spans_cover_the_text_in_order(text: str) -> None:
    spans = sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    covered = {i for start, end in spans for i in range(start, end)}
    assert {i for i, character in enumerate(text) if not character.isspace()} <= covered
    assert all(sentence == sentence.strip() for sentence in split_sentences(text))
    assert split_sentences(text) == [text[start:end] for start, end in spans]


@given(PROSE, st.integers(1, 4))
def test_first_sentences_are_the_first(text: str, n: int) -> None:
    assert first_sentences(text, n).startswith("".join(split_sentences(text)[:1]))
    assert first_sentences(text, len(text) + 1) == text.strip()


@given(st.one_of(st.text(), st.text(st.characters(max_codepoint=127))))
def test_unicode_tokens_are_the_normal_form(text: str) -> None:
    joined = "".join(normalise(text).split())
    tokens = UnicodeTokenizer()(text)
    if text.isascii():
        assert "".join(tokens) == joined
    assert set("".join(tokens)) == set(joined)


@given(TEXTS, st.lists(WORDS, max_size=6).map(" ".join))
def test_bm25_is_the_formula(texts: list[str], query: str) -> None:
    index = BM25Index.build(texts)
    cut = PlainTokenizer()
    documents = [Counter(cut(text)) for text in texts]
    mean = sum(document.total() for document in documents) / max(len(documents), 1) or 1.0
    expected = [
        math.fsum(
            math.log((len(texts) - df + 0.5) / (df + 0.5) + 1)
            * (document[term] * 2.5)
            / (document[term] + 1.5 * (0.25 + 0.75 * document.total() / mean))
            for term in cut(query)
            for df in [sum(term in other for other in documents)]
        )
        for document in documents
    ]
    scores = index.scores(query)
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    for i in range(len(texts)):
        assert math.isclose(math.fsum(index.contributions(query, i).values()), scores[i], rel_tol=1e-12)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0])), st.integers(0, 9))
def test_best_is_a_full_sort_cut_short(values: list[float], k: int) -> None:
    order = sorted((i for i, value in enumerate(values) if value > 0), key=lambda i: (-values[i], i))
    assert best_above_zero(np.array(values, dtype=np.float64), k).tolist() == order[:k]


def naive_hops(n: int, edges: list[tuple[int, int]], seeds: set[int], max_hops: int) -> list[int]:
    around: dict[int, set[int]] = {i: set() for i in range(n)}
    for a, b in edges:
        around[a].add(b)
        around[b].add(a)
    distance = dict.fromkeys(seeds, 0)
    queue = deque(seeds)
    while queue:
        node = queue.popleft()
        for other in around[node] - distance.keys():
            if distance[node] < max_hops:
                distance[other] = distance[node] + 1
                queue.append(other)
    return [distance.get(i, -1) for i in range(n)]


@given(EDGES, st.sets(st.integers(0, 11), max_size=4), st.integers(0, 5))
def test_hops_are_those_of_a_naive_search(
    edges: list[tuple[int, int]], seeds: set[int], max_hops: int
) -> None:
    graph = CitationGraph([f"{i:02}" for i in range(12)], [(f"{a:02}", f"{b:02}") for a, b in edges])
    hops = graph.hops(sorted(seeds), max_hops)
    assert hops.tolist() == naive_hops(12, edges, seeds, max_hops)
    touching = {frozenset(edge) for edge in edges}
    for target in range(12):
        way = graph.path(hops, target)
        assert len(way) == hops[target] + 1
        assert all(frozenset(step) in touching for step in pairwise(way))
        assert not way or (way[0] in seeds and way[-1] == target)


@given(
    st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.5]), min_size=12, max_size=12),
    EDGES,
    st.lists(st.one_of(st.none(), st.integers(1990, 2030)), min_size=12, max_size=12),
    st.integers(0, 4),
)
def test_two_pass_ranks_what_was_found_within_bounds(
    bm25: list[float], edges: list[tuple[int, int]], years: list[int | None], seed_hits: int
) -> None:
    graph = CitationGraph([f"{i:02}" for i in range(12)], [(f"{a:02}", f"{b:02}") for a, b in edges])
    result = two_pass(np.array(bm25), graph, year_array(years), seed_hits=seed_hits)
    assert set(result.union.tolist()) == {i for i in range(12) if bm25[i] > 0 or result.distance[i] >= 0}
    assert ((result.final >= 0) & (result.final <= 1 + 1e-12)).all()
    order = [(-result.final[i], i) for i in result.union]
    assert order == sorted(order)
