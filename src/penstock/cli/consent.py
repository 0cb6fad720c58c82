"""Asking before something is removed or rebuilt.

The question is put on a terminal, where somebody can see it and answer. Anywhere else, and where the output is for a
program, only `--yes` is a yes: what comes through a pipe is not, and without it nothing is done.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from penstock.errors import NotConfirmed

Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask; needed where nobody can be asked.")]


def agree(question: str, *, yes: bool, as_json: bool) -> None:
    """Return if somebody wants it; end the command if not. Called with the warehouse open, before it is changed."""
    if yes:
        return
    if not can_ask(as_json):
        raise NotConfirmed(question=question)
    typer.confirm(question, abort=True)


def can_ask(as_json: bool) -> bool:
    """True if there is somebody to see a question and answer it."""
    return not as_json and sys.stdin.isatty() and sys.stdout.isatty()
