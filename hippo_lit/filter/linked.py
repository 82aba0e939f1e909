"""Recognition memory without an LLM: a fact is recognised by what the question names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hippo_lit.types import FilterOutcome, ScoredFact


def _best_first(candidates: Sequence[ScoredFact]) -> list[int]:
    return sorted(range(len(candidates)), key=lambda i: -candidates[i].score)


class LinkedFilter:
    """A FactFilter that keeps the facts which name an entity of the question and resemble it.

    For each anchor the best `per_anchor` facts are kept, from a cosine of `min_similarity` on. A fact counts
    as far as its rarest anchor is specific: a sentence found by "Signmark" says where the question leads,
    one found by "patients" hardly does. Where no fact has an anchor, the very best is kept if it is near
    enough, with weight 0: it seeds nothing, but the question is one that the corpus speaks of, so rank may
    spread from the passages along citations.
    """

    def __init__(self, min_similarity: float = 0.35, per_anchor: int = 2) -> None:
        self._min_similarity = min_similarity
        self._per_anchor = per_anchor

    @property
    def name(self) -> str:
        return f"linked-{self._min_similarity:g}-{self._per_anchor}"

    def keep(self, question: str, candidates: Sequence[ScoredFact]) -> FilterOutcome:  # noqa: ARG002
        """The recognised candidates, highest score first."""
        taken: Counter[str] = Counter()
        kept = []
        for i in _best_first(candidates):
            candidate = candidates[i]
            wanted = any(taken[anchor] < self._per_anchor for anchor in candidate.anchors)
            if wanted and candidate.similarity >= self._min_similarity:
                taken.update(candidate.anchors)
                kept.append(i)
        if not kept:
            kept = [
                i for i in _best_first(candidates)[:1] if candidates[i].similarity >= self._min_similarity
            ]
        return FilterOutcome(
            tuple(kept),
            similarities=(1.0,) * len(kept),
            weights=tuple(candidates[i].specificity for i in kept),
        )


class TopFilter:
    """A FactFilter that keeps the best `max_facts` candidates as they come: no filter at all."""

    def __init__(self, max_facts: int = 4) -> None:
        self._max_facts = max_facts

    @property
    def name(self) -> str:
        return f"top-{self._max_facts}"

    def keep(self, question: str, candidates: Sequence[ScoredFact]) -> FilterOutcome:  # noqa: ARG002
        kept = _best_first(candidates)[: self._max_facts]
        return FilterOutcome(tuple(kept), similarities=(1.0,) * len(kept))
