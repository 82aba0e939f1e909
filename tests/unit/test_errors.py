from __future__ import annotations

import copy
import pickle
import re

import pytest

from hippo_lit import errors
from hippo_lit.errors import (
    ChatModelError,
    ConfigError,
    DataError,
    HippoLitError,
    IndexLockedError,
    MissingExtraError,
    ModelError,
    PromptError,
    SourceError,
    StoreError,
)

ERRORS = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, HippoLitError)]


def drawn_tree() -> dict[str, str | None]:
    """Each class drawn in the module's docstring, and the class that it hangs from."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if drawn := re.match(r"    ((?:│   |    )*)([├└]── )?(\w+Error)\b", line):
            indent, branch, name = drawn.groups()
            depth = len(indent) // 4 + bool(branch)
            path = [*path[:depth], name]
            parents[name] = path[-2] if depth else None
    return parents


def test_the_drawn_tree_is_the_tree() -> None:
    real = {e.__name__: e.__bases__[0].__name__ if e is not HippoLitError else None for e in ERRORS}
    assert drawn_tree() == real


@pytest.mark.parametrize("error_type", ERRORS)
def test_pickling_keeps_type_message_and_fields(error_type: type[HippoLitError]) -> None:
    error = error_type("what happened", model="MiniLM", line=7, attempts=3, status=None)
    for back in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(back) is error_type
        assert str(back) == back.message == "what happened"
        assert back.fields == {"model": "MiniLM", "line": 7, "attempts": 3, "status": None}
        assert (back.model, back.line, back.attempts, back.status) == ("MiniLM", 7, 3, None)


def test_a_field_that_was_not_given_is_an_attribute_error() -> None:
    error = DataError("unreadable", path="x.jsonl")
    assert not hasattr(error, "line")
    with pytest.raises(AttributeError, match="line"):
        _ = error.line


def test_a_missing_extra_is_also_an_import_error() -> None:
    # So `except ImportError` around an optional feature works, as with any package.
    with pytest.raises(ImportError, match="pip install") as caught:
        raise MissingExtraError('pip install "hippo-lit[spacy]"', package="spacy", extra="spacy")
    assert (caught.value.package, caught.value.extra) == ("spacy", "spacy")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("error_type", "code"),
    [
        (HippoLitError, 1),
        (ConfigError, 2),
        (MissingExtraError, 2),
        (PromptError, 2),
        (DataError, 3),
        (SourceError, 4),
        (ModelError, 5),
        (ChatModelError, 5),
        (StoreError, 6),
        (IndexLockedError, 6),
    ],
)
def test_exit_codes(error_type: type[HippoLitError], code: int) -> None:
    assert error_type.exit_code == code


def test_no_error_exits_as_success_or_as_a_signal() -> None:
    assert all(0 < error.exit_code < 64 for error in ERRORS)


@pytest.mark.parametrize("error_type", ERRORS)
def test_every_error_is_documented(error_type: type[HippoLitError]) -> None:
    assert error_type.__doc__
    assert error_type.__doc__ is not error_type.__bases__[0].__doc__
