"""BM25Index against bm25s and against the formula, on the mock corpus."""

from __future__ import annotations

import math
from collections import Counter

import bm25s
import numpy as np
import pytest

from hippo_lit.lexical.bm25 import BM25Index
from hippo_lit.sources.mock import build_corpus
from hippo_lit.tokenizers import PlainTokenizer, Tokenizer, tokenizer

QUERIES = [
    "does low-rank adaptation lose accuracy on long contexts?",
    "sparse sparse attention",
    "the of and in",
    "a harness for evaluating language models, and a benchmark of 41.0%",
]


def by_the_formula(texts: list[str], cut: Tokenizer, query: str, k1: float, b: float) -> list[float]:
    documents = [Counter(cut(text)) for text in texts]
    n = len(documents)
    mean = sum(document.total() for document in documents) / n
    scores = []
    for document in documents:
        score = 0.0
        for term in cut(query):
            frequency = document[term]
            df = sum(term in other for other in documents)
            idf = math.log((n - df + 0.5) / (df + 0.5) + 1.0)
            length = 1 - b + b * document.total() / mean
            score += idf * (frequency * (k1 + 1)) / (frequency + k1 * length)
        scores.append(score)
    return scores


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("name", ["plain", "stem", "unicode-stem"])
def test_formula(name: str, query: str) -> None:
    texts = [paper.abstract for paper in build_corpus()]
    cut = tokenizer(name)
    for k1, b in ((1.5, 0.75), (0.9, 0.4)):
        index = BM25Index.build(texts, cut, k1=k1, b=b)
        np.testing.assert_allclose(index.scores(query), by_the_formula(texts, cut, query, k1, b), rtol=1e-12)


@pytest.mark.parametrize("query", QUERIES)
def test_bm25s(query: str) -> None:
    texts = [paper.abstract for paper in build_corpus()]
    cut = PlainTokenizer()
    reference = bm25s.BM25(k1=1.5, b=0.75, method="lucene", dtype="float64")
    reference.index([cut(text) for text in texts], show_progress=False)
    expected = 2.5 * reference.get_scores(cut(query))
    np.testing.assert_allclose(BM25Index.build(texts).scores(query), expected, rtol=1e-12)
