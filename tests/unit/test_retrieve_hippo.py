"""The hippo route, stage by stage, and the ways that explain it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from tiny import COSINES, FOUND, Angles, four_papers, settings

from hippo_lit.config import Settings
from hippo_lit.graph.factgraph import Walk
from hippo_lit.graph.ppr import IgraphPageRank
from hippo_lit.retrieve import explain
from hippo_lit.retrieve.explain import MAX_STEPS, Paths
from hippo_lit.retrieve.hippo import HippoRoute, Spread, edge_weights
from hippo_lit.retrieve.signals import Corpus, Signals
from hippo_lit.snapshot import Snapshot
from hippo_lit.types import Extraction, Fact, FilterOutcome, Mention, Paper, ScoredFact, Seed, Step

ALL_OFF = {"link_question": False, "passage_share": 0.0, "specific_mass": 0.0, "evidence": "fact"}

PLAIN = {"hybrid_weight": 0.0, "nearest_first": 2.0}


class Keeping:
    """A filter that keeps the candidates with these texts."""

    name = "keeping"

    def __init__(self, *texts: str, weights: tuple[float, ...] = ()) -> None:
        self.texts, self.weights = texts, weights

    def keep(self, question: str, candidates: Sequence[ScoredFact]) -> FilterOutcome:
        offered = [candidate.fact.text for candidate in candidates]
        return FilterOutcome(tuple(offered.index(text) for text in self.texts), ("nonsense",), (),
                             self.weights)  # fmt: skip


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return four_papers(tmp_path_factory.mktemp("four"))


def run(made: Snapshot, keeping: Keeping, given: Settings, query: str = "who likes whom?") -> Spread:
    signals = Signals(query, Corpus(made, given), Angles(COSINES))
    return HippoRoute(made, keeping, given).run(signals, lambda stage: nullcontext())


def weights_of(made: Snapshot, spread: Spread) -> dict[str, float]:
    return {made.graph.names[entity]: weight for entity, weight in spread.entity_seeds.items()}


def test_kept_facts_seed_their_entities(four: Snapshot) -> None:
    spread = run(four, Keeping("Alpha likes Beta"), settings(seeds=ALL_OFF))
    assert [kept.fact.text for kept in spread.kept] == ["Alpha likes Beta"]
    assert spread.unmatched == ("nonsense",)
    assert weights_of(four, spread) == pytest.approx({"Alpha": 1.0, "Beta": 0.5})  # Beta: two passages
    assert spread.seeds == (
        Seed("Alpha", pytest.approx(1.0), "fact: Alpha likes Beta"),
        Seed("Beta", pytest.approx(0.5), "fact: Alpha likes Beta"),
    )


def test_the_rank_is_page_rank_from_these_seeds(four: Snapshot) -> None:
    given = settings(seeds=ALL_OFF, rank=PLAIN)
    spread = run(four, Keeping("Alpha likes Beta"), given)
    reset = np.zeros(four.graph.n_passages + four.graph.n_entities)
    for entity, weight in spread.entity_seeds.items():
        reset[four.graph.n_passages + entity] = weight
    expected = IgraphPageRank(four.graph.adjacency(edge_weights(given)), given.ppr.damping).scores(reset)[:4]
    assert spread.ppr is not None
    assert spread.scores is not None
    np.testing.assert_allclose(spread.ppr, expected, rtol=1e-12)
    np.testing.assert_allclose(spread.scores, expected / expected.max(), rtol=1e-12)
    assert spread.scores[0] == 1.0
    assert spread.scores[1] > 0
    assert spread.scores[2:].tolist() == [0, 0]  # nothing leads to Gamma and Delta


def test_hybrid_scores_bend_the_order_as_the_formula_says(four: Snapshot) -> None:
    plain = run(four, Keeping("Alpha likes Beta"), settings(seeds=ALL_OFF, rank=PLAIN))
    bent = run(
        four, Keeping("Alpha likes Beta"), settings(seeds=ALL_OFF, rank=PLAIN | {"hybrid_weight": 3.0})
    )
    signals = Signals("who likes whom?", Corpus(four, settings()), Angles(COSINES))
    assert plain.scores is not None
    assert bent.scores is not None
    np.testing.assert_allclose(bent.scores, plain.scores * np.exp(3.0 * (signals.hybrid - 1)))


@pytest.mark.parametrize(
    ("query", "share", "first"),
    [
        ("Beta likes whom?", 0.5, True),
        ("Beta likes whom?", 1.0, True),  # it holds all that the corpus knows of it
        ("Beta, Gamma or Delta?", 0.5, False),  # no one passage holds half of that
        ("Beta likes whom?", 2.0, False),
        ("who else?", 0.5, False),  # says nothing that the corpus knows
    ],
)
def test_the_nearest_passage_comes_first_where_it_holds_what_the_question_says(
    four: Snapshot, query: str, share: float, first: bool
) -> None:
    rank = PLAIN | {"nearest_first": share}
    plain = run(four, Keeping("Alpha likes Beta"), settings(seeds=ALL_OFF, rank=PLAIN), query)
    placed = run(four, Keeping("Alpha likes Beta"), settings(seeds=ALL_OFF, rank=rank), query)
    signals = Signals(query, Corpus(four, settings()), Angles(COSINES))
    nearest = int(np.argmax(signals.hybrid))
    assert plain.scores is not None
    assert placed.scores is not None
    expected = plain.scores / 2 + 0.5 * (np.arange(4) == nearest) if first else plain.scores
    np.testing.assert_allclose(placed.scores, expected, rtol=1e-12)


def test_what_the_question_names_seeds_too(four: Snapshot) -> None:
    given = settings(seeds=ALL_OFF | {"link_question": True})
    spread = run(four, Keeping("Alpha likes Beta"), given, "is Kraków nice?")
    assert spread.seeds[-1].because == "fact: Alpha likes Beta"
    assert spread.seeds[1] == Seed("Kraków", 1.0, "the question names it")


def test_a_sentence_seeds_all_its_entities_where_it_is_evidence(four: Snapshot, tmp_path: Path) -> None:
    more = {"Gamma": Extraction((Mention("Zeta", 0), Mention("Eta", 0)), (Fact("Zeta", "r", "x y"),), (0,))}
    made = four_papers(tmp_path, found=more)
    given = settings(seeds=ALL_OFF | {"evidence": "sentence"}, filter={"linking_top_k": 9})
    spread = run(made, Keeping("Zeta r x y"), given)
    reasons = {seed.entity: seed.because for seed in spread.seeds}
    assert reasons == {
        "Zeta": "fact: Zeta r x y",
        "x y": "fact: Zeta r x y",
        "Eta": "same sentence as: Zeta r x y",
        "Gamma": "same sentence as: Zeta r x y",
    }


def test_no_fact_survives(four: Snapshot) -> None:
    spread = run(four, Keeping(), settings())
    assert (spread.scores, spread.reason) == (None, "no fact survived the filter")
    assert len(spread.candidates) == 4


def test_kept_facts_without_weight_leave_it_to_the_passages_or_to_another_route(four: Snapshot) -> None:
    worst = Keeping("Alpha is old")  # its min-maxed score is 0
    limits = {"linking_top_k": 9}
    spread = run(four, worst, settings(seeds=ALL_OFF, filter=limits))
    assert spread.scores is None
    assert spread.reason.startswith("nothing seeds")
    spread = run(four, worst, settings(seeds=ALL_OFF | {"passage_share": 0.2}, filter=limits))
    assert spread.entity_seeds == {}
    assert spread.scores is not None
    assert spread.scores.max() > 0


def test_an_index_without_facts(tmp_path: Path) -> None:
    made = four_papers(tmp_path, found=dict.fromkeys(FOUND, Extraction()))
    spread = run(made, Keeping("anything"), settings())
    assert (spread.scores, spread.reason) == (None, "the index holds no facts")


# -- ways


def paths(made: Snapshot, *seeds: str) -> Paths:
    numbers = [made.graph.n_passages + list(made.graph.names).index(name) for name in seeds]
    return Paths(made, made.graph.walk(edge_weights(settings())), dict.fromkeys(numbers, 1.0))


def test_the_way_from_a_seed_to_a_paper(four: Snapshot) -> None:
    ways = paths(four, "Kraków")
    b, a = four.find("b"), four.find("a")
    assert b is not None
    assert a is not None
    assert ways.to_paper(b) == (Step("Kraków", "mention", "b"),)
    way = ways.to_paper(a)
    assert (way[0].source, way[-1].target) == ("Kraków", "a")
    assert all(first.target == second.source for first, second in pairwise(way))
    assert paths(four, "old").to_paper(a)[0].kind in ("mention", "fact")


def test_a_step_along_a_fact_says_which(tmp_path: Path) -> None:
    made = four_papers(tmp_path, found={
        "Alpha": Extraction((), (Fact("Alpha", "likes", "Omega Point"),), (0,)),
        "Gamma": Extraction((), (Fact("Omega Point", "is", "Gamma"),), (0,)),
    })  # fmt: skip
    way = Paths(made, made.graph.walk({"fact": 1.0, "mention": 0.01}),
                {made.graph.n_passages + list(made.graph.names).index("Alpha"): 1.0})  # fmt: skip
    c = made.find("c")
    assert c is not None
    kinds = [(step.kind, step.detail) for step in way.to_paper(c)]
    assert ("fact", "Alpha likes Omega Point") in kinds


def test_citations_lead_on(tmp_path: Path) -> None:
    papers = (Paper("a", "Alpha", "Alpha is old.", references=("z",)), Paper("z", "Zed", "Words."))
    made = four_papers(tmp_path, papers=papers, found={"Alpha": Extraction((Mention("Alpha", 0),))})
    z = made.find("z")
    assert z is not None
    assert paths(made, "Alpha").to_paper(z) == (
        Step("Alpha", "mention", "a"),
        Step("a", "citation", "z"),
    )


def test_where_no_entity_seeds_the_nearest_passages_lead_on(tmp_path: Path) -> None:
    papers = (Paper("a", "Alpha", "Alpha is old.", references=("z",)), Paper("z", "Zed", "Words."))
    made = four_papers(tmp_path, papers=papers, found={"Alpha": Extraction((Mention("Alpha", 0),))})
    a, z = made.find("a"), made.find("z")
    assert a is not None
    assert z is not None
    ways = Paths(made, made.graph.walk(edge_weights(settings())), {a: 1.0})
    assert ways.to_paper(z) == (Step("a", "citation", "z"),)
    assert ways.to_paper(a) == ()


def test_a_way_is_as_probable_as_its_seed(four: Snapshot) -> None:
    # 4 and 5 both lead to passage 0, 4 with all of its weight and 5 with half of it.
    adjacency = np.zeros((7, 7))
    for a, b in ((4, 0), (5, 0), (5, 6)):
        adjacency[a, b] = adjacency[b, a] = 1.0
    size = four.graph.n_passages + four.graph.n_entities
    whole = np.zeros((size, size))
    whole[:7, :7] = adjacency
    walk = Walk({}, sparse.csr_matrix(whole), whole.sum(axis=1))
    starts = [
        Paths(four, walk, seeds).to_paper(0)[0].source for seeds in ({4: 1.0, 5: 1.5}, {4: 1.0, 5: 2.5})
    ]
    n = four.graph.n_passages
    assert starts == [four.graph.names[4 - n], four.graph.names[5 - n]]


def test_no_way(four: Snapshot, tmp_path: Path) -> None:
    d = four.find("d")
    assert d is not None
    assert paths(four, "Alpha").to_paper(d) == ()
    assert paths(four).to_paper(d) == ()
    chain = [Paper(f"p{i}", "", "Words.", references=(f"p{i + 1}",)) for i in range(8)]
    made = four_papers(tmp_path, papers=[Paper("a", "Alpha", "x", references=("p0",)), *chain],
                       found={"Alpha": Extraction((Mention("Alpha", 0),))})  # fmt: skip
    lengths = [len(paths(made, "Alpha").to_paper(number)) for number in range(len(made))]
    assert lengths == [1, 2, 3, MAX_STEPS, 0, 0, 0, 0, 0]


def ways_in(made: Snapshot, adjacency: np.ndarray, seeds: Sequence[int]) -> Paths:
    """Ways through a graph of our own over the nodes of `made`."""
    size = made.graph.n_passages + made.graph.n_entities
    whole = np.zeros((size, size))
    whole[: len(adjacency), : len(adjacency)] = adjacency
    return Paths(made, Walk({}, sparse.csr_matrix(whole), whole.sum(axis=1)), dict.fromkeys(seeds, 1.0))


def nodes_of(way: Sequence[Step]) -> list[str]:
    return [way[0].source, *(step.target for step in way)] if way else []


def test_the_most_probable_way_is_shown_and_not_the_shortest(four: Snapshot) -> None:
    # From 4 to passage 0: at once, with a share of 1/100; by 5 and 6, with 99/100 · 1/2 · 1/2.
    adjacency = np.zeros((7, 7))
    for a, b, weight in ((0, 4, 1), (4, 5, 99), (5, 6, 99), (6, 0, 99)):
        adjacency[a, b] = adjacency[b, a] = weight
    name = [four.graph.names[entity] for entity in range(3)]
    assert nodes_of(ways_in(four, adjacency, [4]).to_paper(0)) == [*name, "a"]
    adjacency[0, 4] = adjacency[4, 0] = 99  # 1/2 now, and the way round 1/8
    assert nodes_of(ways_in(four, adjacency, [4]).to_paper(0)) == [name[0], "a"]


def test_a_way_begins_at_the_seed_that_leads_on_best(four: Snapshot) -> None:
    adjacency = np.zeros((7, 7))
    for a, b, weight in ((4, 0, 1), (4, 1, 9), (5, 0, 1), (6, 0, 1), (6, 2, 1)):
        adjacency[a, b] = adjacency[b, a] = weight
    assert nodes_of(ways_in(four, adjacency, [4, 5, 6]).to_paper(0))[0] == four.graph.names[1]
    assert ways_in(four, adjacency, []).to_paper(0) == ()
    assert ways_in(four, adjacency, [0, 4]).to_paper(0) == ()  # it is a seed itself


def test_ways_are_not_searched_on_from_a_hub(four: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = np.zeros((7, 7))
    for a, b in ((4, 5), (5, 6), (6, 3), (3, 0), (5, 1), (5, 2)):
        adjacency[a, b] = adjacency[b, a] = 1
    assert len(ways_in(four, adjacency, [4]).to_paper(0)) == 4
    monkeypatch.setattr(explain, "_HUB", 3)  # node 5 has four edges: only a seed leads on from there
    assert ways_in(four, adjacency, [4]).to_paper(0) == ()
    assert len(ways_in(four, adjacency, [4]).to_paper(3)) == 3  # both searches end there
    assert len(ways_in(four, adjacency, [5]).to_paper(0)) == 3


@pytest.mark.parametrize("engine", ["auto", "linear"])
def test_every_engine_gives_the_same_scores(four: Snapshot, engine: str) -> None:
    spread = run(four, Keeping("Alpha likes Beta"), settings(ppr={"engine": engine}))
    reference = run(four, Keeping("Alpha likes Beta"), settings(ppr={"engine": "igraph"}))
    assert spread.ppr is not None
    assert reference.ppr is not None
    np.testing.assert_allclose(spread.ppr, reference.ppr, atol=1e-7)
