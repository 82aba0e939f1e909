"""What a system is measured on: papers, queries, and which papers answer them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from hippo_lit.text import content_hash
from hippo_lit.types import Fact, Paper

Years = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Query:
    """A question and what is known of its answer.

    `gold` maps paper ids to grades; grades from 1 on are relevant, 0 is "judged and not relevant". A query
    without a relevant paper is one to which the right answer is nothing. `leave_out` are papers that must
    not be ranked (the paper that the query was made from); `years` bounds the ranking, both ends inclusive.
    """

    id: str
    text: str
    gold: Mapping[str, int] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    years: Years = (None, None)
    gold_facts: tuple[Fact, ...] = ()
    answers: tuple[str, ...] = ()
    split: str = ""

    @property
    def relevant(self) -> frozenset[str]:
        """Ids of the papers with a grade of at least 1."""
        return frozenset(paper for paper, grade in self.gold.items() if grade > 0)


@dataclass(frozen=True, slots=True)
class Dataset:
    """`notes` tell what was odd: gold that several papers match, gold in no paper, skipped records."""

    name: str
    papers: Sequence[Paper]
    queries: Sequence[Query]
    notes: tuple[str, ...] = ()

    @property
    def corpus_fingerprint(self) -> str:
        """Identifies the content of the papers, in whatever order."""
        return content_hash(*sorted(json.dumps(asdict(paper), sort_keys=True) for paper in self.papers))

    @property
    def fingerprint(self) -> str:
        """Identifies the content of papers and queries, whatever the name."""
        queries = (json.dumps(asdict(query), sort_keys=True) for query in self.queries)
        return content_hash(self.corpus_fingerprint, *queries)

    @property
    def tags(self) -> tuple[str, ...]:
        """Every tag, in order of first appearance."""
        return tuple(dict.fromkeys(tag for query in self.queries for tag in query.tags))
