"""What becomes of an error: one message on stderr and an exit code, for every command alike."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from hippo_lit.cli import EXIT_INTERRUPTED
from hippo_lit.cli.output import Sparing, say
from hippo_lit.errors import HippoLitError
from hippo_lit.retry import telling

EXIT_USAGE, EXIT_BUG = 2, 70


class Group(TyperGroup):
    """Runs a command and turns what it raises into a message and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # Known before any option is parsed, so that a wrong option is reported in JSON too.
        ctx.obj = {"json": "--json" in takewhile(lambda arg: arg != "--", args)}
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        as_json = bool(ctx.obj["json"])
        try:
            with telling(Sparing(say)):
                result = super().invoke(ctx)
            sys.stdout.flush()  # a full disk or a closed pipe is met here, not after the last handler
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except typer.TyperException as error:
            if not as_json:
                raise
            _fail("UsageError", error.format_message(), EXIT_USAGE, as_json=True)
        except Exception as error:
            if ctx.params.get("debug") or _is_broken_pipe(error):
                raise
            _report(error, as_json=as_json)
        else:
            return result


def _report(error: Exception, *, as_json: bool) -> NoReturn:
    name = type(error).__name__
    if isinstance(error, HippoLitError):
        _fail(name, error.message, error.exit_code, error.fields, as_json=as_json)
    if isinstance(error, OSError):
        _fail(name, str(error), 1, as_json=as_json)
    what = f"internal error ({name}: {error}). This is a bug in hippo-lit: please report it with what "
    _fail(name, f"{what}`hippo-lit --debug …` prints for the same command.", EXIT_BUG, as_json=as_json)


def _fail(
    kind: str, message: str, code: int, fields: Mapping[str, Any] | None = None, *, as_json: bool
) -> NoReturn:
    if as_json:
        told = {"type": kind, "message": message, "exit_code": code, **(fields or {})}
        sys.stderr.write(json.dumps({"error": told}, default=str) + "\n")
    else:
        say(f"error: {message}")
    raise typer.Exit(code)


def _is_broken_pipe(error: Exception) -> bool:
    """The reader of our output went away (`| head`): typer ends the program quietly."""
    return isinstance(error, OSError) and error.errno == errno.EPIPE
