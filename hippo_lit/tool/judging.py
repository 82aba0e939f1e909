"""The tools that answer: a question from papers, and whether a hypothesis has been shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hippo_lit.answer.values import Answer, PriorArt
from hippo_lit.api import HippoLit
from hippo_lit.extraction import Progress
from hippo_lit.tool.arguments import AnswerQuestion, CheckPriorArt
from hippo_lit.tool.definition import Outcome
from hippo_lit.tool.fit import fit_items, fit_text, json_tokens, safe, safe_name, safe_title
from hippo_lit.tool.reading import FRAME, notes
from hippo_lit.tool.results import AnswerResult, PriorArtResult
from hippo_lit.types import Usage

_WHY_TOKENS, _MAX_CLAIMS, _MAX_CITED = 120, 10, 10
_STANCES = ("contradicts", "supports", "related", "unjudged")


def answer_question(lit: HippoLit, asked: AnswerQuestion, _progress: Progress) -> Outcome:
    answer = lit.answer(asked.question, mode=asked.mode, steps=asked.steps, filters=asked.chosen())
    room = asked.max_tokens - FRAME
    text = fit_text(safe(answer.text), room * 2 // 3)
    room -= json_tokens(text)
    papers = fit_items(_cited(answer), room)
    noted: dict[str, Any] = notes(answer.degraded, answer.reason, len(_cited(answer)) - len(papers))
    values: dict[str, Any] = {
        "kind": answer.kind,
        "answer": text,
        "grounded": answer.grounded,
        "papers": papers,
        **noted,
    }
    if answer.unknown_citations:
        values["unknown_citations"] = [safe_name(each) for each in answer.unknown_citations[:5]]
    lines = [f"{answer.kind}: {text}"]
    lines += [f"[{paper['id']}] {paper['title']}" for paper in papers]
    lines += _told(noted | {name: values[name] for name in ("unknown_citations",) if name in values})
    return Outcome(AnswerResult.model_validate(values), "\n".join(lines), _cost(answer))


def check_prior_art(lit: HippoLit, asked: CheckPriorArt, _progress: Progress) -> Outcome:
    found = lit.check_prior_art(asked.hypothesis, mode=asked.mode, filters=asked.chosen())
    claims: list[dict[str, Any]] = [
        {"claim": safe(claim.text), "state": claim.state} for claim in found.claims[:_MAX_CLAIMS]
    ]
    claims = fit_items(claims, asked.max_tokens // 3)
    why = fit_text(safe(found.why), _WHY_TOKENS)
    every = _evidence(found)
    room = asked.max_tokens - FRAME - json_tokens(why) - sum(json_tokens(claim) + 4 for claim in claims)
    evidence = fit_items(every, room)
    noted = notes(found.degraded, found.reason, len(every) - len(evidence))
    values: dict[str, Any] = {
        "verdict": found.verdict,
        "confidence": found.confidence,
        "why": why,
        "claims": claims,
        "evidence": evidence,
        "papers_searched": found.searched.papers_in_index,
        "newest_year": found.searched.newest_year,
        **noted,
    }
    sure = "" if found.confidence is None else f" ({found.confidence:.2f})"
    lines = [f"{found.verdict}{sure}: {why}"]
    lines += [f"claim {number} ({claim['state']}): {claim['claim']}" for number, claim in enumerate(claims)]
    lines += [
        f'[{each["id"]}] {each["stance"]} claim {each["claim"]}: "{each["quote"]}"' for each in evidence
    ]
    lines += _told(noted | {"papers_searched": values["papers_searched"]})
    return Outcome(PriorArtResult.model_validate(values), "\n".join(lines), _cost(found))


def _cited(answer: Answer) -> list[dict[str, Any]]:
    """What the answer cites, in its order; the extracts' papers where it is made of extracts."""
    titles = {shown.paper_id: safe_title(shown.title) for shown in answer.papers}
    ids = answer.citations or tuple(dict.fromkeys(extract.paper_id for extract in answer.extracts))
    return [{"id": paper_id, "title": titles.get(paper_id, "")} for paper_id in ids[:_MAX_CITED]]


def _evidence(found: PriorArt) -> list[dict[str, Any]]:
    """What papers say, that which decides first: contradictions, support, the rest; by rank within each."""
    told = []
    for paper in found.papers:
        for each in paper.evidence:
            about: dict[str, Any] = {"id": paper.paper_id, "title": safe_title(paper.title)}
            about |= {"year": paper.year} if paper.year is not None else {}
            told.append(about | {"claim": each.claim, "stance": each.stance, "quote": safe(each.quote)})
    return sorted(told, key=lambda entry: _STANCES.index(entry["stance"]))


def _cost(found: Answer | PriorArt) -> dict[str, Any]:
    usage: Usage = found.cost
    return {
        "degraded": found.degraded,
        "llm_calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
        "stages_s": dict(found.seconds),
    }


def _told(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {value}" for name, value in values.items()]
