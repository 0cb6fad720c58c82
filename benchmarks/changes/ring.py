"""The ring, beside a deque of objects under a lock that is scanned at every poll."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np

from benchmarks.changes.cell import Cell, per_row
from penstock.changes.ring.cdc_buffer import CdcBuffer
from penstock.changes.wire.change_operation import ChangeOperation

RING_EVENTS = 1_000_000
BATCH = 100_000
PAGE = 100
WRITERS = 16
INSERT = ChangeOperation.INSERT


@dataclass(frozen=True)
class PlainEvent:
    """What the plain ring holds."""

    lsn: int
    timestamp: int
    operation: str
    collection: str
    entity_id: int
    entity_kind: str


class PlainRing:
    """One object per event, one lock."""

    def __init__(self, max_size: int) -> None:
        self.lsn = 0
        self.lock = threading.Lock()
        self.events: deque[PlainEvent] = deque(maxlen=max_size)

    def emit(self, collection: str, entity_id: int) -> None:
        """Add one event."""
        with self.lock:
            self.lsn += 1
            at = time.time_ns() // 1_000_000
            self.events.append(PlainEvent(self.lsn, at, "insert", collection, entity_id, "row"))

    def poll(self, since: int, count: int) -> list[PlainEvent]:
        """Look at every event."""
        with self.lock:
            return list(islice((event for event in self.events if event.lsn > since), count))


@cache
def full_of_batches() -> CdcBuffer:
    """A full ring that got its events in batches, and then half a batch more."""
    ring = CdcBuffer(RING_EVENTS)
    for _ in range(RING_EVENTS // BATCH):
        ring.emit_batch_same_collection(INSERT, "orders", "row", np.arange(BATCH))
    ring.emit_batch_same_collection(INSERT, "orders", "row", np.arange(BATCH // 2))
    return ring


@cache
def full_of_single_events() -> CdcBuffer:
    """A full ring that got its events one by one."""
    ring = CdcBuffer(RING_EVENTS)
    for number in range(RING_EVENTS):
        ring.emit(INSERT, "orders", number, "row")
    return ring


@cache
def full_plain() -> PlainRing:
    """The plain ring, full."""
    ring = PlainRing(RING_EVENTS)
    for number in range(RING_EVENTS):
        ring.emit("orders", number)
    return ring


def batch_emit() -> float:
    """Ids from NumPy into a ring that is full from the tenth batch on."""
    ring, ids = CdcBuffer(RING_EVENTS), np.arange(BATCH)
    return per_row(lambda: ring.emit_batch_same_collection(INSERT, "orders", "row", ids), BATCH, 20)


def plain_batch_emit() -> float:
    """The same one by one."""
    ring = PlainRing(RING_EVENTS)

    def emit() -> None:
        for number in range(BATCH):
            ring.emit("orders", number)

    return per_row(emit, BATCH, 1)


def newest(ring: Callable[[], CdcBuffer]) -> Callable[[], float]:
    """A reader that is a page behind, which every live reader is."""

    def measure() -> float:
        filled = ring()
        since = filled.current_lsn() - PAGE
        return per_row(lambda: filled.poll(since, PAGE), PAGE, 200)

    return measure


def middle_of_batches() -> float:
    """A reader in the middle of the ring, across the border of two batches."""
    ring = full_of_batches()
    since = RING_EVENTS // 2 + BATCH // 2 - PAGE // 2 + BATCH // 2
    return per_row(lambda: ring.poll(since, PAGE), PAGE, 200)


def columns_of_batches() -> float:
    """The whole ring as Arrow columns."""
    ring = full_of_batches()
    return per_row(lambda: ring.poll_columns(0, RING_EVENTS), RING_EVENTS, 3)


def plain_poll() -> float:
    """A page of the plain ring."""
    ring = full_plain()
    return per_row(lambda: ring.poll(RING_EVENTS - PAGE, PAGE), PAGE, 1)


def plain_columns() -> float:
    """All of the plain ring."""
    ring = full_plain()
    return per_row(lambda: ring.poll(0, RING_EVENTS), RING_EVENTS, 1)


def by_many_writers(emit: Callable[[int], object]) -> float:
    """Seconds per event while sixteen threads emit one by one."""
    each = 2_000

    def write() -> None:
        for number in range(each):
            emit(number)

    threads = [threading.Thread(target=write) for _ in range(WRITERS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - began) / (each * WRITERS)


def many_writers() -> float:
    """Sixteen writers of single events."""
    ring = CdcBuffer(RING_EVENTS)
    return by_many_writers(lambda number: ring.emit(INSERT, "orders", number, "row"))


def plain_many_writers() -> float:
    """Sixteen writers of the plain ring."""
    ring = PlainRing(RING_EVENTS)
    return by_many_writers(lambda number: ring.emit("orders", number))


CELLS = [
    # 20 million rows a second.
    Cell("ring: emit in batches of 100,000", 50e-9, batch_emit, plain_batch_emit),
    # 20 µs for a page of 100.
    Cell("ring of 1M: poll the newest 100", 200e-9, newest(full_of_batches), plain_poll),
    Cell("ring of 1M: poll 100 across two batches", 200e-9, middle_of_batches, plain_poll),
    Cell("ring of 1M single events: poll 100", 200e-9, newest(full_of_single_events), plain_poll),
    Cell("ring of 1M: everything as columns", 50e-9, columns_of_batches, plain_columns),
    # One shared lock was said to allow 1,000 events a second.
    Cell("ring: 16 writers, an event at a time", 1e-3, many_writers, plain_many_writers),
]
"""Seconds per row."""
