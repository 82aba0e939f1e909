"""One prompt on one question, with everything that a person needs to see why it went so."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hippo_lit.llm.forgetting import forget_reply
from hippo_lit.llm.prompts import Prompt
from hippo_lit.llm.replies import UnreadableReplyError
from hippo_lit.llm.tokens import prompt_tokens
from hippo_lit.protocols import ChatModel
from hippo_lit.tune.tasks import C, Read, Task
from hippo_lit.types import Message, Usage


@dataclass(frozen=True, slots=True)
class Trial:
    """`error` says why the reply cannot be read; `tokens` estimates the prompt's."""

    label: str
    hash: str
    messages: tuple[Message, ...]
    reply: str
    finish_reason: str
    parsed: tuple[Read, ...]
    error: str
    tokens: int
    usage: Usage

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def try_prompt(task: Task[C], chat: ChatModel, prompt: Prompt, case: C, *, label: str = "") -> Trial:
    """One call. Raises ChatModelError; a reply that cannot be read is no error."""
    messages = prompt.render(**task.variables(case))
    reply = chat.complete(messages, schema=task.schema)
    parsed: tuple[Read, ...] = ()
    error = ""
    try:
        parsed = task.read(case, reply.text)
    except UnreadableReplyError as why:
        error = str(why)
        forget_reply(chat, messages, schema=task.schema)
    return Trial(
        label or prompt.name,
        prompt.hash,
        messages,
        reply.text,
        reply.finish_reason,
        parsed,
        error,
        prompt_tokens(messages),
        reply.usage,
    )
