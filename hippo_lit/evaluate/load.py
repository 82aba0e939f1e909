"""`hippo-lit eval DATASET`: which kind of set a word or a path names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hippo_lit.errors import ConfigError, DataError
from hippo_lit.evaluate.beir import qrels_file, read_beir
from hippo_lit.evaluate.dataset import Dataset
from hippo_lit.evaluate.hipporag import corpus_file, read_hipporag
from hippo_lit.evaluate.own import QUERIES, mock_dataset, read_own
from hippo_lit.evaluate.trec import read_trec, topic_files
from hippo_lit.types import Paper

MOCK = "mock"
KINDS = (
    "the word mock, a BEIR folder, a folder with topics* and qrels*, HippoRAG's NAME.json with"
    " NAME_corpus.json beside it, or a JSONL file of queries"
)


def load_dataset(spec: str, *, split: str = "", papers: Sequence[Paper] = ()) -> Dataset:
    """The set that `spec` names; see KINDS.

    `split` chooses the judgements of a BEIR folder, or the queries of our own files that carry it.
    `papers` are the corpus of a query file that has none beside it. Raises DataError, ConfigError.
    """
    path = Path(spec).expanduser()
    if spec == MOCK:
        return _of_split(mock_dataset(), split)
    if not path.exists():
        raise DataError(f"there is no data set {spec!r}: give {KINDS}", path=spec)
    if path.is_dir():
        return _folder(path.resolve(), split, papers)  # "." has a name, too
    if path.suffix == ".json":
        if not corpus_file(path).is_file():
            raise DataError(f"{path}: its passages are missing: no {corpus_file(path).name}", path=spec)
        return _of_split(read_hipporag(path), split)
    return _of_split(read_own(path, papers), split)


def _folder(path: Path, split: str, papers: Sequence[Paper]) -> Dataset:
    if (path / QUERIES).is_file():
        if qrels_file(path) or (path / "qrels").is_dir():
            return read_beir(path, split)
        return _of_split(read_own(path, papers), split)
    if any(topic_files(path)):
        return _of_split(read_trec(path), split)
    raise DataError(f"{path} holds no data set that is known: give {KINDS}", path=str(path))


def _of_split(data: Dataset, split: str) -> Dataset:
    if not split:
        return data
    queries = [query for query in data.queries if query.split == split]
    if not queries:
        known = ", ".join(sorted({query.split for query in data.queries} - {""})) or "none"
        raise ConfigError(
            f"no query of {data.name} is in the split {split!r}; there are: {known}", key="split"
        )
    return replace(data, name=f"{data.name}-{split}", queries=queries)
