"""A file system that is really full."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hippo_lit.errors import StoreError
from hippo_lit.storage.columns import Columns, ColumnWriter
from hippo_lit.storage.publish import SNAPSHOTS, current, open_current, publish
from hippo_lit.storage.store import Store
from hippo_lit.types import Paper


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte. Mounting needs root, and not every container allows it."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.getuid() != 0 or not mount or not umount:
        pytest.skip("needs the right to mount")
    done = subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path], capture_output=True)
    if done.returncode != 0:
        pytest.skip("this system does not let us mount")
    try:
        yield tmp_path
    finally:
        subprocess.run([umount, "--lazy", tmp_path], check=True)


def test_a_full_disk_stops_a_batch_and_nothing_else(small_disk: Path) -> None:
    stored = 0
    with Store.open(small_disk, create=True) as store:
        with pytest.raises(StoreError, match="Free some space"):  # noqa: PT012
            for _ in range(100):
                store.put_papers(Paper(f"{i:04}", "T" * 1000) for i in range(stored, stored + 20))
                stored += 20
        assert (len(store), store.generation) == (stored, stored // 20)
        assert 100 <= stored <= 1000
    with Store.open(small_disk, read_only=True) as store:
        store.verify()
        assert len(store) == stored


def test_a_full_disk_stops_publishing_and_leaves_the_old_state(small_disk: Path) -> None:
    def write(rows: int) -> None:
        def fill(folder: Path) -> None:
            with ColumnWriter(folder) as out:
                out.array("vectors", np.ones((rows, 100), dtype=np.float32))
                out.strings("ids", map(str, range(rows)))

        publish(small_disk, f"rows{rows}", fill)

    write(100)
    for rows in (2300, 2600, 5000):
        with pytest.raises(StoreError, match=r"No space left on device.* Free some space"):
            write(rows)
    columns = open_current(small_disk, Columns)
    assert columns is not None
    columns.verify()
    assert columns.array("vectors").shape == (100, 100)
    assert [entry.name for entry in (small_disk / SNAPSHOTS).iterdir()] == ["rows100"]
    write(200)  # the space of the failed ones is free again
    assert current(small_disk) == small_disk / SNAPSHOTS / "rows200"
