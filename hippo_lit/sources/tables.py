"""CSV and TSV to papers: which column is what is told by the header, as the usual programs write it.

Known are the exports of Scopus, Web of Science, PubMed, Zotero, IEEE Xplore, Lens, Dimensions, Rayyan and
Covidence, and plain names in English, German, French and Spanish. What stands above the header is passed by.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hippo_lit.errors import ConfigError, DataError
from hippo_lit.names import fold
from hippo_lit.sources.built import Draft, found_paper, split_names
from hippo_lit.sources.found import Found
from hippo_lit.text import clean

MAX_CELL_CHARS = 16_000_000
MAX_ROW_LINES = 2_000
MAX_MESSAGE_CHARS = 1_000
_PREAMBLE = 20  # lines within which a header has to be
_DELIMITERS = ",;\t|"
_NAMES = {
    "title": "title|article title|document title|ti|primary title|titel|titre|titulo|publication|paper title"
    "|t1",
    "abstract": "abstract|abstract note|ab|summary|zusammenfassung|resume|resumen|kurzfassung|n2",
    "year": "year|publication year|py|published year|pub year|pubyear|jahr|annee|ano|erscheinungsjahr"
    "|date published|publication date|date|da|published|y1|pub date|cover date|issued",
    "authors": "author full names|af|authors|author|author s|au|author names|autoren|autor|auteurs|auteur"
    "|autores|verfasser|creators",
    "doi": "doi|di|do|doi link|digital object identifier",
    "venue": "source title|publication title|journal|journal book|so|source|jt|venue|zeitschrift|revue"
    "|revista|journal title|secondary title|publication name|booktitle|conference",
    "url": "url|link|pdf link|ur|source linkout|external url",
    "id": "id|eid|ut unique wos id|ut|key|lens id|publication id|accession number|an|record id|paper id"
    "|corpus id|record number|ref|covidence",
    "pmid": "pmid|pubmed id|pm|medline pmid",
    "pmcid": "pmcid|pmc id",
    "open_access": "is open access|is oa|isopenaccess",
    "retracted": "is retracted|retracted",
    "references": "references ids|referenced works|citing works",
}
_FIELDS = {name: field for field, names in _NAMES.items() for name in names.split("|")}
COLUMNS = tuple(_NAMES)
"""The fields that `columns` may give a header to."""


def read_table(
    lines: Iterable[str], columns: Mapping[str, str] | None = None, *, name: str = "the table"
) -> Iterator[Found]:
    """Every row below the header: a paper, or the reason why it is none. One row is in memory at a time.

    `columns` says under which header a field stands, {"title": "Titel"}; fields it does not name are guessed.
    A note names the columns that are not read. Raises ConfigError (key: columns) for a field that there is
    not, DataError for a header that the table `name` has not.
    """
    columns = dict(columns or {})
    _check(columns)
    rows = _Rows(lines)
    header = _header(rows, columns)
    if missing := [f'"{head}"' for field, head in columns.items() if field not in header.places]:
        there = ", ".join(f'"{cell}"' for cell in header.cells if cell) or "nothing"
        problem = f"{name}:{header.line}: there is no column {', '.join(missing)}; the header has {there}"
        raise DataError(clean(problem)[:MAX_MESSAGE_CHARS], path=name, line=header.line)
    places, width = header.places, len(header.cells)
    if not places:
        return
    read = {place for found in places.values() for place in found}
    if unread := [f'"{cell}"' for place, cell in enumerate(header.cells) if cell and place not in read]:
        yield Found(header.line, note=f"columns that are not read: {', '.join(unread)}")
    for number, cells, problem in rows.read(width):
        if problem:
            yield Found(number, problem=problem)
        elif any(map(str.strip, cells)):
            yield _paper(cells, places, number)


def parse_columns(text: str) -> dict[str, str]:
    """The `columns` that "title=Titel,abstract=Zusammenfassung" means. Raises ConfigError (key: columns).

    >>> parse_columns("title=Titel, abstract=Text")
    {'title': 'Titel', 'abstract': 'Text'}
    """
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not pairs or not all(field.strip() and header.strip() for field, _, header in pairs):
        raise ConfigError(f"{text!r} names no columns; write FIELD=HEADER,FIELD=HEADER", key="columns")
    columns = {field.strip(): header.strip() for field, _, header in pairs}
    _check(columns)
    return columns


def _check(columns: Mapping[str, str]) -> None:
    if strangers := sorted(columns.keys() - set(COLUMNS)):
        raise ConfigError(
            f"there is no field {strangers[0]!r} to give a column to; there are {', '.join(COLUMNS)}",
            key="columns",
        )


def is_header(line: str) -> bool:
    """Whether a line could be the header of a table of papers: a title, and one thing more that is known."""
    return any(_is_header(_places(_cells(line, delimiter), {})) for delimiter in _DELIMITERS)


def _is_header(places: Mapping[str, Sequence[int]]) -> bool:
    return ("title" in places or "abstract" in places) and len(places) > 1


@dataclass(frozen=True, slots=True)
class _Header:
    """`places` says for each field in which cells it stands; empty where no header was found."""

    line: int
    cells: list[str]
    places: dict[str, list[int]]


def _header(rows: _Rows, columns: Mapping[str, str]) -> _Header:
    """The header, or the first row where none is like one; sets the delimiter."""
    first = _Header(1, [], {})
    for _ in range(_PREAMBLE):
        line = rows.next_line()
        if line is None:
            break
        choices = [(delimiter, _cells(line, delimiter)) for delimiter in _DELIMITERS]
        found = [(_places(cells, columns), delimiter, cells) for delimiter, cells in choices]
        places, delimiter, cells = max(found, key=lambda item: (len(item[0]), len(item[2])))
        cells = [cell.strip() for cell in cells]
        if "title" in places or "abstract" in places or any(field in places for field in columns):
            rows.delimiter = delimiter
            return _Header(rows.number, cells, places)
        if not first.cells and any(cells):
            first = _Header(rows.number, cells, {})
    return first


def _places(cells: Sequence[str], columns: Mapping[str, str]) -> dict[str, list[int]]:
    """For each field the columns that hold it, the likelier name first."""
    names = [fold(cell.replace("_", " ")) for cell in cells]
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        field = _FIELDS.get(name)
        if field and field not in columns:
            places.setdefault(field, []).append(place)
    for field, found in places.items():
        order = _NAMES[field].split("|")
        found.sort(key=lambda place: order.index(names[place]))
    for field, wanted in columns.items():
        exact = [place for place, cell in enumerate(cells) if cell.strip() == wanted.strip()]
        if found := exact or [place for place, name in enumerate(names) if name == fold(wanted)]:
            places[field] = found
    return places


def _cells(line: str, delimiter: str) -> list[str]:
    _raise_limit()
    try:
        return next(csv.reader([line.replace("\0", "")], delimiter=delimiter), [])
    except csv.Error:
        return []


class _Rows:
    """Rows from lines. A quote that is never closed costs its own row, not the rest of the file."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = (part for line in lines for part in _split(line))
        self._again: deque[str] = deque()
        self.number, self.delimiter = 0, ","

    def next_line(self) -> str | None:
        line = self._again.popleft() if self._again else next(self._lines, None)
        self.number += line is not None
        return None if line is None else line.replace("\0", "").replace("\ufeff", "")

    def read(self, width: int) -> Iterator[tuple[int, list[str], str]]:
        """(line, cells, problem) of each row that is not blank."""
        _raise_limit()
        while True:
            taken: list[str] = []
            open_end = False

            def feed(taken: list[str] = taken) -> Iterator[str]:
                nonlocal open_end
                while len(taken) < MAX_ROW_LINES and (line := self.next_line()) is not None:
                    taken.append(line)
                    yield line
                open_end = True

            try:
                cells = next(csv.reader(feed(), delimiter=self.delimiter, strict=True), None)
                problem = "a quotation mark is never closed" if open_end and taken else ""
            except csv.Error as e:
                cells = []
                problem = "a quotation mark is never closed" if open_end else f"the row cannot be read: {e}"
            if not taken:
                return
            start = self.number - len(taken) + 1
            extra = [cell for cell in (cells or [])[width:] if cell.strip()]
            if not problem and extra:
                problem = f"the row has {len(cells or [])} cells, and the header {width}"
            if problem and len(taken) > 1:
                self._again.extendleft(reversed(taken[1:]))
                self.number -= len(taken) - 1
            if problem or cells:
                yield start, cells or [], problem


