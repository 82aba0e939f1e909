"""Several sources' views of one paper become one paper.

The merge is a join in the sense of lattices: its result depends on the set of views alone, not on their
order, their number or how they were grouped. Ties are therefore broken by content, never by arrival.
Which records are views of one paper is decided before (`identity`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from hippo_lit.identifiers import canonical, identifiers, is_preprint_doi, of_id, preference
from hippo_lit.names import first_family
from hippo_lit.text import normalise
from hippo_lit.titles import is_marked_retracted, title_of
from hippo_lit.types import Paper


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a field's value comes from: `sources` gave exactly it.

    `others` are the other values with their sources, where they contradict it rather than say less.
    """

    sources: tuple[str, ...]
    others: tuple[tuple[Any, tuple[str, ...]], ...] = ()


def merge_papers(versions: Sequence[Paper]) -> Paper:
    """One paper from all `versions` of it; the fuller field wins.

    The longest title (one that bears no mark of retraction, if there is), abstract, venue and URL; the
    longest DOI, a publisher's before a preprint's; the earliest known year; the longest author list; the
    union of references and of citations, sorted; every source's name once, sorted, joined by "+". Retracted
    if any says so. Of several ids `identifiers.preference` chooses; the others stay as `ids`.
    A paper that comes in a single version is returned as it is, its references in their own order.

    Raises ValueError where there is no version.
    """
    distinct = set(versions)
    if not distinct:
        raise ValueError("expected versions of one paper, got none")
    if len(distinct) == 1:
        return distinct.pop()
    paper_id = min((paper.id for paper in distinct), key=preference)
    doi = max((paper.doi for paper in distinct if paper.doi is not None), key=_doi_fullness, default=None)
    implied = {of_id(paper_id), canonical("doi", doi) if doi else None}
    names = frozenset().union(*map(identifiers, distinct))
    return Paper(
        id=paper_id,
        title=max((paper.title for paper in distinct), key=_title_fullness),
        abstract=_fullest(paper.abstract for paper in distinct) or "",
        year=min((paper.year for paper in distinct if paper.year is not None), default=None),
        authors=max((paper.authors for paper in distinct), key=_author_fullness),
        references=_union(paper.references for paper in distinct),
        citations=_union(paper.citations for paper in distinct),
        source="+".join(_union(filter(None, paper.source.split("+")) for paper in distinct)),
        doi=doi,
        venue=_fullest(paper.venue for paper in distinct),
        url=_fullest(paper.url for paper in distinct),
        ids=tuple(sorted(names - implied)),
        retracted=any(paper.retracted for paper in distinct),
        open_access=_known_access(distinct),
    )


def provenance(versions: Sequence[Paper]) -> dict[str, Provenance]:
    """For every field that the merged paper has a value in, which source gave it, and who contradicts.

    For references, citations and identifiers, which are united, `sources` are all that gave any.
    """
    merged, found = merge_papers(versions), {}
    for name in (field.name for field in fields(Paper) if field.name != "source"):
        value = getattr(merged, name)
        if value in (None, "", (), False):
            continue
        given = [
            (getattr(paper, name), paper.source)
            for paper in versions
            if getattr(paper, name) not in (None, "", ())
        ]
        if name in _UNITED:
            found[name] = Provenance(_sources(source for values, source in given if values))
            continue
        same = _SAME.get(name)
        others = {other for other, _ in given if same and not same(other, value)}
        found[name] = Provenance(
            _sources(source for other, source in given if other == value),
            tuple(
                (other, _sources(source for each, source in given if each == other))
                for other in sorted(others, key=repr)
            ),
        )
    return found


def _fullest(texts: Iterable[str | None]) -> str | None:
    known = (text for text in texts if text is not None)
    return max(known, key=lambda text: (len(text), text), default=None)


def _title_fullness(title: str) -> tuple[bool, int, str]:
    return title != "" and not is_marked_retracted(title), len(title), title


def _doi_fullness(doi: str) -> tuple[bool, int, str]:
    return not is_preprint_doi(doi.lower()), len(doi), doi


def _author_fullness(authors: tuple[str, ...]) -> tuple[int, int, tuple[str, ...]]:
    # Of two lists of the same people, the one that writes the names out: "John Smith" over "J. Smith".
    return len(authors), sum(map(len, authors)), authors


def _union(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({item for group in groups for item in group}))


def _known_access(papers: Iterable[Paper]) -> bool | None:
    # One free copy is enough; a source that knows of none may simply not have looked there.
    known = {paper.open_access for paper in papers} - {None}
    return any(known) if known else None


def _sources(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _same_title(a: str, b: str) -> bool:
    return title_of(a).squashed == title_of(b).squashed


def _same_doi(a: str, b: str) -> bool:
    # A preprint's DOI beside the article's is no contradiction: both are right.
    return canonical("doi", a) == canonical("doi", b) or is_preprint_doi(a.lower()) != is_preprint_doi(
        b.lower()
    )


def _same_people(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return len(a) == len(b) and first_family(a) == first_family(b)


def _same_name(a: str, b: str) -> bool:
    return normalise(a) == normalise(b)


_UNITED = ("references", "citations", "ids")
_SAME: dict[str, Callable[[Any, Any], bool]] = {
    "title": _same_title,
    "year": int.__eq__,
    "authors": _same_people,
    "doi": _same_doi,
    "venue": _same_name,
}
