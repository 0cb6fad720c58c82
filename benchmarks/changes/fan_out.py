"""One commit of 1,000 rows to 1,000 subscribers in this process, from the moment it is in the log until all have it."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.changes.cell import Cell
from penstock.api import open_lazily
from penstock.subscribe.subscription import Subscription
from penstock.testing.published import Published, PublishedTable

ROWS = SUBSCRIBERS = 1000


@cache
def _followed() -> tuple[PublishedTable, list[Subscription]]:
    root = Path(mkdtemp(prefix="penstock-fan-out-"))
    world = Published(root, open_lazily(root))
    table = world.keyed("followed", {"id": "long", "v": "long"}, ("id",))
    table.commit(put=[{"id": 0, "v": 0}], anew=True)
    return table, [world.tables.subscribe("followed") for _ in range(SUBSCRIBERS)]


def _fan_out() -> float:
    table, subscribers = _followed()
    table.commit(put=[{"id": at, "v": time.perf_counter_ns()} for at in range(ROWS)])
    began = time.perf_counter()
    for subscriber in subscribers:
        changes = subscriber.next_commit(10)
        assert changes is not None
        assert changes.events == ROWS
    return (time.perf_counter() - began) / SUBSCRIBERS


def _by_hand() -> float:
    """The plain way: each subscriber gets a list of dictionaries of its own."""
    table, _ = _followed()
    began = time.perf_counter()
    copies = [[dict(row) for row in table.rows] for _ in range(20)]
    return (time.perf_counter() - began) / len(copies)


CELLS = [Cell("one commit of 1,000 rows, per subscriber of 1,000", 50e-6, _fan_out, _by_hand)]
