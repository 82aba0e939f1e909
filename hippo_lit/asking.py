"""What one asks of an index beyond a ranking: answers, and whether something has been shown before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

from hippo_lit.answer.values import Answer, PriorArt
from hippo_lit.assemble import Parts
from hippo_lit.reader import Reader
from hippo_lit.types import Filters, Mode


class Asking:
    """The part of `HippoLit` that answers; `HippoLit` sets `_reader` and `_parts`."""

    _reader: Reader
    _parts: Parts

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
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Answer `question` from the `k` best papers (default `answer.top_k`), citing them by id.

        With `steps` > 1 (default `answer.steps`) up to so many rounds of retrieval follow one another, each
        by the model's thought on what the rounds before it found. `on_text` gets the answer's text in pieces,
        as it comes. Without a chat model the answer is the sentences that are nearest to the question.
        Filters as for `retrieve`. Raises as `retrieve`.
        """
        raise NotImplementedError

    async def aanswer(
        self, question: str, k: int | None = None, mode: Mode = "hippo", **options: Any
    ) -> Answer:
        """`answer`, without blocking the event loop."""
        return await asyncio.to_thread(self.answer, question, k, mode, **options)

    def astream_answer(
        self, question: str, k: int | None = None, mode: Mode = "hippo", **options: Any
    ) -> AsyncIterator[str | Answer]:
        """`answer` in pieces: the text as it comes, and last the whole `Answer`."""
        raise NotImplementedError

    def check_prior_art(
        self,
        hypothesis: str,
        k: int | None = None,
        mode: Mode = "hippo",
        *,
        years: tuple[int | None, int | None] = (None, None),
        exclude: Iterable[str] = (),
        filters: Filters | Mapping[str, Any] | None = None,
    ) -> PriorArt:
        """Whether `hypothesis` has been shown before, judged over the `k` best papers for it and its parts.

        `k` is `prior_art.papers` by default. Without a chat model the papers and their nearest sentences are
        given and no verdict. Filters as for `retrieve`. Raises as `retrieve`.
        """
        raise NotImplementedError

    async def acheck_prior_art(
        self, hypothesis: str, k: int | None = None, mode: Mode = "hippo", **options: Any
    ) -> PriorArt:
        """`check_prior_art`, without blocking the event loop."""
        return await asyncio.to_thread(self.check_prior_art, hypothesis, k, mode, **options)
