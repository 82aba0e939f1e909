"""What works on this machine with these settings, and what to do about what does not.

A check that fails is one that the settings need; what only other settings would need is a warning. Nothing
here raises for what it finds, and nothing prints a key.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal

from hippo_lit.about import IndexDescription, describe_index
from hippo_lit.assemble import make_chat, make_embedder, make_extractor
from hippo_lit.config import Settings, load_settings
from hippo_lit.errors import ChatModelError, HippoLitError
from hippo_lit.llm.prompts import load_instruction, load_prompt
from hippo_lit.protocols import Embedder
from hippo_lit.resources import configs_dir, prompts_dir
from hippo_lit.storage.batches import LEDGER, awaited
from hippo_lit.storage.cache import Cache
from hippo_lit.types import Message, Passage

Status = Literal["ok", "warning", "fail"]
CALL_S = 10.0
MIN_FREE_BYTES = 1_000_000_000
_OLDEST_PYTHON = (3, 11)
_LOCAL = "sentence-transformers"
_KEY_ADVICE = "Set it to a key for this server, or set base_url to a server that needs none."
_LLM_ADVICE = 'Set llm.kind = "openai" with llm.model and, for a server of your own, llm.base_url.'
_SAMPLE = Passage("sample", 0, "A sample", "Sparse attention reduces the cost of long inputs.")


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: what was looked at, how it is, in words, and what to do about it ("" for nothing)."""

    name: str
    status: Status
    detail: str
    advice: str = ""


def examine(settings: Settings, index: str | Path | None = None) -> Iterator[Check]:
    """Every check, one after the other; the model ones load models and may call servers."""
    yield _python()
    yield _packages()
    yield _checked("configs", _configs)
    yield _checked("prompts", lambda: _prompts(settings))
    embedder: list[Embedder] = []
    yield _checked("embedder", lambda: _embedder(settings, embedder))
    yield _checked("extractor", lambda: _extractor(settings))
    if settings.extract.kind != "spacy" and "spacy" not in _rules_in_use(settings):
        yield _checked("spaCy model", _spacy, failed="warning")
    if settings.embedding.model != "minilm" or settings.embedding.kind != "sentence-transformers":
        yield _checked("embedded model", _embedded, failed="warning")
    needed = "llm" in (settings.extract.kind, settings.filter.kind)
    yield _checked(
        "LLM endpoint", lambda: _endpoint(settings, needed), failed="fail" if needed else "warning"
    )
    if index is not None:
        yield from _index(Path(index).expanduser(), settings, embedder[0] if embedder else None)


def _checked(name: str, check: Callable[[], Check], *, failed: Status = "fail") -> Check:
    """The check, or what it raised as a finding."""
    try:
        return check()
    except HippoLitError as error:
        return Check(name, failed, error.message)


def _python() -> Check:
    version = platform.python_version()
    detail = (
        f"{version} ({sys.implementation.name}) on {platform.system()} {platform.machine()}, {_cpus()} CPUs"
    )
    if sys.version_info < _OLDEST_PYTHON:
        oldest = ".".join(map(str, _OLDEST_PYTHON))
        return Check("Python", "fail", detail, f"Install Python {oldest} or newer.")
    return Check("Python", "ok", detail)


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _packages() -> Check:
    """Versions of what hippo-lit requires, as its own metadata lists it."""
    try:
        required = importlib.metadata.requires("hippo-lit") or []
    except importlib.metadata.PackageNotFoundError:
        return Check("packages", "warning", "hippo-lit itself is not installed", "Run: pip install -e .")
    found, missing = [], []
    for requirement in required:
        if "extra ==" in requirement:
            continue
        name = _project(requirement)
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check("packages", "fail", f"missing: {', '.join(missing)}", "Run: pip install hippo-lit")
    return Check(
        "packages", "ok", ", ".join([f"hippo-lit {importlib.metadata.version('hippo-lit')}", *found])
    )


