"""The ring, case by case (REDDB-50 to 83). `test_ring_model.py` compares it with a plain list."""

from __future__ import annotations

import threading
import time

import numpy as np
import pyarrow as pa
import pytest

from penstock.changes.ring.batch import Batch
from penstock.changes.ring.cdc_buffer import CdcBuffer
from penstock.changes.ring.cdc_stats import CdcStats
from penstock.changes.ring.run import Run
from penstock.changes.wire.change_operation import ChangeOperation
from penstock.errors import InvalidRun, InvalidSetting

INSERT, UPDATE, DELETE = ChangeOperation.INSERT, ChangeOperation.UPDATE, ChangeOperation.DELETE


def lsns(ring: CdcBuffer, since: int = 0) -> list[int]:
    return [event.lsn for event in ring.poll(since, 1000)]


def test_three_operations_come_in_order() -> None:
    ring = CdcBuffer(100)
    for operation in (INSERT, UPDATE, DELETE):
        ring.emit(operation, "users", 1, "table")
    events = ring.poll(0, 10)
    assert [event.operation for event in events] == [INSERT, UPDATE, DELETE]
    assert [event.lsn for event in events] == [1, 2, 3]
    assert [event.changed_columns for event in events] == [None, None, None]
    assert [event.kind() for event in events] == ["row", "row", "row"]


def test_columns_stay_with_their_event() -> None:
    ring = CdcBuffer(100)
    ring.emit_with_columns(UPDATE, "users", 7, "table", ["email", "age"])
    ring.emit(UPDATE, "users", 8, "table")
    assert [event.changed_columns for event in ring.poll(0, 10)] == [("email", "age"), None]


def test_a_poll_gives_what_comes_after_the_cursor() -> None:
    ring = CdcBuffer(100)
    for number, collection in enumerate("abc", 1):
        ring.emit(INSERT, collection, number, "table")
    assert [event.collection for event in ring.poll(1, 10)] == ["b", "c"]


def test_a_poll_takes_nothing_away() -> None:
    ring = CdcBuffer(100)
    ring.emit_batch_same_collection(INSERT, "users", "table", [1, 2, 3])
    assert ring.poll(0, 2) == ring.poll(0, 2)
    assert lsns(ring) == [1, 2, 3]


@pytest.mark.parametrize("max_count", [0, -1])
def test_a_poll_of_nothing(max_count: int) -> None:
    ring = CdcBuffer(100)
    ring.emit(INSERT, "users", 1, "table")
    polled = ring.poll_with_loss(0, max_count)
    assert (polled.events, polled.next_lsn, polled.lost) == ([], 0, 0)


def test_a_batch_after_an_event() -> None:
    ring = CdcBuffer(100)
    assert ring.emit(INSERT, "users", 10, "table") == 1
    assert list(ring.emit_batch_same_collection(INSERT, "users", "table", [11, 12, 13])) == [2, 3, 4]
    events = ring.poll(0, 10)
    assert [event.lsn for event in events] == [1, 2, 3, 4]
    assert events[3].entity_id == 13
    assert ring.current_lsn() == 4


def test_a_batch_has_one_time_and_neither_columns_nor_keys() -> None:
    ticks = iter(range(100, 200))
    ring = CdcBuffer(100, clock=lambda: next(ticks))
    ring.emit_batch_same_collection(INSERT, "users", "table", [1, 2, 3])
    ring.emit(INSERT, "users", 4, "table")
    events = ring.poll(0, 10)
    assert [event.timestamp for event in events] == [100, 100, 100, 101]
    assert {(event.changed_columns, event.kv) for event in events} == {(None, None)}


def test_an_empty_batch_uses_no_lsn() -> None:
    ring = CdcBuffer(100)
    assert list(ring.emit_batch_same_collection(INSERT, "users", "table", [])) == []
    assert list(ring.emit_batches([])) == []
    assert ring.current_lsn() == 0
    assert ring.emit(INSERT, "users", 1, "table") == 1


