"""A version comes into use only where a comparison says that it is better."""

from __future__ import annotations

from hippo_lit.errors import ConfigError
from hippo_lit.tune.working import Promotion, WorkingCopy


def promote_scored(copy: WorkingCopy, name: str, version: str, *, force: bool = False) -> Promotion:
    """Put a version into use. Raises ConfigError where it was not compared with what is in use, or the last
    comparison does not say that it is better; with `force` never for that.
    """
    candidate, current = copy.load(name, version).hash, copy.load(name).hash
    if candidate == current:
        raise ConfigError(f"{name}: {version} is what is in use already", key="version")
    if force:
        return copy.promote(name, version, "forced")
    last = next(
        (
            score
            for score in reversed(copy.scores(name))
            if score.get("candidate") == candidate and score.get("against") == current
        ),
        None,
    )
    if last is None:
        raise ConfigError(
            f"{name}: {version} was not compared with what is in use: hippo-lit tune score {name} --prompt"
            f" {version}, or --force",
            key="version",
        )
    interval = "{measure} {difference:+.3f}, 95% interval {low:+.3f} to {high:+.3f}".format(**last)
    if not last.get("better"):
        worse = "".join(f"; worse by {measure}" for measure in last.get("worse") or ())
        raise ConfigError(
            f"{name}: {version} is not shown to be better than what is in use ({interval}{worse}): label more"
            " questions, change it further, or --force",
            key="version",
        )
    return copy.promote(name, version, interval)
