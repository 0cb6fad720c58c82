"""Asking before something is removed or rebuilt.

The question is put on a terminal, where somebody can see it and answer. Anywhere else, and where the output is for a
program, only `--yes` is a yes: what comes through a pipe is not, and without it nothing is done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from penstock.cli.context.terminal import is_terminal
from penstock.errors import HasReaders, NotConfirmed, ReadersBreak, RetentionCut

Done = TypeVar("Done")
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask; needed where nobody can be asked.")]


def confirm(question: str, *, yes: bool, as_json: bool) -> None:
    """Return if somebody wants it; end the command if not. Called with the warehouse open, before it is changed."""
    if yes:
        return
    if not can_ask(as_json):
        raise NotConfirmed(question=question)
    typer.confirm(question, abort=True)


def can_ask(as_json: bool) -> bool:
    """True if there is somebody to see a question and answer it."""
    return not as_json and is_terminal(sys.stdin) and is_terminal(sys.stdout)


def confirm_if_refused(act: Callable[[bool], Done], *, yes: bool, as_json: bool) -> Done:
    """What an act returns that takes a yes or none; where it is refused for the sake of others, a terminal is asked."""
    try:
        return act(yes)
    except (HasReaders, ReadersBreak, RetentionCut) as refused:
        if not can_ask(as_json) or not typer.confirm(f"{refused.text}. Do it all the same?"):
            raise
    return act(True)
