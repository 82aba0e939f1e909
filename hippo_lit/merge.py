"""Several sources' views of one paper become one paper.

The merge is a join in the sense of lattices: its result depends on the set of views alone, not on their
order, their number or how they were grouped. Ties are therefore broken by content, never by arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hippo_lit.types import Paper


def merge_papers(versions: Sequence[Paper]) -> Paper:
    """One paper from all `versions` of it; the fuller field wins.

    The longest title, abstract, DOI, venue and URL; the earliest known year; the longest author list;
    the union of references and of citations, sorted; every source's name once, sorted, joined by "+".
    A paper that comes in a single version is returned as it is, its references in their own order.

    Raises ValueError where there is no version, or where they carry different ids.
    """
    distinct = set(versions)
    ids = sorted({paper.id for paper in distinct})
    if len(ids) != 1:
        raise ValueError(f"expected versions of one paper, got {len(ids)} different ids: {ids[:5]}")
    if len(distinct) == 1:
        return distinct.pop()
    return Paper(
        id=ids[0],
        title=_fullest(paper.title for paper in distinct) or "",
        abstract=_fullest(paper.abstract for paper in distinct) or "",
        year=min((paper.year for paper in distinct if paper.year is not None), default=None),
        authors=max((paper.authors for paper in distinct), key=_author_fullness),
        references=_union(paper.references for paper in distinct),
        citations=_union(paper.citations for paper in distinct),
        source="+".join(_union(filter(None, paper.source.split("+")) for paper in distinct)),
        doi=_fullest(paper.doi for paper in distinct),
        venue=_fullest(paper.venue for paper in distinct),
        url=_fullest(paper.url for paper in distinct),
        ids=_union(paper.ids for paper in distinct),
        retracted=any(paper.retracted for paper in distinct),
        open_access=_known_access(distinct),
    )


def _fullest(texts: Iterable[str | None]) -> str | None:
    known = (text for text in texts if text is not None)
    return max(known, key=lambda text: (len(text), text), default=None)


def _author_fullness(authors: tuple[str, ...]) -> tuple[int, int, tuple[str, ...]]:
    # Of two lists of the same people, the one that writes the names out: "John Smith" over "J. Smith".
    return len(authors), sum(map(len, authors)), authors


def _union(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({item for group in groups for item in group}))


def _known_access(papers: Iterable[Paper]) -> bool | None:
    # One free copy is enough; a source that knows of none may simply not have looked there.
    known = {paper.open_access for paper in papers} - {None}
    return any(known) if known else None
