"""Whether a hypothesis has been shown before: retrieve for it and its parts, judge, decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

import numpy as np

from hippo_lit.answer.claims import claims_by_model, claims_by_rule
from hippo_lit.answer.extracts import PER_PAPER, NearestSentences
from hippo_lit.answer.judging import Judged, judge
from hippo_lit.answer.rounds import Merged, Retrieve, merge
from hippo_lit.answer.values import Claim, Dropped, Evidence, PriorArt, PriorPaper, Searched
from hippo_lit.answer.verdict import decide, with_states
from hippo_lit.config import PriorArtSettings
from hippo_lit.errors import DataError, HippoLitError, ModelError
from hippo_lit.llm.parallel import map_bounded
from hippo_lit.llm.prompts import Prompt
from hippo_lit.models.usage import UsageMeter
from hippo_lit.protocols import ChatModel
from hippo_lit.snapshot import Snapshot
from hippo_lit.text import clean
from hippo_lit.types import Filters, Mode, Paper, Usage

MAX_HYPOTHESIS_CHARS = 4000
NO_MODEL = "no chat model judged the papers (llm.kind), so this is what to read and no verdict"


@dataclass(frozen=True, slots=True)
class PriorArtModels:
    """Who takes a hypothesis apart and who judges, each with its prompt of one $data."""

    decompose: tuple[ChatModel, Prompt]
    judge: tuple[ChatModel, Prompt]
    concurrency: int = 4

    def __post_init__(self) -> None:
        for _, prompt in (self.decompose, self.judge):
            prompt.check_variables("data")


@dataclass(slots=True)
class _Judgement:
    """What all calls came to. `failed` are the ids of papers that no usable reply speaks of."""

    evidence: dict[str, tuple[Evidence, ...]] = field(default_factory=dict)
    dropped: Dropped = field(default_factory=Dropped)
    failed: list[str] = field(default_factory=list)
    reasons: dict[str, None] = field(default_factory=dict)

    @property
    def completeness(self) -> float:
        """The share of papers that were judged, times that of statements that could be used; in [0, 1]."""
        papers = len(self.evidence) + len(self.failed)
        kept = sum(map(len, self.evidence.values()))
        said = kept + self.dropped.total
        return (len(self.evidence) / papers if papers else 0.0) * (kept / said if said else 1.0)


class PriorArtChecker:
    """Checks hypotheses over one index; without `models` it gives evidence and no verdict."""

    def __init__(
        self, models: PriorArtModels | None, settings: PriorArtSettings, *, strict: bool = False
    ) -> None:
        self._models = models
        self._settings = settings
        self._strict = strict

    def check(
        self,
        hypothesis: str,
        retrieve: Retrieve,
        sentences: NearestSentences,
        snapshot: Snapshot,
        filters: Filters,
        *,
        k: int | None = None,
    ) -> PriorArt:
        """See `HippoLit.check_prior_art`. Raises DataError for a blank hypothesis."""
        asked = clean(hypothesis[:MAX_HYPOTHESIS_CHARS])
        if not asked:
            raise DataError("the hypothesis is empty: say in a sentence what may have been shown")
        k = k or self._settings.papers
        meter, seconds = UsageMeter(), {}
        with meter.active():
            began = perf_counter()
            claims, failure = self._claims(asked)
            seconds["claims"] = (then := perf_counter()) - began
            results = [retrieve(claim.text, k) for claim in claims]
            found = merge(results)[:k]
            seconds["retrieve"] = (now := perf_counter()) - then
            judgement = self._judged(found, claims, sentences)
            seconds["judge"] = perf_counter() - now
        papers = _as_papers(found, judgement, judged=self._models is not None)
        claims = with_states(claims, papers)
        usage = meter.stages()
        reasons = (*(result.reason for result in results), failure, *judgement.reasons)
        unjudged = ": ".join(filter(None, ("no paper could be judged", "; ".join(judgement.reasons))))
        art = PriorArt(
            hypothesis,
            "none",
            None,
            NO_MODEL if self._models is None else unjudged,
            claims,
            papers,
            _searched(results[0].mode, claims, snapshot, filters, k),
            judgement.dropped,
            degraded=bool(failure or judgement.failed) or any(result.degraded for result in results),
            reason="; ".join(dict.fromkeys(reason for reason in reasons if reason)),
            usage=usage,
            cost=sum(usage.values(), Usage()),
            seconds=seconds,
        )
        if not any(paper.judged for paper in papers) and (self._models is None or judgement.failed):
            return art
        verdict, confidence, why = decide(claims, papers, completeness=judgement.completeness)
        return replace(art, verdict=verdict, confidence=confidence, why=why)

    def _claims(self, hypothesis: str) -> tuple[tuple[Claim, ...], str]:
        """The claims, and what failed where the model could not say which."""
        limit, failure = self._settings.claims, ""
        if self._models is not None and limit:
            try:
                return claims_by_model(hypothesis, limit, *self._models.decompose), ""
            except ModelError as error:
                if self._strict:
                    raise
                failure = error.message
        return claims_by_rule(hypothesis, limit), failure

    def _judged(
        self, found: Sequence[Merged], claims: Sequence[Claim], sentences: NearestSentences
    ) -> _Judgement:
        judgement = _Judgement()
        papers = [merged.paper for merged in found]
        if self._models is None:
            for merged in found:
                judgement.evidence[merged.paper.id] = _nearest(merged, claims, sentences)
            return judgement
        texts = [paper for paper in papers if clean(paper.abstract)]
        if len(texts) < len(papers):
            judgement.reasons[f"without an abstract and not judged: {len(papers) - len(texts)}"] = None
        size = self._settings.papers_per_call
        groups = [texts[start : start + size] for start in range(0, len(texts), size)]
        chat, prompt = self._models.judge
        ask = partial(self._ask, claims=claims, chat=chat, prompt=prompt)
        for group, judged in zip(groups, map_bounded(ask, groups, self._models.concurrency), strict=True):
            self._add(judgement, group, judged)
        return judgement

    def _ask(
        self, papers: Sequence[Paper], claims: Sequence[Claim], chat: ChatModel, prompt: Prompt
    ) -> Judged:
        return judge(papers, claims, chat, prompt, self._settings.paper_chars)

    def _add(self, judgement: _Judgement, papers: Sequence[Paper], judged: Judged | HippoLitError) -> None:
        if isinstance(judged, HippoLitError):
            if self._strict or not isinstance(judged, ModelError):
                raise judged
            judgement.failed += [paper.id for paper in papers]
            judgement.reasons[judged.message] = None
            return
        before, more = judgement.dropped, judged.dropped
        judgement.dropped = Dropped(
            before.quotes + more.quotes,
            before.papers + more.papers,
            before.claims + more.claims,
            before.stances + more.stances,
        )
        for paper_id, evidence in judged.evidence.items():
            # After a cut nobody knows whether the model had more to say of a paper it had not come to.
            if judged.cut and not evidence:
                judgement.failed.append(paper_id)
                judgement.reasons["a judgement was cut off: raise llm.max_tokens"] = None
            else:
                judgement.evidence[paper_id] = evidence


def _nearest(merged: Merged, claims: Sequence[Claim], sentences: NearestSentences) -> tuple[Evidence, ...]:
    """For each claim whose retrieval ranked the paper, its nearest sentences."""
    return tuple(
        Evidence(number, "unjudged", extract.sentence)
        for number in merged.rounds
        for extract in sentences.find(claims[number].text, [merged.paper.id], PER_PAPER)
    )


def _as_papers(found: Sequence[Merged], judgement: _Judgement, *, judged: bool) -> tuple[PriorPaper, ...]:
    return tuple(
        PriorPaper(
            merged.paper.id,
            clean(merged.paper.title),
            merged.paper.year,
            rank,
            merged.score,
            merged.rounds,
            judged and merged.paper.id in judgement.evidence,
            judgement.evidence.get(merged.paper.id, ()),
        )
        for rank, merged in enumerate(found, start=1)
    )


def _searched(mode: Mode, claims: Sequence[Claim], snapshot: Snapshot, filters: Filters, k: int) -> Searched:
    years = snapshot.years[~np.isnan(snapshot.years)]
    return Searched(
        tuple(claim.text for claim in claims),
        mode,
        filters,
        papers_per_query=k,
        papers_in_index=len(snapshot),
        oldest_year=int(years.min()) if len(years) else None,
        newest_year=int(years.max()) if len(years) else None,
        snapshot=snapshot.name,
    )
