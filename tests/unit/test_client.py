from __future__ import annotations

from collections.abc import Iterator

import pytest

from hippo_lit.errors import ConfigError, SourceError
from hippo_lit.lexical.client import RetrievalClient
from hippo_lit.sources.mock import ArxivMockClient, SemanticScholarMockClient, build_corpus
from hippo_lit.tokenizers import StemmingTokenizer
from hippo_lit.types import Metrics, Paper, Step


class Source:
    """A source over given papers, or one that fails."""

    def __init__(self, name: str, *papers: Paper, error: SourceError | None = None) -> None:
        self.name = name
        self._papers = papers
        self._error = error

    def papers(self) -> Iterator[Paper]:
        yield from self._papers
        if self._error:
            raise self._error


DOWN = SourceError("HTTP 503", status=503, retry_after_s=7.0)
PAPERS = (
    Paper("anchor", "Anchor", "Sparse attention for long inputs", 2018, references=("root",)),
    Paper("root", "Root", "Block selection routed by layers", 2010),
    Paper("follow", "Follow", "Kernels make it fast", 2020, references=("anchor",)),
    Paper("far", "Far", "Older still", 2012, citations=("root",)),
    Paper("other", "Whales", "Whales sing", None),
)


@pytest.fixture(scope="module")
def mock() -> RetrievalClient:
    return RetrievalClient([ArxivMockClient(), SemanticScholarMockClient()])


@pytest.fixture(scope="module")
def small() -> RetrievalClient:
    return RetrievalClient([Source("s2", *PAPERS)])


def test_lexical_path(mock: RetrievalClient) -> None:
    result = mock.retrieve("block-sparse matrix products on CPUs, C++ library with AVX2 kernels", k=5)
    assert (result.mode, result.route, result.degraded, result.reason) == ("lexical", "lexical", False, "")
    top = result.papers[0]
    assert (top.paper.id, top.rank, top.graph_distance, top.path) == ("p008", 1, 0, ())
    assert [ranked.rank for ranked in result.papers] == [1, 2, 3, 4, 5]


def test_graph_path_finds_papers_that_share_no_word(small: RetrievalClient) -> None:
    result = small.retrieve("sparse attention")
    assert [(r.paper.id, r.graph_distance, r.bm25_score > 0) for r in result.papers] == [
        ("anchor", 0, True),
        ("follow", 1, False),
        ("root", 1, False),
        ("far", 2, False),
    ]
    assert result.papers[3].path == (
        Step("anchor", "citation", "root", "cites"),
        Step("root", "citation", "far", "cites"),
    )
    assert result.papers[1].path == (Step("anchor", "citation", "follow", "cited by"),)
    assert [
        r.paper.id for r in RetrievalClient([Source("s2", *PAPERS)], max_hops=0).retrieve("sparse").papers
    ] == ["anchor"]


def test_every_score_follows_the_formula(mock: RetrievalClient) -> None:
    result = mock.retrieve("adapters that keep accuracy on long contexts", k=100)
    years = [paper.year for paper in build_corpus() if paper.year]
    highest = max(ranked.bm25_score for ranked in result.papers)
    for ranked in result.papers:
        graph = {0: 1.0, 1: 0.6, 2: 0.3, None: 0.0}[ranked.graph_distance]
        recency = ((ranked.paper.year or 0) - min(years)) / (max(years) - min(years))
        assert ranked.recency_score == pytest.approx(recency)
        assert ranked.final_score == pytest.approx(
            0.5 * ranked.bm25_score / highest + 0.3 * graph + 0.2 * recency
        )
        assert ranked.score == ranked.final_score
        assert ranked.scores == {"bm25": ranked.bm25_score, "graph": graph}
    finals = [ranked.final_score for ranked in result.papers]
    assert finals == sorted(finals, reverse=True)
    assert result.metrics.hits == len(finals)
    assert result.metrics.top_score == finals[0]
    assert result.metrics.mean_score == pytest.approx(sum(finals) / len(finals))
    assert 0 < result.metrics.wall_time_s < 5


def test_sources_are_merged_by_id(mock: RetrievalClient) -> None:
    assert len(mock) == 100
    truth = {paper.id: paper for paper in build_corpus()}
    for paper in mock.papers:
        assert paper.source == "arxiv+s2"
        assert set(paper.references) == set(truth[paper.id].references)
    halves = [
        Source("arxiv", Paper("a", "Title", "long abstract", 2020)),
        Source("s2", Paper("a", "Title", citations=("b",))),
    ]
    (merged,) = RetrievalClient(halves).papers
    assert (merged.abstract, merged.citations) == ("long abstract", ("b",))


def test_sources_that_use_ids_of_their_own_are_merged_too() -> None:
    s2_dpr, s2_rag = "a" * 40, "b" * 40
    arxiv = Source("arxiv", Paper("2004.04906", "Dense Passage Retrieval", "two encoders", source="arxiv"))
    s2 = Source(
        "s2",
        Paper(s2_rag, "RAG", "generation", references=(s2_dpr,), source="s2"),
        Paper(s2_dpr, "Dense passage retrieval.", ids=("arxiv:2004.04906",), source="s2"),
        Paper("c" * 40, "Supplement", "tables", ids=("arxiv:2004.04906",), source="s2"),
    )
    client = RetrievalClient([arxiv, s2])
    assert [(paper.id, paper.source) for paper in client.papers] == [
        ("2004.04906", "arxiv+s2"),
        (s2_rag, "s2"),
        ("c" * 40, "s2"),
    ]
    result = client.retrieve("generation")
    assert [(r.paper.id, r.graph_distance) for r in result.papers] == [(s2_rag, 0), ("2004.04906", 1)]


