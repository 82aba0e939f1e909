"""PubMed's XML, EndNote's XML and JATS articles to papers, a record at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, tostring

from hippo_lit.sources.built import Draft, first_name_first, found_paper
from hippo_lit.sources.found import Found
from hippo_lit.sources.xml_stream import records

ROOTS = frozenset(
    "xml records record pubmedarticleset pubmedarticle pubmedbookarticleset pubmedbookarticle article"
    " articles pmc-articleset".split()
)
"""Names, in lower case, of the elements that open a document of these."""
_NAMES = frozenset(("record", "pubmedarticle", "pubmedbookarticle", "article"))


def read_xml(pieces: Iterable[str]) -> Iterator[Found]:
    """Every record of an XML document; `pieces` are its text in bits of any size."""
    for line, element, problem in records(pieces, _NAMES):
        if element is None:
            yield Found(line, problem=problem)
        elif element.tag == "record":
            yield found_paper(_endnote(element), line, source="endnote")
        elif element.tag == "article":
            yield found_paper(_jats(element), line, source="jats")
        else:
            yield found_paper(_pubmed(element), line, source="medline")


def _pubmed(record: Element) -> Draft:
    citation = _at(record, "medlinecitation", "bookdocument")
    article = _at(citation, "article")
    article = citation if article is None else article  # a book has no article within
    own = [
        *_all(record, "pubmeddata/articleidlist/articleid"),
        *_all(record, "pubmedbookdata/articleidlist/articleid"),
    ]
    ids = {element.get("idtype", ""): _text(element) for element in own}
    pmid = _first(citation, "pmid") or ids.get("pubmed", "")
    dois = [_text(e) for e in _all(article, "elocationid") if e.get("eidtype", "").lower() == "doi"]
    kinds = [_text(kind).lower() for kind in _all(article, "publicationtypelist/publicationtype")]
    notices = [e.get("reftype") for e in _all(citation, "commentscorrectionslist/commentscorrections")]
    journal = "journal/journalissue/pubdate"
    title = _marked(article, "articletitle")
    vernacular = title.strip(" .[]").lower() in ("", "not available")
    return Draft(
        title=(_marked(article, "vernaculartitle") if vernacular else title)
        or _marked(article, "book/booktitle"),
        abstract=" ".join(_labelled(e) for e in _all(article, "abstract/abstracttext")),
        years=[
            _first(article, f"{journal}/year", f"{journal}/medlinedate", "book/pubdate/year"),
            _first(article, "articledate/year", "contributiondate/year"),
        ],
        authors=[_author(e) for e in _all(article, "authorlist/author")],
        dois=[ids.get("doi"), *dois],
        venue=_first(article, "journal/title", "journal/isoabbreviation", "book/booktitle"),
        ids={"pmid": pmid, "pmcid": ids.get("pmc")},
        references=[
            f"pmid:{_text(e)}"
            for e in record.iterfind("pubmeddata/referencelist//reference/articleidlist/articleid")
            if e.get("idtype") == "pubmed" and _text(e).isdecimal()
        ],
        fallback_ids=[f"pmid:{pmid}" if pmid else ""],
        retracted=True if "retracted publication" in kinds or "RetractionIn" in notices else None,
    )


def _author(element: Element) -> str:
    if group := _first(element, "collectivename"):
        return group
    given = _first(element, "forename", "firstname", "initials")
    return " ".join(filter(None, (given, _first(element, "lastname"), _first(element, "suffix"))))


_FACES = {"superscript": "sup", "subscript": "sub"}


def _endnote(record: Element) -> Draft:
    for style in record.iter("style"):
        style.tag = _FACES.get(style.get("face", ""), "span")
    authors = _all(record, "contributors/authors/author") or _all(record, "authors/author")
    return Draft(
        title=_marked(record, "titles/title", "title"),
        abstract=_marked(record, "abstract"),
        years=[_first(record, "dates/year", "year"), _first(record, "dates/pub-dates/date")],
        authors=[first_name_first(_text(author)) for author in authors],
        dois=[
            _text(e)
            for path in ("electronic-resource-num", "urls/related-urls/url", "urls/web-urls/url")
            for e in _all(record, path)
        ],
        venue=_first(
            record,
            "periodical/full-title",
            "titles/secondary-title",
            "secondary_title",
            "alt-periodical/full-title",
        ),
        url=_first(record, "urls/related-urls/url", "urls/web-urls/url", "url"),
        fallback_ids=[_first(record, "accession-num", "accession_number")],
    )


def _jats(record: Element) -> Draft:
    front = _at(record, "front")
    meta = _at(record if front is None else front, "article-meta")
    meta = record if meta is None else meta
    journal = "journal-meta"
    ids = {e.get("pub-id-type", ""): _text(e) for e in _all(meta, "article-id")}
    pmid = ids.get("pmid", "")
    kind = record.get("article-type", "")
    people = [e for e in _all(meta, "contrib-group/contrib") if e.get("contrib-type", "author") == "author"]
    return Draft(
        title=": ".join(
            filter(None, (_marked(meta, "title-group/article-title"), _marked(meta, "title-group/subtitle")))
        ),
        abstract=_marked(meta, "abstract"),
        years=[_text(year) for year in sorted(_all(meta, "pub-date/year"), key=_text)],
        authors=[
            " ".join(filter(None, (_first(e, "name/given-names"), _first(e, "name/surname"))))
            or _first(e, "string-name", "collab")
            for e in people
        ],
        dois=[ids.get("doi")],
        venue=_first(front, f"{journal}/journal-title-group/journal-title", f"{journal}/journal-title"),
        ids={"pmid": pmid, "pmcid": ids.get("pmc") or ids.get("pmcid")},
        fallback_ids=[f"pmid:{pmid}" if pmid else ""],
        retracted=True if kind == "retracted-article" else None,
    )


def _labelled(element: Element) -> str:
    label = element.get("label", "")
    text = _markup(element)
    return f"{label}: {text}" if label and label.upper() != "UNLABELLED" else text


def _at(element: Element | None, *names: str) -> Element | None:
    return (
        None
        if element is None
        else next((e for name in names if (e := element.find(name)) is not None), None)
    )


def _all(element: Element | None, path: str) -> list[Element]:
    return [] if element is None else element.findall(path)


def _text(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _first(element: Element | None, *paths: str) -> str:
    return next((text for path in paths for e in _all(element, path) if (text := _text(e))), "")


def _marked(element: Element | None, *paths: str) -> str:
    return next((text for path in paths for e in _all(element, path) if (text := _markup(e)).strip()), "")


def _markup(element: Element) -> str:
    """The text with its inner tags still there, for `markup.readable` to make sense of."""
    if len(element) == 0:
        # What stood escaped is text now; it is escaped again where it could be taken for a tag twice.
        return element.text or ""
    whole = tostring(element, encoding="unicode")
    return whole[whole.index(">") + 1 : whole.rindex("<")] if not whole.endswith("/>") else ""
