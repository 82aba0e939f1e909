"""Which papers a gold reference means: an id, a title, or a whole text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from hippo_lit.text import normalise
from hippo_lit.types import Paper

_SHOWN = 5


@dataclass(slots=True)
class GoldFinder:
    """Looks gold up among the papers of a corpus, and remembers what was not plain.

    A reference is tried as an id, then as a title, then as a text (title and abstract, or the abstract
    alone); titles and texts are compared without regard to case, spaces and punctuation. Where several
    papers match, each of them is gold. A reference that no paper matches stays, as it is, a gold paper
    that cannot be found: to drop it would raise every recall. Both are told in `notes`.
    """

    papers: Iterable[Paper]
    _ids: set[str] = field(init=False, default_factory=set)
    _titles: dict[str, list[str]] = field(init=False)
    _texts: dict[str, list[str]] = field(init=False)
    _several: list[str] = field(init=False, default_factory=list)
    _missing: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        titles, texts = defaultdict(list), defaultdict(list)
        for paper in self.papers:
            self._ids.add(paper.id)
            titles[_key(paper.title)].append(paper.id)
            for text in {_key(paper.abstract), _key(f"{paper.title} {paper.abstract}")}:
                texts[text].append(paper.id)
        self._titles, self._texts = dict(titles), dict(texts)

    def find(self, reference: str, query_id: str) -> tuple[str, ...]:
        """Ids of the papers that `reference` means, or itself where there are none."""
        if reference in self._ids:
            return (reference,)
        key = _key(reference)
        return self._settle(self._titles.get(key) or self._texts.get(key) or [], reference, query_id)

    def find_text(self, title: str, text: str, query_id: str) -> tuple[str, ...]:
        """Ids of the papers with this title and text; of those with this title where the text is unknown."""
        found = self._texts.get(_key(f"{title} {text}")) or self._titles.get(_key(title)) or []
        return self._settle(found, title, query_id)

    def _settle(self, found: list[str], reference: str, query_id: str) -> tuple[str, ...]:
        if not found:
            self._missing.append(f"{query_id}: {reference[:80]!r}")
            return (reference,)
        if len(found) > 1:
            self._several.append(f"{query_id}: {reference[:80]!r} is {', '.join(found[:_SHOWN])}")
        return tuple(found)

    @property
    def notes(self) -> list[str]:
        """What was ambiguous and what is missing, with examples."""
        kinds = (
            (self._several, "match several papers, each of which counts as gold"),
            (self._missing, "are in no paper and count as not found"),
        )
        return [
            f"{len(cases)} gold references {what}: {'; '.join(cases[:_SHOWN])}"
            + (" …" if len(cases) > _SHOWN else "")
            for cases, what in kinds
            if cases
        ]


def _key(text: str) -> str:
    return normalise(text).replace(" ", "")
