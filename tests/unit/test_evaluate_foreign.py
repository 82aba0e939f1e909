"""Run files of other tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from hippo_lit.errors import DataError
from hippo_lit.evaluate.compare import compare_runs
from hippo_lit.evaluate.dataset import Query
from hippo_lit.evaluate.foreign import queries_of_qrels, read_trec_run
from hippo_lit.evaluate.run import Run

QUERIES = [Query("q 1", "one", {"a b": 2, "c": 1}), Query("q2", "two", {"d": 1}), Query("q3", "three")]


def read(folder: Path, text: str, titles: dict[str, str] | None = None) -> tuple[Run, list[str]]:
    (folder / "other.run").write_text(text, encoding="utf-8")
    return read_trec_run(folder / "other.run", QUERIES, titles or {}, "tiny")


def test_scores_order_then_ranks_and_ids_are_decoded(tmp_path: Path) -> None:
    text = (
        "q%201 Q0 x 1 0.5 theirs\n"
        "q%201 Q0 a%20b 2 7e-1 theirs\n"
        "q%201 Q0 c 4 0.5 theirs\n"
        "q%201 Q0 y 3 0.5 theirs\n"
        "q2\tQ0\td\t1\t-3\ttheirs\n"
    )
    run, notes = read(tmp_path, text, {"a b": "A title", "x": "X"})
    assert run.rankings == {"q 1": ["a b", "x", "y", "c"], "q2": ["d"], "q3": []}
    assert [(hit.title, hit.score) for hit in run.answers["q 1"].hits[:2]] == [("A title", 0.7), ("X", 0.5)]
    assert (run.label, run.info.mode, run.info.dataset, run.info.depth) == ("theirs", "foreign", "tiny", 4)
    assert notes == ["other.run ranks nothing for 1 of 3 queries; they count 0"]
    (row,) = compare_runs(run, [run], ["RR@10"])
    assert (row.base_mean, row.difference, row.ties, row.p) == (1.0, 0.0, 2, 1.0)


def test_queries_of_another_set_are_left_out_and_told(tmp_path: Path) -> None:
    run, notes = read(tmp_path, "q2 Q0 d 1 1 t\nq9 Q0 d 1 1 t\n")
    assert run.rankings["q2"] == ["d"]
    assert notes[0] == "other.run ranks 1 queries that are not in the set; they are left out"
    with pytest.raises(DataError, match="ranks none of the 3 queries"):
        read(tmp_path, "q9 Q0 d 1 1 t\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no ranking"),
        ("\n \n", "holds no ranking"),
        ("q2 Q0 d 1 0.5\n", "line 1: has 5 columns"),
        ("q2 Q0 d 1 0.5 t\nq2 Q0 e 2 nan t\n", "line 2: the score 'nan' is no number"),
        ("q2 Q0 d 1 much t\n", "line 1: the score 'much' is no number"),
        ("q2 Q0 d first 0.5 t\n", "line 1: the rank 'first' is no whole number"),
        ("q2 Q0 d 1 0.5 t\nq2 Q0 d 2 0.4 t\n", "line 2: paper d is ranked twice for query q2"),
    ],
)
def test_malformed_files_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "b.run").write_bytes(b"\xff\xfe\x00q")
    with pytest.raises(DataError, match="as UTF-8 text"):
        read_trec_run(tmp_path / "b.run", QUERIES, {}, "tiny")


def test_queries_known_by_their_judgements_alone(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("1 0 a 2\n1 0 b 0\n2 0 c -2\n")
    queries = queries_of_qrels(tmp_path / "qrels.txt")
    assert [(q.id, q.text, q.gold) for q in queries] == [("1", "", {"a": 2, "b": 0}), ("2", "", {"c": 0})]
    (tmp_path / "qrels.txt").write_text("")
    with pytest.raises(DataError, match="holds no judgement"):
        queries_of_qrels(tmp_path / "qrels.txt")
