"""What `hippo-lit index` reads: a source for each PATH, and the options that say how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli.live import from_service
from hippo_lit.text import clean

if TYPE_CHECKING:
    from hippo_lit.cli.index_report import Source
    from hippo_lit.sources.files import FileSource, SourceReport
    from hippo_lit.sources.live.services import Services
    from hippo_lit.types import Paper

MOCK = "mock"
Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATH…]",
        help="Files, folders, questions to paper services (arxiv:, s2:, openalex: or crossref: before a query"
        " or ids, doi: before DOIs; a bare DOI, arXiv id or address), or the word mock for the corpus of 100"
        " papers that comes with hippo-lit.",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="FIELD=HEADER,…",
        help="Which column of a table is what, where its header does not tell: title=Titel,abstract=Text.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="How the files are encoded, where it is guessed wrongly: mac-roman.",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first record that is not a paper.")]


@dataclass(frozen=True, slots=True)
class Inputs:
    """How to read every PATH of a run."""

    strict: bool = False
    limit: int | None = None
    columns: str | None = None
    encoding: str | None = None

    def sources(self, paths: Iterable[str], services: Services) -> list[Source]:
        """What to read, in order. Raises DataError for a file that is not there or not to be read."""
        return [source for path in paths for source in self._of(path, services)]

    def _of(self, path: str, services: Services) -> list[Source]:
        from hippo_lit.sources.files import FileSource
        from hippo_lit.sources.mock import ArxivMockClient, SemanticScholarMockClient
        from hippo_lit.sources.reading import look_at
        from hippo_lit.sources.tables import parse_columns

        if path == MOCK:
            clients = (ArxivMockClient(), SemanticScholarMockClient())
            return [_Counted(f"{MOCK} ({client.name})", client.papers()) for client in clients]
        if live := from_service(path, services, self.limit):
            return [live]
        file = Path(path).expanduser()
        if not file.is_dir():
            look_at(file, self.encoding)  # a mistyped third file is better known before the first is stored
        columns = None if self.columns is None else parse_columns(self.columns)
        return [_OfFile(FileSource(file, strict=self.strict, encoding=self.encoding, columns=columns))]


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
            parts = [
                part if _names_a_file(part) else f"{part}:{self._label}" for part in paper.source.split("+")
            ]
            yield replace(paper, source="+".join(parts))


def _names_a_file(source: str) -> bool:
    """Whether it says what was read already, as in what `export` writes: that stays when it is read again."""
    return "/" in source.partition(":")[2]


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
