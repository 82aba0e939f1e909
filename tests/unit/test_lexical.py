from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hippo_lit.errors import (
    ConfigError,
    FormatVersionError,
    IndexCorruptError,
    IndexNotFoundError,
    StoreError,
)
from hippo_lit.lexical.bm25 import BM25Index
from hippo_lit.tokenizers import StemmingTokenizer, UnicodeTokenizer
from hippo_lit.topk import best_above_zero

TEXTS = ["red apple red", "green apple", "blue sky over the blue sea", "", "—"]


@pytest.fixture
def index() -> BM25Index:
    return BM25Index.build(TEXTS)


def test_scores_by_hand(index: BM25Index) -> None:
    # N = 5, avgdl = 11/5. "red" is in one document, twice, of length 3; "apple" in two, once each.
    idf_red, idf_apple = math.log(4.5 / 1.5 + 1), math.log(3.5 / 2.5 + 1)
    long = 1.5 * (0.25 + 0.75 * 3 / 2.2)
    short = 1.5 * (0.25 + 0.75 * 2 / 2.2)
    first = idf_red * 2 * 2.5 / (2 + long) + idf_apple * 2.5 / (1 + long)
    second = idf_apple * 2.5 / (1 + short)
    np.testing.assert_allclose(index.scores("red apple"), [first, second, 0, 0, 0], rtol=1e-14)
    assert index.scores("red apple").dtype == np.float64
    assert index.search("red apple", 10) == [(0, pytest.approx(first)), (1, pytest.approx(second))]


def test_each_occurrence_in_the_query_counts(index: BM25Index) -> None:
    np.testing.assert_allclose(index.scores("apple APPLE apple"), 3 * index.scores("apple"))


@pytest.mark.parametrize("query", ["", "  ", "unknown words", "🙂", "\ud800\x00", "—"])
def test_a_query_without_a_known_term_scores_nothing(index: BM25Index, query: str) -> None:
    assert index.scores(query).tolist() == [0.0] * 5
    assert index.search(query, 3) == []
    assert index.contributions(query, 0) == {}


@pytest.mark.parametrize("texts", [[], [""], ["", " ", "!"]])
def test_a_corpus_without_a_term_is_served(texts: list[str], tmp_path: Path) -> None:
    built = BM25Index.build(texts)
    built.save(tmp_path)
    for served in (built, BM25Index.load(tmp_path)):
        assert len(served) == len(texts)
        assert served.scores("red").shape == (len(texts),)
        assert served.search("red", 5) == []


def test_search_breaks_ties_by_index_and_cuts_at_k() -> None:
    index = BM25Index.build(["b a", "a c", "a", "a d", "x"])
    assert [i for i, _ in index.search("a", 10)] == [2, 0, 1, 3]
    assert [i for i, _ in index.search("a", 3)] == [2, 0, 1]
    assert index.search("a", 0) == []


def test_best_orders_by_score_then_index_and_leaves_zeros_out() -> None:
    scores = np.array([0.0, 2.0, 1.0, 2.0, 0.0, 2.0, 3.0])
    assert best_above_zero(scores, 3).tolist() == [6, 1, 3]
    assert best_above_zero(scores, 100).tolist() == [6, 1, 3, 5, 2]
    assert best_above_zero(scores, 0).tolist() == best_above_zero(np.zeros(0), 3).tolist() == []


def test_contributions_add_up_to_the_score(index: BM25Index) -> None:
    query = "blue apple blue sky"
    assert set(index.contributions(query, 2)) == {"blue", "sky"}
    for i, score in enumerate(index.scores(query)):
        assert sum(index.contributions(query, i).values()) == pytest.approx(score)
    with pytest.raises(IndexError, match="no document 5"):
        index.contributions(query, 5)
    with pytest.raises(IndexError, match="no document -1"):
        index.contributions(query, -1)


def test_held_is_the_share_of_the_query_s_idf_that_a_document_holds() -> None:
    index = BM25Index.build(["a b", "a", "c", ""])
    rare, common = math.log(3.5 / 1.5 + 1), math.log(2.5 / 2.5 + 1)  # in one and in two documents of four
    expected = [1.0, common / (common + rare), 0.0, 0.0]
    assert index.held("a b b unknown", np.arange(4)).tolist() == pytest.approx(
        expected
    )  # repetition counts once
    assert index.held("unknown", np.arange(4)).tolist() == index.held("", np.arange(4)).tolist() == [0.0] * 4
    assert BM25Index.build([]).held("a", np.arange(0)).tolist() == []


