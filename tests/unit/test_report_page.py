"""The report: whole, self-contained, and unmoved by hostile text."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hippo_lit.config import load_settings
from hippo_lit.errors import StoreError
from hippo_lit.evaluate.compare import compare_runs
from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.run import Run
from hippo_lit.evaluate.runner import Runner
from hippo_lit.evaluate.summary import summarise
from hippo_lit.evaluate.systems import plan
from hippo_lit.report import charts
from hippo_lit.report.page import report, write_report
from hippo_lit.report.variants import is_variant, sweep_lines
from hippo_lit.types import Paper

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \u202e\u2028 'q\" &amp; <!--"
DATA = Dataset(
    f"set {EVIL}",
    [
        Paper("p1", EVIL, f"AlphaNet reads blocks. {EVIL}", 2020),
        Paper('p"2', "Beta", "Beta reads blocks.", 2021),
    ],
    [Query('q"1', f"AlphaNet {EVIL}", {"p1": 1}, (EVIL,)), Query("q2", "blocks", {})],
    notes=(EVIL,),
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    settings = load_settings(overrides=["embedding.kind=hash", "extract.kind=simple"], environ={})
    systems = plan(["bm25", "hippo"], [("", settings)], sweeps=[("ppr.damping", [0.2])])
    return Runner(DATA, tmp_path_factory.mktemp("report")).run(systems)


@pytest.fixture(scope="module")
def page(runs: list[Run]) -> str:
    names = ["nDCG@10", "R@5"]
    return report(
        DATA,
        runs,
        [summarise(run, names) for run in runs],
        compare_runs(runs[1], [runs[0], runs[2]], names),
        "hippo",
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_no_text_becomes_markup_and_nothing_is_loaded(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    names = [name for name, _ in tags.found]
    assert names.count("script") == 2
    assert names.count("style") == 1
    assert not {"img", "link", "iframe", "a", "object", "base"} & set(names)
    for _, attributes in tags.found:
        assert not any(name.startswith("on") or name in ("src", "href", "style") for name in attributes)
    assert "alert(1)</script>" not in page
    assert "\u202e" not in page
    assert not re.search(r"https?://|@import|url\(", page)


def test_the_policy_names_the_style_and_the_script_that_are_there(page: str) -> None:
    import base64
    import hashlib

    def hashed(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert style
    assert script
    assert policy[1] == (
        f"default-src 'none'; style-src 'sha256-{hashed(style[1])}'; script-src 'sha256-{hashed(script[1])}'"
    )


def test_the_script_gets_queries_values_and_reasons(page: str) -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    assert not set("<>&") & set(found[1])
    data = json.loads(found[1])
    assert data["systems"] == ["bm25", "hippo", "hippo@ppr.damping=0.2"]
    first, second = data["queries"]
    assert first["values"]["R@5"] == [1.0, 1.0, 1.0]
    assert second["values"]["R@5"] == [None, None, None]
    assert first["gold"] == {"p1": 1}
    assert [hit[0] for hit in first["answers"][0]["hits"]] == ["p1"]
    hippo = first["answers"][1]
    assert hippo["candidates"]
    assert hippo.keys() >= {"seeds", "unmatched", "route", "reason"}
    assert f'data-id="{"q&quot;1"}"' in page


def test_every_chart_is_well_formed(page: str) -> None:
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(drawings) >= 7
    for drawing in drawings:
        assert "nan" not in drawing
        ET.fromstring(drawing)


def test_variants_have_a_line_through_the_setting_of_their_base(runs: list[Run], page: str) -> None:
    summaries = [summarise(run, ["R@5"]) for run in runs]
    assert sweep_lines(runs, summaries, "R@5") == {"ppr.damping": [("hippo", [(0.2, 1.0), (0.7, 1.0)])]}
    assert [is_variant(run.label) for run in runs] == [False, False, True]
    assert is_variant("hippo@no-filter")
    assert not is_variant("hippo@hipporag2")
    assert "Variants of hippo" in page


def test_charts_with_nothing_to_show() -> None:
    nan = float("nan")
    for drawing in (
        charts.intervals([("a", (nan, nan, nan))], "t"),
        charts.intervals([("a", (0.0, 0.0, 0.0))], "t", zero=True),
        charts.bars({"g": [nan]}, ["a"], "t"),
        charts.lines([], "t"),
        charts.lines([("a", [(1.0, nan)])], "t"),
        charts.lines([("a", [(1.0, 0.5)])], "t", zoom=True),
        charts.histogram([], [1.0, 2.0], "t", 0),
    ):
        assert "nan" not in drawing
        ET.fromstring(drawing)


def test_latency_columns_hold_every_value() -> None:
    edges = charts.time_edges([0.4, 3.0, 1234.0])
    assert edges == sorted(edges)
    assert edges[0] <= 0.4
    assert edges[-1] > 1234.0
    drawing = charts.histogram([1.0, 1.2, 9.0], [1.0, 5.0, 10.0], "t", 0)
    assert re.findall(r"ms: (\d+)", drawing) == ["2", "1"]


def test_a_place_that_cannot_be_written(runs: list[Run], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    summaries = [summarise(run, ["R@5"]) for run in runs]
    with pytest.raises(StoreError, match="cannot write"):
        write_report(tmp_path / "file" / "r.html", DATA, runs, summaries, [], "hippo")


def test_a_query_of_a_whole_book_leaves_the_page_readable(runs: list[Run]) -> None:
    long = replace(DATA, queries=[replace(query, text=query.text * 20_000) for query in DATA.queries])
    made = report(long, runs, [summarise(run, ["R@5"]) for run in runs], [], "hippo")
    assert len(made) < 100_000
