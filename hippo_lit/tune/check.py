"""What is wrong with a prompt's files: everything at once, where loading stops at the first fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from hippo_lit.answer.citations import find_citations
from hippo_lit.answer.replies import split_reply
from hippo_lit.errors import PromptError
from hippo_lit.extract.llm import read_extraction
from hippo_lit.filter.llm import read_matches
from hippo_lit.llm.prompts import Demo, Prompt, as_data, read_demo
from hippo_lit.llm.replies import UnreadableReplyError, read_reply
from hippo_lit.llm.tokens import count_tokens, prompt_tokens
from hippo_lit.types import Fact, ScoredFact

ERROR, WARNING = "error", "warning"
_LONG = 8000


@dataclass(frozen=True, slots=True)
class Finding:
    """`where` is a file, with its line where there is one."""

    severity: str
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Checked:
    """`tokens` estimates what a call takes before its question: system.md and the demonstrations."""

    findings: tuple[Finding, ...]
    demos: int
    tokens: int

    @property
    def good(self) -> bool:
        """Whether runs can use it."""
        return all(finding.severity != ERROR for finding in self.findings)


def check_folder(name: str, folder: Path, wanted: frozenset[str]) -> Checked:
    """The findings on a prompt folder whose user.md should use the variables `wanted`. Raises PromptError
    where there is no such folder.
    """
    if not folder.is_dir():
        raise PromptError(f"no prompt folder at {folder}", path=str(folder))
    findings: list[Finding] = []
    system, user = (_text(folder / file, findings) for file in ("system.md", "user.md"))
    findings += _in_system(Template(system))
    findings += _variables(Template(user), wanted) if user else ()
    demos = list(_demos(name, folder / "demos.jsonl", findings, wanted))
    tokens = count_tokens(system) + sum(
        count_tokens(as_data(dict(demo.input))) + count_tokens(as_data(demo.output)) for demo in demos
    )
    if user and all(finding.severity != ERROR for finding in findings):
        example = Prompt(name, system, user, tuple(demos)).render(**dict.fromkeys(wanted, ""))
        tokens = prompt_tokens(example)
    if tokens > _LONG:
        message = f"about {tokens:,} tokens before the question: every call pays for them"
        findings.append(Finding(WARNING, name, message))
    return Checked(tuple(findings), len(demos), tokens)


def _text(path: Path, findings: list[Finding]) -> str:
    try:
        text = path.read_text("utf-8-sig").strip()
    except FileNotFoundError:
        findings.append(Finding(ERROR, path.name, "it is missing"))
        return ""
    except (OSError, UnicodeDecodeError) as error:
        findings.append(Finding(ERROR, path.name, f"it cannot be read as UTF-8 text: {error}"))
        return ""
    if not text:
        findings.append(Finding(ERROR, path.name, "it is empty"))
    return text


def _variables(user: Template, wanted: frozenset[str]) -> Iterator[Finding]:
    if not user.is_valid():
        yield Finding(ERROR, "user.md", "a '$' that starts no variable name; write '$$' for a dollar sign")
        return
    used = set(user.get_identifiers())
    for missing in sorted(wanted - used):
        yield Finding(ERROR, "user.md", f"it does not use ${missing}: the model would not see the question")
    for unknown in sorted(used - wanted):
        known = ", ".join(f"${name}" for name in sorted(wanted))
        yield Finding(ERROR, "user.md", f"${unknown} is given by nobody; there is {known}")


def _in_system(system: Template) -> Iterator[Finding]:
    for name in sorted(system.get_identifiers()):
        yield Finding(
            WARNING, "system.md", f"${name} stays as it is: variables are replaced in user.md alone"
        )


def _demos(name: str, path: Path, findings: list[Finding], wanted: frozenset[str]) -> Iterator[Demo]:
    if not path.exists():
        return
    seen: dict[str, int] = {}
    for number, line in enumerate(_text(path, findings).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"demos.jsonl, line {number}"
        try:
            demo = read_demo(path, number, line, wanted)
        except PromptError as error:
            findings.append(Finding(ERROR, where, error.message.partition(": ")[2]))
            continue
        if (first := seen.setdefault(as_data(dict(demo.input)), number)) != number:
            findings.append(Finding(WARNING, where, f"it asks the same as line {first}"))
        if what := _READERS.get(name, _anything)(demo):
            findings.append(Finding(ERROR, where, what))
        yield demo


def _filter_demo(demo: Demo) -> str:
    data = demo.input.get("data")
    offered = data.get("candidates") if isinstance(data, Mapping) else None
    if not isinstance(offered, list) or not all(_is_fact(fact) for fact in offered) or not offered:
        return "its input must hold data with candidates, each [subject, relation, object]"
    candidates = [ScoredFact(Fact(*fact), 0.0) for fact in offered]
    try:
        matches = read_matches(_written(demo), candidates, cutoff=1.0, max_facts=len(offered))
    except UnreadableReplyError as error:
        return f"its output is no reply that can be read: {error}"
    strange = [match.text for match in matches if match.dropped]
    if strange:
        return f"its output keeps what is no candidate, or one twice: {strange[0]}"
    limit = data.get("limit") if isinstance(data, Mapping) else None
    if isinstance(limit, int) and len(matches) > limit:
        return f"its output keeps {len(matches)} facts, over its own limit of {limit}"
    return ""


def _extract_demo(demo: Demo) -> str:
    try:
        read_extraction(read_reply(_written(demo)))
    except UnreadableReplyError as error:
        return f"its output is no reply that can be read: {error}"
    return ""


def _answer_demo(demo: Demo) -> str:
    data = demo.input.get("data")
    papers = data.get("papers") if isinstance(data, Mapping) else None
    if not isinstance(papers, list) or not all(isinstance(p, Mapping) and "id" in p for p in papers):
        return 'its input must hold data with papers, each with an "id"'
    try:
        _, answer = split_reply(_written(demo))
    except UnreadableReplyError as error:
        return f"its output is no reply that can be read: {error}"
    unknown = find_citations(answer, [str(paper["id"]) for paper in papers], as_data(data)).unknown
    return f"its output cites what is not among its papers: {unknown[0]}" if unknown else ""


def _anything(demo: Demo) -> str:  # noqa: ARG001 - of other prompts any output will do
    return ""


def _is_fact(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) for part in value)


def _written(demo: Demo) -> str:
    return demo.output if isinstance(demo.output, str) else as_data(demo.output)


_READERS: dict[str, Callable[[Demo], str]] = {
    "fact_filter": _filter_demo,
    "extract": _extract_demo,
    "answer": _answer_demo,
}
