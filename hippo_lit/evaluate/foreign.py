"""Rankings of other tools: run files in TREC's format, with the queries and gold of a set of ours.

A line is query, "Q0", paper, rank, score and the run's name. As in trec_eval the score orders; where scores
are equal, the rank does, and then the place in the file. Ids of queries and papers may be
percent-encoded, as in our own run files (`saved.trec_id`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hippo_lit.evaluate.beir import read_qrels
from hippo_lit.evaluate.dataset import Query
from hippo_lit.evaluate.files import bad, lines_of
from hippo_lit.evaluate.run import FOREIGN, Answered, Hit, Run, RunInfo
from hippo_lit.evaluate.saved import trec_id
from hippo_lit.text import content_hash

_COLUMNS = 6


def read_trec_run(
    path: Path, queries: Sequence[Query], titles: Mapping[str, str], dataset: str
) -> tuple[Run, list[str]]:
    """The run in `path` over `queries`, those of `dataset`, and what was odd; `titles` are papers', by id.

    A query that the file does not rank has an empty ranking; lines of other queries are left out. Both are
    told. Raises DataError where a line is malformed, a paper is ranked twice for a query, or no query is
    known.
    """
    known = {trec_id(query.id): query.id for query in queries} | {query.id: query.id for query in queries}
    papers = _decoded(queries, titles)
    tag, ranked = _rankings(path)
    answers = {query.id: Answered(query.id, (), FOREIGN, 0.0) for query in queries}
    others = 0
    for name, hits in ranked.items():
        query_id = known.get(name)
        if query_id is None:
            others += 1
            continue
        ids = [papers.get(paper, paper) for paper, _ in hits]
        shown = (Hit(i, score, titles.get(i, "")) for i, (_, score) in zip(ids, hits, strict=True))
        answers[query_id] = replace(answers[query_id], hits=tuple(shown))
    if others == len(ranked):
        raise bad(path, None, f"ranks none of the {len(queries)} queries: is it a run over another set?")
    notes = []
    if others:
        notes.append(f"{path.name} ranks {others} queries that are not in the set; they are left out")
    if empty := sum(not answer.hits for answer in answers.values()):
        notes.append(f"{path.name} ranks nothing for {empty} of {len(queries)} queries; they count 0")
    depth = max(len(answer.hits) for answer in answers.values())
    info = RunInfo(
        tag or path.stem, FOREIGN, dataset, "", content_hash(path.read_text("utf-8-sig")), depth,
        {}, {}, {}, None, "",
    )  # fmt: skip
    return Run(info, tuple(queries), answers), notes


def queries_of_qrels(path: Path) -> list[Query]:
    """Queries that are known by their judgements alone, without text. Raises DataError."""
    queries = [Query(name, "", gold) for name, gold in read_qrels(path).items()]
    if not queries:
        raise bad(path, None, "holds no judgement")
    return queries


def _decoded(queries: Iterable[Query], titles: Iterable[str]) -> dict[str, str]:
    ids = {paper for query in queries for paper in query.gold} | set(titles)
    return {trec_id(paper): paper for paper in ids}


def _rankings(path: Path) -> tuple[str, dict[str, list[tuple[str, float]]]]:
    """The run's name, and query to (paper, score), best first."""
    found: dict[str, dict[str, tuple[float, int, int]]] = {}
    tag = ""
    for number, line in lines_of(path):
        columns = line.split()
        if len(columns) != _COLUMNS:
            found_there = f"has {len(columns)} columns"
            raise bad(path, number, f"{found_there}; a line of a run is query, Q0, paper, rank, score, name")
        query, _, paper, rank, score, tag = columns
        papers = found.setdefault(query, {})
        if paper in papers:
            raise bad(path, number, f"paper {paper} is ranked twice for query {query}")
        papers[paper] = (-_number(score, path, number), _rank(rank, path, number), number)
    if not found:
        raise bad(path, None, "holds no ranking")
    return tag, {
        query: [(paper, -papers[paper][0]) for paper in sorted(papers, key=papers.__getitem__)]
        for query, papers in found.items()
    }


def _number(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise bad(path, line, f"the score {text!r} is no number")
    return value


def _rank(text: str, path: Path, line: int) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise bad(path, line, f"the rank {text!r} is no whole number") from error
