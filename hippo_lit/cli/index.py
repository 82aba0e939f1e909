"""`hippo-lit index`: papers from files and paper services into an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hippo_lit.cli.group import EXIT_INTERRUPTED
from hippo_lit.cli.live import Limit, from_service
from hippo_lit.cli.options import AsJson, Config, IndexFolder, Overrides, read_settings
from hippo_lit.cli.output import print_json, say
from hippo_lit.cli.progress import counted, reporting
from hippo_lit.text import clean

if TYPE_CHECKING:
    from hippo_lit.cli.index_report import Source
    from hippo_lit.config import Settings
    from hippo_lit.sources.files import FileSource, SourceReport
    from hippo_lit.sources.live.services import Services
    from hippo_lit.types import Paper

EXIT_FAILURES = 5
EXIT_UNFINISHED = 7
MOCK = "mock"
_Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH…",
        help="Files, folders, questions to paper services (arxiv:, s2:, openalex: or crossref: before a query"
        " or ids, doi: before DOIs; a bare DOI, arXiv id or address), or the word mock for the corpus of 100"
        " papers that comes with hippo-lit.",
        show_default=False,
    ),
]
_Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first record that is not a paper.")]

_MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens", min=0, metavar="N", help="Stop asking the chat model before this many tokens."
    ),
]
_MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost-usd", min=0.0, metavar="X", help="Stop asking it before this cost; needs its prices."
    ),
]
_Estimate = Annotated[
    bool, typer.Option("--estimate", help="Only tell what the run would take of models; nothing is changed.")
]
_Batch = Annotated[
    bool, typer.Option("--batch", help="Ask by jobs of the provider's Batch API, at a lower price.")
]
_UntilDone = Annotated[
    bool, typer.Option("--until-done", help="With --batch: wait for all jobs, which may take a day.")
]


def index(
    paths: _Paths,
    folder: IndexFolder,
    config: Config = None,
    overrides: Overrides = None,
    strict: _Strict = False,
    max_tokens: _MaxTokens = None,
    max_cost_usd: _MaxCost = None,
    estimate: _Estimate = False,
    batch: _Batch = False,
    until_done: _UntilDone = False,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Add papers from files and paper services to an index, made if absent.

    Read are JSONL and JSON (our own, BEIR, HippoRAG, OpenAlex works), BibTeX and RIS, each also as .gz; of a
    folder, every file with a known ending. A record that cannot be a paper is reported and skipped. What
    several files say of one id is merged; a file that is read again replaces what it said before. What is in
    the index already is not done again. Where a model fails on some passages, the papers are indexed all
    the same, without the facts of these passages; the exit code is then 5, and the next run tries them again.
    Where a paper service fails, what it gave until then and all other papers are indexed; the exit code is
    then 4. Interrupted, it keeps what was done; run again, it goes on: answers of services are kept, too.

    A budget (--max-tokens, --max-cost-usd) ends a run early: what was paid for is kept and indexed, the exit
    code is 7, and the next run goes on. With --batch, jobs are submitted and the command comes back with
    exit code 7 as long as replies are awaited; run again with --batch, from anywhere, it collects them.
    """
    if until_done and not batch:
        raise typer.BadParameter("--until-done waits for the jobs of --batch; give both")
    if estimate:
        _tell_estimate(paths, folder, read_settings(config, overrides), strict, limit, batch, as_json)
        return
    from hippo_lit import assemble
    from hippo_lit.api import HippoLit
    from hippo_lit.assemble import make_services
    from hippo_lit.cli.index_report import Outcome
    from hippo_lit.errors import SourceError
    from hippo_lit.models.guard import Budget
    from hippo_lit.models.usage import UsageMeter

    began = perf_counter()
    settings = read_settings(config, overrides)
    budget = Budget(max_tokens, max_cost_usd)
    if max_cost_usd is not None:
        assemble.make_guard(settings, budget)  # a price that is missing is known before anything is read
    services = make_services(settings)
    sources = [source for path in paths for source in _sources(path, strict, services, limit)]
    papers = chain.from_iterable(source.papers() for source in sources)
    meter = UsageMeter()
    try:
        with services, HippoLit.open(folder, settings) as lit, meter.active(), reporting() as report:
            counts = lit.put(counted(papers, report, "read"))
            how: Literal["submit", "wait"] = "wait" if until_done else "submit"
            built = lit.build(progress=report, budget=budget, batch=how if batch else None)
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
    if built.failed or built.degraded:
        raise typer.Exit(EXIT_FAILURES)
    if built.left:
        raise typer.Exit(EXIT_UNFINISHED)


def _tell_estimate(
    paths: list[str],
    folder: str,
    settings: Settings,
    strict: bool,
    limit: int | None,
    batch: bool,
    as_json: bool,
) -> None:
    from hippo_lit.assemble import make_services
    from hippo_lit.cli.index_report import estimate_lines
    from hippo_lit.estimate import estimate

    services = make_services(settings)
    sources = [source for path in paths for source in _sources(path, strict, services, limit)]
    papers = chain.from_iterable(source.papers() for source in sources)
    with services, reporting() as report:
        told = estimate(Path(folder).expanduser(), settings, counted(papers, report, "read"), batch=batch)
    if as_json:
        print_json({"index": folder, "batch": batch, **asdict(told)})
    else:
        typer.echo("\n".join(estimate_lines(told, batch=batch)))


def _sources(path: str, strict: bool, services: Services, limit: int | None) -> list[Source]:
    """What to read for one PATH. Raises DataError for a file that is not there or not to be read."""
    from hippo_lit.sources.files import FileSource
    from hippo_lit.sources.mock import ArxivMockClient, SemanticScholarMockClient
    from hippo_lit.sources.reading import look_at

    if path == MOCK:
        clients = (ArxivMockClient(), SemanticScholarMockClient())
        return [_Counted(f"{MOCK} ({client.name})", client.papers()) for client in clients]
    file = Path(path).expanduser()
    if live := from_service(path, services, limit):
        return [live]
    if not file.is_dir():
        look_at(file)  # a mistyped third file is better known before the first is stored
    return [_OfFile(FileSource(file, strict=strict))]


class _OfFile:
    """The papers of a file or folder as views of its own: "json:refs/a.jsonl" for what was from "json".

    The store keeps one view per (id, source) and merges those of different sources. So nothing is lost where
    two files hold one id, even under the same source, and reading both again changes nothing. The last two
    parts of the path name the file, however the path was written and wherever the folders lie.
    """

    def __init__(self, file: FileSource) -> None:
        self._file = file
        self._label = clean("/".join(file.path.resolve().parts[-2:])).replace("+", "-")  # "+" joins sources

    @property
    def name(self) -> str:
        return self._file.name

    @property
    def report(self) -> SourceReport:
        return self._file.report

    failure = None

    def papers(self) -> Iterator[Paper]:
        for paper in self._file.papers():
            parts = [f"{part}:{self._label}" for part in paper.source.split("+")]
            yield replace(paper, source="+".join(parts))


class _Counted:
    """Papers as a source that reports how many there were."""

    failure = None

    def __init__(self, name: str, papers: Iterable[Paper]) -> None:
        self.name = name
        self._papers = papers
        self._passed = 0

    def papers(self) -> Iterator[Paper]:
        for paper in self._papers:
            self._passed += 1
            yield paper

    @property
    def report(self) -> SourceReport:
        from hippo_lit.sources.files import SourceReport

        return SourceReport(self._passed, self._passed)
