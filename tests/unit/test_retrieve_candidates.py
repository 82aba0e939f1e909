"""Which facts are offered to the filter, on four papers made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny import COSINES, FOUND, PAPERS, QUESTION, Angles, Scripted, four_papers, settings, snapshot

from hippo_lit.retrieve.candidates import Candidate, FactRecall
from hippo_lit.types import Extraction, Fact, Mention, Paper


@pytest.fixture(scope="module")
def recall(tmp_path_factory: pytest.TempPathFactory) -> FactRecall:
    return FactRecall(four_papers(tmp_path_factory.mktemp("four")))


def texts(found: list[Candidate]) -> list[str]:
    return [candidate.scored.fact.text for candidate in found]


def names(recall: FactRecall, numbers: tuple[int, ...] | list[int]) -> list[str]:
    return [recall._graph.names[i] for i in numbers]


def test_what_a_question_names_once_in_its_order(recall: FactRecall) -> None:
    assert names(recall, recall.links("From krakow to Beta, alpha, and Beta again?")) == [
        "Kraków",
        "Beta",
        "Alpha",
    ]
    assert recall.links("nothing of it is old 🎉 \ud800") == []
    assert recall.links("x " * 5000 + "Beta") == []  # only the beginning is read


def test_the_best_sentences_by_their_facts_with_min_maxed_scores(recall: FactRecall) -> None:
    found = recall.candidates(QUESTION, [], top_k=4, per_entity=0)
    assert texts(found) == [
        "Alpha likes Beta",
        "Beta lives in Kraków",
        "Gamma says Unrelated text.",  # a sentence that states no fact stands for itself
        "Alpha is old",
    ]
    assert [c.scored.similarity for c in found] == pytest.approx([0.9, 0.6, 0.4, 0.2], abs=3e-4)
    assert [c.scored.score for c in found] == pytest.approx([1, 0.4 / 0.7, 0.2 / 0.7, 0], abs=5e-4)
    assert [c.scored.sentence for c in found[:2]] == ["Alpha likes Beta.", "Beta lives in Kraków."]
    assert [c.scored.paper_ids for c in found] == [("a",), ("b",), ("c",), ("a",)]
    assert texts(recall.candidates(QUESTION, [], top_k=1, per_entity=2)) == ["Alpha likes Beta"]


def test_sentences_about_what_the_question_names_join(recall: FactRecall) -> None:
    links = recall.links("How old is Kraków?")
    found = recall.candidates(QUESTION, links, top_k=1, per_entity=2)
    assert texts(found) == ["Alpha likes Beta", "Beta lives in Kraków"]
    assert [c.scored.anchors for c in found] == [(), ("Kraków",)]
    assert [c.scored.specificity for c in found] == [0.0, 1.0]
    assert names(recall, found[1].own) == ["Beta", "Kraków"]
    assert texts(recall.candidates(QUESTION, links, top_k=1, per_entity=0)) == ["Alpha likes Beta"]


def test_the_rarest_anchor_tells_how_specific_a_fact_is(recall: FactRecall) -> None:
    links = recall.links("Beta, Kraków")
    lives = recall.candidates(QUESTION, links, top_k=2, per_entity=0)[1].scored
    assert (lives.anchors, lives.specificity) == (("Beta", "Kraków"), 1.0)
    beta = recall.candidates(QUESTION, recall.links("Beta"), top_k=1, per_entity=0)[0].scored
    assert (beta.anchors, beta.specificity) == (("Beta",), 1 / 2)  # two passages say "Beta"


def test_evidence_is_the_sentence_with_its_title(recall: FactRecall) -> None:
    old = recall.candidates(QUESTION, [], top_k=4, per_entity=0)[3]
    assert names(recall, old.own) == ["Alpha", "old"]
    assert set(names(recall, old.evidence)) == {"Alpha", "old"}
    likes = recall.candidates(QUESTION, [], top_k=1, per_entity=0)[0]
    assert set(names(recall, likes.evidence)) == {"Alpha", "Beta"}


def test_of_a_sentences_facts_the_one_that_names_most_of_the_question(tmp_path: Path) -> None:
    said = Extraction(
        (Mention("Alpha", 0), Mention("Beta", 0), Mention("Kraków", 0)),
        (Fact("Alpha", "is", "x"), Fact("Alpha", "knows", "Beta"), Fact("Beta", "likes", "Kraków")),
        (0, 0, 0),
    )
    made = snapshot(tmp_path, [Paper("p", "T", "One sentence.")], Angles({}), Scripted({"T": said}))
    recall = FactRecall(made)
    for question, fact in [("?", "Alpha is x"), ("Beta and Kraków?", "Beta likes Kraków"),
                           ("Beta?", "Alpha knows Beta")]:  # fmt: skip
        found = recall.candidates(QUESTION, recall.links(question), top_k=1, per_entity=0)
        assert texts(found) == [fact]
        assert found[0].scored.score == 1.0  # where all are alike, none is worse than the best


@pytest.mark.parametrize(
    ("vectors", "cosines"),
    [
        ("sentence", {"They like it.": 0.1, "Love at last.": 0.8}),
        ("fact", {"Alpha likes Beta": 0.8, "Love at last.": 0.5}),
    ],
)
def test_a_fact_of_two_sentences_is_offered_once_by_the_nearer(
    tmp_path: Path, vectors: str, cosines: dict[str, float]
) -> None:
    said = Extraction((), (Fact("Alpha", "likes", "Beta"),), (0,))
    papers = [Paper("s", "S", "They like it."), Paper("t", "T", "Love at last.")]
    given = settings(graph={"fact_vectors": vectors})
    recall = FactRecall(snapshot(tmp_path, papers, Angles(cosines), Scripted({"S": said, "T": said}), given))
    offered = recall.candidates(QUESTION, recall.links("Alpha"), top_k=2, per_entity=2)
    assert texts(offered) == ["Alpha likes Beta"]
    assert offered[0].scored.similarity == pytest.approx(0.8, abs=3e-4)
    assert offered[0].scored.paper_ids == ("s", "t")


def test_with_vectors_of_facts_the_nearest_facts(tmp_path: Path) -> None:
    cosines = {"Alpha likes Beta": 0.3, "Alpha is old": 0.9, "Beta lives in Kraków": 0.5,
               "Alpha likes Beta.": 0.95, "Alpha is old.": -0.9}  # fmt: skip
    recall = FactRecall(four_papers(tmp_path, settings(graph={"fact_vectors": "fact"}), cosines=cosines))
    found = recall.candidates(QUESTION, [], top_k=2, per_entity=2)
    assert texts(found) == ["Alpha is old", "Beta lives in Kraków"]
    assert [c.scored.score for c in found] == pytest.approx([1, 0.2 / 0.6], abs=1e-3)
    # Sentences are compared on their own scale, and may be nearer or further than every fact.
    linked = recall.candidates(QUESTION, recall.links("Alpha"), top_k=1, per_entity=2)
    assert all(0 <= c.scored.score <= 1 for c in linked)
    assert len(linked) == len({c.scored.fact for c in linked})


def test_facts_of_a_title_are_found_by_their_own_words(tmp_path: Path) -> None:
    said = {"Delta": Extraction((Mention("Delta", -1),), (Fact("Delta", "beats", "Omega"),), (-1,))}
    given = settings(graph={"fact_vectors": "fact"})
    recall = FactRecall(four_papers(tmp_path, given, found=said, cosines={"Delta beats Omega": 0.9}))
    best = recall.candidates(QUESTION, recall.links("omega"), top_k=1, per_entity=2)[0]
    assert (best.scored.fact.text, best.scored.sentence, best.scored.paper_ids) == (
        "Delta beats Omega", "", ("d",))  # fmt: skip
    assert best.scored.anchors == ()  # a common word of one passage is not what a question can name


def test_nothing_to_offer(tmp_path: Path) -> None:
    bare = snapshot(tmp_path, [Paper("d", "Delta", "")], Angles({}), Scripted({}))
    assert FactRecall(bare).candidates(QUESTION, [], top_k=5, per_entity=2) == []
    assert FactRecall(bare).links("Delta") == []


def test_any_order_of_papers_gives_the_same_candidates(tmp_path: Path, recall: FactRecall) -> None:
    other = FactRecall(snapshot(tmp_path, PAPERS[::-1], Angles(COSINES), Scripted(FOUND)))
    links = other.links("Beta?")
    assert other.candidates(QUESTION, links, top_k=5, per_entity=2) == recall.candidates(
        QUESTION, recall.links("Beta?"), top_k=5, per_entity=2
    )
    assert np.array_equal(other._graph.spread, recall._graph.spread)
