"""What a run of `index` would take of models, found out without asking any and without storing anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hippo_lit import assemble
from hippo_lit.errors import IndexNotFoundError
from hippo_lit.llm.tokens import extraction_tokens, prompt_tokens
from hippo_lit.merge import merge_papers
from hippo_lit.passages import passage_hash, passages_of, sentence_places
from hippo_lit.storage.batches import awaited
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.store import Store
from hippo_lit.types import Paper, Passage

if TYPE_CHECKING:
    from hippo_lit.config import Settings
    from hippo_lit.models.awaiting import Request
    from hippo_lit.models.embed_cached import CachedEmbedder
    from hippo_lit.protocols import ChatModel, Embedder

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would take.

    Texts that were extracted, replies that are kept and replies that batch jobs will bring (`awaited`) are
    not counted in `calls`. Tokens are estimates of `llm.tokens`: the prompts' by their words, the replies'
    by the length of what is asked about. A reply that breaks off or fails takes more calls than this.
    `cost_usd` is None where no price is set.
    """

    passages: int = 0
    to_extract: int = 0
    calls: int = 0
    awaited: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    to_embed: int = 0


def estimate(
    folder: Path,
    settings: Settings,
    papers: Iterable[Paper] = (),
    *,
    embedder: Embedder | None = None,
    chat: ChatModel | None = None,
    prompts: Path | None = None,
    batch: bool = False,
) -> Estimate:
    """What indexing `papers` beside those in `folder`, which need not exist, would take.

    `embedder` and `chat` take the place of those of the settings; `batch` reckons with the price of batch
    jobs. Raises ConfigError, StoreError.
    """
    path = assemble.cache_path(settings, folder)
    with ExitStack() as opened:
        store = _store(folder, opened)
        cache = opened.enter_context(Cache(path if path.exists() else None, on_write_error="skip"))
        chosen = embedder if embedder is not None else assemble.make_embedder(settings, prompts)
        counted = _Count(
            settings,
            store,
            cache,
            assemble.cached(chosen, cache),
            chat if chat is not None else assemble.make_chat(settings),
            prompts,
            awaited(folder),
        )
        group: list[Passage] = []
        for paper in _upcoming(store, papers):
            group += passages_of(paper, settings.extract.passage_chars)
            if len(group) >= _BATCH:
                counted.add(group)
                group = []
        counted.add(group)
        return counted.result(batch=batch)


def _store(folder: Path, opened: ExitStack) -> Store | None:
    try:
        return opened.enter_context(Store.open(folder, read_only=True))
    except IndexNotFoundError:
        return None


def _upcoming(store: Store | None, papers: Iterable[Paper]) -> Iterator[Paper]:
    """The papers that the store would hold after `put_papers`."""
    given: dict[str, dict[str, Paper]] = {}
    for paper in papers:
        given.setdefault(paper.id, {})[paper.source] = paper
    for paper in store.papers() if store is not None else ():
        if paper.id not in given:
            yield paper
    for paper_id, views in given.items():
        known = store.versions(paper_id) if store is not None else []
        yield merge_papers([*views.values(), *(view for view in known if view.source not in views)])


class _Count:
    """Adds up what passages take, each distinct text once."""

    def __init__(
        self,
        settings: Settings,
        store: Store | None,
        cache: Cache,
        embedder: CachedEmbedder,
        chat: ChatModel | None,
        prompts: Path | None,
        out: frozenset[str],
    ) -> None:
        self._settings = settings
        self._store = store
        self._embedder = embedder
        self._extractor = assemble.make_extractor(settings, chat, cache, prompts, store)
        self._asking = None
        if settings.extract.kind == "llm" and chat is not None:
            from hippo_lit.models.awaiting import AwaitingChat
            from hippo_lit.models.chat_cache import CachedChat

            dry = AwaitingChat(CachedChat(chat, cache), self._wanted, forgetful=False)
            self._asking = assemble.extractor_over(dry, settings, prompts, names=False)
        self._out = out
        self._seen: set[str] = set()
        self._passages = self._to_extract = self._to_embed = 0
        self._calls = self._awaited = self._tokens_in = self._tokens_out = 0

    def add(self, passages: list[Passage]) -> None:
        self._passages += len(passages)
        new = {h: p for p in passages if (h := passage_hash(p)) not in self._seen}
        self._seen |= new.keys()
        done = self._store.extractions(self._extractor.name, new) if self._store is not None else {}
        missing = [passage for text_hash, passage in new.items() if text_hash not in done]
        self._to_extract += len(missing)
        if self._asking is not None:
            for _ in self._asking.extract(missing):
                pass
        self._to_embed += self._embedder.missing_passages(
            [passage.text for passage in new.values()], [sentence_places(passage) for passage in new.values()]
        )

    def result(self, *, batch: bool) -> Estimate:
        from hippo_lit.models.guard import price_of

        price = price_of(self._settings.llm, batch=batch)
        return Estimate(
            self._passages,
            self._to_extract,
            self._calls,
            self._awaited,
            self._tokens_in,
            self._tokens_out,
            price.cost(self._tokens_in, self._tokens_out) if price is not None else None,
            self._to_embed,
        )

    def _wanted(self, request: Request) -> None:
        if request.key in self._out:
            self._awaited += 1
            return
        self._calls += 1
        self._tokens_in += prompt_tokens(request.messages)
        self._tokens_out += extraction_tokens(request.messages, self._settings.llm.max_tokens)
