"""Whatever a file holds: papers and counted skips, or a DataError; nothing else."""

from __future__ import annotations

import gzip
import json
import string
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hippo_lit.errors import DataError
from hippo_lit.records import clean_doi, paper_from_mapping, paper_to_mapping, parse_year
from hippo_lit.sources.encodings import guess
from hippo_lit.sources.files import FileSource
from hippo_lit.sources.latex import plain_latex
from hippo_lit.sources.markup import readable
from hippo_lit.text import clean
from hippo_lit.types import Paper

# The first example imports the parsers, so the time of one example says nothing.
checked = settings(deadline=None, max_examples=150)

DATA = Path(__file__).parent.parent / "unit" / "data_sources"
FIXTURES = sorted(path for path in DATA.rglob("*") if path.is_file())
NAMES = st.sampled_from(
    [
        "a.json",
        "a.jsonl",
        "a.bib",
        "a.ris",
        "a.ciw",
        "a.nbib",
        "a.enw",
        "a.xml",
        "a.csv",
        "a.tsv",
        "a.txt",
        "a",
    ]
)

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WORDS = (
    "id _id title abstract text year authors references citations doi venue url source metadata authorships "
    "abstract_inverted_index referenced_works ids host_venue primary_location results papers "
    "publication_year issued"
)
fields = st.sampled_from(WORDS.split())
records = st.dictionaries(fields, any_json, max_size=8)
TEX_WORDS = (
    r"\frac \href \' \begin{x} \end{x} \verb \newcommand \[ \item \sqrt title= author= @misc{ @string{"
)
tex = st.lists(
    st.sampled_from(list("\\{}$\"'`^~_%&#=,@ \nabE1é-"))
    | st.sampled_from([*TEX_WORDS.split(), "@set{k,", "@comment{", "crossref = ", " and ", "doi = "]),
    max_size=40,
).map("".join)
tagged = st.lists(
    st.sampled_from(
        ["TY  - ", "ER  - ", "TI  - ", "AB  - ", "AU  - ", "ID  - ", "PY  - ", "PT J", "ER", "ZZ  - "]
    )
    | st.text(string.printable + "é\u2028", max_size=10),
    max_size=20,
).map("\n".join)

short_lines = st.lists(
    st.sampled_from(
        [
            "PMID- 2",
            "TI  - ",
            "FAU - ",
            "LID - 10.1/x [doi]",
            "%0 Book",
            "%T ",
            "%A ",
            "%D 2000",
            "",
            "      ",
        ]
    )
    | st.text(string.printable + "é\u2028", max_size=10),
    max_size=20,
).map("\n".join)
XML_BITS = (
    "<PubmedArticle> </PubmedArticle> <MedlineCitation> <PMID>1</PMID> <Article> </Article> "
    "<ArticleTitle>T</ArticleTitle> "
    "<record> </record> <title>T</title> <!DOCTYPE <!ENTITY &lt; &nbsp; &bogus; &#0; &#x110000; "
    "<![CDATA[ ]]> <? <!-- -- "
    "<sup>2</sup> <mml:math> <mfrac> $x_2$ $\\alpha$ \\frac <article> <front> & < > <style"
)
markup = st.lists(st.sampled_from(XML_BITS.split()) | st.text(max_size=8), max_size=25).map(" ".join)
table = st.lists(
    st.sampled_from([*',;\t|"\n\r ', "title", "doi", "Doe, J.", "2001"]) | st.text(max_size=6),
    max_size=40,
)
table = table.map("".join)
FOREIGN = (
    "itemType data creators title abstractNote date DOI url extra key citationKey type author issued "
    "container-title id PMID corpusid externalids paperId journal message items reference updated-by "
    "abstract year externalIds"
)
foreign = st.dictionaries(
    st.sampled_from(FOREIGN.split()), any_json | st.just("article") | st.just([{"family": "Doe"}]), max_size=8
)


