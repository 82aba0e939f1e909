"""Whatever was added, updated, deleted and added again: the index is that of the final papers.

The extractor is a chat model that fails now and then, as services do; every reply is kept, so a text that
comes back is never paid for again.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hippo_lit import HippoLit, Settings
from hippo_lit.errors import ChatModelError
from hippo_lit.snapshot import Snapshot
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import MODES, Message, Paper, RetrievalResult

IDS = ("p1", "p2", "p3", "p4", "p5")
SOURCES = ("arxiv", "s2")
NAMES = ("Longformer", "Sparse Attention", "MNIST", "北京大学", "C++", "LoRA", "GPT-3")
QUESTIONS = ("Who uses Sparse Attention on MNIST?", "Longformer 北京大学", "what does LoRA need of C++?")
GIVEN = Settings.model_validate(
    {
        "embedding": {"kind": "hash"},
        "llm": {"kind": "openai", "concurrency": 1},
        "extract": {"kind": "llm", "names_from": "simple", "passage_chars": 200},
    }
)
TOLERANCE = {"rtol": 0.0, "atol": 1e-9}

# -- a model that reads "X verb Y." and fails when told to


class Reader:
    """Answers with the statements of a passage; the next `failing` calls fail."""

    def __init__(self) -> None:
        self.failing = 0
        self.paid: Counter[str] = Counter()
        self.chat = FakeChatModel(self._reply)

    def _reply(self, messages: Sequence[Message]) -> str:
        if self.failing > 0:
            self.failing -= 1
            raise ChatModelError("down", model="fake", status=503, kind="server")
        asked = messages[-1].content
        self.paid[asked] += 1
        text = json.loads(re.search(r"<data>\s*(.*?)\s*</data>", asked, re.DOTALL)[1])["text"]  # type: ignore[index]
        found = re.findall(r"(\S[^.]*?) (uses|beats) ([^.]+)\.", text)
        return json.dumps({"entities": [], "triples": [list(triple) for triple in found]})


# -- papers that cite one another and share entities

SENTENCES = st.builds(
    lambda a, verb, b: f"{a} {verb} {b}.",
    st.sampled_from(NAMES), st.sampled_from(["uses", "beats"]), st.sampled_from(NAMES),
)  # fmt: skip
PAPERS = st.builds(
    Paper,
    st.sampled_from(IDS),
    st.sampled_from(NAMES),
    st.lists(SENTENCES, max_size=9).map(" ".join),
    st.sampled_from([None, 2001, 2020]),
    references=st.lists(st.sampled_from([*IDS, "outside"]), max_size=3, unique=True).map(tuple),
    source=st.sampled_from(SOURCES),
)
STEPS = st.one_of(
    st.tuples(st.just("add"), st.lists(PAPERS, min_size=1, max_size=4), st.integers(0, 2)),
    st.tuples(st.just("update"), st.lists(PAPERS, min_size=1, max_size=2), st.integers(0, 1)),
    st.tuples(st.just("delete"), st.sampled_from(IDS), st.sampled_from([None, *SOURCES])),
    st.tuples(st.just("again"), st.just(None), st.integers(0, 1)),
    st.tuples(st.just("reopen"), st.just(None), st.just(0)),
)
Records = dict[tuple[str, str], Paper]


def replay(folder: Path, steps: Sequence[tuple[object, ...]], reader: Reader) -> Records:
    """Live through `steps`; returns the records that should be left, as a plain dict knows them."""
    records: Records = {}
    dropped: list[Paper] = []
    lit = HippoLit.open(folder, GIVEN, chat=reader.chat)
    try:
        for step in steps:
            match step:
                case "add" | "update" as kind, list() as papers, int() as failing:
                    reader.failing = failing
                    if kind == "update":
                        ids = {paper.id for paper in papers}
                        dropped += (paper for key, paper in records.items() if key[0] in ids)
                        records = {key: paper for key, paper in records.items() if key[0] not in ids}
                        lit.update(papers)
                    else:
                        lit.add(papers)
                    records |= {(paper.id, paper.source): paper for paper in papers}
                case "delete", str() as paper_id, (None | str()) as source:
                    keys = [key for key in records if key[0] == paper_id and source in (None, key[1])]
                    if keys:
                        dropped += (records.pop(key) for key in keys)
                        lit.delete([paper_id], source=source)
                case "again", _, int() as failing:  # what was deleted or replaced comes back
                    reader.failing = failing
                    lit.add(dropped)
                    records |= {(paper.id, paper.source): paper for paper in dropped}
                case _:
                    lit.close()
                    lit = HippoLit.open(folder, GIVEN, chat=reader.chat)
            assert len(lit) == len({paper_id for paper_id, _ in records})
        reader.failing = 0
        lit.build()  # what failed is tried again
    finally:
        lit.close()
    return records


# -- what is compared


def labels(snapshot: Snapshot) -> tuple[list[object], list[object]]:
    """What nodes and sentences are, whatever their numbers."""
    graph = snapshot.graph
    passages = [snapshot.passage(number) for number in range(graph.n_passages)]
    nodes: list[object] = [(p.paper_id, p.number, p.title, p.body) for p in passages]
    nodes += [str(name) for name in graph.names]
    starts = graph.sentence_start.tolist()
    sentences: list[object] = [
        (nodes[number], sentence - starts[number])
        for number in range(graph.n_passages)
        for sentence in range(starts[number], starts[number + 1])
    ]
    return nodes, sentences


def contents(snapshot: Snapshot) -> dict[str, object]:
    """Everything that must be equal, by what it is about; weights apart, in `weights`."""
    graph = snapshot.graph
    nodes, sentences = labels(snapshot)
    first = graph.n_passages

    def name(entity: int) -> str:
        return str(graph.names[entity])

    stated = [
        [sentences[s] if s >= 0 else nodes[-1 - s] for s in graph.fact_sentence[a:b].tolist()]
        for a, b in zip(graph.fact_start[:-1], graph.fact_start[1:], strict=True)
    ]
    links = {
        str(key): sorted(name(e) for e in graph.link_entity[a:b])
        for key, a, b in zip(graph.link_keys, graph.link_start[:-1], graph.link_start[1:], strict=True)
    }
    return {
        "papers": [snapshot.paper(number) for number in range(len(snapshot))],
        "ids": list(snapshot.paper_ids),
        "years": [None if np.isnan(year) else year for year in snapshot.years],
        "nodes": nodes[:first],
        "entities": sorted(map(str, nodes[first:])),
        "spread": {str(nodes[first + e]): int(n) for e, n in enumerate(graph.spread)},
        "links": links,
        "statements": [
            sorted(name(e) for e in graph.stating(sentence))
            for sentence in range(graph.n_sentences)
        ],
        "facts": {
            (graph.fact(f), name(graph.fact_subject[f]), name(graph.fact_object[f])): sorted(
                map(repr, stated[f])
            )
            for f in range(graph.n_facts)
        },
        "citations": [
            (sorted(snapshot.citations.forward(i)), sorted(snapshot.citations.backward(i)))
            for i in snapshot.paper_ids
        ],
        "failures": snapshot.about["failures"],
    }  # fmt: skip


def weights(snapshot: Snapshot) -> dict[tuple[object, ...], float]:
    nodes, _ = labels(snapshot)
    found: dict[tuple[object, ...], float] = {}
    for kind, edges in snapshot.graph.edges.items():
        for a, b, weight in zip(edges.source, edges.target, edges.weight, strict=True):
            key = (kind, *sorted([repr(nodes[a]), repr(nodes[b])]))
            assert key not in found
            found[key] = float(weight)
    return found


def word_scores(snapshot: Snapshot) -> np.ndarray:
    rows = [index.scores(query) for index in (snapshot.lexical, snapshot.bm25) for query in QUESTIONS]
    return np.concatenate(rows)


def assert_same_index(ours: Snapshot, theirs: Snapshot) -> None:
    mine, yours = contents(ours), contents(theirs)
    for what in yours:
        assert mine[what] == yours[what], what
    our_weights, their_weights = weights(ours), weights(theirs)
    assert our_weights == pytest.approx(their_weights, rel=0, abs=1e-9)
    np.testing.assert_allclose(ours.passage_vectors, theirs.passage_vectors, **TOLERANCE)
    np.testing.assert_allclose(ours.sentence_vectors, theirs.sentence_vectors, **TOLERANCE)
    np.testing.assert_allclose(word_scores(ours), word_scores(theirs), **TOLERANCE)


def assert_same_ranking(ours: RetrievalResult, theirs: RetrievalResult) -> None:
    assert (ours.route, ours.reason, ours.degraded) == (theirs.route, theirs.reason, theirs.degraded)
    assert [r.paper for r in ours.papers] == [r.paper for r in theirs.papers]
    for mine, yours in zip(ours.papers, theirs.papers, strict=True):
        assert mine.graph_distance == yours.graph_distance
        assert scores(mine) == pytest.approx(scores(yours), rel=0, abs=1e-9)
    assert {kept.fact for kept in ours.trace.kept} == {kept.fact for kept in theirs.trace.kept}


def scores(ranked: object) -> dict[str, float]:
    names = ("score", "bm25_score", "recency_score", "final_score")
    own = {name: getattr(ranked, name) for name in names}
    return own | {f"all.{name}": value for name, value in ranked.scores.items()}  # type: ignore[attr-defined]


@contextmanager
def built_at_once(records: Records) -> Iterator[HippoLit]:
    with tempfile.TemporaryDirectory() as folder, HippoLit.open(folder, GIVEN, chat=Reader().chat) as lit:
        lit.add(records.values())
        yield lit


def check(steps: Sequence[tuple[object, ...]]) -> None:
    reader = Reader()
    with tempfile.TemporaryDirectory() as folder:
        records = replay(Path(folder), steps, reader)
        assert not reader.paid or max(reader.paid.values()) == 1  # whatever went and came back
        with (
            HippoLit.open(folder, GIVEN, chat=reader.chat, read_only=True) as lit,
            built_at_once(records) as fresh,
        ):
            ours, theirs = lit.snapshot(), fresh.snapshot()
            assert ours is not None
            assert theirs is not None
            assert_same_index(ours, theirs)
            for question in QUESTIONS:
                for mode in MODES:
                    assert_same_ranking(
                        lit.retrieve(question, mode=mode), fresh.retrieve(question, mode=mode)
                    )


@settings(max_examples=12, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=8))
def test_any_history_gives_the_index_of_its_final_papers(steps: list[tuple[object, ...]]) -> None:
    check(steps)


# -- histories that went wrong elsewhere

A = Paper("p1", "LoRA", "LoRA uses GPT-3. LoRA beats MNIST.", 2020, references=("p2",), source="s2")
B = Paper("p2", "GPT-3", "GPT-3 uses Sparse Attention.", 2001, references=("p3",), source="s2")
C = Paper("p3", "MNIST", "GPT-3 beats MNIST. LoRA uses GPT-3.", None, references=("p1",), source="s2")
A_TOO = Paper("p1", "LoRA", "LoRA uses C++. Longformer beats LoRA.", 2019, source="arxiv")
GONE: list[tuple[object, ...]] = [("delete", paper_id, None) for paper_id in IDS[:3]]
BACK = ("again", None, 0)
HISTORIES: dict[str, list[tuple[object, ...]]] = {
    "the first paper goes, whose spelling named an entity": [("add", [A, B, C], 0), GONE[0]],
    "deleted, then others come": [("add", [A, B], 0), GONE[0], ("add", [C], 0)],
    "deleted and added again": [("add", [A, B, C], 0), GONE[1], BACK],
    "delete only": [("add", [A, B, C], 0), GONE[2], ("reopen", None, 0)],
    "one source goes": [("add", [A, A_TOO, B, C], 0), ("delete", "p1", "s2")],
    "the richer source goes and comes back": [("add", [A, A_TOO, C], 0), ("delete", "p1", "arxiv"), BACK],
    "everything goes": [("add", [A, B, C], 0), *GONE],
    "everything goes and comes back": [("add", [A, B], 0), *GONE, BACK],
    "failed, deleted, added again": [("add", [A, B, C], 3), GONE[1], ("again", None, 1)],
    "an update drops the other source": [("add", [A, A_TOO, B], 0), ("update", [A], 0), ("add", [C], 1)],
    "a citation's target comes late": [("add", [A], 0), ("add", [B], 0), GONE[1], ("add", [C, B], 0)],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_that_went_wrong_elsewhere(name: str) -> None:
    check(HISTORIES[name])
