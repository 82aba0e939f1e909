"""What changes an index: add again, update, delete, one source of several; and what that costs."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from tiny import settings

from hippo_lit import HippoLit, Settings
from hippo_lit.errors import ConfigError, DataError, EmbedderMismatchError, StoreError
from hippo_lit.storage.publish import SNAPSHOTS
from hippo_lit.testing import FakeChatModel, HashEmbedder
from hippo_lit.types import MODES, Counts, Paper

ALPHA = Paper("a", "Alpha", "Alpha extends Beta.", 2001, references=("b",), source="s2")
ALPHA_TOO = Paper("a", "Alpha", "Alpha extends Beta. It was built in Kraków.", source="arxiv")
BETA = Paper("b", "Beta", "Beta needs Gamma.", 2002, source="s2")
GAMMA = Paper("c", "Gamma", "Gamma helps Alpha in Kraków.", 2003, source="s2")
PAPERS = (ALPHA, ALPHA_TOO, BETA, GAMMA)
LLM = settings(extract={"kind": "llm", "names_from": "none"})
REPLY = '{"entities": [], "triples": [["Alpha", "extends", "Beta"]]}'


@pytest.fixture
def lit(tmp_path: Path) -> Iterator[HippoLit]:
    with HippoLit.open(tmp_path / "x.idx", settings()) as opened:
        opened.add(PAPERS)
        yield opened


def found(lit: HippoLit, query: str = "Alpha Beta Gamma Kraków") -> set[str]:
    """Ids that any mode ranks."""
    return {ranked.paper.id for mode in MODES for ranked in lit.retrieve(query, mode=mode).papers}


def state(lit: HippoLit) -> tuple[str, list[Paper]]:
    snapshot = lit.snapshot()
    assert snapshot is not None
    return snapshot.name, list(lit.store.papers())


# -- delete


def test_a_delete_only_change_takes_papers_out(lit: HippoLit) -> None:  # CASE 28
    assert found(lit) == {"a", "b", "c"}
    assert lit.delete(["b", "b"]) == 1
    assert (len(lit), found(lit)) == (2, {"a", "c"})
    with HippoLit.open(lit.path, settings()) as again:
        assert found(again) == {"a", "c"}


def test_what_was_deleted_stays_away_when_others_come(lit: HippoLit) -> None:  # CASE 26
    lit.retrieve("Alpha")  # caches are warm
    lit.delete(["a"])
    lit.add([BETA, GAMMA, Paper("d", "Delta", "Delta quotes Alpha.", references=("a",))])
    assert found(lit) == {"b", "c", "d"}
    assert lit.store.paper("a") is None


def test_what_was_deleted_and_added_again_is_found_again(lit: HippoLit) -> None:  # CASE 27
    before = state(lit)
    lit.delete(["a", "c"])
    assert found(lit) == {"b"}
    assert lit.add([ALPHA, ALPHA_TOO, GAMMA]) == Counts(added=2, changed=1)
    assert found(lit) == {"a", "b", "c"}
    assert state(lit) == before


def test_a_paper_loses_one_source_and_keeps_the_other(lit: HippoLit) -> None:
    assert lit.delete(["a"], source="arxiv") == 1
    assert list(lit.store.papers()) == [ALPHA, BETA, GAMMA]
    assert [r.paper for r in lit.retrieve("Alpha", 1).papers] == [ALPHA]
    assert lit.delete(["a"], source="s2") == 1
    assert found(lit) == {"b", "c"}


def test_all_papers_can_go_and_come_back(lit: HippoLit) -> None:
    before = state(lit)
    assert lit.delete(iter(["a", "b", "c"])) == 3
    assert (len(lit), found(lit)) == (0, set())
    lit.add(PAPERS)
    assert state(lit) == before


@pytest.mark.parametrize(
    ("ids", "source", "unknown"),
    [
        (["b", "nope", "\ud800"], None, ["nope", "\ud800"]),
        (["a", "b"], "arxiv", ["b"]),
        (["a"], "", ["a"]),
        (["a"], "s2+arxiv", ["a"]),
        ([""], None, [""]),
    ],
)
def test_one_unknown_id_and_nothing_is_deleted(
    lit: HippoLit, ids: list[str], source: str | None, unknown: list[str]
) -> None:
    before = state(lit)
    with pytest.raises(DataError, match="nothing was deleted") as caught:
        lit.delete(ids, source=source)
    assert caught.value.unknown == unknown
    assert state(lit) == before


def test_no_ids_or_one_text(lit: HippoLit) -> None:
    before = state(lit)
    assert lit.delete([]) == 0
    assert state(lit) == before
    with pytest.raises(ConfigError, match=r"ids=\['a'\]"):
        lit.delete("a")


@pytest.mark.parametrize("source", [None, "arxiv"])
def test_a_delete_that_was_interrupted_is_finished_by_asking_again(lit: HippoLit, source: str | None) -> None:
    lit.store.delete(["a"], source=source)  # and here the machine died
    with HippoLit.open(lit.path, settings()) as again:
        with pytest.raises(DataError):
            again.delete(["a"], source="nobody")
        assert again.delete(["a"], source=source) == 1
        assert len(again) == len(again.store)
        with pytest.raises(DataError):
            again.delete(["a"], source=source)


def test_a_delete_with_other_models_would_redo_the_rest_and_is_refused(lit: HippoLit) -> None:
    before = state(lit)
    for given, embedder, error in (
        (settings(), HashEmbedder(32), EmbedderMismatchError),
        (settings(extract={"kind": "none"}), None, ConfigError),
    ):
        with (
            HippoLit.open(lit.path, given, embedder=embedder) as other,
            pytest.raises(error, match="give the settings it was indexed with"),
        ):
            other.delete(["a"])
    assert state(lit) == before


# -- update


def test_an_updated_paper_is_exactly_what_is_given(lit: HippoLit) -> None:
    changed = Paper("a", "Alpha", "Alpha is about Quasars now.", 2024)
    assert lit.update([changed, BETA]) == Counts(changed=1, unchanged=1)
    assert list(lit.store.papers()) == [changed, BETA, GAMMA]
    assert [r.paper for r in lit.retrieve("Quasars", 1, "bm25").papers] == [changed]
    assert lit.update([ALPHA, ALPHA_TOO]) == Counts(changed=2)  # two views of one paper: both are given
    assert lit.store.versions("a") == [ALPHA_TOO, ALPHA]
    assert lit.update([ALPHA, ALPHA_TOO]) == Counts(unchanged=2)


def test_an_update_is_stored_whole_or_not_at_all(lit: HippoLit) -> None:
    before = state(lit)
    with pytest.raises(DataError):
        lit.update([{"id": "a", "title": "changed"}, {"title": "no id"}])
    assert state(lit) == before


# -- what it costs


class Counting(HashEmbedder):
    """Counts the documents that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], kind: Any) -> Any:
        if not kind.startswith("query"):
            self.texts += texts
        return super().embed(texts, kind)


