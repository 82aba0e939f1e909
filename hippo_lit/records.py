"""Dictionaries to papers and back: what callers hand to `HippoLit.add`, and our own JSON.

Field names are matched without regard to case, and common synonyms are known (`_id`, `paperId`; `text`
for an abstract; `publication_year`, `issued`; …). What a record says under BEIR's `metadata` counts where
the record itself says nothing. Keys that are not known are ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any

from hippo_lit.errors import DataError
from hippo_lit.identifiers import canonical, from_mapping, of_id, parse
from hippo_lit.identifiers import clean_doi as clean_doi
from hippo_lit.text import clean
from hippo_lit.titles import is_marked_retracted
from hippo_lit.types import Paper

MAX_ID_CHARS = 512
YEARS = range(1000, 2101)

_IDS = ("id", "_id", "paperid", "paper_id", "corpusid", "doc_id", "docid")
_SYNONYMS = {
    "abstract": ("abstract", "text", "summary"),
    "year": ("year", "date", "publication_year", "publication_date", "publicationdate", "issued"),
    "authors": ("authors", "author"),
    "references": ("references", "referenced_works", "outcitations"),
    "citations": ("citations", "cited_by", "incitations"),
    "venue": ("venue", "journal", "container-title"),
    "url": ("url", "link"),
    "ids": ("ids", "externalids", "external_ids"),
    "retracted": ("retracted", "is_retracted", "isretracted"),
    "open_access": ("open_access", "openaccess", "isopenaccess", "is_oa"),
}
_ID_FIELDS = ("arxiv", "arxiv_id", "arxivid", "pmid", "pmcid", "openalex_id", "corpusid", "paperid")
_NAME_PARTS = (("first", "middle", "last", "suffix"), ("given", "family", "suffix"))
ARXIV_MENTION = re.compile(r"\barxiv:\s*[^\s,;\[\]]+", re.IGNORECASE)  # Google Scholar's journal
_AUTHOR_SEPARATOR = re.compile(r"\s+and\s+|\s*;\s*")
# Four digits alone, or opening a date without separators (20190501).
_YEAR = re.compile(r"(?<!\d)(\d{4})(?:(?!\d)|(?=(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)))", re.ASCII)


def paper_from_mapping(data: Mapping[str, Any], *, source: str = "", where: str = "") -> Paper:
    """The paper that a record describes.

    An id (text, or a number) and a title or an abstract are needed; the rest may be missing, null or
    nonsense. Text is cleaned (`text.clean`), so an abstract becomes one line. Years outside 1000 to 2100,
    and what names no year ("n.d."), become None. References and citations lose repetitions, blanks and
    the paper itself; their order stays.

    `source` is used where the record names none. `where` ("papers.jsonl, line 7") opens the message of
    the DataError that is raised for a record that cannot be a paper (fields: record, field).
    """
    if not isinstance(data, Mapping):
        raise _error(where, None, "", f"must be an object with fields, not {_kind(data)}")
    layers = [_lowered(data)]
    metadata = layers[0].get("metadata")
    if isinstance(metadata, Mapping):
        layers.append(_lowered(metadata))

    def values(field: str) -> Iterator[Any]:
        names = _SYNONYMS.get(field, (field,))
        return (layer[name] for layer in layers for name in names if not _missing(layer.get(name)))

    def first(field: str) -> Any:
        return next(values(field), None)

    paper_id = _paper_id(layers[0], where)
    texts: dict[str, str] = {}
    for field in ("title", "abstract"):
        text = _text(first(field))
        if text is None:
            raise _error(where, paper_id, field, f'has a "{field}" that is {_kind(first(field))}, not text')
        texts[field] = text
    if not any(texts.values()):
        raise _error(where, paper_id, "title", "has neither a title nor an abstract")
    doi = clean_doi(first("doi"))
    own = {name: layers[0][name] for name in _ID_FIELDS if not _missing(layers[0].get(name))}
    return Paper(
        id=paper_id,
        title=texts["title"],
        abstract=texts["abstract"],
        year=next((year for value in values("year") if (year := parse_year(value))), None),
        authors=_authors(first("authors")),
        references=_other_ids(first("references"), paper_id),
        citations=_other_ids(first("citations"), paper_id),
        source=_text(first("source")) or clean(source),
        doi=doi or _name(first("doi")),
        venue=_name(first("venue")),
        url=_name(first("url")),
        ids=_further_ids(
            [own, *values("ids"), *values("url"), ARXIV_MENTION.findall(_name(first("venue")) or "")],
            implied={of_id(paper_id), *from_mapping({"doi": doi})},
        ),
        retracted=any(map(_flag, values("retracted"))) or is_marked_retracted(texts["title"]),
        open_access=next(
            (flag for value in values("open_access") if (flag := _flag(value)) is not None), None
        ),
    )


def paper_to_mapping(paper: Paper) -> dict[str, Any]:
    """The paper as a JSON-ready dictionary, every field present.

    `paper_from_mapping(paper_to_mapping(p)) == p`, also by way of JSON, for every paper that
    `paper_from_mapping` made or a FileSource read.
    """
    return {
        "id": paper.id,
        "title": paper.title,
        "abstract": paper.abstract,
        "year": paper.year,
        "authors": list(paper.authors),
        "references": list(paper.references),
        "citations": list(paper.citations),
        "source": paper.source,
        "doi": paper.doi,
        "venue": paper.venue,
        "url": paper.url,
        "ids": list(paper.ids),
        "retracted": paper.retracted,
        "open_access": paper.open_access,
    }


def parse_year(value: Any) -> int | None:
    """The year, 1000 to 2100, that a number, a date or a phrase names; None where there is none.

    >>> parse_year(2019.0), parse_year("2019-05-01"), parse_year("c. 1987"), parse_year("n.d.")
    (2019, 2019, 1987, None)
    """
    if isinstance(value, Mapping):  # CSL: {"date-parts": [[2019, 5, 1]]}
        value = value.get("date-parts") or value.get("raw")
    while isinstance(value, list | tuple) and value:
        value = value[0]
    if isinstance(value, str):
        found = (int(digits) for digits in _YEAR.findall(unicodedata.normalize("NFKC", value)))
        return next((year for year in found if year in YEARS), None)
    whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) and value in YEARS else None


def unique(values: Iterable[str | None]) -> tuple[str, ...]:
    """The values that are not empty, each once, in order of first appearance."""
    return tuple(dict.fromkeys(value for value in values if value))


def _lowered(data: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key).lower(): value for key, value in data.items()}


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple) and not value)


def _paper_id(fields: Mapping[str, Any], where: str) -> str:
    value = next((fields[name] for name in _IDS if fields.get(name) is not None), None)
    if value is None:
        raise _error(where, None, "id", 'has no "id"; give every paper an id of its own')
    paper_id = _identifier(value)
    if paper_id is None:
        raise _error(
            where, None, "id", f'has an "id" that is {_kind(value)}; it must be text or a plain number'
        )
    if not paper_id:
        raise _error(where, None, "id", 'has a blank "id"; give every paper an id of its own')
    if len(paper_id) > MAX_ID_CHARS:
        problem = f'has an "id" of {len(paper_id)} characters; at most {MAX_ID_CHARS} are allowed'
        raise _error(where, f"{paper_id[:40]}…", "id", problem)
    return paper_id


def _identifier(value: Any) -> str | None:
    """An id as text; None where the value cannot be one."""
    return clean(value) if isinstance(value, str) else _number(value)


def _number(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, Integral):
        # Python refuses to print longer ones (sys.set_int_max_str_digits).
        return str(int(value)) if int(value).bit_length() < 1024 else None
    return str(float(value)) if isinstance(value, float) and value - value == 0 else None


def _text(value: Any) -> str | None:
    """Clean text: "" for nothing, a list's texts joined by spaces; None where the value is no text."""
    if value is None or (isinstance(value, float) and value != value):  # pandas writes NaN for null
        return ""
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        value = " ".join(value)
    return _identifier(value)


