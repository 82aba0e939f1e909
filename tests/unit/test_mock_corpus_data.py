"""The mock corpus and its queries hold what they promise; every check reads the data files alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hippo_lit.text

FOLDER = Path(hippo_lit.text.__file__).parent / "sources" / "mock_corpus"
TOPICS = (
    "attention_sparsity",
    "retrieval_augmentation",
    "low_rank_adapters",
    "dataset_distillation",
    "evaluation_harnesses",
)
# What a reader would search for first; some papers of each topic avoid these words on purpose.
OBVIOUS = {
    "attention_sparsity": r"spars|attention",
    "retrieval_augmentation": r"retriev|augment",
    "low_rank_adapters": r"\brank|adapter",
    "dataset_distillation": r"distil|condens",
    "evaluation_harnesses": r"harness|benchmark|evaluat|leaderboard",
}
TAGS = ("lexical", "mismatch", "multi-hop", "citation", "time", "none")
# A full stop ends a sentence unless it closes one of these.
ABBREVIATION = re.compile(r"\b(?:et al|e\.g|i\.e|vs|Fig|etc|[A-Z])\.$")
STOP = {
    "a",
    "an",
    "and",
    "as",
    "at",
    "by",
    "for",
    "from",
    "in",
    "is",
    "it",
    "of",
    "on",
    "that",
    "the",
    "to",
    "with",
}

Record = dict[str, Any]


def _lines(name: str) -> list[Record]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@cache
def _papers() -> dict[str, Record]:
    return {paper["id"]: paper | {"topic": topic} for topic in TOPICS for paper in _lines(topic)}


@cache
def _queries() -> list[Record]:
    return _lines("queries")


def _body(paper: Record) -> str:
    return f"{paper['title']} {paper['abstract']}"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _sentences(text: str) -> list[str]:
    sentences, start = [], 0
    for match in re.finditer(r"[.?!][\"”)]*\s+(?=[\"“A-Z])", text):
        piece = text[start : match.end()].strip()
        if not ABBREVIATION.search(piece):
            sentences.append(piece)
            start = match.end()
    return [*sentences, text[start:].strip()]


def _papers_of(topic: str) -> list[Record]:
    return [paper for paper in _papers().values() if paper["topic"] == topic]


def test_ids_run_from_p001_to_p100_in_topic_order() -> None:
    assert [paper["id"] for topic in TOPICS for paper in _lines(topic)] == [
        f"p{n:03d}" for n in range(1, 101)
    ]
    assert Counter(paper["topic"] for paper in _papers().values()) == dict.fromkeys(TOPICS, 20)


def test_every_record_has_exactly_the_promised_keys() -> None:
    keys = ["id", "title", "abstract", "year", "authors", "references"]
    assert all(list(paper) == keys for topic in TOPICS for paper in _lines(topic))


def test_abstracts_have_four_to_eight_sentences_and_80_to_170_words() -> None:
    for paper in _papers().values():
        assert 4 <= len(_sentences(paper["abstract"])) <= 8, paper["id"]
        assert 80 <= len(paper["abstract"].split()) <= 170, paper["id"]


def test_titles_sentences_and_twelve_word_runs_are_unique() -> None:
    assert len({paper["title"].casefold() for paper in _papers().values()}) == 100
    owner: dict[str, str] = {}
    for paper in _papers().values():
        words = _words(paper["abstract"])
        runs = [" ".join(words[i : i + 12]) for i in range(len(words) - 11)]
        for text in [*runs, *(s.casefold() for s in _sentences(paper["abstract"]))]:
            assert owner.setdefault(text, paper["id"]) == paper["id"], text


def test_abstracts_open_in_different_ways() -> None:
    openings = Counter(tuple(_words(paper["abstract"])[:3]) for paper in _papers().values())
    assert max(openings.values()) == 1


@pytest.mark.parametrize(
    "mark", ["et al.", "e.g.", "i.e.", " vs. ", "Fig. 2", "C++", "0.7 points", "κ", "≥|≤|Ω|±|−"]
)
def test_abstracts_exercise_sentence_splitting(mark: str) -> None:
    pattern = mark if "|" in mark else re.escape(mark)
    assert any(re.search(pattern, paper["abstract"]) for paper in _papers().values())


def test_each_topic_has_papers_that_avoid_its_obvious_words() -> None:
    for topic in TOPICS:
        hidden = [
            p["id"] for p in _papers_of(topic) if not re.search(OBVIOUS[topic], _body(p), re.IGNORECASE)
        ]
        assert len(hidden) >= 4, topic


def test_block_selection_never_says_what_it_is() -> None:
    (paper,) = [p for p in _papers().values() if p["title"] == "Block Selection in Transformer Routing"]
    assert paper["topic"] == "attention_sparsity"
    assert not re.search(r"spars|attention", paper["abstract"], re.IGNORECASE)


def test_authors_are_two_to_five_and_teams_recur() -> None:
    for paper in _papers().values():
        assert 2 <= len(set(paper["authors"])) == len(paper["authors"]) <= 5, paper["id"]
    papers_per_author = Counter(author for paper in _papers().values() for author in paper["authors"])
    assert sum(count >= 3 for count in papers_per_author.values()) >= 40
    assert sum(not author.isascii() for author in papers_per_author) >= 20


def test_years_span_2016_to_2025() -> None:
    assert {paper["year"] for paper in _papers().values()} >= set(range(2016, 2026)) - {2017}
    assert min(p["year"] for p in _papers().values()) == 2016
    assert max(p["year"] for p in _papers().values()) == 2025


def test_references_point_to_earlier_papers() -> None:
    papers = _papers()
    for paper in papers.values():
        references = paper["references"]
        assert len(set(references)) == len(references), paper["id"]
        for cited in references:
            # Tuples compare the year first, so within a year only lower ids may be cited.
            assert (papers[cited]["year"], cited) < (paper["year"], paper["id"]), (paper["id"], cited)


def test_most_papers_have_three_to_seven_references() -> None:
    for paper in _papers().values():
        assert (0 if paper["year"] <= 2020 else 3) <= len(paper["references"]) <= 7, paper["id"]
    assert sum(len(paper["references"]) >= 3 for paper in _papers().values()) >= 75


def test_each_topic_is_a_connected_citation_graph() -> None:
    for topic in TOPICS:
        papers = {p["id"]: p for p in _papers_of(topic)}
        near: dict[str, set[str]] = {i: set() for i in papers}
        for paper in papers.values():
            for cited in set(paper["references"]) & papers.keys():
                near[paper["id"]].add(cited)
                near[cited].add(paper["id"])
        reached, frontier = set[str](), {next(iter(papers))}
        while frontier:
            reached |= frontier
            frontier = set().union(*(near[i] for i in frontier)) - reached
        assert reached == papers.keys(), topic


def test_ten_to_fifteen_references_cross_topics() -> None:
    papers = _papers()
    crossing = [
        (i, r) for i, p in papers.items() for r in p["references"] if papers[r]["topic"] != p["topic"]
    ]
    assert 10 <= len(crossing) <= 15


def test_named_methods_and_datasets_link_papers() -> None:
    """At least 25 references whose citing abstract names what the cited title introduces."""
    papers = _papers()
    named = [
        (i, cited)
        for i, paper in papers.items()
        for cited in paper["references"]
        if papers[cited]["title"].split(":")[0] in paper["abstract"]
    ]
    assert len(named) >= 25


def test_queries_are_balanced_over_tags_and_splits() -> None:
    queries = _queries()
    assert [query["id"] for query in queries] == [f"q{n:03d}" for n in range(1, len(queries) + 1)]
    assert len(queries) >= 84
    assert len({query["text"].casefold() for query in queries}) == len(queries)
    for tag in TAGS:
        splits = Counter(query["split"] for query in queries if query["tags"] == [tag])
        assert set(splits) == {"tune", "test"}, tag
        assert splits["tune"] == splits["test"] >= 7, tag
    assert {query["tags"][0] for query in queries} == set(TAGS)


def test_gold_names_papers_of_the_corpus_and_is_empty_for_none_only() -> None:
    for query in _queries():
        gold = query["gold"]
        assert gold.keys() <= _papers().keys(), query["id"]
        assert set(gold.values()) <= {1, 2}, query["id"]
        assert (not gold) == (query["tags"] == ["none"]), query["id"]
        assert not gold or 2 in gold.values(), query["id"]
        left_out = set(query.get("leave_out", []))
        assert left_out <= _papers().keys() - gold.keys(), query["id"]


def test_gold_lies_in_the_query_year_range() -> None:
    ranged = [query for query in _queries() if "year" in query]
    assert len(ranged) >= 7
    for query in ranged:
        first, last = query["year"]
        assert all(first <= _papers()[i]["year"] <= last for i in query["gold"]), query["id"]


def test_multi_hop_queries_need_two_papers() -> None:
    assert all(len(query["gold"]) >= 2 for query in _queries() if query["tags"] == ["multi-hop"])


def test_citation_gold_is_linked_to_the_paper_left_out() -> None:
    """Gold of a citation query cites the anchor, or is cited by it (the whole list, where it asks for it)."""
    papers = _papers()
    for query in _queries():
        if query["tags"] != ["citation"]:
            continue
        (anchor,) = query["leave_out"]
        citing = {i for i, paper in papers.items() if anchor in paper["references"]}
        cited = set(papers[anchor]["references"])
        gold = set(query["gold"])
        assert gold == citing or gold <= cited, query["id"]


def test_gold_facts_are_stated_by_a_gold_paper() -> None:
    """Numbers must be found as they are, and most words, in one of the query's gold papers."""
    assert sum(bool(query.get("gold_facts")) for query in _queries()) >= 60
    for query in _queries():
        bodies = [_body(_papers()[i]) for i in query["gold"]]
        for fact in query.get("gold_facts", []):
            assert len(fact) == 3, query["id"]
            assert all(part.strip() for part in fact), query["id"]
            text = " ".join(fact)
            wanted = set(_words(text)) - STOP
            numbers = set(re.findall(r"\d[\d,.]*\d|\d", text))
            assert any(
                all(number in body for number in numbers)
                and len(wanted & set(_words(body))) >= 0.6 * len(wanted)
                for body in bodies
            ), (query["id"], fact)


