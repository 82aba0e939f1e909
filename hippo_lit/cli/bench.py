"""What `prompt try`, `label` and `tune` share: options, and material with a chat model within a budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli import EXIT_INTERRUPTED
from hippo_lit.cli.evaluate import indexed, load_set
from hippo_lit.cli.output import say
from hippo_lit.cli.progress import Report

if TYPE_CHECKING:
    from hippo_lit.config import Settings
    from hippo_lit.evaluate.dataset import Dataset
    from hippo_lit.models.guard import Guard
    from hippo_lit.protocols import ChatModel
    from hippo_lit.tune.material import Material
    from hippo_lit.tune.working import WorkingCopy

Prompts = Annotated[
    Path | None,
    typer.Option(
        "--prompts",
        metavar="DIR",
        help="Your folder of prompts; else the setting prompts.path, else ./hippo-prompts.",
    ),
]
Name = Annotated[str, typer.Argument(metavar="PROMPT", help="Its name, as `prompt list` shows it.")]
Data = Annotated[
    str,
    typer.Option(
        "--data",
        metavar="DATASET",
        help="The word mock, or a JSONL file: labelled questions, or passages for extract.",
    ),
]
Index = Annotated[
    Path | None,
    typer.Option("--index", metavar="DIR", help="Ask this index; else one of the data set's own papers."),
]
Store = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Keep replies and indexes here, so that repeats are free; else in the folder of prompts.",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget-usd", min=0, metavar="USD", help="Spend at most this; needs the model's prices in [llm]."
    ),
]


@dataclass(frozen=True, slots=True)
class Opened:
    """What a prompt is tried on, and what it is asked with."""

    material: Material
    chat: ChatModel
    proposer: ChatModel
    guard: Guard
    settings: Settings


def working_copy(prompts: Path | None, settings: Settings) -> WorkingCopy:
    """The folder of prompts that is meant."""
    from hippo_lit.tune.working import DEFAULT, WorkingCopy

    return WorkingCopy(prompts or settings.prompts.path or DEFAULT)


def index_data(index: Path) -> Dataset:
    """An index without questions."""
    from hippo_lit.evaluate.dataset import Dataset

    return Dataset(index.name, (), ())


@contextmanager
def opened(
    name: str,
    data: str,
    settings: Settings,
    store: Path,
    index: Path | None,
    report: Report,
    *,
    budget_usd: float | None = None,
    metric: str = "",
) -> Iterator[Opened]:
    """What the prompt `name` is tried on. Raises ConfigError where no chat model is set, DataError for a set
    that cannot be read, and what `Bench.open` raises.
    """
    from hippo_lit import assemble
    from hippo_lit.errors import ConfigError
    from hippo_lit.models.guard import Budget as Limit
    from hippo_lit.tune.material import check_task
    from hippo_lit.tune.tasks import measure_of

    check_task(name)
    chat = assemble.make_chat(settings)
    # Instructions are to differ from one another, so who writes them is asked at another temperature.
    writer = settings.llm.model_copy(update={"temperature": 1.0})
    proposer = assemble.make_chat(settings.model_copy(update={"llm": writer}))
    if chat is None or proposer is None:
        raise ConfigError(
            'prompts are tried on a chat model, and none is set: set llm.kind = "openai" with llm.model and,'
            " for a server of your own, llm.base_url (see configs/openai.toml)",
            key="llm.kind",
        )
    guard = assemble.make_guard(settings, Limit(max_cost_usd=budget_usd))
    with ExitStack() as stack:
        for model in (chat, proposer):
            if callable(close := getattr(model, "close", None)):
                stack.callback(close)
        made = _material(name, data, settings, store, index, report, metric)
        material = stack.enter_context(made)
        if metric:
            measure_of(material.task, metric)
        asked, writing = (assemble.tuning_chat(each, material.replies, guard) for each in (chat, proposer))
        try:
            yield Opened(material, asked, writing, guard, settings)
        except KeyboardInterrupt:
            say("interrupted; what was asked is kept: run the same command again to go on")
            raise typer.Exit(EXIT_INTERRUPTED) from None


def _material(
    name: str,
    data: str,
    settings: Settings,
    store: Path,
    index: Path | None,
    report: Report,
    metric: str,
) -> AbstractContextManager[Material]:
    from hippo_lit.evaluate.dataset import Dataset
    from hippo_lit.evaluate.load import MOCK
    from hippo_lit.evaluate.own import mock_answers
    from hippo_lit.tune import material
    from hippo_lit.tune.passages import mock_passages, read_passages

    if name == "fact_filter":
        questions = load_set(data, "", None if data == MOCK else index)
        return material.filter_material(
            questions, settings, store, index=index, k=_k(metric), progress=report
        )
    papers = indexed(index) if index else None
    if name == "answer":
        answers = mock_answers() if data == MOCK else load_set(data, "", index)
        return material.answer_material(
            replace(answers, papers=papers) if papers else answers, settings, store
        )
    known = papers if papers is not None else mock_answers().papers
    passages = mock_passages() if data == MOCK else read_passages(Path(data).expanduser(), known)
    return material.extract_material(passages, Dataset(name, known, ()), settings, store)


def _k(metric: str) -> int:
    cut = metric.removeprefix("R@")
    return int(cut) if metric.startswith("R@") and cut.isdecimal() and 0 < int(cut) <= 1000 else 5
