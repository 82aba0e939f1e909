"""The modules of the services, against recorded answers (see `replay`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from replay import FOLDER, Replay, settings

from hippo_lit.errors import DataError, SourceError
from hippo_lit.retry import CallFailed
from hippo_lit.sources.live import arxiv, openalex, s2
from hippo_lit.sources.live.answers import Direction
from hippo_lit.sources.live.services import CitationService, Services
from hippo_lit.testing.server import Answer, Recorded, ScriptedServer
from hippo_lit.types import Paper

BERT = "df2b0e26d0599ce3e70df8a9da02e51594e0e992"
DPR = "b26f2037f769d5ffc5f7bdcec2de8da28ec14bee"
RAG = "659bf9ce7175e1ec266ff54359e2bd76e0b7ff31"
ATTENTION = "204e3073870fae3d05bcbc2f6a8e263d9b72e776"
RAG_QUERY = 'arxiv:cat:cs.CL AND abs:"retrieval augmentation"'


@dataclass
class Outcome:
    papers: list[Paper] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    error: SourceError | None = None

    @property
    def ids(self) -> list[str]:
        return [paper.id for paper in self.papers]


Ask = Callable[[str], Outcome]


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arxiv, "PAGE", 2)
    for module in (s2, openalex):
        monkeypatch.setattr(module, "_PAGE", 2)
    monkeypatch.setattr("hippo_lit.sources.live.crossref._PAGE", 2)


@pytest.fixture
def replay() -> Replay:
    return Replay.load()


@pytest.fixture
def services(replay: Replay, tmp_path: Path) -> Iterator[Services]:
    with ScriptedServer([replay]) as server, Services(settings(server, tmp_path)) as services:
        yield services


@pytest.fixture
def ask(services: Services) -> Ask:
    def ask(question: str) -> Outcome:
        outcome = Outcome()
        source = services.source(question, limit=3)
        try:
            for paper in source.papers():
                outcome.papers.append(paper)
        except SourceError as error:
            outcome.error = error
        outcome.skipped = [problem.message for problem in source.report.problems]
        assert source.report.read == len(outcome.papers) + len(outcome.skipped)
        return outcome

    return ask


def test_arxiv_search_goes_through_the_pages(ask: Ask) -> None:
    found = ask(RAG_QUERY)
    assert (found.ids, found.error) == (["2005.11401", "2002.08909", "2112.04426"], None)
    first, second, _ = found.papers
    assert first == Paper(
        "2005.11401",
        "Retrieval-Augmented Generation for Knowledge-Intensive NLP Tasks",
        "A generator that reads passages which a retriever finds for it, trained as one."
        " It wins on three open-domain tasks.",
        2020,
        ("Patrick Lewis", "Ethan Perez"),
        source="arxiv",
        url="https://arxiv.org/abs/2005.11401",
        open_access=True,
    )
    assert second.abstract.endswith("recall rises by α = 0.1 for Erdős & others.")
    assert (second.doi, second.venue) == ("10.5555/3524938.3525306", "ICML 2020")


def test_arxiv_ids_of_both_styles(ask: Ask) -> None:
    found = ask("arxiv:1706.03762v5,hep-th/9901001")
    assert [(p.id, p.title[:9], p.year) for p in found.papers] == [
        ("1706.03762", "Attention", 2017),
        ("hep-th/9901001", "String Ju", 1998),
    ]


def test_arxiv_errors_are_told_in_its_own_words(ask: Ask) -> None:
    error = ask("arxiv:cat:(").error
    assert error is not None
    assert (error.status, error.kind, error.attempts) == (400, "bad_request", 1)
    assert "HTTP 400: max_results must be an integer." in error.message


def test_semantic_scholar_search_brings_the_references(ask: Ask) -> None:
    found = ask("s2:dense retrieval")
    dpr, rag = found.papers
    assert (dpr.id, dpr.doi, dpr.references) == (DPR, "10.18653/v1/2020.emnlp-main.550", (BERT,))
    assert dpr.ids == ("acl:2020.emnlp-main.550", "arxiv:2004.04906", "corpusid:215737187")
    assert (dpr.authors, dpr.year, dpr.open_access) == (("Vladimir Karpukhin", "Barlas Oğuz"), 2020, True)
    assert (rag.references, rag.abstract, rag.doi) == ((DPR, BERT), "", None)
    assert found.skipped == [
        f's2:dense retrieval: paper "{"0" * 40}" has neither a title nor an abstract'
    ]  # a record of nulls


def test_openalex_search(ask: Ask) -> None:
    found = ask("openalex:open access")
    work, retracted = found.papers
    assert (work.id, work.abstract, work.venue) == (
        "W2741809807",
        "Open Access articles are counted.",
        "PeerJ",
    )
    assert work.references == ("W1560783210", "W1724212071")
    assert (retracted.doi, retracted.authors) == ("10.1016/s0140-6736(97)11096-0", ())
    assert len(found.skipped) == 1


def test_crossref_search(ask: Ask) -> None:
    found = ask("crossref:open access")
    work, retracted = found.papers
    assert (work.id, work.doi, work.year, work.venue) == (*2 * ("10.7717/peerj.4375",), 2018, "PeerJ")
    assert work.authors == ("Heather Piwowar", "The OA Consortium")
    assert work.abstract == "Abstract Open Access & its reach,counted."
    assert work.references == ("10.1038/35079151",)
    assert (work.retracted, retracted.retracted) == (False, True)
    assert len(found.skipped) == 1


@pytest.mark.parametrize(
    ("question", "paper"),
    [
        ("doi:10.7717/peerj.4375", "10.7717/peerj.4375"),
        ("https://doi.org/10.7717/PEERJ.4375", "10.7717/peerj.4375"),
        ("openalex:10.7717/peerj.4375", "W2741809807"),
    ],
)
def test_papers_are_looked_up(ask: Ask, question: str, paper: str) -> None:
    assert ask(question).ids == [paper]


@pytest.mark.parametrize(
    "question",
    [
        "arxiv:all:qwertzuiopasdf",
        "s2:n0 r3sult s3arch t3rm",
        "openalex:qwertzuiopasdf",
        "crossref:qwertzuiopasdf",
    ],
)
def test_no_results_are_no_error(ask: Ask, question: str) -> None:
    assert ask(question) == Outcome()


@pytest.mark.parametrize(
    ("question", "there", "missing"),
    [
        ("arxiv:2101.99999", [], "arXiv knows no paper 2101.99999"),
        ("s2:1706.03762,CorpusId:1", [ATTENTION], "Semantic Scholar knows no paper CorpusId:1"),
        ("openalex:W2741809807,W999", ["W2741809807"], "OpenAlex knows no paper W999"),
        (
            "doi:10.7717/peerj.4375,10.1/unknown",
            ["10.7717/peerj.4375"],
            "Crossref knows no paper 10.1/unknown",
        ),
    ],
)
def test_unknown_ids_are_an_error_after_the_known_papers(
    ask: Ask, question: str, there: list[str], missing: str
) -> None:
    found = ask(question)
    assert found.ids == there
    assert found.error is not None
    assert found.error.message.startswith(missing)
    assert found.error.status == 404


AROUND: list[tuple[CitationService, str, Direction, list[tuple[str, int | None]]]] = [
    ("s2", DPR, "references", [(BERT, 2019)]),
    ("s2", DPR, "citations", [(RAG, 2020), (ATTENTION, None)]),
    ("s2", "DOI:10.1093/mind/lix.236.433", "references", []),  # withheld by the publisher
    ("openalex", "doi:10.7717/peerj.4375", "references", [("W1560783210", 2001), ("W1724212071", 2011)]),
    ("openalex", "doi:10.7717/peerj.4375", "citations", [("W2900000001", 2024)]),
]


@pytest.mark.parametrize(("service", "key", "direction", "expected"), AROUND)
def test_neighbours(
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    service: CitationService,
    key: str,
    direction: Direction,
    expected: list[tuple[str, int | None]],
) -> None:
    monkeypatch.setattr(openalex, "_PAGE", 100)
    around = services.citations(service).around(key, direction)
    assert [(other.id, other.year) for other in around.neighbours] == expected
    assert not around.capped


def test_a_neighbour_carries_all_its_names(services: Services) -> None:
    (other,) = services.citations("s2").around(DPR, "references").neighbours
    assert other.names == {f"s2:{BERT}", "arxiv:1810.04805", "doi:10.18653/v1/n19-1423"}


def test_a_paper_without_citations_known_is_not_found(services: Services) -> None:
    with pytest.raises(SourceError, match="HTTP 404: Paper with id CorpusId:1 not found") as caught:
        services.citations("s2").around("CorpusId:1", "references")
    assert (caught.value.status, caught.value.kind) == (404, "not_found")


def test_papers_know_how_they_are_asked_for(services: Services) -> None:
    known, strange = Paper("10.1/x", "T", ids=("arxiv:2101.00001",)), Paper("key2020", "T")
    assert services.citations("s2").key(known) == "DOI:10.1/x"
    assert services.citations("openalex").key(known) == "doi:10.1/x"
    assert services.citations("openalex").key(Paper("2101.00001", "T")) == "doi:10.48550/arxiv.2101.00001"
    assert services.citations("s2").key(Paper(DPR, "T", doi="10.1/x")) == DPR
    assert services.citations("s2").key(strange) is None


def test_every_recording_is_used(
    services: Services, replay: Replay, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that the tests above ask, once more, so that it can be told in one process."""
    questions = [RAG_QUERY, "arxiv:1706.03762v5,hep-th/9901001", "arxiv:2101.99999", "arxiv:cat:("]
    questions += ["s2:dense retrieval", "openalex:open access", "crossref:open access"]
    questions += ["openalex:10.7717/peerj.4375", "s2:1706.03762,CorpusId:1", "openalex:W2741809807,W999"]
    questions += ["doi:10.7717/peerj.4375,10.1/unknown", "arxiv:all:qwertzuiopasdf"]
    questions += ["s2:n0 r3sult s3arch t3rm", "openalex:qwertzuiopasdf", "crossref:qwertzuiopasdf"]
    for question in questions:
        ask(question)
    monkeypatch.setattr(openalex, "_PAGE", 100)
    for service, key, direction, _ in AROUND:
        services.citations(service).around(key, direction)
    with pytest.raises(SourceError):
        services.citations("s2").around("CorpusId:1", "references")
    unused = set(FOLDER.iterdir()) - replay.used
    assert not unused, "remove these recordings, or test what they are for"


