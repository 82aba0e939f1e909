"""What other settings would change in an index, and what would have to be done again for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hippo_lit.derived import Recipe
from hippo_lit.estimate import Estimate
from hippo_lit.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Change:
    """`embedder`, `extractor` and each of `recipe` are (as built, as set now), None where equal.

    `again` is what must be done again for the stored papers; the rest comes from the cache and the store.
    """

    embedder: tuple[str, str] | None
    extractor: tuple[str, str] | None
    recipe: Mapping[str, tuple[Any, Any]]
    again: Estimate

    def lines(self) -> Iterator[str]:
        """What to tell a person before it is done."""
        if self.embedder:
            yield (
                f"the embedder changes from {self.embedder[0]} to {self.embedder[1]}: "
                f"{self._share(self.again.to_embed, 'embedded')}, the others come from the cache"
            )
        if self.extractor:
            yield (
                f"the extractor, its model or its prompt changes from {self.extractor[0]} to "
                f"{self.extractor[1]}: {self._share(self.again.to_extract, 'read')}, of the others the facts "
                "are known; a reply that is kept is not asked for again"
            )
        if self.recipe:
            changed = ", ".join(f"{key} {old!r} → {new!r}" for key, (old, new) in self.recipe.items())
            yield f"the index is built in another way ({changed}), from what is kept where that will do"
        yield "until the new state is published, searches are answered from the present one"

    def _share(self, number: int, what: str) -> str:
        return f"{number:,} of {self.again.passages:,} passages will be {what} again"


def compare(
    snapshot: Snapshot, embedder: str, extractor: str, recipe: Recipe, estimate: Callable[[], Estimate]
) -> Change | None:
    """None where the snapshot was built with just these; else `estimate` is asked what that takes."""
    about = snapshot.about
    built, now = dict(about["recipe"]), recipe.describe()
    changed = {
        key: (built.get(key), now.get(key)) for key in sorted(built | now) if built.get(key) != now.get(key)
    }
    embedders = (str(about["embedder"]), embedder)
    extractors = (str(about["extractor"]), extractor)
    if not changed and embedders[0] == embedders[1] and extractors[0] == extractors[1]:
        return None
    return Change(
        embedders if embedders[0] != embedders[1] else None,
        extractors if extractors[0] != extractors[1] else None,
        changed,
        estimate(),
    )
