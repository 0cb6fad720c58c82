"""Waking a coroutine from another thread: its future is settled on its own loop, if that still runs."""

from __future__ import annotations

import asyncio
from contextlib import suppress

Sleeper = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]
"""A coroutine that waits, by its loop and the future that it waits for."""


def wake(sleeper: Sleeper) -> None:
    """Let it go on; a loop that is closed has nobody to wake."""
    loop, future = sleeper
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, future)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
