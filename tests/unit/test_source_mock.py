from __future__ import annotations

import pytest

from hippo_lit.protocols import PaperSource
from hippo_lit.sources.mock import ArxivMockClient, SemanticScholarMockClient, build_corpus
from hippo_lit.types import Paper


def test_the_corpus_has_100_papers_in_order_of_id() -> None:
    corpus = build_corpus()
    assert [paper.id for paper in corpus] == [f"p{i:03}" for i in range(1, 101)]
    assert all(paper.title and paper.abstract and paper.authors and paper.year for paper in corpus)


def test_citations_mirror_references() -> None:
    corpus = build_corpus()
    cites = {(paper.id, cited) for paper in corpus for cited in paper.references}
    cited_by = {(citing, paper.id) for paper in corpus for citing in paper.citations}
    assert cites == cited_by
    assert len(cites) > 200


def test_a_caller_cannot_change_the_corpus_of_others() -> None:
    build_corpus().clear()
    assert len(build_corpus()) == 100


def test_arxiv_serves_no_citations_and_semantic_scholar_does() -> None:
    truth = build_corpus()[29]
    arxiv = list(ArxivMockClient().papers())[29]
    s2 = list(SemanticScholarMockClient().papers())[29]
    assert arxiv == Paper(truth.id, truth.title, truth.abstract, truth.year, truth.authors, source="arxiv")
    assert (s2.references, s2.citations, s2.source) == (truth.references, truth.citations, "s2")
    assert s2.references


@pytest.mark.parametrize("client", [ArxivMockClient(), SemanticScholarMockClient()], ids=lambda c: c.name)
def test_both_are_sources_and_can_be_searched(client: ArxivMockClient | SemanticScholarMockClient) -> None:
    assert isinstance(client, PaperSource)
    found = client.search("block-sparse matrix products on CPUs, C++ library with AVX2 kernels", limit=3)
    assert [paper.id for paper in found][:1] == ["p008"]
    assert len(found) == 3
    assert {paper.source for paper in found} == {client.name}
    assert client.search("") == client.search("zzzz") == []


def test_a_corpus_of_ones_own() -> None:
    client = SemanticScholarMockClient([Paper("x", "Title", "about whales", references=("y",))])
    assert [paper.id for paper in client.papers()] == ["x"]
    assert client.search("whales")[0].references == ("y",)
