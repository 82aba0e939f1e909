"""`hippo-lit compare`: two saved runs, and whether their difference is real."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli.options import AsJson
from hippo_lit.cli.output import print_json, say_some, show

if TYPE_CHECKING:
    from hippo_lit.evaluate.run import Run

_Run = Annotated[
    Path,
    typer.Argument(
        help="A run that `eval --out` wrote: DIR/LABEL, or one of its files; or another tool's, in TREC's"
        " format.",
        show_default=False,
    ),
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
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            metavar="DATASET",
            help="Whose queries and gold other tools' runs answer, as in `eval`.",
        ),
    ] = None,
    qrels: Annotated[
        Path | None,
        typer.Option("--qrels", metavar="FILE", help="Or their gold alone; not needed beside a run of ours."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare run B with run A over the same queries: difference, interval, p, and what moved.

    Intervals are 95% bootstrap intervals of the mean difference, p is from the paired randomisation test.
    For the queries that moved most, both rankings are shown with the way that explains each paper; relevant
    papers are marked "+". Run files of other tools (query Q0 paper rank score name) are read over the queries
    of the other run, of --dataset or of --qrels.
    """
    from hippo_lit.evaluate.compare import compare_runs, moves
    from hippo_lit.evaluate.measures import check_measures
    from hippo_lit.evaluate.saved import run_as_json

    names = check_measures(measures.replace(",", " ").split())
    base, other = _runs((run_a.expanduser(), run_b.expanduser()), dataset, qrels)
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

    show(
        [
            Text(f"{_about(other)} compared with {_about(base)} on {base.info.dataset}"),
            compared(rows),
            Text(
                f"\n{len(found)} queries moved by {names[0]}; the most:" if found else "\nno query moved",
                "bold",
            ),
            *moved(base, other, found[:most], names[0]),
        ]
    )


def _runs(paths: tuple[Path, Path], dataset: str | None, qrels: Path | None) -> list[Run]:
    """Both runs; another tool's over the queries of a set, of judgements, or of the run that is ours."""
    from hippo_lit.errors import ConfigError
    from hippo_lit.evaluate.foreign import queries_of_qrels, read_trec_run
    from hippo_lit.evaluate.load import load_dataset
    from hippo_lit.evaluate.saved import is_ours, load_run

    if dataset is not None and qrels is not None:
        raise ConfigError("--dataset and --qrels both tell the gold: give one of them", key="qrels")
    foreign = [path.is_file() and not is_ours(path) for path in paths]
    ours = {path: load_run(path) for path, other in zip(paths, foreign, strict=True) if not other}
    if not any(foreign):
        return [ours[path] for path in paths]
    titles: dict[str, str] = {}
    if dataset is not None:
        data = load_dataset(dataset)
        queries, titles, name = data.queries, {paper.id: paper.title for paper in data.papers}, data.name
    elif qrels is not None:
        queries, name = queries_of_qrels(qrels.expanduser()), qrels.name
    elif ours:
        (run,) = ours.values()
        queries, name = run.queries, run.info.dataset
        hits = [hit for answer in run.answers.values() for hit in answer.hits]
        titles = {hit.id: hit.title for hit in sorted(hits, key=lambda hit: bool(hit.title))}
    else:
        raise ConfigError(
            "neither run file says what is relevant: add --dataset DATASET, as for `hippo-lit eval`, or"
            " --qrels FILE",
            key="qrels",
        )
    read = {
        path: read_trec_run(path, queries, titles, name)
        for path, other in zip(paths, foreign, strict=True)
        if other
    }
    say_some(list(dict.fromkeys(note for _, notes in read.values() for note in notes)))
    return [ours[path] if path in ours else read[path][0] for path in paths]


def _about(run: Run) -> str:
    return f"{run.label} ({run.info.started or run.info.mode})"
