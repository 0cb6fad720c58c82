"""An alert as the payload of a notification: one JSON object in ASCII, below PostgreSQL's limit of 8000 bytes.

What does not fit is cut where it is longest, and `cut` names what was cut; the catalog keeps the whole alert.
"""

from __future__ import annotations

import json
from typing import Final

from penstock.catalog.model import Alert

CHANNEL: Final = "penstock_alert"
LIMIT: Final = 7999
_NOTE: Final = len(', "cut": []')


def payload(alert: Alert) -> str:
    """The text that listeners get.

    >>> from datetime import UTC, datetime
    >>> from penstock.catalog.model import AlertEvent
    >>> text = payload(Alert(AlertEvent.RESUMED, 'a"b', datetime(2026, 1, 1, tzinfo=UTC), {"by": "ann"}))
    >>> json.loads(text)["st"], json.loads(text)["by"]
    ('a"b', 'ann')
    """
    fields = alert.to_json()
    longest_first = sorted(alert.facts, key=lambda fact: -len(json.dumps(fields[fact])))
    cut: list[str] = []
    for name in (*longest_first, "st"):
        text = json.dumps(fields)
        if len(text) <= LIMIT:
            break
        cut.append(name)
        note = 0 if len(cut) > 1 else _NOTE
        room = LIMIT - (len(text) - len(json.dumps(fields[name]))) - note - len(json.dumps(name)) - 2
        fields[name] = _shortened(str(fields[name]), room)
        fields["cut"] = cut
    return json.dumps(fields)


def _shortened(value: str, room: int) -> str:
    # Quotes and the sign that something is missing.
    left = room - len(json.dumps("…"))
    kept = 0
    for character in value:
        left -= len(json.dumps(character)) - 2
        if left < 0:
            break
        kept += 1
    return value[:kept] + "…"
