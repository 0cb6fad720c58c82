"""Ctrl-C ends a command: it cancels what Spark does for it, prints one line, and exits with 130.

The second Ctrl-C ends the process at once. Like a kill, that loses nothing.
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
            with _second_one_kills():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _second_one_kills() -> Iterator[None]:
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
