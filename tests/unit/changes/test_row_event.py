"""The event of one row, and the page that `/changes` answers (REDDB-06, 09 to 12, X1)."""

from __future__ import annotations

import pytest

from penstock.changes.ring.cdc_buffer import CdcBuffer
from penstock.changes.ring.changes_page import changes_page
from penstock.changes.ring.row_event import ChangeEvent
from penstock.changes.wire.change_operation import ChangeOperation

EVENT = ChangeEvent(1, 1_744_329_600_000, ChangeOperation.INSERT, "users", 42, "table")


def test_id_and_kind_as_consumers_see_them() -> None:
    assert EVENT.rid() == 42
    assert EVENT.kind() == "row"
    assert (EVENT.changed_columns, EVENT.kv) == (None, None)


def test_an_event_does_not_change() -> None:
    with pytest.raises(AttributeError):
        EVENT.lsn = 2  # type: ignore[misc]


def test_updates_of_other_columns_can_be_skipped() -> None:
    update = ChangeEvent(2, 0, ChangeOperation.UPDATE, "users", 42, "table", ("email", "age"))
    assert update.touches(frozenset({"age", "name"}))
    assert not update.touches(frozenset({"name"}))
    assert EVENT.touches(frozenset({"name"})), "nobody has looked, so it may have changed"


def test_the_sample_page() -> None:
    ring = CdcBuffer(10, clock=lambda: 1_744_329_600_000)
    ring.emit(ChangeOperation.INSERT, "users", 42, "table")
    assert changes_page(ring.poll_with_loss(0, 100)) == (
        b'{"events":[{"collection":"users","kind":"row","lsn":1,"operation":"insert","rid":42,'
        b'"timestamp":1744329600000}],"next_lsn":1,"ok":true}'
    )


def test_columns_and_keys_are_not_sent() -> None:
    ring = CdcBuffer(10, clock=lambda: 5)
    ring.emit_kv(ChangeOperation.UPDATE, "cart", "k", 2**64 - 1, 1, 2)
    assert changes_page(ring.poll_with_loss(0, 100)) == (
        b'{"events":[{"collection":"cart","kind":"kv","lsn":1,"operation":"update","rid":18446744073709551615,'
        b'"timestamp":5}],"next_lsn":1,"ok":true}'
    )


def test_an_empty_page_keeps_the_cursor() -> None:
    assert changes_page(CdcBuffer(10).poll_with_loss(0, 100)) == b'{"events":[],"next_lsn":0,"ok":true}'


def test_a_page_says_what_was_missed() -> None:
    ring = CdcBuffer(1, clock=lambda: 5)
    ring.emit_batch_same_collection(ChangeOperation.DELETE, "users", "row", [7, 8, 9])
    assert changes_page(ring.poll_with_loss(0, 100)) == (
        b'{"events":[{"collection":"users","kind":"row","lsn":3,"operation":"delete","rid":9,"timestamp":5}],'
        b'"lost":2,"next_lsn":3,"ok":true}'
    )
