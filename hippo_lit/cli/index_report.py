"""What `hippo-lit index` says at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import typer

from hippo_lit.cli.output import say, say_some
from hippo_lit.errors import SourceError
from hippo_lit.estimate import Estimate
from hippo_lit.index import Built
from hippo_lit.render import printable, usage_text
from hippo_lit.sources.files import SourceReport
from hippo_lit.types import Counts, Paper, Usage

EXIT_FAILURES = 5
EXIT_UNFINISHED = 7


class Source(Protocol):
    """Papers, and what came of reading them."""

    @property
    def name(self) -> str: ...

    @property
    def report(self) -> SourceReport: ...

    @property
    def failure(self) -> SourceError | None:
        """What ended the papers early; all that came before is in."""
        ...

    def papers(self) -> Iterable[Paper]: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """All figures of a run; `usage` is by stage."""

    folder: str
    sources: Sequence[Source]
    counts: Counts
    built: Built
    usage: Mapping[str, Usage]
    seconds: float

    @property
    def failures(self) -> list[tuple[Source, SourceError]]:
        """The sources that are incomplete, and why."""
        return [(source, source.failure) for source in self.sources if source.failure is not None]

    def complain(self) -> None:
        """Say on stderr what is missing, what was skipped or repaired, and what got no facts."""
        for source, failure in self.failures:
            say(f"incomplete: {source.name}: {_count(source.report.papers, 'paper')} came, then: {failure}")
        reports = [source.report for source in self.sources]
        if skipped := sum(report.skipped for report in reports):
            say(f"{_count(skipped, 'record')} skipped:")
            say_some([str(problem) for report in reports for problem in report.problems], skipped)
        if notes := [note for report in reports for note in report.notes]:
            say("notes:")
            say_some(notes)
        if self.built.failed:
            say(f"extraction failed for {_count(self.built.failed, 'passage')}, now without facts:")
            say_some(self.built.failures)
        for note in self.built.notes:
            say(note)
        if self.built.left:
            say(self._left())

    def _left(self) -> str:
        """Why not all was asked for, how much is left, and what to do."""
        built = self.built
        again = "run the same command again to go on"
        if built.degraded:
            again = "when that is mended, run the same command again: it goes on where this one stopped"
        elif built.pending:
            again = "run `hippo-lit index … --batch` again to collect them"
        left = f"{_count(built.left, 'passage')} left without facts for now"
        return f"{built.stopped.rstrip('.')}. {left}, all else is kept and indexed; {again}"

    def summary(self) -> str:
        """Lines that add up."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        names = [printable(source.name) for source in self.sources]
        width = max(map(len, names), default=0)
        for name, source in zip(names, self.sources, strict=True):
            report = source.report
            parts = f"{_count(report.papers, 'paper')} + {report.skipped:,} skipped"
            yield f"{name:<{width}}  read {report.read:,} = {parts}"
        counts, built = self.counts, self.built
        given = counts.added + counts.changed + counts.unchanged
        parts = f"{counts.added:,} added + {counts.changed:,} changed + {counts.unchanged:,} unchanged"
        yield f"given {_count(given, 'paper')} = {parts}"
        holds = f"{_count(built.papers, 'paper')}, {_count(built.passages, 'passage')}"
        if built.published or built.extracted or built.failed or built.left:
            tried = f"facts extracted from {built.extracted:,} new passages, {built.failed:,} failed"
            tried += f", {built.left:,} left" if built.left else ""
            yield f"index: {holds}; {tried}"
        else:
            yield f"nothing to do: the index is up to date ({holds})"
        for stage, spent in self.usage.items():
            yield f"{stage}: {usage_text(spent)}"
        yield f"{self.seconds:.1f} s"

    def as_json(self) -> dict[str, Any]:
        return {
            "index": self.folder,
            "sources": [_source_as_json(source) for source in self.sources],
            "counts": asdict(self.counts),
            "built": asdict(self.built),
            "usage": {stage: asdict(spent) for stage, spent in self.usage.items()},
            "seconds": round(self.seconds, 3),
        }


def leave(built: Built) -> None:
    """End the command with the exit code that says what is missing; come back where nothing is."""
    if built.failed or built.degraded:
        raise typer.Exit(EXIT_FAILURES)
    if built.left:
        raise typer.Exit(EXIT_UNFINISHED)


def estimate_lines(told: Estimate, *, batch: bool) -> Iterator[str]:
    """An estimate in words."""
    yield f"{_count(told.passages, 'passage')}; {told.to_extract:,} to extract facts from"
    held = f" ({told.awaited:,} more are awaited from batch jobs)" if told.awaited else ""
    how = " in batch jobs" if batch else ""
    tokens = f"about {told.prompt_tokens:,} tokens in, {told.completion_tokens:,} out"
    cost = "" if told.cost_usd is None else f", {told.cost_usd:.4f} USD"
    yield f"extract: {_count(told.calls, 'call')}{how}{held}, {tokens}{cost}"
    if told.calls and told.cost_usd is None:
        yield "set llm.price_in_per_million and llm.price_out_per_million to see what that costs"
    yield f"embed: {_count(told.to_embed, 'passage')} with their sentences"


def _source_as_json(source: Source) -> dict[str, Any]:
    report, failure = source.report, source.failure
    return {
        "path": source.name,
        "read": report.read,
        "papers": report.papers,
        "skipped": report.skipped,
        "problems": [str(problem) for problem in report.problems],
        "notes": list(report.notes),
        "failure": None if failure is None else {"message": failure.message, **failure.fields},
    }


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
