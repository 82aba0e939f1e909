"""BibTeX and biblatex to papers.

A paper's id is its DOI, else its arXiv id without version, else the citation key, else a hash of its
content. `crossref` and `xdata` hand down authors, date and venue, and a title only where there is no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from hippo_lit.errors import DataError
from hippo_lit.records import ARXIV_MENTION, clean_doi, paper_from_mapping
from hippo_lit.sources.bibtex_entries import BadEntry, Entry, entries
from hippo_lit.sources.found import Found
from hippo_lit.sources.latex import latex_within, plain_latex, verbatim
from hippo_lit.sources.markup import strip_markup
from hippo_lit.sources.reading import plain_lines
from hippo_lit.text import content_hash

MAX_GENERATIONS = 20  # of crossref; more are a fault, and would make long chains slow
_INHERITED = ("author", "year", "date", "journal", "journaltitle", "booktitle")
_REFERENCE = re.compile("crossref|xdata", re.IGNORECASE)
_CONTAINERS = ("set", "xdata")
_VOLUMES = tuple(
    size + kind for size in ("", "mv") for kind in ("book", "collection", "proceedings", "reference")
)
_PARTS = ("in", "supp", "bookin", "conference")  # how the kinds begin that have a volume around them
_ARXIV = re.compile(r"(?:arxiv:)?([a-z-]+(?:\.[a-z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?", re.IGNORECASE)
_NAME_TOKEN = re.compile(r"\\.|[{}]|(?<!\s)\s+(?P<and>and)(?=\s)", re.DOTALL | re.IGNORECASE)
_LABELLED_NAME = re.compile(r"(given|prefix|family|suffix)\s*=\s*([^,]*)", re.IGNORECASE)


def read(lines: Iterable[str], parents: Mapping[str, Entry]) -> Iterator[Found]:
    """Every entry of a BibTeX file: a paper, or the reason why it is none; notes on broken crossrefs.

    `parents` are the entries that others refer to, from `referred`.
    """
    for entry in entries(plain_lines(lines)):
        if isinstance(entry, BadEntry):
            yield Found(entry.line, problem=entry.problem)
        else:
            yield _record(entry, parents)


def referred(reopen: Callable[[], Iterable[str]]) -> dict[str, Entry]:
    """The entries that others refer to, wherever they stand, by key and by other `ids`, in lower case.

    `reopen` gives the lines from the beginning. Where no word of them is a reference, nothing is parsed.
    """
    if not any(map(_REFERENCE.search, reopen())):
        return {}
    wanted = {key.lower() for entry in _entries(reopen) for key in _parents(entry)}
    by_key: dict[str, Entry] = {}
    for entry in _entries(reopen) if wanted else ():
        for key in [entry.key, *entry.fields.get("ids", "").split(",")]:
            if (key := key.strip().lower()) in wanted:
                by_key.setdefault(key, entry)
    return by_key


def _entries(reopen: Callable[[], Iterable[str]]) -> Iterator[Entry]:
    return (entry for entry in entries(plain_lines(reopen())) if isinstance(entry, Entry))


def _record(entry: Entry, by_key: Mapping[str, Entry]) -> Found:
    if entry.kind in _CONTAINERS:
        problem = f'the @{entry.kind} "{entry.key}" gathers other entries and is no paper itself'
        return Found(entry.line, problem=problem, harmless=True)
    fields, note = _with_inherited(entry, by_key)
    title = _title(entry.kind, fields)
    if not title:
        return Found(entry.line, problem=f'the entry "{entry.key}" has no title')
    doi = clean_doi(verbatim(fields.get("doi", "")))
    authors = [name for field in ("author", "authors") for name in _names(fields.get(field, ""))]
    years = [_plain(fields.get(field, "")) for field in ("year", "date")]
    paper_id = doi or _arxiv_id(fields) or entry.key or content_hash(title, *years, *authors[:1])
    try:
        paper = paper_from_mapping(
            {
                "id": paper_id,
                "title": title,
                "abstract": _plain(fields.get("abstract", "")),
                "year": years[0],
                "date": years[1],
                "authors": authors,
                "doi": doi,
                "venue": _venue(entry.kind, fields),
                "ids": [*_identifiers(fields)],
                "url": verbatim(fields.get("url") or fields.get("link") or ""),
            },
            source="bibtex",
        )
    except DataError as e:
        return Found(entry.line, problem=e.message)
    return Found(entry.line, paper, note=note)


def _with_inherited(entry: Entry, by_key: Mapping[str, Entry]) -> tuple[dict[str, str], str]:
    """The entry's fields with those of its parents, and what is wrong with the references to these."""
    fields = dict(entry.fields)
    note = ""
    inside = entry.kind.startswith(_PARTS)
    met = {(entry.line, entry.key)}
    pending = list(_parents(entry))
    while pending and len(met) <= MAX_GENERATIONS:
        key = pending.pop(0)
        parent = by_key.get(key.lower())
        if parent is None:
            note = f'it refers to "{key}", which is not in the file'
        elif (parent.line, parent.key) in met:
            note = f'its references by crossref lead in a circle, to "{key}"'
        else:
            met.add((parent.line, parent.key))
            pending += _parents(parent)
            if inside and parent.fields.get("title"):
                fields.setdefault("booktitle", parent.fields["title"])
            for name in _INHERITED:
                if name in parent.fields:
                    fields.setdefault(name, parent.fields[name])
            if not fields.get("title"):
                fields |= {
                    name: parent.fields[name] for name in ("title", "subtitle") if name in parent.fields
                }
    return fields, note


