"""Work beside the caller: nothing waits, nothing is lost without being counted, and closing finishes what waits."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from penstock.monitor.background import Background


def test_items_are_done_in_order_and_closing_finishes_them() -> None:
    done: list[int] = []
    background = Background("test", done.append)
    for number in range(100):
        background.put(number)
    background.close()
    assert done == list(range(100))
    assert (background.dropped, background.failed) == (0, 0)


def test_what_finds_the_queue_full_is_dropped_and_counted_and_nobody_waits() -> None:
    go, busy = threading.Event(), threading.Event()
    done: list[int] = []

    def work(item: int) -> None:
        busy.set()
        go.wait(10)
        done.append(item)

    background = Background("test", work, capacity=2)
    background.put(0)
    assert busy.wait(10)
    began = time.monotonic()
    for number in range(1, 6):
        background.put(number)
    assert time.monotonic() - began < 5
    assert background.dropped == 3
    go.set()
    background.close()
    assert done == [0, 1, 2]


def test_closing_does_not_wait_for_ever_and_counts_what_it_leaves() -> None:
    go, busy = threading.Event(), threading.Event()

    def work(_: int) -> None:
        busy.set()
        go.wait(10)

    background = Background("test", work)
    background.put(1)
    assert busy.wait(10)
    background.put(2)
    background.close(patience=0.05)
    assert background.dropped == 1
    background.put(3)
    assert background.dropped == 2
    go.set()


def test_failures_are_counted_and_logged_once_per_row_of_them(caplog: pytest.LogCaptureFixture) -> None:
    def work(item: int) -> None:
        if item:
            raise ValueError("no")

    background = Background("test", work)
    with caplog.at_level(logging.WARNING, "penstock.monitor"):
        for item in (1, 1, 1, 0, 1, 1):
            background.put(item)
        background.close()
    assert background.failed == 5
    assert [record.getMessage() for record in caplog.records] == ["test fails: ValueError: no"] * 2
