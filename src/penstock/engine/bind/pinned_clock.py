"""The clock at a moment: `current_timestamp()`, `now()`, `current_date()` and `localtimestamp()` as given values.

    query at a frontier  =  query over pinned tables, at the frontier's data timestamp

A query that asks Spark for anything else of its surroundings (the user, the time zone's name) is refused, because a
result must be the same at every run.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.engine.spark.catalyst import Catalyst, node_kind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCKS = {
    "CurrentTimestamp": "now",
    "Now": "now",
    "CurrentDate": "CAST(now AS DATE)",
    "LocalTimestamp": "CAST(now AS TIMESTAMP_NTZ)",
}
"""What each clock function says, over a column `now`."""


def clock_text(expression: Any) -> str | None:
    """A clock function as text over a column `now`; None for any other expression."""
    return _CLOCKS.get(node_kind(expression))


def timestamp_text(moment: datetime) -> str:
    """A moment as SQL, whatever the session's time zone.

    >>> timestamp_text(datetime.fromisoformat("2026-01-01T00:00:00+00:00"))
    'timestamp_micros(1767225600000000L)'
    """
    return f"timestamp_micros({(moment - _EPOCH) // timedelta(microseconds=1)}L)"


def pin_clock(catalyst: Catalyst, plan: Any, moment: datetime | None) -> Any:
    """The plan with every clock function replaced by its value at a moment, if it is known."""
    if moment is None or not catalyst.contains(plan, "CURRENT_LIKE"):
        return plan
    now = timestamp_text(moment)

    def pinned(expression: Any) -> Any:
        text = clock_text(expression)
        return None if text is None else catalyst.resolved(text.replace("now", now), {})

    return catalyst.rewrite_expressions(plan, pinned)
