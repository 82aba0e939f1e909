"""Results as JSON and as text that is safe on any terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hippo_lit.text import clean
from hippo_lit.types import RetrievalResult, ScoredFact, Step, Usage

MAX_TITLE_CHARS = 300
# What json leaves as it is and a terminal, or a strict reader, may not: DEL and C1 controls, direction
# overrides, line separators, lone surrogates.
_UNSAFE = re.compile(
    r"[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ud800-\udfff\ufeff]"
)


def to_json(result: RetrievalResult) -> dict[str, Any]:
    """The whole result as JSON-ready values, under the field names of `types.RetrievalResult`::

        {"query", "mode", "route", "degraded", "reason",
         "papers": [{"paper": {"id", "title", "abstract", "year", "authors", "references", "citations",
                               "source", "doi", "venue", "url", "ids", "retracted", "open_access"},
                     "rank", "score", "bm25_score", "graph_distance", "recency_score", "final_score",
                     "scores": {name: number},
                     "path": [{"source", "kind", "target", "detail"}]}],
         "metrics": {"hits", "mean_score", "top_score", "wall_time_s"},
         "trace": {"candidates": [fact], "kept": [fact], "unmatched": [text],
                   "seeds": [{"entity", "weight", "because"}],
                   "usage": {stage: {"calls", "cached_calls", "prompt_tokens", "completion_tokens",
                                     "cost_usd"}},
                   "seconds": {stage: number}, "snapshot"}}

    where a fact is {"fact": {"subject", "relation", "object"}, "score", "similarity", "anchors",
    "specificity", "paper_ids", "sentence"}. Every key is always there; what is not known is null.
    """
    return asdict(result)


def dumps(value: Any, *, ascii_only: bool = False) -> str:
    """`value` as JSON, indented by two spaces; letters of all scripts as they are, unless `ascii_only`.

    Characters that would steer a terminal are escaped. Raises ValueError for NaN and infinity.
    """
    text = json.dumps(value, ensure_ascii=ascii_only, indent=2, allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable(text: str) -> str:
    """One line that no terminal takes for anything but text.

    >>> printable("a\\x1b[31mred\\nb")
    'a [31mred b'
    """
    return clean(text)


def shorten(text: str, width: int) -> str:
    """`printable` text of at most `width` characters, cut at the end of a word where there is one.

    >>> shorten("The quick brown fox", 12)
    'The quick…'
    """
    text = printable(text)
    if len(text) <= width:
        return text
    cut = text[: max(1, width - 1)]
    at_word = cut.rpartition(" ")[0]
    return (at_word if len(at_word) > width // 2 else cut).rstrip() + "…"


def title_text(title: str) -> str:
    """A title as a line, of at most MAX_TITLE_CHARS; "" stays so."""
    return shorten(title, MAX_TITLE_CHARS)


def authors_text(authors: Sequence[str]) -> str:
    """Family names: two of them, or the first with "et al.".

    >>> authors_text(["Ada Lovelace", "Turing, Alan"]), authors_text(["A B", "C D", "E F"])
    ('Lovelace, Turing', 'B et al.')
    """
    names = [printable(name) for name in authors]
    families = [name.partition(",")[0] if "," in name else name.rpartition(" ")[2] for name in names]
    if len(families) <= 2:
        return ", ".join(families)
    return f"{families[0]} et al."


def fact_text(scored: ScoredFact) -> str:
    """A fact as "subject — relation — object"; one that stands in for its sentence, as that sentence."""
    fact = scored.fact
    if scored.sentence and fact.object == scored.sentence:
        return f"“{printable(scored.sentence)}”"
    return " — ".join(printable(part) for part in (fact.subject, fact.relation, fact.object))


def chain(path: Sequence[Step]) -> str:
    """A way from a seed to a paper: "A —[mention]→ p1 —[citation: cites]→ p2"."""
    if not path:
        return ""
    return " ".join([printable(path[0].source), *map(_link, path)])


def _link(step: Step) -> str:
    detail = step.detail
    if detail.startswith(f"{step.source} ") and detail.endswith(f" {step.target}"):
        detail = detail[len(step.source) : len(detail) - len(step.target)]  # the ends stand beside it anyway
    label = f"{step.kind}: {printable(detail)}" if detail else step.kind
    return f"—[{label}]→ {printable(step.target)}"


def usage_text(usage: Usage) -> str:
    """What model calls cost, in words."""
    cached = f" ({usage.cached_calls:,} more from the cache)" if usage.cached_calls else ""
    cost = "" if usage.cost_usd is None else f", {usage.cost_usd:.4f} USD"
    tokens = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out"
    return f"{usage.calls:,} calls{cached}, {tokens}{cost}"
