"""Real files of other programs: every entry is a paper or a reported skip, and none is lost wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from hippo_lit.sources.files import FileSource
from hippo_lit.types import Paper

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is absent"),
]

# (papers, skips) of the files where something is skipped, or nothing is a paper.
WITH_SKIPS = {
    "biber-examples.bib": (96, 22),  # 18 without a title, 3 @set, 1 the same arXiv paper twice
    "citation_keys.bib": (0, 9),
    "comments_only.bib": (0, 0),
    "comments_only_output.bib": (0, 0),
    "common_strings.bib": (0, 0),
    "crossref_cascading.bib": (0, 4),
    "crossref_cascading_cycle.bib": (0, 2),
    "fieldname.bib": (0, 1),
    "multiline_comments.bib": (0, 0),
    "wrong.bib": (0, 2),
    "baseline_tag_and_field_definitions_lists.ris": (0, 1),
}
BIBLIOGRAPHIES = sorted((SHARED / "bibliographies").glob("*/*"))


def load(path: Path) -> tuple[list[Paper], FileSource]:
    source = FileSource(path)
    papers = list(source.papers())
    report = source.report
    assert (report.read, report.papers) == (report.papers + report.skipped, len(papers))
    return papers, source


def starts(path: Path) -> int:
    """Entries by a rule of thumb of our own: lines that open one."""
    lines = [line.strip().lower() for line in path.read_text("utf-8-sig").splitlines()]
    if path.suffix == ".ris":
        return sum(line.startswith("ty  -") for line in lines)
    return sum(
        line.startswith("@") and not line.startswith(("@string", "@comment", "@preamble")) for line in lines
    )


@pytest.mark.parametrize("path", BIBLIOGRAPHIES, ids=lambda path: path.name)
def test_bibliographies(path: Path) -> None:
    papers, source = load(path)
    report = source.report
    assert report.read == starts(path)
    assert (report.papers, report.skipped) == WITH_SKIPS.get(path.name, (report.read, 0))
    for paper in papers:
        text = " ".join([paper.title, *paper.authors, paper.venue or ""])
        assert not set("{}\\") & set(text), text


def test_counts_of_the_bibliographies() -> None:
    bib = [load(path)[1].report for path in BIBLIOGRAPHIES if path.suffix == ".bib"]
    ris = [load(path)[1].report for path in BIBLIOGRAPHIES if path.suffix == ".ris"]
    assert (len(bib), sum(r.papers for r in bib), sum(r.skipped for r in bib)) == (57, 197, 40)
    assert (len(ris), sum(r.papers for r in ris), sum(r.skipped for r in ris)) == (11, 136, 1)


@pytest.mark.parametrize("folder", ["Donners_2021"])
def test_openalex_works(folder: str) -> None:
    papers, source = load(SHARED / "synergy_openalex" / "works" / folder)
    assert (len(papers), source.report.skipped) == (258, 0)
    first = papers[0]
    assert (first.id, first.year, first.doi) == ("W2560438049", 2016, "10.1186/s13643-016-0384-4")
    assert first.authors[:2] == ("Mourad Ouzzani", "Hossam M. Hammady")
    assert first.abstract.startswith("Synthesis of multiple randomized controlled trials (RCTs)")
    assert all(reference.startswith("W") for paper in papers for reference in paper.references)


def test_openalex_work_of_the_newer_schema() -> None:
    (paper,) = load(SHARED / "api_responses" / "openalex" / "work.json")[0]
    assert (paper.id, paper.year, paper.venue) == ("W2741809807", 2018, "PeerJ")
    assert paper.abstract.startswith("Despite growing interest in Open Access (OA) to scholarly literature")


@pytest.mark.parametrize(
    ("folder", "count"), [("musique_train100", 1890), ("hotpotqa_train100", 994), ("synergy_openalex", 7233)]
)
def test_beir_corpora(folder: str, count: int) -> None:
    papers, source = load(SHARED / folder / "corpus.jsonl")
    assert (len(papers), source.report.skipped) == (count, 0)
    assert papers == load(SHARED / folder)[0]
