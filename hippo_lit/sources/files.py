"""Papers from files: one file, or a folder of them, in any format that `reading` and the readers know."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hippo_lit.errors import DataError
from hippo_lit.sources import bibtex, jsonl, ris, tables, tagged, xml_papers
from hippo_lit.sources.formats import FORMATS, SUFFIXES, Format
from hippo_lit.sources.found import Found, apart, settled
from hippo_lit.sources.reading import DamagedFileError, TextFile, file_error, look_at
from hippo_lit.text import clean
from hippo_lit.types import Paper

MAX_PROBLEMS = 100
MAX_MESSAGE_CHARS = 400

_READERS: dict[Format, Callable[[Iterable[str]], Iterator[Found]]] = {
    "json": jsonl.read_document,
    "jsonl": jsonl.read_lines,
    "ris": ris.read_ris,
    "wos": ris.read_wos,
    "medline": tagged.read_medline,
    "endnote": tagged.read_endnote,
    "xml": xml_papers.read_xml,
}
_DERIVED_IDS = ("medline", "endnote", "xml")
"""Streams whose ids the readers make; the others have ids of their own, or are settled as a whole."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What came of a file's records: read = papers + skipped.

    `problems` are the first 100 skips, repeated and merged records included. `notes` (at most 100) tell
    what was repaired, and files that hold nothing.
    """

    read: int = 0
    papers: int = 0
    skipped: int = 0
    problems: tuple[DataError, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Tally:
    papers: int = 0
    skipped: int = 0
    problems: list[DataError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seen: dict[str, tuple[int, str]] = field(default_factory=dict)  # by id: the paper's hash, where it stood

    def note(self, what: str) -> None:
        if len(self.notes) < MAX_PROBLEMS and what not in self.notes:  # some files are read twice
            self.notes.append(what)


class FileSource:
    """The papers of a file or folder; a PaperSource.

    A folder with a `corpus.jsonl` is a BEIR data set and only that file is read; of any other folder
    every file with a known ending, and of the others those whose content is known, in order of name,
    sub-folders left out. What is read: see `formats.FORMATS`.

    `encoding` says how the bytes are to be read, where guessing would fail (mac-roman); `columns` under which
    header of a table a field stands, {"title": "Titel"} (see `tables.COLUMNS`).

    A record that cannot be a paper is skipped: it is counted in `report` and handed to `on_skip`. With
    `strict` it raises instead. Of two records with one id the first is the paper and the other a skip
    (which `strict` lets pass where nothing is lost by it); BibTeX and RIS merge the two, see
    `found.settled`.

    Every format is read as a stream, of which a record or a block is in memory at a time; of the records
    before it, their ids.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        strict: bool = False,
        on_skip: Callable[[DataError], None] | None = None,
        encoding: str | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self.path = Path(path)
        self._encoding, self._columns = encoding, columns
        self.strict = strict
        self._on_skip = on_skip
        self._tally = _Tally()

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def report(self) -> SourceReport:
        """What `papers()` met so far, in its latest run."""
        tally = self._tally
        read = tally.papers + tally.skipped
        return SourceReport(read, tally.papers, tally.skipped, tuple(tally.problems), tuple(tally.notes))

    def papers(self) -> Iterator[Paper]:
        """Every paper, in the order of the file. May be called again; `report` then starts anew.

        Raises DataError (fields: path, line, and index for an item of a JSON list) for a file that
        cannot be read at all, and with `strict` for the first record that is not a paper.
        """
        return (paper for _, paper in self._all(per_file=False))

    def by_file(self) -> Iterator[tuple[Path, Paper]]:
        """As `papers`, with the file of each; what several files say of one id is there from each of them."""
        return self._all(per_file=True)

    def _all(self, *, per_file: bool) -> Iterator[tuple[Path, Paper]]:
        tally = self._tally = _Tally()
        if not self.path.is_dir():
            file = look_at(self.path, self._encoding)
            try:
                for paper in self._papers_of(file, tally):
                    yield self.path, paper
            except DamagedFileError as e:  # what was read stays, as in a folder
                if self.strict:
                    raise
                self._skip(e, tally)
            return
        for path in _files_in(self.path):
            if per_file:
                tally.seen.clear()
            try:
                file = look_at(path, self._encoding)
                if _ending(path) not in SUFFIXES and not file.recognised:
                    continue
                for paper in self._papers_of(file, tally):
                    yield path, paper
            except DataError as e:
                if _ending(path) not in SUFFIXES:
                    tally.note(f"left out: {e.message}")
                    continue
                if self.strict:
                    raise
                self._skip(e, tally)

    def _papers_of(self, file: TextFile, tally: _Tally) -> Iterator[Paper]:
        before = tally.papers + tally.skipped
        for found in self._records(file, tally):
            where = f"{file.path}:{found.line}" + ("" if found.index is None else f" (index {found.index})")
            found = _unless_seen(found, where, tally.seen)
            if found.note:
                tally.note(f"{where}: {_printable(found.note)}")
            if found.paper is not None:
                tally.papers += 1
                yield found.paper
            elif found.problem:
                place = {"path": str(file.path), "line": found.line}
                place |= {} if found.index is None else {"index": found.index}
                error = DataError(f"{where}: {_printable(found.problem)}", **place)
                if self.strict and not found.harmless:
                    raise error
                self._skip(error, tally)
        if tally.papers + tally.skipped == before:
            if not (file.blank or file.recognised or file.format == "bibtex"):
                raise file_error(file.path, f"holds no {file.format.upper()} record; known are {FORMATS}")
            tally.note(f"{file.path} {'is empty' if file.blank else 'holds no paper'}")

    def _records(self, file: TextFile, tally: _Tally) -> Iterator[Found]:
        def lines() -> Iterator[str]:
            return file.lines(lambda line, what: tally.note(f"{file.path}:{line}: {what}"))

        match file.format:
            case "csv":
                return apart(tables.read_table(lines(), self._columns, name=str(file.path)))
            case "bibtex":
                parents = bibtex.referred(lines)
                return settled(lambda: bibtex.read(lines(), parents))
            case "ris" | "wos":
                return settled(lambda: _READERS[file.format](lines()))
        found = _READERS[file.format](lines())
        return apart(found) if file.format in _DERIVED_IDS else found

    def _skip(self, error: DataError, tally: _Tally) -> None:
        tally.skipped += 1
        if len(tally.problems) < MAX_PROBLEMS:
            tally.problems.append(error)
        if self._on_skip is not None:
            self._on_skip(error)


