"""RIS, and the tagged format of Web of Science, to papers.

A paper's id is its DOI, else its accession number (AN), else its ID, else a hash of title, year and first
author. rispy reads the tags within a record; where records begin and end is found here, so that one
without its end (ER) or beginning (TY) costs no other record, and each has its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from hippo_lit.records import parse_year
from hippo_lit.sources.built import Draft, first_name_first, found_paper
from hippo_lit.sources.found import Found
from hippo_lit.sources.reading import plain_lines

Fields = Mapping[str, list[str]]

_TAG = re.compile(r"^([A-Z][A-Z0-9])  -(?: |$)")
# Of programs that are careless about blanks, if they are so throughout a file or a record.
_LOOSE_TAG = re.compile(r"^[ \t]*([A-Z][A-Z0-9])[ \t\xa0]{0,4}-(?:[ \t\xa0]+|$)")
_TIGHT_TAG = re.compile(r"^([A-Z][A-Z0-9])  -(?=\S)")
_END = re.compile(r"^[ \t]*(?:TY[ \t\xa0]{0,4}-[ \t\xa0]*[A-Z]{3,10}|ER[ \t\xa0]{0,4}-)[ \t\xa0]*$")
_HEAD_CHARS = 200_000
_WOS_TAG = re.compile(r"^([A-Z][A-Z0-9])(?: |$)")

# rispy's names for the tags, those of RIS and those of Web of Science; capitals are tags it has no name for.
_TITLES = ("title", "primary_title", "document_title", "BT", "CT", "translated_title", "short_title")
_ABSTRACTS = ("abstract", "notes_abstract")
_AUTHORS = ("author_full_name", "authors", "first_authors")
_YEARS = ("year", "publication_year", "date")
_VENUES = ("alternate_title3", "secondary_title", "journal_name", "publication_name", "alternate_title2")
_DOIS = ("doi", "DI", "type_of_work", "urls", "file_attachments2")
_IDS = ("accession_number", "id")
_PMIDS = ("PM",)
_TITLE_TAGS = frozenset(("TI", "T1", "CT", "BT", "AB", "N2"))


def read_ris(lines: Iterable[str]) -> Iterator[Found]:
    """Every record of a RIS file, one in memory at a time: a paper, or the reason why it is none."""
    from rispy import RisParser
    from rispy.config import TAG_KEY_MAPPING

    parser = RisParser(list_tags=list(TAG_KEY_MAPPING), delimiter_tags_mapping={})
    for line, record in _records(_strict(plain_lines(lines)), _TAG, "TY"):
        yield _record(line, parser.parse(_with_ends(record, "TY  - GEN", "ER  - ")))


def read_wos(lines: Iterable[str]) -> Iterator[Found]:
    """Every record of a Web of Science export (plain text, tagged), one in memory at a time."""
    from rispy import WokParser
    from rispy.config import WOK_TAG_KEY_MAPPING

    parser = WokParser(list_tags=list(WOK_TAG_KEY_MAPPING), skip_unknown_tags=True)
    for line, record in _records(plain_lines(lines), _WOS_TAG, "PT", ignored=("FN", "VR", "EF")):
        yield _record(line, parser.parse(_with_ends(record, "PT J", "ER")))


def _strict(lines: Iterator[str]) -> Iterator[str]:
    """The lines with tags as the standard has them, where the head of the file, or the first line of a
    record, shows that they are not.
    """
    head: list[str] = []
    size = 0
    while size < _HEAD_CHARS and (line := next(lines, None)) is not None:
        head.append(line)
        size += len(line) + 1
    loose = len(list(filter(_LOOSE_TAG.match, head))) > 2 * len(list(filter(_TAG.match, head)))
    careless = False
    for line in chain(head, lines):
        if _END.match(line):
            careless = not _TAG.match(line)
        yield _TIGHT_TAG.sub(r"\1  - ", _LOOSE_TAG.sub(r"\1  - ", line) if loose or careless else line)


@dataclass(slots=True)
class _Segment:
    """Lines between two places where a record may begin; `closed` by "ER"."""

    start: int
    lines: list[str] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    closed: bool = False


def _records(
    lines: Iterable[str], tag: re.Pattern[str], first: str, ignored: tuple[str, ...] = ()
) -> Iterator[tuple[int, list[str]]]:
    """The records' lines, each with the line number of the first. What stands between records is left out.

    A record ends at "ER" or where another begins. Tags in front of its beginning belong to it too, unless
    they and it have a title each: then they are a record that lacks its beginning and its end.
    """
    front: _Segment | None = None
    for segment in _segments(lines, tag, first, ignored):
        if front is not None:
            if segment.tags.isdisjoint(_TITLE_TAGS) or front.tags.isdisjoint(_TITLE_TAGS):
                segment.lines[1:1] = front.lines
                segment.start = front.start
            else:
                yield front.start, front.lines
            front = None
        if first in segment.tags or segment.closed:
            yield segment.start, segment.lines
        else:
            front = segment
    if front is not None:
        yield front.start, front.lines


def _segments(
    lines: Iterable[str], tag: re.Pattern[str], first: str, ignored: tuple[str, ...]
) -> Iterator[_Segment]:
    segment: _Segment | None = None
    for number, line in enumerate(lines, 1):
        found = tag.match(line)
        if found and found[1] in ignored:
            continue
        if segment and found and found[1] in (first, "ER"):
            segment.closed = found[1] == "ER"
            yield segment
            segment = None
        if found and found[1] != "ER":
            segment = segment or _Segment(number)
            segment.tags.add(found[1])
        if segment:
            segment.lines.append(line)
    if segment:
        yield segment


def _with_ends(record: list[str], first: str, last: str) -> str:
    opened = record if record[0][:2] == first[:2] else [first, *record]
    return "\n".join([*opened, last])


def _record(line: int, parsed: list[dict[str, list[str]]]) -> Found:
    fields = {name: value for record in parsed for name, value in record.items() if isinstance(value, list)}
    for record in parsed:
        unknown = record.get("unknown_tag")
        fields |= unknown if isinstance(unknown, dict) else {}
    links = _all(fields, ("urls",))
    draft = Draft(
        title=_text(fields, _TITLES),
        abstract=_text(fields, _ABSTRACTS),
        years=[next(filter(None, map(parse_year, _all(fields, _YEARS))), None)],
        authors=[
            first_name_first(name)
            for entry in next((fields[name] for name in _AUTHORS if any(fields.get(name, []))), [])
            for name in entry.split(";")
            if name.strip()
        ],
        dois=_all(fields, _DOIS),
        venue=_text(fields, _VENUES),
        url=next(iter(links), ""),
        ids={"pmid": next(iter(_all(fields, _PMIDS)), None)},
        fallback_ids=_all(fields, _IDS),
    )
    return found_paper(draft, line, source="ris")


def _all(fields: Fields, names: Iterable[str]) -> list[str]:
    return [value for name in names for value in fields.get(name, [])]


def _text(fields: Fields, names: Iterable[str]) -> str:
    """The first field that holds text: its lines joined, a repeated one once."""
    texts = (" ".join(dict.fromkeys(fields.get(name, []))).strip() for name in names)
    return next(filter(None, texts), "")
