"""A folder of prompts of your own: the ones in use, their versions, and how to go back.

    DIR/<prompt>/                    in use: what runs take that name this folder (`prompts.path`)
    DIR/<name>.md                    one-line instructions, likewise
    DIR/versions/<prompt>/v1/ …      every version; a draft is edited here
    DIR/versions/<prompt>/history.jsonl   a line for each promotion and rollback
    DIR/versions/<prompt>/scores.jsonl    a line for each comparison with the prompt in use

A version is copied into use, never linked: editing a draft changes no run. What is in use is never lost:
where it was edited by hand it becomes a version of its own before another takes its place.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from hippo_lit.errors import ConfigError, IndexLockedError, PromptError, StoreError
from hippo_lit.llm.prompts import Prompt, load_prompt, write_prompt
from hippo_lit.resources import prompts_dir
from hippo_lit.storage.disk import reporting, sync_tree
from hippo_lit.storage.lock import WriterLock
from hippo_lit.tune.hipporag import read_hipporag_prompt

DEFAULT = Path("hippo-prompts")
CURRENT, SHIPPED = "current", "shipped"
_WAIT_S = 30.0  # for another session; what it does takes milliseconds
_VERSION = re.compile(r"v([1-9]\d{0,5})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")


@dataclass(frozen=True, slots=True)
class Promotion:
    """A line of the history. `version` is in use from `at` (ISO 8601, UTC) on; `rollback`: by going back."""

    version: str
    hash: str
    at: str
    why: str = ""
    rollback: bool = False


class WorkingCopy:
    """The prompts of a folder, which need not exist until something is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser()

    # -- reading

    def names(self) -> list[str]:
        """Every chat prompt, shipped or of this folder, in alphabetical order."""
        found = {path.parent.name for path in prompts_dir().glob("*/system.md")}
        return sorted(found | {path.parent.name for path in self.folder.glob("*/system.md")})

    def versions(self, name: str) -> list[str]:
        """The versions of a prompt, oldest first."""
        folder = self._versions(name)
        found = [path.name for path in folder.glob("v*") if _VERSION.fullmatch(path.name)]
        return sorted(found, key=lambda version: int(version[1:]))

    def path(self, name: str, version: str = CURRENT) -> Path:
        """The folder of a version. Raises ConfigError for one that is not there."""
        self._check(name)
        if version == SHIPPED:
            return prompts_dir() / name
        if version == CURRENT:
            self._repair(name)
            own = self.folder / name
            return own if own.is_dir() else prompts_dir() / name
        if _VERSION.fullmatch(version) and (found := self._versions(name) / version).is_dir():
            return found
        known = ", ".join([CURRENT, SHIPPED, *self.versions(name)])
        raise ConfigError(
            f"{name} has no version {version!r}: there are {known}; a folder or file is given by its path",
            key="version",
        )

    def load(self, name: str, wanted: str = CURRENT) -> Prompt:
        """A version, or the prompt of a folder or a HippoRAG .json file. Raises PromptError, ConfigError."""
        given = Path(wanted).expanduser()
        if given.suffix == ".json":
            return read_hipporag_prompt(given, name)
        if len(given.parts) > 1 or given.is_absolute() or (given / "system.md").is_file():
            return load_prompt(given)
        return load_prompt(self.path(name, wanted))

    def in_use(self, name: str) -> str:
        """The version that is in use; "" where what is in use was edited by hand. Raises PromptError."""
        digest = load_prompt(self.path(name)).hash
        last = self.history(name)[-1:]
        if last and last[0].hash == digest:
            return last[0].version
        return SHIPPED if not last and self._is_shipped(name, digest) else self.version_of(name, digest)

    def version_of(self, name: str, digest: str) -> str:
        """The newest version with this hash, else "shipped" where that has it, else ""."""
        for version in [*reversed(self.versions(name)), SHIPPED]:
            with suppress(PromptError):
                if load_prompt(self.path(name, version)).hash == digest:
                    return version
        return ""

    def history(self, name: str) -> list[Promotion]:
        """Promotions and rollbacks, oldest first; lines that are none are left out."""
        found = []
        for line in _lines(self._versions(name) / "history.jsonl"):
            with suppress(TypeError):
                found.append(Promotion(**line))
        return found

    def scores(self, name: str) -> list[dict[str, Any]]:
        """The comparisons that were kept, oldest first."""
        return _lines(self._versions(name) / "scores.jsonl")

    # -- writing

    def new(self, name: str, prompt: Prompt) -> str:
        """Keep `prompt` as the next version, and return its name. Raises StoreError."""
        with self._writing():
            return self._keep(name, prompt)

    def _keep(self, name: str, prompt: Prompt) -> str:
        folder = self._versions(name)
        with reporting("write", folder):
            fresh = self._written(prompt, folder)
            version = f"v{int((self.versions(name) or ['v0'])[-1][1:]) + 1}"
            fresh.rename(folder / version)
            return version

    def promote(self, name: str, version: str, why: str = "") -> Promotion:
        """Put a version into use. Raises ConfigError, PromptError, StoreError."""
        with self._writing():
            return self._put(name, version, why, rollback=False)

    def rollback(self, name: str) -> Promotion:
        """Put the version back into use that was before the last promotion. Raises ConfigError."""
        with self._writing():
            if self.history(name):
                self._keep_edits(name)  # what was edited since is the version in use, to go back from
            stack = self._stack(name)
            if len(stack) < 2:
                raise ConfigError(f"{name}: there is nothing to go back to, no promotion is left", key="name")
            return self._put(name, stack[-2], f"back from {stack[-1]}", rollback=True)

    def keep_score(self, name: str, score: Mapping[str, Any]) -> None:
        """Keep a comparison with the prompt in use."""
        self._append(name, "scores.jsonl", score)

    def _put(self, name: str, version: str, why: str, *, rollback: bool) -> Promotion:
        prompt = load_prompt(self.path(name, version))
        if not self.history(name):
            self._record(
                name, Promotion(SHIPPED, load_prompt(prompts_dir() / name).hash, _now(), "came first")
            )
        self._keep_edits(name)
        target, old = self.folder / name, self.folder / f".{name}.old"
        with reporting("write", target):
            fresh = self._written(prompt, self.folder)
            shutil.rmtree(old, ignore_errors=True)
            if target.is_dir():
                target.rename(old)
            fresh.rename(target)  # an interruption before this line is mended by `_repair`
            shutil.rmtree(old, ignore_errors=True)
        self._record(name, done := Promotion(version, prompt.hash, _now(), why, rollback))
        return done

    def _keep_edits(self, name: str) -> None:
        try:
            current = load_prompt(self.path(name))
        except PromptError:
            shutil.copytree(self.path(name), self._versions(name) / f"broken-{uuid4().hex[:8]}")
            return
        if not self.version_of(name, current.hash):
            version = self._keep(name, current)
            self._record(name, Promotion(version, current.hash, _now(), "edited by hand"))

    def _is_shipped(self, name: str, digest: str) -> bool:
        with suppress(PromptError):
            return load_prompt(prompts_dir() / name).hash == digest
        return False

    def _stack(self, name: str) -> list[str]:
        stack: list[str] = []
        for line in self.history(name):
            if line.rollback:
                del stack[-1:]
            elif stack[-1:] != [line.version]:
                stack.append(line.version)
        return stack

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """The folder, made where it is not there, with nobody else writing to it: two sessions may share it.

        Raises StoreError.
        """
        with self._locked():
            self._prepare()
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        place = self.folder / "versions"
        with reporting("write", place):
            place.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(place, _WAIT_S)
        try:
            lock.acquire()
        except IndexLockedError as error:
            raise StoreError(
                f"the prompts in {self.folder} are being changed by another session (process"
                f" {error.fields.get('pid')}): try again when it has ended",
                path=str(self.folder),
            ) from error
        try:
            yield
        finally:
            lock.release()

    def _prepare(self) -> None:
        """Put in what is shipped and not there: a folder of prompts holds them all."""
        with reporting("write", self.folder):
            for path in prompts_dir().iterdir():
                target = self.folder / path.name
                self._restore(path.name)
                if target.exists():
                    continue
                fresh = self.folder / f".{uuid4().hex}.new"
                if path.is_dir():
                    shutil.copytree(path, fresh)
                else:
                    shutil.copyfile(path, fresh)
                fresh.rename(target)

    def _repair(self, name: str) -> None:
        """Undo a promotion that died between taking the old folder away and putting the new one there."""
        if self._is_torn(name):
            with self._locked():  # it may not have died, but be on its way
                self._restore(name)

    def _restore(self, name: str) -> None:
        if self._is_torn(name):
            with reporting("write", self.folder / name):
                (self.folder / f".{name}.old").rename(self.folder / name)

    def _is_torn(self, name: str) -> bool:
        return (self.folder / f".{name}.old").is_dir() and not (self.folder / name).exists()

    def _written(self, prompt: Prompt, parent: Path) -> Path:
        fresh = parent / f".{uuid4().hex}.new"
        write_prompt(prompt, fresh)
        sync_tree(fresh)
        return fresh

    def _record(self, name: str, line: Promotion) -> None:
        fields = ("version", "hash", "at", "why", "rollback")
        self._append(name, "history.jsonl", {field: getattr(line, field) for field in fields})

    def _append(self, name: str, file: str, line: Mapping[str, Any]) -> None:
        path = self._versions(name) / file
        with reporting("write", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # A line that an interruption cut off must not swallow this one.
            cut = path.is_file() and not path.read_bytes().endswith(b"\n")
            with path.open("a", encoding="utf-8") as out:
                out.write(("\n" if cut else "") + json.dumps(line, ensure_ascii=False) + "\n")

    def _versions(self, name: str) -> Path:
        return self.folder / "versions" / name

    def _check(self, name: str) -> None:
        if not _NAME.fullmatch(name) or name not in self.names():
            known = ", ".join(self.names())
            raise ConfigError(f"there is no prompt {name!r}; there are {known}", key="name")


def _lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file that can be read; a line that was cut off is none."""
    if not path.is_file():
        return []
    with reporting("read", path):
        lines = path.read_text("utf-8", "replace").split("\n")
    found = []
    for line in lines:
        with suppress(ValueError, RecursionError):
            found.append(json.loads(line))
    return [value for value in found if isinstance(value, dict)]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
