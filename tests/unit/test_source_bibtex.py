from __future__ import annotations

import logging
from pathlib import Path

import pytest

from hippo_lit.sources import bibtex
from hippo_lit.sources.files import FileSource
from hippo_lit.sources.found import Found, settle_ids
from hippo_lit.sources.latex import plain_latex, verbatim
from hippo_lit.types import Paper


def read(texts: list[str]) -> list[Found]:
    lines = [line for text in texts for line in text.splitlines(keepends=True)]
    return settle_ids(bibtex.read(lines, bibtex.referred(lambda: lines)))


DATA = Path(__file__).parent / "data_sources"


def entry(fields: str, kind: str = "article") -> Paper:
    (found,) = read([f"@{kind}{{key, {fields}}}"])
    assert found.paper is not None, found.problem
    return found.paper


@pytest.fixture(scope="module")
def zoo() -> FileSource:
    return FileSource(DATA / "zoo.bib")


@pytest.fixture(scope="module")
def papers(zoo: FileSource) -> dict[str, Paper]:
    return {paper.id: paper for paper in zoo.papers()}


def test_an_entry_in_full(papers: dict[str, Paper]) -> None:
    assert papers["10.5555/zoo_1"] == Paper(
        id="10.5555/zoo_1",
        title="Étude of the LHC at 90% of H2O, in vitro: α-decay",
        abstract="First line, second line.",
        year=2013,
        authors=("Jörg Müller", "Anna van der Berg", "The ACME Group"),
        source="bibtex",
        doi="10.5555/zoo_1",
        venue="Journal of Testing B",
    )


def test_every_entry_is_a_paper_or_a_reported_skip(papers: dict[str, Paper], zoo: FileSource) -> None:
    assert (zoo.report.read, zoo.report.papers, zoo.report.skipped) == (17, 13, 4)
    said = {problem.line: problem.message for problem in zoo.report.problems}
    assert said.keys() == {31, 34, 35, 36}
    assert 'entry "nameless" has no title' in said[31]
    assert "merged" in said[34]
    assert '@set "both"' in said[35]
    assert "cannot be parsed" in said[36]
    assert "After the broken one" in {paper.title for paper in papers.values()}


def test_crossref_hands_down_year_and_venue(papers: dict[str, Paper], zoo: FileSource) -> None:
    child = papers["child"]
    assert (child.title, child.year, child.venue, child.doi) == (
        "A Chapter",
        2009,
        "Proceedings of TEST",
        None,
    )
    assert papers["10.5555/volume"].venue is None
    assert {papers[key].title for key in ("circle1", "circle2", "orphan")} == {"Round", "And Round", "Orphan"}
    assert [("circle" in note or "nowhere" in note) for note in zoo.report.notes[:3]] == [True] * 3


def test_title_is_inherited_only_where_there_is_no_other() -> None:
    own, inherited, alias, deep = read(
        [
            "@inbook{a, title={Own}, crossref={B}} @inbook{b0, crossref={b}}",
            "@book{b, title={Book}, subtitle={Sub}, ids={other, B2}, year=1999, crossref={c}}",
            "@mvbook{c, title={Set}, author={Doe, Jo}}",
        ]
    )
    got = [
        (one.paper.title, one.paper.year, one.paper.authors)
        for one in (own, inherited, alias, deep)
        if one.paper
    ]
    assert got == [
        ("Own", 1999, ("Jo Doe",)),
        ("Book: Sub", 1999, ("Jo Doe",)),
        ("Book: Sub", 1999, ("Jo Doe",)),
        ("Set", None, ("Jo Doe",)),
    ]


def test_faults_that_cost_no_entry(papers: dict[str, Paper]) -> None:
    assert (papers["commas"].title, papers["commas"].year) == ("No comma after the key", 2001)
    assert papers["commas"].authors == ("Richard Roe",)
    assert papers["below"].title == "Brace on the next line"
    assert {paper.year for paper in papers.values() if paper.title == "No key at all"} == {1999}


def test_supplement_with_the_papers_doi_is_a_paper_of_its_own(
    papers: dict[str, Paper], zoo: FileSource
) -> None:
    main, supplement = (paper for key, paper in papers.items() if key.startswith("10.5555/main"))
    assert (main.id, main.abstract, main.doi) == ("10.5555/main", "Only here.", "10.5555/main")
    assert supplement.title == "Supplement to the Main Paper"
    assert supplement.id.startswith("10.5555/main#")
    assert f'its id here is "{supplement.id}"' in zoo.report.notes[-1]


@pytest.mark.parametrize(
    ("fields", "paper_id"),
    [
        ("title={T}, doi={HTTPS://DOI.ORG/10.5555/X}, eprint={2106.00001}", "10.5555/x"),
        ("title={T}, doi={n/a}, eprint={arXiv:2106.00001v3}", "2106.00001"),
        ("title={T}, eprint={math/0307200v3}, eprinttype={arxiv}", "math/0307200"),
        ("title={T}, eprint={0307200}, archivePrefix={arXiv}, primaryClass={math.QA}", "math/0307200"),
        ("title={T}, Arxivid={0810.5375}", "0810.5375"),
        ("title={T}, eprint={123}, eprinttype={pubmed}", "key"),
        ("title={T}", "key"),
    ],
)
def test_ids(fields: str, paper_id: str) -> None:
    assert entry(fields).id == paper_id


