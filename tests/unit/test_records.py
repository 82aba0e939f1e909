from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from hippo_lit.errors import DataError
from hippo_lit.records import clean_doi, paper_from_mapping, paper_to_mapping, parse_year
from hippo_lit.types import Paper


def paper(**fields: Any) -> Paper:
    return paper_from_mapping({"id": "p", "title": "T", **fields})


def test_every_field_is_taken_and_cleaned() -> None:
    made = paper_from_mapping(
        {
            "id": " p\u00001 ",
            "title": "A  title\n",
            "abstract": "One.\n\nTwo\ud800.",
            "year": 2019,
            "authors": ["Ada  Moor"],
            "references": ["a", "b"],
            "citations": ["c"],
            "source": "s2",
            "doi": "10.5555/x",
            "venue": "V",
            "url": "https://example.org",
        }
    )
    assert made == Paper(
        "p 1", "A title", "One. Two .", 2019, ("Ada Moor",), ("a", "b"), ("c",), "s2", "10.5555/x", "V",
        "https://example.org",
    )  # fmt: skip


def test_synonyms_in_any_case_and_metadata_are_known() -> None:
    made = paper_from_mapping(
        {
            "paperId": "x",
            "TITLE": "T",
            "text": "Body",
            "publicationDate": "2020-02-02",
            "container-title": ["Venue"],
            "DOI": "doi:10.5555/Y",
            "metadata": {"year": 1999, "authors": ["Ida Vik"], "cited_by": [3], "title": "ignored"},
        }
    )
    assert (made.id, made.title, made.abstract, made.venue, made.doi) == (
        "x",
        "T",
        "Body",
        "Venue",
        "10.5555/y",
    )
    assert (made.year, made.authors, made.citations) == (2020, ("Ida Vik",), ("3",))


@pytest.mark.parametrize(
    ("value", "year"),
    [
        (2019, 2019), ("2019", 2019), ("2019-05-01", 2019), (2019.0, 2019), ("2014//", 2014),
        ("20190501", 2019), ("May 1, 2019", 2019), ("c. 1987", 1987), ("1984/1986", 1984), ("２０１９", 2019),
        ("[2013]", 2013),
        (np.int64(2019), 2019), ({"date-parts": [[2019, 5]]}, 2019), (1000, 1000), (2100, 2100),
        ("n.d.", None), ("in press", None), (None, None), ("10 15", None), (999, None), (2101, None),
        ("123456", None), (True, None), (math.nan, None), (2019.5, None), ({}, None), ([], None),
        ([[]], None), ([math.nan], None), ({"date-parts": {"date-parts": 1}}, None),
    ],
)  # fmt: skip
def test_year(value: Any, year: int | None) -> None:
    assert parse_year(value) == year
    assert paper(year=value).year == year


def test_a_year_that_says_nothing_does_not_hide_a_date_that_does() -> None:
    assert paper(year="n.d.", date="2018-01-01").year == 2018


@pytest.mark.parametrize(
    ("authors", "names"),
    [
        (["A B", " C  D "], ("A B", "C D")),
        (
            [{"name": "A B"}, {"first": "C", "middle": ["X"], "last": "D", "suffix": "Jr."}],
            ("A B", "C X D Jr."),
        ),
        ([{"given": "A", "family": "B"}, {"author": {"display_name": "C"}}, None, {}, 3], ("A B", "C")),
        ("Moor, Ada and Na, Li", ("Moor, Ada", "Na, Li")),
        ("A B; C D;", ("A B", "C D")),
        ("Alexander Sand", ("Alexander Sand",)),
        ({"name": "A"}, ("A",)),
        (None, ()),
        (7, ()),
    ],
)
def test_authors(authors: Any, names: tuple[str, ...]) -> None:
    assert paper(authors=authors).authors == names


def test_references_are_unique_in_order_without_the_paper_itself() -> None:
    made = paper(
        references=["b", "a", "b", "p", "", None, 5, {"paperId": "c"}, {"id": 6}, {"paperId": None}, True]
    )
    assert made.references == ("b", "a", "5", "c", "6")


def test_a_number_of_citations_names_none() -> None:
    assert paper(citations=57, references="q").citations == ()
    assert paper(citations=57, references="q").references == ("q",)


@pytest.mark.parametrize(
    ("value", "made"), [(12, "12"), (12.0, "12"), (1.5, "1.5"), ("../../etc/passwd", "../../etc/passwd")]
)
def test_ids(value: Any, made: str) -> None:
    assert paper_from_mapping({"id": value, "title": "T"}).id == made
    assert paper_from_mapping({"id": "x" * 512, "title": "T"}).id == "x" * 512


