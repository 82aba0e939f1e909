"""Results made to fit a number of tokens: best first, cut at the ends of sentences, always alike.

Both forms of a result have to fit: the JSON and the text. Tokens are those of `llm.tokens.count_tokens`;
its pieces never reach over a quote, a sign or a space, so that the sum over parts is at least the whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from hippo_lit.llm.tokens import count_tokens
from hippo_lit.render import MAX_TITLE_CHARS, printable, shorten, title_text
from hippo_lit.sentences import split_sentences

MAX_TEXT_CHARS, MAX_NAME_CHARS = 100_000, 200
_MARKER = "cut"
_MARK_TOKENS, _NAME_TOKENS = 8, 4  # what the list of cut fields takes, and a name in it, in either form
# Image links are fetched by whoever shows them, and tags or a model's own marks are no part of a text.
_ACTIVE = re.compile(r"!(?=\[)|<(?=[A-Za-z/!?|])")

T = TypeVar("T")


def safe(text: str, most: int = MAX_TEXT_CHARS) -> str:
    """One line of plain text: no terminal steers by it, no chat shows it as an image or a tag.

    >>> safe("See ![x](http://e.vil/a)\\n<img src=y> \\x1b[31mp < 0.5")
    'See ! [x](http://e.vil/a) < img src=y> [31mp < 0.5'
    """
    return _ACTIVE.sub(lambda found: f"{found[0]} ", printable(text[:most]))


def safe_title(text: str) -> str:
    return title_text(safe(text, 4 * MAX_TITLE_CHARS))


def safe_name(text: str) -> str:
    return shorten(safe(text, 4 * MAX_NAME_CHARS), MAX_NAME_CHARS)


def compact(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_tokens(value: Any) -> int:
    """What a part of a result takes as JSON, with what parts it from the next."""
    return count_tokens(compact(value)) + 1


def entry_text(entry: Mapping[str, Any]) -> str:
    """A paper as text: `[id] title`, then a line a field; what comes from papers never begins a line."""
    relation = f" ({entry['relation']})" if "relation" in entry else ""
    lines = [f"[{safe(str(entry['id']))}]{relation} {entry.get('title', '')}".rstrip()]
    for name, value in entry.items():
        match name:
            case "id" | "title" | "relation":
                continue
            case "summary" | "abstract":
                lines.append(f"  {value}")
            case "facts":
                stated = (f"{fact['subject']} | {fact['relation']} | {fact['object']}" for fact in value)
                lines.append(f"  facts: {'; '.join(stated)}")
            case _:
                shown = "; ".join(map(str, value)) if isinstance(value, list | tuple) else value
                lines.append(f"  {name}: {shown}")
    return "\n".join(lines)


def tokens_of(entry: Mapping[str, Any]) -> int:
    """What an entry takes of either form, whichever is more, with what parts it from the next one."""
    return 1 + max(count_tokens(compact(entry)), count_tokens(entry_text(entry)))


def fit_entry(entry: Mapping[str, Any], tokens: int) -> dict[str, Any] | None:
    """As much of `entry` as `tokens` hold, its fields in their order; None where not even its id and title
    do. Texts are cut at ends of sentences and lists after an element; `cut` names what is not whole.
    """
    if tokens_of(entry) <= tokens:
        return dict(entry)
    kept = {name: entry[name] for name in ("id", "title") if name in entry}
    cut: list[str] = []
    rest = [(name, value) for name, value in entry.items() if name not in kept]
    # Every field may come to be named as cut: better a little too short than a little too long.
    left = tokens - tokens_of(kept) - _MARK_TOKENS - _NAME_TOKENS * len(rest)
    if left < 0:
        return None
    for name, value in rest:
        part = _part(name, value, left - count_tokens(f'"{name}":[],'))
        if part != value:
            cut.append(name)
        if part is not None:
            before = tokens_of(kept)
            kept[name] = part
            left -= tokens_of(kept) - before
    return kept | ({_MARKER: cut} if cut else {})


def fit_entries(entries: Iterable[Mapping[str, Any]], tokens: int) -> list[dict[str, Any]]:
    """The first entries that fit together; the last of them may be cut.

    Of one at the head whose title alone is too long the id is left, so that it does not hide the rest.
    """
    fitted: list[dict[str, Any]] = []
    headless = True
    for entry in entries:
        part = fit_entry(entry, tokens)
        if part is None and headless:
            bare = id_alone(entry)
            if tokens_of(bare) <= tokens:
                fitted.append(bare)
                tokens -= tokens_of(bare)
                continue
        if part is None:
            break
        headless = False
        fitted.append(part)
        tokens -= tokens_of(part)
        if _MARKER in part and _MARKER not in entry:
            break
    return fitted


def id_alone(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": entry["id"], _MARKER: [name for name in entry if name != "id"]}


def fit_text(text: str, tokens: int) -> str:
    """The first sentences of `text` that `tokens` hold; "" where not even the first does."""
    if count_tokens(compact(text)) <= tokens:
        return text
    return " ".join(_first(split_sentences(text), tokens))


def fit_items(items: Sequence[T], tokens: int) -> list[T]:
    """The first JSON-ready items that `tokens` hold."""
    return list(_first(items, tokens))


def _part(name: str, value: Any, tokens: int) -> Any:
    """What of a field fits, None where nothing does."""
    if name in ("summary", "abstract"):
        return fit_text(value, tokens) or None
    if isinstance(value, list):
        return fit_items(value, tokens) or None
    return value if count_tokens(compact(value)) <= tokens else None


def _first(items: Iterable[T], tokens: int) -> Iterator[T]:
    for item in items:
        tokens -= json_tokens(item)
        if tokens < 0:
            return
        yield item
