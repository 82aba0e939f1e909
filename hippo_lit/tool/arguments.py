"""What agents may ask: the arguments of every tool, checked and bounded.

Descriptions are read by the model that calls. null means "not given" everywhere, since strict schemas make
a model state every argument.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from hippo_lit.errors import ConfigError
from hippo_lit.restriction import parse_filters
from hippo_lit.types import Filters, Mode

MAX_QUERY_CHARS, MAX_ID_CHARS, MAX_LIST, MAX_K, MAX_PAPERS = 2_000, 512, 200, 50, 100
MIN_TOKENS, MAX_TOKENS = 200, 20_000
PaperField = Literal[
    "title", "year", "authors", "venue", "doi", "url",
    "summary", "abstract", "references", "citations", "facts",
]  # fmt: skip
PAPER_FIELDS: tuple[PaperField, ...] = get_args(PaperField)
Relation = Literal["cites", "cited_by", "facts"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is blank")
    return text


Text = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS), AfterValidator(_not_blank)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARS)]
Names = Annotated[list[Name], Field(max_length=MAX_LIST)]
PaperId = Annotated[Name, Field(description="A paper's id, as search_papers gives it.")]
MaxTokens = Annotated[
    int,
    Field(
        ge=MIN_TOKENS,
        le=MAX_TOKENS,
        description="The result is cut, at ends of sentences, to this many tokens.",
    ),
]
SentenceCount = Annotated[
    int, Field(ge=1, le=50, description="How many first sentences of an abstract are its summary.")
]


class Arguments(BaseModel):
    """Base of all: unknown names are refused, null is not given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_not_given(cls, data: Any) -> Any:
        return {k: v for k, v in data.items() if v is not None} if isinstance(data, dict) else data


class FilterArguments(Arguments):
    """Which papers may be ranked."""

    years: str | None = Field(None, max_length=32, description="2018-2024, 2020, 2018- or -2020.")
    authors: Names = Field([], description="Any of these, family or full names.")
    venues: Names = Field([], description="Any of these journals or conferences.")
    sources: Names = Field([], description="Any of these sources.")
    open_access: bool | None = Field(None, description="Known to be open access (true) or not (false).")
    has_abstract: bool | None = Field(None, description="With an abstract (true) or without (false).")
    retracted: bool | None = Field(None, description="Retracted (true) or not (false).")
    only: Names | None = Field(None, description="Only papers of these ids.")
    exclude: Names = Field([], description="No papers of these ids.")

    @model_validator(mode="after")
    def _can_be_parsed(self) -> FilterArguments:
        try:
            self.parsed()
        except ConfigError as error:
            raise ValueError(error.message) from error
        return self

    def parsed(self) -> Filters:
        return parse_filters(self.model_dump())


class Ranking(Arguments):
    """What every tool that retrieves is told."""

    mode: Mode = Field(
        "hippo", description="hippo: through facts; lexical, bm25: words; dense, hybrid: text."
    )
    filters: FilterArguments | None = Field(None, description="Which papers count.")
    max_tokens: MaxTokens = 2_000

    def chosen(self) -> Filters:
        return self.filters.parsed() if self.filters else Filters()


class SearchPapers(Ranking):
    query: Text = Field(description="A question or topic, in words.")
    k: int = Field(10, ge=1, le=MAX_K, description="How many papers at most.")
    fields: list[PaperField] = Field(
        ["title", "summary"], max_length=len(PAPER_FIELDS), description="What to tell of each paper."
    )
    first_sentences: SentenceCount = 3


class GetPaper(Arguments):
    id: PaperId
    fields: list[PaperField] = Field(
        ["title", "year", "authors", "venue", "abstract"],
        max_length=len(PAPER_FIELDS),
        description="What to tell of it.",
    )
    first_sentences: SentenceCount = 3
    max_tokens: MaxTokens = 2_000


class RelatedPapers(Arguments):
    id: PaperId
    relations: list[Relation] = Field(
        list(RELATIONS),
        min_length=1,
        max_length=len(RELATIONS),
        description="Papers it cites, that cite it, or whose sentences name what its facts are about.",
    )
    limit: int = Field(20, ge=1, le=MAX_K, description="How many papers a page has at most.")
    cursor: str | None = Field(None, max_length=64, description="next_cursor of the page before.")
    max_tokens: MaxTokens = 2_000


class AnswerQuestion(Ranking):
    question: Text = Field(description="The question, in words.")
    steps: int = Field(1, ge=1, le=5, description="Rounds of retrieval, each led by the last one's findings.")


class CheckPriorArt(Ranking):
    hypothesis: Text = Field(description="A statement that some paper may have shown or contradicted.")


class CorpusInfo(Arguments):
    pass


class NewPaper(Arguments):
    """A paper to add; a title or an abstract is needed."""

    id: Name
    title: str = Field("", max_length=2_000)
    abstract: str = Field("", max_length=50_000)
    year: int | None = Field(None, ge=1000, le=2100)
    authors: Names = []
    references: Names = Field([], description="Ids of papers it cites.")
    venue: str | None = Field(None, max_length=MAX_ID_CHARS)
    doi: str | None = Field(None, max_length=MAX_ID_CHARS)


class AddPapers(Arguments):
    papers: list[NewPaper] = Field(min_length=1, max_length=MAX_PAPERS)


class ExpandCitations(Arguments):
    hops: int = Field(1, ge=1, le=2, description="How many citations far.")
    direction: Literal["both", "references", "citations"] = "both"
    limit: int = Field(20, ge=1, le=MAX_LIST, description="How many papers may join.")
    source: Literal["s2", "openalex"] = Field("s2", description="Semantic Scholar or OpenAlex.")
    max_requests: int = Field(50, ge=1, le=1_000, description="How many citation lists may be asked for.")
