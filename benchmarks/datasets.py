"""The sets under ../shared/data; nothing of them is copied here."""

from __future__ import annotations

import ast
import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import files
from itertools import islice
from pathlib import Path
from typing import Any

from hippo_lit import Paper
from hippo_lit.evaluate.beir import read_beir
from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.files import json_lines, papers_of
from hippo_lit.evaluate.own import mock_dataset

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
HERE = Path(__file__).resolve().parent / "data"
SHORT, LONG = ("R@2", "R@5", "R@10", "nDCG@10"), ("R@10", "R@100", "nDCG@10")
MEASURES = {
    "musique": SHORT,
    "musique_steps": SHORT,
    "hotpotqa": SHORT,
    "synergy": LONG,
    "cite_holdout": LONG,
    "claims": SHORT,
    "mock": SHORT,
}
NAMES = tuple(MEASURES)
PADDED = "musique_padded"  # takes half an hour to index, so it is asked for by name
MEASURES[PADDED] = SHORT
DOCUMENTED = ("numpy", "scipy", "scikit-learn", "networkx", "matplotlib")


def load(name: str) -> Dataset:
    """Raises DataError where ../shared/data is absent."""
    synergy = SHARED / "synergy_openalex"
    match name:
        case "musique" | "hotpotqa":
            data = read_beir(SHARED / f"{name}_train100")
        case "musique_steps":
            folder = SHARED / "musique_train100"
            data = read_beir(folder)
            data = replace(data, queries=list(_steps(folder, data)))
        case "synergy":
            data = read_beir(synergy, papers=_cited(synergy / "citations.tsv"))
        case "cite_holdout":
            folder = synergy / "cite_holdout"
            data = read_beir(folder, papers=_cited(folder / "citations_train.tsv"))
        case "claims":
            rows = [row for _, row in json_lines(HERE / "claims_synergy.jsonl")]
            queries = [Query(row["_id"], row["text"], dict.fromkeys(row["gold"], 1)) for row in rows]
            data = Dataset(name, _cited(synergy / "citations.tsv"), queries)
        case "mock":
            data = mock_dataset()
        case "musique_padded":
            data = load("musique")
            others = [
                _renamed(paper, other) for other in ("hotpotqa", "synergy") for paper in load(other).papers
            ]
            size = 10 * len(data.papers)
            papers = [*data.papers, *others]
            data = replace(data, papers=[*papers, *islice(_docstrings(), size - len(papers))])
        case _:
            raise SystemExit(f"no set {name!r}; there are {', '.join(MEASURES)}")
    return replace(data, name=name)


def _cited(file: Path) -> list[Paper]:
    """Synergy's papers with the citations of a file of citing and cited."""
    papers, _ = papers_of(SHARED / "synergy_openalex" / "corpus.jsonl")
    references: dict[str, list[str]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for citing, cited in list(csv.reader(lines, delimiter="\t"))[1:]:
            references.setdefault(citing, []).append(cited)
    return [replace(paper, references=tuple(references.get(paper.id, ()))) for paper in papers]


def _renamed(paper: Paper, source: str) -> Paper:
    """Ids of different sets can agree."""
    references = tuple(f"{source}:{reference}" for reference in paper.references)
    return replace(paper, id=f"{source}:{paper.id}", references=references)


def _docstrings() -> Iterator[Paper]:
    """What installed packages say of their functions and classes: real texts about something else."""
    for package in DOCUMENTED:
        for file in sorted(file for file in files(package) or () if file.suffix == ".py"):
            tree = ast.parse(Path(str(file.locate())).read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    text = ast.get_docstring(node) or ""
                    if len(text) >= 200:
                        yield Paper(f"{file}:{node.lineno}", node.name, text[:1500])


def _steps(folder: Path, data: Dataset) -> Iterator[Query]:
    """The single steps of MuSiQue's questions: simple questions with one gold passage each.

    Earlier answers are filled in; a step counts where just one gold passage holds its answer.
    """
    texts = {paper.id: f"{paper.title}\n{paper.abstract}".lower() for paper in data.papers}
    whole = {query.id: query for query in data.queries}
    for row in map(json.loads, (folder / "queries.jsonl").read_text("utf-8").splitlines()):
        steps: list[Any] = row["metadata"]["decomposition"]
        for number, (question, answer) in enumerate(steps):
            for earlier, (_, known) in enumerate(steps):
                question = question.replace(f"#{earlier + 1}", known)
            holding = [paper for paper in whole[row["_id"]].relevant if answer.lower() in texts[paper]]
            if len(holding) == 1:
                yield Query(f"{row['_id']}-{number}", question, {holding[0]: 1})
