"""Answering as a task: what an answer is worth, and which papers are shown."""

from __future__ import annotations

import pytest

from hippo_lit.evaluate.dataset import Query
from hippo_lit.evaluate.own import mock_answers
from hippo_lit.llm.replies import UnreadableReplyError
from hippo_lit.text import normalise
from hippo_lit.tune.answer_task import NOT_SAID, AnswerCase, AnswerTask, Shelf
from hippo_lit.types import Paper

TASK = AnswerTask()
PAPERS = tuple(Paper(f"p{n}", f"Title {n}", f"Abstract {n} of the [MASK] token.") for n in (1, 2, 3))
CASE = AnswerCase(Query("q", "Where?", {"p1": 2}, answers=("Lisbon", "in Lisbon")), PAPERS)
NOBODY = AnswerCase(Query("n", "Why?"), PAPERS)


@pytest.mark.parametrize(
    ("answer", "f1", "em", "cited"),
    [
        ("Lisbon [p1]", 1.0, 1.0, 1.0),
        ("Lisbon [p1; p2]", 1.0, 1.0, 2 / 3),
        ("Lisbon [p9]", 1.0, 1.0, 0.0),
        ("Lisbon", 1.0, 1.0, 0.0),
        ("It is Lisbon [p1].", 0.5, 0.0, 1.0),
        ("Nairobi (p1)", 0.0, 0.0, 1.0),
        (NOT_SAID, 0.0, 0.0, 0.0),
        (f"{NOT_SAID} But [p1] says Lisbon.", 0.0, 0.0, 0.0),
    ],
)
def test_f1_em_and_citations(answer: str, f1: float, em: float, cited: float) -> None:
    scored = TASK.score(CASE, f"Thought: hm.\nAnswer: {answer}")
    assert scored.values == pytest.approx({"F1": f1, "EM": em, "cited": cited})
    assert not scored.error


def test_not_saying_is_right_where_nothing_is_said() -> None:
    assert TASK.score(NOBODY, f"Answer: {NOT_SAID}").values == {"F1": 1.0, "EM": 1.0}
    assert TASK.score(NOBODY, "Answer: Because [p1].").values == {"F1": 0.0, "EM": 0.0}


def test_answers_without_known_papers_have_no_measure_of_citations() -> None:
    case = AnswerCase(Query("q", "Where?", answers=("Lisbon",)), PAPERS)
    assert TASK.score(case, "Answer: Lisbon [p1]").values == {"F1": 1.0, "EM": 1.0}
    assert TASK.failed(case, "x").values == {"F1": 0.0, "EM": 0.0}


@pytest.mark.parametrize("bad", ["", "Thought: I wonder", "Answer: …", '{"x": 1}'])
def test_nonsense_is_worth_nothing(bad: str) -> None:
    scored = TASK.score(CASE, bad)
    assert scored.values == {"F1": 0.0, "EM": 0.0, "cited": 0.0}
    assert scored.error
    with pytest.raises(UnreadableReplyError):
        TASK.read(CASE, bad)


def test_feedback_says_what_is_wrong() -> None:
    said = TASK.score(CASE, "Answer: Nairobi [p2; p9]").feedback
    assert said == (
        "Wanted: Lisbon or in Lisbon. Given: Nairobi. Not cited, though the answer rests on it: p1."
        " Cited, though the answer does not rest on it: p2. Cited, though it was not shown: p9."
    )


def test_a_trial_names_what_is_cited() -> None:
    answer, known, unknown = TASK.read(CASE, "Answer: Lisbon [p1; p9]")
    assert (answer.text, known.text, known.nearest) == ("Lisbon [p1; p9]", "[p1]", "Title 1")
    assert (unknown.text, unknown.dropped) == ("[p9]", "was not shown")


@pytest.mark.parametrize("case", [CASE, NOBODY])
def test_demonstrations_are_perfect_replies(case: AnswerCase) -> None:
    demo = TASK.demonstration(case)
    assert set(TASK.score(case, demo).values.values()) == {1.0}
    assert TASK.demonstration(case, demo) == demo


def test_the_shelf_shows_the_relevant_papers_among_the_nearest() -> None:
    papers = [Paper(f"p{n}", "Cats" if n < 8 else "Dogs", "A text.") for n in range(10)]
    shelf = Shelf(papers, 3)
    shown = [paper.id for paper in shelf.case(Query("q", "cats", {"p9": 1}, leave_out=("p0",))).papers]
    assert len(shown) == 3
    assert "p9" in shown
    assert "p0" not in shown
    assert shelf.case(Query("q", "zebras")).papers == ()


def test_the_shipped_answers_stand_in_their_papers() -> None:
    data = mock_answers()
    texts = {paper.id: f" {normalise(paper.abstract)} " for paper in data.papers}
    answered = [query for query in data.queries if query.answers]
    halves = [[q for q in data.queries if q.split == half] for half in ("tune", "test")]
    assert [(len(half), sum(not q.answers for q in half)) for half in halves] == [(19, 3), (19, 3)]
    for query in answered:
        for paper in query.relevant:
            assert any(f" {normalise(answer)} " in texts[paper] for answer in query.answers), query
