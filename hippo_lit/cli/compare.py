"""`hippo-lit compare`: two saved runs, and whether their difference is real."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hippo_lit.cli.options import AsJson
from hippo_lit.cli.output import print_json, show

_Run = Annotated[
    Path,
    typer.Argument(help="A run that `eval --out` wrote: DIR/LABEL, or one of its files.", show_default=False),
]


def compare(
    run_a: _Run,
    run_b: _Run,
    measures: Annotated[
        str, typer.Option("--measures", metavar="'M1 M2 …'", help="The queries that moved are by the first.")
    ] = "nDCG@10 R@5 R@100 RR@10",
    most: Annotated[
        int, typer.Option("--moved", min=0, help="How many of the queries that moved to show.")
    ] = 5,
    as_json: AsJson = False,
) -> None:
    """Compare run B with run A over the same queries: difference, interval, p, and what moved.

    Intervals are 95% bootstrap intervals of the mean difference, p is from the paired randomisation test.
    For the queries that moved most, both rankings are shown with the way that explains each paper; relevant
    papers are marked "+".
    """
    from hippo_lit.evaluate.compare import compare_runs, moves
    from hippo_lit.evaluate.measures import check_measures
    from hippo_lit.evaluate.saved import load_run, run_as_json

    names = check_measures(measures.replace(",", " ").split())
    base, other = load_run(run_a.expanduser()), load_run(run_b.expanduser())
    rows = compare_runs(base, [other], names)
    found = moves(base, other, names[0])
    if as_json:
        print_json(
            {
                "a": run_as_json(base),
                "b": run_as_json(other),
                "comparisons": [{k: None if v != v else v for k, v in asdict(row).items()} for row in rows],
                "moved": [
                    {
                        **asdict(move),
                        "base_ranking": base.answers[move.query_id].ranking,
                        "other_ranking": other.answers[move.query_id].ranking,
                    }
                    for move in found[:most]
                ],
            }
        )
        return
    from rich.text import Text

    from hippo_lit.cli.tables import compared, moved

    a, b = base.info, other.info
    show(
        [
            Text(f"{b.label} ({b.started}) compared with {a.label} ({a.started}) on {a.dataset}"),
            compared(rows),
            Text(
                f"\n{len(found)} queries moved by {names[0]}; the most:" if found else "\nno query moved",
                "bold",
            ),
            *moved(base, other, found[:most], names[0]),
        ]
    )
