"""From passages and what was extracted from them to the fact graph, all at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hippo_lit.graph.derive import Ends, Joins, derive, proper
from hippo_lit.graph.factgraph import FactGraph
from hippo_lit.graph.gather import holders
from hippo_lit.graph.parts import PartsMaker
from hippo_lit.graph.synonyms import Pairs
from hippo_lit.types import Extraction, Passage


class GraphBuilder:
    """Collects passage after passage, in order; `build` gives the graph.

    Entities are names and titles, and what facts join. Common noun phrases ("phrase" mentions) are not:
    they cost 4 points of recall@5 on musique_train100 and tripled the edges of an abstract. A question can
    name an entity that is a name somewhere, or whose name has several words.

    The result depends on the passages and extractions alone, not on how they were batched. `title_weight`
    is what a mention in the title weighs where one in the text weighs 1: a paper is about what its title
    names.
    """

    def __init__(self, *, title_weight: float = 4.0) -> None:
        self._title_weight = title_weight
        self._maker = PartsMaker()

    def add(self, passage: Passage, sentences: int, extraction: Extraction) -> None:
        """The next passage, with its number of sentences."""
        self._maker.add(passage, sentences, extraction)

    def names(self) -> dict[str, int]:
        """The number of each entity that is a name or a title somewhere, by its key: who has synonyms."""
        parts = self._maker.parts()
        return {
            key: i
            for i, (key, named) in enumerate(zip(parts.names.keys, proper(parts), strict=True))
            if named
        }

    def build(
        self,
        *,
        citations: Iterable[tuple[int, int]] = (),
        continuations: Iterable[tuple[int, int]] = (),
        synonyms: Iterable[tuple[int, int, float]] = (),
    ) -> FactGraph:
        """The graph. The first two are pairs of passage numbers to join; `synonyms` pairs of entity
        numbers with their similarity.
        """
        parts = self._maker.parts()
        rows = list(synonyms)
        pairs = Pairs(
            *_ends((a, b) for a, b, _ in rows), np.array([value for _, _, value in rows], dtype=np.float64)
        )
        joins = Joins(_ends(citations), _ends(continuations), pairs)
        return derive(parts, holders(parts), joins, title_weight=self._title_weight)


def _ends(pairs: Iterable[tuple[int, int]]) -> Ends:
    both = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]
