"""What every `ChatModel` must do."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import pytest

from hippo_lit.errors import ChatModelError
from hippo_lit.llm.parallel import map_bounded
from hippo_lit.models.chat import OpenAIChat
from hippo_lit.models.chat_cache import CachedChat
from hippo_lit.models.usage import MeteredChat
from hippo_lit.protocols import ChatModel
from hippo_lit.storage.cache import Cache
from hippo_lit.testing import FakeChatModel, ScriptedServer, chat_reply
from hippo_lit.types import Message, Reply

Make = Callable[[Sequence[str]], ChatModel]
ASK = [Message("system", "s"), Message("user", "q")]


@pytest.fixture(params=["fake", "openai", "cached", "metered"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """A factory of models that give the texts one after the other, the last one for ever."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as stack:

        def fake(texts: Sequence[str]) -> FakeChatModel:
            left = list(texts)
            return FakeChatModel(lambda _: left.pop(0) if len(left) > 1 else left[0])

        def build(texts: Sequence[str]) -> ChatModel:
            match request.param:
                case "openai":
                    server = stack.enter_context(ScriptedServer([chat_reply(text) for text in texts]))
                    model = OpenAIChat("m", base_url=server.base_url, wait_s=0.0, max_attempts=1)
                    return stack.enter_context(model)
                case "cached":
                    return CachedChat(fake(texts), stack.enter_context(Cache(None)))
                case "metered":
                    return MeteredChat(fake(texts), "stage")
            return fake(texts)

        yield build


def test_it_answers_and_says_what_it_cost(make: Make) -> None:
    chat = make(["β = 1\n"])
    assert isinstance(chat, ChatModel)
    assert chat.name
    reply = chat.complete(ASK)
    assert (reply.text, reply.finish_reason, reply.usage.calls) == ("β = 1\n", "stop", 1)


def test_a_schema_may_be_given(make: Make) -> None:
    schema = {"type": "object", "properties": {"facts": {"type": "array"}}}
    assert make(['{"facts": []}']).complete(ASK, schema=schema).text == '{"facts": []}'


@pytest.mark.parametrize("nothing", ["", "  \n"])
def test_an_empty_text_is_an_error_that_crosses_processes(make: Make, nothing: str) -> None:
    with pytest.raises(ChatModelError) as caught:
        make([nothing]).complete(ASK)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.kind, str(again)) == ("empty_reply", str(caught.value))


def test_it_recovers_after_an_error(make: Make) -> None:
    chat = make(["", "fine"])
    with pytest.raises(ChatModelError):
        chat.complete(ASK)
    assert chat.complete(ASK).text == "fine"


def test_threads_can_share_it(make: Make) -> None:
    chat = make(["same"])
    asks = [[Message("user", str(n))] for n in range(12)]
    replies = list(map_bounded(chat.complete, asks, 4))
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == ["same"] * 12