def load(data: bytes, name: str) -> list[Paper]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        skips: list[DataError] = []
        source = FileSource(path, on_skip=skips.append)
        try:
            papers = list(source.papers())
        except DataError:
            return []
        report = source.report
        assert (report.papers, report.skipped) == (len(papers), len(skips))
        assert report.read == report.papers + report.skipped
        assert len({paper.id for paper in papers}) == len(papers)
        for paper in papers:
            assert paper.id
            assert paper.title or paper.abstract
            assert paper_from_mapping(json.loads(json.dumps(paper_to_mapping(paper)))) == paper
        return papers


@checked
@given(st.binary(max_size=300), NAMES)
def test_any_bytes(data: bytes, name: str) -> None:
    load(data, name)


@checked
@given(st.data(), st.sampled_from(FIXTURES), st.booleans())
def test_damaged_files(data: st.DataObject, path: Path, packed: bool) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    load(gzip.compress(cut) if packed else cut, path.name)


@checked
@given(st.text(max_size=200), NAMES, st.sampled_from(["utf-8", "utf-16", "utf-16-le", "utf-32"]))
def test_any_text(text: str, name: str, encoding: str) -> None:
    load(text.encode(encoding, "surrogatepass"), name)


@checked
@given(tex)
def test_any_bibtex(text: str) -> None:
    load(b"@misc{k, title = {T}}\n@misc{l, title = {" + text.encode() + b"}}\n" + text.encode(), "a.bib")


@checked
@given(tex)
def test_any_latex(text: str) -> None:
    assert isinstance(plain_latex(text), str)


@checked
@given(tagged)
def test_any_ris(text: str) -> None:
    load(text.encode(), "a.ris")


@checked
@given(short_lines)
def test_any_medline_and_endnote(text: str) -> None:
    load(b"PMID- 1\n" + text.encode(), "a.nbib")
    load(b"%0 Journal Article\n" + text.encode(), "a.enw")


@checked
@given(markup)
def test_any_xml(text: str) -> None:
    load(b"<PubmedArticleSet>" + text.encode(), "a.xml")
    load(b"<xml><records><record><titles><title>" + text.encode() + b"</title></titles></record>", "a.xml")


@checked
@given(table)
def test_any_table(text: str) -> None:
    load(b"title,authors,year\n" + text.encode(), "a.csv")
    load(text.encode(), "a.tsv")


@checked
@given(st.lists(foreign | any_json, max_size=5))
def test_any_foreign_json(values: list[Any]) -> None:
    load("\n".join(map(json.dumps, values)).encode("utf-8", "surrogatepass"), "a.jsonl")
    load(json.dumps({"items": values}).encode("utf-8", "surrogatepass"), "a.json")


@checked
@given(st.binary(max_size=60) | st.text(max_size=30).map(lambda text: text.encode("gb18030", "ignore")))
def test_any_bytes_have_an_encoding(data: bytes) -> None:
    data.decode(guess([data]), "replace")


@checked
@given(markup)
def test_any_markup(text: str) -> None:
    assert isinstance(readable(text), str)


@checked
@given(st.lists(records | any_json, max_size=5), st.booleans())
def test_any_json(values: list[Any], lines: bool) -> None:
    text = "\n".join(map(json.dumps, values)) if lines else json.dumps(values)
    load(text.encode("utf-8", "surrogatepass"), "a.jsonl" if lines else "a.json")


@checked
@given(records)
def test_a_record_is_a_paper_in_normal_form_or_a_data_error(record: dict[str, Any]) -> None:
    try:
        paper = paper_from_mapping(record)
    except DataError:
        return
    assert paper_from_mapping(json.loads(json.dumps(paper_to_mapping(paper)))) == paper
    assert paper.id not in paper.references + paper.citations
    for text in (paper.id, paper.title, paper.abstract, *paper.authors, *paper.references):
        assert clean(text) == text


@checked
@given(any_json)
def test_year_and_doi_are_stable(value: Any) -> None:
    year = parse_year(value)
    assert year is None or 1000 <= year <= 2100
    doi = clean_doi(value)
    assert doi is None or clean_doi(doi) == doi