def test_only_what_is_new_is_done(tmp_path: Path) -> None:
    chat, embedder = FakeChatModel(lambda _: REPLY), Counting()

    def spent() -> tuple[int, int]:
        calls, texts = len(chat.calls), len(embedder.texts)
        chat.calls.clear()
        embedder.texts.clear()
        return calls, texts

    changed = Paper("b", "Beta", "Beta needs Gamma. And more.", 2002, source="s2")
    year_only = Paper("c", "Gamma", "Gamma helps Alpha in Kraków.", 2004, source="s2")
    with HippoLit.open(tmp_path, LLM, embedder=embedder, chat=chat) as lit:
        lit.add([ALPHA, BETA, GAMMA])
        assert spent() == (3, 6)  # each a passage of one sentence
        for nothing_new in (
            lambda: lit.add([ALPHA, BETA, GAMMA]),
            lambda: lit.update([ALPHA]),
            lambda: lit.add([year_only]),
            lambda: lit.delete(["a"]),
            lambda: lit.delete(["b"], source="s2"),
            lambda: lit.add([ALPHA, BETA]),
        ):
            nothing_new()
            assert spent() == (0, 0)
        lit.add([ALPHA, changed, Paper("d", "Delta", "Delta.")])
        assert spent() == (
            2,
            4,
        )  # passages of b and d; "And more." and "Delta."; "Beta needs Gamma." is known
    with HippoLit.open(tmp_path, LLM, embedder=embedder, chat=chat) as lit:  # also in another process
        lit.delete(["d"])
        lit.add([Paper("e", "Delta", "Delta.")])  # the same text under another id
        assert spent() == (0, 0)