def _printable(message: str) -> str:
    """A message that quotes a file is as wild as the file."""
    return textwrap.shorten(clean(message), MAX_MESSAGE_CHARS, placeholder="…")


def _files_in(folder: Path) -> list[Path]:
    try:
        files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as e:
        raise file_error(folder, f"cannot be read: {e.strerror}") from e
    corpus = [path for path in files if path.name in ("corpus.jsonl", "corpus.jsonl.gz")]
    known = corpus[:1] or [path for path in files if path.is_file()]
    if not any(_ending(path) in SUFFIXES for path in known) and not any(map(_is_recognised, known)):
        raise file_error(folder, f"holds no file to read (sub-folders are not searched); known are {FORMATS}")
    return known


def _is_recognised(path: Path) -> bool:
    try:
        return look_at(path).recognised
    except DataError:
        return False


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _unless_seen(found: Found, where: str, seen: dict[str, tuple[int, str]]) -> Found:
    """The record itself, or a skip in place of a paper whose id an earlier record has."""
    paper = found.paper
    if paper is None:
        return found
    if paper.id not in seen:
        seen[paper.id] = hash(paper), where
        return found
    digest, first = seen[paper.id]
    if digest == hash(paper):
        return replace(found, paper=None, note="", problem=f"repeats the record at {first}", harmless=True)
    problem = f'its id "{paper.id}" is already that of the record at {first}, which is kept'
    return replace(found, paper=None, note="", problem=problem)
