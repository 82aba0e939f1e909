"""Runs on disk. For each system, in one folder:

    LABEL.jsonl   a line for each query as it is answered: ranking, facts, seeds, time, cost
    LABEL.json    written when all are: the queries and what it takes to repeat the run
    LABEL.run     the ranking in TREC's format, for other tools
    qrels.txt     the gold, in TREC's format

TREC's format has no place for spaces within ids: they, and "%", are percent-encoded there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hippo_lit.errors import DataError
from hippo_lit.evaluate.dataset import Query
from hippo_lit.evaluate.run import Answered, Run, RunInfo
from hippo_lit.storage.disk import reporting
from hippo_lit.text import content_hash

_FORMAT = 1
_ENDINGS = (".json", ".jsonl", ".run")
_PLAIN = re.compile(r"[A-Za-z0-9._=+,@-]{1,100}")


@dataclass(frozen=True, slots=True)
class _Manifest:
    format: int
    info: RunInfo
    queries: tuple[Query, ...]


class RunFolder:
    """A folder of runs; made on the first write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def finished(self, label: str, key: str) -> Run | None:
        """The run of that label if it is whole and has this key; else, and where it is damaged, None."""
        path = self._path(label, ".json")
        if not path.is_file():
            return None
        try:
            run = load_run(path)
        except DataError:
            return None  # what can be read of its answers is kept by `partial`
        return run if run.info.key == key else None

    def partial(self, label: str, key: str) -> dict[str, Answered]:
        """What an interrupted run of this key had answered, as far as it can be read; else nothing."""
        path = self._path(label, ".jsonl")
        if not path.is_file():
            return {}
        found_key, answers = _answers(path, lenient=True)
        return answers if found_key == key else {}

    @contextmanager
    def writing(self, info: RunInfo, done: Sequence[Answered]) -> Iterator[_Writer]:
        """Where answers are added, each safe from an interruption once added; `done` are kept."""
        path = self._path(info.label, ".jsonl")
        with reporting("write", path):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._path(info.label, ".json").unlink(missing_ok=True)  # no longer whole
            head = json.dumps({"key": info.key}) + "\n"
            _replace(path, head + "".join(map(_line, done)))  # at no moment are those done not on disk
            with path.open("a", encoding="utf-8") as file:
                yield _Writer(file)

    def finish(self, run: Run) -> None:
        """Write what makes the run whole."""
        manifest = _dump(_adapter(_Manifest), _Manifest(_FORMAT, run.info, run.queries))
        with reporting("write", self.folder):
            _replace(self._path(run.label, ".run"), "".join(_trec_lines(run)))
            _replace(self.folder / "qrels.txt", "".join(_qrels_lines(run.queries)))
            _replace(self._path(run.label, ".json"), manifest + "\n")

    def labels(self) -> list[str]:
        """Names of the runs that are whole, in alphabetical order."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def _path(self, label: str, ending: str) -> Path:
        name = label if _PLAIN.fullmatch(label) else f"run-{content_hash(label)[:16]}"
        return self.folder / f"{name}{ending}"


class _Writer:
    def __init__(self, file: Any) -> None:
        self._file = file

    def add(self, answer: Answered) -> None:
        self._file.write(_line(answer))
        self._file.flush()


def is_ours(path: Path) -> bool:
    """Whether `path` names a run of ours, finished or not, rather than a file of another tool or nothing."""
    stem = path.with_suffix("") if path.suffix in _ENDINGS else path
    return any(stem.with_name(f"{stem.name}{ending}").is_file() for ending in (".json", ".jsonl"))


def load_run(path: Path) -> Run:
    """A whole run, by its .json, .jsonl or .run file or its path without ending.

    Raises DataError where it is not there, unfinished or damaged.
    """
    manifest = path.with_suffix(".json") if path.suffix in _ENDINGS else path.with_name(f"{path.name}.json")
    try:
        text = manifest.read_text("utf-8")
    except FileNotFoundError as error:
        unfinished = manifest.with_suffix(".jsonl").is_file()
        why = "it was interrupted: run the same `hippo-lit eval` again" if unfinished else "no such file"
        raise DataError(f"no finished run at {manifest}: {why}", path=str(manifest)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read the run {manifest}: {error}", path=str(manifest)) from error
    try:
        about = _adapter(_Manifest).validate_json(text)
    except ValidationError as error:
        raise DataError(
            f"{manifest} is no run of `hippo-lit eval`: {_first(error)}", path=str(manifest)
        ) from error
    if about.format != _FORMAT:
        raise DataError(
            f"{manifest} has format {about.format}, this version reads {_FORMAT}", path=str(manifest)
        )
    key, answers = _answers(manifest.with_suffix(".jsonl"))
    missing = [query.id for query in about.queries if query.id not in answers]
    if key != about.info.key or missing:
        raise DataError(
            f"{manifest.with_suffix('.jsonl')} does not belong to it or lacks {len(missing)} queries: run"
            " the same `hippo-lit eval` again",
            path=str(manifest),
        )
    return Run(about.info, about.queries, answers)


def _answers(path: Path, *, lenient: bool = False) -> tuple[str, dict[str, Answered]]:
    """Key and answers of a .jsonl file, without a last line that was cut off.

    Any other line that is no answer is left out where `lenient`; else it raises DataError.
    """
    try:
        lines = path.read_text("utf-8", "replace").split("\n")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error}", path=str(path)) from error
    adapter = _adapter(Answered)
    try:
        key = str(json.loads(lines[0])["key"])
    except (ValueError, KeyError, TypeError):
        return "", {}
    answers: dict[str, Answered] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        try:
            answer = adapter.validate_json(line)
        except ValidationError as error:
            if lenient or number == len(lines):  # only the last can lack its line end
                continue
            raise DataError(
                f"{path}, line {number}: no answer of a run: {_first(error)}", path=str(path), line=number
            ) from error
        answers[answer.query_id] = answer
    return key, answers


def _line(answer: Answered) -> str:
    return _dump(_adapter(Answered), answer) + "\n"


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _dump(adapter: TypeAdapter[Any], value: Any) -> str:
    return adapter.dump_json(value).decode("utf-8")


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    return f"{'.'.join(map(str, found['loc']))}: {found['msg']}" if found["loc"] else str(found["msg"])


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def _trec_lines(run: Run) -> Iterator[str]:
    tag = trec_id(run.label)
    for query in run.queries:
        hits = run.answers[query.id].hits
        for rank, hit in enumerate(hits, start=1):
            # Places, not scores: readers sort by this column, and break ties by id.
            yield f"{trec_id(query.id)} Q0 {trec_id(hit.id)} {rank} {len(hits) - rank + 1} {tag}\n"


def _qrels_lines(queries: Sequence[Query]) -> Iterator[str]:
    for query in queries:
        for paper, grade in query.gold.items():
            yield f"{trec_id(query.id)} 0 {trec_id(paper)} {grade}\n"


def trec_id(text: str) -> str:
    """An id without spaces.

    >>> trec_id("a b%")
    'a%20b%25'
    """
    return re.sub(r"[\s%]", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


def run_as_json(run: Run) -> dict[str, Any]:
    """What identifies a run, for `--json`."""
    return {name: value for name, value in asdict(run.info).items() if name != "settings"}
