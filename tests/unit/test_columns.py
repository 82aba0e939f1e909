from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import hippo_lit.storage.columns
import hippo_lit.storage.string_column
from hippo_lit.errors import FormatVersionError, IndexCorruptError, StoreError
from hippo_lit.storage.columns import MANIFEST, Columns, ColumnWriter

IDS = ["p1", "", "β-catenin", "p1", "x\x00y", "\ud800"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ColumnWriter(tmp_path) as out:
        out.array("vectors", np.arange(6, dtype=np.float32).reshape(2, 3))
        out.array("nothing", np.zeros((0, 384), dtype=np.float32))
        out.strings("ids", iter(IDS))
        out.strings("texts", ["a", "b"], lookup=False)
        out.strings("none", [])
        out.document("settings", {"damping": 0.5})
    return tmp_path


def test_columns_come_back(folder: Path) -> None:
    columns = Columns(folder)
    assert columns.array("vectors").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert columns.array("nothing").shape == (0, 384)
    assert list(columns.strings("ids")) == IDS
    assert list(columns.strings("none")) == []
    assert columns.document("settings") == {"damping": 0.5}
    assert "ids" in columns
    assert "other" not in columns
    columns.verify()


def test_arrays_are_mapped_and_read_only(folder: Path) -> None:
    vectors = Columns(folder).array("vectors")
    assert isinstance(vectors.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        vectors[0, 0] = 1


def test_strings_are_a_sequence(folder: Path) -> None:
    ids = Columns(folder).strings("ids")
    assert len(ids) == 6
    assert (ids[2], ids[-1], ids[1:4]) == ("β-catenin", "\ud800", ["", "β-catenin", "p1"])
    with pytest.raises(IndexError):
        ids[6]


def test_lookup_gives_the_first_row(folder: Path) -> None:
    ids = Columns(folder).strings("ids")
    assert [ids.index_of(text) for text in IDS] == [0, 1, 2, 0, 4, 5]
    assert ids.index_of("p2") is None
    assert "x\x00y" in ids
    assert 3 not in ids
    assert Columns(folder).strings("none").index_of("") is None


def test_strings_of_equal_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (hippo_lit.storage.columns, hippo_lit.storage.string_column):
        monkeypatch.setattr(module, "hash64", lambda data: 2**64 - 1)
    with ColumnWriter(tmp_path) as out:
        out.strings("ids", ["a", "b", "c", "b"])
    ids = Columns(tmp_path).strings("ids")
    assert [ids.index_of(text) for text in "abcd"] == [0, 1, 2, None]


def test_a_column_without_lookup_says_so(folder: Path) -> None:
    texts = Columns(folder).strings("texts")
    assert "b" in texts
    assert texts.index("b") == 1
    with pytest.raises(ValueError, match="without lookup"):
        texts.index_of("b")


def test_open_columns_outlive_their_folder(folder: Path) -> None:
    columns = Columns(folder)
    shutil.rmtree(folder)
    assert columns.array("vectors")[1, 2] == 5
    assert columns.strings("ids").index_of("β-catenin") == 2
    assert columns.document("settings") == {"damping": 0.5}


@pytest.mark.parametrize("name", ["", "A", "../x", "a.b", "manifest", "taken"])
def test_names_are_plain_and_serve_once(tmp_path: Path, name: str) -> None:
    out = ColumnWriter(tmp_path)
    out.document("taken", 1)
    with pytest.raises(ValueError, match="no name for a column"):
        out.array(name, np.zeros(1))


def test_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Python objects"):
        ColumnWriter(tmp_path).array("a", np.array([{}], dtype=object))


def test_unfinished_columns_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(KeyError), ColumnWriter(tmp_path) as out:  # noqa: PT012
        out.array("a", np.zeros(1))
        raise KeyError
    with pytest.raises(IndexCorruptError, match=r"manifest\.json is missing"):
        Columns(tmp_path)


def test_writing_into_no_folder_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        ColumnWriter(tmp_path / "absent").array("a", np.zeros(1))


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != MANIFEST)


def test_every_missing_short_or_altered_file_is_named(folder: Path) -> None:
    assert len(files(folder)) == 13
    for name in files(folder):
        path, content = folder / name, (folder / name).read_bytes()
        path.unlink()
        with pytest.raises(IndexCorruptError, match=f"{name} is missing"):
            Columns(folder)
        path.write_bytes(content[:-1])
        if content:
            with pytest.raises(IndexCorruptError, match=f"{name} has {len(content) - 1} bytes"):
                Columns(folder)
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            with pytest.raises(IndexCorruptError, match=name):
                Columns(folder).verify()
        path.write_bytes(content)
    Columns(folder).verify()


def test_altered_strings_are_an_error_where_they_are_read(folder: Path) -> None:
    (folder / "texts.utf8").write_bytes(b"a\xff")
    texts = Columns(folder).strings("texts")
    assert texts[0] == "a"
    with pytest.raises(IndexCorruptError, match="texts"):
        list(texts)


def test_an_array_of_another_type_is_not_taken_for_it(folder: Path) -> None:
    np.save(folder / "vectors.npy", np.arange(6, dtype=np.int32).reshape(2, 3))
    with pytest.raises(IndexCorruptError, match="vectors"):
        Columns(folder)


def test_pickles_are_never_loaded(folder: Path) -> None:
    np.save(folder / "vectors.npy", np.array([{}], dtype=object), allow_pickle=True)
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"]["vectors.npy"]["bytes"] = (folder / "vectors.npy").stat().st_size
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(IndexCorruptError, match=r"vectors\.npy cannot be read"):
        Columns(folder)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"format": 2, "files": [], "columns": {}}',
        b'{"format": 2, "files": {"../../etc/passwd": {"bytes": 1, "crc32": ""}}, "columns": {}}',
        b'{"format": 2, "files": {"a.npy": {"bytes": 1}}, "columns": {}}',
        b'{"format": 2, "files": {}, "columns": {"a": 3}}',
        b'{"format": 2, "files": {}, "columns": {"a": {"kind": "pickle"}}}',
        b'{"format": 2, "files": {}, "columns": {"../a": {"kind": "array"}}}',
    ],
)
def test_a_manifest_is_data_and_checked(folder: Path, content: bytes) -> None:
    (folder / MANIFEST).write_bytes(content)
    with pytest.raises(IndexCorruptError, match=r"manifest\.json"):
        Columns(folder)


def test_another_format_is_named(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(manifest | {"format": 3}))
    with pytest.raises(FormatVersionError) as caught:
        Columns(folder)
    assert (caught.value.found, caught.value.expected) == (3, 2)


def test_a_column_of_another_kind_is_not_there(folder: Path) -> None:
    columns = Columns(folder)
    with pytest.raises(IndexCorruptError, match="'ids'"):
        columns.array("ids")
    with pytest.raises(IndexCorruptError, match="'other'"):
        columns.strings("other")
