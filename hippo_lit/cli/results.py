"""Search results for people: a compact ranking, and the same with its reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from hippo_lit.render import authors_text, chain, fact_text, printable, shorten, title_text, usage_text
from hippo_lit.types import RankedPaper, RetrievalResult, ScoredFact, Seed

LONG = 240


def ranking(result: RetrievalResult) -> Iterator[RenderableType]:
    """Route and reason, then a line or two for each paper."""
    yield headline(result)
    if result.papers:
        yield _table(result, reasons=False)


def explanation(result: RetrievalResult) -> Iterator[RenderableType]:
    """As `ranking`, with the facts, seeds, scores, ways, times and usage behind it."""
    trace = result.trace
    yield headline(result)
    if trace.candidates:
        yield _title(f"Facts: {len(trace.kept)} kept (+) of {len(trace.candidates)} candidates, by cosine")
        yield facts(trace.candidates, trace.kept)
    for words in trace.unmatched:
        yield Text(f"? the model also named what was no candidate: {shorten(words, LONG)}")
    if trace.seeds:
        yield _title("Seeds: weight, entity, why")
        yield seeds(trace.seeds)
    if result.papers:
        yield _title("Papers")
        yield _table(result, reasons=True)
    yield _title("Time").append(f"  {_times(trace.seconds, result.metrics.wall_time_s)}", "not bold")
    for stage, usage in trace.usage.items():
        yield _title("Usage").append(f"  {printable(stage)}: {usage_text(usage)}", "not bold")


def headline(result: RetrievalResult) -> Text:
    """What answered, and why it was not what was asked for."""
    count = len(result.papers)
    text = Text(f"{count} {'paper' if count == 1 else 'papers'} by {result.route}")
    if result.route != result.mode:
        text.append(f" in place of {result.mode}")
    if result.degraded:
        text.append(" — DEGRADED", "bold red")
    if result.reason:
        text.append(f": {printable(result.reason)}", "red" if result.degraded else "yellow")
    return text


def facts(candidates: Sequence[ScoredFact], kept: Sequence[ScoredFact]) -> Table:
    """One fact a row, with its cosine; "+" marks those that were kept."""
    rows = _grid()
    for scored in candidates:
        where = ", ".join(printable(paper_id) for paper_id in scored.paper_ids[:5])
        text = Text(f"{shorten(fact_text(scored), LONG)} [{where}]", "" if scored in kept else "dim")
        rows.add_row(Text("+" if scored in kept else "-"), Text(f"{scored.similarity:.2f}"), text)
    return rows


def seeds(chosen: Sequence[Seed]) -> Table:
    """One entity that PageRank starts from a row, with its weight and why it is one."""
    rows = _grid()
    for seed in chosen:
        text = Text(printable(seed.entity)).append(f" ({shorten(seed.because, 100)})", "dim")
        rows.add_row(Text(""), Text(f"{seed.weight:.3f}"), text)
    return rows


def _grid() -> Table:
    rows = Table.grid(padding=(0, 1, 0, 0))
    rows.add_column(width=1)
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    return rows


def _title(text: str) -> Text:
    return Text(text, style="bold")


def _table(result: RetrievalResult, *, reasons: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("year", no_wrap=True)
    table.add_column("title, id, authors", overflow="fold")
    for ranked in result.papers:
        paper = ranked.paper
        cell = Text("RETRACTED ", style="bold red") if paper.retracted else Text()
        cell.append(title_text(paper.title) or "(no title)", "bold")
        cell.append("\n").append(printable(paper.id), "not bold cyan")
        if authors := authors_text(paper.authors):
            cell.append(f"  {authors}", "not bold dim")
        if reasons:
            cell.append(f"\n{_scores(ranked)}", "not bold")
            if ranked.path:
                cell.append(f"\n{chain(ranked.path)}", "not bold green")
        year = str(paper.year) if paper.year is not None else "–"
        table.add_row(str(ranked.rank), f"{ranked.score:.3f}", year, cell)
    return table


def _scores(ranked: RankedPaper) -> str:
    own = " · ".join(f"{printable(name)} {_figure(value)}" for name, value in ranked.scores.items())
    hops = "none" if ranked.graph_distance is None else str(ranked.graph_distance)
    lesson = (
        f"lexical {ranked.final_score:.3f} (bm25 {_figure(ranked.bm25_score)}, citation hops {hops},"
        f" recency {ranked.recency_score:.2f})"
    )
    return " · ".join(part for part in (own, lesson) if part)


def _figure(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}"


def _times(seconds: Mapping[str, float], total: float) -> str:
    parts = [f"{printable(stage)} {spent * 1000:,.0f} ms" for stage, spent in seconds.items()]
    return " · ".join([*parts, f"total {total * 1000:,.0f} ms"])
