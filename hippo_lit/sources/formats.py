"""Which format a text is in: by its content first, then by the ending of its name."""

from __future__ import annotations

import json
import re
from typing import Literal

from hippo_lit.sources.tables import is_header
from hippo_lit.sources.xml_papers import ROOTS

Format = Literal["json", "jsonl", "bibtex", "ris", "wos", "medline", "endnote", "xml", "csv"]

FORMATS = (
    "JSONL and JSON (our own, BEIR, HippoRAG, OpenAlex, Semantic Scholar, CSL, Zotero), BibTeX, RIS,"
    " Web of Science, PubMed (.nbib, XML), EndNote (.enw, XML), JATS, CSV and TSV, each also as .gz"
)
SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".bib": "bibtex",
    ".bibtex": "bibtex",
    ".ris": "ris",
    ".ciw": "wos",
    ".nbib": "medline",
    ".medline": "medline",
    ".enw": "endnote",
    ".xml": "xml",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
}
_HEADER_LINES = 20
_RECORD_STARTS: tuple[tuple[Format, re.Pattern[str]], ...] = (
    ("ris", re.compile(r"^[ \t]*TY[ \t]{0,3}-", re.MULTILINE)),
    ("wos", re.compile(r"^PT [A-Z]\s*$", re.MULTILINE)),
    ("medline", re.compile(r"^PMID ?- ?\d", re.MULTILINE)),
    ("endnote", re.compile(r"^%0[ \t]+\S", re.MULTILINE)),
    ("bibtex", re.compile(r"^[ \t]*@[ \t]*\w+\s*[{(]", re.MULTILINE)),
)
_ROOT = re.compile(
    r"(?:<\?[^>]*\?>|<!--.*?-->|<![^\[>]*(?:\[.*?\])?[^>]*>|\s+)*<(?:\w+:)?([\w.-]+)", re.DOTALL
)


def recognise(text: str, named: Format | None) -> Format | None:
    """The format that the beginning of a file shows; None where it shows none."""
    if text.startswith(("{", "[")) and (found := _recognise_json(text, named)):
        return found
    if text.startswith("<"):
        root = xml_root(text)
        return "xml" if root in ROOTS else None
    if named == "csv" and _has_header(text):
        return "csv"
    starts = [(start.start(), kind) for kind, pattern in _RECORD_STARTS if (start := pattern.search(text))]
    if starts:
        return min(starts)[1]
    return "csv" if _has_header(text) else None


def xml_root(text: str) -> str:
    """The name of the first element, in lower case and without prefix; "" where there is none."""
    found = _ROOT.match(text)
    return found[1].lower() if found else ""


def what_else(text: str) -> str:
    """What a text is that is in no format known here, and what to do about it; "" where that is not clear."""
    if re.match(r"<(?:!doctype html|html)", text, re.IGNORECASE) or xml_root(text) == "html":
        return "a web page; download the export itself"
    if text.startswith("<?xml") or (text.startswith("<") and xml_root(text)):
        return f"XML of a kind that is not read (<{xml_root(text)[:40]}>); export it as RIS, BibTeX or JSON"
    return ""


def _has_header(text: str) -> bool:
    return any(is_header(line) for line in text.split("\n", _HEADER_LINES)[:_HEADER_LINES])


def _recognise_json(text: str, named: Format | None) -> Format | None:
    """ "jsonl" where lines are values of their own; None where it does not look like JSON at all."""
    first, *others = text.split("\n")
    if _is_object(first):
        return "jsonl"
    if not first.rstrip().endswith(("[", "{", ",")) and any(map(_is_object, others)):
        return "jsonl"
    if re.match(r'\{\s*(?:["}]|\Z)', text):
        # A first line that is longer than the head could be either.
        return "jsonl" if named == "jsonl" and not others else "json"
    return "json" if re.match(r'\[\s*(?:["\d\[\]{]|\Z)', text) else None


def _is_object(line: str) -> bool:
    if not line.startswith("{"):
        return False
    try:
        return bool(json.loads(line, strict=False))
    except (ValueError, RecursionError):
        return False
