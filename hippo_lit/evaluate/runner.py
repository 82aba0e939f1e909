"""Every system over every query: one index for all that can share it, nothing computed twice."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

from hippo_lit import __version__, assemble
from hippo_lit.answer.values import Answer
from hippo_lit.api import HippoLit
from hippo_lit.config import Settings
from hippo_lit.errors import ConfigError, HippoLitError, MissingExtraError, ModelError
from hippo_lit.evaluate.answering import answering_key, as_written, unanswered
from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.run import Answered, Run, RunInfo, answered
from hippo_lit.evaluate.saved import RunFolder
from hippo_lit.evaluate.systems import System, index_key
from hippo_lit.extraction import Progress, silent
from hippo_lit.llm.parallel import map_bounded
from hippo_lit.llm.prompts import load_prompt
from hippo_lit.protocols import Embedder, TextKind
from hippo_lit.remembered import complete
from hippo_lit.resources import prompts_dir
from hippo_lit.storage.cache import Cache
from hippo_lit.text import content_hash

_LIBRARIES = ("numpy", "scipy", "igraph", "sentence-transformers", "torch", "spacy", "ir-measures")
VECTORS = "vectors.db"


def _nothing(label: str) -> None:
    """Nobody wants to know which runs were read."""


@dataclass(slots=True)
class Runner:
    """Runs systems over one data set.

    `store` is a folder that keeps indexes and one file of vectors and replies for all sets; `index` is an
    index of your own, queried as it is. `runs` is where answers are kept: a run that is there whole is
    read, an interrupted one goes on where it stopped, and what failed in one is tried again. `depth` is how
    many papers are ranked.
    """

    data: Dataset
    store: Path
    depth: int = 100
    runs: RunFolder | None = None
    index: Path | None = None
    progress: Progress = field(default=silent)
    on_reused: Callable[[str], None] = field(default=_nothing)
    prepare: Callable[[HippoLit], object] | None = None
    """Called for an index that has the papers, before it is built."""
    _embedders: dict[str, Embedder] = field(init=False, default_factory=dict)

    def run(self, systems: Sequence[System]) -> list[Run]:
        """One run for each system, in order. Raises ModelError, StoreError, ConfigError, DataError."""
        fingerprint = self.data.fingerprint
        keys = {system.label: self._key(system, fingerprint) for system in systems}
        done: dict[str, Run] = {}
        for system in systems:
            found = self.runs.finished(system.label, keys[system.label]) if self.runs else None
            if found is not None and _is_whole(system, found):
                done[system.label] = found
                self.on_reused(system.label)
        groups: dict[str, list[System]] = {}
        for system in systems:
            if system.label not in done:
                groups.setdefault(index_key(system.settings), []).append(system)
        for group in groups.values():
            with self.opened(group[0].settings) as (folder, embedder):
                self._embed_queries(embedder)
                for system in group:
                    info = self._info(system, keys[system.label], fingerprint)
                    settings = self._sharing(system.settings)
                    with HippoLit.open(folder, settings, read_only=True, embedder=embedder) as lit:
                        done[system.label] = self._one(lit, info, system)
        return [done[system.label] for system in systems]

    def _one(self, lit: HippoLit, info: RunInfo, system: System) -> Run:
        queries, snapshot = self.data.queries, lit.snapshot()
        state = snapshot.name if snapshot is not None else ""
        info = replace(info, snapshot=state)
        partial = self.runs.partial(info.label, info.key) if self.runs else {}
        # Answers from another state of the index do not belong to this run; what failed is tried again.
        answers = {query_id: a for query_id, a in partial.items() if a.snapshot == state and not a.degraded}
        with self._writing(info, list(answers.values())) as write:
            for answer in chain(self._rankings(lit, system, answers), self._in_words(lit, system, answers)):
                answers[answer.query_id] = answer
                write(answer)
        run = Run(info, tuple(queries), {query.id: answers[query.id] for query in queries})
        if self.runs is not None:
            self.runs.finish(run)
        return run

    @contextmanager
    def _writing(self, info: RunInfo, done: Sequence[Answered]) -> Iterator[Callable[[Answered], None]]:
        if self.runs is None:
            yield lambda _: None
            return
        with self.runs.writing(info, done) as writer:
            yield writer.add

    def _rankings(self, lit: HippoLit, system: System, known: Mapping[str, Answered]) -> Iterator[Answered]:
        missing = [query for query in self.data.queries if query.id not in known]
        for done, query in enumerate(missing, start=len(known) + 1):
            result = lit.retrieve(
                query.text, self.depth, system.mode, years=query.years, exclude=query.leave_out, explain=True
            )
            yield answered(query.id, result)
            self.progress(system.label, done, len(self.data.queries))

    def _in_words(self, lit: HippoLit, system: System, ranked: dict[str, Answered]) -> Iterator[Answered]:
        """What has no answer in words yet, with one; asked at once, since a model takes its time."""
        if not system.answers:
            return
        key = _answering_key(system)
        missing = unanswered(self.data.queries, ranked, key)

        def ask(query: Query) -> Answer:
            return lit.answer(query.text, mode=system.mode, years=query.years, exclude=query.leave_out)

        replies = map_bounded(ask, missing, system.settings.llm.concurrency)
        for done, (query, reply) in enumerate(zip(missing, replies, strict=True), start=1):
            if isinstance(reply, HippoLitError):
                raise reply
            yield replace(ranked[query.id], written=as_written(reply, key))
            self.progress(f"{system.label}: answers", done, len(missing))

    # -- the index

    @contextmanager
    def opened(self, settings: Settings) -> Iterator[tuple[Path, Embedder]]:
        """The folder of an index that serves `settings`, built where need be, and its queries' embedder."""
        self.store.mkdir(parents=True, exist_ok=True)
        sharing = self._sharing(settings)
        plain = self._embedder(settings)
        if self.index is not None:
            self._check_own(self.index, settings)
            folder = self.index
        else:
            folder = self.store / f"{self.data.corpus_fingerprint[:16]}.idx"
            with HippoLit.open(folder, sharing, embedder=plain) as lit:
                lit.put(self.data.papers)
                if self.prepare is not None:
                    self.prepare(lit)
                lit.build(progress=self.progress)
        with Cache(assemble.cache_path(sharing, self.store), on_write_error="skip") as cache:
            yield folder, assemble.cached(plain, cache)

    def _check_own(self, index: Path, settings: Settings) -> None:
        """Raises ConfigError where the settings ask for an index of another making."""
        with HippoLit.open(index, settings, create=False, read_only=True) as lit:
            snapshot = lit.snapshot()
            if snapshot is None:
                return  # the first query says so
            built, wanted = snapshot.about["recipe"], assemble.make_recipe(settings).describe()
            differing = sorted(name for name in wanted if built.get(name) != wanted[name])
        if differing:
            raise ConfigError(
                f"{index} was built with another {', '.join(differing)} than these settings name: give the"
                " settings it was built with, or evaluate without --index",
                key="index",
            )

    def _sharing(self, settings: Settings) -> Settings:
        """All of `settings`, whoever used the index last; with the store's file of vectors and replies,
        unless they name one.
        """
        if settings.cache.path is not None:
            return complete(settings)
        cache = settings.cache.model_copy(update={"path": self.store / VECTORS})
        return complete(settings.model_copy(update={"cache": cache}))

    def _embedder(self, settings: Settings) -> Embedder:
        """Made once for all systems that embed alike, since weights take seconds to load."""
        key = f"{settings.embedding.model_dump_json()} {settings.prompts.path}"
        if key not in self._embedders:
            self._embedders[key] = assemble.make_embedder(settings, settings.prompts.path)
        return self._embedders[key]

    def _embed_queries(self, embedder: Embedder) -> None:
        """All at once and before the clock runs; a failure shows up at the first query."""
        texts = [query.text for query in self.data.queries if query.text.strip()]
        kinds: tuple[TextKind, ...] = ("query_to_fact", "query_to_passage")
        with suppress(ModelError, MissingExtraError):
            for kind in kinds:
                embedder.embed(texts, kind)

    # -- what identifies a run

    def _key(self, system: System, fingerprint: str) -> str:
        prompts = prompt_hashes(system.settings.prompts.path)
        parts = (
            [f"{name} {digest}" for name, digest in prompts.items()]
            if system.settings.llm.kind != "none"
            else []
        )
        where = str(self.index.resolve()) if self.index else ""
        return content_hash(__version__, fingerprint, system.signature, str(self.depth), where, *parts)

    def _info(self, system: System, key: str, fingerprint: str) -> RunInfo:
        settings = system.settings
        return RunInfo(
            system.label,
            system.mode,
            self.data.name,
            fingerprint,
            key,
            self.depth,
            settings.model_dump(mode="json", exclude={"sources"}),
            prompt_hashes(settings.prompts.path),
            versions(),
            settings.llm.seed,
            datetime.now(UTC).isoformat(timespec="seconds"),
        )


def _is_whole(system: System, run: Run) -> bool:
    """Whether nothing of a run failed, and all is answered in words where the system is to do that."""
    if any(answer.degraded for answer in run.answers.values()):
        return False
    return not system.answers or not unanswered(run.queries, run.answers, _answering_key(system))


def _answering_key(system: System) -> str:
    return answering_key(system.settings, prompt_hashes(system.settings.prompts.path))


def prompt_hashes(prompts: Path | None = None) -> dict[str, str]:
    """A hash for each prompt folder and each one-line instruction, of the shipped ones or a folder's."""
    folder = prompts_dir(prompts)
    found = {path.stem: content_hash(path.read_text("utf-8")) for path in sorted(folder.glob("*.md"))}
    found |= {path.parent.name: load_prompt(path.parent).hash for path in sorted(folder.glob("*/system.md"))}
    return found


def versions() -> dict[str, str]:
    """Of hippo-lit, Python, and what can change a result; a library that is not installed is left out."""
    found = {"hippo-lit": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
