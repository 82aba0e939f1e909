"""From the store to a snapshot: only what is new, whatever failed before."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from tiny import COSINES, FOUND, PAPERS, Angles, Scripted, build, settings

from hippo_lit import assemble
from hippo_lit.api import HippoLit
from hippo_lit.config import Settings
from hippo_lit.errors import ChatModelError, StoreError
from hippo_lit.index import Built, Indexer
from hippo_lit.models.embed_cached import CachedEmbedder
from hippo_lit.protocols import FactExtractor
from hippo_lit.snapshot import COLUMNS, LEXICAL, Snapshot
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.publish import CURRENT, SNAPSHOTS, open_current
from hippo_lit.storage.seal import damage
from hippo_lit.storage.store import Store
from hippo_lit.types import Extraction, Fact, Paper, Passage

ANGLES = Angles(COSINES)


def failure(message: str = "the server is down") -> ChatModelError:
    return ChatModelError(message, model="fake", status=500, kind="server")


def opened(folder: Path) -> Snapshot:
    made = open_current(folder, Snapshot)
    assert made is not None
    return made


def snapshots(folder: Path) -> list[str]:
    return sorted(entry.name for entry in (folder / SNAPSHOTS).iterdir())


def test_a_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    first = build(tmp_path, PAPERS, ANGLES, Scripted(FOUND))
    assert first == Built(first.snapshot, True, papers=4, passages=4, extracted=4)
    again = Scripted(FOUND)
    second = build(tmp_path, PAPERS, ANGLES, again)
    assert second == Built(first.snapshot, False, papers=4, passages=4, extracted=0)
    assert again.asked == []
    assert snapshots(tmp_path) == [first.snapshot]


def test_only_new_texts_are_extracted(tmp_path: Path) -> None:
    build(tmp_path, PAPERS[:2], ANGLES, Scripted(FOUND))
    rest = Scripted(FOUND)
    built = build(tmp_path, PAPERS, ANGLES, rest)
    assert rest.asked == ["Gamma", "Delta"]
    assert (built.published, built.papers, built.extracted) == (True, 4, 2)
    assert snapshots(tmp_path) == [built.snapshot]
    edited = Scripted(FOUND)
    build(tmp_path, [Paper("b", "Beta", "Beta moved.", 2005), Paper("c2", "Gamma", "Unrelated text.")],
          ANGLES, edited)  # fmt: skip
    assert edited.asked == ["Beta"]  # c2's text is known from c


def test_two_steps_give_the_state_of_one(tmp_path: Path) -> None:
    build(tmp_path / "two", PAPERS[2:], ANGLES, Scripted(FOUND))
    two = build(tmp_path / "two", PAPERS[:2], ANGLES, Scripted(FOUND))
    one = build(tmp_path / "one", PAPERS, ANGLES, Scripted(FOUND))
    assert two.snapshot == one.snapshot
    files = sorted(path.relative_to(opened(tmp_path / "one").folder) for path in
                   opened(tmp_path / "one").folder.rglob("*") if path.is_file())  # fmt: skip
    for file in files:
        assert (opened(tmp_path / "one").folder / file).read_bytes() == (
            opened(tmp_path / "two").folder / file
        ).read_bytes(), file


@pytest.mark.parametrize("part", ["columns/papers.utf8", "parts/hashes.npy", "bm25/frequencies.npy"])
def test_damage_is_not_carried_over(tmp_path: Path, part: str) -> None:
    build(tmp_path / "two", PAPERS[:3], ANGLES, Scripted(FOUND))
    file = opened(tmp_path / "two").folder / part
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    scripted = Scripted(FOUND)
    two = build(tmp_path / "two", PAPERS, ANGLES, scripted)
    assert scripted.asked == ["Delta"]
    [note] = two.notes
    assert note.startswith("all is made anew: ")
    assert file.name in note
    assert damage(opened(tmp_path / "two").folder) == []
    build(tmp_path / "one", PAPERS, ANGLES, Scripted(FOUND))
    for name in (part, "columns/statements_data.npy"):
        if (opened(tmp_path / "one").folder / name).exists():
            one, other = (opened(tmp_path / each).folder / name for each in ("one", "two"))
            assert one.read_bytes() == other.read_bytes()


def test_a_failure_is_recorded_kept_out_and_tried_again(tmp_path: Path) -> None:
    broken = build(tmp_path, PAPERS, ANGLES, Scripted(FOUND | {"Beta": failure()}))
    assert (broken.failed, broken.extracted) == (1, 3)
    assert broken.failures == ("b: the server is down",)
    assert opened(tmp_path).about["failures"] == 1
    assert opened(tmp_path).facts_of(1) == []
    with Store.open(tmp_path) as store:
        [(_, reason, attempts)] = store.failures("scripted")
        assert ("the server is down" in reason, attempts) == (True, 1)

    again = Scripted(FOUND)
    mended = build(tmp_path, PAPERS, ANGLES, again)
    assert again.asked == ["Beta"]
    assert (mended.published, mended.failed, mended.extracted) == (True, 0, 1)
    assert opened(tmp_path).about["failures"] == 0
    assert [fact.text for _, fact in opened(tmp_path).facts_of(1)] == ["Beta lives in Kraków"]
    whole = build(tmp_path / "whole", PAPERS, ANGLES, Scripted(FOUND))
    assert mended.snapshot == whole.snapshot


def test_the_same_failure_in_other_words_is_no_news(tmp_path: Path) -> None:
    first = build(tmp_path, PAPERS, ANGLES, Scripted(FOUND | {"Beta": failure("request 1 failed")}))
    second = build(tmp_path, PAPERS, ANGLES, Scripted(FOUND | {"Beta": failure("request 2 failed")}))
    assert (second.published, second.snapshot) == (False, first.snapshot)
    assert second.failures == ("b: request 2 failed",)


def test_an_interrupted_run_keeps_what_it_found(tmp_path: Path) -> None:
    class Interrupted(Scripted):
        def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
            for passage, found in zip(passages, super().extract(passages), strict=True):
                if passage.title == "Gamma":
                    raise KeyboardInterrupt
                yield found

    with pytest.raises(KeyboardInterrupt):
        build(tmp_path, PAPERS, ANGLES, Interrupted(FOUND))
    assert open_current(tmp_path, Snapshot) is None
    rest = Scripted(FOUND)
    built = build(tmp_path, PAPERS, ANGLES, rest)
    assert rest.asked == ["Gamma", "Delta"]
    assert built.snapshot == build(tmp_path / "whole", PAPERS, ANGLES, Scripted(FOUND)).snapshot


@pytest.mark.parametrize(
    "change",
    [
        {"bm25": {"k1": 1.2}},
        {"lexical": {"include_title": True}},
        {"bm25": {"tokenizer": "unicode"}},
        {"graph": {"synonyms": "none"}},
        {"graph": {"fact_vectors": "fact"}},
        {"graph": {"title_mention": 2.0}},
        {"extract": {"kind": "simple", "passage_chars": 200}},
    ],
)
def test_another_recipe_builds_anew_and_asks_nothing_again(tmp_path: Path, change: dict[str, object]) -> None:
    first = build(tmp_path, PAPERS, ANGLES, Scripted(FOUND))
    given = settings(**change)  # type: ignore[arg-type]
    again = Scripted(FOUND)
    second = build(tmp_path, PAPERS, ANGLES, again, given)
    assert second.published
    assert second.snapshot != first.snapshot
    assert again.asked == []
    assert not build(tmp_path, PAPERS, ANGLES, again, given).published


def test_settings_of_the_query_alone_do_not_rebuild(tmp_path: Path) -> None:
    build(tmp_path, PAPERS, ANGLES, Scripted(FOUND))
    given = settings(graph={"citation": 0.0}, seeds={"max_entities": 3}, ppr={"damping": 0.9})
    assert not build(tmp_path, PAPERS, ANGLES, Scripted(FOUND), given).published


def test_another_extractor_or_embedder_builds_anew(tmp_path: Path) -> None:
    first = build(tmp_path, PAPERS, ANGLES, Scripted(FOUND))
    other = Scripted(FOUND, name="other")
    second = build(tmp_path, PAPERS, ANGLES, other)
    assert (second.published, len(other.asked)) == (True, 4)

    class Renamed(Angles):
        name = "angles-2"

    third = build(tmp_path, PAPERS, Renamed(COSINES), other)
    assert third.published
    assert opened(tmp_path).about["embedder"] == "angles-2"
    assert len({first.snapshot, second.snapshot, third.snapshot}) == 3


@pytest.mark.parametrize("damage", ["pointer", "columns", "format", "words"])
def test_a_damaged_snapshot_is_built_again_from_the_store(tmp_path: Path, damage: str) -> None:
    first = build(tmp_path, PAPERS, ANGLES, Scripted(FOUND))
    folder = opened(tmp_path).folder
    match damage:
        case "pointer":
            (tmp_path / CURRENT).write_text("gone\n")
        case "columns":
            (folder / COLUMNS / "years.npy").unlink()
        case "format":
            about = folder / COLUMNS / "about.json"
            about.write_text(about.read_text().replace('"format": ', '"format":-'))
        case "words":
            (folder / LEXICAL / "starts.npy").write_bytes(b"")
    again = Scripted(FOUND)
    second = build(tmp_path, PAPERS, ANGLES, again)
    assert (second.published, second.snapshot, again.asked) == (True, first.snapshot, [])
    assert len(opened(tmp_path)) == 4
    assert len(opened(tmp_path).lexical) == 4
    assert not build(tmp_path, PAPERS, ANGLES, again).published


def test_nothing_stored_is_an_empty_index(tmp_path: Path) -> None:
    assert build(tmp_path, [], ANGLES, Scripted({})) == Built(opened(tmp_path).name, True)
    assert len(opened(tmp_path)) == 0


def test_an_extractor_that_skips_a_passage_is_found_out(tmp_path: Path) -> None:
    class Short(Scripted):
        def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
            return super().extract(passages[1:])

    with pytest.raises(ValueError, match="shorter"):
        build(tmp_path, PAPERS, ANGLES, Short(FOUND))


def progress_of(folder: Path, extractor: FactExtractor) -> list[tuple[str, int, int]]:
    seen: list[tuple[str, int, int]] = []
    with Store.open(folder, create=True) as store, Cache(None) as cache:
        store.put_papers(PAPERS)
        recipe = assemble.make_recipe(settings())
        Indexer(folder, store, CachedEmbedder(ANGLES, cache), extractor, recipe,
                progress=lambda *at: seen.append(at)).build()  # fmt: skip
    return seen


def test_progress_is_told_stage_by_stage(tmp_path: Path) -> None:
    seen = progress_of(tmp_path, Scripted(FOUND | {"Beta": failure()}))
    assert [at for at in seen if at[0] == "extract"] == [("extract", n, 4) for n in range(5)]
    assert list(dict.fromkeys(stage for stage, _, _ in seen)) == ["extract", "embed", "graph", "words"]
    assert all(0 <= done <= total or total == 0 for _, done, total in seen)


@pytest.mark.parametrize("kind", ["spelling", "embedding", "none"])
def test_synonyms_join_names_and_titles_alone(tmp_path: Path, kind: str) -> None:
    said = {
        "Transformer": Extraction((), (Fact("Transformer", "uses", "big parts"),), (0,)),
        "Transformers": Extraction((), (Fact("Transformers", "use", "big part"),), (0,)),
    }
    papers = [Paper("a", "Transformer", "X."), Paper("b", "Transformers", "Y.")]
    cosines = {"transformer": 0.5, "transformers": 0.5, "big parts": 0.9, "big part": 0.9}
    given = settings(graph={"synonyms": kind, "synonym_threshold": 0.6})
    build(tmp_path, papers, Angles(cosines), Scripted(said), given)
    graph = opened(tmp_path).graph
    edges = graph.edges["synonym"]
    joined = {
        frozenset((graph.names[a - 2], graph.names[b - 2]))
        for a, b in zip(edges.source.tolist(), edges.target.tolist(), strict=True)
    }
    assert joined == (set() if kind == "none" else {frozenset(("Transformer", "Transformers"))})


def test_passages_of_one_paper_and_papers_that_cite_are_joined(tmp_path: Path) -> None:
    long = "This is a sentence of some length. " * 20
    papers = [Paper("a", "A", long, references=("b", "a", "x")), Paper("b", "B", long, citations=("a",))]
    given = settings(extract={"kind": "simple", "passage_chars": 300})
    build(tmp_path, papers, ANGLES, Scripted({}), given)
    made = opened(tmp_path)
    first, second, end = made.first_passage.tolist()
    assert end > 4
    citation, continuation = made.graph.edges["citation"], made.graph.edges["continuation"]
    assert list(zip(citation.source, citation.target, strict=True)) == [(first, second)]
    pairs = set(zip(continuation.source.tolist(), continuation.target.tolist(), strict=True))
    assert pairs == {(i, i + 1) for i in range(end - 1) if i + 1 != second}
    assert np.array_equal(made.passage_paper, [0] * second + [1] * (end - second))


def test_a_rebuild_that_fails_leaves_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Settings.model_validate({"embedding": {"kind": "hash"}, "extract": {"kind": "simple"}})
    with HippoLit.open(tmp_path / "i", given) as lit:
        lit.add([{"id": "a", "title": "Alpha", "abstract": "Alpha likes Beta."}])
        before = lit.snapshot()
        assert before is not None

        def full(folder: Path) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as failing:
            failing.setattr("hippo_lit.storage.publish.sync_tree", full)
            with pytest.raises(StoreError):
                lit.build(rebuild=True)
        with HippoLit.open(tmp_path / "i", given, read_only=True) as reader:
            assert [ranked.paper.id for ranked in reader.retrieve("Alpha", mode="bm25").papers] == ["a"]
        built = lit.build(rebuild=True)
        assert built.published
        assert not lit.build().published  # the state is the same under another name
