"""Ask before a command removes or rebuilds something.

On a terminal it asks. Anywhere else, and with `--json`, only `--yes` counts: an answer through a pipe does not, and
without `--yes` the command does nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from penstock.cli.context.terminal import is_terminal
from penstock.errors import HasReaders, NotConfirmed, ReadersBreak, RetentionCut

Done = TypeVar("Done")
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask; needed without a terminal and with --json.")]


def confirm(question: str, *, yes: bool, as_json: bool) -> None:
    """Return on a yes; end the command on a no. Call it with the warehouse open, before changing it."""
    if yes:
        return
    if not can_ask(as_json):
        raise NotConfirmed(question=question)
    typer.confirm(question, abort=True)


def can_ask(as_json: bool) -> bool:
    """True if a person can see a question and answer it."""
    return not as_json and is_terminal(sys.stdin) and is_terminal(sys.stdout)


def confirm_if_refused(act: Callable[[bool], Done], *, yes: bool, as_json: bool) -> Done:
    """Act without a yes; if the API refuses for the sake of readers, ask, and act again with it."""
    try:
        return act(yes)
    except (HasReaders, ReadersBreak, RetentionCut) as refused:
        if not can_ask(as_json) or not typer.confirm(f"{refused.text}. Do it anyway?"):
            raise
    return act(True)