def test_parameters_change_the_score_as_the_formula_says() -> None:
    texts = ["a a b", "a c"]
    flat = BM25Index.build(texts, k1=0, b=0).scores("a")
    assert flat.tolist() == [math.log(1.2)] * 2  # neither frequency nor length counts
    unnormalised = BM25Index.build(texts, k1=2.0, b=0).scores("a")
    assert unnormalised.tolist() == pytest.approx([math.log(1.2) * 1.5, math.log(1.2)])


@pytest.mark.parametrize(("k1", "b"), [(-1, 0.5), (math.nan, 0.5), (math.inf, 0.5), (1.5, -0.1), (1.5, 1.1)])
def test_bad_parameters_are_refused(k1: float, b: float) -> None:
    with pytest.raises(ConfigError, match="k1 >= 0"):
        BM25Index.build(TEXTS, k1=k1, b=b)


def test_the_tokenizer_decides_what_matches() -> None:
    texts = ["retrieving papers", "检索增强生成", "C++ code"]
    assert BM25Index.build(texts).search("retrieved paper", 3) == []
    assert [i for i, _ in BM25Index.build(texts, StemmingTokenizer()).search("retrieved paper", 3)] == [0]
    unicode = BM25Index.build(texts, UnicodeTokenizer())
    assert [i for i, _ in unicode.search("增强检索", 3)] == [1]
    assert unicode.search("c", 3) == []


def test_a_saved_index_is_the_same_index(tmp_path: Path) -> None:
    texts = [*TEXTS, "Größe 北京 𝒳", "\ud800x"]
    built = BM25Index.build(texts, UnicodeTokenizer(), k1=1.2, b=0.4)
    built.save(tmp_path / "new" / "folder")
    opened = BM25Index.load(tmp_path / "new" / "folder")
    assert (opened.tokenizer.name, opened.k1, opened.b, len(opened)) == ("unicode", 1.2, 0.4, 7)
    for query in ["red apple red", "the sea", "grösse 北京", "\ud800x", "x"]:
        assert opened.scores(query).tolist() == built.scores(query).tolist()
        assert opened.contributions(query, 0) == built.contributions(query, 0)


def test_a_tokenizer_that_has_no_name_of_its_own_is_handed_over(tmp_path: Path) -> None:
    special = StemmingTokenizer(stop_words=["red"])
    BM25Index.build(TEXTS, special).save(tmp_path)
    with pytest.raises(ConfigError, match="unknown tokenizer"):
        BM25Index.load(tmp_path)
    assert BM25Index.load(tmp_path, special).search("red", 1) == []
    with pytest.raises(ConfigError, match="built with tokenizer 'stem:english-stop"):
        BM25Index.load(tmp_path, UnicodeTokenizer())


def test_what_is_not_an_index_has_a_named_error(index: BM25Index, tmp_path: Path) -> None:
    with pytest.raises(IndexNotFoundError, match="no BM25 index"):
        BM25Index.load(tmp_path / "absent")
    index.save(tmp_path)
    (tmp_path / "weights.npy").write_bytes((tmp_path / "weights.npy").read_bytes()[:-8])
    with pytest.raises(IndexCorruptError, match="rebuild"):
        BM25Index.load(tmp_path)
    (tmp_path / "weights.npy").unlink()
    with pytest.raises(IndexNotFoundError, match=r"weights\.npy"):
        BM25Index.load(tmp_path)


@pytest.mark.parametrize("column", ["terms", "term_ends", "starts", "documents", "weights"])
def test_columns_that_do_not_fit_are_refused(index: BM25Index, tmp_path: Path, column: str) -> None:
    index.save(tmp_path)
    stored = np.load(tmp_path / f"{column}.npy")
    for wrong in (stored[:-1], stored.astype(np.float32), stored[:0]):
        np.save(tmp_path / f"{column}.npy", wrong)
        with pytest.raises(IndexCorruptError):
            BM25Index.load(tmp_path)


def test_pickled_columns_are_not_read(index: BM25Index, tmp_path: Path) -> None:
    index.save(tmp_path)
    np.save(tmp_path / "weights.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(IndexCorruptError):
        BM25Index.load(tmp_path)


def test_format_and_damaged_description(index: BM25Index, tmp_path: Path) -> None:
    index.save(tmp_path)
    path = tmp_path / "bm25.json"
    meta = json.loads(path.read_text())
    path.write_text(json.dumps({**meta, "format": 99}))
    with pytest.raises(FormatVersionError) as caught:
        BM25Index.load(tmp_path)
    assert (caught.value.found, caught.value.expected) == (99, 2)
    for broken in ("", "{", "[]", "null", "{}", json.dumps({"format": 2})):
        path.write_text(broken)
        with pytest.raises(IndexCorruptError):
            BM25Index.load(tmp_path)


def test_a_folder_that_cannot_be_written_is_a_store_error(index: BM25Index, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write the BM25 index"):
        index.save(tmp_path / "file")
