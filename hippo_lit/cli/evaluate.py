"""`hippo-lit eval`: systems measured on a labelled set."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hippo_lit.cli import EXIT_INTERRUPTED
from hippo_lit.cli.options import AsJson, Overrides, config_file, settings_of
from hippo_lit.cli.output import print_json, say, say_some, show
from hippo_lit.cli.progress import reporting

if TYPE_CHECKING:
    from hippo_lit.config import Settings
    from hippo_lit.evaluate.compare import Comparison
    from hippo_lit.evaluate.dataset import Dataset
    from hippo_lit.evaluate.gates import Gate
    from hippo_lit.evaluate.run import Run
    from hippo_lit.evaluate.summary import Summary
    from hippo_lit.types import Paper

EXIT_GATE = 1
_Dataset = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="The word mock, a BEIR folder, a folder with topics* and qrels*, HippoRAG's NAME.json, a JSONL"
        " file of queries: id, text, gold; also tags, leave_out, year, gold_facts, answers, split.",
        show_default=False,
    ),
]
_Systems = Annotated[
    str, typer.Option("--systems", metavar="A,B,…", help="Routes: bm25, dense, hybrid, lexical, hippo.")
]
_Measures = Annotated[
    str,
    typer.Option(
        "--measures",
        metavar="'M1 M2 …'",
        help="Of ir-measures (nDCG@10, R@5, RR@10, AP …), or HippoRecall@5. With EM or F1 the chat model"
        " answers each question that has gold answers, and its answers are compared with those.",
    ),
]
_Configs = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A TOML file of settings, or the bare name of a shipped one; may be repeated, to compare them.",
    ),
]
_Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Keep the runs here; the same command then goes on there."),
]
_Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a report, one HTML file.")]
_FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if", metavar="'SYSTEM M < X'", help="Exit with 1 if so: 'hippo R@5 < 0.75'; may be repeated."
    ),
]
_Ablate = Annotated[bool, typer.Option("--ablate", help="Also hippo without each of its parts.")]
_Sweep = Annotated[
    list[str] | None,
    typer.Option(
        "--sweep",
        metavar="KEY=A,B,…",
        help="Also with these values: ppr.damping=0.3,0.5 (the plain row has the one in use); repeated: all"
        " combinations.",
    ),
]
_Baseline = Annotated[
    str | None,
    typer.Option("--baseline", metavar="SYSTEM", help="Compare with this one; else hippo, else the first."),
]
_Split = Annotated[
    str,
    typer.Option("--split", metavar="NAME", help="Only these queries: tune or test of mock; BEIR's qrels."),
]
_Index = Annotated[
    Path | None,
    typer.Option("--index", metavar="DIR", help="Ask this index, as it is; it also gives the papers."),
]
_Store = Annotated[
    Path | None,
    typer.Option(
        "--store",
        envvar="HIPPO_LIT_EVAL_STORE",
        metavar="DIR",
        help="Keep indexes and vectors here for the next run; else they are temporary, or in --out's folder.",
    ),
]


def evaluate(
    dataset: _Dataset,
    systems: _Systems = "bm25,dense,hybrid,lexical,hippo",
    measures: _Measures = "nDCG@10 R@5 R@100 RR@10",
    configs: _Configs = None,
    overrides: Overrides = None,
    out: _Out = None,
    html: _Html = None,
    fail_if: _FailIf = None,
    ablate: _Ablate = False,
    sweep: _Sweep = None,
    baseline: _Baseline = None,
    split: _Split = "",
    index: _Index = None,
    store: _Store = None,
    as_json: AsJson = False,
) -> None:
    """Measure systems on queries whose answers are known, and tell which differences are real.

    Queries without a relevant paper count in no ranking measure (HippoRecall counts them 0); a query that
    gets no result counts 0. EM and F1 are over the queries with gold answers; what the chat model took is
    shown. Intervals are 95% bootstrap intervals over queries; p is from the paired randomisation test against
    the baseline, corrected for the number of systems (Holm). Times are without embedding the query. With
    --out, an interrupted evaluation goes on where it stopped, systems that are done are not run again, and
    queries for which something failed are.
    """
    from hippo_lit.evaluate.answering import answers_wanted, check_answering
    from hippo_lit.evaluate.gates import parse_gate
    from hippo_lit.evaluate.measures import check_measures, depth_of
    from hippo_lit.evaluate.systems import check_modes, parse_sweep, plan

    gates = [parse_gate(text) for text in fail_if or ()]
    names = check_measures([*measures.replace(",", " ").split(), *(gate.measure for gate in gates)])
    in_words = answers_wanted(names)
    planned = plan(
        check_modes(part.strip() for part in systems.split(",") if part.strip()),
        configurations(configs, overrides, index),
        ablate=ablate,
        sweeps=[parse_sweep(text) for text in sweep or ()],
        answers=in_words,
    )
    labels = [system.label for system in planned]
    chosen = _baseline(baseline, labels)
    for gate in gates:
        _known(gate.system, labels, "--fail-if")
    data = load_set(dataset, split, index)
    if in_words:
        check_answering(data, (system.settings for system in planned))
    temporary = store is None and out is None
    with TemporaryDirectory(prefix="hippo-lit-") if temporary else nullcontext("") as place:
        folder = store or (out / "store" if out is not None else Path(place))
        runs = _run(data, planned, folder.expanduser(), out, index, max(depth_of(names), 100))
    _finish(data, runs, names, chosen, gates, html, as_json=as_json)


def _run(
    data: Dataset, planned: Sequence[Any], store: Path, out: Path | None, index: Path | None, depth: int
) -> list[Run]:
    from hippo_lit.evaluate.runner import Runner
    from hippo_lit.evaluate.saved import RunFolder

    kept = RunFolder(out.expanduser()) if out is not None else None
    try:
        with reporting() as report:
            runner = Runner(
                data, store, depth, kept, index, report, lambda label: say(f"{label}: read from {out}")
            )
            return runner.run(planned)
    except KeyboardInterrupt:
        say(
            "interrupted; what was done is kept: run the same command again to go on"
            if out is not None
            else "interrupted; with --out DIR what was done would be kept"
        )
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _finish(
    data: Dataset,
    runs: Sequence[Run],
    names: Sequence[str],
    baseline: str,
    gates: Sequence[Gate],
    html: Path | None,
    *,
    as_json: bool,
) -> None:
    from hippo_lit.evaluate.compare import choose, compare_runs
    from hippo_lit.evaluate.summary import summarise

    base = choose(runs, baseline)
    summaries = [summarise(run, names) for run in runs]
    comparisons = compare_runs(base, [run for run in runs if run is not base], names)
    crossed = _crossed(gates, summaries)
    if data.notes:
        say(f"about {data.name}:")
        say_some(data.notes)
    if html is not None:
        from hippo_lit.report.page import write_report

        write_report(html, data, runs, summaries, comparisons, baseline)
        say(f"report: {html}")
    if as_json:
        print_json(_as_json(data, runs, summaries, comparisons, crossed))
    else:
        from hippo_lit.cli.tables import evaluation

        show(evaluation(data, summaries, comparisons, names, baseline))
    for text in crossed:
        say(f"failed: {text}")
    if crossed:
        raise typer.Exit(EXIT_GATE)


def configurations(
    configs: list[str] | None, overrides: list[str] | None, index: Path | None
) -> list[tuple[str, Settings]]:
    """Every configuration with its name, over what `index` remembers.

    Raises ConfigError where two have one name.
    """
    from hippo_lit.errors import ConfigError

    if not configs:
        return [("default", settings_of(index, None, overrides))]
    found: dict[str, Settings] = {}
    for given in configs:
        file = config_file(given)
        if file.stem in found:
            raise ConfigError(f"two configurations are called {file.stem!r}: rename one file", key="config")
        found[file.stem] = settings_of(index, given, overrides)
    return list(found.items())


def load_set(dataset: str, split: str, index: Path | None) -> Dataset:
    """The set that `dataset` names, over the papers of `index` where that is given."""
    from hippo_lit.evaluate.load import load_dataset

    return load_dataset(dataset, split=split, papers=indexed(index) if index else ())


def indexed(index: Path) -> list[Paper]:
    """The papers of an index. Raises IndexNotFoundError, StoreError."""
    from hippo_lit.storage.store import Store

    with Store.open(index.expanduser(), create=False, read_only=True) as opened:
        return list(opened.papers())


def _baseline(wanted: str | None, labels: Sequence[str]) -> str:
    if wanted is not None:
        _known(wanted, labels, "--baseline")
        return wanted
    return next((label for label in labels if label.partition("@")[0] == "hippo"), labels[0])


def _known(label: str, labels: Sequence[str], option: str) -> None:
    from hippo_lit.errors import ConfigError

    if label not in labels:
        raise ConfigError(
            f"{option}: no system is called {label!r}; there are {', '.join(labels)}", key=option
        )


def _crossed(gates: Sequence[Gate], summaries: Sequence[Summary]) -> list[str]:
    means = {(s.label, name): figure.mean for s in summaries for name, figure in s.measures.items()}
    return [
        f"{gate}: it is {means[gate.system, gate.measure]:.4f}"
        for gate in gates
        if gate.crossed_by(means[gate.system, gate.measure])
    ]


def _as_json(
    data: Dataset,
    runs: Sequence[Run],
    summaries: Sequence[Summary],
    comparisons: Sequence[Comparison],
    crossed: Sequence[str],
) -> dict[str, Any]:
    from hippo_lit.evaluate.saved import run_as_json

    return {
        "dataset": data.name,
        "papers": len(data.papers),
        "queries": len(data.queries),
        "with_relevant_paper": sum(bool(query.relevant) for query in data.queries),
        "notes": list(data.notes),
        "systems": [
            {**run_as_json(run), **summary.as_json()} for run, summary in zip(runs, summaries, strict=True)
        ],
        "comparisons": [_plain(asdict(row)) for row in comparisons],
        "failed": list(crossed),
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value != value else value for key, value in row.items()}
