"""An embedder that never embeds the same text twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hippo_lit.models.parts import embed_apart
from hippo_lit.models.vectors import embeddable, unit_rows
from hippo_lit.protocols import Embedder, Spans, TextKind, Vectors
from hippo_lit.storage.cache import Cache
from hippo_lit.text import content_hash

_CHUNK = 256
_LOOKUP = 4096


class CachedEmbedder:
    """`Embedder` that keeps vectors in a `Cache`, by what the model got to see.

    Where the embedder says what that is (`render`, `space`), texts that look the same to the model share
    a vector whatever their kind, and another instruction for queries leaves the documents' vectors
    valid. Otherwise its `name`, the kind and the text are the key. Missing texts are embedded in
    chunks, the shortest first, and each chunk is stored at once: an interrupted run keeps what it has.

    `progress(done, total)` is called after each chunk with numbers of distinct texts to embed.
    """

    def __init__(
        self,
        embedder: Embedder,
        cache: Cache,
        *,
        chunk_size: int = _CHUNK,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._embedder = embedder
        self._cache = cache
        self._chunk_size = chunk_size
        self._progress = progress

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def space(self) -> str:
        """Identifies the vectors of documents alone; the embedder's name where it does not say."""
        return str(getattr(self._embedder, "space", self._embedder.name))

    @property
    def dim(self) -> int:
        return self._embedder.dim

    def render(self, text: str, kind: TextKind) -> str:
        """What the model gets to see of `text`."""
        render = getattr(self._embedder, "render", None)
        return str(render(text, kind)) if render else f"{kind}\0{embeddable(text)}"

    def embed(
        self,
        texts: Sequence[str],
        kind: TextKind,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Vectors:
        """Unit rows, shape (len(texts), dim). Raises EmbeddingError, StoreError.

        `progress` replaces the one given to the constructor for this call.
        """
        if not texts:
            return self._embedder.embed([], kind)
        space, hashes = self.keys(texts, kind)
        distinct = dict(zip(hashes, texts, strict=True))
        keys = list(distinct)
        stored, found = self._cache.get_vectors(space, keys)
        missing = [key for key, known in zip(keys, found, strict=True) if not known]
        missing.sort(key=lambda key: len(distinct[key]))
        rows = {key: stored[i] for i, key in enumerate(keys) if found[i]}
        dim = stored.shape[1] or None
        report = progress or self._progress
        for start in range(0, len(missing), self._chunk_size):
            chunk = missing[start : start + self._chunk_size]
            raw = self._embedder.embed([distinct[key] for key in chunk], kind)
            vectors = unit_rows(raw, len(chunk), dim, self.name)
            dim = vectors.shape[1]
            self._cache.put_vectors(space, chunk, vectors)
            rows.update(zip(chunk, vectors, strict=True))
            if report is not None:
                report(start + len(chunk), len(missing))
        return np.stack([rows[key] for key in hashes])

    def embed_parts(
        self,
        texts: Sequence[str],
        spans: Sequence[Spans],
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[Vectors, Vectors]:
        """Rows of the texts and of all their parts; a text with a part that is missing is read again.

        Embedders without `embed_parts` of their own embed each part as a text. Raises EmbeddingError,
        StoreError.
        """
        own = getattr(self._embedder, "embed_parts", None)
        if own is None:
            return embed_apart(self, texts, spans)
        space, keys = self.part_keys(texts, spans)
        report = progress or self._progress
        rows: dict[str, Vectors] = {}
        missing = self._load(space, keys, rows)
        order = sorted(missing, key=lambda i: len(texts[i]))
        for start in range(0, len(order), self._chunk_size):
            chunk = order[start : start + self._chunk_size]
            whole, parts = own([texts[i] for i in chunk], [spans[i] for i in chunk])
            fresh = [key for i in chunk for key in keys[i][1:]]
            vectors = np.concatenate([whole, parts])
            names = [keys[i][0] for i in chunk] + fresh
            unit = unit_rows(vectors, len(names), None, self.name)
            self._cache.put_vectors(space, names, unit)
            rows.update(zip(names, unit, strict=True))
            if report is not None:
                report(min(start + self._chunk_size, len(order)), len(order))
        empty = np.zeros((0, self.dim), dtype=np.float32)
        wholes = [rows[row[0]] for row in keys]
        apart = [rows[key] for row in keys for key in row[1:]]
        return (np.stack(wholes) if wholes else empty, np.stack(apart) if apart else empty)

    def missing_passages(self, texts: Sequence[str], spans: Sequence[Spans]) -> int:
        """How many distinct texts `embed_parts` would have to read; nothing is embedded."""
        space, keys = self.part_keys(texts, spans)
        return len(self._load(space, keys, {}))

    def keys(self, texts: Sequence[str], kind: TextKind) -> tuple[str, list[str]]:
        """The space and the keys under which `embed` keeps vectors."""
        return self.space, [content_hash(self.render(text, kind)) for text in texts]

    def part_keys(self, texts: Sequence[str], spans: Sequence[Spans]) -> tuple[str, list[list[str]]]:
        """The space and, for each text, the keys of itself and of its parts, as `embed_parts` keeps them."""
        rendered = [self.render(text, "passage") for text in texts]
        keys = [[content_hash(text)] for text in rendered]
        if getattr(self._embedder, "embed_parts", None) is None:  # as `embed_apart` has them read
            for row, text, group in zip(keys, texts, spans, strict=True):
                row.extend(content_hash(self.render(text[start:end], "fact")) for start, end in group)
            return self.space, keys
        for row, text, group in zip(keys, rendered, spans, strict=True):
            row.extend(content_hash(text, f"{start}:{end}") for start, end in group)
        return f"{self.space}/parts", keys

    def _load(self, space: str, keys: Sequence[Sequence[str]], rows: dict[str, Vectors]) -> list[int]:
        """Fill `rows` with what is stored, and say which texts miss something; equal rows count once."""
        flat = list(dict.fromkeys(key for row in keys for key in row))
        for start in range(0, len(flat), _LOOKUP):
            block = flat[start : start + _LOOKUP]
            stored, found = self._cache.get_vectors(space, block)
            rows.update((key, stored[i]) for i, key in enumerate(block) if found[i])
        incomplete = {
            tuple(row): i for i, row in reversed(list(enumerate(keys))) if any(k not in rows for k in row)
        }
        return sorted(incomplete.values())
