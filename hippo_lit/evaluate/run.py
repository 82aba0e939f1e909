"""A run: what one system answered to every query of a set, and everything needed to repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hippo_lit.answer.values import AnswerKind
from hippo_lit.evaluate.dataset import Query
from hippo_lit.render import chain, fact_text, printable
from hippo_lit.types import Mode, RetrievalResult, Usage

FOREIGN: Final = "foreign"
Route = Mode | Literal["foreign"]
"""Who ranked: one of our routes, or another tool, of which only the rankings are known."""

_EXPLAINED = 20
"""So many papers of a ranking keep title and way; all keep id and score."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked paper; `way` is the path that explains it, in words."""

    id: str
    score: float
    title: str = ""
    way: str = ""


@dataclass(frozen=True, slots=True)
class FactSeen:
    """A candidate fact; `text` is in its own words, `sentence` states it."""

    text: str
    sentence: str
    similarity: float
    kept: bool
    papers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeedSeen:
    entity: str
    weight: float
    because: str


@dataclass(frozen=True, slots=True)
class Written:
    """A query's answer in words. `key` is equal for answers that the same model, prompts and settings gave.

    `text` is what gold answers are compared with: the model's answer without its citations, or nothing
    where it finds that the papers do not say, or gave no answer that can be used (then `degraded`).
    `seconds` is wall time with retrieval, `usage` what the answer took.
    """

    key: str
    text: str
    kind: AnswerKind
    grounded: bool
    seconds: float
    degraded: bool = False
    reason: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Answered:
    """One query's outcome. `seconds` is wall time without explaining; texts are embedded before.

    `written` is its answer in words, where the run was made to have answers.
    """

    query_id: str
    hits: tuple[Hit, ...]
    route: Route
    seconds: float
    degraded: bool = False
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    candidates: tuple[FactSeen, ...] = ()
    unmatched: tuple[str, ...] = ()
    seeds: tuple[SeedSeen, ...] = ()
    snapshot: str = ""
    written: Written | None = None

    @property
    def ranking(self) -> list[str]:
        return [hit.id for hit in self.hits]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What it takes to repeat a run. `key` is equal for runs that must come out
    equal; `snapshot` names the state of the index that answered."""

    label: str
    mode: Route
    dataset: str
    fingerprint: str
    key: str
    depth: int
    settings: Mapping[str, Any]
    prompts: Mapping[str, str]
    versions: Mapping[str, str]
    seed: int | None
    started: str
    snapshot: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """`answers` by query id, one for each query."""

    info: RunInfo
    queries: tuple[Query, ...]
    answers: Mapping[str, Answered]

    @property
    def label(self) -> str:
        return self.info.label

    @property
    def rankings(self) -> dict[str, list[str]]:
        return {query_id: answer.ranking for query_id, answer in self.answers.items()}

    @property
    def written(self) -> dict[str, str]:
        """Query id to answer in words, of those that have one."""
        return {query_id: answer.written.text for query_id, answer in self.answers.items() if answer.written}


def answered(query_id: str, result: RetrievalResult) -> Answered:
    """What of a result is kept."""
    trace = result.trace
    kept = set(trace.kept)
    return Answered(
        query_id,
        tuple(
            Hit(ranked.paper.id, ranked.score, printable(ranked.paper.title), chain(ranked.path))
            if ranked.rank <= _EXPLAINED
            else Hit(ranked.paper.id, ranked.score)
            for ranked in result.papers
        ),
        result.route,
        result.metrics.wall_time_s - trace.seconds.get("explain", 0.0),
        result.degraded,
        result.reason,
        sum(trace.usage.values(), Usage()),
        tuple(
            FactSeen(fact_text(fact), fact.sentence, fact.similarity, fact in kept, fact.paper_ids)
            for fact in trace.candidates
        ),
        trace.unmatched,
        tuple(SeedSeen(seed.entity, seed.weight, seed.because) for seed in trace.seeds),
        trace.snapshot,
    )
