"""Pairs of records, written as the databases write them, and whether they are one paper.

`python tests/unit/test_identity_pairs.py` prints precision, recall and every error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hippo_lit.identity import groups_of
from hippo_lit.records import paper_from_mapping

PAIRS = Path(__file__).parent / "data_identity" / "pairs.jsonl"
# What the rules do not see, on purpose: each would cost a wrong merge elsewhere.
MISSED = {
    "PubMed's translation in brackets, shared DOI only",
    "family name first without a comma",
    "one word of the title against title and subtitle, shared DOI",
    "umlaut written out",
    "year of the issue and of the online version, no ids",
}


def judged() -> list[tuple[dict[str, Any], bool]]:
    pairs = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    return [(pair, len(groups_of([paper_from_mapping(pair[side]) for side in "ab"])) == 1) for pair in pairs]


def figures() -> tuple[float, float, set[str], set[str]]:
    """Precision, recall, wrong merges, missed merges."""
    found = judged()
    right = sum(pair["same"] and merged for pair, merged in found)
    wrong = {pair["why"] for pair, merged in found if merged and not pair["same"]}
    missed = {pair["why"] for pair, merged in found if pair["same"] and not merged}
    return right / (right + len(wrong)), right / (right + len(missed)), wrong, missed


def test_no_pair_is_merged_that_should_not_be_and_few_are_missed() -> None:
    precision, recall, wrong, missed = figures()
    assert len(judged()) >= 60
    assert (wrong, missed) == (set(), MISSED)
    assert precision == 1.0
    assert recall == (44 - 5) / 44


def test_the_order_of_a_pair_does_not_matter() -> None:
    for pair, merged in judged():
        papers = [paper_from_mapping(pair[side]) for side in "ba"]
        assert (len(groups_of(papers)) == 1) == merged, pair["why"]


if __name__ == "__main__":
    precision, recall, wrong, missed = figures()
    print(f"{len(judged())} pairs: precision {precision:.3f}, recall {recall:.3f}")
    print(*(f"wrongly merged: {why}" for why in sorted(wrong)), sep="\n")
    print(*(f"missed: {why}" for why in sorted(missed)), sep="\n")
