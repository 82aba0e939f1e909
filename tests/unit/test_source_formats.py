"""One small export of each program, read to the last field."""

# ruff: noqa: E501  (lines as the programs write them)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hippo_lit.errors import ConfigError, DataError
from hippo_lit.sources.built import split_names
from hippo_lit.sources.files import FileSource
from hippo_lit.sources.live.crossref import paper_from_item
from hippo_lit.types import Paper

NBIB = """
PMID- 100001
OWN - NLM
TI  - A trial of two lines that
      goes on here.
LID - 10.5555/NB.1 [doi]
LID - e100 [pii]
AB  - BACKGROUND: It was cold. RESULTS: It
      got warm.
FAU - Lind, Mara
AU  - Lind M
FAU - Ott, Jan, Jr
CN  - The Warm Group
PT  - Journal Article
PT  - Retracted Publication
DP  - 2019 Jan-Feb
TA  - J Test
JT  - Journal of tests
PMC - PMC77

PMID- 100002
TI  - [Not Available].
TT  - Ohne englischen Titel
FAU - Ito, Ken
DP  - 2001
"""
ENW = """%0 Journal Article
%T A tagged title
%A Lind, Mara
%A Ott, Jan
%D 2018
%J Journal of Tests
%X First line.
Second line.
%R 10.5555/ENW.1
%U https://example.org/1

%T No type, and a blank line before
%A Ito, Ken
%D 2020
%0 Book
%T A book
%E Editor, Ed
"""
ENDNOTE_XML = """<?xml version="1.0" encoding="UTF-8"?><xml><records><record><ref-type name="Journal Article">17</ref-type>
<contributors><authors><author><style face="normal">Lind, Mara</style></author><author>Ott, Jan</author></authors></contributors>
<titles><title><style face="normal">Growth of 10</style><style face="superscript">6</style> cells &amp; more</title>
<secondary-title>Journal of Tests</secondary-title></titles><dates><year>2017</year></dates>
<abstract>Short.</abstract><electronic-resource-num>10.5555/EX.1</electronic-resource-num>
<urls><related-urls><url>https://example.org/x</url></related-urls></urls></record>
<record><titles><title>Second</title></titles><accession-num>A-2</accession-num></record></records></xml>"""
PUBMED_XML = """<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle" "https://dtd.example.org/pubmed.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">200001</PMID><Article>
<Journal><JournalIssue><PubDate><MedlineDate>2015 Nov-Dec</MedlineDate></PubDate></JournalIssue><Title>Journal of tests</Title></Journal>
<ArticleTitle>Uptake of CO<sub>2</sub> by <i>E. coli</i> at p&lt;0.05</ArticleTitle>
<Abstract><AbstractText Label="AIM">To see.</AbstractText><AbstractText Label="END">Seen.</AbstractText></Abstract>
<AuthorList><Author><LastName>Lind</LastName><ForeName>Mara</ForeName></Author>
<Author><CollectiveName>Warm Group</CollectiveName></Author></AuthorList>
<PublicationTypeList><PublicationType>Journal Article</PublicationType></PublicationTypeList></Article>
<CommentsCorrectionsList><CommentsCorrections RefType="RetractionIn"><PMID>9</PMID></CommentsCorrections></CommentsCorrectionsList>
</MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType="pubmed">200001</ArticleId><ArticleId IdType="doi">10.5555/PX.1</ArticleId>
<ArticleId IdType="pmc">PMC88</ArticleId></ArticleIdList><ReferenceList><Reference><ArticleIdList><ArticleId IdType="pubmed">5</ArticleId>
</ArticleIdList></Reference></ReferenceList></PubmedData></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>200002</PMID><Article><ArticleTitle>[Not Available].</ArticleTitle>
<VernacularTitle>Ohne Titel</VernacularTitle></Article></MedlineCitation></PubmedArticle>
</PubmedArticleSet>"""
JATS = """<?xml version="1.0"?><article xmlns:mml="http://www.w3.org/1998/Math/MathML" article-type="retracted-article">
<front><journal-meta><journal-title-group><journal-title>Journal of Tests</journal-title></journal-title-group></journal-meta>
<article-meta><article-id pub-id-type="doi">10.5555/J.1</article-id><article-id pub-id-type="pmid">300001</article-id>
<title-group><article-title>Of <mml:math><mml:mfrac><mml:mn>1</mml:mn><mml:mi>x</mml:mi></mml:mfrac></mml:math></article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Lind</surname><given-names>Mara</given-names></name></contrib>
<contrib contrib-type="editor"><name><surname>Ed</surname><given-names>E</given-names></name></contrib></contrib-group>
<pub-date><year>2012</year></pub-date><abstract><sec><title>Aim</title><p>To see.</p></sec></abstract></article-meta></front>
<body><p>Not read.</p></body></article>"""
CSL = [
    {"id": "lind2016", "type": "article-journal", "title": "A <i>styled</i> title", "DOI": "10.5555/CSL.1",
     "container-title": "Journal of Tests", "issued": {"date-parts": [["2016", 3]]}, "PMID": "400001",
     "author": [{"family": "Lind", "given": "Mara", "non-dropping-particle": "van"}, {"literal": "Warm Group"}]},
    {"id": 7, "type": "book", "title": "Bare", "issued": {"raw": "1999"}},
]  # fmt: skip
ZOTERO = [
    {"key": "AAAA1111", "version": 3, "library": {"type": "user"}, "data": {
        "key": "AAAA1111", "itemType": "journalArticle", "title": "From the API", "abstractNote": "Words.",
        "creators": [{"creatorType": "author", "firstName": "Mara", "lastName": "Lind"},
                     {"creatorType": "editor", "name": "Ed"}, {"creatorType": "author", "name": "Warm Group"}],
        "publicationTitle": "Journal of Tests", "date": "March 2014", "DOI": "", "url": "https://example.org",
        "extra": "PMID: 500001\nDOI: 10.5555/ZOT.1"}},
    {"key": "BBBB2222", "data": {"key": "BBBB2222", "itemType": "attachment", "title": "Full text"}},
    {"key": "CCCC3333", "data": {"key": "CCCC3333", "itemType": "book", "title": "Only a key"}},
]  # fmt: skip
BBT = {"config": {"id": "x"}, "collections": {}, "items": [
    {"itemType": "conferencePaper", "citationKey": "lind2013", "itemKey": "DDDD", "title": "From BBT",
     "proceedingsTitle": "Proc. Tests", "date": "2013-05-01", "creators": []}]}  # fmt: skip
