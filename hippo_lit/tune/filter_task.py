"""The fact filter as a task: a question and candidate facts → those that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hippo_lit.evaluate.measures import recall
from hippo_lit.filter import llm as filtering
from hippo_lit.filter.llm import Match, outcome, read_matches, request
from hippo_lit.llm.replies import UnreadableReplyError
from hippo_lit.render import fact_text
from hippo_lit.tune.bench import Bench, Case
from hippo_lit.tune.tasks import ONE_OBJECT, UNREADABLE, Read, Scored


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
            return self.failed(case, str(error), f"{UNREADABLE}: {error}. {ONE_OBJECT}")
        kept = outcome(found).kept
        right = len(case.relevant.intersection(kept))
        whole = len(kept) + len(case.relevant)
        values = {"F1": 2 * right / whole if whole else 1.0}
        if case.query.relevant:
            ranking = self.bench.ranking(case, kept, self.k)
            values[f"R@{self.k}"] = recall(ranking, case.query.relevant, self.k)
        return Scored(values, _feedback(case, found, kept), (right, len(kept), len(case.relevant)))

    def read(self, case: Case, reply: str) -> tuple[Read, ...]:
        """Raises UnreadableReplyError."""
        return tuple(
            Read(match.text, fact_text(case.candidates[match.candidate]), match.dropped, match.similarity)
            for match in self.matches(case, reply)
        )

    def failed(self, case: Case, error: str, feedback: str = UNREADABLE) -> Scored:
        measures = self.measures if case.query.relevant else self.measures[:1]
        return Scored(dict.fromkeys(measures, 0.0), feedback, (0, 0, len(case.relevant)), error)

    def demonstration(self, case: Case, reply: str | None = None) -> Any:
        if reply is None:
            kept: Sequence[int] = sorted(case.relevant)[: self.max_facts]
        else:
            kept = outcome(self.matches(case, reply)).kept
        facts = (case.candidates[i].fact for i in kept)
        return {"facts": [[fact.subject, fact.relation, fact.object] for fact in facts]}

    def shown(self, case: Case) -> tuple[str, tuple[str, ...]]:
        return "Candidates", tuple(f"{fact_text(c)}  ({c.similarity:.2f})" for c in case.candidates)


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
