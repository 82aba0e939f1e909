"""What `eval` and `compare` print for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from hippo_lit.render import printable, shorten, usage_text

if TYPE_CHECKING:
    from hippo_lit.evaluate.compare import Comparison, Move
    from hippo_lit.evaluate.dataset import Dataset, Query
    from hippo_lit.evaluate.run import Answered, Run
    from hippo_lit.evaluate.summary import Figure, Summary

REAL = 0.05
_TOP = 5
_MANY = 8  # systems, from which comparisons by every measure fill screens


def evaluation(
    data: Dataset,
    summaries: Sequence[Summary],
    comparisons: Sequence[Comparison],
    names: Sequence[str],
    baseline: str,
) -> Iterator[RenderableType]:
    """Measures, tags, comparisons with the baseline, and the filter."""
    judged = sum(bool(query.relevant) for query in data.queries)
    yield Text(
        f"{printable(data.name)}: {len(data.papers):,} papers, {len(data.queries):,} queries, {judged:,} of"
        " them with a relevant paper. Percent, with 95% intervals; times without embedding."
    )
    yield measures(summaries, names)
    if data.tags:
        yield _title(f"\n{names[0]} by tag")
        yield by_tag(summaries, names[0])
    if comparisons:
        yield _title(f"\nCompared with {printable(baseline)}: * is real (p < {REAL} after Holm)")
        many = len(summaries) > _MANY
        yield compared([row for row in comparisons if not many or row.measure == names[0]])
        if many and len(names) > 1:
            yield Text(f"(by {', '.join(names[1:])}: --json or --html)", "dim")
    if any(summary.filter for summary in summaries):
        yield _title("\nThe filter, on the gold facts")
        yield filters(summaries)
    if any(summary.answering for summary in summaries):
        yield _title("\nThe answers, on the questions with gold answers")
        yield answers(summaries)
    for summary in summaries:
        if summary.degraded:
            share = f"{printable(summary.label)}: {percent(summary.degraded)}% of the queries degraded"
            yield Text(f"{share}: {shorten(summary.reason, 200)}", "yellow")
        if summary.usage.calls or summary.usage.cached_calls:
            yield Text(f"{printable(summary.label)}: {usage_text(summary.usage)}")
        if summary.degraded:
            yield Text(
                f"{printable(summary.label)}: {summary.degraded:.0%} of the answers are degraded", "red"
            )


def measures(summaries: Sequence[Summary], names: Sequence[str]) -> Table:
    """One system a row; each measure in percent with its interval, and milliseconds."""
    shown = table("system", *names, "ms", "ms, 95%")
    for summary in summaries:
        cells = [with_interval(summary.measures[name]) for name in names]
        times = [f"{1000 * seconds:,.1f}" for seconds in (summary.median_s, summary.p95_s)]
        shown.add_row(printable(summary.label), *cells, *times)
    return shown


def by_tag(summaries: Sequence[Summary], name: str) -> Table:
    """One system a row, one tag with its number of queries a column, in percent."""
    tags = {tag: by[name].queries for tag, by in summaries[0].tags.items() if by[name].queries}
    shown = table("system", *(f"{printable(tag)} ({queries})" for tag, queries in tags.items()))
    for summary in summaries:
        shown.add_row(printable(summary.label), *(percent(summary.tags[tag][name].mean) for tag in tags))
    return shown


def compared(rows: Sequence[Comparison]) -> Table:
    """One comparison a row; differences in points (percent)."""
    shown = table("system", "measure", "points", "95% interval", "p", "p, Holm", "better", "same", "worse")
    for row in rows:
        star = " *" if row.p_holm < REAL else ""
        shown.add_row(
            printable(row.other),
            row.measure,
            f"{100 * row.difference:+.1f}{star}",
            f"{100 * row.low:+.1f} to {100 * row.high:+.1f}",
            f"{row.p:.4f}",
            f"{row.p_holm:.4f}",
            str(row.wins),
            str(row.ties),
            str(row.losses),
        )
    return shown


def filters(summaries: Sequence[Summary]) -> Table:
    """Figures of the fact filter, in percent; see `evaluate.filtering`."""
    shown = table(
        "system", "precision", "recall", "F1", "gold offered", "matched back", "empty", "empty, rightly"
    )
    for summary in summaries:
        if (f := summary.filter) is not None:
            figures = (f.precision, f.recall, f.f1, f.offered, f.matched_back, f.empty, f.empty_right)
            shown.add_row(printable(summary.label), *(percent(value) for value in figures))
    return shown


def answers(summaries: Sequence[Summary]) -> Table:
    """How questions were answered in words; see `evaluate.answering`."""
    shown = table("system", "asked", "grounded", "not said", "degraded", "ms")
    for summary in summaries:
        if (a := summary.answering) is not None:
            shares = (percent(value) for value in (a.grounded, a.not_said, a.degraded))
            shown.add_row(printable(summary.label), str(a.asked), *shares, f"{1000 * a.median_s:,.0f}")
    return shown


def moved(base: Run, other: Run, found: Sequence[Move], measure: str) -> Iterator[RenderableType]:
    """The queries that moved most: both rankings, and why the first papers were found."""
    queries: Mapping[str, Query] = {query.id: query for query in base.queries}
    for move in found:
        query = queries[move.query_id]
        yield Text(f"\n{printable(query.id)}  {shorten(query.text, 90)}", "bold").append(
            f"  {measure} {percent(move.base)} → {percent(move.other)}", "not bold cyan"
        )
        for run in (base, other):
            answer = run.answers[query.id]
            why = f", instead of {run.info.mode}" if answer.route != run.info.mode else ""
            yield Text(f"  {printable(run.label)} ({answer.route}{why})", "bold")
            yield _ranking(answer, query)


def _ranking(answer: Answered, query: Query) -> Table:
    rows = Table.grid(padding=(0, 1, 0, 2))
    rows.add_column(justify="right", no_wrap=True)
    rows.add_column(overflow="fold")
    for rank, hit in enumerate(answer.hits[:_TOP], start=1):
        gold = hit.id in query.relevant
        text = Text(f"{printable(hit.id)} {shorten(hit.title, 70)}", "green" if gold else "")
        if hit.way:
            text.append(f"\n{shorten(hit.way, 140)}", "dim")
        rows.add_row(f"{'+' if gold else ''}{rank}", text)
    late = [
        f"{printable(hit.id)} at {rank}"
        for rank, hit in enumerate(answer.hits, start=1)
        if rank > _TOP and hit.id in query.relevant
    ]
    never = [printable(paper) for paper in sorted(query.relevant - set(answer.ranking))]
    if late or never:
        rows.add_row(
            "", Text(f"later: {', '.join(late) or '–'}; not found: {', '.join(never) or '–'}", "dim")
        )
    return rows


def table(*columns: str) -> Table:
    """A plain table, its first column to the left, the others to the right."""
    shown = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for number, column in enumerate(columns):
        shown.add_column(column, justify="right" if number else "left", overflow="fold", no_wrap=not number)
    return shown


def _title(text: str) -> Text:
    return Text(text, style="bold")


def with_interval(figure: Figure) -> str:
    """In percent."""
    if figure.mean != figure.mean:
        return "–"
    return f"{100 * figure.mean:.1f} ({100 * figure.low:.0f}–{100 * figure.high:.0f})"


def percent(value: float | None) -> str:
    """In percent; a dash for what is not known."""
    return "–" if value is None or value != value else f"{100 * value:.1f}"