@pytest.mark.parametrize(
    ("record", "field", "says"),
    [
        ({"title": "T"}, "id", 'no "id"'),
        ({"id": None, "title": "T"}, "id", 'no "id"'),
        ({"id": " \u0000", "title": "T"}, "id", "blank"),
        ({"id": "", "paperId": "x", "title": "T"}, "id", "blank"),
        ({"id": True, "title": "T"}, "id", "true or false"),
        ({"id": math.nan, "title": "T"}, "id", "finite"),
        ({"id": 10**5000, "title": "T"}, "id", "finite"),
        ({"id": {"$oid": "1"}, "title": "T"}, "id", "an object"),
        ({"id": "x" * 513, "title": "T"}, "id", "513 characters"),
        ({"id": "p"}, "title", "neither a title nor an abstract"),
        ({"id": "p", "title": " ", "abstract": None}, "title", "neither a title nor an abstract"),
        ({"id": "p", "title": {"en": "T"}}, "title", '"title" that is an object'),
        ({"id": "p", "title": "T", "abstract": [1]}, "abstract", '"abstract" that is a list'),
        ([1], "", "must be an object"),
        (None, "", "not null"),
    ],
)
def test_what_cannot_be_a_paper_is_named(record: Any, field: str, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        paper_from_mapping(record, where="papers.jsonl, line 7")
    assert caught.value.message.startswith("papers.jsonl, line 7: ")
    assert caught.value.field == field
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


def test_a_missing_abstract_or_title_is_empty_text() -> None:
    assert paper_from_mapping({"id": 1, "title": "T", "abstract": None}).abstract == ""
    assert paper_from_mapping({"id": 1, "title": math.nan, "abstract": ["One.", "Two."]}) == Paper(
        "1", "", "One. Two."
    )


def test_source_of_the_record_beats_the_default() -> None:
    assert paper(source="arxiv").source == "arxiv"
    assert paper_from_mapping({"id": 1, "title": "T"}, source="json").source == "json"


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("https://doi.org/10.5555/ABC", "10.5555/abc"),
        ("http://dx.doi.org/10.5555/a%3Cb%3E", "10.5555/a<b>"),
        ("DOI: 10.5555/x.", "10.5555/x"),
        ("10.1002/(SICI)1-2(98)19:4<377::AID>3.0.CO;2-P", "10.1002/(sici)1-2(98)19:4<377::aid>3.0.co;2-p"),
        ("n/a", None), ("10.5555/", None), ("10.5555/.;", None), ("", None), (5, None), (None, None),
        ("https://example.org/10.5555/x", None),
    ],
)  # fmt: skip
def test_doi(text: Any, doi: str | None) -> None:
    assert clean_doi(text) == doi


def test_round_trip_through_json() -> None:
    full = Paper("p", "T", "A. b", 2001, ("X and Y",), ("r",), ("c",), "arxiv+s2", "10.5555/x", "V", "u")
    for made in (full, Paper("p", "T"), Paper("p", "", "only text")):
        assert paper_from_mapping(json.loads(json.dumps(paper_to_mapping(made)))) == made


def test_further_identifiers_come_in_every_source_s_form() -> None:
    s2 = {"ArXiv": "1706.03762", "DOI": "10.1/X", "PubMed": "31", "CorpusId": 5, "DBLP": None, "Odd": "1"}
    assert paper(externalIds=s2, doi="10.1/x").ids == ("arxiv:1706.03762", "corpusid:5", "pmid:31")
    assert paper(ids=["PMID:31", ["arxiv", "1706.03762v2"], "nonsense", 7, None]).ids == (
        "arxiv:1706.03762", "pmid:31",
    )  # fmt: skip
    assert paper(pmcid="PMC12", arxiv_id="hep-th/9901001").ids == ("arxiv:hep-th/9901001", "pmcid:PMC12")


def test_retraction_and_open_access_are_taken_from_fields_and_titles() -> None:
    assert paper(is_retracted=True).retracted
    assert paper(retracted="yes").retracted
    assert not paper(retracted="n/a").retracted
    for title in ("RETRACTED: Cold fusion", "Retracted Article: Cold fusion", "[RETRACTED] Cold fusion"):
        assert paper(title=title).retracted
    for title in ("Retraction: Cold fusion", "Retracted papers in medicine", "Withdrawn from Afghanistan"):
        assert not paper(title=title).retracted
    assert (paper(isOpenAccess=True).open_access, paper(open_access={"is_oa": False}).open_access) == (
        True,
        False,
    )
    assert (paper(open_access="?").open_access, paper().open_access) == (None, None)


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        ({"url": "https://arxiv.org/abs/1706.03762v5"}, ("arxiv:1706.03762",)),
        ({"link": "https://pubmed.ncbi.nlm.nih.gov/123/"}, ("pmid:123",)),
        ({"url": "https://doi.org/10.1000/xyz", "doi": "10.1000/XYZ"}, ()),
        ({"venue": "arXiv preprint arXiv:1706.03762"}, ("arxiv:1706.03762",)),
        ({"venue": "arXiv: Learning", "url": "https://example.org"}, ()),
    ],
)
def test_an_address_or_preprint_number_identifies_a_paper(
    fields: dict[str, str], ids: tuple[str, ...]
) -> None:
    paper = paper_from_mapping({"id": "k", "title": "T", **fields})
    assert paper.ids == ids
    assert paper_from_mapping(paper_to_mapping(paper)) == paper
