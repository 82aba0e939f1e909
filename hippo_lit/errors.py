"""One tree of errors; each says what went wrong and what a person can do about it.

::

    HippoLitError
    ├── ConfigError               a setting is unknown, malformed or contradictory
    ├── MissingExtraError         an optional package is not installed (also an ImportError)
    ├── SourceError               a paper source failed (source, status, retry_after_s)
    ├── DataError                 a record or file cannot be read (path, line)
    ├── PromptError               a prompt file is missing, or lacks a variable
    ├── ModelError                a model did not do its work
    │   ├── ChatModelError        (model, status, kind, attempts, retry_after_s)
    │   └── EmbeddingError        (model)
    └── StoreError                the index on disk cannot serve (path)
        ├── IndexNotFoundError
        ├── FormatVersionError
        ├── IndexCorruptError
        ├── EmbedderMismatchError
        └── IndexLockedError

Every error pickles: the fields travel as keyword arguments, so errors cross process borders whole.
"""

from __future__ import annotations

from typing import Any, ClassVar


class HippoLitError(Exception):
    """Base of everything this package raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields

    def __getattr__(self, name: str) -> Any:
        # Only called when normal lookup fails. `fields` may be absent while unpickling.
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.fields)


def _rebuild(cls: type[HippoLitError], message: str, fields: dict[str, Any]) -> HippoLitError:
    return cls(message, **fields)


class ConfigError(HippoLitError):
    """A setting is unknown, malformed or contradictory. Fields: key."""

    exit_code = 2


class MissingExtraError(HippoLitError, ImportError):
    """An optional package is needed and not installed. Fields: package, extra."""

    exit_code = 2


class SourceError(HippoLitError):
    """A paper source failed. Fields: source, status, retry_after_s."""

    exit_code = 4


class DataError(HippoLitError):
    """A record or a file cannot be read. Fields: path, line."""

    exit_code = 3


class PromptError(HippoLitError):
    """A prompt is missing, malformed, or was rendered without one of its variables. Fields: path, name."""

    exit_code = 2


class ModelError(HippoLitError):
    """A model did not do its work."""

    exit_code = 5


class ChatModelError(ModelError):
    """A chat call failed for good.

    Fields: model, status (HTTP status or None), attempts, retry_after_s, and kind, one of
    "auth", "not_found", "quota", "bad_request", "rate_limit", "server", "timeout", "connection",
    "unreachable" (a server that never answered refuses connections), "empty_reply", "truncated",
    "unreadable"; or, where no call was made, "budget" (it would be exceeded), "given_up" (too many in a row
    failed) and "pending" (the reply of a batch job is awaited).
    """

    ACCOUNT_WIDE: ClassVar = ("auth", "not_found", "quota", "unreachable")
    UNTRIED: ClassVar = (*ACCOUNT_WIDE, "budget", "given_up", "pending")

    @property
    def account_wide(self) -> bool:
        """Whether every other call would fail likewise: a wrong key, no credit, no such model, no server."""
        return self.fields.get("kind") in self.ACCOUNT_WIDE

    @property
    def untried(self) -> bool:
        """Whether this says nothing of what was asked: a later run has as good a chance as this one had."""
        return self.fields.get("kind") in self.UNTRIED


class EmbeddingError(ModelError):
    """An embedder failed or returned vectors that cannot be used. Fields: model."""


class StoreError(HippoLitError):
    """The index on disk cannot be read or written. Fields: path."""

    exit_code = 6


class IndexNotFoundError(StoreError):
    """There is no index at this path."""


class FormatVersionError(StoreError):
    """The index was written in a format that this version does not read. Fields: path, found, expected."""


class IndexCorruptError(StoreError):
    """The index is half-written or damaged. Fields: path."""


class EmbedderMismatchError(StoreError):
    """The index holds vectors of another embedder. Fields: path, found, expected."""


class IndexLockedError(StoreError):
    """Another process is writing to the index. Fields: path, pid, host, since (ISO 8601, UTC)."""
