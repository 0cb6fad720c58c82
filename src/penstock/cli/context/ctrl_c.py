"""Ctrl-C ends a command: what Spark does for it is cancelled, one line says so, and the exit code is 130.

The second one ends the process at once, which is no worse than a kill: nothing is lost by that.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import typer
from typer.core import TyperGroup

from penstock.cli.exit_codes import INTERRUPTED


class Commands(TyperGroup):
    """All commands, each of which Ctrl-C ends."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            with _twice_at_most():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _twice_at_most() -> Iterator[None]:
    pressed = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            os._exit(INTERRUPTED)
        pressed = True
        raise KeyboardInterrupt

    with handling(stop):
        yield


@contextmanager
def handling(handler: Any) -> Iterator[None]:
    """Let this handle SIGINT while the block runs."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