S2 = [
    {"corpusid": 77, "externalids": {"DOI": "10.5555/S2.1", "ArXiv": "1706.03762"}, "title": "Bulk $\\alpha$ file",
     "authors": [{"authorId": "1", "name": "Mara Lind"}], "venue": "", "journal": {"name": "J. Tests"},
     "year": 2011, "isopenaccess": True, "abstract": None},
    {"paperId": "ab" * 20, "externalIds": None, "title": "From the graph", "references": [{"paperId": "cd" * 20}]},
]  # fmt: skip


def load(tmp_path: Path, name: str, content: str | bytes, **options: Any) -> tuple[list[Paper], FileSource]:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source = FileSource(path, **options)
    return list(source.papers()), source


@pytest.mark.parametrize("name", ["a.nbib", "a.txt"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_medline(tmp_path: Path, name: str, newline: str) -> None:
    first, second = load(tmp_path, name, NBIB.replace("\n", newline))[0]
    assert first == Paper(
        "10.5555/nb.1", "A trial of two lines that goes on here.",
        "BACKGROUND: It was cold. RESULTS: It got warm.", 2019, ("Mara Lind", "Jan Ott Jr", "The Warm Group"),
        source="medline", doi="10.5555/nb.1", venue="Journal of tests", ids=("pmcid:PMC77", "pmid:100001"),
        retracted=True,
    )  # fmt: skip
    assert (second.id, second.title, second.year) == ("pmid:100002", "Ohne englischen Titel", 2001)


@pytest.mark.parametrize("name", ["a.enw", "a.txt"])
def test_endnote_tagged(tmp_path: Path, name: str) -> None:
    first, second, third = load(tmp_path, name, ENW)[0]
    assert first == Paper(
        "10.5555/enw.1", "A tagged title", "First line. Second line.", 2018, ("Mara Lind", "Jan Ott"),
        source="endnote", doi="10.5555/enw.1", venue="Journal of Tests", url="https://example.org/1",
    )  # fmt: skip
    assert (second.title, second.year, second.authors) == (
        "No type, and a blank line before",
        2020,
        ("Ken Ito",),
    )
    assert (third.title, third.authors) == ("A book", ("Ed Editor",))


@pytest.mark.parametrize("one_line", [False, True])
def test_endnote_xml(tmp_path: Path, one_line: bool) -> None:
    first, second = load(tmp_path, "a.xml", ENDNOTE_XML.replace("\n", "") if one_line else ENDNOTE_XML)[0]
    assert first == Paper(
        "10.5555/ex.1", "Growth of 10⁶ cells & more", "Short.", 2017, ("Mara Lind", "Jan Ott"),
        source="endnote", doi="10.5555/ex.1", venue="Journal of Tests", url="https://example.org/x",
    )  # fmt: skip
    assert (second.id, second.title) == ("A-2", "Second")


def test_pubmed_xml(tmp_path: Path) -> None:
    first, second = load(tmp_path, "a.xml", PUBMED_XML)[0]
    assert first == Paper(
        "10.5555/px.1", "Uptake of CO2 by E. coli at p<0.05", "AIM: To see. END: Seen.", 2015,
        ("Mara Lind", "Warm Group"), references=("pmid:5",), source="medline", doi="10.5555/px.1",
        venue="Journal of tests", ids=("pmcid:PMC88", "pmid:200001"), retracted=True,
    )  # fmt: skip
    assert (second.id, second.title) == ("pmid:200002", "Ohne Titel")


def test_jats(tmp_path: Path) -> None:
    (paper,) = load(tmp_path, "a.nxml", JATS)[0]
    assert paper == Paper(
        "10.5555/j.1", "Of 1/x", "Aim To see.", 2012, ("Mara Lind",), source="jats", doi="10.5555/j.1",
        venue="Journal of Tests", ids=("pmid:300001",), retracted=True,
    )  # fmt: skip


@pytest.mark.parametrize("shape", ["list", "lines", "crossref"])
def test_csl(tmp_path: Path, shape: str) -> None:
    text = {
        "list": json.dumps(CSL, indent=1),
        "lines": "\n".join(map(json.dumps, CSL)),
        "crossref": json.dumps({"status": "ok", "message": {"items": CSL}}),
    }[shape]
    first, second = load(tmp_path, "a.json", text)[0]
    assert first == Paper(
        "10.5555/csl.1", "A styled title", "", 2016, ("Mara van Lind", "Warm Group"), source="csl",
        doi="10.5555/csl.1", venue="Journal of Tests", ids=("pmid:400001",),
    )  # fmt: skip
    assert (second.id, second.title, second.year) == ("7", "Bare", 1999)


def test_our_own_records_stay_our_own(tmp_path: Path) -> None:
    own = {
        "id": "a",
        "title": "T",
        "type": "article",
        "DOI": "10.5555/y",
        "authors": ["Jo Doe"],
        "issued": 2001,
    }
    (paper,) = load(tmp_path, "a.json", json.dumps([own]))[0]
    assert (paper.id, paper.source, paper.year) == ("a", "json", 2001)


def test_bibtex_keeps_further_ids(tmp_path: Path) -> None:
    text = (
        "@article{k, title={T}, doi={10.5555/b}, eprint={1706.03762}, archiveprefix={arXiv}, pmid={600001}}"
    )
    (paper,) = load(tmp_path, "a.bib", text)[0]
    assert (paper.id, paper.ids) == ("10.5555/b", ("arxiv:1706.03762", "pmid:600001"))


def test_zotero(tmp_path: Path) -> None:
    papers, source = load(tmp_path, "a.json", json.dumps(ZOTERO), strict=True)
    assert papers[0] == Paper(
        "10.5555/zot.1", "From the API", "Words.", 2014, ("Mara Lind", "Warm Group"), source="zotero",
        doi="10.5555/zot.1", venue="Journal of Tests", url="https://example.org", ids=("pmid:500001",),
    )  # fmt: skip
    assert (papers[1].id, papers[1].title) == ("CCCC3333", "Only a key")
    assert "attachment is no paper" in str(source.report.problems[0])
    (paper,) = load(tmp_path, "b.json", json.dumps(BBT))[0]
    assert (paper.id, paper.title, paper.venue, paper.year) == ("lind2013", "From BBT", "Proc. Tests", 2013)


def test_semantic_scholar(tmp_path: Path) -> None:
    first, second = load(tmp_path, "a.jsonl", "\n".join(map(json.dumps, S2)))[0]
    assert (first.id, first.title, first.doi, first.venue) == (
        "77",
        "Bulk α file",
        "10.5555/s2.1",
        "J. Tests",
    )
    assert (first.open_access, "arxiv:1706.03762" in first.ids) == (True, True)
    assert (second.id, second.references) == ("ab" * 20, ("cd" * 20,))


SCOPUS = (
    '"Authors","Author full names","Title","Year","Source title","DOI","Link","Abstract","EID"\n'
    '"Lind M.; Ott J.","Lind, Mara (123); Ott, Jan (456)","Quoted, with ""marks""",2010,"J. Tests","10.5555/SC.1",'
    '"https://example.org/s","Over\ntwo lines.","2-s2.0-1"\n'
)
TABLES = {
    "scopus.csv": SCOPUS,
    "wos.txt": "PT\tAU\tAF\tTI\tSO\tDI\tPY\tAB\tUT\nJ\tLind, M; Ott, J\tLind, Mara; Ott, Jan\tQuoted, with \"marks\"\tJ. Tests\t10.5555/SC.1\t2010\tOver two lines.\tWOS:1\n",
    "zotero.csv": '"Key","Item Type","Publication Year","Author","Title","Publication Title","DOI","Abstract Note"\n'
    '"K1","journalArticle","2010","Lind, Mara; Ott, Jan","Quoted, with ""marks""","J. Tests","10.5555/SC.1","Over two lines."\n',
    "excel.csv": "\ufeffsep=;\r\nTitel;Autoren;Jahr;Zeitschrift;DOI;Zusammenfassung\r\n"
    '"Quoted, with ""marks""";Mara Lind; Jan Ott;;;;\r\n'.replace("Mara Lind; Jan Ott;;;;", '"Mara Lind; Jan Ott";2010;J. Tests;10.5555/SC.1;Over two lines.'),
    "above.csv": "About the data: exported today\n\n" + SCOPUS,
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_tables(tmp_path: Path, name: str) -> None:
    papers, source = load(tmp_path, name, TABLES[name])
    (paper,) = papers
    assert (paper.id, paper.title, paper.abstract) == (
        "10.5555/sc.1",
        'Quoted, with "marks"',
        "Over two lines.",
    )
    assert (paper.authors, paper.year, paper.venue) == (("Mara Lind", "Jan Ott"), 2010, "J. Tests")
    assert source.report.skipped == 0


def test_columns_that_the_caller_names(tmp_path: Path) -> None:
    text = "Was;Wozu;Title\nEin Titel;Ein Text;no\n"
    (paper,) = load(tmp_path, "a.csv", text, columns={"title": "was", "abstract": "Wozu"})[0]
    assert (paper.title, paper.abstract) == ("Ein Titel", "Ein Text")
    for columns in ({"abstract": "Wozuu"}, {"title": "Was", "abstract": "Wozuu"}):
        with pytest.raises(DataError, match=r'a\.csv:1: .*no column "Wozuu"; .* has "Was", "Wozu", "Title"'):
            load(tmp_path, "a.csv", text, columns=columns)
    with pytest.raises(DataError, match='no column "Titel"; the header has "Foo", "Bar"'):
        load(tmp_path, "b.csv", "Foo,Bar\n1,2\n", columns={"title": "Titel"})
    with pytest.raises(ConfigError, match="no field 'titel'"):
        load(tmp_path, "a.csv", text, columns={"titel": "Was"})


def test_a_bad_row_costs_only_itself(tmp_path: Path) -> None:
    rows = ["title,doi,year", '"never closed,10.5555/1,2001', "Good,10.5555/2,2002", "a,b,c,d", ",,", "Short"]
    papers, source = load(tmp_path, "a.csv", "\n".join(rows))
    assert [paper.title for paper in papers] == ["Good", "Short"]
    assert [problem.line for problem in source.report.problems] == [2, 4]
    assert "never closed" in source.report.problems[0].message
    assert "has 4 cells, and the header 3" in source.report.problems[1].message


def test_a_folder_takes_every_file_it_knows(tmp_path: Path) -> None:
    for name, text in {"a.nbib": NBIB, "b.enw": ENW, "c.xml": PUBMED_XML, "d.csv": SCOPUS, "e.nxml": JATS,
                       "f.md": "# words", "g.pdf": "%PDF-1.4"}.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    source = FileSource(tmp_path)
    assert len(list(source.papers())) == 2 + 3 + 2 + 1 + 1
    assert source.report.skipped == 0


def test_columns_that_are_not_read_are_named(tmp_path: Path) -> None:
    _, source = load(tmp_path, "a.csv", "Title,Cited by,Year,,Funding\nT,3,2020,,x\n")
    assert source.report.notes == (
        f'{tmp_path / "a.csv"}:1: columns that are not read: "Cited by", "Funding"',
    )


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("Smith, John A., Doe, Jane B.", ["John A. Smith", "Jane B. Doe"]),
        ("van Dyke, John A.", ["John A. van Dyke"]),
        ("García Márquez, Gabriel J., Roe, R.", ["Gabriel J. García Márquez", "R. Roe"]),
        ("Jane B. Roe, John A. Smith", ["Jane B. Roe", "John A. Smith"]),
        ("Doe J., Roe R.", ["Doe J.", "Roe R."]),
        ("王小明, 李雷, 张三, 赵四", ["王小明", "李雷", "张三", "赵四"]),
    ],
)
def test_persons_of_one_cell(cell: str, names: list[str]) -> None:
    assert split_names(cell) == names


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The {111} plane and $x$ of {a, b}", "The {111} plane and $x$ of {a, b}"),
        (
            r"Files in C:\Users\nu\alpha.txt and \\server\nu",
            r"Files in C:\Users\nu\alpha.txt and \\server\nu",
        ),
        (r"Costs $5 and \unknown{kept} \n here", r"Costs $5 and \unknown{kept} \n here"),
        (
            r"\alpha and $\beta_2$ with \'e, \"{u}, \textit{in vivo} {111}",
            "α and β2 with é, ü, in vivo {111}",
        ),
    ],
)
@pytest.mark.parametrize("ending", ["ris", "csv", "json"])
def test_what_only_looks_like_latex_stays(tmp_path: Path, text: str, shown: str, ending: str) -> None:
    written = {
        "ris": f"TY  - JOUR\nTI  - {text}\nER  - \n",
        "csv": 'title,year\n"' + text.replace('"', '""') + '",2020\n',
        "json": json.dumps([{"type": "article", "id": "a", "issued": "2020", "title": text}]),
    }
    (paper,) = load(tmp_path, f"a.{ending}", written[ending])[0]
    assert paper.title == shown


