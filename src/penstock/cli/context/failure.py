"""How an error leaves the process: a short message and a hint on stderr, or one JSON document on stdout.

The user can mend errors of Penstock and Spark: they are printed without a traceback. Any other is a bug in Penstock.
"""

from __future__ import annotations

import os
import traceback
from typing import Any

import typer

from penstock.cli.exit_codes import CALLED_WRONGLY, FAILED
from penstock.errors import InternalError, NotConfirmed, PenstockError

TRACEBACK = "PENSTOCK_TRACEBACK"


def as_data(error: BaseException) -> dict[str, Any]:
    """The error, or that it was Ctrl-C, as plain data."""
    if isinstance(error, KeyboardInterrupt):
        return {"condition": "INTERRUPTED", "message": "interrupted"}
    if isinstance(error, PenstockError):
        return error.to_json()
    if type(error).__module__.startswith(("pyspark.", "py4j.")):
        return {"condition": _condition(error), "retry": "never", "message": _first_part(str(error)), "hint": ""}
    return InternalError(why=f"{type(error).__name__}: {error}").to_json()


def print_error(error: Exception) -> None:
    """Print the error for a person, on stderr."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    facts = as_data(error)
    head = typer.style(f"error[{facts['condition']}]:", fg="red", bold=True)
    message = str(facts["message"]).removeprefix(f"[{facts['condition']}] ")
    typer.echo(f"{head} {message}", err=True)
    hint = str(facts["hint"]).strip()
    if hint:
        typer.echo(_indented(hint), err=True)
    for note in getattr(error, "__notes__", ()):
        typer.echo(_indented(note), err=True)
    if facts["condition"] == InternalError.condition and not os.environ.get(TRACEBACK):
        typer.echo(f"  {TRACEBACK}=1 shows where it was raised.", err=True)


def _indented(text: str) -> str:
    return "\n".join("  " + line if line else line for line in text.splitlines())


def exit_code(error: Exception) -> int:
    """The exit code of the process; a command that lacks `--yes` was called wrongly."""
    return CALLED_WRONGLY if isinstance(error, NotConfirmed) else FAILED


def _condition(error: BaseException) -> str:
    ask = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    return str((ask() if ask else None) or "SPARK")


def _first_part(text: str) -> str:
    # Spark appends its plan and the JVM's stack; the sentence before them is what helps.
    lines: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith(("JVM stacktrace", "\tat ", "'", "+-", ":  +-")):
            break
        lines.append(line)
    return "\n".join(lines).strip().rstrip(";") or text.strip()[:500]
