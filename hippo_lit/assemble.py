"""Settings to wired objects: the only module that names concrete backends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hippo_lit.config import Settings
from hippo_lit.errors import ConfigError
from hippo_lit.llm.prompts import Prompt, load_instruction, load_prompt
from hippo_lit.models.embed_cached import CachedEmbedder
from hippo_lit.protocols import ChatModel, Embedder, FactExtractor, FactFilter
from hippo_lit.resources import prompts_dir
from hippo_lit.storage.cache import Cache
from hippo_lit.tokenizers import tokenizer

if TYPE_CHECKING:
    from hippo_lit.batching import BatchRun
    from hippo_lit.derived import Recipe
    from hippo_lit.models.guard import Budget, Guard
    from hippo_lit.sources.live.services import Services
    from hippo_lit.storage.batches import BatchLedger
    from hippo_lit.storage.store import Store

CACHE = "cache.db"


@dataclass(frozen=True, slots=True)
class Parts:
    """What reading and writing the index in folder `path` is done with."""

    path: Path
    settings: Settings
    embedder: Embedder
    chat: ChatModel | None
    prompts: Path | None


def make_embedder(settings: Settings, prompts: Path | None = None) -> Embedder:
    """The embedder of `[embedding]`; its weights are loaded at the first use."""
    chosen = settings.embedding
    folder = prompts_dir(prompts)
    instructions = {
        name: load_instruction(folder / f"{name}.md") for name in ("query_to_fact", "query_to_passage")
    }
    style = cast(Any, chosen.style)
    match chosen.kind:
        case "sentence-transformers":
            from hippo_lit.models.embed_local import SentenceTransformerEmbedder

            return SentenceTransformerEmbedder(
                chosen.model,
                instructions=instructions,
                style=style,
                batch_size=chosen.batch_size,
                threads=chosen.threads,
            )
        case "openai":
            from hippo_lit.models.embed_openai import OpenAIEmbedder

            return OpenAIEmbedder(
                chosen.model,
                base_url=chosen.base_url,
                api_key_env=chosen.api_key_env,
                dimensions=chosen.dimensions,
                batch_size=chosen.batch_size,
                instructions=instructions,
                style=style,
            )
        case "hash":
            from hippo_lit.testing import HashEmbedder

            return HashEmbedder(chosen.dimensions or 64)


def cache_path(settings: Settings, index: Path) -> Path:
    """Where an index keeps vectors and replies."""
    return settings.cache.path.expanduser() if settings.cache.path else index / CACHE


def cached(embedder: Embedder, cache: Cache) -> CachedEmbedder:
    """`embedder`, never asked twice for the same text, and able to embed parts of texts."""
    return CachedEmbedder(embedder, cache)


def make_chat(settings: Settings) -> ChatModel | None:
    """The chat model of `[llm]`; None for kind "none"."""
    chosen = settings.llm
    if chosen.kind == "none":
        return None
    from hippo_lit.models.chat import OpenAIChat

    return OpenAIChat(
        chosen.model,
        base_url=chosen.base_url,
        api_key_env=chosen.api_key_env,
        temperature=chosen.temperature,
        max_tokens=chosen.max_tokens,
        seed=chosen.seed,
        timeout_s=chosen.timeout_s,
        deadline_s=chosen.deadline_s,
        max_attempts=chosen.max_attempts,
        requests_per_minute=chosen.requests_per_minute,
        response_format=chosen.response_format,
        price_in_per_million=chosen.price_in_per_million,
        price_out_per_million=chosen.price_out_per_million,
    )


def make_extractor(
    settings: Settings,
    chat: ChatModel | None,
    cache: Cache,
    prompts: Path | None = None,
    store: Store | None = None,
    *,
    budget: Budget | None = None,
    held: frozenset[str] = frozenset(),
) -> FactExtractor:
    """The extractor of `[extract]`, within `budget`, without the calls `held`; "imported" reads `store`.

    Raises ConfigError for kind "llm" without a chat model, and for a budget in USD without prices.
    """
    if settings.extract.kind == "imported":
        from hippo_lit.extract.imported import ImportedExtractor

        return _with_names(settings, ImportedExtractor(settings.extract.imported, store))
    if settings.extract.kind != "llm":
        return _rules(settings.extract.kind)
    if chat is None:
        raise _no_chat("extract.kind")
    guard = make_guard(settings, budget)
    return extractor_over(_staged(chat, cache, "extract", guard, held), settings, prompts)


def extractor_over(
    chat: ChatModel, settings: Settings, prompts: Path | None = None, *, names: bool = True
) -> FactExtractor:
    """An LLM's extractor that asks `chat` as it stands; with `names` it adds those that rules find."""
    from hippo_lit.extract.llm import LLMExtractor

    prompt = load_prompt(prompts_dir(prompts) / "extract")
    extractor = LLMExtractor(chat, prompt, concurrency=settings.llm.concurrency)
    return _with_names(settings, extractor) if names else extractor


def _with_names(settings: Settings, extractor: FactExtractor) -> FactExtractor:
    """`extractor`, and the names that rules find where `names_from` says whose."""
    from hippo_lit.extract.combined import CombinedExtractor

    if settings.extract.names_from == "none":
        return extractor
    return CombinedExtractor(facts=extractor, names=_rules(settings.extract.names_from))


def make_guard(settings: Settings, budget: Budget | None) -> Guard:
    """What stops the calls of a run. Raises ConfigError for a budget in USD without prices."""
    from hippo_lit.models.guard import Guard, price_of

    return Guard(budget, price_of(settings.llm), max_reply_tokens=settings.llm.max_tokens)


