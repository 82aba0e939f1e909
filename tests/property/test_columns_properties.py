from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hippo_lit.storage.columns import Columns, ColumnWriter

texts = st.text(st.characters(), max_size=6)
dtypes = st.sampled_from([np.float32, np.float64, np.int64, np.int32, np.uint8, np.bool_, np.dtype("<u2")])


@given(st.lists(texts, max_size=40), texts)
@settings(max_examples=60)
def test_strings_come_back_and_are_found(values, other) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with ColumnWriter(folder) as out:
            out.strings("s", values)
        column = Columns(folder).strings("s")
        assert list(column) == [column[i] for i in range(len(column))] == values
        for value in [*values, other]:
            assert column.index_of(value) == (values.index(value) if value in values else None)


@given(hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)), st.booleans())
@settings(max_examples=60)
def test_arrays_come_back(values, transposed) -> None:
    values = values.T if transposed else values
    with tempfile.TemporaryDirectory() as folder:
        with ColumnWriter(folder) as out:
            out.array("a", values)
        assert (Path(folder) / "a.npy").exists()
        read = Columns(folder).array("a")
        assert (read.dtype, read.shape) == (values.dtype, values.shape)
        assert read.tobytes() == values.tobytes()
