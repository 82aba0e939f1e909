"""What `prompt` and `tune` print for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.columns import Columns
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from hippo_lit.cli.tables import percent, table, with_interval
from hippo_lit.render import printable, shorten, usage_text

if TYPE_CHECKING:
    from hippo_lit.tune.score import PromptScore
    from hippo_lit.tune.trial import Trial
    from hippo_lit.types import Message


def listed(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Table:
    """One prompt a row."""
    shown = table("prompt", "in use", "hash", "demos", "tokens", "versions")
    for row in rows:
        used = row["version"] or ("broken" if row["error"] else "edited by hand")
        versions = ", ".join(row["versions"]) or "–"
        shown.add_row(
            printable(row["name"]), used, row["hash"][:12], str(row["demos"]), f"{row['tokens']:,}", versions
        )
    shown.caption = (
        f"{printable(str(folder))}{'' if folder.is_dir() else ' (not there: the shipped prompts)'}"
    )
    shown.caption_justify = "left"
    return shown


def trials(shown: tuple[str, Sequence[str]], tried: Sequence[Trial]) -> Iterator[RenderableType]:
    """What the case holds (a heading, lines), and for each prompt its call from the messages to the cost."""
    heading, lines = shown
    yield Text(heading, "bold")
    for number, line in enumerate(lines, start=1):
        yield Text(f"  {number}. {shorten(line, 400)}")
    for trial in tried:
        yield Text(f"\n{printable(trial.label)}  {trial.hash[:12]}", "bold")
        yield from _messages(trial.messages)
        yield Text("  reply", "dim").append(f" ({trial.finish_reason})")
        yield Text(f"    {shorten(trial.reply, 2000)}")
        yield _parsed(trial)
        about = f"about {trial.tokens:,} tokens of prompt"
        yield Text(f"  {about}; {usage_text(trial.usage)}", "dim")
    if len(tried) > 1:
        yield Text("\nKept", "bold")
        yield Columns([_kept(trial) for trial in tried], padding=(0, 4))


def scores(found: Sequence[PromptScore]) -> Table:
    """One prompt and model a row, in percent with 95% intervals; precision and recall are pooled."""
    names = list(dict.fromkeys(name for score in found for name in score.values))
    shown = table("prompt", "model", *names, "precision", "recall", "unreadable", "calls", "USD")
    for score in found:
        usage = score.usage
        shown.add_row(
            printable(score.label),
            printable(score.model),
            *(with_interval(score.figure(name)) for name in names),
            percent(score.precision),
            percent(score.recall),
            str(len(score.failed)),
            f"{usage.calls:,} (+{usage.cached_calls:,} kept)",
            "–" if usage.cost_usd is None else f"{usage.cost_usd:.4f}",
        )
    return shown


def _messages(messages: Sequence[Message]) -> Iterator[Text]:
    """System and question whole; of the demonstrations how many there are."""
    first, *demos, last = messages
    yield Text("  system", "dim")
    yield Text(_indented(first.content))
    if demos:
        yield Text(f"  {len(demos) // 2} demonstrations", "dim")
    yield Text("  user", "dim")
    yield Text(_indented(last.content))


def _parsed(trial: Trial) -> RenderableType:
    if trial.error:
        return Text(f"  cannot be read: {printable(trial.error)}", "red")
    if not trial.parsed:
        return Text("  read: nothing")
    shown = Text("  read\n", "dim")
    for one in trial.parsed:
        mark, style = ("-", "not dim red") if one.dropped else ("+", "not dim green")
        shown.append(f"    {mark} {shorten(one.text, 400)}\n", style)
        near = "" if one.similarity is None else f"{one.similarity:.2f} "
        beside = f"{near}{shorten(one.nearest, 90)}" if one.nearest else ""
        why = f"dropped: {one.dropped}" if one.dropped else ""
        if beside or why:
            shown.append(f"      {', '.join(part for part in (beside, why) if part)}\n")
    return shown


def _kept(trial: Trial) -> Text:
    lines = [f"  {shorten(one.text, 90)}" for one in trial.parsed if not one.dropped] or ["  nothing"]
    return Text("\n".join([f"  {printable(trial.label)}:", *lines]))


def _indented(text: str) -> str:
    return "\n".join(f"    {printable(line)}" for line in text.split("\n"))
