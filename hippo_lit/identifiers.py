"""The identifiers that databases give papers, each in one canonical form: "kind:value".

    arxiv:1706.03762   arxiv:hep-th/9901001   doi:10.1000/abc   pmid:29456894   pmcid:PMC5815332
    s2:<40 hex digits>   corpusid:13756489   openalex:W2741809807   mag:2741809807   acl:N19-1423
    dblp:journals/x/Turing50   id:<an id that no database gave>

Two texts name the same thing where their canonical forms are equal: versions, letter case, resolvers'
addresses and labels are gone. arXiv's own DOIs are arXiv ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from hippo_lit.text import clean
from hippo_lit.types import Paper

MAX_CHARS = 512
_ARCHIVES = (
    "acc-phys|adap-org|alg-geom|ao-sci|astro-ph|atom-ph|bayes-an|chao-dyn|chem-ph|cmp-lg|comp-gas|cond-mat|cs|"
    "dg-ga|econ|eess|funct-an|gr-qc|hep-ex|hep-lat|hep-ph|hep-th|math|math-ph|mtrl-th|nlin|nucl-ex|nucl-th|"
    "patt-sol|physics|plasm-ph|q-alg|q-bio|q-fin|quant-ph|solv-int|stat|supr-con"
)
_MONTH = r"\d{2}(?:0[1-9]|1[0-2])"
_ARXIV = re.compile(
    rf"(?:({_ARCHIVES})(?:\.[a-z-]{{2,}})?/({_MONTH}\d{{3}})|({_MONTH}\.\d{{4,5}}))(?:v\d+)?(?:\.pdf)?",
    re.IGNORECASE | re.ASCII,
)
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(.+)")
_DOI = re.compile(r"10\.\d+(?:\.\d+)*/\S+", re.ASCII)
_DOI_LABEL = re.compile(r"doi\s*[:=]?\s*", re.IGNORECASE)
_DOI_ADDRESS = re.compile(r"(?:https?://)?(?:dx\.|www\.)?doi\.org/", re.IGNORECASE)
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}
# Prefixes of preprint servers; bioRxiv shares its own with journals, whose DOIs do not begin with a number.
_PREPRINT = re.compile(
    r"10\.(?:48550/|1101/\d{4,}|64898/|21203/rs\.|26434/chemrxiv|31234/osf|31235/osf|31219/osf|2139/ssrn|"
    r"20944/preprints|36227/techrxiv|22541/au|32942/)"
)
_DOI_VERSION = re.compile(r"[./-]?v\d+$")
_HOSTS = (  # by address: what comes before the value, and its kind
    (re.compile(r"(?:export\.|www\.)?arxiv\.org/(?:abs|pdf|html|format|e-print)/(.+)"), "arxiv"),
    (re.compile(r"(?:www\.)?semanticscholar\.org/paper/(?:[^/]+/)?([0-9a-fA-F]{40})"), "s2"),
    (re.compile(r"api\.semanticscholar\.org/(?:corpusid:)(\d+)", re.IGNORECASE), "corpusid"),
    (re.compile(r"(?:api\.|www\.)?openalex\.org/(?:works/)?(w\d+)", re.IGNORECASE), "openalex"),
    (re.compile(r"pubmed\.ncbi\.nlm\.nih\.gov/(\d+)"), "pmid"),
    (re.compile(r"(?:www\.)?ncbi\.nlm\.nih\.gov/pubmed/(\d+)"), "pmid"),
    (re.compile(r"(?:(?:www|pmc)\.)?ncbi\.nlm\.nih\.gov/(?:pmc/)?articles/(?:pmc)?(\d+)", re.I), "pmcid"),
    (re.compile(r"(?:www\.)?aclanthology\.org/([A-Za-z0-9.-]+?)(?:\.pdf|/)?$"), "acl"),
    (re.compile(r"[^/]+/(?:[^?#]*/)?doi/(?:[a-z]+/)?(10\.\d{4,}/[^?#]+)"), "doi"),
)
_ADDRESS = re.compile(r"https?://(?=\S)", re.IGNORECASE)
_VALUES: dict[
    str, tuple[re.Pattern[str], Callable[[str], str]]
] = {  # of kinds without a function of their own: the pattern, and what the value is
    "pmid": (re.compile(r"(?:pmid:?\s*)?0*([1-9]\d{0,8})", re.I), str),
    "pmcid": (re.compile(r"(?:pmc)?0*([1-9]\d*)(?:\.\d+)?", re.I), "PMC{}".format),
    "s2": (re.compile(r"([0-9a-f]{40})", re.I), str.lower),
    "corpusid": (re.compile(r"(?:corpusid:)?0*([1-9]\d*)", re.I), str),
    "openalex": (re.compile(r"(w[1-9]\d*)", re.I), str.upper),
    "mag": (re.compile(r"0*([1-9]\d*)"), str),
    "acl": (re.compile(r"([a-z]\d{2}-\d{4,5}|\d{4}\.[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.\d+)", re.I), str),
    "dblp": (
        re.compile(r"((?:journals|conf|books|phd|series|reference|tr|homepages|persons)/\S+)", re.I),
        str,
    ),
    "id": (re.compile(r"(.+)", re.DOTALL), str),
}
_KINDS = {
    "arxiv": "arxiv", "arxivid": "arxiv", "arxiv_id": "arxiv", "doi": "doi", "pmid": "pmid", "pubmed": "pmid",
    "pubmed_id": "pmid", "medline": "pmid", "pmcid": "pmcid", "pmc": "pmcid", "pubmedcentral": "pmcid",
    "s2": "s2", "paperid": "s2", "s2id": "s2", "s2_id": "s2", "corpusid": "corpusid", "corpus_id": "corpusid",
    "openalex": "openalex", "openalex_id": "openalex", "mag": "mag", "acl": "acl", "dblp": "dblp", "id": "id",
}  # fmt: skip
_PREFERRED = (
    "doi",
    "arxiv",
    "preprint",
    "pmid",
    "pmcid",
    "acl",
    "openalex",
    "s2",
    "corpusid",
    "mag",
    "dblp",
    "id",
)
_MADE_UP = re.compile(r"\A[0-9a-f]{32}\Z|#[0-9a-f]{8}\Z")
_LABEL = re.compile(r"([a-z0-9_]+)\s*:\s*(?=\S)", re.IGNORECASE)
_PLAIN = re.compile(r"(W[1-9]\d*)|[0-9a-f]{40}", re.ASCII)
_BARE = ("openalex", "s2")  # what needs no label


def canonical(kind: str, value: Any) -> str | None:
    """The canonical form of `value` as an identifier of `kind`, or None; `kind` as any source calls it.

    >>> canonical("ArXiv", "arXiv:cs.CL/0102003v2"), canonical("PubMed", 29456894), canonical("doi", "n/a")
    ('arxiv:cs/0102003', 'pmid:29456894', None)
    """
    known = _KINDS.get(kind.strip().lower())
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 64:
        value = str(value)
    if known is None or not isinstance(value, str) or len(value) > 4 * MAX_CHARS:
        return None
    text = clean(value)
    found = _of_kind(known, text)
    if found is None and (at_address := _from_address(text)) and at_address.startswith(f"{known}:"):
        found = at_address
    return found if found is not None and len(found) <= MAX_CHARS else None


def parse(text: str) -> str | None:
    """The canonical form of an identifier as people and files write it; None where `text` is no such.

    A bare number is nobody's identifier: a PMID needs its label.

    >>> parse("https://arxiv.org/pdf/1706.03762v5"), parse("DOI: 10.1000/ABC."), parse("W27418"), parse("7")
    ('arxiv:1706.03762', 'doi:10.1000/abc', 'openalex:W27418', None)
    """
    if plain := _PLAIN.fullmatch(text):  # most references of most corpora: no need to try the rest
        return f"openalex:{text}" if plain[1] else f"s2:{text}"
    if len(text) > 4 * MAX_CHARS:
        return None
    text = clean(text)
    label = _LABEL.match(text)
    if label and (kind := _KINDS.get(label[1].lower())):
        return canonical(kind, text[label.end() :])
    if _MADE_UP.search(text):  # "10.1/x#1a2b3c4d": a DOI under which sources.found met a second title
        return None
    found = _from_address(text) or _doi(text) or _arxiv(text)
    for kind in _BARE:
        found = found or _of_kind(kind, text)
    if found is None and text[:3].lower() == "pmc":
        found = _of_kind("pmcid", text)
    return found if found is not None and len(found) <= MAX_CHARS else None


def from_mapping(values: Mapping[Any, Any]) -> Iterator[str]:
    """The identifiers of a mapping such as OpenAlex's `ids` or Semantic Scholar's `externalIds`."""
    for kind, given in values.items():
        for value in given if isinstance(given, list | tuple) else [given]:
            if found := canonical(str(kind), value):
                yield found


def identifiers(paper: Paper) -> frozenset[str]:
    """Everything that names the paper, canonical: its id, its DOI and its further `ids`."""
    doi = canonical("doi", paper.doi) if paper.doi else None
    return frozenset({of_id(paper.id), *paper.ids, *([doi] if doi else [])})


def of_id(paper_id: str) -> str:
    """What a paper's id identifies: "arxiv:…" for one of arXiv's; "id:…" for one that no database gave."""
    return parse(paper_id) or f"id:{paper_id}"


def preference(paper_id: str) -> tuple[int, int, str]:
    """Sorts the ids of one paper: the first is the one it goes by, whatever order they came in.

    Ids that people gave come first, since their lists of relevant papers name them; then publishers'
    ids, those of preprints, those of databases; last what a reader made up (a hash, a DOI with a suffix).
    """
    kind, _, value = of_id(paper_id).partition(":")
    if kind == "id":
        rank = len(_PREFERRED) if _MADE_UP.search(paper_id) else 0
    else:
        rank = _PREFERRED.index("preprint" if kind == "doi" and is_preprint_doi(value) else kind) + 1
    return rank, len(paper_id), paper_id


def is_preprint_doi(doi: str) -> bool:
    """Whether a DOI in lower case is a preprint server's.

    >>> is_preprint_doi("10.48550/arxiv.1706.03762"), is_preprint_doi("10.1101/gr.107524.110")
    (True, False)
    """
    return _PREPRINT.match(doi) is not None


def clean_doi(value: Any) -> str | None:
    """The DOI in lower case, without a resolver's address or "doi:"; None where there is none.

    >>> clean_doi("https://doi.org/10.1000/ABC."), clean_doi("10.1000/a(b))"), clean_doi("n/a")
    ('10.1000/abc', '10.1000/a(b)', None)
    """
    if not isinstance(value, str):
        return None
    text = clean(value)
    if address := _DOI_ADDRESS.match(text):
        text = unquote(text[address.end() :])
    elif label := _DOI_LABEL.match(text):
        text = text[label.end() :]
    found = _DOI.match(text)
    doi = _without_tail(clean(found[0].lower())) if found else ""
    return doi if _DOI.fullmatch(doi) else None


def _without_tail(doi: str) -> str:
    """Without the punctuation of the sentence around it; a bracket that the DOI itself opened stays."""
    while doi and (doi[-1] in ".,;:'\"”’" or doi.count(doi[-1]) > doi.count(_BRACKETS.get(doi[-1], doi[-1]))):
        doi = doi[:-1]
    return doi


def _of_kind(kind: str, text: str) -> str | None:
    if kind == "arxiv":
        return _arxiv(text)
    if kind == "doi":
        return _doi(text)
    pattern, form = _VALUES[kind]
    found = pattern.fullmatch(text)
    return f"{kind}:{form(found[1])}" if found else None


def _arxiv(text: str) -> str | None:
    found = _ARXIV.fullmatch(text.removeprefix("arXiv:").removeprefix("arxiv:").strip())
    if found is None:
        return None
    return f"arxiv:{found[3]}" if found[3] else f"arxiv:{found[1].lower()}/{found[2]}"


def _doi(text: str) -> str | None:
    doi = clean_doi(text)
    if doi is None:
        return None
    if own := _ARXIV_DOI.fullmatch(doi):
        return _arxiv(own[1])
    return f"doi:{_DOI_VERSION.sub('', doi) if is_preprint_doi(doi) else doi}"


def _from_address(text: str) -> str | None:
    address = _ADDRESS.match(text)
    if address is None:
        return None
    if _DOI_ADDRESS.match(text):
        return _doi(text)
    rest = text[address.end() :]
    for pattern, kind in _HOSTS:
        if found := pattern.match(rest):
            value = unquote(found[1]) if kind == "doi" else found[1].partition("?")[0].partition("#")[0]
            return _of_kind(kind, value.rstrip("/"))
    return None