def test_a_batch_larger_than_the_ring() -> None:
    ring = CdcBuffer(3)
    assert list(ring.emit_batch_same_collection(INSERT, "users", "table", [1, 2, 3, 4, 5])) == [1, 2, 3, 4, 5]
    events = ring.poll(0, 10)
    assert [event.entity_id for event in events] == [3, 4, 5]
    assert [event.lsn for event in events] == [3, 4, 5]
    assert ring.current_lsn() == 5


def test_a_full_ring_loses_its_oldest() -> None:
    ring = CdcBuffer(3)
    for number, collection in enumerate("abcd", 1):
        ring.emit(INSERT, collection, number, "table")
    assert [event.collection for event in ring.poll(0, 10)] == ["b", "c", "d"]
    assert ring.oldest_lsn() == 2


def test_a_batch_pushes_out_exactly_the_overflow() -> None:
    ring = CdcBuffer(5)
    ring.emit_batch_same_collection(INSERT, "a", "row", [1, 2, 3, 4])
    ring.emit_batch_same_collection(INSERT, "b", "row", [5, 6, 7])
    assert [event.entity_id for event in ring.poll(0, 10)] == [3, 4, 5, 6, 7]
    ring.emit(INSERT, "c", 8, "row")
    assert [event.entity_id for event in ring.poll(0, 10)] == [4, 5, 6, 7, 8]
    assert ring.stats() == CdcStats(5, 8, 4, 8, evicted_events=3)


def test_figures_after_two_events() -> None:
    ring = CdcBuffer(100)
    ring.emit(INSERT, "x", 1, "table")
    ring.emit(INSERT, "y", 2, "table")
    assert ring.stats() == CdcStats(buffered_events=2, current_lsn=2, oldest_lsn=1, newest_lsn=2)


def test_figures_of_an_empty_ring() -> None:
    assert CdcBuffer(100).stats() == CdcStats(0, 0, None, None)
    assert CdcBuffer(100).oldest_lsn() is None


def test_a_ring_of_size_zero_only_counts() -> None:
    ring = CdcBuffer(0)
    assert ring.emit(INSERT, "users", 1, "table") == 1
    assert list(ring.emit_batch_same_collection(INSERT, "users", "table", [2, 3])) == [2, 3]
    assert ring.emit_kv(INSERT, "kv", "k", 1, None, 1) == 4
    assert ring.stats() == CdcStats(0, 4, None, None, evicted_events=4)
    polled = ring.poll_with_loss(1, 10)
    assert (polled.events, polled.next_lsn, polled.lost) == ([], 4, 3)


def test_a_size_below_zero_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="max_size = -1"):
        CdcBuffer(-1)


def test_a_key_among_the_rest() -> None:
    ring = CdcBuffer(100, clock=lambda: 77)
    ring.emit(INSERT, "users", 1, "table")
    assert ring.emit_kv(UPDATE, "cart", "k", 9, {"n": 1}, {"n": 2}) == 2
    row, key = ring.poll(0, 10)
    assert row.kv is None
    assert (key.lsn, key.entity_id, key.entity_kind, key.kind()) == (2, 9, "kv", "kv")
    assert key.changed_columns == ("value",)
    assert key.kv is not None
    assert (key.kv.collection, key.kv.key, key.kv.op) == ("cart", "k", UPDATE)
    assert (key.kv.before, key.kv.after) == ({"n": 1}, {"n": 2})
    assert (key.kv.lsn, key.kv.committed_at, key.kv.dropped_event_count) == (2, 77, 0)
    assert (key.lsn, key.timestamp) == (key.kv.lsn, key.kv.committed_at)


# Cursor, restart, loss


def test_the_current_lsn_only_rises() -> None:
    ring = CdcBuffer(100)
    ring.set_current_lsn(10)
    ring.set_current_lsn(3)
    assert ring.current_lsn() == 10
    assert ring.emit(INSERT, "users", 1, "table") == 11
    assert ring.stats() == CdcStats(1, 11, 11, 11)


def test_a_reader_that_was_too_slow_is_told_how_much_it_missed() -> None:
    ring = CdcBuffer(3)
    ring.emit_batch_same_collection(INSERT, "users", "row", range(1, 11))
    polled = ring.poll_with_loss(2, 2)
    assert [event.lsn for event in polled.events] == [8, 9]
    assert polled.lost == 8 - 2 - 1
    assert ring.poll_with_loss(polled.next_lsn, 10).lost == 0
    assert ring.poll_with_loss(7, 10).lost == 0, "cursor + 1 is the oldest: nothing is missing"


