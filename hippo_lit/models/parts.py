"""Vectors of a text's parts from one reading of the whole: token vectors, averaged per part.

A sentence read in its passage knows what "it" is, and costs nothing beyond the passage. On
musique_train100 and hotpotqa_train100 such vectors rank at least as well as embedding each sentence by
itself, which doubles the cost of indexing (benchmarks/README.md). Only right for models that average their
token vectors anyway; others embed the parts as texts of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hippo_lit.protocols import Embedder, Spans, Vectors

_AVERAGING = ("Transformer", "Pooling", "Normalize")


def reads_parts(model: Any) -> bool:
    """Whether a SentenceTransformer's vectors are plain averages of its token vectors."""
    kinds = tuple(type(module).__name__ for module in model)
    if kinds not in (_AVERAGING, _AVERAGING[:2]):
        return False
    mode = getattr(model[1], "pooling_mode", None)
    averaging = mode == "mean" or bool(getattr(model[1], "pooling_mode_mean_tokens", False))
    return averaging and bool(getattr(model.tokenizer, "is_fast", False))


def embed_parts(
    model: Any, texts: Sequence[str], spans: Sequence[Spans], batch_size: int
) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
    """Averages, not normalised: of each text's first window, and per text of each of its parts.

    A text longer than the model's window is read in several; a part is the average of its tokens wherever
    they stand. A part without tokens (blank, or made of unknown signs) gets its text's vector.
    """
    import torch

    tokenizer = model.tokenizer
    encoded = tokenizer(
        list(texts),
        truncation=True,
        max_length=model.max_seq_length,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    owners = encoded.pop("overflow_to_sample_mapping")
    offsets = encoded.pop("offset_mapping")
    sums = [np.zeros((len(group), 0), dtype=np.float32) for group in spans]
    counts = [np.zeros(len(group), dtype=np.int64) for group in spans]
    wholes: list[NDArray[np.float32] | None] = [None] * len(texts)
    order = sorted(range(len(owners)), key=lambda window: -len(offsets[window]))
    for start in range(0, len(order), batch_size):
        windows = order[start : start + batch_size]
        features = tokenizer.pad(
            {k: [v[w] for w in windows] for k, v in encoded.items()}, return_tensors="pt"
        )
        with torch.no_grad():
            states = model[0](features.to(model.device))["token_embeddings"].float().cpu().numpy()
        for window, rows in zip(windows, states, strict=True):
            owner, places = owners[window], np.asarray(offsets[window])
            tokens = rows[: len(places)]
            if window == 0 or owners[window - 1] != owner:
                wholes[owner] = tokens.mean(axis=0)
            if not sums[owner].shape[1]:
                sums[owner] = np.zeros((len(spans[owner]), tokens.shape[1]), dtype=np.float32)
            for i, (begin, end) in enumerate(spans[owner]):
                inside = (places[:, 0] < end) & (places[:, 1] > begin) & (places[:, 1] > places[:, 0])
                sums[owner][i] += tokens[inside].sum(axis=0)
                counts[owner][i] += int(inside.sum())
    whole = np.stack([vector for vector in wholes if vector is not None])
    parts = [
        np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], whole[i])
        for i, (total, count) in enumerate(zip(sums, counts, strict=True))
    ]
    return whole, parts


def embed_apart(embedder: Embedder, texts: Sequence[str], spans: Sequence[Spans]) -> tuple[Vectors, Vectors]:
    """Rows of the texts and of their parts, each part embedded as a text of its own."""
    parts = [text[start:end] for text, group in zip(texts, spans, strict=True) for start, end in group]
    return embedder.embed(texts, "passage"), embedder.embed(parts, "fact")