def test_a_paper_is_ranked_once(mock: RetrievalClient) -> None:
    ids = [
        ranked.paper.id for ranked in mock.retrieve("retrieval augmentation of language models", k=100).papers
    ]
    assert len(ids) == len(set(ids)) > 20
    doubled = RetrievalClient([Source("a", *PAPERS, *PAPERS), Source("b", *PAPERS)])
    assert [r.paper.id for r in doubled.retrieve("sparse attention").papers] == [
        "anchor",
        "follow",
        "root",
        "far",
    ]


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_empty_query(mock: RetrievalClient, query: str) -> None:
    result = mock.retrieve(query)
    assert (result.query, result.papers, result.metrics) == (query, (), Metrics())


@pytest.mark.parametrize("query", ["🙂", "稀疏注意力", "ما هو الانتباه", "\ud800\x00", "zzzz " * 20_000])
def test_a_query_that_matches_nothing_is_empty_too(mock: RetrievalClient, query: str) -> None:
    result = mock.retrieve(query)
    assert result.papers == ()
    assert (result.metrics.hits, result.metrics.mean_score, result.metrics.top_score) == (0, 0.0, 0.0)


def test_an_empty_corpus_and_odd_papers_are_served() -> None:
    assert RetrievalClient([]).retrieve("anything").papers == ()
    odd = [
        Paper("self", "Same", "one", references=("self", "nowhere")),
        Paper("a", "Same", "", references=("b",)),
        Paper("b", "Same", "word " * 40_000, references=("a",)),
    ]
    client = RetrievalClient([Source("s", *odd)])
    assert [(r.paper.id, r.graph_distance) for r in client.retrieve("word").papers] == [("b", 0), ("a", 1)]


def test_settings_reach_the_ranking() -> None:
    sources = [Source("s2", *PAPERS)]
    assert RetrievalClient(sources).retrieve("whales").papers[0].paper.id == "other"
    assert RetrievalClient(sources).retrieve("anchor").papers == ()
    titled = RetrievalClient(sources, include_title=True)
    assert titled.retrieve("anchor").papers[0].paper.id == "anchor"
    stemmed = RetrievalClient(sources, tokenizer=StemmingTokenizer())
    assert stemmed.retrieve("whale singing").papers[0].paper.id == "other"
    newest_first = RetrievalClient(sources, weights=(0, 0, 1)).retrieve("sparse attention")
    assert [r.paper.id for r in newest_first.papers] == ["follow", "anchor", "far", "root"]


def test_bad_settings_are_refused() -> None:
    for bad in ({"weights": (1, 1)}, {"seed_hits": -1}, {"max_hops": -1}, {"on_source_error": "ignore"}):
        with pytest.raises(ConfigError):
            RetrievalClient([], **bad)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="k must be"):
        RetrievalClient([]).retrieve("x", k=0)


def test_a_source_that_is_down_is_an_error_that_names_it() -> None:
    with pytest.raises(SourceError, match="source 's2' failed: HTTP 503") as caught:
        RetrievalClient([ArxivMockClient(), Source("s2", PAPERS[0], error=DOWN)])
    assert (caught.value.source, caught.value.status, caught.value.retry_after_s) == ("s2", 503, 7.0)


def test_the_others_serve_if_the_caller_says_so() -> None:
    client = RetrievalClient(
        [ArxivMockClient(), Source("s2", PAPERS[0], error=DOWN)], on_source_error="partial"
    )
    assert len(client) == 101  # what arrived before the failure is kept
    for query in ("sparse attention", ""):
        result = client.retrieve(query)
        assert result.degraded
        assert result.reason == "source 's2' failed: HTTP 503"


def test_no_source_at_all_is_an_error_even_then() -> None:
    down = [Source("arxiv", error=SourceError("timed out")), Source("s2", error=DOWN)]
    with pytest.raises(SourceError, match=r"no source answered: source 'arxiv' .*; source 's2'") as caught:
        RetrievalClient(down, on_source_error="partial")
    assert caught.value.source == "arxiv, s2"


def test_sources_that_know_a_paper_by_different_ids_give_one() -> None:
    arxiv = Paper("1706.03762", "Attention is all you need", "Sparse attention.", 2017, ("A. Vaswani",))
    s2 = Paper("f" * 40, "Attention Is All You Need", ids=("arxiv:1706.03762",), references=("10.1/root",))
    root = Paper("root", "Block selection", "Routed by layers", 2010, doi="10.1/root")
    client = RetrievalClient([Source("arxiv", arxiv), Source("s2", root, s2)])
    assert [paper.id for paper in client.papers] == ["1706.03762", "root"]
    assert client.papers[0].ids == (f"s2:{'f' * 40}",)
    found = {ranked.paper.id: ranked.graph_distance for ranked in client.retrieve("sparse attention").papers}
    assert found == {"1706.03762": 0, "root": 1}
