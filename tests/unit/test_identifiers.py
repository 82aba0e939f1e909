from __future__ import annotations

import pytest

from hippo_lit.identifiers import canonical, clean_doi, identifiers, parse, preference
from hippo_lit.types import Paper

HEX = "204e3073870fae3d05bcbc2f6a8e263d9b72e776"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1706.03762", "arxiv:1706.03762"),
        ("arXiv:0704.0001v2", "arxiv:0704.0001"),
        ("ARXIV:1706.03762", "arxiv:1706.03762"),
        ("https://arxiv.org/pdf/1706.03762v5.pdf", "arxiv:1706.03762"),
        ("http://export.arxiv.org/abs/math.GT/0309136v1", "arxiv:math/0309136"),
        ("cs.CL/0102003", "arxiv:cs/0102003"),
        ("HEP-TH/9711200", "arxiv:hep-th/9711200"),
        ("10.48550/arXiv.1706.03762v1", "arxiv:1706.03762"),
        ("https://doi.org/10.1016%2FS0140-6736%2899%2901234-5", "doi:10.1016/s0140-6736(99)01234-5"),
        ("DOI 10.1000/ABC).", "doi:10.1000/abc"),
        ("10.1002/(SICI)1097(199806)49:8<693::AID-ASI4>3.0.CO;2-O",
         "doi:10.1002/(sici)1097(199806)49:8<693::aid-asi4>3.0.co;2-o"),
        ("10.1101/2020.01.01.123456v3", "doi:10.1101/2020.01.01.123456"),
        ("https://dl.acm.org/doi/10.1145/3397271.3401075", "doi:10.1145/3397271.3401075"),
        ("W2741809807", "openalex:W2741809807"),
        ("https://api.openalex.org/works/w2741809807", "openalex:W2741809807"),
        (HEX.upper(), f"s2:{HEX}"),
        (f"https://www.semanticscholar.org/paper/Attention-Is-All/{HEX}", f"s2:{HEX}"),
        ("CorpusId:013756489", "corpusid:13756489"),
        ("PMID: 029456894", "pmid:29456894"),
        ("https://pubmed.ncbi.nlm.nih.gov/29456894/", "pmid:29456894"),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC5815332/", "pmcid:PMC5815332"),
        ("PMC5815332.1", "pmcid:PMC5815332"),
        ("https://aclanthology.org/2020.emnlp-main.550.pdf", "acl:2020.emnlp-main.550"),
        ("DBLP:conf/nips/VaswaniSPUJGKP17", "dblp:conf/nips/VaswaniSPUJGKP17"),
    ],
)  # fmt: skip
def test_every_form_has_its_canonical_one(text: str, found: str) -> None:
    assert parse(text) == found
    assert parse(f" {found}\n") == found


@pytest.mark.parametrize(
    "text",
    ["", "7", "29456894",
     "p001", "1734.03762", "1706.037", "foo/9711200", "10.1000", "doi:", "W", "vaswani2017",
     "https://example.org/1706.03762", "10.1/x#1a2b3c4d", "arxiv:junk", "PMC", "x" * 5000, "a" * 39],
)  # fmt: skip
def test_what_is_no_identifier_is_none(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize("value", [None, True, 1.5, [], "n/a", "", 2**80, "9" * 30])
def test_a_value_that_is_none_of_its_kind_is_none(value: object) -> None:
    assert canonical("pmid", value) is None
    assert canonical("no such kind", value) is None


def test_a_doi_keeps_the_brackets_it_opened() -> None:
    assert clean_doi("(10.1/x)") is None
    assert clean_doi("10.1/x(1)") == "10.1/x(1)"
    assert clean_doi('10.1/x"]') == "10.1/x"


def test_a_paper_is_named_by_its_id_its_doi_and_its_further_ids() -> None:
    paper = Paper("arXiv:1706.03762v5", "T", doi="10.48550/arXiv.1706.03762", ids=("corpusid:1",))
    assert identifiers(paper) == {"arxiv:1706.03762", "corpusid:1"}
    assert identifiers(Paper("vaswani", "T", doi="nonsense")) == {"id:vaswani"}


def test_the_id_that_a_person_gave_is_preferred_then_publishers() -> None:
    ordered = ["p001", "10.1/x", "1706.03762", "10.1101/2020.01.01.1", "PMID:5", "W5", HEX, "0" * 32]
    assert min(ordered[::-1], key=preference) == "p001"
    assert sorted(ordered, key=preference) == ordered
