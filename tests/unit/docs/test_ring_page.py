"""The example of the page about the ring prints what the page says, and its limits are those of the code."""

from __future__ import annotations

import contextlib
import io

from generate import DOCS

from penstock.changes.event_columns import NAMES
from penstock.changes.kv_watch import BUFFER_EVENTS, IDLE_SECONDS
from python_blocks import blocks

PAGE = DOCS / "concepts" / "ring.md"


def test_the_example() -> None:
    (_, program), (_, printed) = blocks(PAGE)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {})
    assert out.getvalue() == printed


def test_the_limits() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"It holds {BUFFER_EVENTS:,} events" in text
    assert f"after {IDLE_SECONDS:.0f} seconds" in text
    assert f"Arrow columns: {', '.join(NAMES)} |" in text
