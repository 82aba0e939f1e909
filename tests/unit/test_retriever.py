"""Modes, order, restrictions, and which route answers when one cannot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tiny import COSINES, FOUND, PAPERS, Angles, Scripted, four_papers, settings, snapshot

from hippo_lit import assemble
from hippo_lit.config import Settings
from hippo_lit.errors import ChatModelError, ConfigError, EmbeddingError, MissingExtraError
from hippo_lit.protocols import Embedder, TextKind, Vectors
from hippo_lit.retrieve.retriever import Retriever
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.cache import Cache
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import MODES, Extraction, Filters, Mode, Paper, RetrievalResult

LLM = {"kind": "llm", "linking_top_k": 9}
DOWN = ChatModelError("the server is down", model="fake", status=500, kind="server")


class Broken(Angles):
    """Fails for the kinds given."""

    def __init__(self, *kinds: TextKind, error: Exception | None = None) -> None:
        super().__init__(COSINES)
        self.kinds = kinds
        self.error = error or EmbeddingError("no weights", model="angles")

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        if kind in self.kinds:
            raise self.error
        return super().embed(texts, kind)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return four_papers(tmp_path_factory.mktemp("four"))


def retriever(
    made: Snapshot,
    given: Settings | None = None,
    *,
    embedder: Embedder | None = None,
    chat: FakeChatModel | None = None,
) -> Retriever:
    given = given or settings()
    fact_filter = assemble.make_filter(given, chat, Cache(None))
    return Retriever(made, embedder or Angles(COSINES), fact_filter, given)


def ids(result: RetrievalResult) -> list[str]:
    return [ranked.paper.id for ranked in result.papers]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_a_ranking(four: Snapshot, mode: Mode) -> None:
    result = retriever(four).retrieve("Who likes Beta in Kraków?", 10, mode)
    assert (result.mode, result.route, result.degraded, result.reason) == (mode, mode, False, "")
    scores = [ranked.score for ranked in result.papers]
    assert scores == sorted(scores, reverse=True)
    assert [ranked.rank for ranked in result.papers] == list(range(1, len(scores) + 1))
    assert len(set(ids(result))) == len(scores) > 0
    assert result.papers[0].paper in PAPERS
    assert result.metrics.hits == len(scores)
    assert result.metrics.top_score == scores[0]
    assert result.metrics.mean_score == pytest.approx(sum(scores) / len(scores))
    assert result.metrics.wall_time_s > 0
    assert result.trace.snapshot == four.name
    for ranked in result.papers:
        assert 0 <= ranked.final_score <= 1
        assert 0 <= ranked.recency_score <= 1
        assert ranked.scores["bm25"] >= 0
        if mode != "lexical":
            assert ranked.score == pytest.approx(ranked.scores.get(mode, ranked.score))


def test_dense_ranks_by_cosine_and_bm25_by_words(four: Snapshot) -> None:
    dense = retriever(four).retrieve("anything", 10, "dense")
    assert ids(dense) == ["c", "a", "b", "d"]
    assert [ranked.score for ranked in dense.papers] == pytest.approx([0.7, 0.5, 0.3, 0.1], abs=1e-6)
    assert set(ids(retriever(four).retrieve("unrelated kraków", 10, "bm25"))) == {"b", "c"}
    assert ids(retriever(four).retrieve("nobody says this", 10, "bm25")) == []


def test_hybrid_is_the_formula(four: Snapshot) -> None:
    share = 0.7
    result = retriever(four).retrieve("kraków", 10, "hybrid")
    dense = (np.array([0.5, 0.3, 0.7, 0.1]) - 0.1) / 0.6
    mixed = share * dense + (1 - share) * np.array([0, 1, 0, 0])
    expected = (mixed - mixed.min()) / (mixed.max() - mixed.min())
    found = {ranked.paper.id: ranked.score for ranked in result.papers}
    assert found == pytest.approx(dict(zip("abcd", expected, strict=True)), abs=1e-6)


@pytest.mark.parametrize("mode", ["hippo", "hybrid", "dense"])
def test_a_corpus_of_one_paper_has_an_answer(tmp_path: Path, mode: Mode) -> None:
    made = four_papers(tmp_path, papers=[Paper("b", "Beta", "Beta lives in Kraków.")])
    result = retriever(made).retrieve("where does Beta live?", 5, mode)
    assert ids(result) == ["b"]
    assert (result.route, result.degraded) == (mode, False)


def test_ties_go_by_id(tmp_path: Path) -> None:
    papers = [Paper(i, "Same", "Same words.") for i in ("c", "B", "a", "é", "10", "9")]
    made = snapshot(tmp_path, papers, Angles({}), Scripted({}))
    for mode in ("dense", "hybrid", "bm25", "lexical"):
        result = retriever(made).retrieve("same words", 10, mode)  # type: ignore[arg-type]
        assert ids(result) == ["10", "9", "B", "a", "c", "é"]
        assert ids(retriever(made).retrieve("same words", 2, mode)) == ["10", "9"]  # type: ignore[arg-type]


def test_papers_in_several_passages_count_by_their_best(tmp_path: Path) -> None:
    long = Paper("l", "Long", "Dull words stand here. " * 20 + "A gem.")
    given = settings(extract={"kind": "simple", "passage_chars": 200})
    cosines = {"Long\n" + "Dull words stand here. " * 2 + "A gem.": 0.95}
    made = snapshot(
        tmp_path, [long, Paper("s", "Short", "Words.")], Angles(cosines, 0.2), Scripted({}), given
    )
    assert np.diff(made.first_passage).tolist() == [3, 1]
    result = retriever(made, given).retrieve("gem", 10, "dense")
    assert [(r.paper.id, round(r.score, 3)) for r in result.papers][1] == ("s", 0.2)


# -- what may be ranked


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (Filters(), "abcd"),
        (Filters(2005, 2010), "bd"),
        (Filters(2002), "bd"),
        (Filters(None, 2001), "a"),
        (Filters(2011, 2020), ""),
        (Filters(2010, 2001), ""),
        (Filters(exclude=("a", "unknown", "d")), "bc"),
    ],
)
def test_years_and_exclusions(four: Snapshot, filters: Filters, left: str) -> None:
    result = retriever(four).retrieve("x", 10, "dense", filters=filters)
    assert sorted(ids(result)) == list(left)
    assert [ranked.rank for ranked in result.papers] == list(range(1, len(left) + 1))
    hippo = retriever(four).retrieve("Alpha likes Beta", 10, filters=filters)
    assert set(ids(hippo)) <= set(left)


def test_the_graph_walks_through_what_is_not_ranked(four: Snapshot) -> None:
    everything = retriever(four).retrieve("where does Alpha live?", 10)
    without = retriever(four).retrieve("where does Alpha live?", 10, filters=Filters(exclude=("a",)))
    assert [r.score for r in everything.papers if r.paper.id != "a"] == [r.score for r in without.papers]


# -- fallbacks


@pytest.mark.parametrize("query", ["", "  \n\t", "\u3000"])
def test_a_blank_query(four: Snapshot, query: str) -> None:
    for mode in MODES:
        result = retriever(four).retrieve(query, 5, mode)
        assert (result.papers, result.route, result.degraded) == ((), mode, False)
        assert result.reason == "the query is empty"


def test_an_empty_corpus(tmp_path: Path) -> None:
    made = snapshot(tmp_path, [], Angles({}), Scripted({}))
    for mode in MODES:
        result = retriever(made).retrieve("x", 5, mode)
        assert (result.papers, result.reason, result.degraded) == ((), "the index holds no papers", False)


def test_no_facts_at_all(tmp_path: Path) -> None:
    made = four_papers(tmp_path, found=dict.fromkeys(FOUND, Extraction()))
    result = retriever(made).retrieve("kraków", 10)
    assert (result.mode, result.route, result.degraded) == ("hippo", "hybrid", False)
    assert result.reason == "the index holds no facts"
    assert ids(result) == ids(retriever(made).retrieve("kraków", 10, "hybrid"))


def test_the_llm_finds_nothing_relevant(four: Snapshot) -> None:
    chat = FakeChatModel(['{"facts": []}'])
    result = retriever(four, settings(filter=LLM), chat=chat).retrieve("who?", 10)
    assert (result.route, result.degraded, result.reason) == (
        "hybrid", False, "no fact survived the filter")  # fmt: skip
    assert len(result.trace.candidates) == 4
    assert result.trace.kept == ()
    assert result.trace.usage["filter"].calls == 1


def test_the_llm_keeps_facts_and_invents_one(four: Snapshot) -> None:
    reply = {"facts": [["alpha", "likes", "beta"], ["Alpha", "likes", "Beta"], ["The moon", "is", "cheese"]]}
    result = retriever(four, settings(filter=LLM), chat=FakeChatModel([json.dumps(reply)])).retrieve("who?")
    assert (result.route, result.degraded) == ("hippo", False)
    assert [kept.fact.text for kept in result.trace.kept] == ["Alpha likes Beta"]
    assert result.trace.unmatched == ("The moon is cheese",)
    assert set(result.trace.kept) <= set(result.trace.candidates)
    assert max(result.papers, key=lambda ranked: ranked.scores["ppr"]).paper.id == "a"


@pytest.mark.parametrize("reply", [DOWN, "no JSON at all"])
def test_the_llm_fails(four: Snapshot, reply: str | Exception) -> None:
    fallback = retriever(four, settings(filter=LLM), chat=FakeChatModel([reply]))
    result = fallback.retrieve("who?", 10)
    assert (result.mode, result.route, result.degraded) == ("hippo", "hybrid", True)
    assert result.reason
    if reply is DOWN:
        assert "the server is down" in result.reason
    assert ids(result) == ids(fallback.retrieve("who?", 10, "hybrid"))
    raising = settings(filter=LLM, retrieve={"on_model_error": "raise"})
    with pytest.raises(ChatModelError):
        retriever(four, raising, chat=FakeChatModel([reply])).retrieve("who?", 10)


@pytest.mark.parametrize("mode", ["hippo", "hybrid", "dense"])
@pytest.mark.parametrize(
    "error",
    [EmbeddingError("no weights", model="m"), MissingExtraError("no weights", package="p", extra="e")],
)
def test_the_embedder_fails(four: Snapshot, mode: Mode, error: Exception) -> None:
    broken = Broken("query_to_passage", "query_to_fact", error=error)
    result = retriever(four, embedder=broken).retrieve("kraków beta", 10, mode)
    assert (result.mode, result.route, result.degraded) == (mode, "bm25", True)
    assert "no weights" in result.reason
    assert ids(result) == ids(retriever(four).retrieve("kraków beta", 10, "bm25"))
    with pytest.raises(type(error)):
        retriever(four, settings(retrieve={"on_model_error": "raise"}), embedder=broken).retrieve(
            "x", 5, mode
        )
    for mode_without in ("bm25", "lexical"):
        fine = retriever(four, embedder=broken).retrieve("kraków", 5, mode_without)  # type: ignore[arg-type]
        assert (fine.route, fine.degraded) == (mode_without, False)


def test_only_the_facts_half_of_the_embedder_fails(four: Snapshot) -> None:
    result = retriever(four, embedder=Broken("query_to_fact")).retrieve("kraków", 10)
    assert (result.route, result.degraded) == ("hybrid", True)
    assert result.reason.count("no weights") == 1


def test_preparing_many_queries_hides_no_failure(four: Snapshot) -> None:
    made = retriever(four, embedder=Broken("query_to_passage", "query_to_fact"))
    made.prepare(["a", "", "b"])
    assert made.retrieve("kraków", 5, "dense").degraded


def test_failed_extractions_degrade_and_say_so(tmp_path: Path) -> None:
    made = four_papers(tmp_path, found={"Gamma": DOWN})
    result = retriever(made).retrieve("who likes Beta?", 5)
    assert (result.route, result.degraded) == ("hippo", True)
    assert result.reason == "1 passage has no facts: their extraction failed or is to come"
    assert not retriever(made).retrieve("who likes Beta?", 5, "hybrid").degraded


def test_wrong_use(four: Snapshot) -> None:
    for k in (0, True, 2.0, "3"):
        with pytest.raises(ConfigError, match="k must be a whole number of at least 1"):
            retriever(four).retrieve("x", k)  # type: ignore[arg-type]
    assert len(retriever(four).retrieve("Beta", np.int64(1)).papers) == 1  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no mode 'magic'"):
        retriever(four).retrieve("x", 1, "magic")  # type: ignore[arg-type]


# -- explanations


def test_ways_come_with_explain_alone_and_change_nothing_else(four: Snapshot) -> None:
    with_ways = retriever(four).retrieve("who likes Beta?", 10)
    without = retriever(four).retrieve("who likes Beta?", 10, explain=False)
    assert ids(with_ways) == ids(without)
    assert [r.scores for r in with_ways.papers] == [r.scores for r in without.papers]
    assert all(not ranked.path for ranked in without.papers)
    first = with_ways.papers[0]
    assert first.path
    assert first.path[-1].target == first.paper.id
    assert first.path[0].source in {seed.entity for seed in with_ways.trace.seeds}


def test_the_lexical_way_is_one_of_citations(tmp_path: Path) -> None:
    papers = [
        Paper("a", "", "Sparse attention.", references=("b",)),
        Paper("b", "", "Other."),
        Paper("c", "", "Third.", references=("b",)),
    ]
    made = snapshot(tmp_path, papers, Angles({}), Scripted({}))
    result = retriever(made).retrieve("sparse", 10, "lexical")
    way = {ranked.paper.id: ranked.path for ranked in result.papers}
    assert [ranked.graph_distance for ranked in result.papers] == [0, 1, 2]
    assert way["a"] == ()
    assert [(s.source, s.detail, s.target) for s in way["c"]] == [("a", "cites", "b"), ("b", "cited by", "c")]