_PLACES = (Path(__file__).resolve().parents[i] / "shared" / "data" / "api_responses" for i in (3, 4))
SHARED = next((place for place in _PLACES if place.is_dir()), Path("absent"))
in_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is absent")


@pytest.mark.shared
@in_shared
def test_every_real_arxiv_answer_is_read() -> None:
    counts = {}
    for file in sorted((SHARED / "arxiv").glob("*.json")):
        answer = json.loads(file.read_text("utf-8"))
        raw = answer["body"].encode()
        if answer["status_code"] != 200:
            with pytest.raises(CallFailed, match="incorrect id format for abc"):
                arxiv.read_feed(raw, 0)
            continue
        papers = [arxiv.paper_from_entry(entry) for entry in arxiv.read_feed(raw, 0).items]
        assert all(p.title and p.abstract and p.year and p.authors and p.url for p in papers)
        counts[file.name.rsplit("_", 1)[0]] = len(papers)
    assert counts == {
        "id_0000.0000_s0_m100": 0,
        "id_0808.05394_s0_m100": 0,
        "id_1707.08567_s0_m100": 1,
        "id_quant-ph_0201082v1_s0_m100": 1,
        "q_testing_s0_m10": 10,
        "q_testing_s10_m10": 10,
        "q_testing_s30_m10": 10,
        "q_testing_s50_m10": 10,
        "q_testing_s5_m15": 15,
    }


