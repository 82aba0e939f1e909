"""`hippo-lit demo`: the mock corpus indexed, three questions answered, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli.options import Config, Overrides, read_settings
from hippo_lit.cli.output import show
from hippo_lit.cli.progress import reporting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hippo_lit.api import HippoLit
    from hippo_lit.types import RankedPaper, RetrievalResult

SHOWN, FACTS, SEEDS = 3, 2, 4


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the paper that it should find, and why that is not easy."""

    text: str
    target: str
    why_hard: str


QUESTIONS = (
    Question(
        "sparse attention",
        "p005",
        "Other words: the paper on selecting blocks says neither “sparse” nor “attention”.",
    ),
    Question(
        "In which cities was the material gathered that HushLoom is tested on?",
        "p028",
        "Two hops: one paper says what HushLoom is tested on, another one, which never names it, where from.",
    ),
    Question(
        "Has it been claimed before that low-rank adapters forget less?",
        "p050",
        "Prior art: who said so first, and did anybody object?",
    ),
)


# Without HIPPO_LIT_INDEX: a demonstration must not end up among somebody's own papers unasked.
_Folder = Annotated[
    str | None,
    typer.Option("--index", metavar="DIR", help="Keep the index here; else it is a temporary one."),
]


def demo(folder: _Folder = None, config: Config = None, overrides: Overrides = None) -> None:
    """Index 100 made-up papers, answer three questions, show why.

    The papers come with hippo-lit. No key and no network are needed.
    """
    from hippo_lit.api import HippoLit

    settings = read_settings(config, overrides)
    with (
        nullcontext(folder) if folder else TemporaryDirectory(prefix="hippo-lit-") as place,
        HippoLit.open(str(place), settings) as lit,
    ):
        _index(lit)
        for number, question in enumerate(QUESTIONS, start=1):
            show(_answer(lit, number, question))
    if folder:
        typer.echo(f"\nAsk more: hippo-lit search QUESTION --explain --index {folder}")


def _index(lit: HippoLit) -> None:
    from hippo_lit.sources.mock import ArxivMockClient, SemanticScholarMockClient

    began = perf_counter()
    with reporting() as report:
        for client in (ArxivMockClient(), SemanticScholarMockClient()):
            lit.put(client.papers())
        lit.build(progress=report)
    snapshot = lit.snapshot()
    facts = snapshot.graph.n_facts if snapshot is not None else 0
    typer.echo(f"{len(lit)} papers indexed in {perf_counter() - began:.1f} s: {facts:,} facts found in them")


def _answer(lit: HippoLit, number: int, question: Question) -> Iterator[RenderableType]:
    from rich.text import Text

    from hippo_lit.cli.results import facts, headline
    from hippo_lit.render import shorten

    result = lit.retrieve(question.text, k=max(1, len(lit)))
    yield Text(f"\n{number}. {question.text}", "bold")
    yield Text(f"   {question.why_hard}", "italic")
    if result.route != result.mode or result.degraded:
        yield headline(result)
    yield facts(result.trace.kept[:FACTS], result.trace.kept)
    if result.trace.seeds:
        names = shorten(" · ".join(seed.entity for seed in result.trace.seeds[:SEEDS]), 80)
        more = len(result.trace.seeds) - SEEDS
        yield Text(f"  from {names}" + (f" and {more} more" if more > 0 else ""), "magenta")
    for ranked in result.papers:
        if ranked.rank <= SHOWN or ranked.paper.id == question.target:
            yield _paper(ranked, is_target=ranked.paper.id == question.target)
    yield Text(f"     {question.target} by other routes: {', '.join(_elsewhere(lit, question))}", "dim")


def _paper(ranked: RankedPaper, *, is_target: bool) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    from hippo_lit.render import chain, printable, shorten

    text = Text(printable(ranked.paper.title), "bold green" if is_target else "bold")
    text.append(f"  {ranked.paper.id}, {ranked.paper.year}", "not bold cyan")
    if ranked.path:
        text.append(f"\n{shorten(chain(ranked.path), 150)}", "not bold dim")
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_column(width=4, justify="right")
    row.add_column(overflow="fold")
    row.add_row(Text(f"{'→ ' if is_target else ''}{ranked.rank}"), text)
    return row


def _elsewhere(lit: HippoLit, question: Question) -> Iterator[str]:
    """The rank of the paper to find by the routes that do without the graph."""
    for mode in ("bm25", "dense", "hybrid"):
        result = lit.retrieve(question.text, k=max(1, len(lit)), mode=mode, explain=False)
        yield f"{mode} {_rank(result, question.target)}"


def _rank(result: RetrievalResult, paper_id: str) -> str:
    return next((f"rank {r.rank}" for r in result.papers if r.paper.id == paper_id), "not found")
