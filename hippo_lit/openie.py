"""Extractions that were made elsewhere, brought into an index: `hippo-lit import-openie`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from hippo_lit.api import HippoLit
from hippo_lit.errors import ConfigError, DataError
from hippo_lit.extract.imported import imported_name
from hippo_lit.extract.spans import SentenceFinder
from hippo_lit.passages import passage_hash, passages_of
from hippo_lit.sentences import split_sentences
from hippo_lit.sources.openie import OpenieRecord, read_openie
from hippo_lit.text import clean, content_hash
from hippo_lit.types import Extraction, Fact, Mention, Paper, Passage

_BATCH = 500
MAX_PROBLEMS = 100


@dataclass(slots=True)
class ImportReport:
    """What came of a file: records = imported + unchanged + conflicts + skipped.

    `conflicts`: under this name the index has other facts of that text, which were kept. `dropped` counts
    malformed triples and entities by kind. `problems` are the first 100 skipped records.
    """

    name: str
    records: int = 0
    imported: int = 0
    unchanged: int = 0
    conflicts: int = 0
    skipped: int = 0
    papers_added: int = 0
    facts: int = 0
    entities: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def skip(self, problem: str) -> None:
        self.skipped += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


def import_openie(
    lit: HippoLit,
    file: Path,
    *,
    name: str | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> ImportReport:
    """Store the extractions of `file`, and the papers that the index does not hold, under `name`.

    The name is `extract.imported` where none is given. An index is built on them with
    `extract.kind = "imported"`. What was imported once under a name stays: equal names mean equal facts.
    Each batch is one transaction, so that a file that breaks off leaves what stands before. Raises
    DataError for a wrong or half-written file, StoreError, IndexLockedError.
    """
    chosen = name if name is not None else lit.settings.extract.imported
    extractor = imported_name(_checked(chosen))
    known = {_content(paper) for paper in lit.store.papers()}
    report = ImportReport(chosen)
    for batch in _batches(read_openie(file)):
        found: list[tuple[OpenieRecord, Paper]] = []
        fresh: list[Paper] = []
        for record in batch:
            report.records += 1
            if isinstance(record, DataError):
                report.skip(record.message)
                continue
            report.dropped = dict(Counter(report.dropped) + Counter(record.dropped))
            paper = record.paper or lit.store.paper(record.id)
            if paper is None:
                report.skip(f"{record.id}: it has no text, and the index holds no such paper")
                continue
            if record.paper is not None and _content(paper) not in known:
                known.add(_content(paper))
                fresh.append(paper)
            found.append((record, paper))
        report.papers_added += lit.put(fresh).added if fresh else 0
        with lit.writing():
            _keep(lit, extractor, found, report)
        progress(report.records)
    return report


def _keep(
    lit: HippoLit, extractor: str, found: Iterable[tuple[OpenieRecord, Paper]], report: ImportReport
) -> None:
    items: dict[str, Extraction] = {}
    by_record = [(record, _extractions(record, paper, lit)) for record, paper in found]
    before = lit.store.extractions(extractor, [h for _, parts in by_record for h in parts])
    for record, parts in by_record:
        there = before | items
        if all(there.get(text_hash) == part for text_hash, part in parts.items()):
            report.unchanged += 1
        elif any(text_hash in there for text_hash in parts):
            report.conflicts += 1
        else:
            items |= parts
            report.imported += 1
            report.facts += len(record.facts)
            report.entities += len(record.entities)
    lit.store.put_extractions(extractor, items.items())


def _extractions(record: OpenieRecord, paper: Paper, lit: HippoLit) -> Mapping[str, Extraction]:
    """The record's share of each passage of the paper, by passage hash."""
    passages = passages_of(paper, lit.settings.extract.passage_chars)
    if len(passages) == 1:
        return {passage_hash(passages[0]): _placed(passages[0], record.entities, record.facts)}
    whole = SentenceFinder(passages[0].title, clean(paper.abstract))
    ends = np.cumsum([len(split_sentences(passage.body)) for passage in passages])

    def owner(*texts: str) -> int:
        """The passage that holds the sentence; the first one for what stands in the title or nowhere."""
        return min(int(np.searchsorted(ends, whole.find(*texts), side="right")), len(passages) - 1)

    entities = [(owner(name), name) for name in record.entities]
    facts = [(owner(fact.subject, fact.object, fact.relation), fact) for fact in record.facts]
    return {
        passage_hash(passage): _placed(
            passage, [name for at, name in entities if at == n], [fact for at, fact in facts if at == n]
        )
        for n, passage in enumerate(passages)
    }


def _placed(passage: Passage, entities: Iterable[str], facts: Iterable[Fact]) -> Extraction:
    finder = SentenceFinder(passage.title, passage.body)
    stated = tuple(facts)
    return Extraction(
        tuple(Mention(name, finder.find(name)) for name in entities),
        stated,
        tuple(finder.find(fact.subject, fact.object, fact.relation) for fact in stated),
    )


def _content(paper: Paper) -> str:
    return content_hash(clean(paper.title), clean(paper.abstract))


def _checked(name: str) -> str:
    from hippo_lit.config import validate

    try:
        return validate({"extract": {"imported": name}}).extract.imported
    except ConfigError as error:
        raise ConfigError(
            f"{name!r} is no name for imported facts: letters, digits, '.', '_' and '-'", key="name"
        ) from error


def _batches(records: Iterator[OpenieRecord | DataError]) -> Iterator[list[OpenieRecord | DataError]]:
    """Batches; where the file breaks off, first what stands before, then its error."""
    while True:
        batch: list[OpenieRecord | DataError] = []
        try:
            batch.extend(islice(records, _BATCH))
        except DataError:
            # `extend` keeps what came before the error.
            if batch:
                yield batch
            raise
        if not batch:
            return
        yield batch
