"""Stage 3: how much reset probability each entity and each passage receives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hippo_lit.config import SeedSettings
from hippo_lit.retrieve.candidates import Candidate

Floats = NDArray[np.float64]


def entity_seeds(
    kept: Sequence[Candidate],
    links: Iterable[int],
    spread: NDArray[np.int32],
    *,
    evidence: bool,
    max_entities: int,
) -> dict[int, float]:
    """Weights of the seed entities, heaviest first.

    A kept fact gives its entities its score, divided by the number of passages that hold the entity's
    name; an entity of several facts gets the mean (REFERENCE 2, step 4). With `evidence` a fact also gives
    to the other entities of the sentence that states it. `links`, the entities the question names, get 1
    divided likewise. Only the `max_entities` heaviest seed; ties go to the lower number, so that the order
    never depends on a hash seed.
    """
    given: dict[int, list[float]] = {}
    for candidate in kept:
        for entity in candidate.evidence if evidence else candidate.own:
            given.setdefault(entity, []).append(candidate.scored.score)
    weights = {entity: sum(scores) / len(scores) for entity, scores in given.items()}
    weights.update((entity, 1.0) for entity in links)
    weights = {entity: weight / int(spread[entity]) for entity, weight in weights.items() if weight > 0}
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:max_entities])


def passage_seeds(scores: Floats, entity_mass: float, settings: SeedSettings) -> Floats:
    """Weights of the passages from their min-maxed `scores`, shape (n,).

    By "share", together `passage_share` times what the entities weigh (1 where no entity seeds), so that
    the graph's say does not fade as the corpus grows; by "each", HippoRAG 2's constant weight.
    """
    if settings.passage_rule == "each":
        return scores * settings.passage_weight
    sharpened = scores**settings.passage_power
    total = float(sharpened.sum())
    if total <= 0:
        return np.zeros(len(scores))
    return sharpened * (settings.passage_share * (entity_mass or 1.0) / total)


def reset_vector(entities: Mapping[int, float], passages: Floats, n_entities: int) -> Floats:
    """The reset over all nodes, passages first; not normalised."""
    reset = np.zeros(len(passages) + n_entities)
    reset[: len(passages)] = passages
    for entity, weight in entities.items():
        reset[len(passages) + entity] = weight
    return reset