# -- the rest


def test_async_twins(tmp_path: Path) -> None:
    async def everything() -> None:
        with HippoLit.open(tmp_path / "x.idx", settings()) as lit:
            await lit.aadd(PAPERS)
            assert await lit.adelete(["a"], source="arxiv") == 1
            assert await lit.adelete(["b"]) == 1
            assert await lit.aupdate([GAMMA]) == Counts(unchanged=1)
            assert list(lit.store.papers()) == [ALPHA, GAMMA]

    asyncio.run(everything())


def test_read_only(lit: HippoLit) -> None:
    with HippoLit.open(lit.path, settings(), read_only=True) as reader:
        for write in (lambda: reader.delete(["a"]), lambda: reader.update([ALPHA])):
            with pytest.raises(StoreError, match="read-only"):
                write()


@pytest.mark.parametrize("wait_s", [-1, float("nan")])
def test_waiting_takes_no_negative_time(tmp_path: Path, wait_s: float) -> None:
    with pytest.raises(ConfigError, match="wait_s"):
        HippoLit.open(tmp_path, settings(), wait_s=wait_s)


def test_what_a_writer_left_that_died_after_publishing_is_swept(lit: HippoLit) -> None:
    before = state(lit)
    leftovers = [lit.path / SNAPSHOTS / name for name in ("s-2-old", "s-9-new.tmp-1")]
    for leftover in leftovers:
        leftover.mkdir()
    assert not lit.build().published
    assert not any(leftover.exists() for leftover in leftovers)
    assert state(lit) == before


def test_a_state_that_nobody_uses_any_more_is_closed_at_once(lit: HippoLit) -> None:
    """It holds dozens of files open; a server that follows a busy writer must not wait for the collector."""
    found(lit)  # what is imported at the first use may keep its frame
    lit.delete(["c"])
    gc.disable()
    try:
        found(lit)
        old = lit.snapshot()
        assert old is not None
        old.sentence(0)
        left = ref(old)
        del old
        lit.delete(["b"])
        assert left() is None
    finally:
        gc.enable()


def test_several_names_of_one_paper_delete_one(tmp_path: Path) -> None:
    given = Settings.model_validate({"embedding": {"kind": "hash"}, "extract": {"kind": "simple"}})
    with HippoLit.open(tmp_path / "named", given) as lit:
        lit.add(
            [{"id": "p1", "title": "Alpha", "abstract": "A.", "doi": "10.1000/a"}, {"id": "p2", "title": "B"}]
        )
        assert lit.delete(["p1", "10.1000/A", "p1"]) == 1
        assert len(lit) == 1


def test_a_whole_source_goes(lit: HippoLit) -> None:
    with pytest.raises(DataError, match=r"nothing from the source 'nobody'; .* there are arxiv, s2"):
        lit.delete(source="nobody")
    with pytest.raises(ConfigError, match="which source"):
        lit.delete()
    assert lit.delete(source="ARXIV") == 1
    assert [paper.source for paper in lit.store.papers()] == ["s2", "s2", "s2"]
    lit.store.delete(["a", "b"], source="s2")  # and here the machine died
    assert lit.delete(source="s2") == 3
    assert len(lit) == 0
