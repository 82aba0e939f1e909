"""From the store's papers to a published snapshot: extract, embed, derive, publish; only what is new."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hippo_lit import corpus
from hippo_lit.corpus import CorpusParts, Indexed
from hippo_lit.derived import Before, Recipe, derived, word_indexes, write
from hippo_lit.errors import FormatVersionError, IndexCorruptError
from hippo_lit.extraction import Extracted, Extracting, ExtractionRun, Progress, silent
from hippo_lit.passages import passage_hash, passages_of, sentence_places
from hippo_lit.protocols import FactExtractor, PartEmbedder
from hippo_lit.snapshot import FORMAT, Snapshot
from hippo_lit.storage.publish import SNAPSHOTS, open_current, publish, sweep
from hippo_lit.storage.ragged import runs_of
from hippo_lit.storage.seal import damage
from hippo_lit.storage.store import Store
from hippo_lit.text import content_hash
from hippo_lit.types import Paper, Passage

_AGAIN = "-r"  # after the name of a state that is made again, with a number
_FEW = 0.1  # share of the papers up to which each is read by itself


@dataclass(frozen=True, slots=True)
class Built:
    """What `Indexer.build` did. `published` is False where the current snapshot was up to date.

    `failed` passages were tried in vain, `left` ones were not tried, for the reason in `stopped`; both are
    indexed without facts and taken up by the next run. `degraded`: it stopped because a model or an account
    failed. `pending`: batch jobs were submitted whose replies will come. `notes` tell what else was done.
    """

    snapshot: str
    published: bool
    papers: int = 0
    passages: int = 0
    extracted: int = 0
    failed: int = 0
    failures: tuple[str, ...] = ()
    left: int = 0
    stopped: str = ""
    degraded: bool = False
    pending: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    """The papers there are to be, as (id, fingerprint) by ascending id; for each its row in the last snapshot
    (-1: its parts must be made); and those that must be made.
    """

    papers: Sequence[tuple[str, str]]
    rows: NDArray[np.int64]
    fresh: Sequence[Indexed]

    def failed(self, old: CorpusParts | None) -> list[str]:
        """The passages without facts since their extraction failed, by hash; each once, ascending."""
        rows = (pair for each in self.fresh for pair in zip(each.hashes, each.found, strict=True))
        failed = {text_hash for text_hash, found in rows if found is None}
        return sorted(failed.union(old.failed_hashes(self.rows[self.rows >= 0]) if old else ()))

    def passages(self, old: CorpusParts | None) -> int:
        kept = np.diff(old.first_passage)[self.rows[self.rows >= 0]].sum() if old else 0
        return sum(len(each.passages) for each in self.fresh) + int(kept)


@dataclass(slots=True)
class Indexer:
    """Turns what the store holds into the next snapshot of `folder`.

    The result depends on the papers, the models and the recipe alone, not on the order or the number of
    steps in which papers arrived. Papers that the last snapshot holds as they are now are neither read nor
    cut, embedded or searched for names again, unless it was built with other models or another recipe.
    A passage whose extraction fails is recorded, tried again by the next run, and meanwhile indexed without
    facts.
    """

    folder: Path
    store: Store
    embedder: PartEmbedder
    extractor: FactExtractor
    recipe: Recipe
    progress: Progress = field(default=silent)
    extraction: Extracting | None = None
    """How facts are got; by default from `extractor`, a call at a time."""

    def build(self, *, rebuild: bool = False) -> Built:
        """Bring the snapshot up to date; with `rebuild` make it anew although it seems to be.

        Raises ModelError, StoreError.
        """
        current, damaged = (None, True) if rebuild else self._current()
        known = self._known(current)
        papers = list(self.store.fingerprints())
        rows = _rows(papers, known[0] if known else None)
        spoilt = self._spoilt(current, known[0], rows) if known and current else ""
        if spoilt:
            known, rows = None, _rows(papers, None)
        old = known[0] if known else None
        plan, facts = self._plan(papers, rows, old)
        if spoilt:
            facts = replace(facts, notes=(f"all is made anew: {spoilt}", *facts.notes))
        failed = plan.failed(old)
        state = self._state(plan, failed)
        new = current is None or current.name.partition(_AGAIN)[0] != state
        built = _built(state, facts, published=new, papers=len(plan.papers), passages=plan.passages(old))
        if not new:
            return built
        # All that can fail for another reason than the disk comes before anything is written.
        fill = self._filled(plan, current, known, len(failed))
        # What is made again takes a name of its own: until it is there, what is there serves.
        publish(self.folder, self._unused(state) if damaged else state, fill)
        sweep(self.folder)
        return built

    def _unused(self, state: str) -> str:
        names = (f"{state}{_AGAIN}{number}" for number in count(1))
        return next(name for name in names if not (self.folder / SNAPSHOTS / name).exists())

    def _current(self) -> tuple[Snapshot | None, bool]:
        """The current snapshot, and whether there is one that cannot be read.

        Raises FormatVersionError where a newer version wrote it, and still serves from it.
        """
        try:
            return open_current(self.folder, Snapshot), False
        except (FormatVersionError, IndexCorruptError) as error:
            if (error.fields.get("found") or 0) > FORMAT:
                raise
            return None, True

    def _known(self, current: Snapshot | None) -> tuple[CorpusParts, corpus.Kept] | None:
        """What can be taken over from a snapshot: nothing where other models or another recipe made it."""
        if current is None:
            return None
        about = current.about
        made_with = (about["embedder"], about["extractor"], about["recipe"])
        if made_with != (self.embedder.space, self.extractor.name, self.recipe.describe()):
            return None
        try:
            return corpus.read(current)
        except (FormatVersionError, IndexCorruptError):
            return None  # what is damaged is made anew

    def _state(self, plan: _Plan, failed: Sequence[str]) -> str:
        """The snapshot's name: equal for equal content, models, recipe and failed passages, however they
        failed.
        """
        fingerprints = [f"{paper_id} {digest}" for paper_id, digest in plan.papers]
        recipe = json.dumps(self.recipe.describe(), sort_keys=True)
        parts = [str(FORMAT), self.embedder.space, self.extractor.name, recipe, *fingerprints, *failed]
        return f"s-{len(plan.papers)}-{content_hash(*parts)[:16]}"

    # -- what is new

    def _spoilt(self, current: Snapshot, old: CorpusParts, rows: NDArray[np.int64]) -> str:
        """What is damaged in a snapshot from which something is to be carried over; "" where nothing is.

        What is written anew gets checksums of its own, so that damage would pass for what was written.
        """
        there = rows[rows >= 0]
        if len(there) == len(rows) == len(old) and not old.failed.any():
            return ""  # nothing to do
        return next(iter(damage(current.folder)), "") if len(there) else ""

    def _plan(
        self, papers: Sequence[tuple[str, str]], rows: NDArray[np.int64], old: CorpusParts | None
    ) -> tuple[_Plan, Extracted]:
        """What has to be made of the papers, given with their `_rows`; and how the extraction went.

        Papers with a passage that failed before are tried again, and made anew where that changed anything.
        """
        retried = np.zeros(len(papers), dtype=np.bool_)
        if old is not None:
            there = rows >= 0
            retried[there] = old.has_failed()[rows[there]]
        asked = np.flatnonzero((rows < 0) | retried)
        read = [
            (self._passages(paper), paper) for paper in self._read([papers[i][0] for i in asked.tolist()])
        ]
        flat = [passage for passages, _ in read for passage in passages]
        hashes = [passage_hash(passage) for passage in flat]
        extraction = self.extraction or ExtractionRun(self.store, self.extractor, self.progress)
        facts = extraction.run(flat, hashes)
        fresh, rest = [], iter(hashes)
        for i, (passages, paper) in zip(asked.tolist(), read, strict=True):
            theirs = list(islice(rest, len(passages)))
            outcomes = [facts.done.get(text_hash) for text_hash in theirs]
            if old is not None and rows[i] >= 0:
                if old.failures_of(int(rows[i])) == [outcome is None for outcome in outcomes]:
                    continue
                rows[i] = -1
            fresh.append(Indexed(paper, papers[i][1], passages, theirs, outcomes))
        return _Plan(papers, rows, fresh), facts

    def _read(self, ids: Sequence[str]) -> list[Paper]:
        """Papers by ascending id; as a stream where they are many."""
        if len(ids) <= _FEW * len(self.store):
            papers = [self.store.paper(paper_id) for paper_id in ids]
            found = [paper for paper in papers if paper is not None]
            if [paper.id for paper in found] == list(ids):
                return found
        wanted = set(ids)
        return [paper for paper in self.store.papers() if paper.id in wanted]

    def _passages(self, paper: Paper) -> list[Passage]:
        return passages_of(paper, self.recipe.passage_chars)

    # -- making it

    def _filled(
        self,
        plan: _Plan,
        current: Snapshot | None,
        known: tuple[CorpusParts, corpus.Kept] | None,
        failed: int,
    ) -> Callable[[Path], None]:
        """What fills the new snapshot's folder, everything computed."""
        fresh = self._make(plan.fresh, known[0] if known else None)
        self.progress("graph", 0, 1)
        parts, before = fresh, None
        if known is not None and current is not None:
            pieces = runs_of(plan.rows)
            parts, gathered, passages = corpus.gather(known[0], fresh, pieces)
            before = Before(current, *known, fresh, pieces, passages, gathered)
        made = derived(parts, before, self.embedder, self.recipe)
        self.progress("graph", 1, 1)
        self.progress("words", 0, 1)
        texts = [passage.text for each in plan.fresh for passage in each.passages]
        words = word_indexes([each.paper for each in plan.fresh], texts, before, self.recipe)
        self.progress("words", 1, 1)
        about = {
            "embedder": self.embedder.space,
            "dim": int(parts.passage_vectors[0].shape[1]),
            "extractor": self.extractor.name,
            "passage_chars": self.recipe.passage_chars,
            "recipe": self.recipe.describe(),
            "failures": failed,
        }
        return lambda target: write(target, parts, made, words, about, self.recipe.edge_weights)

    def _make(self, papers: Sequence[Indexed], old: CorpusParts | None) -> CorpusParts:
        """The parts of new papers, their passages and sentences embedded."""
        passages = [passage for each in papers for passage in each.passages]
        spans = [sentence_places(passage) for passage in passages]
        texts = [passage.text for passage in passages]
        self.progress("embed", 0, len(texts))
        if texts or old is None:
            vectors, of_sentences = self.embedder.embed_parts(
                texts, spans, progress=lambda done, total: self.progress("embed", done, total)
            )
        else:  # nothing to ask the model, which need not even be loaded
            vectors = of_sentences = old.passage_vectors[0][:0]
        return corpus.make(papers, map(len, spans), vectors, of_sentences)


def _rows(papers: Sequence[tuple[str, str]], old: CorpusParts | None) -> NDArray[np.int64]:
    """The row of each paper, given as (id, fingerprint), in the old parts; -1 where it is new or changed."""
    if old is None:
        return np.full(len(papers), -1, dtype=np.int64)
    digests = old.fingerprints.tobytes().hex()
    known = {paper_id: row for row, paper_id in enumerate(old.ids)}
    found = (known.get(paper_id, -1) for paper_id, _ in papers)
    same = (
        row if row >= 0 and digests[32 * row : 32 * row + 32] == digest else -1
        for row, (_, digest) in zip(found, papers, strict=True)
    )
    return np.fromiter(same, dtype=np.int64, count=len(papers))


def _built(state: str, facts: Extracted, *, published: bool, papers: int, passages: int) -> Built:
    return Built(
        state,
        published,
        papers,
        passages,
        extracted=facts.new,
        failed=len(facts.failures),
        failures=facts.failures,
        left=facts.left,
        stopped=facts.stopped,
        degraded=facts.degraded,
        pending=facts.pending,
        notes=facts.notes,
    )
