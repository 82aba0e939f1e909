"""DSPy over our chat model and our form of prompt.

DSPy's optimizers search over instructions and demonstrations of a predictor. Here those are exactly system.md
and demos.jsonl: `_form_of` renders them as `Prompt.render` does, so what is optimised is what runs. Calls go
through our `ChatModel`, with its cache, budget and errors; neither litellm nor DSPy's own cache is used.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hippo_lit.errors import ChatModelError, MissingExtraError
from hippo_lit.llm.prompts import Demo, Prompt
from hippo_lit.protocols import ChatModel
from hippo_lit.tune.score import OF_THE_PROMPT
from hippo_lit.tune.tasks import C, Task
from hippo_lit.types import Message


def import_dspy(cache: Path) -> Any:
    """The package, told to keep its files in `cache`. Raises MissingExtraError."""
    os.environ.setdefault("DSPY_CACHEDIR", str(cache))
    try:
        import dspy
    except ImportError as error:
        raise MissingExtraError(
            "the optimizers are DSPy's: pip install 'hippo-lit[tune]'", package="dspy", extra="tune"
        ) from error
    return dspy


class ChatEngine:
    """A DSPy engine that asks a ChatModel. The last error is kept, since DSPy hides what it wraps."""

    def __init__(self, chat: ChatModel, schema: Mapping[str, Any] | None = None) -> None:
        self._chat = chat
        self._schema = schema
        self.error: ChatModelError | None = None
        self._free = threading.Condition()
        self._asking = 0
        self._ended = False

    def complete(self, request: Any) -> Any:
        """One canonical request, one response. DSPy's temperatures do not reach the model: ours rule."""
        with self._call():
            return self._complete(request)

    def end(self) -> None:
        """Ask nothing more, and wait for what is on its way: DSPy leaves its threads behind on Ctrl-C, and
        what they are told must still reach the cache.
        """
        with self._free:
            self._ended = True
            self._free.wait_for(lambda: self._asking == 0)

    @contextlib.contextmanager
    def _call(self) -> Iterator[None]:
        with self._free:
            if self._ended:
                raise ChatModelError(
                    "the search was ended", model=self._chat.name, status=None, kind="interrupted"
                )
            self._asking += 1
        try:
            yield
        finally:
            with self._free:
                self._asking -= 1
                self._free.notify_all()

    def _complete(self, request: Any) -> Any:
        from dspy import lm15

        system = request.system if isinstance(request.system, str | None) else _joined(request.system)
        turns = [Message("system", system)] if system else []
        turns += [
            Message("assistant" if m.role == "assistant" else "user", m.text or "") for m in request.messages
        ]
        try:
            reply = self._chat.complete(turns, schema=self._schema)
            text = reply.text
        except ChatModelError as error:
            if error.fields.get("kind") not in OF_THE_PROMPT:
                self.error = error
                raise
            text = "-"  # a reply that cannot be read: worth 0
        return lm15.Response(
            id=None,
            model=self._chat.name,
            message=lm15.Message.assistant([lm15.TextPart(text)]),
            finish_reason="stop",
            usage=lm15.Usage(),
        )

    def close(self) -> None:
        """The chat model is borrowed."""


def language_model(
    dspy: Any, chat: ChatModel, schema: Mapping[str, Any] | None = None
) -> tuple[Any, ChatEngine]:
    """A dspy.LM over `chat`, and its engine."""
    engine = ChatEngine(chat, schema)
    return dspy.LM("hippo-lit", cache=False, num_retries=0, engine=engine), engine


def program_of(dspy: Any, prompt: Prompt) -> Any:
    """A DSPy program of one predictor: instructions and demos are the prompt's."""
    fields = {name: (object, dspy.InputField()) for name in sorted(prompt.variables)}
    fields["reply"] = (str, dspy.OutputField())
    signature = dspy.Signature(fields, prompt.system)
    form = _form_of(dspy, prompt)

    class Program(dspy.Module):  # type: ignore[misc]
        """Asks a question in the form of our prompt."""

        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict(signature)
            self.ask.demos = [dspy.Example(**demo.input, reply=demo.output) for demo in prompt.demos]

        def forward(self, **given: Any) -> Any:
            with dspy.context(adapter=form):  # here only: what optimizers ask themselves is in DSPy's form
                return self.ask(**given)

    return Program()


def _form_of(dspy: Any, prompt: Prompt) -> Any:
    """The DSPy adapter that writes our form and takes the reply as it is."""

    class OurForm(dspy.Adapter):  # type: ignore[misc]
        def format(
            self, signature: Any, demos: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any]
        ) -> list[dict[str, str]]:
            shown = replace(prompt, system=signature.instructions, demos=_demos(prompt, demos))
            turns = shown.render(**{name: inputs[name] for name in prompt.variables})
            return [{"role": turn.role, "content": turn.content} for turn in turns]

        def parse(self, signature: Any, completion: str) -> dict[str, Any]:  # noqa: ARG002 - DSPy's
            return {"reply": completion}

    return OurForm()


def prompt_of(program: Any, prompt: Prompt, task: Task[C], cases: Sequence[C]) -> Prompt:
    """The program's instructions and demos as a prompt; replies that became demos, in their plain form."""
    demos = []
    for demo in _demos(prompt, program.ask.demos):
        case = next((c for c in cases if demo.input == task.variables(c)), None)
        written = demo.output if isinstance(demo.output, str) else None
        output = (
            task.demonstration(case, written) if case is not None and written is not None else demo.output
        )
        demos.append(Demo(demo.input, output))
    return replace(prompt, system=program.ask.signature.instructions, demos=tuple(demos))


@contextlib.contextmanager
def quietly(log: Path) -> Iterator[None]:
    """What DSPy prints goes to a file: stdout is for results, stderr for what we say."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("a", encoding="utf-8") as out,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        yield


def _demos(prompt: Prompt, demos: Sequence[Mapping[str, Any]]) -> tuple[Demo, ...]:
    return tuple(
        Demo({name: demo[name] for name in prompt.variables}, demo["reply"])
        for demo in demos
        if "reply" in demo and all(name in demo for name in prompt.variables)
    )


def _joined(parts: Sequence[Any]) -> str:
    return "".join(part.text for part in parts)
