"""Eight writers and eight readers on one ring: no gap, no duplicate, no event out of order.

Every writer numbers its own events in their ids, so a reader can tell whether any of them is missing or in the wrong
place, whatever LSNs they got. Readers that fall behind must be told exactly how much they missed.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from penstock.changes.ring.cdc_buffer import CdcBuffer
from penstock.changes.ring.row_event import ChangeEvent
from penstock.changes.wire.change_operation import ChangeOperation

WRITERS = READERS = 8
ENOUGH = 10
"""Polls of each reader."""


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Threads take turns a hundred times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 100)
    yield
    sys.setswitchinterval(usual)


@dataclass
class Reading:
    """What a reader has seen."""

    cursor: int = 0
    events: int = 0
    lost: int = 0
    polls: int = 0
    wrong: list[str] = field(default_factory=list)
    newest: dict[str, int] = field(default_factory=dict)

    def take(self, events: list[ChangeEvent], next_lsn: int, lost: int) -> None:
        self.polls += 1
        expected = self.cursor + lost
        for event in events:
            expected += 1
            if event.lsn != expected:
                self.wrong.append(f"LSN {event.lsn} instead of {expected}")
            before = self.newest.get(event.collection, 0)
            # Without loss a writer's events come one by one; with it, they still only rise.
            if event.entity_id <= before or (not lost and not self.lost and event.entity_id != before + 1):
                self.wrong.append(f"{event.collection}: {event.entity_id} after {before}")
            self.newest[event.collection] = event.entity_id
        if next_lsn != expected:
            self.wrong.append(f"next is {next_lsn} instead of {expected}")
        self.cursor, self.events, self.lost = next_lsn, self.events + len(events), self.lost + lost


def write(ring: CdcBuffer, name: str, over: threading.Event, written: dict[str, int], pause: float) -> None:
    """Single events, batches of many sizes, and a raised LSN that must not matter."""
    number = taken = 0
    while not over.wait(pause):
        size = (number * 7 + len(name)) % 50
        if size < 10:
            number += 1
            taken = ring.emit(ChangeOperation.INSERT, name, number, "row")
        else:
            ids = range(number + 1, number + size + 1)
            lsns = ring.emit_batch_same_collection(ChangeOperation.UPDATE, name, "row", ids)
            assert len(lsns) == size
            assert lsns[0] > taken
            number, taken = number + size, lsns[-1]
        ring.set_current_lsn(taken)
    written[name] = number


def read(
    ring: CdcBuffer, poll: Callable[[int], tuple[list[ChangeEvent], int, int]], reading: Reading, end: threading.Event
) -> None:
    """Poll until the writers are done and everything is seen."""
    while True:
        done = end.is_set()
        events, next_lsn, lost = poll(reading.cursor)
        reading.take(events, next_lsn, lost)
        if done and not events:
            return
        if not done:
            ring.wait(reading.cursor, 0.05)


def storm(seconds: float, max_size: int, pause: float) -> tuple[CdcBuffer, list[Reading], dict[str, int]]:
    ring = CdcBuffer(max_size)
    over, end = threading.Event(), threading.Event()
    written: dict[str, int] = {}
    readings = [Reading() for _ in range(READERS)]

    def poll_events(since: int) -> tuple[list[ChangeEvent], int, int]:
        polled = ring.poll_with_loss(since, 1 + since % 700)
        return polled.events, polled.next_lsn, polled.lost

    def poll_columns(since: int) -> tuple[list[ChangeEvent], int, int]:
        polled = ring.poll_columns(since, 1 + since % 700)
        rows = polled.columns.to_pylist()
        events = [
            ChangeEvent(
                row["lsn"],
                row["timestamp"],
                ChangeOperation(row["operation"]),
                row["collection"],
                row["entity_id"],
                row["kind"],
            )
            for row in rows
        ]
        return events, polled.next_lsn, polled.lost

    writers = [
        threading.Thread(target=write, args=(ring, f"writer {number}", over, written, pause), daemon=True)
        for number in range(WRITERS)
    ]
    readers = [
        threading.Thread(target=read, args=(ring, (poll_events, poll_columns)[number % 2], reading, end), daemon=True)
        for number, reading in enumerate(readings)
    ]
    for thread in (*writers, *readers):
        thread.start()
    try:
        now = time.monotonic()
        until, at_last = now + seconds, now + max(60, 2 * seconds)
        # On a busy machine it may take longer until everybody has had their turns.
        while now < until or (now < at_last and any(reading.polls <= ENOUGH for reading in readings)):
            stats = ring.stats()
            assert stats.buffered_events <= max_size
            assert stats.evicted_events + stats.buffered_events == stats.current_lsn
            time.sleep(0.01)
            now = time.monotonic()
    finally:
        over.set()
        for thread in writers:
            thread.join(60)
        end.set()
        for thread in readers:
            thread.join(60)
    assert not any(thread.is_alive() for thread in (*writers, *readers))
    return ring, readings, written


def check(ring: CdcBuffer, readings: list[Reading], written: dict[str, int]) -> None:
    assert len(written) == WRITERS, "a writer ended before its time"
    assert ring.current_lsn() == sum(written.values())
    for reading in readings:
        assert reading.wrong == []
        assert reading.polls > ENOUGH
        assert reading.events + reading.lost == reading.cursor == ring.current_lsn()


def test_readers_miss_nothing_in_a_ring_that_is_large_enough() -> None:
    ring, readings, written = storm(2.5, max_size=5_000_000, pause=0.001)
    check(ring, readings, written)
    for reading in readings:
        assert reading.lost == 0
        assert reading.newest == written


def test_readers_of_a_small_ring_are_told_what_they_missed() -> None:
    ring, readings, written = storm(2.5, max_size=100, pause=0.0005)
    check(ring, readings, written)
    assert ring.stats().evicted_events > 0
    assert any(reading.lost for reading in readings)


@pytest.mark.slow
@pytest.mark.parametrize("max_size", [300, 5_000_000])
def test_the_same_for_half_a_minute_each(max_size: int) -> None:
    ring, readings, written = storm(30, max_size=max_size, pause=0.001)
    check(ring, readings, written)
    if max_size > 300:
        assert [reading.newest for reading in readings] == [written] * READERS
