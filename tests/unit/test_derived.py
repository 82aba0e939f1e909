"""What is derived in columns equals what is derived paper by paper."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tiny import Angles, Scripted, snapshot

from hippo_lit.identity import Aliases
from hippo_lit.lexical.citations import CitationGraph
from hippo_lit.types import Paper

TITLES = [
    "Alpha beta gamma",
    "Delta epsilon zeta",
    "Supplement to Alpha beta gamma",
    "Erratum: Delta epsilon zeta",
]
DOIS = [None, "10.1000/one", "10.1000/two", "10.1000/three"]


@pytest.mark.parametrize("seed", range(6))
def test_names_and_citations(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    ids = [f"p{i}" for i in range(12)]
    others = [
        *ids,
        *(f"doi:{doi}" for doi in DOIS[1:]),
        "https://doi.org/10.1000/ONE",
        "elsewhere",
        "arXiv:1706.03762",
    ]
    papers = [
        Paper(i, f"{rng.choice(TITLES)} {i}", "", None, (),
              tuple(rng.sample(others, 4)), tuple(rng.sample(others, 2)),
              doi=rng.choice(DOIS), ids=tuple(rng.sample(["arxiv:1706.03762", "pmid:123"], rng.randrange(2))))
        for i in ids
    ]  # fmt: skip
    made = snapshot(tmp_path, papers, Angles({}), Scripted({}))
    stored = [made.paper(number) for number in range(len(made))]
    names = list(made.columns.strings("aliases"))
    owners = [made.paper_ids[number] for number in made.columns.array("alias_paper").tolist()]
    expected = Aliases(stored).names
    assert dict(zip(names, owners, strict=True)) == expected
    assert names == sorted(expected)
    reference = CitationGraph.from_papers(stored)
    assert reference.edge_count
    for ours, theirs in zip(made.citations.arrays(), reference.arrays(), strict=True):
        assert ours.tolist() == theirs.tolist()
    for paper in stored:
        assert made.citations.forward(paper.id) == reference.forward(paper.id)
        assert made.citations.backward(paper.id) == reference.backward(paper.id)
    assert made.citations.hops([0]).tolist() == reference.hops([0]).tolist()
    assert made.citations.id_order.tolist() == reference.id_order.tolist()
