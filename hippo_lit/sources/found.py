"""What a reader finds at one place of a file, and what becomes of records that share an id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from hippo_lit.merge import merge_papers
from hippo_lit.text import content_hash, normalise
from hippo_lit.types import Paper

AT_ONCE, AT_ONCE_CHARS = 2_000, 8_000_000
"""Records, and characters of their abstracts, up to which a file is settled in one reading."""


@dataclass(frozen=True, slots=True)
class Found:
    """One record of a file: a paper, or the problem that kept it from being one.

    `line` counts from 1; `index` is the place in a JSON list, from 0. `note` says what was done to a
    paper that is kept, or, where there is neither paper nor problem, something about the file.
    `harmless`: the record is left out, but nothing it says is lost.
    """

    line: int
    paper: Paper | None = None
    problem: str = ""
    note: str = ""
    index: int | None = None
    harmless: bool = False


def settle_ids(records: Iterable[Found]) -> list[Found]:
    """Make ids that were derived (from a DOI, a citation key) name one paper each.

    Records of one id and one title are merged, at the place of the first; of the others nothing is lost.
    One id under different titles is two papers, say an article and its supplement: the later one gets
    the id "doi#1a2b3c4d", after its title.
    """
    settled: list[Found] = []
    kept: dict[str, tuple[int, Paper]] = {}  # by id: the place in `settled`, the paper as merged so far
    for found in records:
        paper = found.paper
        if paper is None:
            settled.append(found)
            continue
        if paper.id in kept and not _same_work(kept[paper.id][1], paper):
            line = settled[kept[paper.id][0]].line
            note = f'its id "{paper.id}" is that of another title in line {line}'
            paper = replace(paper, id=f"{paper.id}#{content_hash(normalise(paper.title))[:8]}")
            found = replace(found, paper=paper, note=f'{note}; its id here is "{paper.id}"')
        if paper.id not in kept:
            kept[paper.id] = len(settled), paper
            settled.append(found)
            continue
        place, first = kept[paper.id]
        merged = merge_papers([first, paper])
        kept[paper.id] = place, merged
        settled[place] = replace(settled[place], paper=merged)
        problem = f'the same paper as in line {settled[place].line} ("{paper.id}"); the two were merged'
        settled.append(Found(found.line, problem=problem, harmless=True))
    return settled


def settled(read: Callable[[], Iterator[Found]], at_once: int = AT_ONCE) -> Iterator[Found]:
    """As `settle_ids`, for files of any size: what `read` gives, without holding more than has to be held.

    Up to `at_once` records (AT_ONCE_CHARS) are settled in memory. A longer file is read twice: first for the
    ids that come again, then for the records; in memory are a hash of each id, and what repeats one.
    """
    records = read()
    head: list[Found] = []
    size = 0
    for found in records:
        head.append(found)
        size += len(found.paper.abstract) if found.paper else 0
        if len(head) > at_once or size > AT_ONCE_CHARS:
            break
    else:
        yield from settle_ids(head)
        return
    seen: set[int] = set()
    later: dict[int, list[tuple[int, Found]]] = {}  # by id: where in the file it comes again, and what
    for place, found in enumerate(chain(head, records)):
        if found.paper is not None:
            name = hash(found.paper.id)
            if name in seen:
                later.setdefault(name, []).append((place, found))
            seen.add(name)
    del seen, head
    pending: dict[int, Found] = {}
    for place, found in enumerate(read()):
        if place in pending:
            yield pending.pop(place)
        elif found.paper is not None and (again := later.pop(hash(found.paper.id), None)):
            first, *others = settle_ids([found, *(other for _, other in again)])
            pending |= zip((place for place, _ in again), others, strict=True)
            yield first
        else:
            yield found


def apart(records: Iterable[Found]) -> Iterator[Found]:
    """As `settle_ids`, for streams: an id under another title is another paper; nothing is merged."""
    titles: dict[str, int] = {}  # hashes only: a stream may be long
    for found in records:
        paper = found.paper
        if paper is not None and titles.setdefault(paper.id, hash(normalise(paper.title))) != hash(
            normalise(paper.title)
        ):
            own = f"{paper.id}#{content_hash(normalise(paper.title))[:8]}"
            note = f'its id "{paper.id}" is that of another title before; its id here is "{own}"'
            found = replace(found, paper=replace(paper, id=own), note=note)
        yield found


def _same_work(one: Paper, other: Paper) -> bool:
    for texts in ((one.title, other.title), (one.abstract, other.abstract)):
        if all(texts):
            return normalise(texts[0]) == normalise(texts[1])
    return True
