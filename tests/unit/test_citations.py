from __future__ import annotations

import numpy as np
import pytest

from hippo_lit.errors import ConfigError, DataError
from hippo_lit.lexical.citations import CitationGraph
from hippo_lit.types import Paper

# a → b → c → d, e → b, f alone
CHAIN = CitationGraph(list("abcdef"), [("a", "b"), ("b", "c"), ("c", "d"), ("e", "b")])


def test_forward_is_what_a_paper_cites_and_backward_what_cites_it() -> None:
    assert CHAIN.forward("b") == ("c",)
    assert CHAIN.backward("b") == ("a", "e")
    assert CHAIN.forward("f") == CHAIN.backward("f") == ()
    assert CHAIN.forward("not in the corpus") == ()
    assert (len(CHAIN), CHAIN.edge_count) == (6, 4)


def test_both_fields_state_a_citation_and_it_counts_once() -> None:
    papers = [
        Paper("a", "A", references=("b", "c", "b")),
        Paper("b", "B", citations=("a", "c")),
        Paper("c", "C"),
    ]
    graph = CitationGraph.from_papers(papers)
    assert graph.edge_count == 3
    assert graph.forward("a") == ("b", "c")
    assert graph.backward("b") == ("a", "c")


def test_unknown_ids_and_self_citations_are_counted_and_left_out() -> None:
    papers = [Paper("a", "A", references=("a", "x", "b"), citations=("y",)), Paper("b", "B")]
    graph = CitationGraph.from_papers(papers)
    assert (graph.unknown, graph.self_citations, graph.edge_count) == (2, 1, 1)
    assert graph.forward("a") == ("b",)


def test_hops_go_both_ways_up_to_the_ceiling() -> None:
    assert CHAIN.hops([0]).tolist() == [0, 1, 2, -1, 2, -1]
    assert CHAIN.hops([0], 1).tolist() == [0, 1, -1, -1, -1, -1]
    assert CHAIN.hops([0], 3).tolist() == [0, 1, 2, 3, 2, -1]
    assert CHAIN.hops([0, 3, 3], 0).tolist() == [0, -1, -1, 0, -1, -1]
    assert CHAIN.hops([0, 3]).tolist() == [0, 1, 1, 0, 2, -1]
    assert CHAIN.hops([]).tolist() == [-1] * 6
    assert CHAIN.hops([0]).dtype == np.int16


def test_cycles_end() -> None:
    ring = CitationGraph(list("abcd"), [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("b", "a")])
    assert ring.hops([0], 30_000).tolist() == [0, 1, 2, 1]


def test_path_is_a_shortest_way() -> None:
    distance = CHAIN.hops([0], 3)
    assert CHAIN.path(distance, 3) == [0, 1, 2, 3]
    assert CHAIN.path(distance, 4) == [0, 1, 4]
    assert CHAIN.path(distance, 0) == [0]
    assert CHAIN.path(distance, 5) == []


def test_bad_arguments_are_refused() -> None:
    for max_hops in (-1, 40_000):
        with pytest.raises(ConfigError, match="max_hops"):
            CHAIN.hops([0], max_hops)
    for seed in (-1, 6):
        with pytest.raises(IndexError, match="outside the 6 papers"):
            CHAIN.hops([seed])
    with pytest.raises(DataError, match="'b' occurs twice"):
        CitationGraph(["a", "b", "b"])


def test_arrays_rebuild_the_graph() -> None:
    again = CitationGraph.from_arrays(CHAIN.ids, *CHAIN.arrays())
    assert [end.tolist() for end in again.arrays()] == [[0, 1, 2, 4], [1, 2, 3, 1]]
    assert again.hops([0]).tolist() == CHAIN.hops([0]).tolist()
    with pytest.raises(DataError, match=r"outside 0\.\.0"):
        CitationGraph.from_arrays(["a"], np.array([0], np.int32), np.array([1], np.int32))


def test_an_empty_corpus_has_an_empty_graph() -> None:
    graph = CitationGraph.from_papers([])
    assert (len(graph), graph.edge_count, graph.hops([]).tolist()) == (0, 0, [])
    assert CitationGraph.from_arrays([], *graph.arrays()).edge_count == 0


def test_id_order_is_the_place_among_sorted_ids() -> None:
    assert CitationGraph(["c", "a", "b"]).id_order.tolist() == [2, 0, 1]


def test_citations_may_name_a_paper_by_any_of_its_identifiers() -> None:
    papers = [
        Paper("mine", "A", doi="10.1/X", ids=("arxiv:1706.03762", "id:old", "openalex:W7")),
        Paper(
            "b", "B", references=("arXiv:1706.03762v2", "https://doi.org/10.1/x", "old"), citations=("W7",)
        ),
        Paper("c", "C", references=("openalex:W7", "W8", "1706.037620")),
    ]
    graph = CitationGraph.from_papers(papers)
    assert graph.backward("mine") == ("b", "c")
    assert graph.forward("mine") == ("b",)
    assert (graph.edge_count, graph.unknown) == (3, 2)
