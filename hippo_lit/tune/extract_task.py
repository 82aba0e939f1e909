"""Extraction as a task: a passage → entities and triples, against those that a person wrote down.

A model words a statement otherwise than a person, so triples are matched by likeness: the Dice coefficient
of their content words is at least ALIKE, they name the same figures and the same negations, and subject and
object stand on the same sides. Pairs are one to one, chosen for the most likeness in all (the assignment
problem, Kuhn 1955). Not every good triple was written down: precision is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from hippo_lit.evaluate.filtering import content_words
from hippo_lit.extract import llm as extracting
from hippo_lit.extract.llm import read_extraction
from hippo_lit.extract.spans import SentenceFinder
from hippo_lit.llm.replies import UnreadableReplyError, read_reply
from hippo_lit.text import normalise
from hippo_lit.tune.tasks import ONE_OBJECT, UNREADABLE, Read, Scored, pooled_f1
from hippo_lit.types import Fact

ALIKE = 0.6
_NEGATIONS = frozenset("no not never neither nor none cannot without".split())
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PassageCase:
    """A passage and what it says. Without labels `entities` and `facts` are empty."""

    id: str
    title: str
    text: str
    entities: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractTask:
    """F1 of the triples and F1 of the entities, both 1 where nothing is there and nothing named."""

    name: str = field(default="extract", init=False)

    @property
    def measures(self) -> tuple[str, ...]:
        return "F1", "entity-F1"

    @property
    def schema(self) -> Mapping[str, Any]:
        return extracting.SCHEMA

    def variables(self, case: PassageCase) -> dict[str, Any]:
        return {"data": {"title": case.title, "text": case.text}}

    def extracted(self, reply: str) -> tuple[list[str], list[Fact]]:
        """Raises UnreadableReplyError, also for a reply that breaks off."""
        read = read_reply(reply)
        if read.broken_off:
            raise UnreadableReplyError("it breaks off")
        return read_extraction(read)

    def read(self, case: PassageCase, reply: str) -> tuple[Read, ...]:
        entities, facts = self.extracted(reply)
        finder = SentenceFinder(case.title, case.text)

        def sentence(fact: Fact) -> str:
            where = finder.find(fact.subject, fact.object, fact.relation)
            return finder.sentences[where] if where >= 0 else case.title

        found = [Read(f"{f.subject} — {f.relation} — {f.object}", sentence(f)) for f in facts]
        return (*found, Read(f"entities: {'; '.join(entities)}")) if entities else tuple(found)

    def score(self, case: PassageCase, reply: str) -> Scored:
        try:
            entities, facts = self.extracted(reply)
        except UnreadableReplyError as error:
            return self.failed(case, str(error), f"{UNREADABLE}: {error}. {ONE_OBJECT}")
        pairs = matched(facts, case.facts, likeness)
        named = matched(entities, case.entities, _same_name)
        values = {
            "F1": pooled_f1(len(pairs), len(facts), len(case.facts)),
            "entity-F1": pooled_f1(len(named), len(entities), len(case.entities)),
        }
        feedback = [
            *_left("Missed statements", case.facts, pairs.values(), _line),
            *_left("Statements that nobody wrote down", facts, pairs, _line),
            *_left("Missed entities", case.entities, named.values(), str),
        ]
        return Scored(
            values,
            " ".join(feedback) or "Everything is there, and nothing besides.",
            (len(pairs), len(facts), len(case.facts)),
        )

    def failed(self, case: PassageCase, error: str, feedback: str = UNREADABLE) -> Scored:
        return Scored(dict.fromkeys(self.measures, 0.0), feedback, (0, 0, len(case.facts)), error)

    def demonstration(self, case: PassageCase, reply: str | None = None) -> Any:
        entities, facts = (case.entities, case.facts) if reply is None else self.extracted(reply)
        return {"entities": list(entities), "triples": [[f.subject, f.relation, f.object] for f in facts]}

    def shown(self, case: PassageCase) -> tuple[str, tuple[str, ...]]:
        return "Passage", (case.title, *SentenceFinder(case.title, case.text).sentences)


def matched(
    found: Sequence[T], gold: Sequence[T], alike: Callable[[T, T], float], least: float = ALIKE
) -> dict[int, int]:
    """Pairs (index into `found`, index into `gold`), one to one, each at least `least` alike."""
    from scipy.optimize import linear_sum_assignment

    if not found or not gold:
        return {}
    table = np.array([[alike(one, other) for other in gold] for one in found])
    table[table < least] = 0.0
    rows, columns = linear_sum_assignment(table, maximize=True)
    return {int(i): int(j) for i, j in zip(rows, columns, strict=True) if table[i, j] > 0}


def likeness(one: Fact, other: Fact) -> float:
    """How far two triples say the same, in [0, 1]; 0 where figures, negations or sides differ.

    >>> likeness(Fact("Trellis", "extends", "Gatehouse"), Fact("Gatehouse", "extends", "Trellis"))
    0.0
    """
    a, b = content_words(one.text), content_words(other.text)
    if _decisive(a) != _decisive(b):
        return 0.0
    ends = [content_words(end) for end in (one.subject, one.object, other.subject, other.object)]
    straight = _dice(ends[0], ends[2]) + _dice(ends[1], ends[3])
    crossed = _dice(ends[0], ends[3]) + _dice(ends[1], ends[2])
    return _dice(a, b) if straight >= crossed else 0.0


def _decisive(words: set[str]) -> set[str]:
    return {word for word in words if word[0].isdigit() or word in _NEGATIONS}


def _dice(a: set[str], b: set[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0


def _same_name(one: str, other: str) -> float:
    a, b = (normalise(name).removeprefix("the ") for name in (one, other))
    return float(a == b != "")


def _line(fact: Fact) -> str:
    return f"{fact.subject} | {fact.relation} | {fact.object}"


def _left(title: str, all_: Sequence[T], taken: Any, written: Callable[[T], str]) -> list[str]:
    others = [written(one) for i, one in enumerate(all_) if i not in taken]
    return [f"{title}: {'; '.join(others)}."] if others else []
