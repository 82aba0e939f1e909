"""Which records are views of one paper.

Records are linked by what they share: an identifier, or title, first author and year. A link counts only
where nothing stronger speaks against it:

- A work and what belongs to it (supplement, erratum, retraction notice, reply, review, data) never become
  one, whatever they share; nor do titles that differ in a number (Part I, Part II).
- A DOI links records of similar titles, since supplements and chapters are often entered under it. Other
  identifiers also link where the title changed but the first author is the same.
- An aggregator's id (Semantic Scholar, OpenAlex, MAG, DBLP) and a title link only records whose publishers'
  ids (DOI, arXiv, PubMed, ACL) do not contradict each other. A preprint's DOI contradicts no article's.
- A title links only if it is long and no satellite's, in the same year; within two years where one of the
  two is a preprint.

Links are tried from the strongest kind to the weakest, each group of a kind in order of its ids, and never
within a pair that a rule keeps apart, so the outcome depends on the set of records alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from hippo_lit.identifiers import identifiers, is_preprint_doi, parse
from hippo_lit.names import first_family
from hippo_lit.text import content_hash
from hippo_lit.titles import Title, similar, title_of
from hippo_lit.types import Paper

_STRENGTH = (
    "arxiv",
    "pmid",
    "pmcid",
    "acl",
    "doi",
    "s2",
    "corpusid",
    "openalex",
    "mag",
    "dblp",
    "id",
    "title",
)
_REGISTERED = frozenset({"arxiv", "pmid", "pmcid", "acl", "doi"})
_PREPRINT_YEARS = 2
# An identifier that so many ids carry names a volume or a mistake: there, only equal titles are linked.
_CROWD = 50
_SERVER = re.compile(
    r"\b(?:arxiv|corr|biorxiv|medrxiv|chemrxiv|ssrn|preprints?|research square)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Traits:
    """What tells the papers under one id, or under several that were joined, from others."""

    ids: frozenset[str]
    titles: frozenset[Title]
    families: frozenset[str]
    years: frozenset[int]
    preprint: frozenset[bool]

    def __or__(self, other: Traits) -> Traits:
        return Traits(*(getattr(self, f.name) | getattr(other, f.name) for f in fields(self)))

    @property
    def belongs_to(self) -> frozenset[str]:
        """What kinds of satellite its titles call it; "" is a work of its own."""
        return frozenset(title.satellite for title in self.titles)


def traits_of(versions: Iterable[Paper]) -> Traits:
    """The traits of the records that came under one id."""
    versions = list(versions)
    return Traits(
        frozenset().union(*map(identifiers, versions)),
        frozenset(title_of(paper.title) for paper in versions if paper.title),
        frozenset(family for paper in versions if (family := first_family(paper.authors))),
        frozenset(paper.year for paper in versions if paper.year is not None),
        frozenset(map(_is_preprint, versions)),
    )


def link_keys(traits: Traits) -> set[str]:
    """What records must share to be looked at: their identifiers, and title with first author."""
    keys = set(traits.ids)
    for title in traits.titles:
        if title.telling and traits.years:
            keys |= {f"title:{content_hash(title.squashed, family)}" for family in traits.families}
    return keys


def conflict(a: Traits, b: Traits, key: str) -> str:
    """Why `key`, which both have, does not make them one; "" where it does."""
    kind = key.partition(":")[0]
    if a.belongs_to and b.belongs_to and a.belongs_to != b.belongs_to:
        return "one belongs to the other"
    if kind not in _REGISTERED and _contradict(a, b):
        return "their publishers' ids differ"
    if kind == "title":
        apart = min(abs(x - y) for x in a.years for y in b.years) if a.years and b.years else 99
        allowed = _PREPRINT_YEARS if True in a.preprint | b.preprint else 0
        return "" if apart <= allowed else "their years differ"
    if not a.titles or not b.titles or any(similar(x, y) for x in a.titles for y in b.titles):
        return ""
    registered = sum(shared.partition(":")[0] in _REGISTERED for shared in a.ids & b.ids)
    if a.families & b.families and (kind != "doi" or registered > 1):
        return ""
    return "their titles differ"


def group(traits: Sequence[Traits]) -> list[list[int]]:
    """The numbers of those that are one paper, as groups; a function of the set, whatever its order.

    Give them in order of their ids. Linear in their number, unless many share one key.
    """
    joined, root = list(traits), list(range(len(traits)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    for key, members in _by_key(traits):
        heads: list[int] = []
        for i in map(find, members):
            known = dict.fromkeys(map(find, heads))
            if i in known:
                continue
            match = next((head for head in known if not conflict(joined[head], joined[i], key)), None)
            if match is None:
                heads.append(i)
            else:
                first, second = sorted((match, i))
                root[second] = first
                joined[first] = joined[first] | joined[second]
    groups: dict[int, list[int]] = defaultdict(list)
    for i in range(len(traits)):
        groups[find(i)].append(i)
    return list(groups.values())


def groups_of(papers: Sequence[Paper]) -> list[list[Paper]]:
    """The papers as groups of views of one, in order of first appearance; one id is always one paper."""
    by_id: dict[str, list[Paper]] = defaultdict(list)
    for paper in papers:
        by_id[paper.id].append(paper)
    ids = sorted(by_id)
    place = {paper_id: number for number, paper_id in enumerate(by_id)}
    found = [[ids[i] for i in members] for members in group([traits_of(by_id[i]) for i in ids])]
    ordered = sorted((sorted(members, key=place.__getitem__) for members in found), key=lambda m: place[m[0]])
    return [[paper for paper_id in members for paper in by_id[paper_id]] for members in ordered]


class Aliases:
    """Every name that leads to a paper of a corpus: its id, and what else identifies it.

    A name that several papers have leads to the one that is no satellite of another, else nowhere.
    """

    def __init__(self, papers: Iterable[Paper]) -> None:
        """Of two papers with one id the later counts."""
        self._ids: set[str] = set()
        first: dict[str, Paper] = {}
        several: dict[str, list[Paper]] = {}
        for paper in papers:
            self._ids.add(paper.id)
            for name in identifiers(paper):
                if (other := first.setdefault(name, paper)) is not paper:
                    several.setdefault(name, [other]).append(paper)
        self.names = {name: paper.id for name, paper in first.items() if name not in several}
        """Canonical identifier → id."""
        for name, owners in several.items():
            if (owner := sole_owner((bool(title_of(p.title).satellite), p.id) for p in owners)) is not None:
                self.names[name] = owner

    def find(self, name: str) -> str | None:
        """The id of the paper that `name`, in any form, leads to; None where there is none."""
        if name in self._ids:
            return name
        return self.names.get(parse(name) or f"id:{name}")


def sole_owner(owners: Iterable[tuple[bool, str]]) -> str | None:
    """Of (is a satellite, id) under one name the id that the name means: the only one, or only main work."""
    satellites: set[str] = set()
    works: set[str] = set()
    for satellite, paper_id in owners:
        (satellites if satellite else works).add(paper_id)
    candidates = works or satellites
    return candidates.pop() if len(candidates) == 1 else None


def _by_key(traits: Sequence[Traits]) -> Iterable[tuple[str, list[int]]]:
    members: dict[str, list[int]] = defaultdict(list)
    for i, each in enumerate(traits):
        for key in link_keys(each):
            members[key].append(i)
    shared = (key for key, numbers in members.items() if len(numbers) > 1)
    for key in sorted(shared, key=lambda key: (_STRENGTH.index(key.partition(":")[0]), key)):
        if len(members[key]) <= _CROWD:
            yield key, members[key]
            continue
        by_title: dict[str, list[int]] = defaultdict(list)
        for i in members[key]:
            for title in traits[i].titles:
                by_title[title.squashed].append(i)
        for squashed in sorted(by_title):
            yield key, by_title[squashed]


def _contradict(a: Traits, b: Traits) -> bool:
    mine, theirs = _registered(a), _registered(b)
    if any(mine[kind] & theirs[kind] for kind in mine.keys() & theirs.keys()):
        return False
    return any(kind in theirs for kind in mine)


def _registered(traits: Traits) -> dict[str, set[str]]:
    """Publishers' ids by kind; the DOIs of each preprint server are a kind of their own."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in traits.ids:
        kind, _, value = name.partition(":")
        if kind in _REGISTERED:
            found[value.partition("/")[0] if kind == "doi" and is_preprint_doi(value) else kind].add(name)
    return found


def _is_preprint(paper: Paper) -> bool:
    names = identifiers(paper)
    dois = [name[4:] for name in names if name.startswith("doi:")]
    if any(not is_preprint_doi(doi) for doi in dois):
        return False
    if dois or any(name.startswith("arxiv:") for name in names):
        return True
    return paper.venue is not None and bool(_SERVER.search(paper.venue))
