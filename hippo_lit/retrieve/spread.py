"""What the hippo route hands back; apart from the route, so that other routes need not import the graph."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hippo_lit.types import ScoredFact, Seed

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spread:
    """What the graph made of a query.

    `scores` rank the passages; None where no fact survived, and then `reason` says so. `entity_seeds` maps
    entity numbers to reset weights.
    """

    scores: Floats | None
    ppr: Floats | None = None
    reason: str = ""
    candidates: tuple[ScoredFact, ...] = ()
    kept: tuple[ScoredFact, ...] = ()
    unmatched: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] = ()
    entity_seeds: dict[int, float] = field(default_factory=dict)
