"""The answer of `GET /changes`: events, and the cursor for the next request.

Keys are in byte order. `lost` is there only if the reader has missed something.
"""

from __future__ import annotations

from typing import Any

from penstock.changes.ring.polled import Polled
from penstock.changes.wire.canonical_json import canonical_json


def changes_page(polled: Polled) -> bytes:
    """One page as JSON."""
    page: dict[str, Any] = {
        "events": [event.to_json_value() for event in polled.events],
        "next_lsn": polled.next_lsn,
        "ok": True,
    }
    if polled.lost:
        page["lost"] = polled.lost
    return canonical_json(page)
