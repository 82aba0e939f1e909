"""What an answer and a prior-art check consist of: frozen, and JSON-ready by `to_json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from hippo_lit.types import Filters, Mode, Usage

AnswerKind = Literal["answer", "not_said", "extracts", "none"]
LoopEnd = Literal["one_step", "answer", "limit", "empty", "repeated", "unusable", "failed"]
ClaimOrigin = Literal["hypothesis", "model", "rule"]
ClaimState = Literal["supported", "contradicted", "mixed", "not_found", "unjudged"]
Stance = Literal["supports", "contradicts", "related", "unjudged"]
Verdict = Literal["shown_before", "contradicted", "partly_shown", "not_found", "none"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A paper that was shown to the model or, without one, searched for extracts.

    `score` is 1 / the best rank that any round of retrieval gave it, in (0, 1].
    """

    paper_id: str
    title: str
    year: int | None
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Extract:
    """A sentence of a paper, verbatim. `score` is its cosine to the question, or
    BM25 where `by` is "words".
    """

    paper_id: str
    sentence: str
    score: float
    by: Literal["vectors", "words"]


@dataclass(frozen=True, slots=True)
class Round:
    """One retrieval: `query` is the question in the first round, the thought before it in later ones.

    `papers` are the ids it ranked, best first, and `added` those that no earlier round had.
    """

    number: int
    query: str
    papers: tuple[str, ...]
    added: tuple[str, ...]
    route: Mode
    degraded: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to `question` from the papers of one index.

    `kind`: "answer", the model's; "not_said", the model finds that the papers do not say; "extracts", `text`
    is sentences of the papers, since no model was asked or its reply could not be used; "none", no paper was
    found. `citations` are ids that `text` cites and that were shown, `unknown_citations` what it cites
    besides; `grounded` is True where it cites papers, and only such as were shown. `thoughts` are those
    between the rounds, and `loop_end` says why there were no more. `degraded` and `reason` as in
    `RetrievalResult`. `usage` and `seconds` go by stage; `cost` is all of the usage together.
    """

    question: str
    kind: AnswerKind
    text: str
    thought: str = ""
    grounded: bool = False
    citations: tuple[str, ...] = ()
    unknown_citations: tuple[str, ...] = ()
    extracts: tuple[Extract, ...] = ()
    papers: tuple[Shown, ...] = ()
    rounds: tuple[Round, ...] = ()
    thoughts: tuple[str, ...] = ()
    loop_end: LoopEnd = "one_step"
    mode: Mode = "hippo"
    degraded: bool = False
    reason: str = ""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    cost: Usage = field(default_factory=Usage)
    seconds: Mapping[str, float] = field(default_factory=dict)
    snapshot: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """Something checkable: the hypothesis itself (number 0), or a part of it. `origin` says who put it so."""

    number: int
    text: str
    origin: ClaimOrigin
    state: ClaimState = "unjudged"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a paper says of a claim, by a quote that stands in its abstract word for word.

    Without a model the stance is "unjudged", and quoted are the sentences nearest to the claim.
    """

    claim: int
    stance: Stance
    quote: str


@dataclass(frozen=True, slots=True)
class PriorPaper:
    """A paper that was found.

    `score` is 1 / its best rank for any query, in (0, 1]; `found_by` are the claims whose retrieval ranked
    it. `judged`: a model read it, and gave a reply that could be used.
    """

    paper_id: str
    title: str
    year: int | None
    rank: int
    score: float
    found_by: tuple[int, ...]
    judged: bool
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Searched:
    """Where it was looked for: "not found" means not found here. Years are those of the whole index."""

    queries: tuple[str, ...]
    mode: Mode
    filters: Filters
    papers_per_query: int
    papers_in_index: int
    oldest_year: int | None
    newest_year: int | None
    snapshot: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """Statements of the model that were not used, by what was wrong with them.

    `quotes`: the quote does not stand in the paper; `papers`, `claims`, `stances`: there is none of that
    name.
    """

    quotes: int = 0
    papers: int = 0
    claims: int = 0
    stances: int = 0

    @property
    def total(self) -> int:
        return self.quotes + self.papers + self.claims + self.stances


@dataclass(frozen=True, slots=True)
class PriorArt:
    """Whether `hypothesis` has been shown before, as far as one index can tell.

    `verdict` is "none" where no model judged, and `confidence`, in [0, 1], then None; `why` says how both
    came about. `papers` are ordered by rank, whatever they say. `degraded`, `reason`, `usage`, `cost` and
    `seconds` as in `Answer`.
    """

    hypothesis: str
    verdict: Verdict
    confidence: float | None
    why: str
    claims: tuple[Claim, ...]
    papers: tuple[PriorPaper, ...]
    searched: Searched
    dropped: Dropped = Dropped()
    degraded: bool = False
    reason: str = ""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    cost: Usage = field(default_factory=Usage)
    seconds: Mapping[str, float] = field(default_factory=dict)


def to_json(value: Answer | PriorArt) -> dict[str, Any]:
    """The whole value as JSON-ready values under its field names; what is not known is null.

    `schema.json_schema` describes it.
    """
    return asdict(value)
