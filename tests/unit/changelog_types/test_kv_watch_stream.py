"""Watching keys: filter, drops, idle end, and transactions (REDDB-16, 87, X3)."""

from __future__ import annotations

import threading
import time

import pytest

from penstock.changelog_types.kv_transaction import KvTransaction
from penstock.changelog_types.kv_watch_stream import BUFFER_EVENTS, IDLE_SECONDS, KvWatchStream
from penstock.changes.ring.cdc_buffer import CdcBuffer
from penstock.changes.wire.change_operation import ChangeOperation

UPDATE = ChangeOperation.UPDATE


def put(ring: CdcBuffer, key: str, value: object, collection: str = "cart") -> None:
    ring.emit_kv(UPDATE, collection, key, 1, None, value)


def seen(stream: KvWatchStream) -> list[tuple[str, object]]:
    found = []
    while (event := stream.try_next()) is not None:
        found.append((event.key, event.after))
    return found


def test_the_defaults() -> None:
    assert (BUFFER_EVENTS, IDLE_SECONDS) == (1024, 60.0)
    assert KvWatchStream(CdcBuffer(1), "cart", "k").idle_seconds == 60.0


def test_one_key_of_one_collection() -> None:
    ring = CdcBuffer(100)
    stream = KvWatchStream(ring, "cart", "a")
    put(ring, "a", 1)
    put(ring, "ab", 2)
    put(ring, "a", 3, collection="other")
    ring.emit(UPDATE, "cart", 1, "table")
    ring.emit_batch_same_collection(UPDATE, "cart", "row", range(20))
    put(ring, "a", 4)
    assert seen(stream) == [("a", 1), ("a", 4)]
    assert stream.dropped_event_count == 0


def test_all_keys_under_a_prefix() -> None:
    ring = CdcBuffer(100)
    stream = KvWatchStream(ring, "cart", "user.*")
    for key in ("user.1", "user.", "user", "users.1", "user.1.x", "user.*"):
        put(ring, key, 0)
    assert [key for key, _ in seen(stream)] == ["user.1", "user.", "user.1.x", "user.*"]


def test_a_star_without_a_dot_is_a_key() -> None:
    ring = CdcBuffer(100)
    stream = KvWatchStream(ring, "cart", "user*")
    put(ring, "user*", 1)
    put(ring, "user1", 2)
    assert seen(stream) == [("user*", 1)]


def test_watching_begins_now_or_after_an_lsn() -> None:
    ring = CdcBuffer(100)
    for value in (1, 2, 3):
        put(ring, "k", value)
    assert seen(KvWatchStream(ring, "cart", "k")) == []
    assert seen(KvWatchStream(ring, "cart", "k", since_lsn=1)) == [("k", 2), ("k", 3)]
    assert seen(KvWatchStream(ring, "cart", "k", since_lsn=0)) == [("k", 1), ("k", 2), ("k", 3)]


def test_a_slow_watcher_sees_the_newest_and_how_many_it_missed() -> None:
    ring = CdcBuffer(10_000)
    stream = KvWatchStream(ring, "cart", "k")
    for value in range(BUFFER_EVENTS + 10):
        put(ring, "k", value)
    first = stream.try_next()
    assert first is not None
    assert (first.after, first.dropped_event_count) == (10, 10)
    assert stream.dropped_event_count == 10
    # One was handed out, so one more fits.
    put(ring, "k", "fits")
    put(ring, "k", "pushes one out")
    second = stream.try_next()
    assert second is not None
    assert (second.after, second.dropped_event_count) == (12, 11)
    assert len(seen(stream)) == BUFFER_EVENTS - 1


def test_the_drops_are_counted_over_several_reads_of_the_ring() -> None:
    ring = CdcBuffer(20_000)
    stream = KvWatchStream(ring, "cart", "k")
    for value in range(9_000):
        put(ring, "k", value)
    assert [value for _, value in seen(stream)] == list(range(9_000 - BUFFER_EVENTS, 9_000))
    assert stream.dropped_event_count == 9_000 - BUFFER_EVENTS


