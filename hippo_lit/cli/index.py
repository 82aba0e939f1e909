"""`hippo-lit index`: papers from files and paper services into an index."""

from __future__ import annotations

from dataclasses import asdict
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hippo_lit.cli import EXIT_INTERRUPTED
from hippo_lit.cli.inputs import Columns, Encoding, Inputs, Paths, Strict
from hippo_lit.cli.live import Limit
from hippo_lit.cli.options import (
    AsJson,
    Config,
    IndexFolder,
    MaxCost,
    MaxTokens,
    Overrides,
    Wait,
    settings_of,
)
from hippo_lit.cli.output import print_json, say
from hippo_lit.cli.progress import counted, reporting

if TYPE_CHECKING:
    from hippo_lit.api import HippoLit
    from hippo_lit.config import Settings

_Estimate = Annotated[
    bool, typer.Option("--estimate", help="Only tell what the run would take of models; nothing is changed.")
]
_Batch = Annotated[
    bool, typer.Option("--batch", help="Ask by jobs of the provider's Batch API, at a lower price.")
]
_UntilDone = Annotated[
    bool, typer.Option("--until-done", help="With --batch: wait for all jobs, which may take a day.")
]
_Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Build the snapshot anew from what is stored; mends a damaged one.")
]


def index(
    folder: IndexFolder,
    paths: Paths = None,
    config: Config = None,
    overrides: Overrides = None,
    strict: Strict = False,
    max_tokens: MaxTokens = None,
    max_cost_usd: MaxCost = None,
    estimate: _Estimate = False,
    batch: _Batch = False,
    until_done: _UntilDone = False,
    rebuild: _Rebuild = False,
    limit: Limit = None,
    columns: Columns = None,
    encoding: Encoding = None,
    wait: Wait = 0.0,
    as_json: AsJson = False,
) -> None:
    """Add papers from files and paper services to an index, made if absent.

    Read are JSONL and JSON (our own, BEIR, HippoRAG, OpenAlex, Semantic Scholar, CSL, Zotero), BibTeX, RIS,
    Web of Science, PubMed (.nbib, XML), EndNote (.enw, XML), JATS, CSV and TSV, each also as .gz; of a
    folder, every file that is one of these. A record that cannot be a paper is reported and skipped. What
    several files say of one id is merged; a file that is read again replaces what it said before. What is in
    the index already is not done again. Where a model fails on some passages, the papers are indexed all
    the same, without the facts of these passages; the exit code is then 5, and the next run tries them again.
    Where a paper service fails, what it gave until then and all other papers are indexed; the exit code is
    then 4. Interrupted, it keeps what was done; run again, it goes on: answers of services are kept, too.
    Without a PATH, what is stored already is brought up to date.

    The index remembers its settings: only what is to change needs to be given again. What a change of
    embedder, extractor or prompt means is said before anything is done.

    A budget (--max-tokens, --max-cost-usd) ends a run early: what was paid for is kept and indexed, the exit
    code is 7, and the next run goes on. With --batch, jobs are submitted and the command comes back with
    exit code 7 as long as replies are awaited; run again with --batch, from anywhere, it collects them.
    """
    if until_done and not batch:
        raise typer.BadParameter("--until-done waits for the jobs of --batch; give both")
    inputs = Inputs(strict, limit, columns, encoding)
    settings = settings_of(folder, config, overrides)
    if estimate:
        _tell_estimate(paths or [], inputs, folder, settings, batch, as_json)
        return
    from hippo_lit import assemble
    from hippo_lit.api import HippoLit
    from hippo_lit.assemble import make_services
    from hippo_lit.cli.index_report import Outcome, leave
    from hippo_lit.errors import SourceError
    from hippo_lit.models.guard import Budget
    from hippo_lit.models.usage import UsageMeter

    began = perf_counter()
    budget = Budget(max_tokens, max_cost_usd)
    if max_cost_usd is not None:
        assemble.make_guard(settings, budget)  # a price that is missing is known before anything is read
    services = make_services(settings)
    sources = inputs.sources(paths or (), services)
    papers = chain.from_iterable(source.papers() for source in sources)
    meter = UsageMeter()
    try:
        with (
            services,
            HippoLit.open(folder, settings, create=bool(paths), wait_s=wait) as lit,
            lit.writing(say),
        ):
            _warn_of_change(lit)
            how: Literal["submit", "wait"] = "wait" if until_done else "submit"
            with meter.active(), reporting() as report:
                counts = lit.put(counted(papers, report, "read"))
                built = lit.build(
                    progress=report, budget=budget, batch=how if batch else None, rebuild=rebuild
                )
    except KeyboardInterrupt:
        say("interrupted; what was done is kept: run the same command again to go on")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    outcome = Outcome(folder, sources, counts, built, meter.stages(), perf_counter() - began)
    outcome.complain()
    if as_json:
        print_json(outcome.as_json())
    else:
        typer.echo(outcome.summary())
    if outcome.failures:
        raise typer.Exit(SourceError.exit_code)
    leave(built)


def _warn_of_change(lit: HippoLit) -> None:
    change = lit.change()
    for line in change.lines() if change is not None else ():
        say(line)


def _tell_estimate(
    paths: list[str], inputs: Inputs, folder: str, settings: Settings, batch: bool, as_json: bool
) -> None:
    from hippo_lit.assemble import make_services
    from hippo_lit.cli.index_report import estimate_lines
    from hippo_lit.estimate import estimate
    from hippo_lit.storage.store import Store

    if not paths:
        Store.open(folder, read_only=True).close()  # there is something to estimate
    services = make_services(settings)
    sources = inputs.sources(paths, services)
    papers = chain.from_iterable(source.papers() for source in sources)
    with services, reporting() as report:
        told = estimate(Path(folder).expanduser(), settings, counted(papers, report, "read"), batch=batch)
    if as_json:
        print_json({"index": folder, "batch": batch, **asdict(told)})
    else:
        typer.echo("\n".join(estimate_lines(told, batch=batch)))
