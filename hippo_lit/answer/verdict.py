"""From what papers say of claims to one verdict: by rules, not by a model's word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hippo_lit.answer.values import Claim, ClaimState, PriorPaper, Stance, Verdict


def with_states(claims: Sequence[Claim], papers: Sequence[PriorPaper]) -> tuple[Claim, ...]:
    """The claims with what the papers make of each: a claim with support and contradiction is "mixed"."""
    return tuple(replace(claim, state=_state(claim.number, papers)) for claim in claims)


def _state(claim: int, papers: Sequence[PriorPaper]) -> ClaimState:
    if not any(paper.judged for paper in papers):
        return "unjudged"
    match _saying("supports", papers, claim), _saying("contradicts", papers, claim):
        case [], []:
            return "not_found"
        case _, []:
            return "supported"
        case [], _:
            return "contradicted"
        case _:
            return "mixed"


def decide(
    claims: Sequence[Claim], papers: Sequence[PriorPaper], *, completeness: float
) -> tuple[Verdict, float, str]:
    """Verdict, confidence in [0, 1], and how both came about. `claims` have their states.

    Support and contradiction anywhere: "partly_shown". Contradiction only: "contradicted". Support only:
    "shown_before" where the hypothesis itself or all its parts are supported, else "partly_shown". Neither:
    "not_found".

    confidence = completeness * (1 - 2^-n): n is the number of papers that bear the verdict (for support
    against contradiction that of the lesser side) and, for "not_found", of those that were judged, at most
    3. It grows with independent evidence and is no calibrated probability. `completeness` is the share of
    what should have been judged, and of what the model said, that could be used.
    """
    supporting, contradicting = _saying("supports", papers), _saying("contradicts", papers)
    verdict: Verdict
    if supporting and contradicting:
        verdict, bearing = "partly_shown", min(len(supporting), len(contradicting))
        why = f"support for it or parts of it: {_some(supporting)}; contradiction: {_some(contradicting)}"
    elif contradicting:
        verdict, bearing = "contradicted", len(contradicting)
        why = f"contradiction of it or parts of it: {_some(contradicting)}; no support"
    elif supporting:
        bearing = len(supporting)
        whole = claims[0].state == "supported"
        open_parts = [claim for claim in claims[1:] if claim.state != "supported"]
        if whole or (len(claims) > 1 and not open_parts):
            verdict = "shown_before"
            what = "it" if whole else "all its parts"
            why = f"support for {what}: {_some(supporting)}; no contradiction"
        else:
            verdict = "partly_shown"
            left = f"{len(open_parts)} of {len(claims) - 1} parts stay open"
            why = f"support for parts of it: {_some(supporting)}; {left}"
    else:
        judged = sum(paper.judged for paper in papers)
        verdict, bearing = "not_found", min(judged, 3)
        why = f"no support and no contradiction in the papers that were judged ({judged})"
    return verdict, round(completeness * (1 - 0.5**bearing), 4), why


def _saying(stance: Stance, papers: Sequence[PriorPaper], claim: int | None = None) -> list[str]:
    return [
        paper.paper_id
        for paper in papers
        if any(e.stance == stance and claim in (None, e.claim) for e in paper.evidence)
    ]


def _some(papers: Sequence[str]) -> str:
    return f"{len(papers)} {'paper' if len(papers) == 1 else 'papers'} ({', '.join(papers[:5])})"
