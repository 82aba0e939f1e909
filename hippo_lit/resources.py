"""Where `prompts/` and `configs/` live: a path given, else the checkout's, else the wheel's copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hippo_lit.errors import ConfigError, PromptError

_PACKAGE = Path(__file__).resolve().parent


def prompts_dir(explicit: str | Path | None = None) -> Path:
    """The folder of prompts. Raises PromptError, naming every path tried."""
    tried = list(_places("prompts", explicit))
    for path in tried:
        if path.is_dir():
            return path
    raise PromptError(_nowhere("prompts", tried), path=str(tried[0]))


def configs_dir(explicit: str | Path | None = None) -> Path:
    """The folder of configurations. Raises ConfigError, naming every path tried."""
    tried = list(_places("configs", explicit))
    for path in tried:
        if path.is_dir():
            return path
    raise ConfigError(_nowhere("configs", tried), key="configs")


def _places(name: str, explicit: str | Path | None) -> Iterator[Path]:
    if explicit is not None:
        # A path that a person gave is meant: falling back to another folder would hide their mistake.
        yield Path(explicit).expanduser()
        return
    checkout = _PACKAGE.parent
    if _is_checkout(checkout):
        yield checkout / name
    yield _PACKAGE / "_data" / name


def _is_checkout(folder: Path) -> bool:
    """True in our own source tree; false in site-packages, where a folder `prompts` would be a stranger's."""
    try:
        return 'name = "hippo-lit"' in (folder / "pyproject.toml").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _nowhere(name: str, tried: list[Path]) -> str:
    paths = ", ".join(str(path) for path in tried)
    return f"no folder of {name} found; tried: {paths}. Give its path, or reinstall the package."
