"""What one asks of an index beyond a ranking: answers, and whether something has been shown before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hippo_lit.errors import ConfigError
from hippo_lit.models.guard import Budget
from hippo_lit.reader import Reader
from hippo_lit.restriction import parse_filters
from hippo_lit.retrieve.retriever import Retriever
from hippo_lit.types import Filters, Mode, RetrievalResult

if TYPE_CHECKING:
    from hippo_lit.answer.values import Answer, PriorArt


class Asking:
    """The part of `HippoLit` that answers; `HippoLit` sets `_reader`."""

    _reader: Reader

    def answer(
        self,
        question: str,
        k: int | None = None,
        mode: Mode = "hippo",
        *,
        steps: int | None = None,
        years: tuple[int | None, int | None] = (None, None),
        exclude: Iterable[str] = (),
        filters: Filters | Mapping[str, Any] | None = None,
        budget: Budget | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Answer `question` from the `k` best papers (default `answer.top_k`), citing them by id.

        With `steps` > 1 (default `answer.steps`) up to so many rounds of retrieval follow one another, each
        by the model's thought on what the rounds before it found. `on_text` gets the answer's text in pieces,
        as it comes. Without a chat model the answer is the sentences that are nearest to the question, and
        so it is, marked as degraded, where the model fails or the `budget` ends, unless
        `retrieve.on_model_error` is "raise". Filters as for `retrieve`. Raises as `retrieve`.
        """
        _check(question, "question", k=k, steps=steps)
        chosen = parse_filters(filters, years=years, exclude=exclude)
        with self._reader.answering(mode) as retriever:
            return self._reader.answerer(budget).answer(
                question,
                _retrieving(retriever, mode, chosen),
                self._reader.sentences(retriever.snapshot, mode),
                k=k,
                steps=steps,
                on_text=on_text,
            )

    async def aanswer(
        self, question: str, k: int | None = None, mode: Mode = "hippo", **options: Any
    ) -> Answer:
        """`answer`, without blocking the event loop."""
        return await asyncio.to_thread(self.answer, question, k, mode, **options)

    async def astream_answer(
        self, question: str, k: int | None = None, mode: Mode = "hippo", **options: Any
    ) -> AsyncIterator[str | Answer]:
        """`answer` in pieces: the text as it comes, and last the whole `Answer`.

        Where the model's reply turns out unusable after some pieces, the `Answer` is the one to believe.
        """
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()

        def tell(text: str | None) -> None:
            loop.call_soon_threadsafe(pieces.put_nowait, text)

        asked = asyncio.ensure_future(self.aanswer(question, k, mode, **options, on_text=tell))
        asked.add_done_callback(lambda _: pieces.put_nowait(None))
        while (text := await pieces.get()) is not None:
            yield text
        yield await asked

    def check_prior_art(
        self,
        hypothesis: str,
        k: int | None = None,
        mode: Mode = "hippo",
        *,
        years: tuple[int | None, int | None] = (None, None),
        exclude: Iterable[str] = (),
        filters: Filters | Mapping[str, Any] | None = None,
        budget: Budget | None = None,
    ) -> PriorArt:
        """Whether `hypothesis` has been shown before, judged over the `k` best papers for it and its parts.

        `k` is `prior_art.papers` by default. Without a chat model the papers and their nearest sentences are
        given and no verdict. Where the model fails, or the `budget` ends, the check says so (`degraded`)
        and rests on what could be judged, unless `retrieve.on_model_error` is "raise". Filters as for
        `retrieve`. Raises DataError for a blank hypothesis, and as `retrieve`.
        """
        _check(hypothesis, "hypothesis", k=k)
        chosen = parse_filters(filters, years=years, exclude=exclude)
        with self._reader.answering(mode) as retriever:
            return self._reader.prior_art_checker(budget).check(
                hypothesis,
                _retrieving(retriever, mode, chosen),
                self._reader.sentences(retriever.snapshot, mode),
                retriever.snapshot,
                chosen,
                k=k,
            )

    async def acheck_prior_art(
        self, hypothesis: str, k: int | None = None, mode: Mode = "hippo", **options: Any
    ) -> PriorArt:
        """`check_prior_art`, without blocking the event loop."""
        return await asyncio.to_thread(self.check_prior_art, hypothesis, k, mode, **options)


def _retrieving(retriever: Retriever, mode: Mode, filters: Filters) -> Callable[[str, int], RetrievalResult]:
    """All rounds ask one retriever, so that all see one state of the index."""
    return lambda query, k: retriever.retrieve(query, k, mode, filters=filters, explain=False)


def _check(text: object, name: str, **counts: int | None) -> None:
    if not isinstance(text, str):
        raise ConfigError(f"a {name} is a text, not {type(text).__name__}", key=name)
    for key, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise ConfigError(f"{key} must be at least 1, got {count!r}", key=key)
