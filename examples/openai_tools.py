"""A model of any OpenAI-compatible server that answers with the papers of an index.

    HIPPO_LIT_INDEX=my.idx OPENAI_API_KEY=… python examples/openai_tools.py "does sparse attention work?"

The model decides which tools to call; what it writes is checked by `tool.call`, and failures go back to it as
text that says what to do.
"""

from __future__ import annotations

import sys
from typing import Any

from openai import OpenAI

from hippo_lit import tool

MAX_ROUNDS = 5


def ask(question: str, client: OpenAI, model: str = "gpt-4o-mini") -> str:
    """The model's answer after at most MAX_ROUNDS rounds of tool calls."""
    messages: list[Any] = [{"role": "user", "content": question}]
    tools: Any = tool.schemas("openai")
    for _ in range(MAX_ROUNDS):
        reply = client.chat.completions.create(model=model, messages=messages, tools=tools)
        message = reply.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message)
        for call in message.tool_calls:
            if call.type == "function":
                result = tool.call(call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result.text})
    return "no answer"


if __name__ == "__main__":
    sys.stdout.write(ask(" ".join(sys.argv[1:]), OpenAI()) + "\n")
