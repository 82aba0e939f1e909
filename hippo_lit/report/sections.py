"""The parts of the report, one function each, as lines of HTML in which all text is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from hippo_lit import __version__
from hippo_lit.evaluate.compare import Comparison
from hippo_lit.evaluate.dataset import Dataset
from hippo_lit.evaluate.run import Run
from hippo_lit.evaluate.summary import Figure, Summary
from hippo_lit.render import printable, shorten, usage_text
from hippo_lit.report import charts
from hippo_lit.report.variants import is_variant, sweep_lines

_REAL = 0.05
_QUERY = 300  # characters of a query in the table; a query may be a whole page
_WHICH = {"": "all queries", "differ": "where systems differ", "missed": "where one has 0"}


def head(data: Dataset, runs: Sequence[Run]) -> Iterator[str]:
    judged = sum(bool(query.relevant) for query in data.queries)
    yield f"<h1>{_e(data.name)}</h1>"
    yield (
        f'<p class="soft">{len(data.papers):,} papers, {len(data.queries):,} queries, {judged:,} of them with'
        f" a relevant paper; {len(runs)} systems; hippo-lit {__version__}, {_e(runs[0].info.started)}.</p>"
    )
    if data.notes:
        yield f"<ul class='soft'>{''.join(f'<li>{_e(note)}</li>' for note in data.notes)}</ul>"


def measures(summaries: Sequence[Summary], names: Sequence[str]) -> Iterator[str]:
    yield "<h2>Measures</h2>"
    yield (
        '<p class="soft">Means in percent over the queries with a relevant paper, of EM and F1 over those'
        " with gold answers, with 95% bootstrap intervals; a query without a result counts 0.</p>"
    )
    yield '<div class="panels">'
    for name in names:
        shown = [(s.label, _interval(s.measures[name])) for s in summaries]
        yield _figure(charts.intervals(shown, name), name)
    yield "</div><h3>In numbers</h3>"
    rows = (
        [
            s.label,
            *(_with_interval(s.measures[name]) for name in names),
            f"{1000 * s.median_s:.1f}",
            f"{1000 * s.p95_s:.1f}",
            f"{100 * s.fallbacks:.0f}%",
            f"{100 * s.degraded:.0f}%",
            usage_text(s.usage) if s.usage.calls or s.usage.cached_calls else "none",
        ]
        for s in summaries
    )
    yield _table(["system", *names, "ms", "ms, 95%", "by another route", "degraded", "model calls"], rows)


def variants(
    runs: Sequence[Run],
    summaries: Sequence[Summary],
    comparisons: Sequence[Comparison],
    baseline: str,
    name: str,
) -> Iterator[str]:
    rows = [
        (row.other.partition("@")[2] or row.other, (row.difference, row.low, row.high))
        for row in comparisons
        if row.measure == name and is_variant(row.other)
    ]
    if not rows:
        return
    yield f"<h2>Variants of {_e(baseline)}</h2>"
    yield f'<p class="soft">Difference of {_e(name)} to {_e(baseline)} in points, with 95% intervals.</p>'
    yield '<div class="panels">'
    yield _figure(charts.intervals(rows, f"difference of {name}", zero=True), f"{name}: difference")
    for key, series in sweep_lines(runs, summaries, name).items():
        yield _figure(charts.lines(series, f"{name} by {key}", zoom=True), f"{name} by {key}")
    yield "</div>"


def comparisons(rows: Sequence[Comparison], baseline: str) -> Iterator[str]:
    if not rows:
        return
    yield f"<h2>Compared with {_e(baseline)}</h2>"
    yield (
        '<p class="soft">Points are percent; p is from the paired randomisation test, then corrected for the'
        f" number of systems (Holm). Bold rows are real at p &lt; {_REAL}.</p>"
    )
    head = ["system", "measure", "points", "95% interval", "p", "p, Holm", "better", "same", "worse"]
    body = "".join(
        f'<tr class="{"real" if row.p_holm < _REAL else ""}">'
        + "".join(f"<td>{_e(cell)}</td>" for cell in cells)
        + "</tr>"
        for row in rows
        for cells in [
            (
                row.other,
                row.measure,
                f"{100 * row.difference:+.1f}",
                f"{100 * row.low:+.1f} to {100 * row.high:+.1f}",
                f"{row.p:.4f}",
                f"{row.p_holm:.4f}",
                str(row.wins),
                str(row.ties),
                str(row.losses),
            )
        ]
    )
    table = f"<table><thead>{_row(head, 'th')}</thead><tbody>{body}</tbody></table>"
    yield f'<div class="wide tall">{table}</div>'


def tags(summaries: Sequence[Summary], name: str) -> Iterator[str]:
    labels = [summary.label for summary in summaries]
    groups = {
        f"{tag} ({summaries[0].tags[tag][name].queries})": [s.tags[tag][name].mean for s in summaries]
        for tag in summaries[0].tags
        if summaries[0].tags[tag][name].queries
    }
    if groups:
        yield f"<h2>{_e(name)} by kind of query</h2>{_legend(labels)}"
        yield f'<div class="panels">{_figure(charts.bars(groups, labels, f"{name} by tag"), name)}</div>'


def curve(summaries: Sequence[Summary]) -> Iterator[str]:
    yield f"<h2>Recall at k</h2>{_legend([summary.label for summary in summaries])}"
    series = [(summary.label, [(float(k), value) for k, value in summary.curve]) for summary in summaries]
    chart = charts.lines(series, "recall at k", log=True)
    yield f'<div class="panels">{_figure(chart, "share of the relevant papers among the first k")}</div>'


def latency(summaries: Sequence[Summary], runs: Sequence[Run]) -> Iterator[str]:
    yield "<h2>Latency</h2>"
    yield '<p class="soft">Milliseconds a query, without embedding it and without explaining the ranking.</p>'
    known = {run.label: [1000 * answer.seconds for answer in run.answers.values()] for run in runs}
    edges = charts.time_edges([ms for s in summaries for ms in known[s.label]])
    yield '<div class="panels">'
    for number, summary in enumerate(summaries):
        chart = charts.histogram(known[summary.label], edges, summary.label, number)
        yield _figure(chart, f"median {1000 * summary.median_s:.1f} ms")
    yield "</div>"


def filter(summaries: Sequence[Summary]) -> Iterator[str]:
    rows = [
        [
            s.label,
            *map(_share, (f.precision, f.recall, f.f1, f.offered, f.matched_back, f.empty, f.empty_right)),
        ]
        for s in summaries
        if (f := s.filter) is not None
    ]
    if rows:
        yield "<h2>The fact filter</h2>"
        yield (
            '<p class="soft">On the gold facts, in percent. Not every good fact was labelled, so precision is'
            " a lower bound. “Empty, rightly”: of the queries without a relevant paper.</p>"
        )
        head = [
            "system",
            "precision",
            "recall",
            "F1",
            "gold offered",
            "matched back",
            "empty",
            "empty, rightly",
        ]
        yield _table(head, rows)


def answers(summaries: Sequence[Summary]) -> Iterator[str]:
    rows = [
        [
            s.label,
            str(a.asked),
            *map(_share, (a.grounded, a.not_said, a.degraded)),
            f"{1000 * a.median_s:.0f}",
        ]
        for s in summaries
        if (a := s.answering) is not None
    ]
    if rows:
        yield "<h2>The answers</h2>"
        yield (
            '<p class="soft">On the questions with gold answers, in percent. Grounded answers cite papers,'
            " and only such as were shown. Milliseconds are with retrieval; the median question.</p>"
        )
        yield _table(["system", "asked", "grounded", "not said", "degraded", "ms"], rows)


def queries(data: Dataset, labels: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    yield "<h2>Queries</h2>"
    yield "<noscript><p>Sorting, filtering and the rankings need JavaScript.</p></noscript>"
    yield '<div class="controls">'
    yield '<input type="search" id="find" placeholder="words of the question" aria-label="filter by words">'
    yield _select("tag", "kind of query", {"": "all kinds", **{printable(tag): tag for tag in data.tags}})
    yield _select("only", "which queries", _WHICH)
    yield _select("measure", "measure", {name: name for name in names})
    yield '<span class="soft" id="count"></span></div>'
    head = "".join(
        f'<th{words}><button type="button">{_e(name)}</button></th>'
        for name, words in (("id", ""), ("question", ' class="words"'), *((label, "") for label in labels))
    )
    yield f'<div class="wide tall"><table id="queries"><thead><tr>{head}</tr></thead><tbody>'
    empty = "<td></td>" * len(labels)
    for query in data.queries:
        tags = "".join(f' <span class="tag">{_e(tag)}</span>' for tag in query.tags)
        yield (
            f'<tr class="query" tabindex="0" data-id="{escape(query.id)}"><td>{_e(query.id)}</td>'
            f'<td class="words">{_e(shorten(query.text, _QUERY))}{tags}</td>{empty}</tr>'
        )
    yield "</tbody></table></div>"
    yield '<div id="detail"><p class="soft">Choose a query to see the rankings and why.</p></div>'


def repeat(runs: Sequence[Run]) -> Iterator[str]:
    yield "<h2>To repeat this</h2>"
    info = runs[0].info
    versions = ", ".join(f"{name} {number}" for name, number in info.versions.items())
    yield f'<p class="soft">Data set {_e(info.fingerprint)}; {_e(versions)}; seed {_e(str(info.seed))}.</p>'
    yield _table(
        ["system", "index", "run", "prompts"],
        (
            [
                run.label,
                run.info.snapshot,
                run.info.key[:12],
                " ".join(f"{name}:{digest[:8]}" for name, digest in run.info.prompts.items()),
            ]
            for run in runs
        ),
    )


def _table(head: Sequence[str], rows: Iterator[list[str]] | Sequence[list[str]]) -> str:
    body = "".join(_row(row, "td") for row in rows)
    return f'<div class="wide"><table><thead>{_row(head, "th")}</thead><tbody>{body}</tbody></table></div>'


def _row(cells: Sequence[str], kind: str) -> str:
    return "<tr>" + "".join(f"<{kind}>{_e(cell)}</{kind}>" for cell in cells) + "</tr>"


def _legend(labels: Sequence[str]) -> str:
    items = (f'<li class="s{i % charts.SERIES}"><i></i>{_e(label)}</li>' for i, label in enumerate(labels))
    return f'<ul class="legend">{"".join(items)}</ul>'


def _figure(chart: str, caption: str) -> str:
    return f"<figure>{chart}<figcaption>{_e(caption)}</figcaption></figure>"


def _select(name: str, label: str, options: Mapping[str, str]) -> str:
    items = (f'<option value="{escape(value)}">{_e(text)}</option>' for value, text in options.items())
    return f'<select id="{name}" aria-label="{label}">{"".join(items)}</select>'


def _interval(figure: Figure) -> charts.Interval:
    return figure.mean, figure.low, figure.high


def _with_interval(figure: Figure) -> str:
    if figure.mean != figure.mean:
        return "–"
    return f"{100 * figure.mean:.1f} ({100 * figure.low:.1f}–{100 * figure.high:.1f})"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _e(text: str) -> str:
    return escape(printable(text))
