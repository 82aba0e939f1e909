"""HippoLit, as a program uses it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny import settings

from hippo_lit import HippoLit, load_settings
from hippo_lit.errors import (
    ChatModelError,
    ConfigError,
    DataError,
    EmbedderMismatchError,
    IndexLockedError,
    IndexNotFoundError,
    StoreError,
)
from hippo_lit.storage.lock import WriterLock
from hippo_lit.testing import FakeChatModel, HashEmbedder
from hippo_lit.types import MODES, Counts, Metrics, Mode, Paper, RetrievalResult, Trace

PAPERS = (
    Paper("p1", "Sparse Attention", "Sparse Attention lowers cost. Longformer uses Sparse Attention.", 2019,
          references=("p2",)),
    Paper("p2", "Longformer", "Longformer reads long documents. It was made at AI2.", 2020),
    Paper("p3", "Dataset Distillation", "Dataset Distillation compresses MNIST into ten images.", 2018),
)  # fmt: skip
QUERIES = ["Who made Longformer?", "distillation of MNIST", "", "nothing 🎉", "Who made Longformer?"]


@pytest.fixture
def lit(tmp_path: Path) -> Iterator[HippoLit]:
    with HippoLit.open(tmp_path / "x.idx", settings()) as opened:
        yield opened


def same(result: RetrievalResult) -> RetrievalResult:
    """Without what differs from call to call."""
    return replace(
        result, metrics=replace(result.metrics, wall_time_s=0.0), trace=replace(result.trace, seconds={})
    )


def ids(result: RetrievalResult) -> list[str]:
    return [ranked.paper.id for ranked in result.papers]


# -- adding


def test_papers_and_dicts(lit: HippoLit) -> None:
    assert len(lit) == 0
    assert lit.snapshot() is None
    assert lit.add([PAPERS[0], {"id": "p2", "title": "Longformer", "abstract": "It reads."}]) == Counts(
        2, 0, 0
    )
    assert len(lit) == 2
    assert lit.add(iter([{"_id": 7, "text": "Only a text.", "year": "n.d."}])) == Counts(1, 0, 0)
    assert len(lit) == 3
    assert "7" in ids(lit.retrieve("only a text", mode="bm25"))


def test_adding_again_changes_nothing(lit: HippoLit) -> None:
    lit.add(PAPERS)
    made = lit.snapshot()
    assert made is not None
    before = same(lit.retrieve("Longformer"))
    assert lit.add(PAPERS) == Counts(0, 0, 3)
    after = lit.snapshot()
    assert after is not None
    assert after.name == made.name
    assert same(lit.retrieve("Longformer")) == before


def test_another_sources_view_is_merged(lit: HippoLit) -> None:
    lit.add([Paper("p1", "A title", source="s2", references=("p2",))])
    assert lit.add([Paper("p1", "A title", "An abstract.", source="arxiv")]) == Counts(0, 1, 0)
    assert lit.retrieve("abstract", mode="bm25").papers[0].paper.source == "arxiv+s2"


@pytest.mark.parametrize(
    "bad", [{"title": "no id"}, {"id": "x"}, "text", None, {"id": "x", "title": ["a", 1]}]
)
def test_what_cannot_be_a_paper_stops_its_batch(lit: HippoLit, bad: Any) -> None:
    with pytest.raises(DataError):
        lit.add([PAPERS[0], bad])
    assert len(lit.store) == 0
    lit.add(PAPERS)
    assert len(lit) == 3


def test_put_does_not_index_and_build_does(lit: HippoLit) -> None:
    lit.put(PAPERS)
    assert (len(lit), len(lit.store)) == (0, 3)
    with pytest.raises(IndexNotFoundError, match="add papers first"):
        lit.retrieve("x")
    seen: list[str] = []
    assert lit.build(progress=lambda stage, done, total: seen.append(stage)).papers == 3
    assert len(lit) == 3
    assert set(seen) == {"extract", "embed", "graph", "words"}
    assert not lit.build().published


def test_a_program_sees_its_own_writes_and_others_after_refresh(lit: HippoLit) -> None:
    lit.add(PAPERS[:1])
    with HippoLit.open(lit.path, settings()) as other:
        assert len(other) == 1
        lit.add(PAPERS)
        assert (len(lit), len(other)) == (3, 1)
        assert ids(other.retrieve("Longformer documents", mode="bm25")) == ["p1"]
        other.refresh()
        assert len(other) == 3
        other.add([Paper("p4", "New", "New.")])
        assert (len(other), len(lit)) == (4, 3)


def test_one_writer_at_a_time(lit: HippoLit) -> None:
    with WriterLock(lit.path), pytest.raises(IndexLockedError):
        lit.add(PAPERS)
    lit.add(PAPERS)


def test_searching_goes_on_while_this_object_writes(tmp_path: Path) -> None:
    entered, go_on = threading.Event(), threading.Event()

    class Slow(HashEmbedder):
        def embed(self, texts: Sequence[str], kind: Any) -> Any:
            if kind == "passage" and any("late" in text for text in texts):
                entered.set()
                assert go_on.wait(20)
            return super().embed(texts, kind)

    with HippoLit.open(tmp_path / "x.idx", settings(), embedder=Slow()) as lit:
        lit.add(PAPERS)
        writer = threading.Thread(target=lit.add, args=([Paper("late", "late", "late")],))
        writer.start()
        try:
            assert entered.wait(20)
            found: list[RetrievalResult] = []
            reader = threading.Thread(target=lambda: found.append(lit.retrieve("Longformer")))
            reader.start()
            reader.join(10)
            assert [result.route for result in found] == ["hippo"]
            assert len(lit) == 3
        finally:
            go_on.set()
            writer.join()
        assert len(lit) == 4


# -- retrieving


@pytest.mark.parametrize("mode", MODES)
def test_many_are_one_by_one(lit: HippoLit, mode: Mode) -> None:
    lit.add(PAPERS)
    options: dict[str, Any] = {"k": 2, "mode": mode, "years": (2018, 2020), "explain": True}
    each = [same(lit.retrieve(query, **options)) for query in QUERIES]
    assert [same(result) for result in lit.retrieve_many(QUERIES, **options)] == each
    assert [result.query for result in each] == QUERIES
    assert each[0] == each[-1]
    assert lit.retrieve_many([], mode=mode) == []


def test_each_query_has_its_own_exclusions(lit: HippoLit) -> None:
    lit.add(PAPERS)
    results = lit.retrieve_many(["Longformer"] * 2, mode="dense", exclude=[["p1"], ["p2", "p3"]])
    assert [sorted(ids(result)) for result in results] == [["p2", "p3"], ["p1"]]
    with pytest.raises(ValueError, match="shorter"):
        lit.retrieve_many(["a", "b"], exclude=[["p1"]])
    assert ids(lit.retrieve("Longformer", mode="dense", exclude={"p1", "p3"}, years=(2020, None))) == ["p2"]


def test_async_twins(tmp_path: Path) -> None:
    async def everything() -> None:
        with HippoLit.open(tmp_path / "x.idx", settings()) as lit:
            assert await lit.aadd(PAPERS) == Counts(3, 0, 0)
            one = await lit.aretrieve("Longformer", 2, "hippo", years=(2019, None))
            assert same(one) == same(lit.retrieve("Longformer", 2, "hippo", years=(2019, None)))
            many = await lit.aretrieve_many(QUERIES, 2, "dense", explain=False)
            assert [same(r) for r in many] == [same(r) for r in lit.retrieve_many(QUERIES, 2, "dense")]
            together = await asyncio.gather(*(lit.aretrieve(query) for query in QUERIES))
            assert [same(r) for r in together] == [same(lit.retrieve(query)) for query in QUERIES]

    asyncio.run(everything())


def test_results_are_plain_values(lit: HippoLit) -> None:
    lit.add(PAPERS)
    result = lit.retrieve("Who made Longformer?", k=1)
    assert isinstance(result.metrics, Metrics)
    assert isinstance(result.trace, Trace)
    first = result.papers[0]
    assert (first.paper, first.rank) == (PAPERS[1], 1)
    assert type(first.score) is float
    assert all(type(value) is float for value in first.scores.values())
    assert set(first.scores) == {"bm25", "dense", "hybrid", "held", "ppr"}


@pytest.mark.parametrize("k", [0, -1])
def test_a_bad_k(lit: HippoLit, k: int) -> None:
    lit.add(PAPERS)
    with pytest.raises(ConfigError):
        lit.retrieve("x", k=k)


# -- opening


def test_an_absent_index(tmp_path: Path) -> None:
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(IndexNotFoundError):
            HippoLit.open(tmp_path / "none", settings(), **options)
    assert not (tmp_path / "none").exists()


def test_reopened_it_answers_the_same_without_embedding_passages(tmp_path: Path) -> None:
    class QueriesOnly(HashEmbedder):
        def embed(self, texts: Sequence[str], kind: Any) -> Any:
            assert kind.startswith("query")
            return super().embed(texts, kind)

    with HippoLit.open(tmp_path, settings()) as lit:
        lit.add(PAPERS)
        before = same(lit.retrieve("Who made Longformer?"))
    with HippoLit.open(tmp_path, settings(), embedder=QueriesOnly()) as again:
        assert len(again) == 3
        assert same(again.retrieve("Who made Longformer?")) == before
        again.add(PAPERS)


def test_read_only(tmp_path: Path) -> None:
    with HippoLit.open(tmp_path, settings()) as lit:
        lit.add(PAPERS)
    with HippoLit.open(tmp_path, settings(), read_only=True) as reader:
        assert ids(reader.retrieve("Longformer", 1)) == ["p2"]
        for write in (lambda: reader.add(PAPERS), lambda: reader.put(PAPERS), reader.build):
            with pytest.raises(StoreError, match="read-only"):
                write()


def test_another_embedder_is_named_where_vectors_matter(tmp_path: Path) -> None:
    with HippoLit.open(tmp_path, settings()) as lit:
        lit.add(PAPERS)
    with HippoLit.open(tmp_path, settings(), embedder=HashEmbedder(32)) as other:
        for mode in ("hippo", "dense", "hybrid"):
            with pytest.raises(EmbedderMismatchError) as caught:
                other.retrieve("x", mode=mode)  # type: ignore[arg-type]
            assert (caught.value.found, caught.value.expected) == ("hash-64", "hash-32")
            with pytest.raises(EmbedderMismatchError):
                other.retrieve_many(["x"], mode=mode)  # type: ignore[arg-type]
        assert ids(other.retrieve("Longformer reads", mode="bm25"))
        other.build()  # embeds again
        assert other.retrieve("Longformer").route == "hippo"


def test_an_embedder_that_is_gone_falls_back_or_raises(tmp_path: Path) -> None:
    with HippoLit.open(tmp_path / "x.idx", settings()) as lit:
        lit.add(PAPERS)
    gone = {"kind": "sentence-transformers", "model": str(tmp_path / "no-model")}
    with HippoLit.open(tmp_path / "x.idx", settings(embedding=gone)) as other:
        result = other.retrieve("Longformer reads", 1)
        assert (result.route, result.degraded, ids(result)) == ("bm25", True, ["p2"])
        assert "no-model" in result.reason
    raising = settings(embedding=gone, retrieve={"on_model_error": "raise"})
    with HippoLit.open(tmp_path / "x.idx", raising) as other, pytest.raises(Exception, match="no-model"):
        other.retrieve("Longformer")


def test_llm_parts_need_a_chat_model(tmp_path: Path) -> None:
    with (
        HippoLit.open(tmp_path / "e", settings(extract={"kind": "llm"})) as lit,
        pytest.raises(ConfigError, match=r"extract\.kind"),
    ):
        lit.add(PAPERS)


def test_a_chat_model_of_ones_own_extracts_and_filters(tmp_path: Path) -> None:
    def answer(messages: Any) -> str:
        asked = messages[-1].content
        if "candidates" in asked:
            return '{"facts": [["Longformer", "was made at", "AI2"]]}'
        made = '[["Longformer", "was made at", "AI2"]]' if "AI2" in asked else "[]"
        return f'{{"entities": [], "triples": {made}}}'

    chat = FakeChatModel(answer)
    given = settings(extract={"kind": "llm", "names_from": "none"}, filter={"kind": "llm"})
    with HippoLit.open(tmp_path, given, chat=chat) as lit:
        lit.add(PAPERS)
        assert len(chat.calls) == 3
        result = lit.retrieve("who made it?")
        assert [kept.fact.text for kept in result.trace.kept] == ["Longformer was made at AI2"]
        assert ids(result)[0] == "p2"
        assert len(chat.calls) == 4
        lit.retrieve("who made it?")
        assert len(chat.calls) == 4  # the reply is kept
    with HippoLit.open(tmp_path, given, chat=chat) as lit:
        lit.add([*PAPERS, Paper("p4", "New")])
        lit.retrieve("who made it?")
        assert len(chat.calls) in (5, 6)  # p4's extraction; candidates may differ


def test_a_wrong_key_stops_asking_and_the_papers_are_indexed_without_facts(tmp_path: Path) -> None:
    chat = FakeChatModel([ChatModelError("wrong key", model="m", status=401, kind="auth")])
    with HippoLit.open(tmp_path, settings(extract={"kind": "llm", "names_from": "none"}), chat=chat) as lit:
        lit.put(PAPERS)
        built = lit.build()
        assert (built.published, built.left, built.failed, built.degraded) == (True, 3, 0, True)
        assert built.stopped == "wrong key"
        found = lit.retrieve("Longformer", k=1)
    assert found.degraded
    assert "3 passages have no facts" in found.reason


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(StoreError, match="not an index and not empty"):
        HippoLit.open(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_filter_reply_is_paid_for_once_also_by_read_only_searches(tmp_path: Path) -> None:
    chosen = ["embedding.kind=hash", "extract.kind=simple", "llm.kind=openai", "filter.kind=llm"]
    wanted = load_settings(None, chosen, environ={})
    chat = FakeChatModel(lambda _: '{"facts": []}')
    with HippoLit.open(tmp_path / "x.idx", wanted, chat=chat) as lit:
        lit.add([{"id": "a", "title": "LoRA", "abstract": "LoRA (Low-Rank Adaptation) adapts GPT-3."}])
    for _ in range(2):
        with HippoLit.open(tmp_path / "x.idx", wanted, chat=chat, create=False, read_only=True) as lit:
            assert lit.retrieve("Does LoRA adapt GPT-3?").route == "hybrid"
    assert len(chat.calls) == 1
