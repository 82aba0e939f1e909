"""Facts from one extractor, further names from another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from hippo_lit.protocols import FactExtractor
from hippo_lit.types import Extraction, Passage

_GROUP = 32


class CombinedExtractor:
    """A FactExtractor whose facts are those of `facts`, and whose mentions are those of both.

    A model that lists triples leaves names out; each one left out is a way through the graph that is
    closed. On musique_train100 with GPT-3.5's triples the names that rules find add 4 points of recall@5
    (benchmarks/README.md). A passage on which `facts` fails fails; one on which `names` fails goes without.
    """

    def __init__(self, *, facts: FactExtractor, names: FactExtractor) -> None:
        self._facts = facts
        self._names = names

    @property
    def name(self) -> str:
        return f"{self._facts.name}+names:{self._names.name}"

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        stated = zip(passages, self._facts.extract(passages), strict=True)
        while group := list(islice(stated, _GROUP)):
            # Names cost time, so they are looked for only where there are facts to add them to.
            found = [passage for passage, outcome in group if isinstance(outcome, Extraction)]
            names = iter(self._names.extract(found))
            for _, outcome in group:
                named = next(names) if isinstance(outcome, Extraction) else None
                if isinstance(outcome, Extraction) and isinstance(named, Extraction):
                    mentions = tuple(dict.fromkeys((*outcome.mentions, *named.mentions)))
                    yield Extraction(mentions, outcome.facts, outcome.fact_sentences)
                else:
                    yield outcome