def test_after_a_restart_the_past_is_lost_even_before_anything_happens() -> None:
    ring = CdcBuffer(10)
    ring.set_current_lsn(10)
    polled = ring.poll_with_loss(4, 10)
    assert (polled.events, polled.next_lsn, polled.lost) == ([], 10, 6)
    ring.emit(INSERT, "users", 1, "row")
    polled = ring.poll_with_loss(4, 10)
    assert ([event.lsn for event in polled.events], polled.next_lsn, polled.lost) == ([11], 11, 6)
    assert ring.poll_with_loss(10, 10).lost == 0


def test_lsns_that_were_skipped_in_the_middle_are_lost_when_they_are_passed() -> None:
    ring = CdcBuffer(10)
    ring.emit_batch_same_collection(INSERT, "users", "row", [1, 2])
    ring.set_current_lsn(5)
    ring.emit(INSERT, "users", 3, "row")
    first = ring.poll_with_loss(0, 2)
    assert ([event.lsn for event in first.events], first.lost) == ([1, 2], 0)
    second = ring.poll_with_loss(first.next_lsn, 2)
    assert ([event.lsn for event in second.events], second.lost) == ([6], 3)


def test_a_cursor_ahead_of_the_ring_stays_where_it_is() -> None:
    ring = CdcBuffer(10)
    ring.emit(INSERT, "users", 1, "row")
    polled = ring.poll_with_loss(5, 10)
    assert (polled.events, polled.next_lsn, polled.lost) == ([], 5, 0)


def test_thousands_of_events_pass_through_a_small_ring() -> None:
    ring = CdcBuffer(7)
    for number in range(1, 10_001):
        ring.emit(INSERT, "users", number, "row")
        if number % 997 == 0:
            assert lsns(ring) == list(range(number - 6, number + 1))
    assert ring.stats() == CdcStats(7, 10_000, 9_994, 10_000, evicted_events=9_993)
    assert len(ring._entries) < 4096, "what is evicted is let go"


# Batches with ids and rows


def test_ids_are_copied() -> None:
    ids = np.array([1, 2, 3], np.uint64)
    ring = CdcBuffer(10)
    ring.emit_batch_same_collection(INSERT, "users", "row", ids)
    ids[:] = 9
    assert [event.entity_id for event in ring.poll(0, 10)] == [1, 2, 3]


@pytest.mark.parametrize("ids", [[2**64 - 1, 0], iter([2**64 - 1, 0]), np.array([2**64 - 1, 0], np.uint64)])
def test_ids_use_all_64_bits(ids: list[int]) -> None:
    ring = CdcBuffer(10)
    ring.emit_batch_same_collection(INSERT, "users", "row", ids)
    assert [event.entity_id for event in ring.poll(0, 10)] == [2**64 - 1, 0]
    assert ring.poll_columns(0, 10).columns["entity_id"].to_pylist() == [2**64 - 1, 0]


@pytest.mark.parametrize(
    "ids",
    [[-1], [2**64], ["a"], np.array([1, -1]), np.array([1.5]), np.array([[1]]), np.array(["a"])],
    ids=["negative", "large", "text", "signed", "double", "matrix", "texts"],
)
def test_what_is_no_id_is_refused(ids: list[int]) -> None:
    ring = CdcBuffer(10)
    with pytest.raises(InvalidRun, match="ids are"):
        ring.emit_batch_same_collection(INSERT, "users", "row", ids)
    assert ring.current_lsn() == 0


@pytest.mark.parametrize("entity_id", [-1, 2**64])
def test_a_single_id_is_checked_where_it_is_emitted(entity_id: int) -> None:
    ring = CdcBuffer(10)
    with pytest.raises(InvalidRun, match="is no id"):
        ring.emit(INSERT, "users", entity_id, "row")
    with pytest.raises(InvalidRun, match="is no id"):
        ring.emit_kv(INSERT, "users", "k", entity_id, None, 1)
    assert ring.current_lsn() == 0


ROWS = pa.table({"id": [1, 2, 3], "v": [1.0, float("nan"), None]})