def test_answers_are_said_by_a_gold_paper() -> None:
    answered = [query for query in _queries() if "answers" in query]
    assert {query["split"] for query in answered} == {"tune", "test"}
    assert len(answered) >= 12
    for query in answered:
        bodies = " ".join(_body(_papers()[i]) for i in query["gold"])
        shortest = min(query["answers"], key=len)
        assert (shortest == "") == (query["tags"] == ["none"]), query["id"]
        if shortest != "No":
            assert set(_words(shortest)) - STOP <= set(_words(bodies)), query["id"]


def test_hypotheses_are_balanced_over_verdicts_and_splits() -> None:
    hypotheses = _lines("hypotheses")
    assert [h["id"] for h in hypotheses] == [f"h{n:03d}" for n in range(1, len(hypotheses) + 1)]
    assert len({h["text"].casefold() for h in hypotheses}) == len(hypotheses) >= 40
    counts = Counter((h["verdict"], h["split"]) for h in hypotheses)
    assert counts.keys() == {
        (verdict, split)
        for verdict in ("shown", "contradicted", "partly", "absent")
        for split in ("tune", "test")
    }
    assert min(counts.values()) >= 6


def test_evidence_of_hypotheses_is_verbatim_and_from_the_gold_papers() -> None:
    for hypothesis in _lines("hypotheses"):
        evidence = hypothesis["evidence"]
        assert (not evidence) == (hypothesis["verdict"] == "absent"), hypothesis["id"]
        assert hypothesis["gold"] == list(dict.fromkeys(item["paper"] for item in evidence)), hypothesis["id"]
        for item in evidence:
            assert item["sentence"] in _sentences(_papers()[item["paper"]]["abstract"]), hypothesis["id"]