@pytest.mark.shared
@in_shared
def test_every_real_record_of_the_others_is_read() -> None:
    folder = SHARED / "semantic_scholar"
    paper = s2.paper_from_record(json.loads((folder / "Paper.json").read_text("utf-8")))
    assert (paper.title, paper.year, paper.doi) == (
        "Computing Machinery and Intelligence",
        1950,
        "10.1093/mind/lix.236.433",
    )
    citing = json.loads((folder / "Citation.json").read_text("utf-8"))["citingPaper"]
    assert s2.paper_from_record(citing).ids == ("corpusid:254723237", "dblp:journals/ral/MonastirskyAS23")
    cited = json.loads((folder / "Reference.json").read_text("utf-8"))["citedPaper"]
    assert "arxiv:1402.0030" in s2.paper_from_record(cited).ids
    with pytest.raises(DataError, match="neither a title nor an abstract"):
        s2.paper_from_record(json.loads((folder / "PaperWithNullValues.json").read_text("utf-8")))
    work = json.loads((SHARED / "openalex" / "work.json").read_text("utf-8"))
    assert openalex.paper_from_work(work).id == "W2741809807"


@pytest.mark.shared
@in_shared
def test_every_real_cassette_of_semantic_scholar_is_replayed(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    outcomes: dict[str, object] = {}
    for file in sorted((SHARED / "semantic_scholar").glob("*.yaml")):
        for number, turn in enumerate(yaml.safe_load(file.read_text("utf-8"))["interactions"]):
            response = turn["response"]
            status = response.get("status_code") or response["status"]["code"]
            body = response.get("content") or response["body"]["string"]
            raw = body if isinstance(body, bytes) else body.encode()

            def answer(request: Recorded, status: int = status, raw: bytes = raw) -> Answer:
                return Answer(status, raw)

            with (
                ScriptedServer([answer]) as server,
                Services(settings(server, tmp_path / file.stem / str(number))) as services,
            ):
                fetch = services.service("s2").begin()
                path = urlsplit(turn["request"]["uri"]).path.removeprefix("/graph/v1/")
                try:
                    data = fetch.json(path, {}, lambda data: data, what="to a recording")
                    if path.endswith(("references", "citations")):
                        data = s2._edges(data).items
                    elif path.endswith("search"):
                        start = data.get("offset", 0)
                        data = s2._results(data, start).items
                    outcomes[f"{file.stem} {number}"] = len(data)
                except SourceError as error:
                    outcomes[f"{file.stem} {number}"] = error.status
    assert outcomes.pop("test_bad_query_parameters 0") == 400
    assert outcomes.pop("test_not_found 0") == 404
    assert outcomes.pop("test_empty_paginated_results 0") == 0
    assert outcomes.pop("test_get_paper 0") == 2  # fields of one paper
    assert outcomes.pop("test_get_papers 0") == 3
    assert len(outcomes) == 26
    assert [key for key, count in outcomes.items() if not count] == []
