"""BEIR folders: corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/<split>.tsv."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.files import answers_in, bad, json_lines, lines_of, papers_of, text_in
from hippo_lit.evaluate.gold import GoldFinder
from hippo_lit.evaluate.own import QUERIES, unique
from hippo_lit.text import clean
from hippo_lit.types import Paper

_SPLITS = ("test", "dev", "train")
Qrels = dict[str, dict[str, int]]


def qrels_file(folder: Path, split: str = "") -> Path | None:
    """The judgements of a BEIR folder: those of `split`, else qrels.tsv, else the first split there is."""
    names = (
        [folder / "qrels" / f"{split}.tsv"]
        if split
        else [folder / "qrels.tsv", *(folder / "qrels" / f"{name}.tsv" for name in _SPLITS)]
    )
    return next((path for path in names if path.is_file()), None)


def read_beir(folder: Path, split: str = "", papers: Sequence[Paper] = ()) -> Dataset:
    """The set, with the queries that `split` judges; without a split, of those that are judged.

    `metadata.query_doc` of a query is the paper it was made from, which is left out of its ranking;
    `metadata.answer` and `answer_aliases` are its answers. The number of queries without judgements is told
    in the notes. `papers` take the place of the folder's corpus. Raises DataError.
    """
    notes: list[str] = []
    if not papers:
        papers, notes = papers_of(folder / "corpus.jsonl")
    file = qrels_file(folder, split)
    if file is None:
        wanted = f"qrels/{split}.tsv" if split else "qrels.tsv"
        raise bad(folder, None, f"a BEIR folder needs {wanted}")
    judged = read_qrels(file)
    finder = GoldFinder(papers)
    queries = []
    unjudged = 0
    for line, record in json_lines(folder / QUERIES):
        query_id = text_in(record, ("_id", "id"), folder / QUERIES, line)
        if query_id not in judged:
            unjudged += 1
            continue
        metadata = record.get("metadata")
        about: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
        itself = about.get("query_doc")
        text = text_in(record, ("text", "query"), folder / QUERIES, line)
        gold = resolve(judged.pop(query_id), finder, query_id)
        left_out = (str(itself),) if itself else ()
        queries.append(Query(query_id, text, gold, leave_out=left_out, answers=answers_in(about)))
    if unjudged:
        notes.append(f"{unjudged} queries have no judgement in {file.name} and are not asked")
    if judged:
        notes.append(f"{len(judged)} queries of {file.name} have no text in {QUERIES} and are not asked")
    return Dataset(folder.name, papers, unique(queries, folder / QUERIES), tuple(notes + finder.notes))


def resolve(grades: dict[str, int], finder: GoldFinder, query_id: str) -> dict[str, int]:
    """Grades by the ids of papers, the highest where several references mean one paper."""
    gold: dict[str, int] = {}
    for reference, grade in grades.items():
        for paper in finder.find(reference, query_id):
            gold[paper] = max(grade, gold.get(paper, 0))
    return gold


def read_qrels(path: Path) -> Qrels:
    """Judgements, with or without a heading: BEIR's three columns or TREC's four. Raises DataError."""
    qrels: Qrels = defaultdict(dict)
    for number, line in lines_of(path):
        columns = line.rstrip("\n").split("\t") if "\t" in line else line.split()
        if len(columns) == 4:
            query, _, paper, grade = columns
        elif len(columns) == 3:
            query, paper, grade = columns
        else:
            raise bad(path, number, f"has {len(columns)} columns; a judgement has query, paper and grade")
        if not _whole(grade):
            if number == 1:
                continue  # the heading
            raise bad(path, number, f"the grade {grade!r} is no whole number")
        # TREC marks spam with negative grades: not relevant.
        qrels[clean(query)][clean(paper)] = max(0, int(grade))
    return dict(qrels)


def _whole(text: str) -> bool:
    return text.strip().removeprefix("-").isdecimal()
