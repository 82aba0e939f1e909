"""Runs: made, saved, gone on with, read again, compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hippo_lit.api import HippoLit
from hippo_lit.assemble import make_recipe
from hippo_lit.config import Settings, load_settings
from hippo_lit.errors import ConfigError, DataError
from hippo_lit.evaluate.compare import choose, compare_runs, moves
from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.run import Answered, Hit, Run
from hippo_lit.evaluate.runner import Runner
from hippo_lit.evaluate.saved import RunFolder, load_run, trec_id
from hippo_lit.evaluate.summary import summarise
from hippo_lit.evaluate.systems import System, changed, plan
from hippo_lit.index import Indexer
from hippo_lit.types import Paper, Usage

PAPERS = [
    Paper(
        "a 1", "Sparse attention", "Alpha reads blocks. Alpha was built in Kraków.", 2020, references=("b",)
    ),
    Paper("b", "Dense retrieval", "Beta maps questions to vectors.", 2021),
    Paper("c", "Distillation", "Gamma learns pictures.", 2022),
]
QUERIES = [
    Query("q1", "sparse blocks", {"a 1": 2}, ("x",)),
    Query("q2", "dense vectors", {"b": 1, "gone": 1}, ("x", "y")),
    Query("q3", "pictures", {"c": 1}, ("y",), leave_out=("c",)),
    Query("q4", "pictures", {}, years=(2023, None)),
]
DATA = Dataset("tiny", PAPERS, QUERIES)
QUICK = load_settings(overrides=["embedding.kind=hash", "extract.kind=simple"], environ={})
MEASURES = ["R@5", "RR@10"]


def bm25(settings: Settings = QUICK) -> System:
    (system,) = plan(["bm25"], [("", settings)])
    return system


def test_a_run_obeys_leave_out_and_years_and_counts_what_is_missing(tmp_path: Path) -> None:
    (run,) = Runner(DATA, tmp_path / "store").run([bm25()])
    assert run.rankings == {"q1": ["a 1"], "q2": ["b"], "q3": [], "q4": []}
    summary = summarise(run, MEASURES)
    recall = summary.measures["R@5"]
    assert (recall.mean, recall.queries) == (pytest.approx((1 + 0.5 + 0) / 3), 3)
    assert {tag: by["R@5"].mean for tag, by in summary.tags.items()} == {"x": 0.75, "y": 0.25}
    assert (summary.fallbacks, summary.degraded, summary.filter) == (0.0, 0.0, None)
    assert run.info.snapshot.startswith("s-3-")
    assert run.info.prompts.keys() >= {"extract", "fact_filter", "query_to_fact"}
    assert run.info.versions["hippo-lit"]
    json.dumps(summary.as_json(), allow_nan=False)


def test_saved_and_read_again_it_is_the_same_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "runs")
    runs = Runner(DATA, tmp_path / "store", runs=folder).run(plan(["bm25", "hippo"], [("", QUICK)]))
    assert folder.labels() == ["bm25", "hippo"]
    for run in runs:
        for name in (run.label, f"{run.label}.json", f"{run.label}.run", f"{run.label}.jsonl"):
            assert load_run(folder.folder / name) == run
    assert (folder.folder / "bm25.run").read_text() == "q1 Q0 a%201 1 1 bm25\nq2 Q0 b 1 1 bm25\n"
    assert (folder.folder / "qrels.txt").read_text() == "q1 0 a%201 2\nq2 0 b 1\nq2 0 gone 1\nq3 0 c 1\n"


def test_what_is_finished_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path / "runs")
    runner = Runner(DATA, tmp_path / "store", runs=folder)
    (first,) = runner.run([bm25()])
    reused: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(HippoLit, "open", lambda *_a, **_k: pytest.fail("opened an index"))
        again = replace(runner, on_reused=reused.append).run([bm25()])
    assert (again, reused) == ([first], ["bm25"])
    # Another setting of that route, another depth, other queries: another run under the same name.
    for other in (
        (runner, bm25(changed(QUICK, {"bm25.k1": 0.1}))),
        (replace(runner, depth=1), bm25()),
        (replace(runner, data=replace(DATA, queries=QUERIES[:2])), bm25()),
    ):
        (fresh,) = other[0].run([other[1]])
        assert fresh.info.key != first.info.key


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path / "runs")
    runner = Runner(DATA, tmp_path / "store", runs=folder)
    asked: list[str] = []
    plain = HippoLit.retrieve

    def stopping(self: HippoLit, query: str, *arguments: object, **options: object) -> object:
        asked.append(query)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return plain(self, query, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(HippoLit, "retrieve", stopping)
    with pytest.raises(KeyboardInterrupt):
        runner.run([bm25()])
    with pytest.raises(DataError, match="it was interrupted: run the same"):
        load_run(folder.folder / "bm25")
    with (folder.folder / "bm25.jsonl").open("a") as file:
        file.write('{"query_id": "q3", "hi')  # the power went out
    (run,) = runner.run([bm25()])
    assert asked == ["sparse blocks", "dense vectors", "pictures", "pictures", "pictures"]
    assert list(run.answers) == ["q1", "q2", "q3", "q4"]
    assert load_run(folder.folder / "bm25") == run


def test_settings_of_queries_share_one_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds = []
    build = Indexer.build
    monkeypatch.setattr(Indexer, "build", lambda self, **how: builds.append(1) or build(self, **how))
    systems = plan(["hippo"], [("", QUICK)], ablate=True, sweeps=[("ppr.damping", [0.3, 0.7])])
    runs = Runner(DATA, tmp_path / "store").run(systems)
    assert (len(runs), len(builds)) == (len(systems), 1)
    assert len({run.info.snapshot for run in runs}) == 1
    Runner(DATA, tmp_path / "store").run(
        plan(["hippo"], [("", QUICK)], sweeps=[("graph.synonyms", ["none"])])
    )
    assert len(builds) == 3


def test_no_setting_of_an_earlier_system_shows_through(tmp_path: Path) -> None:
    runner = Runner(DATA, tmp_path / "store")
    runner.run([bm25(changed(QUICK, {"graph.synonyms": "none", "bm25.k1": 0.1}))])
    (run,) = runner.run([bm25()])
    (folder,) = (tmp_path / "store").glob("*.idx")
    with HippoLit.open(folder, read_only=True) as lit:
        snapshot = lit.snapshot()
        assert snapshot is not None
        assert snapshot.name == run.info.snapshot
        assert snapshot.about["recipe"] == make_recipe(QUICK).describe()


def test_an_index_of_ones_own_is_asked_as_it_is(tmp_path: Path) -> None:
    with HippoLit.open(tmp_path / "mine", QUICK) as lit:
        lit.add(PAPERS)
        name = lit.snapshot().name  # type: ignore[union-attr]
    runner = Runner(DATA, tmp_path / "store", index=tmp_path / "mine")
    (run,) = runner.run([bm25()])
    assert run.info.snapshot == name
    with pytest.raises(ConfigError, match="was built with another bm25_k1 than these settings name"):
        runner.run([bm25(changed(QUICK, {"bm25.k1": 0.1}))])


def test_damaged_runs_are_named(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "runs")
    Runner(DATA, tmp_path / "store", runs=folder).run([bm25()])
    with pytest.raises(DataError, match="no such file"):
        load_run(tmp_path / "nothing")
    lines = (folder.folder / "bm25.jsonl").read_text().splitlines(keepends=True)
    (folder.folder / "bm25.jsonl").write_text("".join(lines[:-1]))
    with pytest.raises(DataError, match="lacks 1 queries"):
        load_run(folder.folder / "bm25")
    (folder.folder / "bm25.jsonl").write_text(lines[0] + "{}\n" + lines[1])
    with pytest.raises(DataError, match="line 2: no answer of a run"):
        load_run(folder.folder / "bm25")
    (again,) = Runner(DATA, tmp_path / "store", runs=folder).run([bm25()])  # answers the rest anew
    assert load_run(folder.folder / "bm25") == again
    (folder.folder / "bm25.json").write_text('{"format": 1}')
    with pytest.raises(DataError, match="is no run of `hippo-lit eval`: info"):
        load_run(folder.folder / "bm25")
    assert trec_id("a\u2003b") == "a%E2%80%83b"


def made(run: Run, label: str, rankings: dict[str, list[str]]) -> Run:
    answers = {
        query.id: Answered(query.id, tuple(Hit(i, 1.0) for i in rankings.get(query.id, [])), "bm25", 0.0)
        for query in run.queries
    }
    return replace(run, info=replace(run.info, label=label), answers=answers)


def test_comparison_by_hand(tmp_path: Path) -> None:
    (base,) = Runner(DATA, tmp_path / "store").run([bm25()])
    worse = made(base, "worse", {"q2": ["c", "b"]})
    better = made(base, "better", {"q1": ["a 1"], "q2": ["b"], "q3": ["c"]})
    rows = compare_runs(base, [worse, better], ["RR@10"])
    first, second = rows
    assert (first.base_mean, first.other_mean) == (pytest.approx(2 / 3), pytest.approx(1 / 6))
    assert (first.difference, first.wins, first.ties, first.losses) == (pytest.approx(-0.5), 0, 1, 2)
    assert (second.wins, second.ties, second.losses, second.queries) == (1, 2, 0, 3)
    assert first.p == 0.5  # of ±1 ±½ two in four patterns are as far out
    assert second.p == 1.0
    assert (first.p_holm, second.p_holm) == (1.0, 1.0)
    assert [(m.query_id, m.base, m.other) for m in moves(base, worse, "RR@10")] == [
        ("q1", 1.0, 0.0),
        ("q2", 1.0, 0.5),
    ]
    assert choose([base, worse], "worse") is worse
    with pytest.raises(ConfigError, match="no system is called 'x'; there are bm25"):
        choose([base], "x")


def test_runs_over_other_queries_or_gold_are_not_compared(tmp_path: Path) -> None:
    (base,) = Runner(DATA, tmp_path / "store").run([bm25()])
    fewer = replace(base, queries=base.queries[:2])
    with pytest.raises(DataError, match="2 are in one only"):
        compare_runs(base, [fewer], MEASURES)
    regraded = replace(base, queries=(replace(base.queries[0], gold={"b": 1}), *base.queries[1:]))
    with pytest.raises(DataError, match=r"gold of 1 queries changed .*\(q1\)"):
        compare_runs(base, [regraded], MEASURES)


def test_usage_and_failures_are_summed(tmp_path: Path) -> None:
    (base,) = Runner(DATA, tmp_path / "store").run([bm25()])
    answers = {
        query.id: replace(base.answers[query.id], usage=Usage(1, 0, 10, 2, 0.5), degraded=query.id == "q1")
        for query in base.queries
    }
    summary = summarise(replace(base, answers=answers), MEASURES)
    assert summary.usage == Usage(4, 0, 40, 8, 2.0)
    assert summary.degraded == 0.25