def test_arrow_rows_are_held_by_reference() -> None:
    ring = CdcBuffer(4)
    ring.emit_batches([Batch.of_rows(INSERT, "t", ROWS)])
    ring.emit(INSERT, "t", 5, "row")
    ring.emit(INSERT, "t", 6, "row")
    run, first, second = ring.poll_runs(0, 10).entries
    assert isinstance(run, Run)
    assert (run.first_lsn, run.last_lsn, run.count) == (2, 3, 2)
    assert run.rows is not None
    assert run.rows.column("id").to_pylist() == [2, 3]
    held = ROWS.column("id").chunk(0).buffers()[1].address
    assert run.rows.column("id").chunk(0).buffers()[1].address == held
    assert not isinstance(first, Run)
    assert not isinstance(second, Run)
    assert [event.entity_id for event in ring.poll(0, 10)] == [0, 0, 5, 6]


def test_the_batches_of_a_commit_lie_side_by_side() -> None:
    ring = CdcBuffer(100, clock=lambda: 1)
    before = pa.table({"id": [1, 2, 3], "v": [1.0, 2.0, None]})
    ids = [7, 8, 9]
    taken = ring.emit_batches(
        [
            Batch.of_rows(DELETE, "t", ROWS.slice(0, 1)),
            Batch.of_rows(UPDATE, "t", ROWS, before, ids),
            Batch.of_rows(INSERT, "t", ROWS.slice(0, 0)),
            Batch.of_rows(INSERT, "t", ROWS.slice(0, 2)),
        ],
        timestamp=55,
    )
    assert taken == range(1, 7)
    events = ring.poll(0, 100)
    assert [event.operation for event in events] == [DELETE, UPDATE, UPDATE, UPDATE, INSERT, INSERT]
    assert [event.changed_columns for event in events] == [None, (), ("v",), (), None, None]
    assert [event.entity_id for event in events] == [0, 7, 8, 9, 0, 0]
    assert {event.timestamp for event in events} == {55}
    part = ring.poll_runs(2, 1).entries[0]
    assert isinstance(part, Run)
    assert part.before is not None
    assert part.before.to_pylist() == [{"id": 2, "v": 2.0}]
    assert [event.changed_columns for event in part.events()] == [("v",)]


def test_a_batch_larger_than_the_ring_is_not_kept_alive_by_it() -> None:
    ring = CdcBuffer(2)
    before = pa.table({"id": [1, 2, 3], "v": [1.0, 2.0, 3.0]})
    ring.emit_batches([Batch.of_rows(UPDATE, "t", ROWS, before, ids=[7, 8, 9])])
    (run,) = ring.poll_runs(0, 10).entries
    assert isinstance(run, Run)
    assert (run.first_lsn, run.count, run.batch.count) == (2, 2, 2)
    assert run.rows is not None
    assert run.before is not None
    assert run.rows.column("id").to_pylist() == [2, 3]
    assert run.before.column("v").to_pylist() == [2.0, 3.0]
    assert run.batch.ids is not None
    assert run.batch.ids.tolist() == [8, 9]
    assert run.batch.ids.base is None
    sizes = [chunk.buffers()[1].size for chunk in run.rows.column("id").chunks]
    assert sum(sizes) < ROWS.column("id").chunk(0).buffers()[1].size


@pytest.mark.parametrize("contents", [0, 3])
def test_a_refresh_that_does_not_fit_is_only_counted(contents: int) -> None:
    ring = CdcBuffer(0)
    assert ring.emit_batches([Batch.of_refresh("t", ROWS.slice(0, contents))]) == range(1, 2)
    assert ring.stats() == CdcStats(0, 1, None, None, evicted_events=1)


def test_a_refresh_is_one_event_with_all_rows() -> None:
    ring = CdcBuffer(2)
    assert ring.emit_batches([Batch.of_refresh("t", ROWS)]) == range(1, 2)
    (run,) = ring.poll_runs(0, 10).entries
    assert isinstance(run, Run)
    assert run.rows is ROWS
    (event,) = ring.poll(0, 10)
    assert (event.operation, event.entity_id, event.kind()) == (ChangeOperation.REFRESH, 0, "item")


