"""One call whose reply is a list under a known key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hippo_lit.errors import ChatModelError
from hippo_lit.llm.forgetting import forget_reply
from hippo_lit.llm.replies import UnreadableReplyError, read_reply
from hippo_lit.protocols import ChatModel
from hippo_lit.types import Message


def ask_for_list(
    chat: ChatModel, messages: Sequence[Message], schema: Mapping[str, Any], keys: Sequence[str], what: str
) -> tuple[list[Any], bool]:
    """The list in the reply, and whether it was broken off after some of it; an empty list is an answer.

    Raises ChatModelError, of kind "unreadable" or "truncated" where there is no list; such a reply is not
    left in a chat model's cache. `what` names the reply in the message.
    """
    reply = chat.complete(messages, schema=schema)
    cut = reply.finish_reason == "length"
    try:
        found, broken_off = _list(reply.text, keys)
    except UnreadableReplyError as e:
        forget_reply(chat, messages, schema=schema)
        message = f"{what} cannot be read: {e}"
        kind = "truncated" if cut else "unreadable"
        raise ChatModelError(message, model=chat.name, status=None, kind=kind) from e
    return found, cut or broken_off


def _list(text: str, keys: Sequence[str]) -> tuple[list[Any], bool]:
    read = read_reply(text)
    under_key = read.member(*keys)
    found = (under_key or read.lists)[-1:]
    if not found or not isinstance(found[0], list):
        raise UnreadableReplyError("it holds no list")
    if read.broken_off and not found[0]:
        raise UnreadableReplyError("it breaks off before the first item of its list")
    return found[0], read.broken_off
