"""A chat model reads papers against claims; only what it can quote from the paper counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hippo_lit.answer.lists import ask_for_list
from hippo_lit.answer.shown import as_shown, shown_text
from hippo_lit.answer.values import Claim, Dropped, Evidence, Stance
from hippo_lit.llm.prompts import Prompt
from hippo_lit.protocols import ChatModel
from hippo_lit.sentences import sentence_spans
from hippo_lit.types import Paper

MAX_STATEMENTS = 200
LEAST_QUOTE = 12  # letters and digits: less stands in many a paper by chance
KEYS = ("evidence", "findings", "statements")
_STANCES: Mapping[str, Stance] = {
    "supports": "supports",
    "support": "supports",
    "supported": "supports",
    "contradicts": "contradicts",
    "contradict": "contradicts",
    "contradicted": "contradicts",
    "related": "related",
    "neutral": "related",
}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "paper": {"type": "string"},
                    "claim": {"type": "integer"},
                    "stance": {"type": "string", "enum": ["supports", "contradicts", "related"]},
                    "quote": {"type": "string"},
                },
                "required": ["paper", "claim", "stance", "quote"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["evidence"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """Evidence by paper id, every paper with a key; `cut`: the reply was broken off after some of it."""

    evidence: Mapping[str, tuple[Evidence, ...]]
    dropped: Dropped
    cut: bool


def judge(
    papers: Sequence[Paper], claims: Sequence[Claim], chat: ChatModel, prompt: Prompt, paper_chars: int
) -> Judged:
    """What `papers` say of `claims`, in one call.

    Raises ChatModelError, of kind "unreadable" or "truncated" where the reply lists no evidence; an empty
    list is an answer.
    """
    data = {
        "claims": [{"claim": claim.number, "text": claim.text} for claim in claims],
        "papers": as_shown(papers, paper_chars),
    }
    messages = prompt.render(data=data)
    what = f"the judgement of {len(papers)} papers"
    listed, cut = ask_for_list(chat, messages, SCHEMA, KEYS, what)
    texts = {paper.id: shown_text(paper, paper_chars) for paper in papers}
    found, dropped = _checked(listed, texts, {claim.number for claim in claims})
    return Judged(found, dropped, cut)


def _checked(
    statements: Sequence[Any], texts: Mapping[str, str], claims: set[int]
) -> tuple[dict[str, tuple[Evidence, ...]], Dropped]:
    found: dict[str, dict[Evidence, None]] = {paper_id: {} for paper_id in texts}
    quotes = papers = unknown_claims = stances = 0
    for statement in _dicts(statements):
        paper_id, claim = _text(statement.get("paper") or statement.get("id")), _text(statement.get("claim"))
        stance = _STANCES.get(_text(statement.get("stance")).lower())
        if paper_id not in texts:
            papers += 1
        elif not (claim.isascii() and claim.isdigit() and len(claim) < 5) or int(claim) not in claims:
            unknown_claims += 1
        elif stance is None:
            stances += 1
        elif not (quote := verified(_text(statement.get("quote")), texts[paper_id])):
            quotes += 1
        else:
            found[paper_id][Evidence(int(claim), stance, quote)] = None
    kept = {paper_id: tuple(evidence) for paper_id, evidence in found.items()}
    return kept, Dropped(quotes, papers, unknown_claims, stances)


def _dicts(statements: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for statement in statements[:MAX_STATEMENTS]:
        fields = statement if isinstance(statement, dict) else {}
        yield {str(key).strip().lower(): value for key, value in fields.items()}


def _text(value: object) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int) else ""


def verified(quote: str, text: str) -> str:
    """The whole sentences of `text` that hold `quote`, or "" where it does not stand there.

    Only white space may differ. Whole, since half a sentence can say the contrary: "reduces memory" of
    "Nothing suggests that it reduces memory."

    >>> verified("reduces memory", "We measure. Nothing suggests that it reduces  memory. The end.")
    'Nothing suggests that it reduces memory.'
    """
    text, quote = " ".join(text.split()), " ".join(quote.split())
    at = text.find(quote)
    if at < 0 or sum(map(str.isalnum, quote)) < LEAST_QUOTE:
        return ""
    spans = [(a, b) for a, b in sentence_spans(text) if a < at + len(quote) and b > at]
    return text[spans[0][0] : spans[-1][1]]
