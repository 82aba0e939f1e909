"""Labelling: every decision is on disk, can be taken back, and is gone on from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hippo_lit.errors import DataError
from hippo_lit.evaluate.dataset import Query
from hippo_lit.evaluate.own import read_own
from hippo_lit.tune.bench import Case
from hippo_lit.tune.label import Labelling, cases_of, read_questions
from hippo_lit.types import Fact, Paper, ScoredFact


def case(name: str, *facts: str) -> Case:
    candidates = tuple(
        ScoredFact(Fact(fact, "is", "x"), 1.0, paper_ids=(f"p-{fact}", "p-both")) for fact in facts
    )
    return Case(Query(name, f"What of {name}?"), candidates)


CASES = (case("one", "a", "b"), case("two", "c", "d"))


def here(work: Labelling) -> tuple[str, int] | None:
    return None if work.here is None else (work.here[0].id, work.here[1])


def test_it_walks_through_all_candidates(tmp_path: Path) -> None:
    work = Labelling(CASES, tmp_path / "j")
    walked = []
    while (at := here(work)) is not None:
        walked.append(at)
        work.decide("drop")
    assert walked == [("one", 0), ("one", 1), ("two", 0), ("two", 1)]


def test_it_goes_on_after_an_interruption_in_the_middle_of_a_line(tmp_path: Path) -> None:
    work = Labelling(CASES, tmp_path / "j")
    work.decide("keep")
    work.decide("drop")
    with (tmp_path / "j").open("a", encoding="utf-8") as file:
        file.write('{"query": "two", "te')
    again = Labelling(CASES, tmp_path / "j")
    assert here(again) == ("two", 0)
    again.decide("keep")
    assert [d.choice for d in Labelling(CASES, tmp_path / "j").decisions] == ["keep", "drop", "keep"]


def test_undo_reaches_into_earlier_sessions(tmp_path: Path) -> None:
    work = Labelling(CASES, tmp_path / "j")
    work.decide("keep")
    work.decide("drop")
    again = Labelling(CASES, tmp_path / "j")
    undone = again.undo()
    assert undone is not None
    assert (undone.choice, here(again)) == ("drop", ("one", 1))
    assert here(Labelling(CASES, tmp_path / "j")) == ("one", 1)
    again.undo()
    assert again.undo() is None


def test_next_question_skips_the_rest(tmp_path: Path) -> None:
    work = Labelling(CASES, tmp_path / "j")
    work.decide("keep")
    work.next_question()
    assert here(work) == ("two", 0)
    assert [d.choice for d in work.decisions] == ["keep", "skip"]


def test_the_labels_are_a_query_file(tmp_path: Path) -> None:
    work = Labelling((*CASES, case("three", "e"), case("four", "f", "g")), tmp_path / "j")
    for choice in ("drop", "keep", "drop", "drop", "skip", "drop"):
        work.decide(choice)  # type: ignore[arg-type]
    assert work.write(tmp_path / "labels.jsonl") == 2  # "three" was skipped, "four" is not finished
    data = read_own(tmp_path / "labels.jsonl", [Paper("p-b", "B"), Paper("p-both", "Both")])
    one, two = data.queries
    assert (one.id, one.text, one.gold_facts) == ("one", "What of one?", (Fact("b", "is", "x"),))
    assert one.relevant == {"p-b", "p-both"}
    assert (two.id, two.gold_facts, two.relevant) == ("two", (), frozenset())
    (line, _) = (tmp_path / "labels.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["dropped_facts"] == [["a", "is", "x"]]


def test_questions_from_lines_and_from_records(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("\ufeffWhat?\r\n\r\n  Why  not? \nWhat?\n", "utf-8")
    what, why = read_questions(tmp_path / "q.txt")
    assert (what.text, why.text) == ("What?", "Why not?")
    (tmp_path / "r.txt").write_text("Why not?\nWhat?", "utf-8")
    assert [query.id for query in read_questions(tmp_path / "r.txt")] == [why.id, what.id]
    (tmp_path / "q.jsonl").write_text('{"id": "x", "text": "A"}\n{"question": "What?"}\n', "utf-8")
    assert [query.id for query in read_questions(tmp_path / "q.jsonl")] == ["x", what.id]


@pytest.mark.parametrize(("name", "text"), [("q.txt", " \n"), ("q.jsonl", '{"id": "x"}'), ("q.jsonl", "[1]")])
def test_what_is_no_question_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(DataError):
        read_questions(tmp_path / name)


def test_without_candidates_there_is_nothing_to_label() -> None:
    with pytest.raises(DataError, match="it holds no facts"):
        cases_of(iter([case("none")]))
