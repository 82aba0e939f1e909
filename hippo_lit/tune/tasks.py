"""What a prompt is for: what it is told of a case, how its reply is read, and how good that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from hippo_lit.errors import ConfigError
from hippo_lit.evaluate.measures import recall
from hippo_lit.filter import llm as filtering
from hippo_lit.filter.llm import Match, outcome, read_matches, request
from hippo_lit.llm.replies import UnreadableReplyError
from hippo_lit.render import fact_text
from hippo_lit.tune.bench import Bench, Case

C = TypeVar("C", contravariant=True)
UNREADABLE = "the reply cannot be read"


@dataclass(frozen=True, slots=True)
class Scored:
    """How good one reply is: by each measure, in [0, 1], and in words for a model that is to improve it.

    `counts` are (named rightly, named, wanted), to be pooled. `error` says why a reply cannot be used; such
    a reply is worth 0 by every measure.
    """

    values: Mapping[str, float]
    feedback: str
    counts: tuple[int, int, int] = (0, 0, 0)
    error: str = ""


class Task(Protocol[C]):
    """One kind of prompt. `measures` are what `score` gives, the first is what is tuned unless told."""

    @property
    def name(self) -> str: ...
    @property
    def measures(self) -> tuple[str, ...]: ...
    @property
    def schema(self) -> Mapping[str, Any]: ...

    def variables(self, case: C) -> dict[str, Any]:
        """What the prompt is rendered with."""
        ...

    def score(self, case: C, reply: str) -> Scored:
        """Never raises for whatever a model writes."""
        ...

    def demonstration(self, case: C, reply: str | None = None) -> Any:
        """The output of a demo: what the reply says in its plain form, or without one the gold."""
        ...


@dataclass(frozen=True, slots=True)
class FilterTask:
    """The fact filter: F1 of the kept facts against the gold facts, and recall of papers downstream.

    F1 of a question none of whose candidates is relevant is 1 where nothing is kept, else 0.
    """

    bench: Bench
    cutoff: float = 0.6
    max_facts: int = 4
    k: int = 5
    name: str = field(default="fact_filter", init=False)

    @property
    def measures(self) -> tuple[str, ...]:
        return "F1", f"R@{self.k}"

    @property
    def schema(self) -> Mapping[str, Any]:
        return filtering.SCHEMA

    def variables(self, case: Case) -> dict[str, Any]:
        return {"data": request(case.query.text, case.candidates, self.max_facts)}

    def matches(self, case: Case, reply: str) -> tuple[Match, ...]:
        """Raises UnreadableReplyError."""
        return read_matches(reply, case.candidates, cutoff=self.cutoff, max_facts=self.max_facts)

    def score(self, case: Case, reply: str) -> Scored:
        try:
            found = self.matches(case, reply)
        except UnreadableReplyError as error:
            feedback = f"{UNREADABLE}: {error}. Reply with one JSON object and nothing else."
            return self.failed(case, str(error), feedback)
        kept = outcome(found).kept
        right = len(case.relevant.intersection(kept))
        whole = len(kept) + len(case.relevant)
        values = {"F1": 2 * right / whole if whole else 1.0}
        if case.query.relevant:
            ranking = self.bench.ranking(case, kept, self.k)
            values[f"R@{self.k}"] = recall(ranking, case.query.relevant, self.k)
        return Scored(values, _feedback(case, found, kept), (right, len(kept), len(case.relevant)))

    def failed(self, case: Case, error: str, feedback: str = UNREADABLE) -> Scored:
        """What no usable reply is worth."""
        measures = self.measures if case.query.relevant else self.measures[:1]
        return Scored(dict.fromkeys(measures, 0.0), feedback, (0, 0, len(case.relevant)), error)

    def demonstration(self, case: Case, reply: str | None = None) -> Any:
        if reply is None:
            kept: Sequence[int] = sorted(case.relevant)[: self.max_facts]
        else:
            kept = outcome(self.matches(case, reply)).kept
        facts = (case.candidates[i].fact for i in kept)
        return {"facts": [[fact.subject, fact.relation, fact.object] for fact in facts]}


def measure_of(task: FilterTask, wanted: str) -> str:
    """The measure that is tuned. Raises ConfigError."""
    if wanted not in task.measures:
        raise ConfigError(
            f"--metric {wanted!r}: {task.name} is measured by {' and '.join(task.measures)}", key="metric"
        )
    return wanted


def _feedback(case: Case, found: Sequence[Match], kept: Sequence[int]) -> str:
    def named(title: str, which: Sequence[int]) -> list[str]:
        return [f"{title}: {'; '.join(fact_text(case.candidates[i]) for i in which)}."] if which else []

    right = [i for i in kept if i in case.relevant]
    wrong = [i for i in kept if i not in case.relevant]
    missed = sorted(case.relevant.difference(kept))
    invented = [match.text for match in found if match.dropped == filtering.UNMATCHED]
    lines = [
        *named("Rightly kept", right),
        *named("Kept although it does not help to answer", wrong),
        *named("Missed, though it helps to answer", missed),
    ]
    if invented:
        lines.append(f"Written although it is not among the candidates: {'; '.join(invented)}.")
    if not kept and not case.relevant:
        lines.append("Rightly kept nothing: no candidate helps.")
    return " ".join(lines)
