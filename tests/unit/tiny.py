"""Hand-made indexes: similarities and facts are what a test says they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hippo_lit import assemble
from hippo_lit.config import Settings
from hippo_lit.index import Built, Indexer
from hippo_lit.models.embed_cached import CachedEmbedder
from hippo_lit.protocols import FactExtractor, TextKind, Vectors
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.publish import open_current
from hippo_lit.storage.store import Store
from hippo_lit.types import Extraction, Fact, Mention, Paper, Passage


class Angles:
    """An embedder in the plane: every query is (1, 0), and each text has the cosine given for it."""

    dim = 2
    name = "angles"

    def __init__(self, cosines: Mapping[str, float], default: float = 0.0) -> None:
        self.cosines, self.default = cosines, default

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        if kind in ("query_to_fact", "query_to_passage"):
            return np.tile(np.array([[1, 0]], dtype=np.float32), (len(texts), 1))
        cosines = [self.cosines.get(text, self.default) for text in texts]
        rows = [[c, math.sqrt(1 - c * c)] for c in cosines]
        return np.array(rows, dtype=np.float32).reshape(-1, 2)


class Scripted:
    """An extractor that finds what is given for a passage's title."""

    def __init__(self, found: Mapping[str, Extraction | Exception], name: str = "scripted") -> None:
        self.found, self.name = found, name
        self.asked: list[str] = []

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        for passage in passages:
            self.asked.append(passage.title)
            yield self.found.get(passage.title, Extraction())


def settings(**sections: Mapping[str, Any]) -> Settings:
    quick = {"embedding": {"kind": "hash"}, "extract": {"kind": "simple"}}
    return Settings.model_validate(quick | sections)


def build(
    folder: Path,
    papers: Sequence[Paper],
    embedder: Any,
    extractor: FactExtractor,
    given: Settings | None = None,
) -> Built:
    with Store.open(folder, create=True) as store, Cache(None) as cache:
        store.put_papers(papers)
        recipe = assemble.make_recipe(given or settings())
        return Indexer(folder, store, CachedEmbedder(embedder, cache), extractor, recipe).build()


def snapshot(
    folder: Path,
    papers: Sequence[Paper],
    embedder: Any,
    extractor: FactExtractor,
    given: Settings | None = None,
) -> Snapshot:
    build(folder, papers, embedder, extractor, given)
    opened = open_current(folder, Snapshot)
    assert opened is not None
    return opened


PAPERS = (
    Paper("a", "Alpha", "Alpha likes Beta. Alpha is old.", 2001),
    Paper("b", "Beta", "Beta lives in Kraków.", 2005),
    Paper("c", "Gamma", "Unrelated text.", None),
    Paper("d", "Delta", "", 2010),
)
FOUND: dict[str, Extraction | Exception] = {
    "Alpha": Extraction(
        (Mention("Alpha", -1), Mention("Alpha", 0), Mention("Beta", 0), Mention("Alpha", 1)),
        (Fact("Alpha", "likes", "Beta"), Fact("Alpha", "is", "old")),
        (0, 1),
    ),
    "Beta": Extraction(
        (Mention("Beta", 0), Mention("Kraków", 0)), (Fact("Beta", "lives in", "Kraków"),), (0,)
    ),
    "Gamma": Extraction((Mention("Gamma", -1),)),
    "Delta": Extraction((Mention("Delta", -1),)),
}
COSINES = {
    "Alpha likes Beta.": 0.9,
    "Alpha is old.": 0.2,
    "Beta lives in Kraków.": 0.6,
    "Unrelated text.": 0.4,
    "Alpha\nAlpha likes Beta. Alpha is old.": 0.5,
    "Beta\nBeta lives in Kraków.": 0.3,
    "Gamma\nUnrelated text.": 0.7,
    "Delta": 0.1,
}
QUESTION = np.array([1, 0], dtype=np.float32)


def four_papers(folder: Path, given: Settings | None = None, **changed: Any) -> Snapshot:
    """PAPERS with FOUND and COSINES."""
    return snapshot(
        folder,
        changed.get("papers", PAPERS),
        Angles(changed.get("cosines", COSINES)),
        Scripted(FOUND | changed.get("found", {})),
        given,
    )
