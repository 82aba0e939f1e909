"""A question, the best papers for it, and an answer that cites them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from hippo_lit.answer.citations import find_citations
from hippo_lit.answer.extracts import NearestSentences
from hippo_lit.answer.replies import AnswerStream, is_not_said, split_reply
from hippo_lit.answer.rounds import Chain, Merged, Retrieve, as_rounds, merge, retrieve_in_steps
from hippo_lit.answer.shown import as_shown
from hippo_lit.answer.values import Answer, Shown
from hippo_lit.config import AnswerSettings
from hippo_lit.errors import ChatModelError, ModelError
from hippo_lit.llm.forgetting import forget_reply
from hippo_lit.llm.prompts import Prompt, as_data
from hippo_lit.llm.replies import UnreadableReplyError
from hippo_lit.llm.streaming import stream_reply
from hippo_lit.models.usage import UsageMeter
from hippo_lit.protocols import ChatModel
from hippo_lit.text import clean
from hippo_lit.types import Usage

MAX_QUESTION_CHARS = 4000
NO_MODEL = "no chat model is set (llm.kind), so these are sentences of the papers"


@dataclass(frozen=True, slots=True)
class AnswerModels:
    """Who answers (`answer`) and who thinks between rounds (`ircot`), each with its prompt of one $data."""

    answer: tuple[ChatModel, Prompt]
    ircot: tuple[ChatModel, Prompt]

    def __post_init__(self) -> None:
        for _, prompt in (self.answer, self.ircot):
            prompt.check_variables("data")


class Answerer:
    """Answers questions; without `models` by extracts. With `strict` a model's failure is raised."""

    def __init__(
        self, models: AnswerModels | None, settings: AnswerSettings, *, strict: bool = False
    ) -> None:
        self._models = models
        self._settings = settings
        self._strict = strict

    def answer(
        self,
        question: str,
        retrieve: Retrieve,
        sentences: NearestSentences,
        *,
        k: int | None = None,
        steps: int | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """See `HippoLit.answer`."""
        asked = clean(question[:MAX_QUESTION_CHARS])
        k, steps = k or self._settings.top_k, steps or self._settings.steps
        meter, seconds = UsageMeter(), {}
        with meter.active():
            began = perf_counter()
            chain = self._retrieved(asked, retrieve, k=k, steps=steps)
            seconds["retrieve"] = perf_counter() - began
            papers = merge(chain.results)[:k]
            answer = self._written(asked, papers, sentences, on_text)
            seconds["answer"] = perf_counter() - began - seconds["retrieve"]
        usage = meter.stages()
        rounds = as_rounds(chain.results)
        reasons = (*(r.reason for r in rounds), chain.reason, answer.reason)
        return replace(
            answer,
            question=question,
            papers=as_ranked(papers),
            rounds=rounds,
            thoughts=chain.thoughts,
            loop_end=chain.end,
            mode=chain.results[0].mode,
            degraded=answer.degraded or chain.end == "failed" or any(r.degraded for r in rounds),
            reason="; ".join(dict.fromkeys(reason for reason in reasons if reason)),
            usage=usage,
            cost=sum(usage.values(), Usage()),
            seconds=seconds,
            snapshot=chain.results[0].trace.snapshot,
        )

    def _retrieved(self, question: str, retrieve: Retrieve, *, k: int, steps: int) -> Chain:
        if self._models is None or steps < 2:
            reason = "rounds of thought need a chat model; one was made" if steps > 1 else ""
            return Chain((retrieve(question, k),), reason=reason)
        chat, prompt = self._models.ircot
        return retrieve_in_steps(
            question,
            retrieve,
            chat,
            prompt,
            steps=steps,
            k=k,
            paper_chars=self._settings.paper_chars,
            strict=self._strict,
        )

    def _written(
        self,
        question: str,
        papers: Sequence[Merged],
        sentences: NearestSentences,
        on_text: Callable[[str], None] | None,
    ) -> Answer:
        if not papers:
            return Answer(question, "none", "", reason="no paper was found to answer from")
        if self._models is None:
            return self._extracted(question, papers, sentences, NO_MODEL, failed=False)
        try:
            return self._asked(self._models, question, papers, on_text or _nobody)
        except ModelError as error:
            if self._strict:
                raise
            return self._extracted(question, papers, sentences, error.message, failed=True)

    def _asked(
        self,
        models: AnswerModels,
        question: str,
        papers: Sequence[Merged],
        on_text: Callable[[str], None],
    ) -> Answer:
        """The model's answer. Raises ModelError, of kind "unreadable" or "truncated" where there is none."""
        chat, prompt = models.answer
        shown = as_shown((merged.paper for merged in papers), self._settings.paper_chars)
        messages = prompt.render(data={"question": question, "papers": shown})
        stream = AnswerStream(on_text)
        reply = stream_reply(chat, messages, stream.add)
        cut = reply.finish_reason == "length"
        try:
            thought, text = split_reply(reply.text)
        except UnreadableReplyError as e:
            forget_reply(chat, messages)
            kind = "truncated" if cut else "unreadable"
            message = f"the model's answer cannot be used: {e}"
            raise ChatModelError(message, model=chat.name, status=None, kind=kind) from e
        stream.finish(text)
        found = find_citations(text, [paper["id"] for paper in shown], as_data(shown) + question)
        not_said = is_not_said(text)
        reasons = []
        if found.unknown:
            reasons.append(f"the answer cites what was not shown: {', '.join(found.unknown)}")
        elif not found.known and not not_said:
            reasons.append("the answer cites no paper")
        if cut:
            reasons.append("the answer was cut off: raise llm.max_tokens")
        return Answer(
            question,
            "not_said" if not_said else "answer",
            text,
            thought,
            grounded=bool(found.known) and not found.unknown,
            citations=found.known,
            unknown_citations=found.unknown,
            degraded=cut,
            reason="; ".join(reasons),
        )

    def _extracted(
        self,
        question: str,
        papers: Sequence[Merged],
        sentences: NearestSentences,
        reason: str,
        *,
        failed: bool,
    ) -> Answer:
        ids = [merged.paper.id for merged in papers]
        extracts = sentences.find(question, ids, self._settings.extracts)
        if not extracts:
            reason += "; none of the papers has a sentence to show"
        return Answer(
            question,
            "extracts" if extracts else "none",
            "\n".join(f"{extract.sentence} [{extract.paper_id}]" for extract in extracts),
            grounded=bool(extracts),
            citations=tuple(dict.fromkeys(extract.paper_id for extract in extracts)),
            extracts=extracts,
            degraded=failed,
            reason=reason,
        )


def as_ranked(papers: Sequence[Merged]) -> tuple[Shown, ...]:
    """Merged papers as values without their texts."""
    return tuple(
        Shown(merged.paper.id, clean(merged.paper.title), merged.paper.year, rank, merged.score)
        for rank, merged in enumerate(papers, start=1)
    )


def _nobody(text: str) -> None:
    """Nobody waits for the pieces."""