def _project(requirement: str) -> str:
    """The name at the beginning of a requirement such as "numpy>=2.0"."""
    end = next((i for i, c in enumerate(requirement) if not (c.isalnum() or c in "-_.")), len(requirement))
    return requirement[:end]


def _configs() -> Check:
    folder = configs_dir()
    files = sorted(folder.glob("*.toml"))
    for file in files:
        load_settings(file, environ={})
    return Check("configs", "ok", f"{', '.join(file.stem for file in files)} in {folder}")


def _prompts(settings: Settings) -> Check:
    """The prompts that runs take: with `prompts.path` all of them from there."""
    folder = prompts_dir(settings.prompts.path)
    names = sorted({"extract", "fact_filter"} | {path.parent.name for path in folder.glob("*/system.md")})
    for name in names:
        load_prompt(folder / name)
    instructions = ["query_to_fact", "query_to_passage"]
    for name in instructions:
        load_instruction(folder / f"{name}.md")
    return Check("prompts", "ok", f"{', '.join(names + instructions)} in {folder}")


def _embedder(settings: Settings, made: list[Embedder]) -> Check:
    """Embeds one text, twice: the first time loads the model."""
    chosen = settings.embedding
    if chosen.kind == "openai" and not os.environ.get(chosen.api_key_env) and not chosen.base_url:
        return Check(
            "embedder", "fail", f"the environment variable {chosen.api_key_env} is not set", _KEY_ADVICE
        )
    embedder = make_embedder(settings)
    began = perf_counter()
    embedder.embed([_SAMPLE.text], "passage")
    loaded = perf_counter()
    embedder.embed(["another text"], "passage")
    done = perf_counter()
    made.append(embedder)
    times = f"ready in {loaded - began:.1f} s, then {1000 * (done - loaded):.0f} ms a text"
    checked = "; weights are the published ones" if chosen.model == "minilm" and chosen.kind == _LOCAL else ""
    return Check("embedder", "ok", f"{embedder.name}, {embedder.dim} dimensions{checked}; {times}")


def _extractor(settings: Settings) -> Check:
    kind = settings.extract.kind
    if kind == "llm":
        detail = f"by the chat model, names by {settings.extract.names_from}"
        if "spacy" in _rules_in_use(settings):
            detail += f" ({_spacy().detail})"
        return Check("extractor", "ok", detail)
    if kind == "imported":
        detail = f"facts imported as {settings.extract.imported}, names by {settings.extract.names_from}"
        return Check("extractor", "ok", detail)
    extractor = make_extractor(settings, None, Cache(None))
    began = perf_counter()
    for outcome in extractor.extract([_SAMPLE]):
        if isinstance(outcome, Exception):
            return Check("extractor", "fail", str(outcome))
    return Check("extractor", "ok", f"{extractor.name}; ready in {perf_counter() - began:.1f} s")


def _rules_in_use(settings: Settings) -> tuple[str, ...]:
    if settings.extract.kind in ("llm", "imported"):
        return (settings.extract.names_from,)
    return (settings.extract.kind,)


def _spacy() -> Check:
    from hippo_lit.extract.spacy_model import find_model

    model = find_model()
    model.check()
    return Check("spaCy model", "ok", f"{model.name}, files as they were checked")


def _embedded() -> Check:
    from hippo_lit.models.weights import EMBEDDED_NAME, embedded_folder

    embedded_folder()
    return Check("embedded model", "ok", f"{EMBEDDED_NAME}; weights are the published ones; not in use")


