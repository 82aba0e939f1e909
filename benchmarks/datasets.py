"""The sets under ../shared/data as papers, queries and gold; nothing of them is copied here."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hippo_lit import Paper, build_corpus
from hippo_lit.sources import mock

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
HERE = Path(__file__).resolve().parent / "data"
NAMES = ("musique", "musique_steps", "hotpotqa", "synergy", "cite_holdout", "claims", "mock")


@dataclass(frozen=True, slots=True)
class Query:
    """A question, its gold (paper id to grade), what to leave out of the ranking, and its kind."""

    id: str
    text: str
    gold: dict[str, int]
    leave_out: tuple[str, ...] = ()
    years: tuple[int | None, int | None] = (None, None)
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """`index` names the folder under which its index is kept; sets over one corpus share it."""

    name: str
    index: str
    papers: list[Paper]
    queries: list[Query]
    measures: tuple[str, ...] = field(default=("R@2", "R@5", "R@10", "nDCG@10"))


def load(name: str) -> Dataset:
    """Raises FileNotFoundError where ../shared/data is absent."""
    match name:
        case "musique":
            folder = SHARED / "musique_train100"
            return Dataset(name, name, _corpus(folder), _beir(folder))
        case "musique_steps":
            folder = SHARED / "musique_train100"
            papers = _corpus(folder)
            return Dataset(name, "musique", papers, list(_steps(folder, papers)))
        case "hotpotqa":
            folder = SHARED / "hotpotqa_train100"
            return Dataset(name, name, _corpus(folder), _beir(folder))
        case "synergy":
            folder = SHARED / "synergy_openalex"
            papers = _cited(_corpus(folder), folder / "citations.tsv")
            return Dataset(name, name, papers, _beir(folder), ("R@10", "R@100", "nDCG@10"))
        case "cite_holdout":
            folder = SHARED / "synergy_openalex"
            papers = _cited(_corpus(folder), folder / "cite_holdout" / "citations_train.tsv")
            return Dataset(name, name, papers, _beir(folder / "cite_holdout"), ("R@10", "R@100", "nDCG@10"))
        case "claims":
            folder = SHARED / "synergy_openalex"
            papers = _cited(_corpus(folder), folder / "citations.tsv")
            queries = [
                Query(row["_id"], row["text"], dict.fromkeys(row["gold"], 1))
                for row in _lines(HERE / "claims_synergy.jsonl")
            ]
            return Dataset(name, "synergy", papers, queries)
        case "mock":
            return Dataset(name, name, build_corpus(), list(_mock()))
        case _:
            raise ValueError(f"no set {name!r}; there are {', '.join(NAMES)}")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _corpus(folder: Path) -> list[Paper]:
    return [
        Paper(
            row["_id"],
            row.get("title") or "",
            row.get("text") or "",
            (row.get("metadata") or {}).get("year"),
            source="beir",
        )
        for row in _lines(folder / "corpus.jsonl")
    ]


def _cited(papers: list[Paper], file: Path) -> list[Paper]:
    references: dict[str, list[str]] = {}
    for citing, cited in _rows(file):
        references.setdefault(citing, []).append(cited)
    return [replace(paper, references=tuple(references.get(paper.id, ()))) for paper in papers]


def _rows(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines, delimiter="\t"))[1:]


def _beir(folder: Path) -> list[Query]:
    gold: dict[str, dict[str, int]] = {}
    for query, document, grade in _rows(folder / "qrels.tsv"):
        if int(grade) > 0:
            gold.setdefault(query, {})[document] = int(grade)
    queries = []
    for row in _lines(folder / "queries.jsonl"):
        itself = (row.get("metadata") or {}).get("query_doc")
        queries.append(Query(row["_id"], row["text"], gold.get(row["_id"], {}), (itself,) if itself else ()))
    return [query for query in queries if query.gold]


def _steps(folder: Path, papers: list[Paper]) -> Iterator[Query]:
    """The single steps of MuSiQue's questions: simple questions with one gold passage each.

    Earlier answers are filled in; a step counts where just one gold passage holds its answer.
    """
    texts = {paper.id: f"{paper.title}\n{paper.abstract}".lower() for paper in papers}
    plain = {query.id: query for query in _beir(folder)}
    for row in _lines(folder / "queries.jsonl"):
        steps = row["metadata"]["decomposition"]
        for number, (question, answer) in enumerate(steps):
            for earlier, (_, known) in enumerate(steps):
                question = question.replace(f"#{earlier + 1}", known)
            holding = [paper for paper in plain[row["_id"]].gold if answer.lower() in texts[paper]]
            if len(holding) == 1:
                yield Query(f"{row['_id']}-{number}", question, {holding[0]: 1})


def _mock() -> Iterator[Query]:
    for row in mock.queries():
        if row["gold"]:
            years = row.get("year") or (None, None)
            yield Query(
                row["id"],
                row["text"],
                row["gold"],
                tuple(row.get("leave_out", ())),
                tuple(years),
                row["tags"][0],
            )
