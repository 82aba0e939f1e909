"""What agents get: the results of every tool. What is not known, or was not asked for, is absent."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Result(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StatedFact(Result):
    subject: str
    relation: str
    object: str


class PaperEntry(Result):
    """A paper, with the fields that were asked for."""

    id: str
    title: str | None = None
    year: int | None = None
    authors: list[str] | None = None
    venue: str | None = None
    doi: str | None = None
    url: str | None = None
    summary: str | None = Field(None, description="The first sentences of the abstract.")
    abstract: str | None = None
    references: list[str] | None = None
    citations: list[str] | None = None
    facts: list[StatedFact] | None = None
    retracted: Literal[True] | None = None
    cut: list[str] | None = Field(None, description="Fields that max_tokens cut short or left out.")


class Notes(Result):
    """What is to be known of a result beside its content."""

    left_out: int | None = Field(None, description="How many more there are that max_tokens left out.")
    degraded: Literal[True] | None = Field(None, description="Something failed; `note` says what.")
    note: str | None = None


class SearchResult(Notes):
    papers: list[PaperEntry] = Field(description="Best first.")


class RelatedPaper(Result):
    id: str
    relation: Literal["cites", "cited_by", "facts"]
    title: str | None = None
    shared: list[str] | None = Field(None, description="What both papers' sentences name.")
    outside: Literal[True] | None = Field(None, description="The corpus holds only this paper's id.")


class RelatedResult(Notes):
    papers: list[RelatedPaper]
    total: int
    next_cursor: str | None = None


class Cited(Result):
    """A paper and what it says, in its own words."""

    id: str
    title: str
    quotes: list[str] | None = None


class AnswerResult(Notes):
    kind: Literal["answer", "not_said", "extracts", "none"] = Field(
        description="extracts: sentences of papers, as no model answered. not_said: the papers do not say."
    )
    answer: str
    grounded: bool = Field(description="Whether all that is cited was read.")
    papers: list[Cited] = Field(description="What the answer cites.")
    unknown_citations: list[str] | None = Field(None, description="Cited, but never shown to the model.")


class ClaimResult(Result):
    claim: str
    state: Literal["supported", "contradicted", "mixed", "not_found", "unjudged"]


class EvidenceResult(Result):
    id: str
    title: str
    year: int | None = None
    claim: int = Field(description="Index into claims.")
    stance: Literal["supports", "contradicts", "related", "unjudged"]
    quote: str


class PriorArtResult(Notes):
    verdict: Literal["shown_before", "contradicted", "partly_shown", "not_found", "none"] = Field(
        description="not_found: not in this corpus. none: no model judged."
    )
    confidence: float | None = None
    why: str
    claims: list[ClaimResult]
    evidence: list[EvidenceResult]
    papers_searched: int = Field(description="How many papers the corpus holds.")
    newest_year: int | None = None


class CorpusResult(Result):
    papers: int
    passages: int
    entities: int
    facts: int
    citations: int
    first_year: int | None = None
    last_year: int | None = None
    llm: bool = Field(description="Whether a language model answers and judges here.")
    state: str = Field(description="Changes whenever the corpus does.")


class AddResult(Result):
    added: int
    changed: int
    unchanged: int
    papers: int = Field(description="How many the corpus holds now.")
    passages_without_facts: int


class JoinedPaper(Result):
    id: str
    title: str


class ExpandResult(Notes):
    joined: list[JoinedPaper]
    candidates: int = Field(description="Linked papers that the corpus does not hold.")
    links: int = Field(description="Citations within the corpus that were learnt.")
    papers: int = Field(description="How many the corpus holds now.")


class Failure(Result):
    """Why a tool has no result."""

    code: Literal[
        "invalid_arguments",
        "unknown_tool",
        "not_found",
        "stale_cursor",
        "busy",
        "timeout",
        "cancelled",
        "model_failed",
        "source_failed",
        "index_unavailable",
        "configuration",
        "internal",
    ]
    message: str
    retry_after_s: float | None = None
    what_to_do: str
