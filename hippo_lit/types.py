"""The values that flow through the package: frozen, slotted, without behaviour of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["hippo", "lexical", "bm25", "dense", "hybrid"]
MODES: tuple[Mode, ...] = ("hippo", "lexical", "bm25", "dense", "hybrid")


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper, merged from every source that knows it.

    `references` are the ids it cites, `citations` the ids that cite it; both may name papers outside
    the corpus. `year` is None where no source states one. `source` names who gave it; sources that
    were merged are joined by "+" in alphabetical order ("arxiv+s2"). `ids` are what else names it, beside
    `id` and `doi`, in the canonical form of `identifiers` ("arxiv:1706.03762"), sorted. `retracted` is what
    any source said; `open_access` is None where none tells.
    """

    id: str
    title: str
    abstract: str = ""
    year: int | None = None
    authors: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    source: str = ""
    doi: str | None = None
    venue: str | None = None
    url: str | None = None
    ids: tuple[str, ...] = ()
    retracted: bool = False
    open_access: bool | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a paper that is embedded and ranked as one; most papers are a single passage.

    `text` is the title, a newline and a run of the abstract's sentences. `number` counts from 0.
    """

    paper_id: str
    number: int
    title: str
    body: str

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.body}".strip()


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement as (subject, relation, object), in the words of the text it came from."""

    subject: str
    relation: str
    object: str

    @property
    def text(self) -> str:
        """The form that is embedded and shown to models."""
        return f"{self.subject} {self.relation} {self.object}"


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity as a passage writes it.

    `kind` is "name" for a proper name (people, places, genes, acronyms), "phrase" for a common noun
    phrase. `sentence` indexes `text.split_sentences(passage.body)`; -1 is the title.
    """

    surface: str
    sentence: int
    kind: Literal["name", "phrase"] = "name"


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found in one passage.

    `fact_sentences[i]` is the sentence that states `facts[i]` (-1: the title, or not known).
    """

    mentions: tuple[Mention, ...] = ()
    facts: tuple[Fact, ...] = ()
    fact_sentences: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoredFact:
    """A fact as a candidate for a question.

    `score` is min-maxed over all facts, in [0, 1]; `similarity` is the cosine behind it, in [-1, 1].
    `anchors` are the question's own entities that the fact, or the sentence that states it, names, and
    `specificity` is that of the rarest: 1 over the number of passages that hold its name (0: no anchor).
    """

    fact: Fact
    score: float
    similarity: float = 0.0
    anchors: tuple[str, ...] = ()
    specificity: float = 0.0
    paper_ids: tuple[str, ...] = ()
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    """What a fact filter kept.

    `kept` are indices into the candidates, best first, each once. `unmatched` are the reply's facts
    that resemble no candidate. `similarities[i]` is how well `kept[i]` matched the reply (1.0 = exact), and
    `weights[i]`, in [0, 1], how far its word counts; empty where all count fully.
    """

    kept: tuple[int, ...]
    unmatched: tuple[str, ...] = ()
    similarities: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls cost. `cost_usd` is None where no price is set for the model."""

    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        costs = [c for c in (self.cost_usd, other.cost_usd) if c is not None]
        return Usage(
            self.calls + other.calls,
            self.cached_calls + other.cached_calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            sum(costs) if costs else None,
        )


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat. Roles as in the OpenAI API."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A chat model's answer. `finish_reason` as the API gives it ("stop", "length", …)."""

    text: str
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which papers may be ranked; the graph walks through all of them all the same.

    A paper has to pass every filter that is set. Years are inclusive, None leaves an end open, and a paper
    without a year is left out where either is given. Of several `authors`, `venues` or `sources` one
    suffices. `open_access`, `has_abstract` and `retracted` ask for papers that are known to be so (True) or
    are not (False). `only` are the ids that may be ranked (None: all; empty: none), `exclude` those that
    may not. See `restriction.parse_filters` for how the outside writes them.
    """

    first_year: int | None = None
    last_year: int | None = None
    authors: tuple[str, ...] = ()
    venues: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    open_access: bool | None = None
    has_abstract: bool | None = None
    retracted: bool | None = None
    only: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity that receives reset probability, and why. `weight` is before normalisation."""

    entity: str
    weight: float
    because: str


@dataclass(frozen=True, slots=True)
class Step:
    """One edge of the way from a seed to a paper.

    `kind`: "fact" (`detail` is its text), "mention", "cooccurrence" (in one sentence), "synonym",
    "citation", or "continuation" (neighbouring passages of one paper).
    """

    source: str
    kind: str
    target: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RankedPaper:
    """A paper in a ranking, with every score that explains it.

    `score` is what the ranking sorted by, in the unit of the result's route. The lesson's four are
    always there: `bm25_score` (≥ 0), `graph_distance` (citation hops from a lexical hit; None: not
    reached), `recency_score` in [0, 1] and `final_score` in [0, 1]. `scores` holds the others by name
    ("bm25", "dense", "hybrid", "held", "ppr"); `path` leads from a seed to this paper (empty without a
    graph).
    """

    paper: Paper
    rank: int
    score: float
    bm25_score: float = 0.0
    graph_distance: int | None = None
    recency_score: float = 0.0
    final_score: float = 0.0
    scores: Mapping[str, float] = field(default_factory=dict)
    path: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """How a result came about, stage by stage. `seconds` is wall time per stage."""

    candidates: tuple[ScoredFact, ...] = ()
    kept: tuple[ScoredFact, ...] = ()
    unmatched: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    snapshot: str = ""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Per-query figures that a run logs: hits returned, their mean and top score, wall time."""

    hits: int = 0
    mean_score: float = 0.0
    top_score: float = 0.0
    wall_time_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """A ranked answer to one query.

    `mode` is what was asked for, `route` what answered. They differ where no fact survived and
    "hybrid" answered for "hippo". `reason` says why; `degraded` is True only where something failed
    that should have worked (a model, a missing part), never where the data simply held no fact.
    """

    query: str
    mode: Mode
    route: Mode
    papers: tuple[RankedPaper, ...] = ()
    degraded: bool = False
    reason: str = ""
    metrics: Metrics = field(default_factory=Metrics)
    trace: Trace = field(default_factory=Trace)


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the papers of a batch.

    `added`: the paper was new. `changed`: it was known, under this id or another; the source was new or
    said something else.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.added + other.added, self.changed + other.changed, self.unchanged + other.unchanged
        )
