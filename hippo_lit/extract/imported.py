"""Facts that were extracted elsewhere and brought in by `import-openie`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hippo_lit.errors import DataError
from hippo_lit.passages import passage_hash
from hippo_lit.storage.store import Store
from hippo_lit.types import Extraction, Passage


def imported_name(name: str) -> str:
    """The extractor under which the store keeps what was imported as `name`."""
    return f"imported/{name}"


class ImportedExtractor:
    """A FactExtractor that knows what was imported under `name`, and nothing else.

    A passage for which nothing was imported is a DataError item: it is listed among the failures, and the
    next run looks again.
    """

    def __init__(self, name: str, store: Store | None) -> None:
        self._imported = name
        self._store = store

    @property
    def name(self) -> str:
        return imported_name(self._imported)

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        hashes = [passage_hash(passage) for passage in passages]
        found = self._store.extractions(self.name, hashes) if self._store is not None else {}
        for passage, text_hash in zip(passages, hashes, strict=True):
            yield found.get(text_hash) or self._missing(passage)

    def _missing(self, passage: Passage) -> DataError:
        return DataError(
            f"no facts were imported for this text as {self._imported!r}: import-openie a file that has it",
            path=None,
            record=passage.paper_id,
        )
