"""What `hippo-lit index` reads: a source for each PATH, and the options that say how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli.live import from_service
from hippo_lit.text import clean, content_hash

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
        from hippo_lit.errors import ConfigError
        from hippo_lit.sources.files import FileSource
        from hippo_lit.sources.mock import ArxivMockClient, SemanticScholarMockClient
        from hippo_lit.sources.tables import parse_columns

        if path == MOCK:
            clients = (ArxivMockClient(), SemanticScholarMockClient())
            return [_Counted(f"{MOCK} ({client.name})", client.papers()) for client in clients]
        if live := from_service(path, services, self.limit):
            return [live]
        if "://" in path:
            problem = f"{path} is no address that is understood: give arxiv:…, s2:…, openalex:… or doi:…,"
            raise ConfigError(f"{problem} or save it and give the file", key="path")
        file = Path(path).expanduser()
        columns = None if self.columns is None else parse_columns(self.columns)
        if not file.is_dir():
            self._check(file, columns)
        return [_OfFile(FileSource(file, strict=self.strict, encoding=self.encoding, columns=columns))]

    def _check(self, path: Path, columns: dict[str, str] | None) -> None:
        """A mistyped third file, or column of it, is better known before the first file is stored."""
        from hippo_lit.errors import ConfigError
        from hippo_lit.sources.reading import look_at
        from hippo_lit.sources.tables import read_table

        file = look_at(path, self.encoding)
        if columns is None:
            return
        if file.format != "csv":
            problem = f"--columns is for tables, and {path} is {file.format.upper()}; index it without"
            raise ConfigError(problem, key="columns")
        next(read_table(file.lines(lambda *_: None), columns, name=str(path)), None)


class _OfFile:
    """The papers of a file, or of each file of a folder, as views of its own: "json:refs/a.jsonl~3f9a1c" for
    what was from "json".

    The store keeps one view per (id, source) and merges those of different sources. So nothing is lost where
    two files hold one id, even under the same source, and reading both again changes nothing.
    """

    def __init__(self, file: FileSource) -> None:
        self._file = file

    @property
    def name(self) -> str:
        return self._file.name

    @property
    def report(self) -> SourceReport:
        return self._file.report

    failure = None

    def papers(self) -> Iterator[Paper]:
        labels: dict[Path, str] = {}
        for path, paper in self._file.by_file():
            label = labels.get(path) or labels.setdefault(path, _label(path))
            parts = [part if _names_a_file(part) else f"{part}:{label}" for part in paper.source.split("+")]
            yield replace(paper, source="+".join(parts))


def _label(path: Path) -> str:
    """The name of a file, however its path was written: its last two parts, for people, and a hash of the
    whole path, which tells apart the refs.bib of two projects.
    """
    path = path.resolve()
    name = clean("/".join(path.parts[-2:])).replace("+", "-")  # "+" joins sources
    return f"{name}~{content_hash(ascii(str(path)))[:6]}"


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
