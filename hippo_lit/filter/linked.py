"""Recognition memory without an LLM: a fact is recognised by what the question names."""

from __future__ import annotations

from collections.abc import Sequence

from hippo_lit.types import FilterOutcome, ScoredFact


class LinkedFilter:
    """A FactFilter that keeps facts which name an entity of the question and resemble it.

    A fact with an anchor is kept from a cosine of `min_similarity` on; of those without one only the very
    best fact of all, from `unlinked_similarity` on: a question that names nothing the corpus knows is still
    answered from the fact that says nearly the same. Measured in benchmarks/README.md.
    """

    def __init__(self, min_similarity: float = 0.4, unlinked_similarity: float = 0.5) -> None:
        self._min_similarity = min_similarity
        self._unlinked_similarity = unlinked_similarity

    @property
    def name(self) -> str:
        return f"linked-{self._min_similarity:g}-{self._unlinked_similarity:g}"

    def keep(self, question: str, candidates: Sequence[ScoredFact]) -> FilterOutcome:  # noqa: ARG002
        """The recognised candidates, highest score first."""
        order = sorted(range(len(candidates)), key=lambda i: -candidates[i].score)
        kept = [
            i
            for place, i in enumerate(order)
            if (candidates[i].anchors and candidates[i].similarity >= self._min_similarity)
            or (place == 0 and candidates[i].similarity >= self._unlinked_similarity)
        ]
        return FilterOutcome(tuple(kept), similarities=(1.0,) * len(kept))


class TopFilter:
    """A FactFilter that keeps the best `max_facts` candidates as they come: no filter at all."""

    def __init__(self, max_facts: int = 4) -> None:
        self._max_facts = max_facts

    @property
    def name(self) -> str:
        return f"top-{self._max_facts}"

    def keep(self, question: str, candidates: Sequence[ScoredFact]) -> FilterOutcome:  # noqa: ARG002
        order = sorted(range(len(candidates)), key=lambda i: -candidates[i].score)[: self._max_facts]
        return FilterOutcome(tuple(order), similarities=(1.0,) * len(order))
