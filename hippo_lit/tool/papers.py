"""Papers as agents see them: only the fields they ask for, as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hippo_lit.sentences import first_sentences
from hippo_lit.snapshot import Snapshot
from hippo_lit.tool.fit import MAX_TEXT_CHARS, safe, safe_name, safe_title
from hippo_lit.types import Fact, Paper

RUNNER = ("title", "summary")
"""What an experiment runner reads beside the id: the title and the first three sentences."""
EVALUATOR = ("year", "references")
"""What an evaluator reads, to attribute a baseline to a paper."""
_READ_CHARS = 20_000  # more than 50 sentences of any abstract that people write


def runner_view(paper: Paper) -> dict[str, Any]:
    """{"id", "title", "summary"}: the summary is the first three sentences of the abstract."""
    return paper_entry(paper, RUNNER)


def evaluator_view(paper: Paper) -> dict[str, Any]:
    """{"id", "year", "references"}; the year is absent where no source states one."""
    return paper_entry(paper, EVALUATOR)


def paper_entry(
    paper: Paper, fields: Iterable[str], *, sentences: int = 3, facts: Sequence[Fact] = ()
) -> dict[str, Any]:
    """The id and the `fields` of a paper that have a value. A retraction is told unasked."""
    entry: dict[str, Any] = {"id": paper.id}
    for name in dict.fromkeys(fields):
        value = _value(paper, name, sentences, facts)
        if value not in (None, "", []):
            entry[name] = value
    if paper.retracted:
        entry["retracted"] = True
    return entry


def facts_of(snapshot: Snapshot, number: int) -> list[Fact]:
    """The facts that a paper states, in the order of its text, each once."""
    return list(dict.fromkeys(fact for _, fact in snapshot.facts_of(number)))


def _value(paper: Paper, name: str, sentences: int, facts: Sequence[Fact]) -> Any:
    match name:
        case "title":
            return safe_title(paper.title)
        case "summary":
            return first_sentences(safe(paper.abstract, _READ_CHARS), sentences)
        case "abstract":
            return safe(paper.abstract, MAX_TEXT_CHARS)
        case "authors":
            return [safe_name(author) for author in paper.authors]
        case "venue" | "doi" | "url":
            return safe_name(getattr(paper, name) or "")
        case "facts":
            return [
                {part: safe_name(getattr(fact, part)) for part in ("subject", "relation", "object")}
                for fact in facts
            ]
        case "references" | "citations":
            return [safe_name(other) for other in getattr(paper, name)]
        case _:
            return getattr(paper, name)
