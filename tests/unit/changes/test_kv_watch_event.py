"""A change of one key, to the byte (REDDB-13 to 15, X2)."""

from __future__ import annotations

from dataclasses import replace

from penstock.changes.wire.change_operation import ChangeOperation
from penstock.changes.wire.kv_watch_event import KvWatchEvent

EVENT = KvWatchEvent("kv_default", "k", ChangeOperation.UPDATE, 1, 2, 7, 1_700_000_000_000)
SAMPLE = b'{"after":2,"before":1,"committed_at":1700000000000,"dropped_event_count":0,"key":"k","lsn":7,"op":"update"}'


def test_the_sample() -> None:
    assert EVENT.encode() == SAMPLE


def test_absent_values_are_null() -> None:
    event = replace(EVENT, op=ChangeOperation.DELETE, before={"z": 1, "a": None}, after=None)
    assert event.encode() == (
        b'{"after":null,"before":{"a":null,"z":1},"committed_at":1700000000000,"dropped_event_count":0,'
        b'"key":"k","lsn":7,"op":"delete"}'
    )


def test_the_collection_is_not_written_but_compared() -> None:
    other = replace(EVENT, collection="other")
    assert other.encode() == EVENT.encode()
    assert other != EVENT
    assert replace(EVENT) == EVENT


def test_a_frame_of_the_event_stream() -> None:
    assert EVENT.sse_frame() == b"event: kv\ndata: " + SAMPLE + b"\n\n"


def test_a_line_end_inside_a_value_does_not_end_the_frame() -> None:
    frame = replace(EVENT, after="a\n\nb\r").sse_frame()
    assert frame.count(b"\n") == 3
    assert b"\r" not in frame
