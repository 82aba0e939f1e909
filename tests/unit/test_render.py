from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hippo_lit.render import authors_text, chain, dumps, fact_text, printable, shorten, to_json, usage_text
from hippo_lit.types import (
    Fact,
    Metrics,
    Paper,
    RankedPaper,
    RetrievalResult,
    ScoredFact,
    Seed,
    Step,
    Trace,
    Usage,
)

FACT = ScoredFact(
    Fact("A", "extends", "B"),
    score=1.0,
    similarity=0.5,
    anchors=("A",),
    specificity=0.25,
    paper_ids=("p1",),
    sentence="A extends B.",
)
RESULT = RetrievalResult(
    query="what?",
    mode="hippo",
    route="hybrid",
    papers=(
        RankedPaper(
            Paper(
                "p1",
                "Title",
                "Text.",
                2020,
                ("Ada L",),
                ("p2",),
                ("p3",),
                "s2",
                "10.1/x",
                "V",
                "u",
                ("arxiv:2001.00001",),
            ),
            1,
            0.5,
            bm25_score=1.5,
            graph_distance=2,
            recency_score=0.25,
            final_score=0.75,
            scores={"ppr": 0.125},
            path=(Step("A", "fact", "B", "A extends B"), Step("B", "mention", "p1")),
        ),
    ),
    degraded=True,
    reason="down",
    metrics=Metrics(1, 0.5, 0.5, 0.01),
    trace=Trace(
        candidates=(FACT,),
        kept=(FACT,),
        unmatched=("?",),
        seeds=(Seed("A", 0.5, "the question names it"),),
        usage={"filter": Usage(1, 2, 3, 4, 0.5)},
        seconds={"embed": 0.5},
        snapshot="s-1",
    ),
)
FACT_AS_JSON = {
    "fact": {"subject": "A", "relation": "extends", "object": "B"},
    "score": 1.0,
    "similarity": 0.5,
    "anchors": ["A"],
    "specificity": 0.25,
    "paper_ids": ["p1"],
    "sentence": "A extends B.",
}


def test_a_result_in_json_has_every_field_under_its_name() -> None:
    assert json.loads(dumps(to_json(RESULT))) == {
        "query": "what?",
        "mode": "hippo",
        "route": "hybrid",
        "papers": [
            {
                "paper": {
                    "id": "p1",
                    "title": "Title",
                    "abstract": "Text.",
                    "year": 2020,
                    "authors": ["Ada L"],
                    "references": ["p2"],
                    "citations": ["p3"],
                    "source": "s2",
                    "doi": "10.1/x",
                    "venue": "V",
                    "url": "u",
                    "ids": ["arxiv:2001.00001"],
                    "retracted": False,
                    "open_access": None,
                },
                "rank": 1,
                "score": 0.5,
                "bm25_score": 1.5,
                "graph_distance": 2,
                "recency_score": 0.25,
                "final_score": 0.75,
                "scores": {"ppr": 0.125},
                "path": [
                    {"source": "A", "kind": "fact", "target": "B", "detail": "A extends B"},
                    {"source": "B", "kind": "mention", "target": "p1", "detail": ""},
                ],
            }
        ],
        "degraded": True,
        "reason": "down",
        "metrics": {"hits": 1, "mean_score": 0.5, "top_score": 0.5, "wall_time_s": 0.01},
        "trace": {
            "candidates": [FACT_AS_JSON],
            "kept": [FACT_AS_JSON],
            "unmatched": ["?"],
            "seeds": [{"entity": "A", "weight": 0.5, "because": "the question names it"}],
            "usage": {
                "filter": {
                    "calls": 1,
                    "cached_calls": 2,
                    "prompt_tokens": 3,
                    "completion_tokens": 4,
                    "cost_usd": 0.5,
                }
            },
            "seconds": {"embed": 0.5},
            "snapshot": "s-1",
        },
    }


def test_an_empty_result_has_every_key_too() -> None:
    empty = to_json(RetrievalResult("", "bm25", "bm25"))
    assert empty.keys() == to_json(RESULT).keys()
    assert empty["trace"].keys() == to_json(RESULT)["trace"].keys()


@given(st.text(st.characters()), st.booleans())
def test_json_comes_back_and_steers_no_terminal(text: str, ascii_only: bool) -> None:
    written = dumps({"text": text}, ascii_only=ascii_only)
    assert json.loads(written) == {"text": text}
    assert written.isascii() or not ascii_only
    assert not any(
        (c < " " and c != "\n") or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" for c in written
    )


def test_json_keeps_the_letters_of_all_scripts() -> None:
    assert "北京 β Kraków 🦛" in dumps(["北京 β Kraków 🦛"])


def test_json_knows_no_nan() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        dumps(math.nan)


@given(st.text(st.characters()))
def test_printable_text_is_one_harmless_line(text: str) -> None:
    shown = printable(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000 for c in shown)
    assert "\n" not in shown


@given(st.text(), st.integers(1, 50))
def test_shortened_text_fits(text: str, width: int) -> None:
    assert len(shorten(text, width)) <= max(width, 2)


@pytest.mark.parametrize(
    ("authors", "shown"),
    [
        ((), ""),
        (("Plato",), "Plato"),
        (("Ada Lovelace", "Turing, Alan"), "Lovelace, Turing"),
        (("Ada Lovelace", "Alan Turing", "Third"), "Lovelace et al."),
    ],
)
def test_authors(authors: tuple[str, ...], shown: str) -> None:
    assert authors_text(authors) == shown


def test_a_fact_that_stands_in_for_a_sentence_is_shown_as_that() -> None:
    sentence = "It rains."
    assert fact_text(ScoredFact(Fact("Title", "says", sentence), 1.0, sentence=sentence)) == "“It rains.”"
    assert fact_text(FACT) == "A — extends — B"


def test_a_chain_of_steps() -> None:
    assert chain(()) == ""
    assert chain(RESULT.papers[0].path) == "A —[fact: extends]→ B —[mention]→ p1"
    way = (Step("LoomRank", "mention", "p053"), Step("p053", "citation", "p044", "cites"))
    assert chain(way) == "LoomRank —[mention]→ p053 —[citation: cites]→ p044"
    assert chain((Step("B", "fact", "A", "A extends B"),)) == "B —[fact: A extends B]→ A"
    assert chain((Step("A\x1b[1m", "fact", "A\n", "A\x07 b"),)).isprintable()


def test_usage() -> None:
    assert usage_text(Usage(1200, 0, 3000, 40)) == "1,200 calls, 3,000 tokens in, 40 out"
    assert usage_text(Usage(1, 2, 3, 4, 0.5)) == (
        "1 calls (2 more from the cache), 3 tokens in, 4 out, 0.5000 USD"
    )
