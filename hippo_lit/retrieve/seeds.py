"""Stage 3: how much reset probability each entity and each passage receives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hippo_lit.config import SeedSettings
from hippo_lit.retrieve.candidates import Candidate
from hippo_lit.topk import best

Floats = NDArray[np.float64]


def entity_seeds(
    kept: Sequence[tuple[Candidate, float]],
    links: Iterable[int],
    spread: NDArray[np.int32],
    *,
    evidence: bool,
    max_entities: int,
    specific_mass: float,
    rarity: bool = True,
) -> dict[int, float]:
    """Weights of the seed entities, heaviest first.

    A kept fact gives its entities its score times the filter's weight for it, divided by the number of
    passages that hold the entity's name; an entity of several facts gets the mean (REFERENCE 2, step 4).
    Without `rarity` nothing is divided by that number. With `evidence` a fact also gives to the other
    entities of the sentence that states it. `links`, the entities the question names, get 1 divided
    likewise. Only the `max_entities` heaviest seed; ties go to the lower number, so that the order never
    depends on a hash seed.

    The sum m of the weights tells how much the question names that few passages hold: about 3 for "Who
    composed Aschenbrödel?", 0.05 for "Are biosimilars safe for patients?". All weights are multiplied by
    m² / (m² + specific_mass²), so that where it names nothing specific the passages alone seed.
    """
    given: dict[int, list[float]] = {}
    for candidate, weight in kept:
        for entity in candidate.evidence if evidence else candidate.own:
            given.setdefault(entity, []).append(candidate.scored.score * weight)
    weights = {entity: sum(scores) / len(scores) for entity, scores in given.items()}
    weights.update((entity, 1.0) for entity in links)
    weights = {
        entity: weight / int(spread[entity]) if rarity else weight
        for entity, weight in weights.items()
        if weight > 0
    }
    heaviest = dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:max_entities])
    mass = sum(heaviest.values())
    if not mass:
        return {}
    trust = mass**2 / (mass**2 + specific_mass**2)
    return {entity: weight * trust for entity, weight in heaviest.items()}


def passage_seeds(scores: Floats, settings: SeedSettings) -> Floats:
    """Weights of the passages from their min-maxed `scores`, shape (n,).

    By "share" the best `max_passages` sum to `passage_share`, so that neither the graph's say nor theirs
    fades as the corpus grows; by "each" every one gets HippoRAG 2's constant weight times its score.
    """
    if settings.passage_rule == "each":
        return scores * settings.passage_weight
    weights = np.zeros(len(scores))
    nearest = best(scores, settings.max_passages)
    sharpened = scores[nearest] ** settings.passage_power
    total = float(sharpened.sum())
    if total > 0:
        weights[nearest] = sharpened * (settings.passage_share / total)
    return weights


def reset_vector(entities: Mapping[int, float], passages: Floats, n_entities: int) -> Floats:
    """The reset over all nodes, passages first; not normalised."""
    reset = np.zeros(len(passages) + n_entities)
    reset[: len(passages)] = passages
    for entity, weight in entities.items():
        reset[len(passages) + entity] = weight
    return reset
