"""From a file's bytes to lines of text: compression, encoding, and which format the text is in.

Encodings: what the caller says; UTF-8, UTF-16 and UTF-32 with a byte-order mark; UTF-16 without one where
its NUL bytes give it away; what an XML declaration says; else UTF-8, and a line that is not valid UTF-8 is
read as `encodings.guess` has it, with a note.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hippo_lit.errors import ConfigError, DataError
from hippo_lit.sources.encodings import FALLBACK, NAMES, guess, known_encoding
from hippo_lit.sources.formats import FORMATS, SUFFIXES, Format, recognise, what_else

HEAD_BYTES = 65_536
PIECE_CHARS = 65_536
MAX_UNPACKED = 200_000_000
MAX_RATIO = 200
"""Of an archive; text packs to a tenth, and what unpacks to more than both bounds is a trap."""
_FEW = 6  # bytes beyond ASCII that may be valid UTF-8 by accident
_DECLARED = re.compile(rb"\s*<\?xml[^>]*\bencoding\s*=\s*[\"']([\w.-]{1,40})[\"']")

# UTF-32 before UTF-16: its little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY = {
    b"%PDF": "a PDF; take a record that describes it (BibTeX, RIS) instead",
    b"SQLite format 3": "an SQLite database; export its records as JSONL",
    b"PK\x03\x04": "a ZIP archive or an office document; unpack it, or export it as RIS or BibTeX",
    b"\xd0\xcf\x11\xe0": "an old office document; export it as RIS or BibTeX",
    b"BZh": "compressed with bzip2; unpack it first",
    b"\xfd7zXZ": "compressed with xz; unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first",
    b"7z\xbc\xaf": "a 7z archive; unpack it first",
}
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1a\x1b"))


class DamagedFileError(DataError):
    """A packed file that ends or breaks off within; what stands before that has been read."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file whose encoding and format are known. `recognised` is False where only its name told.

    `legacy` is the encoding of lines that are not valid in UTF-8, where the beginning of the file has such.
    """

    path: Path
    encoding: str
    format: Format
    recognised: bool
    blank: bool
    legacy: str | None = None

    def lines(self, note: Callable[[int, str], None]) -> Iterator[str]:
        """The lines, each with its line feed, as they are read; of XML and JSON documents, which may be one
        line, pieces of it.

        Calls `note(line, what)` on a repair.

        Raises DataError where the file cannot be read or unpacked.
        """
        with _errors_of(self.path), _open(self.path) as stream:
            if self.encoding != "utf-8" or self.format == "xml":
                errors = _LEGACY if self.encoding == "utf-8" else "replace"
                pieces = self.format in ("xml", "json")
                ends = "\n" if pieces else None  # those of any system
                with io.TextIOWrapper(stream, self.encoding, errors=errors, newline=ends) as text:
                    yield from iter(lambda: text.read(PIECE_CHARS), "") if pieces else text
                return
            legacy, noted, number = self.legacy, False, 1
            for raw in _raw_lines(stream, in_pieces=self.format == "json"):
                legacy_first = legacy not in (None, FALLBACK) and sum(byte > 127 for byte in raw) < _FEW
                try:
                    if legacy is not None and legacy_first and not raw.isascii():
                        yield raw.decode(legacy)
                        number += raw.endswith(b"\n")
                        continue
                    # Lone surrogates go with the other rubbish when the text is cleaned.
                    line = raw.decode("utf-8", "surrogatepass")
                except UnicodeDecodeError:
                    legacy = legacy or guess([raw])
                    line = _decode_anyway(raw, legacy)
                    if not noted:
                        name = NAMES[legacy]
                        note(number, f"not valid UTF-8; what is not, here and below, was read as {name}")
                        noted = True
                yield line.lstrip("\ufeff\0")
                number += raw.endswith(b"\n")

    def chunks(self, size: int) -> Iterator[str]:
        """The text in pieces of about `size` characters, for what may be one long line.

        What cannot be decoded becomes U+FFFD. Raises DataError as `lines` does.
        """
        with (
            _errors_of(self.path),
            _open(self.path) as stream,
            io.TextIOWrapper(stream, self.encoding, errors="replace", newline="\n") as text,
        ):
            while piece := text.read(size):
                yield piece.replace("\ufeff", "")


def look_at(path: Path, encoding: str | None = None) -> TextFile:
    """Find out how `path` is to be read, by its content first, then by its name.

    `encoding` is believed. Raises ConfigError (key) where there is none of this name, DataError where the
    file is missing, not a file, unreadable, binary, or in no known format.
    """
    with _errors_of(path):
        if not path.exists():
            raise file_error(path, "does not exist")
        if not path.is_file():
            raise file_error(path, "is neither a file nor a folder")
        with _open(path) as stream:
            head = _head(stream)
            while not head.strip() and (more := stream.read(HEAD_BYTES)):
                head = more
    if encoding is None:
        encoding = _encoding(head, path)
    elif (told := known_encoding(encoding)) is None:
        problem = (
            f"there is no encoding {encoding!r}; write for instance utf-8, cp1252, gbk, shift-jis, mac-roman"
        )
        raise ConfigError(problem, key="encoding")
    else:
        encoding = told
    text = head.decode(encoding, "ignore").removeprefix("\ufeff").lstrip()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    named = SUFFIXES.get(suffixes[-1]) if suffixes else None
    found = recognise(text, named)
    if not found and (what := what_else(text)):
        raise file_error(path, f"is {what}")
    if not (found or named or not text):
        raise file_error(path, f"is in no format known here; known are {FORMATS}")
    return TextFile(path, encoding, found or named or "jsonl", found is not None, not text, _legacy(head))


def _head(stream: io.BufferedReader) -> bytes:
    """The first bytes; of a file that breaks off among them, those before that."""
    head = b""
    try:
        while len(head) < HEAD_BYTES and (more := stream.read1(HEAD_BYTES - len(head))):
            head += more
    except (gzip.BadGzipFile, EOFError, zlib.error):
        if not head.strip():
            raise
    return head


def plain_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines without their ends, whichever these are, and without byte-order marks left within."""
    for line in lines:
        line = line.replace("\ufeff", "").removesuffix("\n").removesuffix("\r")
        yield from line.split("\r") if "\r" in line else (line,)


