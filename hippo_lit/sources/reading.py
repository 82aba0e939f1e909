"""From a file's bytes to lines of text: compression, encoding, and which format the text is in.

Encodings: UTF-8, UTF-16 and UTF-32 with a byte-order mark; UTF-16 without one where its NUL bytes give it
away; else UTF-8, and a line that is not valid UTF-8 is read as Windows-1252, with a note.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from hippo_lit.errors import DataError

Format = Literal["json", "jsonl", "bibtex", "ris", "wos"]

FORMATS = "JSONL, JSON (our own, BEIR, HippoRAG, OpenAlex works), BibTeX and RIS, each also as .gz"
SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".bib": "bibtex",
    ".bibtex": "bibtex",
    ".ris": "ris",
    ".ciw": "wos",
}
HEAD_BYTES = 65_536

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
_RECORD_STARTS: tuple[tuple[Format, re.Pattern[str]], ...] = (
    ("ris", re.compile(r"^[ \t]*TY[ \t]{0,3}-", re.MULTILINE)),
    ("wos", re.compile(r"^PT [A-Z]\s*$", re.MULTILINE)),
    ("bibtex", re.compile(r"^[ \t]*@[ \t]*\w+\s*[{(]", re.MULTILINE)),
)
_OTHERS = (
    (re.compile(r"<(?:!doctype html|html)", re.IGNORECASE), "a web page; download the export itself"),
    (re.compile(r"<\?xml"), "XML, which is not read; export it as RIS, BibTeX or JSON"),
    (re.compile(r"PMID\s?- ?\d"), "in PubMed's own format; convert it to RIS, for instance with Zotero"),
    (re.compile(r"%[0A-Z] \S"), "in EndNote's own format; export it as RIS"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file whose encoding and format are known. `recognised` is False where only its name told."""

    path: Path
    encoding: str
    format: Format
    recognised: bool
    blank: bool

    def lines(self, note: Callable[[int, str], None]) -> Iterator[str]:
        """The lines, each with its line feed, as they are read. Calls `note(line, what)` on a repair.

        Raises DataError where the file cannot be read or unpacked.
        """
        with _errors_of(self.path), _open(self.path) as stream:
            if self.encoding != "utf-8":
                with io.TextIOWrapper(stream, self.encoding, errors="replace", newline="\n") as text:
                    yield from text
                return
            noted = False
            for number, raw in enumerate(stream, 1):
                try:
                    # Lone surrogates go with the other rubbish when the text is cleaned.
                    line = raw.decode("utf-8", "surrogatepass")
                except UnicodeDecodeError:
                    line = _decode_anyway(raw)
                    if not noted:
                        note(number, "not valid UTF-8; what is not, here and below, was read as Windows-1252")
                        noted = True
                yield line.removeprefix("\ufeff")


def look_at(path: Path) -> TextFile:
    """Find out how `path` is to be read, by its content first, then by its name.

    Raises DataError where it is missing, not a file, unreadable, binary, or in no known format.
    """
    with _errors_of(path):
        if not path.exists():
            raise file_error(path, "does not exist")
        if not path.is_file():
            raise file_error(path, "is neither a file nor a folder")
        with _open(path) as stream:
            head = stream.read(HEAD_BYTES)
            while not head.strip() and (more := stream.read(HEAD_BYTES)):
                head = more
    encoding = _encoding(head, path)
    text = head.decode(encoding, "ignore").removeprefix("\ufeff").lstrip()
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    named = SUFFIXES.get(suffixes[-1]) if suffixes else None
    found = _recognise(text, named)
    what = next((what for pattern, what in _OTHERS if pattern.match(text)), None)
    if what and not found:
        raise file_error(path, f"is {what}")
    if not (found or named or not text):
        raise file_error(path, f"is in no format known here; known are {FORMATS}")
    return TextFile(path, encoding, found or named or "jsonl", recognised=found is not None, blank=not text)


def whole_text(lines: Iterable[str]) -> str:
    """All lines as one text with "\\n" for line ends and no byte-order mark left within."""
    return "".join(lines).replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")


def file_error(path: Path, problem: str) -> DataError:
    """The error that a whole file deserves."""
    return DataError(f"{path} {problem}", path=str(path), line=None)


def _recognise(text: str, named: Format | None) -> Format | None:
    if text.startswith(("{", "[")):
        return _recognise_json(text, named)
    starts = [(found.start(), kind) for kind, pattern in _RECORD_STARTS if (found := pattern.search(text))]
    return min(starts)[1] if starts else None


def _recognise_json(text: str, named: Format | None) -> Format | None:
    """ "jsonl" where lines are values of their own; None where it does not look like JSON at all."""
    first, *others = text.split("\n")
    if _is_object(first):
        return "jsonl"
    if not first.rstrip().endswith(("[", "{", ",")) and any(map(_is_object, others)):
        return "jsonl"
    if re.match(r'\{\s*(?:["}]|\Z)', text):
        # A first line that is longer than the head could be either.
        return "jsonl" if named == "jsonl" and not others else "json"
    return "json" if re.match(r'\[\s*(?:["\d\[\]{]|\Z)', text) else None


def _is_object(line: str) -> bool:
    if not line.startswith("{"):
        return False
    try:
        return bool(json.loads(line, strict=False))
    except (ValueError, RecursionError):
        return False


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
    if len(head) - len(head.translate(None, _CONTROLS)) > len(head) // 10:
        raise file_error(path, f"is binary, not text; known are {FORMATS}")
    return "utf-8"


def _decode_anyway(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    intact = sum(c > "\x7f" for c in text) - damaged
    # Mostly good UTF-8 with a broken byte stays UTF-8; else its accents would turn into "Ã©".
    return text if intact > damaged else raw.decode("cp1252", "replace")


def _open(path: Path) -> BinaryIO:
    stream = path.open("rb")
    if stream.read(2) == b"\x1f\x8b":
        stream.close()
        return io.BufferedReader(gzip.open(path))
    stream.seek(0)
    return stream


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Turns what opening, reading or unpacking `path` may raise into a DataError."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as e:
        raise file_error(path, f"is damaged or cut off (gzip: {e}); fetch it again") from e
    except OSError as e:
        raise file_error(path, f"cannot be read: {e.strerror or e}") from e
