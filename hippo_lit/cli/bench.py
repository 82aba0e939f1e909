"""What `prompt try`, `label` and `tune` share: options, and an index with a chat model within a budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli.progress import Report

if TYPE_CHECKING:
    from hippo_lit.config import Settings
    from hippo_lit.evaluate.dataset import Dataset
    from hippo_lit.models.guard import Guard
    from hippo_lit.protocols import ChatModel
    from hippo_lit.tune.bench import Bench
    from hippo_lit.tune.tasks import FilterTask
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
        "--data", metavar="DATASET", help="The word mock, or a JSONL file of queries as `label` writes it."
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
    """A bench and what a prompt is asked with."""

    bench: Bench
    task: FilterTask
    chat: ChatModel
    proposer: ChatModel
    guard: Guard
    settings: Settings


def working_copy(prompts: Path | None, settings: Settings) -> WorkingCopy:
    """The folder of prompts that is meant."""
    from hippo_lit.tune.working import DEFAULT, WorkingCopy

    return WorkingCopy(prompts or settings.prompts.path or DEFAULT)


def only_filter(name: str) -> None:
    """Raises ConfigError for a prompt that cannot be tried on questions."""
    from hippo_lit.errors import ConfigError

    if name != "fact_filter":
        raise ConfigError(
            f"{name} cannot be tried or tuned yet, only fact_filter can: versions, check and promotion work"
            " for every prompt",
            key="name",
        )


def index_data(index: Path) -> Dataset:
    """An index without questions."""
    from hippo_lit.evaluate.dataset import Dataset

    return Dataset(index.name, (), ())


@contextmanager
def opened(
    data: Dataset,
    settings: Settings,
    store: Path,
    index: Path | None,
    report: Report,
    *,
    budget_usd: float | None = None,
    k: int = 5,
) -> Iterator[Opened]:
    """Raises ConfigError where no chat model is set, and what `Bench.open` raises."""
    from hippo_lit import assemble
    from hippo_lit.errors import ConfigError
    from hippo_lit.models.guard import Budget as Limit
    from hippo_lit.tune.bench import Bench
    from hippo_lit.tune.tasks import FilterTask

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
        bench, replies = stack.enter_context(Bench.open(data, settings, store, index=index, progress=report))
        yield Opened(
            bench,
            FilterTask(bench, settings.filter.cutoff, settings.filter.max_facts, k),
            assemble.tuning_chat(chat, replies, guard),
            assemble.tuning_chat(proposer, replies, guard),
            guard,
            settings,
        )
