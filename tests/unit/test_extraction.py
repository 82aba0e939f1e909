"""One run of an extractor: what is kept, what counts as failed, what as left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tiny import Scripted

from hippo_lit.errors import ChatModelError
from hippo_lit.extraction import ExtractionRun
from hippo_lit.passages import passage_hash
from hippo_lit.storage.store import Store
from hippo_lit.types import Extraction, Fact, Mention, Passage

PASSAGES = [Passage(f"p{i}", 0, f"T{i}", "text") for i in range(4)]
HASHES = [passage_hash(passage) for passage in PASSAGES]
FOUND = Extraction((Mention("a", 0, "name"),), (Fact("a", "is", "b"),), (0,))


def error(kind: str, message: str) -> ChatModelError:
    return ChatModelError(message, model="m", status=None, kind=kind)


def test_failed_and_left_are_told_apart(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    outcomes = {"T0": FOUND, "T1": error("server", "down"), "T2": error("auth", "wrong key"),
                "T3": error("budget", "used up")}  # fmt: skip
    with Store.open(tmp_path, create=True) as store:
        run = ExtractionRun(store, Scripted(outcomes), lambda *call: told.append(call))
        facts = run.run(PASSAGES, HASHES)
        assert dict(facts.done) == {HASHES[0]: FOUND}
        assert (facts.new, facts.failures, facts.left) == (1, ("p1: down",), 2)
        assert (facts.stopped, facts.degraded, facts.pending) == ("wrong key", True, False)
        assert told[0] == ("extract", 0, 4)
        assert told[-1] == ("extract", 4, 4)
        assert store.failures("scripted") == [(HASHES[1], "ChatModelError: down", 1)]


@pytest.mark.parametrize(
    ("kind", "pending", "degraded"),
    [("budget", False, False), ("pending", True, False), ("quota", False, True), ("given_up", False, True)],
)
def test_why_passages_are_left(tmp_path: Path, kind: str, pending: bool, degraded: bool) -> None:
    with Store.open(tmp_path, create=True) as store:
        facts = ExtractionRun(store, Scripted({"T0": error(kind, "why")})).run(PASSAGES[:1], HASHES[:1])
    assert (facts.left, facts.pending, facts.degraded, facts.stopped) == (1, pending, degraded, "why")


def test_an_extraction_that_cannot_be_stored_takes_no_other_along(tmp_path: Path) -> None:
    broken = Extraction((Mention(7, 0, "name"),), (), ())  # type: ignore[arg-type]
    outcomes = {"T0": FOUND, "T1": broken, "T2": FOUND, "T3": FOUND}
    with Store.open(tmp_path, create=True) as store:
        facts = ExtractionRun(store, Scripted(outcomes)).run(PASSAGES, HASHES)
        assert sorted(facts.done) == sorted(HASHES[:1] + HASHES[2:])
        assert (facts.new, len(facts.failures)) == (3, 1)
        assert facts.failures[0].startswith("p1: ")
        assert store.extractions("scripted", HASHES).keys() == facts.done.keys()
        assert [attempts for _, _, attempts in store.failures("scripted")] == [1]


def test_what_was_found_before_an_interruption_is_kept(tmp_path: Path) -> None:
    class Interrupted(Scripted):
        def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
            yield from super().extract(passages[:2])
            raise KeyboardInterrupt

    with Store.open(tmp_path, create=True) as store:
        with pytest.raises(KeyboardInterrupt):
            ExtractionRun(store, Interrupted({})).run(PASSAGES, HASHES)
        assert store.extractions("scripted", HASHES).keys() == set(HASHES[:2])