@pytest.mark.parametrize(
    ("update", "retracted"),
    [
        ({"updated-by": [{"type": "retraction", "source": "retraction-watch"}]}, True),
        ({"updated-by": [{"type": "correction"}, {"type": "Withdrawal"}]}, True),
        ({"updated-by": [{"type": "removal"}]}, True),
        ({"updated-by": [{"type": "expression_of_concern"}]}, False),
        ({"updated-by": [{"type": "partial_retraction"}, None, {"type": None}]}, False),
        ({"update-to": [{"type": "retraction", "DOI": "10.5555/other"}]}, False),
        ({"updated-by": None}, False),
    ],
)
def test_what_crossref_calls_retracted(tmp_path: Path, update: dict[str, object], retracted: bool) -> None:
    """The retracted work has "updated-by", its notice "update-to"; from a file and from the service alike."""
    item = {"DOI": "10.5555/a", "type": "journal-article", "title": ["A study"], "issued": {}} | update
    (paper,) = load(tmp_path, "a.json", json.dumps({"message": {"items": [item]}}))[0]
    assert paper.retracted == paper_from_item(item).retracted == retracted


def test_a_csl_item_of_a_title_alone_is_one(tmp_path: Path) -> None:
    item = {"id": "z", "type": "article-journal", "title": "A <i>nice</i> &amp; small one"}
    (paper,), _ = load(tmp_path, "a.json", json.dumps([item]))
    assert (paper.title, paper.source) == ("A nice & small one", "csl")
