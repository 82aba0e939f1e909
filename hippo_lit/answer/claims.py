"""A hypothesis and the parts of it that can be checked one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from hippo_lit.answer.lists import ask_for_list
from hippo_lit.answer.values import Claim, ClaimOrigin
from hippo_lit.llm.prompts import Prompt
from hippo_lit.llm.replies import names
from hippo_lit.protocols import ChatModel
from hippo_lit.sentences import split_sentences
from hippo_lit.text import clean, normalise

KEYS = ("claims", "claim", "parts")
_LEAST_CHARS = 20  # letters and digits of a part that can be looked for by itself
_CLAUSE = re.compile(
    r"\s*[;；]\s*|\s*,\s+(?:and|but|while|whereas|although|because|so|yet)\s+", re.IGNORECASE
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"claims": {"type": "array", "items": {"type": "string"}}},
    "required": ["claims"],
    "additionalProperties": False,
}


def claims_by_rule(hypothesis: str, limit: int) -> tuple[Claim, ...]:
    """The hypothesis, then at most `limit` of its sentences and clauses, where it has several.

    >>> [claim.text for claim in claims_by_rule("LoRA halves memory use, but it is slower than adapters.", 4)]
    ['LoRA halves memory use, but it is slower than adapters.', 'it is slower than adapters.']
    """
    parts = [part for sentence in split_sentences(hypothesis) for part in _CLAUSE.split(sentence)]
    return _numbered(hypothesis, parts, limit, "rule")


def claims_by_model(hypothesis: str, limit: int, chat: ChatModel, prompt: Prompt) -> tuple[Claim, ...]:
    """The hypothesis, then at most `limit` parts that the model finds in it; none is an answer.

    Raises ChatModelError, of kind "unreadable" or "truncated" where the reply lists no claims.
    """
    messages = prompt.render(data={"hypothesis": hypothesis, "limit": limit})
    listed, _ = ask_for_list(chat, messages, SCHEMA, KEYS, "the list of the hypothesis's parts")
    return _numbered(hypothesis, names(listed)[0], limit, "model")


def _numbered(hypothesis: str, parts: Iterable[str], limit: int, origin: ClaimOrigin) -> tuple[Claim, ...]:
    forms = {normalise(hypothesis): Claim(0, hypothesis, "hypothesis")}
    for part in map(clean, parts):
        form = normalise(part)
        if len(forms) <= limit and form not in forms and sum(map(str.isalnum, form)) >= _LEAST_CHARS:
            forms[form] = Claim(len(forms), part, origin)
    return tuple(forms.values())
