from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hippo_lit.errors import IndexCorruptError, StoreError
from hippo_lit.storage.publish import CURRENT, SNAPSHOTS, current, open_current, publish, sweep


def writer(text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "part").mkdir()
        (folder / "part" / "data").write_text(text)

    return write


def read(snapshot: Path) -> str:
    return (snapshot / "part" / "data").read_text()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in (folder / SNAPSHOTS).iterdir())


def test_what_is_published_is_current(tmp_path: Path) -> None:
    assert current(tmp_path) is None
    assert open_current(tmp_path, read) is None
    for name in ("a", "b"):
        assert publish(tmp_path, name, writer(name)) == current(tmp_path) == tmp_path / SNAPSHOTS / name
        assert open_current(tmp_path, read) == name
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a.tmp-1", "-a", "a\n", "é", "a" * 101])
def test_names_are_plain(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="snapshot's name"):
        publish(tmp_path, name, writer("x"))


def test_the_current_snapshot_is_never_written_over(tmp_path: Path) -> None:
    publish(tmp_path, "a", writer("first"))
    with pytest.raises(ValueError, match="published already"):
        publish(tmp_path, "a", writer("second"))
    assert open_current(tmp_path, read) == "first"


def test_a_snapshot_that_a_crash_left_unpublished_is_replaced(tmp_path: Path) -> None:
    publish(tmp_path, "a", writer("old"))
    (tmp_path / SNAPSHOTS / "b" / "part").mkdir(parents=True)
    publish(tmp_path, "b", writer("new"))
    assert open_current(tmp_path, read) == "new"


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt()])
def test_an_error_while_writing_passes_through_and_leaves_nothing(
    tmp_path: Path, error: BaseException
) -> None:
    publish(tmp_path, "a", writer("a"))

    def write(folder: Path) -> None:
        writer("b")(folder)
        raise error

    with pytest.raises(type(error)):
        publish(tmp_path, "b", write)
    assert open_current(tmp_path, read) == "a"
    assert names(tmp_path) == ["a"]


class Fault:
    """Lets `after` calls of the patched functions pass, then fails once with ENOSPC."""

    def __init__(self, patch: pytest.MonkeyPatch, after: int) -> None:
        self.left, self.happened = after, ""
        for owner, name in (
            (os, "fsync"), (Path, "mkdir"), (Path, "rename"), (Path, "replace"), (Path, "write_text"),
        ):  # fmt: skip
            patch.setattr(owner, name, self.wrap(f"{owner.__name__}.{name}", getattr(owner, name)))

    def wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == -1:
                self.happened = name
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **kwargs)

        return call


def test_a_failure_at_any_step_leaves_the_old_state_or_the_new(tmp_path: Path) -> None:
    failed, new = [], []
    for step in range(100):
        folder = tmp_path / str(step)
        folder.mkdir()
        publish(folder, "a", writer("a"))
        with pytest.MonkeyPatch.context() as patch:
            fault = Fault(patch, step)
            try:
                publish(folder, "b", writer("b"))
            except StoreError as e:
                assert "No space left on device. Free some space" in e.message  # noqa: PT017
        if not fault.happened:
            break
        failed.append(fault.happened)
        published = open_current(folder, read)
        assert (published, names(folder)) in [("a", ["a"]), ("b", ["a", "b"])]
        new.append(published == "b")
        publish(folder, "c", writer("c"))
        sweep(folder)
        assert (open_current(folder, read), names(folder)) == ("c", ["c"])
    assert new == [False] * (len(new) - 1) + [True]  # only after CURRENT was replaced
    assert failed.count("Path.replace") == 1
    assert failed.count("os.fsync") == 7  # file, SEAL, two folders; snapshots; CURRENT, its folder
    assert failed[-2:] == ["Path.replace", "os.fsync"]


