"""The report: one HTML file that needs nothing else, for a desk or a phone, light or dark.

Titles, questions and facts come from anywhere: all are escaped, the script sets them as text only, and the
page's own policy lets nothing run or load but the style and the script that are in it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from hippo_lit.evaluate.compare import Comparison
from hippo_lit.evaluate.dataset import Dataset
from hippo_lit.evaluate.run import Run
from hippo_lit.evaluate.summary import Summary
from hippo_lit.render import printable
from hippo_lit.report import sections
from hippo_lit.report.payload import page_data
from hippo_lit.report.variants import is_variant
from hippo_lit.storage.disk import reporting


def write_report(
    path: Path,
    data: Dataset,
    runs: Sequence[Run],
    summaries: Sequence[Summary],
    comparisons: Sequence[Comparison],
    baseline: str,
) -> None:
    """Write the report to `path`. Raises StoreError where that cannot be done."""
    with reporting("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report(data, runs, summaries, comparisons, baseline), encoding="utf-8")


def report(
    data: Dataset,
    runs: Sequence[Run],
    summaries: Sequence[Summary],
    comparisons: Sequence[Comparison],
    baseline: str,
) -> str:
    """The whole page. The first measure is the one that charts by tag and of variants show."""
    style, script = (_asset(name) for name in ("style.css", "report.js"))
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    names = list(summaries[0].measures)
    plain = [summary for summary in summaries if not is_variant(summary.label)] or list(summaries)
    main = [
        *sections.head(data, runs),
        *sections.measures(plain, names),
        *sections.variants(runs, summaries, comparisons, baseline, names[0]),
        *sections.comparisons(comparisons, baseline),
        *sections.tags(plain, names[0]),
        *sections.curve(plain),
        *sections.latency(plain, runs),
        *sections.filter(summaries),
        *sections.answers(summaries),
        *sections.queries(data, [s.label for s in summaries], names),
        *sections.repeat(runs),
    ]
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(printable(data.name))}: evaluation</title><style>{style}</style></head><body>\n"
        + "\n".join(main)
        + f'\n<script type="application/json" id="data">{page_data(data, runs, names)}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _asset(name: str) -> str:
    return (files("hippo_lit") / "report" / name).read_text("utf-8")
