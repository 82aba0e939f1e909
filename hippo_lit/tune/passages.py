"""Labelled passages: JSON Lines, one passage a line.

    {"id": "p1", "title": "…", "text": "…", "entities": ["…"], "triples": [["subject", "relation", "object"]],
     "split": "tune" or "test"}

Without "text" the passage is the paper with that id: its title and abstract.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hippo_lit.evaluate.files import bad, json_lines, text_in
from hippo_lit.sources import mock
from hippo_lit.text import clean
from hippo_lit.tune.extract_task import PassageCase
from hippo_lit.types import Fact, Paper


@dataclass(frozen=True, slots=True)
class LabelledPassage:
    """`split` is "tune", "test", or "" where the file does not say."""

    case: PassageCase
    split: str = ""

    @property
    def id(self) -> str:
        return self.case.id


def mock_passages() -> list[LabelledPassage]:
    """Passages of the mock corpus, labelled by hand."""
    path = Path("mock_corpus") / "extractions.jsonl"
    return passages_from(enumerate(mock.extractions(), start=1), mock.build_corpus(), path)


def read_passages(path: Path, papers: Sequence[Paper] = ()) -> list[LabelledPassage]:
    """The passages of a file; `papers` are those that an id alone may name. Raises DataError."""
    if not path.is_file():
        raise bad(path, None, "is no file of labelled passages (JSON Lines; see docs/tuning.md)")
    return passages_from(json_lines(path), papers, path)


def passages_from(
    records: Iterable[tuple[int, Mapping[str, Any]]], papers: Sequence[Paper], path: Path
) -> list[LabelledPassage]:
    """Raises DataError (path, line) for a bad record, an id that comes twice, and where there is none."""
    by_id = {paper.id: paper for paper in papers}
    found: dict[str, LabelledPassage] = {}
    for line, record in records:
        passage = _passage(record, by_id, path, line)
        if passage.id in found:
            raise bad(path, line, f"the id {passage.id!r} came before")
        found[passage.id] = passage
    if not found:
        raise bad(path, None, "holds no labelled passage")
    return list(found.values())


def _passage(
    record: Mapping[str, Any], papers: Mapping[str, Paper], path: Path, line: int
) -> LabelledPassage:
    name = text_in(record, ("id",), path, line)
    title, text = record.get("title", ""), record.get("text")
    if text is None and name in papers:
        title, text = papers[name].title, papers[name].abstract
    if not isinstance(text, str) or not isinstance(title, str) or not clean(title + text):
        raise bad(path, line, 'has no "text", and its "id" names no paper of the set')
    entities, triples = record.get("entities"), record.get("triples")
    if not isinstance(entities, list) or not all(isinstance(entity, str) for entity in entities):
        raise bad(path, line, '"entities" must be a list of texts')
    if not isinstance(triples, list) or not all(_is_triple(triple) for triple in triples):
        raise bad(path, line, '"triples" must be a list of [subject, relation, object]')
    case = PassageCase(
        name,
        clean(title),
        clean(text),
        tuple(dict.fromkeys(clean(entity) for entity in entities if clean(entity))),
        tuple(dict.fromkeys(Fact(*map(clean, triple)) for triple in triples)),
    )
    return LabelledPassage(case, str(record.get("split") or ""))


def _is_triple(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 3
        and all(isinstance(part, str) and clean(part) for part in value)
    )
