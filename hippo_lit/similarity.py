"""Cosines of one query with many rows, in one pass over what is mapped.

Sentences and facts are most of an index and are only picked by their cosines, so they are stored in half
precision: half the bytes on disk, in memory and per query, and cosines within 1e-4 of those in full. numpy
multiplies halves by way of copies in full, 40 times as slowly; numkong reads them as they lie. A second,
rough copy of one byte a number tells which rows are worth that (docs/speed.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_LOW = 2048  # a half has 11 bits: what it leaves of a number is brought into its range, and back
_HIGHEST = 127


@dataclass(frozen=True, slots=True)
class Codes:
    """Rows as whole numbers from -127 to 127, shape (n, dim), and the unit of each row, shape (n,)."""

    numbers: NDArray[np.int8]
    unit: Floats


def codes(rows: NDArray[np.floating]) -> Codes:
    """Rows rounded to 127ths of the largest number in each."""
    full = rows.astype(np.float32)
    unit = np.abs(full).max(axis=1, initial=0.0) / np.float32(_HIGHEST)
    full /= np.where(unit > 0, unit, np.float32(1))[:, None]
    return Codes(np.rint(full, out=full).astype(np.int8), unit)


def rough_cosines(rows: Codes, query: Floats) -> Floats:
    """As `cosines`, within about 0.003 at 384 dimensions, from half the bytes in half the time."""
    asked = codes(query[None])
    found = _products(rows.numbers, asked.numbers[0])
    found *= rows.unit
    found *= asked.unit[0]
    return found


def cosines(rows: NDArray[np.floating], query: Floats) -> Floats:
    """Products of `query`, shape (dim,), with unit `rows`, shape (n, dim), in half or full precision."""
    if rows.dtype != np.float16 or not rows.size:
        # Not BLAS, whose threads wait for each other while other processes use the cores.
        return np.asarray(np.einsum("ij,j->i", rows, query), dtype=np.float32)
    high = query.astype(np.float16)
    low = ((query - high) * _LOW).astype(np.float16)  # so that the query at least keeps all it says
    return _products(rows, high) + _products(rows, low) / np.float32(_LOW)


def _products(rows: NDArray[np.generic], query: NDArray[np.generic]) -> Floats:
    if not rows.size:
        return np.zeros(len(rows), dtype=np.float32)
    import numkong

    found = np.asarray(numkong.cdist(query[None], rows, metric="dot"), dtype=np.float32)
    return found.reshape(len(rows))