@pytest.mark.parametrize(
    ("field", "authors"),
    [
        ("{Knuth, Donald E. and Lamport, Leslie}", ("Donald E. Knuth", "Leslie Lamport")),
        ("{Ludwig van Beethoven AND de la Fontaine, Jean}", ("Ludwig van Beethoven", "Jean de la Fontaine")),
        ('"King, Jr., Martin Luther"', ("Martin Luther King Jr.",)),
        ("{{Barnes and Noble} and others}", ("Barnes and Noble",)),
        (r"{Erd{\H{o}}s, P{\'a}l and {\L}ukasiewicz, Jan}", ("Pál Erdős", "Jan Łukasiewicz")),
        ("{given=Hans, prefix=von, family=Harman}", ("Hans von Harman",)),
        ("{Too, Many, Commas, Here and Roe,}", ("Commas Here Too Many", "Roe")),
        (r"{First One and \'Alvaro Diaz}", ("First One", "Álvaro Diaz")),
        (
            r"{A B and \O ystein Haug and \AA ke Berg and \L ukasz Kaiser}",
            ("A B", "Øystein Haug", "Åke Berg", "Łukasz Kaiser"),
        ),
        (r"{A B and \v{S}imon Novak and {\"Ozg\"ur} Yil}", ("A B", "Šimon Novak", "Özgür Yil")),
        (r"{A B and {C and D} and and \O degaard, Jo}", ("A B", "C and D", "Jo Ødegaard")),
        ("{}", ()),
    ],
)
def test_names(field: str, authors: tuple[str, ...]) -> None:
    assert entry(f"title={{T}}, author={field}").authors == authors


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('@string{a = "A"} @string(b = a # {B}) @misc{k, title = b # " " # c}', "AB c"),
        ("@misc(k, title = {In parentheses})", "In parentheses"),
        ('@misc{k, title = "A {"}quoted{"} word"}', 'A "quoted" word'),
        ("@misc{k,\n % no = {comment}\n % nor this\n title = {T}\n}", "T"),
        ("@misc{k, title = {}, title = {Second}, title = {Third}}", "Second"),
        ("@misc{k, title = {A} year = 2000 author = {B}}", "A"),
        ("@misc{k title = {A}}", "A"),
        ("@misc{k, title = two words}", "two words"),
        ("junk\n\ufeff@MISC{k,\r\n TITLE = {Upper}\r\n}", "Upper"),
        ("@misc{k, title = {E-mail a@b {c}}}", "E-mail a@b c"),
        ("@misc{k, title = {What?}, subtitle = {That.}}", "What? That."),
        ("@proceedings{k, booktitle = {Only a Booktitle}}", "Only a Booktitle"),
    ],
)
def test_syntax(text: str, title: str) -> None:
    found = read([text])
    assert [one.paper.title for one in found if one.paper] == [title]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("@misc{k, title = {cut", "cannot be parsed: Unexpectedly reached end of file"),
        ("@misc k, title = {T}", 'is not followed by "{"'),
        ("@misc{k, author = {A}}", 'the entry "k" has no title'),
        ("@xdata{k, title = {T}}", "no paper itself"),
        (f"@misc{{{'k' * 600}, title = {{T}}}}", "600 characters"),
    ],
)
def test_skips(text: str, problem: str) -> None:
    (found,) = read([text])
    assert problem in found.problem


def test_the_parsers_warnings_stay_off_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bibtexparser", "pylatexenc"):  # as where nobody set logging up
        monkeypatch.setattr(logging.getLogger(name), "propagate", False)
    assert len(read(["@misc{k, title = {cut\n@misc{l, title={\\frac}}"])) == 2
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"{\'E}cole na{\"\i}ve \c{c} {\ss} \o{}re", "École naïve ç ß øre"),
        (r"a {B}raced {{T}itle}", "a Braced Title"),
        (r"1--2, a---b, ``q''", "1–2, a—b, “q”"),
        (r"10\% of 90% \& C\# & x", "10% of 90% & C# & x"),
        (r"H$_2$O, Ca$^{2+}$, $\beta$-catenin, 10$^{-3}$", "H2O, Ca2+, β-catenin, 10^-3"),
        (r"costs $5 and $6, \$7", "costs $5 and $6, $7"),
        (r"\texttt{x} \mkbibquote{y} \enquote*{z} \href{u}{v} \unknown{w}", "x y z v w"),
        (r"The \LaTeX{} and \TeX book", "The LaTeX and TeXbook"),
        (r"$\mathcal{O}(n)$", "O(n)"),
        (r"\cite{a}\noopsort{b}c", "c"),
        (r"x {\'e} \href", "x é "),
        ("{" * 5000 + "x", "x"),
        ("{" * 5000 + r"x\'e", "x'e"),  # too deep to be understood: braces and commands go
        ("\\", ""),
    ],
)
def test_latex(latex: str, text: str) -> None:
    assert plain_latex(latex) == text


def test_a_macro_in_place_of_a_journal_names_it() -> None:
    assert entry(r"title={T}, journal={\apj}").venue == "apj"
    assert entry("title={T}, year={in press}, date={2019-03}").year == 2019


def test_addresses_are_not_typeset() -> None:
    assert verbatim(r"\url{http://a.b/c--d\_e\%20~x}") == "http://a.b/c--d_e%20~x"


def test_a_preprint_number_in_journal_or_note_identifies_the_paper() -> None:
    assert entry("title={T}, journal={arXiv preprint arXiv:1706.03762}").ids == ("arxiv:1706.03762",)
    assert entry("title={T}, note={See arXiv: 1706.03762 [cs]}").ids == ("arxiv:1706.03762",)


def test_latex_that_was_escaped_as_text_is_latex_again() -> None:
    paper = entry(
        r"title={On the {\textbackslash}emph\{hard\} case of {\$}{\textbackslash}alpha{\$}-divergences in"
        r" {\$}O(n{\textasciicircum}2){\$}}, abstract={It costs \$5 and \$6. See C:\textbackslash temp.}"
    )
    assert paper.title == "On the hard case of α-divergences in O(n^2)"
    assert paper.abstract == r"It costs $5 and $6. See C:\temp."