def _split(line: str) -> list[str]:
    """Old Macintosh line ends within what was taken for one line."""
    return line.splitlines(keepends=True) if "\r" in line[:-2] and '"' not in line else [line]


def _raise_limit() -> None:
    if csv.field_size_limit() < MAX_CELL_CHARS:  # it is one for the whole process; ours is still a limit
        csv.field_size_limit(MAX_CELL_CHARS)


def _paper(cells: Sequence[str], places: Mapping[str, Sequence[int]], line: int) -> Found:
    def values(field: str) -> list[str]:
        found = [cells[place].strip() for place in places.get(field, ()) if place < len(cells)]
        return [value for value in found if value]

    def first(field: str) -> str:
        return next(iter(values(field)), "")

    pmid = first("pmid")
    draft = Draft(
        title=first("title"),
        abstract=first("abstract"),
        years=values("year"),
        authors=split_names(first("authors")),
        dois=[*values("doi"), *values("url")],
        venue=first("venue"),
        url=first("url"),
        references=[ref.strip() for ref in first("references").replace(",", ";").split(";")],
        ids={"pmid": pmid, "pmcid": first("pmcid")},
        fallback_ids=[*values("id"), f"pmid:{pmid}" if pmid else ""],
        open_access=first("open_access") or None,
        retracted=True if first("retracted").lower() in ("true", "yes", "1") else None,
    )
    return found_paper(draft, line, source="csv")