def test_a_lost_permission_is_a_store_error_that_says_so(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder / "x"))

    with pytest.raises(StoreError, match=r"Permission denied \(.*x\)\. Check that this account may write"):
        publish(tmp_path, "a", write)


@pytest.mark.parametrize("content", ["", "\n", "../outside", "/etc", "a b", ".", "a\n\nb", "é", "a" * 300])
def test_a_pointer_that_is_no_plain_name_is_never_followed(tmp_path: Path, content: str) -> None:
    publish(tmp_path, "a", writer("a"))
    (tmp_path / "outside").mkdir()
    (tmp_path / CURRENT).write_text(content)
    for function in (current, sweep, lambda folder: open_current(folder, read)):
        with pytest.raises(IndexCorruptError, match="does not hold the name of a snapshot"):
            function(tmp_path)
    publish(tmp_path, "b", writer("b"))  # indexing again mends it
    assert open_current(tmp_path, read) == "b"


def test_a_pointer_to_nothing_or_to_a_link_is_corrupt(tmp_path: Path) -> None:
    publish(tmp_path, "a", writer("a"))
    (tmp_path / SNAPSHOTS / "link").symlink_to(tmp_path)
    for name in ("gone", "link"):
        (tmp_path / CURRENT).write_text(name)
        with pytest.raises(IndexCorruptError, match=f"'{name}', which is not there"):
            current(tmp_path)
    (tmp_path / CURRENT).write_text("gone")
    publish(tmp_path, "gone", writer("back"))
    assert open_current(tmp_path, read) == "back"


def test_sweeping_removes_leftovers_and_old_snapshots(tmp_path: Path) -> None:
    assert sweep(tmp_path) == []
    for number, name in enumerate("dcba"):
        path = publish(tmp_path, name, writer(name))
        os.utime(path, ns=(number, number))
    (tmp_path / SNAPSHOTS / "e.tmp-1").mkdir()
    (tmp_path / SNAPSHOTS / "CURRENT.tmp-1").write_text("x")
    assert sweep(tmp_path, keep=1) == ["CURRENT.tmp-1", "c", "d", "e.tmp-1"]
    assert names(tmp_path) == ["a", "b"]
    assert open_current(tmp_path, read) == "a"
    with pytest.raises(ValueError, match="keep"):
        sweep(tmp_path, keep=-1)


def test_without_a_published_state_only_leftovers_are_swept(tmp_path: Path) -> None:
    for name in ("a", "b.tmp-1"):
        (tmp_path / SNAPSHOTS / name).mkdir(parents=True)
    assert sweep(tmp_path) == ["b.tmp-1"]
    assert names(tmp_path) == ["a"]


def test_a_reader_overtaken_by_writers_tries_again(tmp_path: Path) -> None:
    publish(tmp_path, "n0", writer("0"))
    seen = []

    def overtaken(path: Path) -> str:
        seen.append(path.name)
        if len(seen) < 4:
            publish(tmp_path, f"n{len(seen)}", writer(str(len(seen))))
            sweep(tmp_path)
        return read(path)

    assert open_current(tmp_path, overtaken) == "3"
    assert seen == ["n0", "n1", "n2", "n3"]


def test_an_error_that_no_writer_explains_passes_through(tmp_path: Path) -> None:
    publish(tmp_path, "a", writer("a"))
    with pytest.raises(FileNotFoundError):
        open_current(tmp_path, lambda path: (path / "absent").read_text())


def test_current_is_found_while_a_writer_replaces_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer publishes and sweeps between the reader's look at CURRENT and at the folder."""
    publish(tmp_path, "a", writer("a"))
    real = Path.is_dir

    def is_dir(path: Path) -> bool:
        if path.name == "a":
            monkeypatch.setattr(Path, "is_dir", real)
            publish(tmp_path, "b", writer("b"))
            sweep(tmp_path)
        return real(path)

    monkeypatch.setattr(Path, "is_dir", is_dir)
    assert current(tmp_path) == tmp_path / SNAPSHOTS / "b"
