"""The report in a real browser: at a phone's width and a desk's, light and dark, nothing but the one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_support import CHROMIUM, Page, browser

from hippo_lit.config import load_settings
from hippo_lit.evaluate.compare import compare_runs
from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.runner import Runner
from hippo_lit.evaluate.summary import summarise
from hippo_lit.evaluate.systems import plan
from hippo_lit.report.page import write_report
from hippo_lit.types import Paper

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
LONG = "Donaudampfschifffahrtsgesellschaftskapitän" * 4
EVIL = "</script><script>document.title='taken'</script><img src=http://127.0.0.1:9/x>"
DATA = Dataset(
    "set",
    [
        Paper("p1", f"AlphaNet {EVIL}", "AlphaNet reads blocks. It was built in Kraków.", 2020),
        Paper("p2", LONG, "Beta extends AlphaNet.", 2021),
    ],
    [
        Query("q1", f"who built AlphaNet {EVIL}", {"p1": 1}, ("where",), answers=("Kraków",)),
        Query("q2", f"Beta {LONG}", {"p2": 1}, ("what",)),
        Query("q3", "nothing at all", {}),
    ],
)
NAMES = ["nDCG@10", "R@5", "RR@10", "AP"]
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    settings = load_settings(overrides=["embedding.kind=hash", "extract.kind=simple"], environ={})
    systems = plan(["bm25", "hippo"], [("", settings)], sweeps=[("ppr.damping", [0.2, 0.4])])
    runs = Runner(DATA, folder / "store").run(systems)
    base = next(run for run in runs if run.label == "hippo")
    rows = compare_runs(base, [run for run in runs if run is not base], NAMES)
    write_report(folder / "r.html", DATA, runs, [summarise(run, NAMES) for run in runs], rows, "hippo")
    return folder / "r.html"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_and_answers_in_light_and_dark(page: Page, report: Path, width: int) -> None:
    backgrounds = []
    for dark in (False, True):
        page.open(report, width=width, height=800, dark=dark)
        backgrounds.append(page.run(BACKGROUND))
        page.run("document.querySelector('tr.query[data-id=q1]').click()")
        # Nothing but tables, which scroll by themselves, is wider than the screen.
        assert page.run("innerWidth") == width
        assert page.run("document.documentElement.scrollWidth") <= width
        assert page.run(
            "[...document.querySelectorAll('body *')].filter(e => !e.closest('.wide')"
            " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
        ) == []  # fmt: skip
        shown = page.run("document.getElementById('detail').textContent")
        assert "Right answers: Kraków" in shown
        assert "hippo: candidate facts" in shown
        assert "<img src=http" in shown  # as text
        assert page.run("document.title") == "set: evaluation"
        assert page.told("Runtime.exceptionThrown", "Log.entryAdded") == []
        requests = [told["request"]["url"] for told in page.told("Network.requestWillBeSent")]
        assert requests == [report.as_uri()]
    light, night = ([int(part) for part in b[4:-1].split(",")] for b in backgrounds)
    assert sum(light) > 600
    assert sum(night) < 150


def test_queries_are_sorted_and_filtered(page: Page, report: Path) -> None:
    page.open(report, width=360, height=800, dark=False)
    visible = "[...document.querySelectorAll('tr.query')].filter(r => !r.hidden).map(r => r.dataset.id)"
    assert page.run(visible) == ["q1", "q2", "q3"]
    page.run("document.querySelector('#queries th button').click()")
    page.run("document.querySelector('#queries th button').click()")
    assert page.run(visible) == ["q3", "q2", "q1"]
    page.run("document.getElementById('find').value = 'beta'")
    page.run("document.getElementById('find').dispatchEvent(new Event('input'))")
    assert page.run(visible) == ["q2"]
    assert page.run("document.getElementById('count').textContent") == "1 of 3 queries"