def test_an_empty_refresh_is_an_event() -> None:
    ring = CdcBuffer(2)
    assert ring.emit_batches([Batch.of_refresh("t", ROWS.slice(0, 0))]) == range(1, 2)


def test_batches_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(InvalidRun, match="3 events of t come with 2 ids"):
        Batch.of_rows(INSERT, "t", ROWS, ids=[1, 2])
    with pytest.raises(InvalidRun, match="3 events of t come with 1 rows before"):
        Batch.of_rows(UPDATE, "t", ROWS, before=ROWS.slice(0, 1))
    with pytest.raises(InvalidRun, match="only updates"):
        Batch.of_rows(INSERT, "t", ROWS, before=ROWS)


def test_lsns_given_out_elsewhere_are_followed() -> None:
    ring = CdcBuffer(100)
    batch = Batch.of_ids(INSERT, "t", "row", [1, 2])
    assert ring.emit_batches([batch], first_lsn=5) == range(5, 7)
    assert ring.emit_batches([batch], first_lsn=9) == range(9, 11)
    assert lsns(ring) == [5, 6, 9, 10]
    assert ring.poll_with_loss(6, 10).lost == 2
    with pytest.raises(InvalidRun, match="LSN 10 was given out before; the ring is at 10"):
        ring.emit_batches([batch], first_lsn=10)
    with pytest.raises(InvalidRun, match="not a time"):
        ring.emit_batches([batch], timestamp=-1)
    assert ring.current_lsn() == 10


# Columns


def test_events_as_columns() -> None:
    ring = CdcBuffer(100, clock=lambda: 9)
    ring.emit(INSERT, "a", 1, "table")
    ring.emit_batch_same_collection(DELETE, "b", "vector_index", [2, 3])
    ring.set_current_lsn(10)
    ring.emit_kv(UPDATE, "a", "k", 4, None, 1)
    ring.emit_batches([Batch.of_rows(INSERT, "a", ROWS.slice(0, 1))])
    polled = ring.poll_columns(1, 10)
    assert polled.columns.to_pydict() == {
        "lsn": [2, 3, 11, 12],
        "timestamp": [9, 9, 9, 9],
        "operation": ["delete", "delete", "update", "insert"],
        "collection": ["b", "b", "a", "a"],
        "kind": ["vector", "vector", "kv", "row"],
        "entity_id": [2, 3, 4, 0],
    }
    assert (polled.next_lsn, polled.lost) == (12, 7)


def test_no_events_as_columns() -> None:
    polled = CdcBuffer(10).poll_columns(0, 10)
    assert polled.columns.num_rows == 0
    assert polled.columns.schema.equals(
        pa.schema(
            {
                "lsn": pa.uint64(),
                "timestamp": pa.uint64(),
                "operation": pa.dictionary(pa.int32(), pa.string()),
                "collection": pa.dictionary(pa.int32(), pa.string()),
                "kind": pa.dictionary(pa.int32(), pa.string()),
                "entity_id": pa.uint64(),
            }
        )
    )


# Waiting


def test_waiting_ends_when_something_comes() -> None:
    ring = CdcBuffer(10)
    found: list[bool] = []
    reader = threading.Thread(target=lambda: found.append(ring.wait(0, timeout=30)))
    reader.start()
    ring.emit_batch_same_collection(INSERT, "t", "row", [1, 2, 3])
    reader.join(30)
    assert found == [True]


def test_waiting_ends_at_once_if_something_is_there() -> None:
    ring = CdcBuffer(0)
    ring.emit(INSERT, "t", 1, "row")
    assert ring.wait(0)


def test_waiting_ends_without_anything() -> None:
    ring = CdcBuffer(10)
    ring.emit(INSERT, "t", 1, "row")
    begun = time.monotonic()
    assert not ring.wait(1, timeout=0.02)
    assert time.monotonic() - begun >= 0.02


def test_a_raised_lsn_wakes_readers_too() -> None:
    ring = CdcBuffer(10)
    found: list[bool] = []
    reader = threading.Thread(target=lambda: found.append(ring.wait(4, timeout=30)))
    reader.start()
    ring.set_current_lsn(5)
    reader.join(30)
    assert found == [True]