def make_batch_run(
    settings: Settings,
    chat: ChatModel | None,
    cache: Cache,
    store: Store,
    ledger: BatchLedger,
    prompts: Path | None = None,
    *,
    budget: Budget | None = None,
    wait: bool = False,
) -> BatchRun:
    """Extraction by batch jobs. Raises ConfigError where the settings name no provider to send them to."""
    from hippo_lit.batching import BatchRun
    from hippo_lit.models.batch_api import BatchApi
    from hippo_lit.models.chat import OpenAIChat
    from hippo_lit.models.chat_cache import CachedChat
    from hippo_lit.models.guard import price_of

    if settings.extract.kind != "llm" or not isinstance(chat, OpenAIChat):
        key = "extract.kind" if settings.extract.kind != "llm" else "llm.kind"
        raise ConfigError(
            'batch jobs are for facts by a chat model: set extract.kind = "llm" and llm.kind = "openai"'
            " (see configs/openai.toml)",
            key=key,
        )
    guard = make_guard(settings, budget)
    return BatchRun(
        store=store,
        cached=CachedChat(chat, cache),
        extractor_over=lambda awaiting: extractor_over(awaiting, settings, prompts),
        api=BatchApi(chat, price_factor=settings.llm.batch_price_factor),
        ledger=ledger,
        guard=guard,
        online=_staged(chat, cache, "extract", guard),
        price=price_of(settings.llm, batch=True),
        wait=wait,
    )


def _rules(kind: str) -> FactExtractor:
    match kind:
        case "spacy":
            from hippo_lit.extract.spacy_rules import SpacyExtractor

            return SpacyExtractor()
        case "simple":
            from hippo_lit.extract.simple import SimpleExtractor

            return SimpleExtractor()
        case _:
            from hippo_lit.extract.simple import NoExtractor

            return NoExtractor()


def make_filter(
    settings: Settings, chat: ChatModel | None, cache: Cache, prompts: Path | None = None
) -> FactFilter:
    """The recognition memory of `[filter]`. Raises ConfigError for kind "llm" without a chat model."""
    from hippo_lit.filter.linked import LinkedFilter, TopFilter

    chosen = settings.filter
    match chosen.kind:
        case "linked":
            return LinkedFilter(chosen.min_similarity, chosen.per_entity)
        case "all":
            return TopFilter(chosen.max_facts)
        case "llm":
            from hippo_lit.filter.llm import LLMFilter

            if chat is None:
                raise _no_chat("filter.kind")
            return LLMFilter(
                _staged(chat, cache, "filter"),
                load_prompt(prompts_dir(prompts) / "fact_filter"),
                cutoff=chosen.cutoff,
                max_facts=chosen.max_facts,
            )


def make_stages(
    settings: Settings, chat: ChatModel, cache: Cache, prompts: Path | None, budget: Budget | None
) -> Callable[[str], tuple[ChatModel, Prompt]]:
    """Name of a prompt to the chat model, counted under that name, and the prompt; one guard for all."""
    guard, folder = make_guard(settings, budget), prompts_dir(prompts)
    return lambda name: (_staged(chat, cache, name, guard), load_prompt(folder / name))


def tuning_chat(chat: ChatModel, cache: Cache, guard: Guard) -> ChatModel:
    """`chat` for trying prompts out: within the guard's budget, replies kept, usage counted as "tune"."""
    return _staged(chat, cache, "tune", guard)


def make_services(settings: Settings) -> Services:
    """The paper services of `[sources]`; close them after use."""
    from hippo_lit.sources.live.services import Services

    return Services(settings.sources)


def make_recipe(settings: Settings) -> Recipe:
    from hippo_lit.derived import Recipe
    from hippo_lit.retrieve.hippo import edge_weights

    return Recipe(
        passage_chars=settings.extract.passage_chars,
        lexical_tokenizer=tokenizer(settings.lexical.tokenizer),
        lexical_title=settings.lexical.include_title,
        lexical_k1=settings.lexical.k1,
        lexical_b=settings.lexical.b,
        bm25_tokenizer=tokenizer(settings.bm25.tokenizer),
        bm25_k1=settings.bm25.k1,
        bm25_b=settings.bm25.b,
        fact_vectors=settings.graph.fact_vectors,
        synonyms=settings.graph.synonyms,
        synonym_threshold=settings.graph.synonym_threshold,
        title_weight=settings.graph.title_mention,
        edge_weights=edge_weights(settings),
    )


def _staged(
    chat: ChatModel, cache: Cache, stage: str, guard: Guard | None = None, held: frozenset[str] = frozenset()
) -> ChatModel:
    """`chat`, asked while `guard` lets it, with its replies kept and its usage counted under `stage`."""
    from hippo_lit.models.awaiting import HoldingChat
    from hippo_lit.models.chat_cache import CachedChat
    from hippo_lit.models.guard import GuardedChat
    from hippo_lit.models.usage import MeteredChat

    kept = CachedChat(chat if guard is None else GuardedChat(chat, guard), cache)
    return MeteredChat(HoldingChat(kept, held) if held else kept, stage)


def _no_chat(key: str) -> ConfigError:
    return ConfigError(
        f'{key} is "llm", but no chat model is set: set llm.kind = "openai" with llm.model and, for a server'
        " of your own, llm.base_url (see configs/openai.toml)",
        key=key,
    )
