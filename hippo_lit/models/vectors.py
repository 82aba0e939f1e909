"""What every embedder checks before it lets vectors out, and how it takes texts in."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hippo_lit.errors import EmbeddingError
from hippo_lit.protocols import Vectors


def unit_rows(raw: ArrayLike, count: int, dim: int | None, model: str) -> Vectors:
    """`raw` as unit rows, float32, shape (count, dim).

    `dim=None` accepts any dimension. Raises EmbeddingError, which names `model`, for another number of
    rows or dimensions, values that are not finite, and rows of zeros, which have no direction.
    """
    try:
        rows = np.asarray(raw, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise _bad(model, "it returned vectors of different lengths, or no numbers") from error
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise _bad(model, f"it returned an array of shape {rows.shape} for {count} texts")
    if len(rows) != count:
        raise _bad(model, f"it returned {len(rows)} vectors for {count} texts")
    if dim is not None and rows.shape[1] != dim:
        raise _bad(model, f"it returned {rows.shape[1]} dimensions where it had {dim} before")
    if not np.isfinite(rows).all():
        raise _bad(model, "it returned NaN or infinite values")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not norms.all():
        raise _bad(model, "it returned a vector of zeros")
    if np.allclose(norms, 1.0, rtol=0.0, atol=1e-6):
        return np.asarray(raw, dtype=np.float32)  # bit for bit, so that checking twice changes nothing
    return np.asarray(rows / norms, dtype=np.float32)


def _bad(model: str, what: str) -> EmbeddingError:
    return EmbeddingError(
        f"The embedder {model} cannot be used: {what}. Choose another model, or check the server.",
        model=model,
    )


def embeddable(text: str) -> str:
    """`text` as every embedder can take it: lone surrogates replaced, and a dot where there is nothing.

    Servers refuse an empty text, yet a paper without words must have a place among the vectors.
    """
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text if text.strip() else "."