def _name(value: Any) -> str | None:
    """A name that stands bare, in a list (the first counts) or under "name"; None where there is none."""
    if isinstance(value, list | tuple) and value:
        value = value[0]
    if isinstance(value, Mapping):
        value = value.get("name") or value.get("display_name")
    return (clean(value) or None) if isinstance(value, str) else None


def _authors(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = _AUTHOR_SEPARATOR.split(clean(value))
    elif isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list | tuple):
        return ()
    return tuple(name for name in map(_author, value) if name)


def _author(value: Any) -> str | None:
    name = _name(value)
    if name or not isinstance(value, Mapping):
        return name
    for parts in _NAME_PARTS:
        if name := clean(" ".join(_text(value.get(part)) or "" for part in parts)):
            return name
    return _name(value.get("author"))


def _further_ids(values: Iterable[Any], implied: set[str]) -> tuple[str, ...]:
    """Canonical identifiers beyond the implied ones, sorted; what is no identifier is left out.

    They come as mappings {kind: value}, as lists of (kind, value), or as texts that say their kind.
    """
    found: set[str | None] = set()
    for value in values:
        if isinstance(value, Mapping):
            found.update(from_mapping(value))
        for item in value if isinstance(value, list | tuple) else [value]:
            if isinstance(item, str):
                found.add(parse(item))
            elif isinstance(item, list | tuple) and len(item) == 2:
                found.add(canonical(str(item[0]), item[1]))
    return tuple(sorted(text for text in found if text and text not in implied))


def _flag(value: Any) -> bool | None:
    """True or false as JSON or text says it, or OpenAlex's {"is_oa": …}; None for anything else."""
    if isinstance(value, Mapping):
        value = value.get("is_oa")
    text = value.strip().lower() if isinstance(value, str) else value
    if text in ("true", "yes", "1", 1):
        return True
    return False if text in ("false", "no", "0", 0) else None


def _other_ids(value: Any, own: str) -> tuple[str, ...]:
    """Ids of other papers, bare or in objects. A number is a count, as some sources give, and names none."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        return ()
    return unique(i for i in map(_other_id, value) if i and i != own and len(i) <= MAX_ID_CHARS)


def _other_id(value: Any) -> str | None:
    if isinstance(value, Mapping):
        fields = _lowered(value)
        value = next((fields[name] for name in _IDS if fields.get(name) is not None), None)
    return _identifier(value)


def _kind(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "a number" if _number(value) else "no finite number of ordinary length"
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return "null" if value is None else kinds.get(type(value), type(value).__name__)


def _error(where: str, record: str | None, field: str, problem: str) -> DataError:
    subject = f'paper "{record}"' if record else "the record"
    prefix = f"{where}: " if where else ""
    return DataError(f"{prefix}{subject} {problem}", record=record, field=field)
