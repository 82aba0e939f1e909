"""RIS, and the tagged format of Web of Science, to papers.

A paper's id is its DOI, else its accession number (AN), else its ID, else a hash of title, year and first
author. rispy reads the tags within a record; where records begin and end is found here, so that one
without its end (ER) or beginning (TY) costs no other record, and each has its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from hippo_lit.errors import DataError
from hippo_lit.records import clean_doi, paper_from_mapping, parse_year
from hippo_lit.sources.found import Found, settle_ids
from hippo_lit.sources.markup import strip_markup
from hippo_lit.sources.reading import whole_text
from hippo_lit.text import content_hash

Fields = Mapping[str, list[str]]

_TAG = re.compile(r"^([A-Z][A-Z0-9])  -(?: |$)", re.MULTILINE)
# Of programs that are careless about blanks, if they are so throughout.
_LOOSE_TAG = re.compile(r"^[ \t]*([A-Z][A-Z0-9])[ \t\xa0]{0,4}-(?:[ \t\xa0]+|$)", re.MULTILINE)
_WOS_TAG = re.compile(r"^([A-Z][A-Z0-9])(?: |$)", re.MULTILINE)

# rispy's names for the tags, those of RIS and those of Web of Science; capitals are tags it has no name for.
_TITLES = ("title", "primary_title", "document_title", "BT", "CT", "translated_title", "short_title")
_ABSTRACTS = ("abstract", "notes_abstract")
_AUTHORS = ("author_full_name", "authors", "first_authors")
_YEARS = ("year", "publication_year", "date")
_VENUES = ("alternate_title3", "secondary_title", "journal_name", "publication_name", "alternate_title2")
_DOIS = ("doi", "DI", "type_of_work", "urls", "file_attachments2")
_IDS = ("accession_number", "id")
_NO_ABSTRACT = re.compile(r"\[?(?:no abstract(?: available)?|abstract not available)\]?\.?", re.IGNORECASE)


def read_ris(lines: Iterable[str]) -> list[Found]:
    """Every record of a RIS file: a paper, or the reason why it is none."""
    from rispy import RisParser
    from rispy.config import TAG_KEY_MAPPING

    text = whole_text(lines)
    if len(_LOOSE_TAG.findall(text)) > 2 * len(_TAG.findall(text)):
        text = _LOOSE_TAG.sub(r"\1  - ", text)
    parser = RisParser(list_tags=list(TAG_KEY_MAPPING), delimiter_tags_mapping={})
    return settle_ids(
        _record(line, parser.parse(_with_ends(record, "TY  - GEN", "ER  - ")))
        for line, record in _records(text, _TAG, "TY")
    )


def read_wos(lines: Iterable[str]) -> list[Found]:
    """Every record of a Web of Science export (plain text, tagged): a paper, or the reason why it is none."""
    from rispy import WokParser
    from rispy.config import WOK_TAG_KEY_MAPPING

    parser = WokParser(list_tags=list(WOK_TAG_KEY_MAPPING), skip_unknown_tags=True)
    records = _records(whole_text(lines), _WOS_TAG, "PT", ignored=("FN", "VR", "EF"))
    return settle_ids(
        _record(line, parser.parse(_with_ends(record, "PT J", "ER"))) for line, record in records
    )


def _records(
    text: str, tag: re.Pattern[str], first: str, ignored: tuple[str, ...] = ()
) -> Iterator[tuple[int, list[str]]]:
    """The records' lines, each with the line number of the first. What stands between records is left out."""
    record: list[str] = []
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        found = tag.match(line)
        if found and found[1] in ignored:
            continue
        if record and found and found[1] in (first, "ER"):
            yield start, record
            record = []
        if found and found[1] != "ER" and not record:
            start, record = number, [line]
        elif record:
            record.append(line)
    if record:
        yield start, record


def _with_ends(record: list[str], first: str, last: str) -> str:
    opened = record if record[0][:2] == first[:2] else [first, *record]
    return "\n".join([*opened, last])


def _record(line: int, parsed: list[dict[str, list[str]]]) -> Found:
    fields = {name: value for record in parsed for name, value in record.items() if isinstance(value, list)}
    for record in parsed:
        unknown = record.get("unknown_tag")
        fields |= unknown if isinstance(unknown, dict) else {}
    title, abstract = _text(fields, _TITLES), _text(fields, _ABSTRACTS)
    if _NO_ABSTRACT.fullmatch(abstract):
        abstract = ""
    if not title and not abstract:
        return Found(line, problem="the record has neither a title nor an abstract")
    year = next(filter(None, map(parse_year, _all(fields, _YEARS))), None)
    authors = [
        _first_name_first(name)
        for entry in next((fields[name] for name in _AUTHORS if any(fields.get(name, []))), [])
        for name in entry.split(";")
        if name.strip()
    ]
    doi = next(filter(None, map(clean_doi, _all(fields, _DOIS))), None)
    number = next(filter(str.strip, _all(fields, _IDS)), None)
    try:
        paper = paper_from_mapping(
            {
                "id": doi or number or content_hash(title, str(year), *authors[:1]),
                "title": title,
                "abstract": abstract,
                "year": year,
                "authors": authors,
                "doi": doi,
                "venue": _text(fields, _VENUES),
                "url": next(iter(_all(fields, ("urls",))), None),
            },
            source="ris",
        )
    except DataError as e:
        return Found(line, problem=e.message)
    return Found(line, paper)


def _all(fields: Fields, names: Iterable[str]) -> list[str]:
    return [value for name in names for value in fields.get(name, [])]


def _text(fields: Fields, names: Iterable[str]) -> str:
    """The first field that holds text: its lines joined, a repeated one once."""
    texts = (strip_markup(" ".join(dict.fromkeys(fields.get(name, [])))).strip() for name in names)
    return next(filter(None, texts), "")


def _first_name_first(name: str) -> str:
    parts = [part.strip() for part in name.split(",") if part.strip()]
    if len(parts) not in (2, 3):
        return name.strip()
    last, first, *suffix = parts
    return " ".join([first, last, *suffix])
