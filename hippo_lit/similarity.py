"""Cosines of one query with many rows: exact, in one pass over what is mapped.

Sentences and facts are most of an index and are only picked by their cosines, so they are stored in half
precision: half the bytes on disk, in memory and per query, and cosines within 1e-4 of those in full. numpy
multiplies halves by way of copies in full, 40 times as slowly; numkong reads them as they lie
(docs/speed.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LOW = 2048  # a half has 11 bits: what it leaves of a number is brought into its range, and back


def cosines(rows: NDArray[np.floating], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Products of `query`, shape (dim,), with unit `rows`, shape (n, dim), in half or full precision."""
    if rows.dtype != np.float16 or not rows.size:
        return np.asarray(rows @ query, dtype=np.float32)
    high = query.astype(np.float16)
    low = ((query - high) * _LOW).astype(np.float16)  # so that the query at least keeps all it says
    return _products(rows, high) + _products(rows, low) / np.float32(_LOW)


def _products(rows: NDArray[np.floating], query: NDArray[np.float16]) -> NDArray[np.float32]:
    import numkong

    found = np.asarray(numkong.cdist(query[None], rows, metric="dot"), dtype=np.float32)
    return found.reshape(len(rows))
