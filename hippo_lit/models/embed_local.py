"""Embeddings on this machine: the embedded MiniLM, a folder, or a model by name, by sentence-transformers.

Queries of the embedded model are read by `minilm`, so that searching never imports torch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hippo_lit.errors import EmbeddingError
from hippo_lit.models.loading import hub_folder, load, load_light
from hippo_lit.models.parts import embed_apart, embed_parts, reads_parts
from hippo_lit.models.styles import Prefixes, Style, prefixes_for
from hippo_lit.models.vectors import embeddable, unit_rows
from hippo_lit.models.weights import (
    EMBEDDED,
    EMBEDDED_NAME,
    EMBEDDED_SHA256,
    embedded_folder,
    fingerprint,
    own_prompts,
)
from hippo_lit.protocols import Spans, TextKind, Vectors

if TYPE_CHECKING:
    from hippo_lit.models.minilm import MiniLM

_QUERIES: tuple[TextKind, ...] = ("query_to_fact", "query_to_passage")


class SentenceTransformerEmbedder:
    """`Embedder` on this machine. Loads its model at the first use; safe to use from several threads.

    `model` is "minilm" (the embedded all-MiniLM-L6-v2, which never touches the network), a folder, or
    the name of a public model; a name that was downloaded before is loaded without the network.
    `instructions` has the keys "query_to_fact" and "query_to_passage"; whether and how they are used is
    for `style` to say (see `styles.prefixes_for`). `threads=None` leaves torch's own choice.
    """

    def __init__(
        self,
        model: str = EMBEDDED,
        *,
        instructions: Mapping[str, str] | None = None,
        style: Style = "auto",
        batch_size: int = 64,
        threads: int | None = None,
        device: str | None = None,
    ) -> None:
        self._model_name = model
        self._instructions = dict(instructions or {})
        self._style: Style = style
        self._batch_size = batch_size
        self._threads = threads
        self._device = device
        self._lock = threading.RLock()
        self._model: Any = None

    @property
    def name(self) -> str:
        """Model, fingerprint of its weights, and digest of its prefixes; may have to download the model."""
        return f"{self._identity}/{self._prefixes.digest}"

    @property
    def space(self) -> str:
        """Identifies the vectors of documents alone: instructions of queries do not change it."""
        return f"{self._identity}/{self._prefixes.document_digest}"

    @cached_property
    def dim(self) -> int:
        if self._light is not None:
            return self._light.dim
        return int(self._open().get_embedding_dimension() or len(self._encode(["."], "")[0]))

    def render(self, text: str, kind: TextKind) -> str:
        """What the model gets to see of `text`."""
        return self._prefixes.of(kind) + embeddable(text)

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Unit rows, shape (len(texts), dim). Raises EmbeddingError, MissingExtraError."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        # By kind and not by number, so that equal texts have equal vectors however they come.
        if kind in _QUERIES and self._light is not None:
            raw = self._light.encode([self.render(text, kind) for text in texts])
        else:
            raw = self._encode([embeddable(text) for text in texts], self._prefixes.of(kind))
        return unit_rows(raw, len(texts), self.dim, self._model_name)

    def embed_parts(
        self,
        texts: Sequence[str],
        spans: Sequence[Spans],
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[Vectors, Vectors]:
        """Rows of the texts and of all their parts, both from one reading where the model allows it.

        Otherwise (`parts.reads_parts`) each part is embedded as a text of its own. Raises EmbeddingError.
        """
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32), np.zeros((0, self.dim), dtype=np.float32)
        if not reads_parts(self._open()):
            return embed_apart(self, texts, spans)
        prefix = self._prefixes.of("passage")
        shifted = [[(start + len(prefix), end + len(prefix)) for start, end in group] for group in spans]
        with self._lock, self._reporting(len(texts)):
            whole, parts = embed_parts(
                self._open(), [prefix + _same_length(text) for text in texts], shifted, self._batch_size
            )
        together = np.concatenate(parts)
        if progress is not None:
            progress(len(texts), len(texts))
        return (
            unit_rows(whole, len(texts), self.dim, self._model_name),
            unit_rows(together, sum(map(len, spans)), self.dim, self._model_name),
        )

    def _encode(self, texts: list[str], prefix: str) -> Any:
        model = self._open()
        # One call at a time: fast tokenizers are not safe to share. encode() sorts by length itself.
        # The prefix is passed apart since some models leave it out of their pooling.
        with self._lock, self._reporting(len(texts)):
            return model.encode(texts, prompt=prefix, batch_size=self._batch_size, show_progress_bar=False)

    @contextmanager
    def _reporting(self, count: int) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ValueError, TypeError) as error:
            raise EmbeddingError(
                f"The embedder {self._model_name} failed on {count} texts: {error}. If memory ran out,"
                " set a smaller batch size.",
                model=self._model_name,
            ) from error

    @cached_property
    def _identity(self) -> str:
        if self._model_name == EMBEDDED:
            return f"{EMBEDDED_NAME}@{EMBEDDED_SHA256[:12]}"
        return f"{Path(self._model_name).name}@{fingerprint(self._folder)}"

    @cached_property
    def _prefixes(self) -> Prefixes:
        prompts = own_prompts(self._folder) if self._style in ("auto", "own") else {}
        return prefixes_for(self._model_name, self._style, self._instructions, prompts)

    @cached_property
    def _folder(self) -> Path:
        if self._model_name == EMBEDDED:
            return embedded_folder()
        folder = Path(self._model_name).expanduser()
        if folder.is_dir():
            return folder
        if self._model_name.startswith(("/", ".", "~")):
            raise EmbeddingError(f"There is no model folder {folder}.", model=self._model_name)
        return hub_folder(self._model_name)

    @cached_property
    def _light(self) -> MiniLM | None:
        """What reads queries; None for other models than the embedded one, and for a device of choice."""
        if self._model_name != EMBEDDED or self._device is not None:
            return None
        return load_light(self._folder)

    def _open(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = load(self._folder, self._model_name, self._device)
                if self._threads is not None:
                    import torch

                    torch.set_num_threads(self._threads)
            return self._model

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self._model_name!r}, style={self._style!r})"


def _same_length(text: str) -> str:
    """Text that a tokenizer takes, with every character in its place, so that spans stay right."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text) if text.strip() else "."