def _endpoint(settings: Settings, needed: bool) -> Check:
    """One tiny call, tried once."""
    name, chosen = "LLM endpoint", settings.llm
    patient = {"timeout_s": CALL_S, "deadline_s": CALL_S, "max_attempts": 1}
    quick = chosen.model_copy(update=patient | {"max_tokens": min(chosen.max_tokens, 256)})
    chat = make_chat(settings.model_copy(update={"llm": quick}))
    if chat is None:
        if needed:
            return Check(
                name, "fail", "none is set, but the settings extract or filter with one", _LLM_ADVICE
            )
        return Check(name, "ok", "none is set, and these settings need none")
    has_key = bool(os.environ.get(chosen.api_key_env, "").strip())
    key = f"the key variable {chosen.api_key_env} is {'set' if has_key else 'not set'}"
    began = perf_counter()
    try:
        chat.complete([Message("user", "Answer with the word yes.")])
    except ChatModelError as error:
        if error.kind != "truncated":  # it answers, only at length
            return Check(name, "fail" if needed else "warning", f"{key}. {error.message}")
    unpriced = None in (chosen.price_in_per_million, chosen.price_out_per_million)
    advice = (
        "To see what calls cost, set llm.price_in_per_million and llm.price_out_per_million."
        if unpriced
        else ""
    )
    detail = f"{chosen.model} answered in {perf_counter() - began:.1f} s; {key}"
    return Check(name, "ok", detail, advice)


def _index(folder: Path, settings: Settings, embedder: Embedder | None) -> Iterator[Check]:
    try:
        described = describe_index(folder)
    except HippoLitError as error:
        yield Check("index", "fail", error.message)
        return
    if not described.snapshot:
        advice = "Run the index command; what was done is kept."
        yield Check("index", "fail", f"{folder} holds {described.stored:,} papers, not indexed yet", advice)
        return
    yield _contents(described)
    if embedder is not None:
        yield _same_embedder(described, embedder)
    yield _checked("index's extractor", lambda: _same_extractor(described, settings), failed="warning")
    if (folder / LEDGER).is_file():
        yield _checked("batch jobs", lambda: _batches(folder))
    yield _room(folder)


def _contents(described: IndexDescription) -> Check:
    detail = f"{described.papers:,} papers, {described.facts:,} facts, read without error"
    if described.failures:
        detail += f"; {len(described.failures):,} passages have no facts since their extraction failed"
        return Check("index", "warning", detail, "Run the index command again: it tries them once more.")
    if described.stored != described.papers:
        advice = "Run the index command again to bring it up to date."
        return Check("index", "warning", f"{detail}; the store has {described.stored:,} papers", advice)
    return Check("index", "ok", detail)


def _same_embedder(described: IndexDescription, embedder: Embedder) -> Check:
    name, space = "index's embedder", str(getattr(embedder, "space", embedder.name))
    if space == described.embedder:
        return Check(name, "ok", f"{space}, as the settings say")
    advice = "Use the settings it was built with, or run the index command with the new ones to embed again."
    return Check(
        name, "fail", f"the index has vectors of {described.embedder}, the settings name {space}", advice
    )


def _same_extractor(described: IndexDescription, settings: Settings) -> Check:
    extractor = make_extractor(settings, make_chat(settings), Cache(None)).name
    if extractor == described.extractor:
        return Check("index's extractor", "ok", f"{extractor}, as the settings say")
    detail = f"the index has facts by {described.extractor}, the settings name {extractor}"
    return Check(
        "index's extractor", "warning", detail, "Searching works; the next index run extracts all again."
    )


def _batches(folder: Path) -> Check:
    out = len(awaited(folder))
    advice = "Run hippo-lit index --batch on it: that collects them when they are there." if out else ""
    return Check("batch jobs", "ok", f"{out:,} replies are awaited", advice)


def _room(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1e9:,.1f} GB free"
    if not os.access(folder, os.W_OK):
        advice = "Searching works. To add papers, get the right to write there, or copy it."
        return Check("index folder", "warning", f"{folder} cannot be written; {detail}", advice)
    if free < MIN_FREE_BYTES:
        return Check("index folder", "warning", detail, "Free some space before adding papers.")
    return Check("index folder", "ok", f"can be written; {detail}")