def file_error(path: Path, problem: str) -> DataError:
    """The error that a whole file deserves."""
    return DataError(f"{path} {problem}", path=str(path), line=None)


def _encoding(head: bytes, path: Path) -> str:
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    for magic, what in _BINARY.items():
        if head.startswith(magic):
            raise file_error(path, f"is {what}")
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) > max(2, len(head) // 16) and min(even, odd) <= max(even, odd) // 16:
        return "utf-16-be" if even > odd else "utf-16-le"
    if (declared := _DECLARED.match(head)) and (name := known_encoding(declared[1].decode())):
        return name if not name.startswith(("utf-16", "utf-32", "utf_16", "utf_32")) else "utf-8"
    if len(head) - len(head.translate(None, _CONTROLS)) > len(head) // 10:
        raise file_error(path, f"is binary, not text; known are {FORMATS}")
    return "utf-8"


def _legacy(head: bytes) -> str | None:
    """The encoding of the lines at the beginning that are not UTF-8; None where all are."""
    bad = []
    for line in head.split(b"\n")[: -1 if len(head) >= HEAD_BYTES else None]:
        try:
            line.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            bad.append(line)
    return guess(bad) if bad else None


def _raw_lines(stream: io.BufferedReader, *, in_pieces: bool) -> Iterator[bytes]:
    """The lines; those that only "\\r" ends with "\\n" in its place.

    With `in_pieces` a long line comes in pieces that end with a quotation mark, comma or blank, which are
    no part of another character in any encoding of `encodings`.
    """
    if in_pieces:
        rest = b""
        while piece := stream.readline(PIECE_CHARS):
            rest += piece
            end = len(rest) if piece.endswith(b"\n") else max(map(rest.rfind, (b'"', b",", b" "))) + 1
            if end:
                yield rest[:end]
                rest = rest[end:]
        if rest:
            yield rest
        return
    head = b""
    while b"\n" not in head and len(head) < HEAD_BYTES and (more := stream.read1(HEAD_BYTES)):
        head += more
    if b"\n" in head or b"\r" not in head:
        # What was read ahead ends within a line.
        *lines, last = head.split(b"\n")
        yield from (line + b"\n" for line in lines)
        if last := last + stream.readline():
            yield last
        yield from stream
        return
    rest = head  # a Macintosh of old
    while rest:
        *lines, rest = rest.replace(b"\n", b"\r").split(b"\r")
        yield from (line + b"\n" for line in lines)
        more = stream.read(HEAD_BYTES)
        if not more:
            break
        rest += more
    if rest:
        yield rest


def _decode_anyway(raw: bytes, legacy: str) -> str:
    text = raw.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    intact = sum(c > "\x7f" for c in text) - damaged
    # Mostly good UTF-8 with a broken byte stays UTF-8; else its accents would turn into "Ã©".
    return text if intact > damaged else raw.decode(legacy, "replace")


_LEGACY = "hippo_lit.windows-1252"
codecs.register_error(
    _LEGACY,
    lambda e: (
        (e.object[e.start : e.end].decode(FALLBACK, "replace"), e.end)
        if isinstance(e, UnicodeDecodeError)
        else ("\ufffd", getattr(e, "end", 0))
    ),
)


class _Unpacked(io.RawIOBase):
    """What a gzip file unpacks to; an OSError where that is out of all proportion to its size."""

    def __init__(self, path: Path) -> None:
        self._stream = gzip.open(path)  # noqa: SIM115 (closed by close)
        self._most = max(MAX_UNPACKED, MAX_RATIO * path.stat().st_size)
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read1(len(buffer))  # `read` would lose what stands before a damage
        self._size += len(data)
        if self._size > self._most:
            raise OSError(f"it unpacks to more than {self._most:,} bytes; if that is meant, unpack it first")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _open(path: Path) -> io.BufferedReader:
    stream = path.open("rb")
    if stream.read(2) == b"\x1f\x8b":
        stream.close()
        return io.BufferedReader(_Unpacked(path))
    stream.seek(0)
    return stream


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Turns what opening, reading or unpacking `path` may raise into a DataError."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as e:
        problem = f"{path} is damaged or cut off (gzip: {e}); fetch it again"
        raise DamagedFileError(problem, path=str(path), line=None) from e
    except OSError as e:
        raise file_error(path, f"cannot be read: {e.strerror or e}") from e
