"""What an index holds, and what it knows of one paper. Needs no models: any readable index will do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hippo_lit.assemble import CACHE, make_recipe
from hippo_lit.config import Settings
from hippo_lit.errors import DataError
from hippo_lit.merge import Provenance, merge_papers, provenance
from hippo_lit.passages import passage_hash
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.batches import LEDGER
from hippo_lit.storage.publish import SNAPSHOTS, open_current
from hippo_lit.storage.store import STORE_FILE, Store
from hippo_lit.types import Fact, Paper, Passage


@dataclass(frozen=True, slots=True)
class Failure:
    """A passage whose extraction failed: the paper's `passage`-th, from 0.

    `paper_id` is "" and `passage` None where no paper has that text any more.
    """

    paper_id: str
    passage: int | None
    reason: str
    attempts: int


@dataclass(frozen=True, slots=True)
class IndexDescription:
    """What an index holds and what it was built with.

    `stored` counts the papers in the store, `papers` those that retrieval sees; they differ while a run was
    interrupted. `untried` counts texts without facts that were not asked about yet (budget or account
    ended, batch jobs are out). `recipe_changes` maps what differs from the default recipe to
    (value, default). `bytes_on_disk` is by part. Without a published snapshot (`snapshot` is "") all
    but `stored` and `bytes_on_disk` is empty.
    """

    path: str
    stored: int
    bytes_on_disk: Mapping[str, int]
    snapshot: str = ""
    papers: int = 0
    passages: int = 0
    sentences: int = 0
    entities: int = 0
    facts: int = 0
    citations: int = 0
    edges: Mapping[str, int] | None = None
    embedder: str = ""
    dimensions: int = 0
    extractor: str = ""
    recipe: Mapping[str, Any] | None = None
    recipe_changes: Mapping[str, tuple[Any, Any]] | None = None
    failures: tuple[Failure, ...] = ()
    untried: int = 0


@dataclass(frozen=True, slots=True)
class PaperDescription:
    """A paper and what the index knows of it.

    `facts` come in the order of the text, each with the sentence that states it. `cites` and `cited_by`
    are papers of the index; the ids of others stand under `cites_outside` and `cited_by_outside`.
    `provenance` says for each field who gave it and who contradicts; `views` are what each record gave;
    `kept_apart` are papers that share an identifier but are not the same: (identifier, paper's id, why).
    """

    paper: Paper
    facts: tuple[tuple[str, Fact], ...]
    cites: tuple[Paper, ...]
    cited_by: tuple[Paper, ...]
    cites_outside: tuple[str, ...]
    cited_by_outside: tuple[str, ...]
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    views: tuple[Paper, ...] = ()
    kept_apart: tuple[tuple[str, str, str], ...] = ()


def describe_index(folder: str | Path) -> IndexDescription:
    """Counts, models, sizes, failures. Raises IndexNotFoundError, IndexCorruptError, FormatVersionError."""
    path = Path(folder).expanduser()
    with Store.open(path, read_only=True) as store:
        stored = len(store)
        snapshot = open_current(path, Snapshot)
        if snapshot is None:
            return IndexDescription(str(path), stored, sizes(path))
        about, graph = snapshot.about, snapshot.graph
        default = make_recipe(Settings()).describe()
        recipe = dict(about["recipe"])
        failures, untried = _failures(store, snapshot)
        return IndexDescription(
            str(path),
            stored,
            sizes(path),
            snapshot.name,
            papers=len(snapshot),
            passages=graph.n_passages,
            sentences=int(graph.sentence_start[-1]),
            entities=graph.n_entities,
            facts=graph.n_facts,
            citations=snapshot.citations.edge_count,
            edges={kind: len(edges.source) for kind, edges in graph.edges.items()},
            embedder=about["embedder"],
            dimensions=about["dim"],
            extractor=about["extractor"],
            recipe=recipe,
            recipe_changes={
                key: (value, default.get(key)) for key, value in recipe.items() if value != default.get(key)
            },
            failures=failures,
            untried=untried,
        )


def describe_paper(folder: str | Path, paper_id: str) -> PaperDescription:
    """A paper of the index, by any of its names. Raises DataError, with similar ids, where there is none."""
    path = Path(folder).expanduser()
    with Store.open(path, read_only=True) as store:
        snapshot = open_current(path, Snapshot)
        number = snapshot.find(paper_id) if snapshot is not None else None
        views = tuple(store.versions(paper_id))
        kept_apart = tuple(store.kept_apart(paper_id))
    known = provenance(views) if views else {}
    if snapshot is None or number is None:
        if not views:
            raise _unknown(path, paper_id, snapshot.paper_ids if snapshot is not None else ())
        paper = merge_papers(views)  # one that is stored, but not indexed yet, has no more to tell
        return PaperDescription(
            paper, (), (), (), paper.references, paper.citations, known, views, kept_apart
        )
    paper = snapshot.paper(number)
    cites, cited_by = snapshot.citations.forward(paper.id), snapshot.citations.backward(paper.id)
    return PaperDescription(
        paper,
        tuple(snapshot.facts_of(number)),
        _papers(snapshot, cites),
        _papers(snapshot, cited_by),
        tuple(other for other in paper.references if snapshot.find(other) is None),
        tuple(other for other in paper.citations if snapshot.find(other) is None),
        known,
        views,
        kept_apart,
    )


def similar_ids(paper_id: str, ids: Sequence[str], most: int = 5) -> list[str]:
    """Ids a person may have meant: the same in other case; else those that contain it, then close ones."""
    wanted = paper_id.casefold()
    known: dict[str, list[str]] = {}
    for other in ids:
        known.setdefault(other.casefold(), []).append(other)
    if wanted in known:
        return known[wanted][:most]
    within = [text for text in known if wanted and wanted in text]
    close = difflib.get_close_matches(wanted, known, n=most)
    chosen = dict.fromkeys([*within, *close])
    return [other for text in chosen for other in known[text]][:most]


def _unknown(path: Path, paper_id: str, ids: Sequence[str]) -> DataError:
    close = similar_ids(paper_id, ids)
    hint = f"; similar ids: {', '.join(close)}" if close else ""
    return DataError(f"{path} holds no paper {paper_id!r}{hint}", path=str(path), line=None, similar=close)


def _papers(snapshot: Snapshot, ids: Iterable[str]) -> tuple[Paper, ...]:
    numbers = (snapshot.find(paper_id) for paper_id in ids)
    return tuple(snapshot.paper(number) for number in numbers if number is not None)


def _failures(store: Store, snapshot: Snapshot) -> tuple[tuple[Failure, ...], int]:
    """By paper and passage, where a text that several papers share stands once for each; and how many
    texts of the snapshot have no facts though nothing failed.
    """
    failed = store.failures(snapshot.about["extractor"])
    without_facts = int(snapshot.about["failures"])
    if not failed:
        return (), without_facts
    places: dict[str, list[Passage]] = {}
    wanted = {text_hash for text_hash, _, _ in failed}
    for passage in map(snapshot.passage, range(len(snapshot.passage_paper))):
        if (text_hash := passage_hash(passage)) in wanted:
            places.setdefault(text_hash, []).append(passage)
    found = [
        Failure(passage.paper_id, passage.number, reason, attempts)
        for text_hash, reason, attempts in failed
        for passage in places.get(text_hash, ())
    ]
    gone = [Failure("", None, reason, n) for text_hash, reason, n in failed if text_hash not in places]
    found.sort(key=lambda failure: (failure.paper_id, failure.passage or 0))
    return (*found, *gone), max(0, without_facts - len(places))


def sizes(path: Path) -> dict[str, int]:
    """Bytes on disk of each part of an index."""
    return {
        "store": _size(path.glob(f"{STORE_FILE}*")),
        "cache": _size(path.glob(f"{CACHE}*")),
        "batches": _size(path.glob(f"{LEDGER}*")),
        "snapshots": _size((path / SNAPSHOTS).rglob("*")),
    }


def _size(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())
