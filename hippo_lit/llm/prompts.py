"""Prompts are plain files, so that a person can read, compare and change them without code.

A prompt is a folder::

    system.md     the task; sent as it stands
    user.md       the question form, with `string.Template` variables ($question; $$ is a dollar sign)
    demos.jsonl   optional worked examples, one a line: {"input": {variable: value}, "output": value}

A value is text, or any other JSON, which is written into the prompt by `as_data`. Demonstrations are
rendered through the same user.md as the real question, so the two never drift apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Any

from hippo_lit.errors import PromptError
from hippo_lit.text import content_hash
from hippo_lit.types import Message


@dataclass(frozen=True, slots=True)
class Demo:
    """One worked example: the variables of user.md, and the reply they should get."""

    input: Mapping[str, Any]
    output: Any


@dataclass(frozen=True, slots=True)
class Prompt:
    """A chat prompt. `system` is sent as it stands; `user` is a `string.Template`."""

    name: str
    system: str
    user: str
    demos: tuple[Demo, ...] = ()

    @property
    def hash(self) -> str:
        """Identifies the prompt's content, whatever its name and its line ends."""
        demos = (json.dumps([dict(demo.input), demo.output]) for demo in self.demos)
        return content_hash(_unix(self.system), _unix(self.user), *demos)

    @property
    def variables(self) -> frozenset[str]:
        """The names that `render` needs."""
        return frozenset(Template(self.user).get_identifiers())

    def render(self, **variables: Any) -> tuple[Message, ...]:
        """The messages to send: system, a user and assistant turn for each demo, then the question.

        Text goes in as it is and a `$` inside it is not expanded again; other values go in by `as_data`.
        Raises PromptError where a variable of user.md is missing or one is given that it does not use.
        """
        turns = [Message("system", self.system)]
        for demo in self.demos:
            turns += [Message("user", self._fill(demo.input)), Message("assistant", _reply(demo.output))]
        return (*turns, Message("user", self._fill(variables)))

    def check_variables(self, *given: str) -> None:
        """Raise PromptError unless user.md uses exactly these variables."""
        if missing := self.variables - set(given):
            raise PromptError(f"prompt {self.name!r} needs {_names(missing)}", name=self.name)
        if unused := set(given) - self.variables:
            raise PromptError(f"prompt {self.name!r} does not use {_names(unused)}", name=self.name)

    def _fill(self, variables: Mapping[str, Any]) -> str:
        self.check_variables(*variables)
        texts = {k: v if isinstance(v, str) else as_data(v) for k, v in variables.items()}
        return Template(self.user).substitute(texts)


def load_prompt(folder: str | Path) -> Prompt:
    """Read a prompt folder. Raises PromptError (path; for a demo, line) where a file is not as it should."""
    folder = Path(folder)
    if not folder.is_dir():
        raise PromptError(f"no prompt folder at {folder}", path=str(folder))
    user_path = folder / "user.md"
    user = _read(user_path).strip()
    if not Template(user).is_valid():
        what = "a '$' that starts no variable name; write '$$' for a dollar sign"
        raise PromptError(f"{user_path}: {what}", path=str(user_path))
    prompt = Prompt(folder.name, _read(folder / "system.md").strip(), user)
    demos = folder / "demos.jsonl"
    return replace(prompt, demos=_demos(demos, prompt.variables)) if demos.exists() else prompt


def write_prompt(prompt: Prompt, folder: Path) -> None:
    """Write a prompt's files into `folder`, which is made; what `load_prompt` reads has the same hash.

    Raises OSError.
    """
    folder.mkdir(parents=True)
    (folder / "system.md").write_text(_unix(prompt.system).strip() + "\n", "utf-8")
    (folder / "user.md").write_text(_unix(prompt.user).strip() + "\n", "utf-8")
    if prompt.demos:
        lines = (
            json.dumps({"input": dict(d.input), "output": d.output}, ensure_ascii=False) for d in prompt.demos
        )
        # A lone surrogate has no place in UTF-8: what a model was sent of it was a question mark, too.
        (folder / "demos.jsonl").write_bytes(
            "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        )


def load_instruction(path: str | Path) -> str:
    """The one line of an instruction file. Raises PromptError where it is missing, empty or longer."""
    text = _read(Path(path)).strip()
    if "\n" in text:
        raise PromptError(f"{path}: an instruction is one line; this file has more", path=str(path))
    return text


def as_data(value: object) -> str:
    """JSON that is safe between <tags> in a prompt: no text in `value` can close the tag or open one."""
    written = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    return written.replace("<", "\\u003c").replace(">", "\\u003e")


def _demos(path: Path, variables: frozenset[str]) -> tuple[Demo, ...]:
    lines = enumerate(_read(path).split("\n"), start=1)
    return tuple(read_demo(path, number, line, variables) for number, line in lines if line.strip())


def read_demo(path: Path, number: int, line: str, variables: frozenset[str]) -> Demo:
    """One line of a demos.jsonl. Raises PromptError (path, line)."""

    def bad(what: str) -> PromptError:
        return PromptError(f"{path}, line {number}: {what}", path=str(path), line=number)

    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as e:
        raise bad(f"not JSON ({e})") from e
    match record:
        case {"input": dict(given), "output": output, **rest} if not rest and output is not None:
            pass
        case _:
            raise bad('a demo is {"input": {variable: value}, "output": value} and nothing else')
    if given.keys() != variables:
        raise bad(f"its input must give exactly what user.md uses: {_names(variables)}")
    return Demo(given, output)


def _reply(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _read(path: Path) -> str:
    try:
        text = _unix(path.read_text("utf-8-sig"))
    except FileNotFoundError as e:
        raise PromptError(f"no such prompt file: {path}", path=str(path)) from e
    except (OSError, UnicodeDecodeError) as e:
        raise PromptError(f"cannot read {path} as UTF-8 text: {e}", path=str(path)) from e
    if not text.strip():
        raise PromptError(f"{path} is empty; delete it or write something into it", path=str(path))
    return text


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _names(variables: Iterable[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(variables))