def _parents(entry: Entry) -> Iterator[str]:
    for field in ("crossref", "xdata"):
        yield from filter(None, (key.strip() for key in entry.fields.get(field, "").split(",")))


def _title(kind: str, fields: Mapping[str, str]) -> str:
    title = _plain(fields.get("title", ""))
    if not title and kind in _VOLUMES:
        title = _plain(fields.get("booktitle") or fields.get("maintitle", ""))
    subtitle = _plain(fields.get("subtitle", ""))
    if not title or not subtitle:
        return title
    return f"{title} {subtitle}" if title.endswith(("?", "!", ".", ":")) else f"{title}: {subtitle}"


def _venue(kind: str, fields: Mapping[str, str]) -> str:
    venue = fields.get("journal") or fields.get("journaltitle")
    if not venue and kind not in _VOLUMES:  # a volume's booktitle is its own title
        venue = fields.get("booktitle")
    # Astronomers' files name journals by commands like \apj.
    return _plain(venue or "") or verbatim(venue or "").strip(" \\")


def _arxiv_id(fields: Mapping[str, str]) -> str | None:
    kind = (fields.get("eprinttype") or fields.get("archiveprefix") or "arxiv").strip().lower()
    eprint = verbatim(fields.get("eprint") or fields.get("arxivid") or "").strip()
    if kind != "arxiv" or not eprint:
        return None
    if re.fullmatch(r"\d{7}(?:v\d+)?", eprint) and fields.get("primaryclass"):  # 0307200 of math.QA
        eprint = f"{fields['primaryclass'].split('.')[0].strip()}/{eprint}"
    found = _ARXIV.fullmatch(eprint)
    return found[1].lower() if found else None


def _identifiers(fields: Mapping[str, str]) -> Iterator[tuple[str, str] | str]:
    """What names the paper beside its DOI: (kind, value) pairs, and addresses."""
    if arxiv_id := _arxiv_id(fields):
        yield "arxiv", arxiv_id
    for kind in ("pmid", "pmcid", "pmc"):
        yield kind, verbatim(fields.get(kind, ""))
    other = fields.get("eprinttype") or fields.get("archiveprefix") or ""  # biblatex names PubMed's so
    yield other, verbatim(fields.get("eprint", ""))
    yield verbatim(fields.get("url", ""))
    yield from ARXIV_MENTION.findall(verbatim(fields.get("note", "")))


def _names(field: str) -> Iterator[str]:
    """The persons of a name field, each as "First von Last Jr"."""
    from bibtexparser.middlewares.names import parse_single_name_into_parts

    for name in _persons(field):
        if name.lower() == "others":
            continue
        labelled = {label.lower(): part for label, part in _LABELLED_NAME.findall(name)}
        if "family" in labelled:
            parts = [labelled.get(label, "") for label in ("given", "prefix", "family", "suffix")]
            yield _plain(" ".join(parts))
        else:
            yield _plain(parse_single_name_into_parts(name, strict=False).merge_first_name_first)


def _persons(field: str) -> Iterator[str]:
    r"""What "and" parts outside braces. bibtexparser's own split loses a backslash that opens a name."""
    start = level = 0
    for found in _NAME_TOKEN.finditer(field):
        if found[0] in "{}":
            level = level + 1 if found[0] == "{" else max(level - 1, 0)
        elif found["and"] and not level:
            yield from filter(None, [field[start : found.start()].strip()])
            start = found.end()
    yield from filter(None, [field[start:].strip()])


def _plain(text: str) -> str:
    plain = plain_latex(text)
    # Zotero escapes LaTeX as if it were text: what comes out is LaTeX again.
    if "\\" in plain or "ˆ" in plain:
        plain = latex_within(plain.replace("ˆ", "^"))
    return " ".join(strip_markup(plain).split())
