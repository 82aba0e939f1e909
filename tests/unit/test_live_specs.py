"""What a word of the command line asks a paper service for."""

from __future__ import annotations

import pytest

from hippo_lit.errors import ConfigError
from hippo_lit.sources.live.specs import Spec, parse_spec

S2 = "204e3073870fae3d05bcbc2f6a8e263d9b72e776"


@pytest.mark.parametrize(
    ("given", "service", "query"),
    [
        (
            'arxiv:cat:cs.CL AND abs:"retrieval augmentation"',
            "arxiv",
            'cat:cs.CL AND abs:"retrieval augmentation"',
        ),
        ("s2:dense retrieval", "s2", "dense retrieval"),
        ("S2: dense retrieval ", "s2", "dense retrieval"),
        ("openalex:graphs, memory", "openalex", "graphs, memory"),
        ("crossref:稀疏注意力", "crossref", "稀疏注意力"),
        ("arxiv:1706.03762 transformers", "arxiv", "1706.03762 transformers"),
        ("arxiv:10.1/x", "arxiv", "10.1/x"),
    ],
)
def test_queries(given: str, service: str, query: str) -> None:
    assert parse_spec(given) == Spec(given, service, query=query)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "service", "ids"),
    [
        ("arxiv:1706.03762v5", "arxiv", ("1706.03762v5",)),
        ("arxiv:https://arxiv.org/pdf/1706.03762v5.pdf", "arxiv", ("1706.03762v5",)),
        ("1706.03762", "arxiv", ("1706.03762",)),
        ("https://arxiv.org/abs/hep-th/9901001", "arxiv", ("hep-th/9901001",)),
        ("doi:10.48550/arXiv.1706.03762", "arxiv", ("1706.03762",)),
        ("doi:10.7717/PeerJ.4375", "crossref", ("10.7717/peerj.4375",)),
        ("https://doi.org/10.7717/peerj.4375", "crossref", ("10.7717/peerj.4375",)),
        ("10.7717/peerj.4375", "crossref", ("10.7717/peerj.4375",)),
        ("crossref:10.1/x,10.1/y", "crossref", ("10.1/x", "10.1/y")),
        ("openalex:W2741809807", "openalex", ("W2741809807",)),
        ("https://openalex.org/W2741809807", "openalex", ("W2741809807",)),
        ("openalex:w1,10.1/x", "openalex", ("W1", "doi:10.1/x")),
        (f"s2:{S2}", "s2", (S2,)),
        (f"https://www.semanticscholar.org/paper/Attention/{S2}", "s2", (S2,)),
        ("s2:corpusid:7, 1706.03762, DOI:10.1/x", "s2", ("CorpusId:7", "ARXIV:1706.03762", "DOI:10.1/x")),
        ("s2:pmid:12", "s2", ("PMID:12",)),
    ],
)
def test_ids(given: str, service: str, ids: tuple[str, ...]) -> None:
    assert parse_spec(given) == Spec(given, service, ids=ids)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "path", ["refs.bib", "a/b.ris", "./10.1234/x.bib", "C:/papers", "mock", "W123", S2, "", "10.1/x y"]
)
def test_anything_else_is_a_path(path: str) -> None:
    assert parse_spec(path) is None


@pytest.mark.parametrize("given", ["arxiv:", "s2:  ", "doi:", "doi:none", "doi:10.1/x, refs.bib"])
def test_a_prefix_without_a_question_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match=r"asks for nothing|is no DOI"):
        parse_spec(given)
