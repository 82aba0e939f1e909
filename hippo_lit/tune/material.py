"""What a prompt is tried on: its task, the labelled cases of a set, and a case for any text.

`material` makes it by the name of the prompt; only the fact filter needs an index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hippo_lit import assemble
from hippo_lit.config import Settings
from hippo_lit.errors import ConfigError, DataError
from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.extraction import Progress, silent
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.disk import reporting
from hippo_lit.tune.answer_task import AnswerCase, AnswerTask, Shelf
from hippo_lit.tune.bench import Bench, halves
from hippo_lit.tune.extract_task import ExtractTask, PassageCase
from hippo_lit.tune.filter_task import FilterTask
from hippo_lit.tune.passages import LabelledPassage
from hippo_lit.tune.tasks import Task

TASKS = ("fact_filter", "extract", "answer")
Split = Literal["tune", "test", "all"]


@dataclass(frozen=True, slots=True)
class Material:
    """`cases` gives those of a half that have labels, and raises DataError where there is none; `case` makes
    one of a question or, for extraction, of a passage (or the id of a paper). `replies` are kept ones.
    """

    task: Task[Any]
    cases: Callable[[Split], Sequence[Any]]
    case: Callable[[str], Any]
    replies: Cache


def check_task(name: str) -> None:
    """Raises ConfigError for a prompt that cannot be tried on cases."""
    if name not in TASKS:
        raise ConfigError(
            f"{name} cannot be tried or tuned, only {', '.join(TASKS)} can: versions, check and promotion"
            " work for every prompt",
            key="name",
        )


@contextmanager
def filter_material(
    data: Dataset,
    settings: Settings,
    store: Path,
    *,
    index: Path | None = None,
    k: int = 5,
    progress: Progress = silent,
) -> Iterator[Material]:
    """Questions with the candidates of an index. Raises what `Bench.open` raises."""
    with Bench.open(data, settings, store, index=index, progress=progress) as (bench, replies):
        task = FilterTask(bench, settings.filter.cutoff, settings.filter.max_facts, k)

        def case(text: str) -> Any:
            found = bench.case(Query("try", text))
            if not found.candidates:
                raise DataError("the index has no candidate fact for this question, so no model is asked")
            return found

        yield Material(task, lambda split: bench.cases(_half(data.queries, split), progress), case, replies)


@contextmanager
def answer_material(data: Dataset, settings: Settings, store: Path) -> Iterator[Material]:
    """Questions with papers. Raises DataError for a set without papers."""
    if not data.papers:
        raise DataError(f"{data.name} has no papers to answer from: add some first (hippo-lit index)")
    shelf = Shelf(data.papers, settings.answer.top_k)

    def cases(split: Split) -> list[AnswerCase]:
        # A question with gold papers and no written answer tells nothing of an answer.
        usable = [query for query in _half(data.queries, split) if query.answers or not query.relevant]
        if not any(query.answers for query in usable):
            raise DataError(
                'none of these questions has "answers": give some, in a JSONL file with "id", "text",'
                ' "answers" and "gold" (the ids of the papers that hold them)'
            )
        return [shelf.case(query) for query in usable]

    def case(text: str) -> AnswerCase:
        found = shelf.case(Query("try", text))
        if not found.papers:
            raise DataError("no paper shares a word with this question, so no model is asked")
        return found

    with _replies(settings, store) as replies:
        yield Material(AnswerTask(settings.answer.paper_chars), cases, case, replies)


@contextmanager
def extract_material(
    passages: Sequence[LabelledPassage], data: Dataset, settings: Settings, store: Path
) -> Iterator[Material]:
    """Labelled passages; `data` holds the papers that an id may name."""

    def cases(split: Split) -> list[PassageCase]:
        found = [passage.case for passage in _half(passages, split)]
        if not found:
            raise DataError('this half of the set has no labelled passage: label more, or give them "split"s')
        return found

    def case(text: str) -> PassageCase:
        labelled = next((passage.case for passage in passages if passage.id == text), None)
        paper = next((paper for paper in data.papers if paper.id == text), None)
        if labelled is not None or paper is None:
            return labelled or PassageCase("try", "", text)
        return PassageCase(paper.id, paper.title, paper.abstract)

    with _replies(settings, store) as replies:
        yield Material(ExtractTask(), cases, case, replies)


def _half(items: Sequence[Any], split: Split) -> Sequence[Any]:
    return items if split == "all" else halves(items)[split == "test"]


@contextmanager
def _replies(settings: Settings, store: Path) -> Iterator[Cache]:
    with reporting("write", store):
        store.mkdir(parents=True, exist_ok=True)
    with Cache(assemble.cache_path(settings, store)) as replies:
        yield replies
