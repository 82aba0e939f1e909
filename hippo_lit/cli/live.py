"""Paper services among the sources of `hippo-lit index`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hippo_lit.errors import SourceError
    from hippo_lit.sources.files import SourceReport
    from hippo_lit.sources.live.services import Services
    from hippo_lit.sources.live.source import LiveSource
    from hippo_lit.types import Paper

Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, metavar="N", help="Papers of each search at most (sources.limit)."),
]


def from_service(asked: str, services: Services, limit: int | None) -> Resilient | None:
    """The papers of a question to a paper service; None where `asked` is a path, or names what is there.

    Raises ConfigError for a question without content.
    """
    from hippo_lit.sources.live.specs import parse_spec

    if Path(asked).expanduser().exists():
        return None
    spec = parse_spec(asked)
    return Resilient(services.source(spec, limit)) if spec else None


class Resilient:
    """The papers of a service up to its failure, which becomes `failure`: the other sources go on."""

    def __init__(self, source: LiveSource) -> None:
        self._source = source
        self.failure: SourceError | None = None

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def report(self) -> SourceReport:
        return self._source.report

    def papers(self) -> Iterator[Paper]:
        from hippo_lit.errors import SourceError

        self.failure = None
        try:
            yield from self._source.papers()
        except SourceError as failure:
            self.failure = failure
