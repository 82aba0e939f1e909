"""Settings: TOML files checked by pydantic.

Precedence: default < what an index remembers (`remembered`) < file < environment < command line.

Secrets are never settings: a section names the environment variable that holds its key. Every other
setting can be given as `HIPPO_LIT_<SECTION>__<KEY>` in the environment or `--set section.key=value`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hippo_lit.errors import ConfigError
from hippo_lit.layers import gather

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EmbeddingSettings(_Section):
    """Who turns texts into vectors. "minilm" is the model the `embedded` extra installs."""

    kind: Literal["sentence-transformers", "openai", "hash"] = "sentence-transformers"
    model: str = "minilm"
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    dimensions: int | None = Field(default=None, ge=1)
    style: str = "auto"
    batch_size: Count = 64
    threads: Count | None = None


class LLMSettings(_Section):
    """The chat model, for extraction, filtering and answers; "none" works without one."""

    kind: Literal["none", "openai"] = "none"
    model: str = "gpt-4o-mini"
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: Count = 2048
    seed: int | None = 0
    response_format: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    timeout_s: Seconds = 60.0
    deadline_s: Seconds = 300.0
    max_attempts: Count = 6
    concurrency: Count = 8
    requests_per_minute: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    price_in_per_million: Weight | None = None
    price_out_per_million: Weight | None = None
    batch_price_factor: Weight = 0.5


class ExtractSettings(_Section):
    """How facts are found: "spacy" (rules, no key), "llm", "simple" (any script), "imported", "none".

    "imported" takes what `import-openie` brought in under the name `imported`. With it and with "llm",
    `names_from = "spacy"` adds the names and phrases that rules find to the model's own.
    """

    kind: Literal["spacy", "llm", "simple", "imported", "none"] = "spacy"
    imported: str = Field(default="openie", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    names_from: Literal["spacy", "simple", "none"] = "spacy"
    passage_chars: int = Field(default=4000, ge=200)


class FilterSettings(_Section):
    """Recognition memory: which candidate facts are kept.

    Candidates are the `linking_top_k` best facts, and for each entity that the question names the facts of
    the `per_entity` best sentences that name it too. "linked" needs no LLM: it keeps the best `per_entity`
    facts that name an entity of the question, from a cosine of `min_similarity` on. "llm" asks the chat
    model, which keeps at most `max_facts` and whose words are matched back from a difflib ratio of `cutoff`
    on. "all" keeps the best `max_facts` as they come.
    """

    kind: Literal["linked", "llm", "all"] = "linked"
    linking_top_k: Count = 5
    per_entity: int = Field(default=2, ge=0)
    max_facts: Count = 4
    cutoff: Share = 0.6
    min_similarity: float = Field(default=0.35, ge=-1, le=1)


class GraphSettings(_Section):
    """Edge weights by kind, and who counts as a synonym. Vectors of facts: of the fact's own words
    ("fact"), or of the sentence that states it ("sentence": costs nothing extra)."""

    mention: Weight = 1.0
    title_mention: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 4.0
    fact: Weight = 0.3
    cooccurrence: Weight = 0.3
    synonym: Weight = 1.0
    citation: Weight = 3.0
    continuation: Weight = 1.0
    synonyms: Literal["spelling", "embedding", "none"] = "spelling"
    synonym_threshold: Share = 0.8
    fact_vectors: Literal["sentence", "fact"] = "sentence"


class SeedSettings(_Section):
    """Where PageRank starts.

    Entities: those of the kept facts (`evidence`: of the fact alone or of the whole sentence that states
    it), and with `link_question` those that the question names; the best `max_entities`. With `rarity` an
    entity weighs less the more passages hold its name. What they weigh together tells how specific the
    question is: far below `specific_mass` they hardly count. Passages: the best `max_passages` together weigh
    `passage_share`, in proportion to their `passage_score` (min-maxed) to the power of `passage_power`.
    With `passage_rule = "each"` every passage weighs `passage_weight` times its min-maxed score, whatever
    the size of the corpus: HippoRAG 2's own rule.
    """

    link_question: bool = True
    evidence: Literal["sentence", "fact"] = "sentence"
    max_entities: Count = 10
    rarity: bool = True
    specific_mass: Weight = 1.0
    passage_score: Literal["hybrid", "dense"] = "hybrid"
    passage_rule: Literal["share", "each"] = "share"
    passage_share: Weight = 0.3
    max_passages: Count = 500
    passage_power: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 8.0
    passage_weight: Weight = 0.05


class PprSettings(_Section):
    """Personalised PageRank: the probability to walk on rather than jump back to a seed, and who computes it.

    "igraph" is the reference, "linear" gives the same scores sooner, and "auto" spares what the seeds hardly
    reach: at a node of the mean degree it is off by at most 0.01% of the highest score.
    """

    damping: float = Field(default=0.7, ge=0, lt=1)
    engine: Literal["auto", "igraph", "linear"] = "auto"


class RankSettings(_Section):
    """The order of the hippo route: PageRank / max * exp(hybrid_weight * (hybrid - 1)).

    0 ranks by PageRank alone. The passage that is nearest to the question by hybrid comes first where it
    holds a share of at least `nearest_first` of the question's words, each counted by its idf; above 1:
    never.
    """

    hybrid_weight: Weight = 4.0
    nearest_first: Weight = 0.5


class RetrieveSettings(_Section):
    """What happens to a query when a model fails."""

    on_model_error: Literal["raise", "fallback"] = "fallback"


class AnswerSettings(_Section):
    """Answers: from the `top_k` best papers, each shown with at most `paper_chars` of its abstract.

    `steps` is how many rounds of retrieval and thought may precede one; `extracts` how many sentences stand
    for it without a chat model.
    """

    top_k: Count = 5
    steps: Count = 1
    paper_chars: int = Field(default=3000, ge=200)
    extracts: Count = 5


class PriorArtSettings(_Section):
    """Prior-art checks: the hypothesis and at most `claims` parts of it are held against the `papers` best
    papers, of which a model reads `papers_per_call` at once, with at most `paper_chars` of each abstract.
    """

    papers: Count = 10
    claims: int = Field(default=4, ge=0)
    papers_per_call: Count = 5
    paper_chars: int = Field(default=3000, ge=200)


class LexicalSettings(_Section):
    """The two-pass retriever of REFERENCE 1."""

    tokenizer: str = "plain"
    include_title: bool = False
    k1: Weight = 1.5
    b: Share = 0.75
    w_bm25: Weight = 0.5
    w_graph: Weight = 0.3
    w_recency: Weight = 0.2
    seed_hits: Count = 10
    max_hops: int = Field(default=2, ge=0, le=10)


class Bm25Settings(_Section):
    """BM25 over title and abstract: the `bm25` mode and the lexical half of `hybrid`."""

    tokenizer: str = "unicode-stem"
    k1: Weight = 1.5
    b: Share = 0.75


class HybridSettings(_Section):
    """score = dense_share * minmax(dense) + (1 - dense_share) * minmax(bm25)."""

    dense_share: Share = 0.7


class SourcesSettings(_Section):
    """Paper services: how they are asked, and where their answers are kept.

    `mailto` is your address for OpenAlex and Crossref, which serve those who give one faster. Requests to one
    service lie `…_interval_s` apart, for all processes that share `cache`. A fetch with all its requests ends
    after `deadline_s`. Answers are kept for `max_age_days` in `cache`, unset: a folder of this account.
    """

    mailto: str | None = Field(default=None, pattern=r"^[^@\s]+@[^@\s]+$")
    limit: Count = 100
    timeout_s: Seconds = 30.0
    deadline_s: Seconds = 900.0
    max_attempts: Count = 5
    cache: Path | None = None
    max_age_days: Weight = 7.0
    arxiv_url: str = "https://export.arxiv.org/api"
    arxiv_interval_s: Weight = 3.0
    s2_url: str = "https://api.semanticscholar.org/graph/v1"
    s2_interval_s: Weight = 1.0
    s2_key_env: str = "S2_API_KEY"
    openalex_url: str = "https://api.openalex.org"
    openalex_interval_s: Weight = 0.2
    openalex_key_env: str = "OPENALEX_API_KEY"
    crossref_url: str = "https://api.crossref.org"
    crossref_interval_s: Weight = 0.4


class CacheSettings(_Section):
    """Where vectors and model replies are kept: in the index folder, or in a file that indexes share."""

    path: Path | None = None


class PromptSettings(_Section):
    """The folder of prompts that takes the place of the shipped ones; `hippo-lit prompt new` makes it."""

    path: Path | None = None


class Settings(_Section):
    """Everything that can be set, by section."""

    embedding: EmbeddingSettings = EmbeddingSettings()
    llm: LLMSettings = LLMSettings()
    extract: ExtractSettings = ExtractSettings()
    filter: FilterSettings = FilterSettings()
    graph: GraphSettings = GraphSettings()
    seeds: SeedSettings = SeedSettings()
    ppr: PprSettings = PprSettings()
    rank: RankSettings = RankSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    cache: CacheSettings = CacheSettings()
    prompts: PromptSettings = PromptSettings()
    sources: SourcesSettings = SourcesSettings()
    lexical: LexicalSettings = LexicalSettings()
    bm25: Bm25Settings = Bm25Settings()
    hybrid: HybridSettings = HybridSettings()
    answer: AnswerSettings = AnswerSettings()
    prior_art: PriorArtSettings = PriorArtSettings()


def load_settings(
    file: Path | None = None, overrides: Iterable[str] = (), environ: Mapping[str, str] | None = None
) -> Settings:
    """Settings from an optional TOML file, the environment and `section.key=value` overrides.

    Raises ConfigError naming the key and, for a wrong name, the nearest right ones.
    """
    return validate(gather(file, overrides, environ), origin=str(file) if file else "settings")


def validate(data: Mapping[str, Any], *, origin: str = "settings") -> Settings:
    """Check a mapping of sections. Raises ConfigError."""
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise ConfigError(f"{origin}: there is no setting {key!r}{_nearest(key)}", key=key) from error
        raise ConfigError(f"{origin}: {key} = {first['input']!r:.80}: {first['msg']}", key=key) from error


def _nearest(key: str) -> str:
    import difflib

    known = [f"{s}.{k}" for s, f in Settings.model_fields.items() for k in type(f.default).model_fields]
    close = difflib.get_close_matches(key, [*known, *Settings.model_fields], n=2, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""
