"""A snapshot's arrays, strings and documents as plain files that are mapped, not loaded.

::

    <name>.npy                    an array
    <name>.utf8                   strings, one after the other; string i is bytes offsets[i]:offsets[i + 1]
    <name>.offsets.npy            int64, one more than there are strings
    <name>.hashes.npy  .rows.npy  hashes of the strings in ascending order, and the row of each
    <name>.json                   a document
    manifest.json                 written last: kind of each column; size and checksum of each file
"""

from __future__ import annotations

import array as packed
import json
import math
import mmap
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from tokenize import TokenError
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hippo_lit.errors import FormatVersionError, IndexCorruptError
from hippo_lit.storage.checked_file import SUM, CheckedFile, buffer, checksum
from hippo_lit.storage.disk import ADVICE_REBUILD, reporting
from hippo_lit.storage.packed import Packed
from hippo_lit.storage.string_column import StringColumn, encode, hash64

MANIFEST = "manifest.json"
FORMAT_VERSION = 2
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_FILE = re.compile(r"[a-z][a-z0-9_]{0,63}(\.[a-z0-9]+){1,2}")
_PAGE_ROWS = 4096

T = TypeVar("T")


class ColumnWriter:
    """Writes columns into an existing empty folder; `finish` makes them readable.

    As a context, it finishes where no error came up. Every name serves once, [a-z][a-z0-9_]*. Raises
    ValueError for a bad name or an array of objects, StoreError where the disk refuses.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)
        self._kinds: dict[str, dict[str, Any]] = {}
        self._files: dict[str, dict[str, Any]] = {}

    def array(self, name: str, values: NDArray[Any]) -> None:
        """Any shape, any dtype but objects."""
        self._register(name, kind="array")
        self._write_array(f"{name}.npy", values)

    def pieces(self, name: str, values: Iterable[NDArray[Any]], shape: tuple[int, ...], dtype: Any) -> None:
        """An array given piece by piece along its first axis, so that it never stands in memory whole.

        Raises ValueError where the pieces do not add up to `shape`.
        """
        self._register(name, kind="array")
        file, dtype = f"{name}.npy", np.dtype(dtype)
        with self._create(file) as out:
            _write_header(out, dtype, shape)
            left = math.prod(shape)
            for piece in values:
                left -= piece.size
                if piece.size:
                    out.write(buffer(piece.astype(dtype, copy=False)))
        if left:
            raise ValueError(f"the pieces of {name!r} do not add up to {shape}")
        self._files[file] |= {"dtype": dtype.str, "shape": shape}

    def strings(self, name: str, values: Iterable[str], *, lookup: bool = True) -> None:
        """Strings of any content, taken a page at a time; without `lookup`, `index_of` is not offered."""
        self._register(name, kind="strings", lookup=lookup)
        if isinstance(values, Packed):
            self._write_packed(name, values, lookup=lookup)
            return
        offsets, hashes = packed.array("q", [0]), packed.array("Q")
        with self._create(f"{name}.utf8") as file:
            rest = iter(values)
            while page := [encode(value) for value in islice(rest, _PAGE_ROWS)]:
                file.write(b"".join(page))
                offsets.extend(accumulate(map(len, page), initial=offsets.pop()))
                if lookup:
                    hashes.extend(map(hash64, page))
        self._write_array(f"{name}.offsets.npy", np.frombuffer(offsets, dtype=np.int64))
        if lookup:
            self._write_lookup(name, np.array(hashes, dtype=np.uint64))

    def _write_packed(self, name: str, values: Packed, *, lookup: bool) -> None:
        with self._create(f"{name}.utf8") as file:
            if values.data.size:
                file.write(buffer(values.data))
        self._write_array(f"{name}.offsets.npy", values.offsets)
        if lookup:
            if values.hashes is None:
                raise ValueError(f"{name!r} is to be looked up, and its strings have no hashes")
            self._write_lookup(name, values.hashes)

    def _write_lookup(self, name: str, hashes: NDArray[np.uint64]) -> None:
        rows = np.argsort(hashes, kind="stable")
        self._write_array(f"{name}.hashes.npy", hashes[rows])
        self._write_array(f"{name}.rows.npy", rows.astype(np.int64))

    def document(self, name: str, value: Any) -> None:
        """Anything that JSON can hold; read whole when the columns are opened, so keep it small."""
        self._register(name, kind="document")
        with self._create(f"{name}.json") as file:
            file.write(json.dumps(value, allow_nan=False).encode())

    def finish(self) -> None:
        """Write the manifest. Without it the folder cannot be opened."""
        manifest = {"format": FORMAT_VERSION, "columns": self._kinds, "files": self._files}
        with reporting("write", self._folder / MANIFEST):
            (self._folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")

    def __enter__(self) -> ColumnWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()

    def _register(self, name: str, **kind: Any) -> None:
        if not _NAME.fullmatch(name) or name in self._kinds or f"{name}.json" == MANIFEST:
            raise ValueError(f"{name!r} is taken, or no name for a column ([a-z][a-z0-9_]*)")
        self._kinds[name] = kind

    def _create(self, file: str) -> CheckedFile:
        return CheckedFile(self._folder / file, self._files)

    def _write_array(self, file: str, values: NDArray[Any]) -> None:
        if values.dtype.hasobject:
            raise ValueError(f"{file}: an array of Python objects cannot be stored")
        with self._create(file) as out:
            _write_header(out, values.dtype, values.shape)
            if values.size:
                out.write(buffer(values))  # numpy's own writing copies it piece by piece
        self._files[file] |= {"dtype": values.dtype.str, "shape": values.shape}


def _write_header(out: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, header)


class Columns:
    """The columns of a finished folder, mapped when this object is made.

    They stay readable when the folder is removed later. Raises IndexCorruptError that names what is
    missing or short, FormatVersionError (found, expected). Checksums are left to `verify`.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)
        with reporting("read", self._folder):
            self._files, kinds = self._read_manifest()
            self._columns = {name: self._open(name, kind) for name, kind in kinds.items()}

    def array(self, name: str) -> NDArray[Any]:
        """Read-only; pages come from disk as they are touched."""
        return self._get(name, np.ndarray)

    def strings(self, name: str) -> StringColumn:
        return self._get(name, StringColumn)

    def document(self, name: str) -> Any:
        return self._get(name, _Document).value

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def verify(self) -> None:
        """Compare every file with its checksum. Raises IndexCorruptError that names those that differ."""
        differing = []
        for file, expected in self._files.items():
            with reporting("read", self._folder / file), (self._folder / file).open("rb") as stream:
                if checksum(stream) != expected[SUM]:
                    differing.append(file)
        if differing:
            raise self._damaged(f"not what was written: {', '.join(sorted(differing))}")

    def _read_manifest(self) -> tuple[dict[str, Any], dict[str, Any]]:
        path = self._folder / MANIFEST
        try:
            manifest = json.loads(path.read_bytes())
            found, files, kinds = manifest["format"], manifest["files"], manifest["columns"]
            if found == FORMAT_VERSION:
                for file, entry in files.items():
                    if not _FILE.fullmatch(file) or not isinstance(entry[SUM], str):
                        raise self._damaged(f"{MANIFEST} has no proper entry for {file!r}")
                    self._check_size(file, entry["bytes"])
                return dict(files), {name: dict(kind) for name, kind in kinds.items()}
        except FileNotFoundError as e:
            raise self._damaged(f"{MANIFEST} is missing") from e
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise self._damaged(f"{MANIFEST} cannot be read ({e})") from e
        raise FormatVersionError(
            f"{self._folder} has format {found!r}, and this version of hippo-lit reads format "
            f"{FORMAT_VERSION}. {ADVICE_REBUILD}",
            path=str(self._folder),
            found=found,
            expected=FORMAT_VERSION,
        )

    def _check_size(self, file: str, expected: int) -> None:
        try:
            size = (self._folder / file).stat().st_size
        except FileNotFoundError as e:
            raise self._damaged(f"{file} is missing") from e
        if size != expected:
            raise self._damaged(f"{file} has {size} bytes instead of {expected}")

    def _open(self, name: str, kind: dict[str, Any]) -> NDArray[Any] | StringColumn | _Document:
        match kind:
            case {"kind": "array"}:
                return self._map_array(f"{name}.npy")
            case {"kind": "strings", "lookup": bool(lookup)}:
                return StringColumn(
                    str(self._folder / name),
                    self._map_bytes(f"{name}.utf8"),
                    self._map_array(f"{name}.offsets.npy"),
                    self._map_array(f"{name}.hashes.npy") if lookup else None,
                    self._map_array(f"{name}.rows.npy") if lookup else None,
                )
            case {"kind": "document"}:
                try:
                    return _Document(json.loads(self._map_bytes(f"{name}.json")[:]))
                except (ValueError, RecursionError) as e:
                    raise self._damaged(f"{name}.json cannot be read ({e})") from e
        raise self._damaged(f"{MANIFEST} describes {name!r} in an unknown way")

    def _map_array(self, file: str) -> NDArray[Any]:
        expected = self._entry(file)
        try:
            values = np.asarray(map_array(self._folder / file))  # numpy's memmap class costs at every slice
        except ValueError as e:
            raise self._damaged(f"{file} cannot be read ({e})") from e
        if [values.dtype.str, list(values.shape)] != [expected.get("dtype"), expected.get("shape")]:
            raise self._damaged(f"{file} holds {values.dtype.str} {values.shape}, not what was written")
        return values

    def _map_bytes(self, file: str) -> mmap.mmap | bytes:
        if self._entry(file)["bytes"] == 0:
            return b""  # nothing to map
        with (self._folder / file).open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def _entry(self, file: str) -> dict[str, Any]:
        if file not in self._files:
            raise self._damaged(f"{MANIFEST} does not list {file}")
        return dict(self._files[file])

    def _get(self, name: str, kind: type[T]) -> T:
        column = self._columns.get(name)
        if not isinstance(column, kind):
            raise self._damaged(f"it has no {kind.__name__.strip('_').lower()} {name!r}")
        return column

    def _damaged(self, what: str) -> IndexCorruptError:
        return IndexCorruptError(
            f"the snapshot {self._folder} is damaged: {what}. {ADVICE_REBUILD}", path=str(self._folder)
        )


def map_array(file: Path) -> NDArray[Any]:
    """A .npy file, mapped. Raises ValueError where it is none, OSError where it cannot be read."""
    try:
        mapped: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    except (EOFError, ArithmeticError, SyntaxError, TokenError, TypeError, LookupError, MemoryError) as e:
        raise ValueError(f"its header is damaged: {type(e).__name__}") from e  # numpy parses it as Python
    return mapped


@dataclass(frozen=True, slots=True)
class _Document:
    value: Any
