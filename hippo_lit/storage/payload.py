"""Papers and extractions as the JSON text that the store keeps; read back as data, checked."""

from __future__ import annotations

import json
from types import NoneType
from typing import Any

from hippo_lit.errors import DataError
from hippo_lit.records import paper_to_mapping
from hippo_lit.text import content_hash
from hippo_lit.types import Extraction, Fact, Mention, Paper

_KINDS = {"name", "phrase"}
_TEXTS = ("id", "title", "abstract", "source")
_OPTIONAL_TEXTS = ("doi", "venue", "url")
_LISTS = ("authors", "references", "citations", "ids")
# Fields that came later: left out where a paper has none, so that what was written before them stays equal.
_LATER: dict[str, Any] = {"ids": [], "retracted": False, "open_access": None}
_EXTRACTION = {"mentions", "facts", "fact_sentences"}
_CHECK = '{"check":"'
_CHECKED = len(_CHECK) + 16


def paper_to_json(paper: Paper) -> str:
    """The same text for equal papers. Raises ValueError where a field is not of its type."""
    data = paper_to_mapping(paper)
    text = _dumps({key: value for key, value in data.items() if key not in _LATER or value != _LATER[key]})
    paper_from_json(text)  # what cannot be read back must never be stored
    return text


def checked_json(paper: Paper) -> str:
    """`paper_to_json`, for one whose id and source can be stored too. Raises DataError (record, field)."""
    try:
        payload = paper_to_json(paper)
    except ValueError as e:
        raise DataError(f"paper {paper.id!r} cannot be stored: {e}", record=str(paper.id), field="") from e
    if not paper.id or not is_unicode(paper.id) or not is_unicode(paper.source):
        raise DataError(
            f"paper {paper.id!r} from {paper.source!r} cannot be stored: an id is a non-empty text, and id "
            "and source hold no lone surrogates. Clean them with hippo_lit.text.clean first.",
            record=paper.id,
            field="id",
        )
    return payload


def paper_from_json(text: str) -> Paper:
    """Exactly the paper that was written. Raises ValueError where `text` is not what `paper_to_json` writes.

    Nothing is cleaned or guessed, unlike in `records.paper_from_mapping`: that is for what comes from
    outside, and takes about fifteen times as long.
    """
    data = _loads(text)
    for key, default in _LATER.items():
        data.setdefault(key, default)
    fields: dict[str, Any] = {key: _typed(data, key, str) for key in _TEXTS}
    fields |= {key: _typed(data, key, str, NoneType) for key in _OPTIONAL_TEXTS}
    fields |= {key: tuple(_texts(data, key)) for key in _LISTS}
    fields["retracted"] = _typed(data, "retracted", bool)
    fields["open_access"] = _typed(data, "open_access", bool, NoneType)
    return Paper(**fields, year=_typed(data, "year", int, NoneType))


def extraction_to_json(extraction: Extraction) -> str:
    """With a check of its own, since nothing else tells a changed byte. Raises ValueError for a field that is
    not of its type.
    """
    text = _dumps(
        {
            "mentions": [[m.surface, m.sentence, m.kind] for m in extraction.mentions],
            "facts": [[f.subject, f.relation, f.object] for f in extraction.facts],
            "fact_sentences": extraction.fact_sentences,
        }
    )
    extraction_from_json(text)
    return f'{_CHECK}{_check(text)}",{text[1:]}'


def extraction_from_json(text: str) -> Extraction:
    """Raises ValueError where `text` is not what `extraction_to_json` wrote; it once wrote no check."""
    if isinstance(text, str) and text.startswith(_CHECK):
        check, text = text[len(_CHECK) : _CHECKED], "{" + text[_CHECKED + 2 :]
        if check != _check(text):
            raise ValueError("it is not what was stored")
    data = _loads(text)
    if data.keys() != _EXTRACTION:
        raise ValueError(f"its fields are {sorted(data)}")
    mentions = [_row(row, str, int, str) for row in _typed(data, "mentions", list)]
    if unknown := {kind for _, _, kind in mentions} - _KINDS:
        raise ValueError(f"unknown kinds of mention: {sorted(unknown)}")
    return Extraction(
        mentions=tuple(Mention(*row) for row in mentions),
        facts=tuple(Fact(*_row(row, str, str, str)) for row in _typed(data, "facts", list)),
        fact_sentences=tuple(_row([n], int)[0] for n in _typed(data, "fact_sentences", list)),
    )


def _check(text: str) -> str:
    return content_hash(text)[:16]


def _dumps(data: dict[str, Any]) -> str:
    try:
        text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except TypeError as e:
        raise ValueError(str(e)) from e
    # Lone surrogates have no UTF-8 form: only escaped can they be stored.
    return text if is_unicode(text) else json.dumps(data, sort_keys=True, separators=(",", ":"))


def _loads(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (TypeError, RecursionError) as e:  # not text at all, or nested beyond reason
        raise ValueError(str(e)) from e
    if not isinstance(data, dict):
        raise ValueError(f"expected a JSON object, got {type(data).__name__}")  # noqa: TRY004
    return data


def _typed(data: dict[str, Any], key: str, *types: type) -> Any:
    value = data.get(key)
    if type(value) not in types:
        raise ValueError(f"{key!r} is of type {type(value).__name__}")
    return value


def _texts(data: dict[str, Any], key: str) -> list[str]:
    values: list[str] = _typed(data, key, list)
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{key!r} holds something that is not text")
    return values


def _row(row: Any, *types: type) -> Any:
    if not isinstance(row, list) or tuple(map(type, row)) != types:
        raise ValueError(f"expected {[t.__name__ for t in types]}, got {row!r:.100}")
    return row


def is_unicode(text: str) -> bool:
    """Whether `text` has a UTF-8 form, which lone surrogates have not."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
