"""The embedded MiniLM for one text at a time, without torch: what a query is embedded with.

Importing sentence-transformers takes longer than any search, and a query has a dozen tokens: numpy has done
the same arithmetic long before torch would be there (docs/speed.md). Texts to index, many and long, are for
torch. The model is BERT (Devlin et al. 2019) as made small by Wang et al. (MiniLM, 2020), its token vectors
averaged; the vectors agree with torch's to 1e-6.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

Floats = NDArray[np.float32]


class MiniLM:
    """The BERT in `folder`: one pass per text, so that a text's vector does not depend on its batch.

    Immutable; safe to share between threads. Raises OSError, ValueError, KeyError or SafetensorError where
    the folder holds something else.
    """

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        config = json.loads((folder / "config.json").read_text("utf-8"))
        window = json.loads((folder / "sentence_bert_config.json").read_text("utf-8"))["max_seq_length"]
        if (config["model_type"], config["hidden_act"]) != ("bert", "gelu"):
            raise ValueError(f"{folder} is no BERT with gelu")
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config["layer_norm_eps"])
        weights = load_file(folder / "model.safetensors")
        self._words = weights["embeddings.word_embeddings.weight"]
        # A single text is all of segment 0.
        self._places = (
            weights["embeddings.position_embeddings.weight"]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = _pair(weights, "embeddings.LayerNorm")
        layers = range(int(config["num_hidden_layers"]))
        self._layers = [_Layer(weights, f"encoder.layer.{i}.") for i in layers]
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length=int(window))

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self._words.shape[1])

    def encode(self, texts: Sequence[str]) -> Floats:
        """Averages of the token vectors, not normalised, shape (len(texts), dim)."""
        return np.stack([self._read(text) for text in texts])

    def _read(self, text: str) -> Floats:
        tokens = self._tokenizer.encode(text).ids
        states = self._normalised(self._words[tokens] + self._places[: len(tokens)], self._norm)
        for layer in self._layers:
            heard = layer.output(self._attended(layer, states))
            states = self._normalised(states + heard, layer.attention_norm)
            inner = layer.inner(states)
            states = self._normalised(states + layer.outer(_gelu(inner)), layer.norm)
        mean: Floats = states.mean(axis=0)
        return mean

    def _attended(self, layer: _Layer, states: Floats) -> Floats:
        """Every head's softmax(q k' / sqrt(d)) v, side by side."""
        query, key, value = (self._split(part(states)) for part in (layer.query, layer.key, layer.value))
        logits = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[2]))
        odds = np.exp(logits - logits.max(axis=2, keepdims=True))
        odds /= odds.sum(axis=2, keepdims=True)
        together: Floats = (odds @ value).transpose(1, 0, 2).reshape(states.shape)
        return together

    def _split(self, rows: Floats) -> Floats:
        """(tokens, dim) as (heads, tokens, dim / heads)."""
        return rows.reshape(len(rows), self._heads, -1).transpose(1, 0, 2)

    def _normalised(self, states: Floats, scale: tuple[Floats, Floats]) -> Floats:
        centred = states - states.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + self._epsilon)
        scaled: Floats = centred / spread * scale[0] + scale[1]
        return scaled


class _Linear:
    """x W' + b."""

    def __init__(self, weights: dict[str, Floats], name: str) -> None:
        self._weight, self._bias = _pair(weights, name)

    def __call__(self, rows: Floats) -> Floats:
        found: Floats = rows @ self._weight.T + self._bias
        return found


class _Layer:
    """What one layer of the encoder is made of."""

    def __init__(self, weights: dict[str, Floats], prefix: str) -> None:
        self.query = _Linear(weights, f"{prefix}attention.self.query")
        self.key = _Linear(weights, f"{prefix}attention.self.key")
        self.value = _Linear(weights, f"{prefix}attention.self.value")
        self.output = _Linear(weights, f"{prefix}attention.output.dense")
        self.attention_norm = _pair(weights, f"{prefix}attention.output.LayerNorm")
        self.inner = _Linear(weights, f"{prefix}intermediate.dense")
        self.outer = _Linear(weights, f"{prefix}output.dense")
        self.norm = _pair(weights, f"{prefix}output.LayerNorm")


def _pair(weights: dict[str, Floats], name: str) -> tuple[Floats, Floats]:
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _gelu(values: Floats) -> Floats:
    found: Floats = values * 0.5 * (1 + erf(values * np.float32(np.sqrt(0.5))))
    return found
