"""Passages and extractions to a graph: every kind of edge, and its weight, counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hippo_lit.graph.build import GraphBuilder
from hippo_lit.graph.derive import MAX_COOCCURRING
from hippo_lit.graph.factgraph import EDGE_KINDS, EdgeKind, FactGraph
from hippo_lit.storage.columns import Columns, ColumnWriter
from hippo_lit.types import Extraction, Fact, Mention, Passage

P0 = Passage("p0", 0, "Alpha", "Beta meets Gamma. Gamma sleeps. Beta meets Gamma again.")
X0 = Extraction(
    (
        Mention("Alpha", -1),
        Mention("Beta", 0),
        Mention("Gamma", 0),
        Mention("the Gamma", 1),
        Mention("sleeping sickness", 1, "phrase"),
        Mention("Beta", 2),
        Mention("Gamma", 2),
        Mention("Gamma", 2),
    ),
    (Fact("Beta", "meets", "Gamma"), Fact("The Beta", "meets", "gamma"), Fact("Gamma", "meets", "Beta")),
    (0, 2, 2),
)
P1 = Passage("p1", 0, "Beta (film)", "A film with Delta.")
X1 = Extraction(
    (Mention("Delta", 0),),
    (Fact("Beta", "shows", "Delta"), Fact("Beta", "is", "beta"), Fact("Beta", "likes", "long days")),
    (0, -1, 7),
)
P2 = Passage("p2", 0, "Nothing here", "No extraction, but Gamma.")


def builder(*given: tuple[Passage, int, Extraction]) -> GraphBuilder:
    made = GraphBuilder(title_weight=4.0)
    for passage, sentences, extraction in given or ((P0, 3, X0), (P1, 1, X1), (P2, 1, Extraction())):
        made.add(passage, sentences, extraction)
    return made


def edges(graph: FactGraph, kind: EdgeKind) -> dict[tuple[str, str], float]:
    def name(node: int) -> str:
        n = graph.n_passages
        return f"p{node}" if node < n else graph.names[node - n].casefold()

    found = graph.edges[kind]
    assert (found.source < found.target).all()
    rows = zip(found.source.tolist(), found.target.tolist(), found.weight.tolist(), strict=True)
    listed = [((name(a), name(b)), weight) for a, b, weight in rows]
    assert len(dict(listed)) == len(listed), "a pair stands twice"
    return dict(listed)


def test_entities_are_names_titles_and_ends_of_facts() -> None:
    names = [name.casefold() for name in builder().build().names]
    assert names == ["alpha", "beta", "gamma", "beta (film)", "delta", "long days"]
    assert builder().names() == {"alpha": 0, "beta": 1, "gamma": 2, "beta film": 3, "delta": 4}


def test_mentions_weigh_one_and_in_the_title_more() -> None:
    assert edges(builder().build(), "mention") == {
        ("p0", "alpha"): 4.0,
        ("p0", "beta"): 1.0,
        ("p0", "gamma"): 1.0,
        ("p1", "beta (film)"): 4.0,
        ("p1", "beta"): 4.0,
        ("p1", "delta"): 1.0,
        ("p1", "long days"): 1.0,
    }


def test_facts_join_once_a_statement_and_never_an_entity_to_itself() -> None:
    joined = edges(builder().build(), "fact")
    assert joined == {("beta", "gamma"): 3.0, ("beta", "delta"): 1.0, ("beta", "long days"): 1.0}


def test_names_of_a_sentence_are_joined_once_a_sentence() -> None:
    assert edges(builder().build(), "cooccurrence") == {("beta", "gamma"): 2.0}


def test_a_list_of_names_joins_nothing() -> None:
    for count in (MAX_COOCCURRING, MAX_COOCCURRING + 1):
        named = tuple(Mention(f"Name{i}", 0) for i in range(count))
        graph = builder((Passage("p", 0, "", "x"), 1, Extraction(named))).build()
        pairs = count * (count - 1) // 2 if count == MAX_COOCCURRING else 0
        assert len(graph.edges["cooccurrence"].source) == pairs
        assert len(graph.edges["mention"].source) == count


def test_given_edges_are_undirected_distinct_and_without_loops() -> None:
    graph = builder().build(
        citations=[(1, 0), (0, 1), (1, 0), (2, 2)], continuations=[(1, 2)], synonyms=[(0, 2, 0.9)]
    )
    assert edges(graph, "citation") == {("p0", "p1"): 1.0}
    assert edges(graph, "continuation") == {("p1", "p2"): 1.0}
    assert edges(graph, "synonym") == {("alpha", "gamma"): 0.9}
    assert set(graph.edges) == set(EDGE_KINDS)


def test_a_fact_is_one_however_often_it_is_stated() -> None:
    graph = builder().build()
    assert graph.n_facts == 5
    assert [graph.fact(i) for i in range(2)] == [
        Fact("Beta", "meets", "Gamma"),
        Fact("Gamma", "meets", "Beta"),
    ]
    stated = [
        graph.fact_sentence[graph.fact_start[i] : graph.fact_start[i + 1]].tolist()
        for i in range(graph.n_facts)
    ]
    # Sentences count through all passages; -1 - p where the sentence is the title, or not known.
    assert stated == [[0, 2], [2], [3], [-2], [-2]]
    assert [graph.passage_of(sentence) for sentence in (0, 2, 3, 4, -1, -2, -3)] == [0, 0, 1, 2, 0, 1, 2]


def test_facts_that_contradict_are_two() -> None:
    said = Extraction(
        (),
        (Fact("drug", "has", "an effect"), Fact("drug", "has", "no effect"), Fact("drug", "has", "effect")),
    )
    said = Extraction((), said.facts, (0, 0, 0))
    graph = builder((Passage("p", 0, "", "x"), 1, said)).build()
    assert [graph.fact(i).object for i in range(graph.n_facts)] == ["an effect", "no effect"]
    assert edges(graph, "fact") == {("drug", "effect"): 3.0} or len(edges(graph, "fact")) == 1


def test_a_sentence_holds_its_entities_and_those_of_the_title() -> None:
    graph = builder().build()
    names = [name.casefold() for name in graph.names]
    rows = [{names[i] for i in graph.stating(s)} for s in range(graph.n_sentences)]
    title = {"beta (film)", "beta"}
    assert rows == [{"alpha", "beta", "gamma"}, {"alpha", "gamma"}, {"alpha", "beta", "gamma"},
                    {"delta"} | title, set()]  # fmt: skip
    assert graph.sentence_start.tolist() == [0, 3, 4, 5]


def test_spread_counts_the_passages_that_hold_or_mention_an_entity() -> None:
    graph = builder().build()
    spread = dict(zip([name.casefold() for name in graph.names], graph.spread.tolist(), strict=True))
    # "Gamma" stands in p2 as well, and the title "Beta (film)" is about Beta.
    assert spread == {"alpha": 1, "beta": 2, "gamma": 2, "beta (film)": 1, "delta": 1, "long days": 1}


def test_without_an_extractor_there_is_no_graph() -> None:
    graph = builder((P0, 3, Extraction()), (P1, 1, Extraction())).build()
    assert (graph.n_entities, graph.n_facts, graph.n_passages) == (0, 0, 2)
    assert graph.adjacency({"mention": 1.0}).nnz == 0


def test_facts_without_a_name_are_passed_over_and_odd_text_is_kept() -> None:
    said = (Fact("", "r", "b"), Fact("?!", "r", "b"), Fact("a\tx", "r\n\t", "b\u2028y"), Fact("a", "", "b"))
    graph = builder((Passage("p", 0, "T", "x"), 1, Extraction((), said, (0, 0, 0, 0)))).build()
    assert [graph.fact(i) for i in range(graph.n_facts)] == [Fact("a x", "r", "b y"), Fact("a", "", "b")]


def test_adjacency_is_the_weighted_sum_of_the_kinds() -> None:
    graph = builder().build(citations=[(0, 1)])
    whole = graph.adjacency({"fact": 0.5, "cooccurrence": 0.25, "mention": 1.0, "citation": 3.0}).toarray()
    assert (whole == whole.T).all()
    assert not whole.diagonal().any()
    beta, gamma = 3 + 1, 3 + 2
    assert whole[beta, gamma] == 0.5 * 3 + 0.25 * 2
    assert (whole[0, 1], whole[0, 3], whole[1, beta]) == (3.0, 4.0, 4.0)
    assert graph.adjacency({}).nnz == 0
    assert graph.adjacency({"citation": 3.0}).nnz == 2


WEIGHTS: dict[EdgeKind, float] = {"mention": 1.0, "fact": 0.5, "citation": 3.0}


def test_what_is_looked_up_is_what_a_search_of_all_finds() -> None:
    graph = builder().build(citations=[(0, 1)])
    for entity in range(graph.n_entities):
        assert graph.naming(entity).tolist() == [
            s for s in range(graph.n_sentences) if entity in graph.stating(s)
        ]
    fact = np.repeat(np.arange(graph.n_facts), np.diff(graph.fact_start))
    for sentence in range(-graph.n_passages, int(graph.sentence_start[-1])):
        places, facts = graph.facts_stated(sentence, sentence + 1)
        assert places.tolist() == np.flatnonzero(graph.fact_sentence == sentence).tolist()
        assert facts.tolist() == fact[places].tolist()
    joined = list(zip(graph.fact_subject.tolist(), graph.fact_object.tolist(), strict=True))
    for a in range(graph.n_entities):
        for b in range(graph.n_entities):
            expected = [i for i, pair in enumerate(joined) if pair in ((a, b), (b, a))]
            assert graph.fact_between(a, b) == (expected[0] if expected else None)
    for edges_of in graph.edges.values():
        pairs = set(zip(edges_of.source.tolist(), edges_of.target.tolist(), strict=True))
        for a in range(graph.n_passages + graph.n_entities):
            for b in range(a + 1, graph.n_passages + graph.n_entities):
                assert edges_of.joins(a, b) == ((a, b) in pairs)


def read_back(graph: FactGraph, folder: Path) -> FactGraph:
    folder.mkdir()
    with ColumnWriter(folder) as out:
        graph.write(out, WEIGHTS)
    return FactGraph.read(Columns(folder))


def test_columns_give_the_same_graph_back(tmp_path: Path) -> None:
    graph = builder().build(citations=[(0, 1)], synonyms=[(0, 2, 0.9)])
    again = read_back(graph, tmp_path / "g")
    for name in ("spread", "link_start", "link_entity", "sentence_start", "fact_subject", "fact_object",
                 "fact_start", "fact_sentence", "pair_order", "statement_start", "statement_entity",
                 "stated_order", "stated_sentence",
                 "naming_start", "naming_sentence"):  # fmt: skip
        np.testing.assert_array_equal(getattr(again, name), getattr(graph, name))
        assert getattr(again, name).dtype == getattr(graph, name).dtype
    for name in ("names", "link_keys", "fact_text"):
        assert list(getattr(again, name)) == list(getattr(graph, name))
    for kind in EDGE_KINDS:
        assert edges(again, kind) == edges(graph, kind)
    assert again.stored is not None
    assert (again.walk(WEIGHTS).adjacency != graph.adjacency(WEIGHTS)).nnz == 0
    assert again.walk(WEIGHTS).adjacency is again.stored.adjacency
    assert again.walk(WEIGHTS).degree.tolist() == graph.adjacency(WEIGHTS).sum(axis=1).ravel().tolist()[0]
    other = {"citation": 3.0}
    assert (again.walk(other).adjacency != graph.adjacency(other)).nnz == 0
    assert again.n_passages == graph.n_passages
    empty = read_back(GraphBuilder().build(), tmp_path / "empty")
    assert (empty.n_passages, empty.n_entities, empty.n_facts) == (0, 0, 0)
    assert empty.adjacency({"fact": 1.0}).shape == (0, 0)


def test_what_a_question_can_name(tmp_path: Path) -> None:
    said = Extraction(
        (Mention("Jiménez", 0), Mention("Jimenez", 0), Mention("thing", 0, "phrase")),
        (Fact("Jiménez", "has", "dog"), Fact("Jiménez", "has", "old dog")),
        (0, 0),
    )
    made = builder((Passage("p", 0, "The Way (song)", "x"), 1, said)).build()
    with pytest.raises(TypeError, match="read from a snapshot"):
        made.named("jimenez")
    graph = read_back(made, tmp_path / "g")

    def called(spelling: str) -> list[str] | None:
        numbers = graph.named(spelling)
        return None if numbers is None else [graph.names[i] for i in numbers]

    assert called("jimenez") == ["Jiménez", "Jimenez"]  # two entities of one spelling
    assert called("way") == ["The Way"]
    assert called("way song") == ["The Way (song)"]
    assert called("old dog") == ["old dog"]
    assert called("dog") is None  # one common word names nothing
    assert called("thing") is None
    assert called("") is None
