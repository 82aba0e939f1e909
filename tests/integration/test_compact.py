"""`compact` drops what nothing needs, keeps the rest, and survives being stopped anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_support import Cli

from hippo_lit.api import HippoLit
from hippo_lit.compact import compact
from hippo_lit.config import Settings
from hippo_lit.errors import IndexLockedError, StoreError
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.lock import WriterLock
from hippo_lit.storage.store import Store
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import Paper
from hippo_lit.verify import verify_index

REPLY = json.dumps({"entities": ["Alpha"], "triples": [["Alpha", "extends", "Beta"]]})
PAPERS = [Paper(f"p{n}", f"Alpha {n}", f"Alpha {n} extends Beta. It is {n}.") for n in range(8)]


def settings(fact_vectors: str = "fact") -> Settings:
    return Settings.model_validate(
        {
            "embedding": {"kind": "hash"},
            "llm": {"kind": "openai"},
            "extract": {"kind": "llm", "names_from": "none"},
            "graph": {"fact_vectors": fact_vectors, "synonyms": "embedding"},
        }
    )


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Eight papers were indexed, three of them are gone again."""
    folder = tmp_path / "x.idx"
    with HippoLit.open(folder, settings(), chat=FakeChatModel(lambda _: REPLY)) as lit:
        lit.add(PAPERS)
        lit.store.delete(["p1", "p2", "p3"])
        lit.build()
    return folder


def ranking(folder: Path) -> list[tuple[str, float]]:
    with HippoLit.open(folder, read_only=True, chat=FakeChatModel(lambda _: REPLY)) as lit:
        return [(r.paper.id, r.score) for r in lit.retrieve("What does Alpha 5 extend?", 8).papers]


def test_what_no_paper_needs_goes_and_the_rest_stays(index: Path) -> None:
    before = ranking(index)
    done = compact(index)
    assert (done.extractions, done.replies) == (3, 0)
    # Three passages, two sentences of each. HashEmbedder keeps equal texts once.
    assert done.vectors >= 9
    assert ranking(index) == before
    assert list(verify_index(index)) == []
    asked = FakeChatModel(lambda _: REPLY)
    with HippoLit.open(index, chat=asked) as lit:
        assert lit.change() is None
        assert lit.build().published is False
        lit.build(rebuild=True)
    assert asked.calls == []
    assert (compact(index).vectors, compact(index).extractions) == (
        0,
        0,
    )  # a rebuild asks for no other vector


def test_replies_stay_unless_they_are_named(index: Path) -> None:
    compact(index)
    asked = FakeChatModel(lambda _: REPLY)
    with HippoLit.open(index, chat=asked) as lit:
        lit.add(PAPERS[1:2])
    assert asked.calls == []  # its reply was still there
    assert compact(index, replies=True).replies == 8
    with HippoLit.open(index, chat=asked) as lit:
        lit.build(rebuild=True)
        assert asked.calls == []  # what was extracted is still there
        lit.add(PAPERS[2:3])
    assert len(asked.calls) == 1


def test_a_shared_cache_is_left_alone(index: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared.db"
    with Cache(shared) as cache:
        cache.put_reply("k", "1")
    given = Settings.model_validate({"cache": {"path": str(shared)}})
    done = compact(index, given, replies=True)
    assert (done.shared_cache, done.replies) == (True, 0)
    with Cache(shared) as cache:
        assert cache.get_reply("k") == "1"


def test_nothing_is_dropped_before_something_is_published(tmp_path: Path) -> None:
    with Store.open(tmp_path / "x", create=True) as store:
        store.put_papers(PAPERS)
    with pytest.raises(StoreError, match="nothing has been published"):
        compact(tmp_path / "x")


def test_it_needs_the_lock(index: Path) -> None:
    with WriterLock(index), pytest.raises(IndexLockedError):
        compact(index)


STEPS: list[tuple[type, str]] = [
    (Store, "keep_extractions"),
    (Store, "vacuum"),
    (Cache, "keep_vectors"),
    (Cache, "forget_replies"),
    (Cache, "vacuum"),
]


@pytest.mark.parametrize(("owner", "step"), STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_stopped_at_any_step_the_index_answers_as_before(
    index: Path, monkeypatch: pytest.MonkeyPatch, owner: type, step: str, after: bool
) -> None:
    before = ranking(index)
    real: Callable[..., object] = getattr(owner, step)

    def stop(*arguments: object) -> None:
        if after:
            real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, stop)
        with pytest.raises(KeyboardInterrupt):
            compact(index, replies=True)
    assert ranking(index) == before
    assert list(verify_index(index)) == []
    compact(index, replies=True)
    assert ranking(index) == before


def test_the_command(cli: Cli, index: Path) -> None:
    said = cli("compact", "--index", index).stdout
    assert "dropped 0 snapshots, 3 extractions," in said
    told = json.loads(cli("compact", "--index", index, "--replies", "--json").stdout)
    assert (told["replies"], told["shared_cache"]) == (8, False)
    assert set(told["before"]) == set(told["after"]) == {"store", "cache", "batches", "snapshots"}