def test_what_the_ring_evicted_is_missed_too() -> None:
    ring = CdcBuffer(3)
    stream = KvWatchStream(ring, "cart", "k")
    for value in range(5):
        put(ring, "k", value)
    event = stream.try_next()
    assert event is not None
    assert (event.after, event.dropped_event_count) == (2, 2)
    assert ring.poll(0, 10)[0].kv == ring.poll(2, 1)[0].kv, "the event in the ring knows nothing of this watcher"
    held = ring.poll(0, 1)[0].kv
    assert held is not None
    assert held.dropped_event_count == 0


def test_two_watchers_and_a_poll_read_the_same_ring() -> None:
    ring = CdcBuffer(100)
    first, second = KvWatchStream(ring, "cart", "k"), KvWatchStream(ring, "cart", "k")
    put(ring, "k", 1)
    assert seen(first) == seen(second) == [("k", 1)]
    assert [event.rid() for event in ring.poll(0, 10)] == [1]


def test_iterating_ends_when_nothing_comes() -> None:
    ring = CdcBuffer(100)
    stream = KvWatchStream(ring, "cart", "k", since_lsn=0, idle_seconds=0.05)
    put(ring, "k", 1)
    begun = time.monotonic()
    assert [event.after for event in stream] == [1]
    assert time.monotonic() - begun >= 0.05


def test_changes_of_other_keys_do_not_keep_a_watcher_alive() -> None:
    ring = CdcBuffer(100)
    stream = KvWatchStream(ring, "cart", "k", idle_seconds=0.1)
    over = threading.Event()

    def others() -> None:
        while not over.wait(0.01):
            put(ring, "other", 0)

    writer = threading.Thread(target=others)
    writer.start()
    try:
        assert list(stream) == []
    finally:
        over.set()
        writer.join()


def test_a_waiting_watcher_is_woken() -> None:
    ring = CdcBuffer(100)
    stream = KvWatchStream(ring, "cart", "k")
    found = []
    reader = threading.Thread(target=lambda: found.append(stream.next(30)))
    reader.start()
    put(ring, "other", 0)
    put(ring, "k", 1)
    reader.join(30)
    assert [event and event.after for event in found] == [1]


def test_a_commit_shows_everything_at_once() -> None:
    ticks = iter(range(50, 100))
    ring = CdcBuffer(100, clock=lambda: next(ticks))
    stream = KvWatchStream(ring, "cart", "k.*")
    transaction = KvTransaction(ring)
    transaction.emit_kv(ChangeOperation.INSERT, "cart", "k.1", None, 1)
    transaction.emit_kv(UPDATE, "cart", "k.2", 1, 2)
    assert seen(stream) == []
    assert ring.current_lsn() == 0
    put(ring, "k.0", 0)
    assert transaction.commit() == range(2, 4)
    assert seen(stream) == [("k.0", 0), ("k.1", 1), ("k.2", 2)]
    committed = ring.poll(1, 10)
    assert [event.timestamp for event in committed] == [51, 51]
    assert [event.entity_id for event in committed] == [0, 0]
    assert list(transaction.commit()) == [], "nothing is held any more"


def test_a_rollback_leaves_no_trace() -> None:
    ring = CdcBuffer(100)
    stream = KvWatchStream(ring, "cart", "k")
    transaction = KvTransaction(ring)
    transaction.emit_kv(UPDATE, "cart", "k", 1, 2)
    transaction.rollback()
    assert list(transaction.commit()) == []
    assert seen(stream) == []
    assert ring.current_lsn() == 0


def test_a_transaction_as_a_context() -> None:
    ring = CdcBuffer(100)
    with KvTransaction(ring) as transaction:
        transaction.emit_kv(UPDATE, "cart", "k", 1, 2)
        assert ring.current_lsn() == 0
    assert ring.current_lsn() == 1


def test_an_exception_rolls_back() -> None:
    ring = CdcBuffer(100)

    def failing() -> None:
        with KvTransaction(ring) as transaction:
            transaction.emit_kv(UPDATE, "cart", "k", 2, 3)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert ring.current_lsn() == 0
