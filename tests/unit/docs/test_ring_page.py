"""The examples of the page about the ring print what the page says, and its limits are those of the code."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from generate import DOCS

from penstock.changes.ring.event_columns import NAMES
from penstock.subscribe.key_watch import BUFFER_EVENTS, IDLE_SECONDS
from penstock.testing.published import Published
from python_blocks import blocks

PAGE = DOCS / "concepts" / "ring.md"


def test_the_examples(tmp_path: Path) -> None:
    with Published.open(tmp_path) as world:
        sales = world.keyed("sales", {"region": "string", "total": "long"}, key=("region",))
        sales.commit(put=[{"region": "eu", "total": 1}, {"region": "us", "total": 2}])
        found = blocks(PAGE)
        assert len(found) == 6
        for (_, program), (_, printed) in zip(found[::2], found[1::2], strict=True):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(program, {"ps": world.tables})
            assert out.getvalue() == printed


def test_the_limits() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"at most {BUFFER_EVENTS:,} events wait" in text
    assert f"after {IDLE_SECONDS:.0f} seconds" in text
    assert f"Arrow columns: {', '.join(NAMES)} |" in text
