"""Formats of one tag a line, short of RIS and Web of Science: PubMed's own (.nbib) and EndNote's (.enw)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from hippo_lit.sources.built import NO_TITLE, Draft, first_name_first, found_paper
from hippo_lit.sources.found import Found

Fields = Mapping[str, list[str]]

MAX_RECORD_LINES = 200_000
_MEDLINE_TAG = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?")
_ENDNOTE_TAG = re.compile(r"%([0-9A-Z@!#$&()*+<>?=^\[~])(?:[ \t]+|$)")
_AT_DOI = re.compile(r"(\S+) \[doi\]")


def read_medline(lines: Iterable[str]) -> Iterator[Found]:
    """Every record of a PubMed or MEDLINE export; one is in memory at a time."""
    for line, fields in _records(lines, _MEDLINE_TAG, "PMID"):
        yield _medline(line, fields)


def read_endnote(lines: Iterable[str]) -> Iterator[Found]:
    """Every record of an EndNote (refer) export; one is in memory at a time."""
    for line, fields in _records(lines, _ENDNOTE_TAG, "0"):
        yield _endnote(line, fields)


def _records(
    lines: Iterable[str], tag: re.Pattern[str], first: str
) -> Iterator[tuple[int, dict[str, list[str]]]]:
    """Each record's first line and fields. A record begins at the tag `first`, or behind a blank line."""
    fields: dict[str, list[str]] = {}
    start, blank, size = 0, True, 0
    last: list[str] | None = None
    for number, raw in enumerate(lines, 1):
        for line in re.split(r"\r(?!\n)", raw):
            line = line.rstrip("\r\n").replace("\ufeff", "")
            if not line.strip():
                blank = True
                continue
            found = tag.match(line)
            # A blank line parts records only where the tag after it could open one: some programs leave
            # blank lines within.
            opens = found is not None and (found[1] == first or (blank and found[1] in fields and size > 1))
            if fields and (opens or size > MAX_RECORD_LINES):
                yield start, fields
                fields, last, size = {}, None, 0
            if found:
                start = number if not fields else start
                last = fields.setdefault(found[1], [])
                last.append(line[found.end() :].strip())
            elif last is not None:
                last[-1] = f"{last[-1]} {line.strip()}"
            blank, size = False, size + 1
    if fields:
        yield start, fields


def _medline(line: int, fields: Fields) -> Found:
    pmid = _first(fields, "PMID")
    kinds = " ".join(fields.get("PT", [])).lower()
    dois = [doi for tag in ("LID", "AID") for value in fields.get(tag, []) for doi in _AT_DOI.findall(value)]
    titles = (_first(fields, tag) for tag in ("TI", "TT", "BTI", "CTI"))
    draft = Draft(
        title=next((title for title in titles if not NO_TITLE.fullmatch(title)), ""),
        abstract=_first(fields, "AB", "OAB"),
        years=[_first(fields, tag) for tag in ("DP", "DEP", "EDAT")],
        authors=[*map(first_name_first, fields.get("FAU") or fields.get("AU", [])), *fields.get("CN", [])],
        dois=dois,
        venue=_first(fields, "JT", "TA"),
        ids={"pmid": pmid, "pmcid": _first(fields, "PMC")},
        fallback_ids=[f"pmid:{pmid}" if pmid else ""],
        retracted=True if "retracted publication" in kinds or "RIN" in fields else None,
    )
    return found_paper(draft, line, source="medline")


def _endnote(line: int, fields: Fields) -> Found:
    people = fields.get("A") or fields.get("?", []) or fields.get("E", [])
    draft = Draft(
        title=_first(fields, "T", "!", "Q"),
        abstract=_first(fields, "X"),
        years=[_first(fields, "D"), _first(fields, "8")],
        authors=[first_name_first(name) for entry in people for name in entry.split(";") if name.strip(" ,")],
        dois=[*fields.get("R", []), *fields.get("U", []), *fields.get("M", [])],
        venue=_first(fields, "J", "B", "S"),
        url=_first(fields, "U"),
        fallback_ids=fields.get("M", []),
    )
    return found_paper(draft, line, source="endnote")


def _first(fields: Fields, *tags: str) -> str:
    return next((value for tag in tags for value in fields.get(tag, []) if value), "")
