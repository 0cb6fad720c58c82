"""Checkpoints: whole or refused, whatever happens to the bytes."""

from __future__ import annotations

import struct
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import mutated, thorough
from penstock.changelog_types.change_event_batch import ChangeEventBatch
from penstock.changelog_types.checkpoint import Checkpoint
from penstock.changes.wire.change_event import ChangeEvent
from penstock.errors import InvalidChange, UnreadableChange

SCHEMA = pa.schema({"id": pa.int64(), "name": pa.string(), "tags": pa.list_(pa.string())})
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.text(max_size=5),
        st.none() | st.lists(st.none() | st.text(max_size=3), max_size=2),
    ),
    max_size=4,
)
AT = st.integers(-(2**63), 2**63 - 1)
SEQUENCE = st.integers(0, 2**64 - 1)


def batch(rows: list[tuple[int | None, str | None, list[str | None] | None]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


BATCHES = ROWS.map(batch)
EVENTS = st.one_of(
    st.builds(ChangeEvent.insert, BATCHES, AT, SEQUENCE),
    st.builds(ChangeEvent.delete, BATCHES, AT, SEQUENCE),
    st.builds(lambda data, at, sequence: ChangeEvent.update(data, data, at, sequence), BATCHES, AT, SEQUENCE),
    st.builds(ChangeEvent.watermark, AT),
    st.builds(ChangeEvent.snapshot, BATCHES, AT),
)
STATE = st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.text(max_size=3), max_size=3)
GOOD = Checkpoint(
    7,
    ChangeEventBatch.new(
        "orders",
        [
            ChangeEvent.snapshot(batch([(1, "a", ["x"])]), 1),
            ChangeEvent.update(batch([(1, "a", None)]), batch([(1, "b", [])]), 2, 5),
            ChangeEvent.watermark(3),
            ChangeEvent.delete(batch([(1, None, None)]), 4, 6),
        ],
    ),
    {"filter": "id > 1"},
)


@given(st.lists(EVENTS, max_size=5), SEQUENCE, st.text(), STATE)
def test_as_bytes_and_back(
    events: list[ChangeEvent], position: int, source: str, state: dict[str, int | str | None]
) -> None:
    checkpoint = Checkpoint(position, ChangeEventBatch.new(source, events), state)
    assert Checkpoint.from_bytes(checkpoint.to_bytes()) == checkpoint


def test_nothing_pending() -> None:
    empty = Checkpoint(0, ChangeEventBatch.new("orders", []))
    assert Checkpoint.from_bytes(empty.to_bytes()) == empty


def test_state_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidChange, match="the state of this checkpoint"):
        Checkpoint(0, ChangeEventBatch.new("orders", []), {"x": object()}).to_bytes()


@thorough
@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableChange):
        Checkpoint.from_bytes(data)


@thorough
@given(mutated(GOOD.to_bytes()))
def test_a_mutated_checkpoint_is_refused(data: bytes) -> None:
    if data == GOOD.to_bytes():
        return
    with pytest.raises(UnreadableChange):
        Checkpoint.from_bytes(data)


@thorough
@given(mutated(GOOD.to_bytes()[12:]))
def test_a_forged_checksum_does_not_help(body: bytes) -> None:
    """What the checksum would catch must be caught without it too: a writer may be wrong about more than bits."""
    try:
        read = Checkpoint.from_bytes(b"PSCHECK1" + struct.pack(">I", zlib.crc32(body)) + body)
    except UnreadableChange:
        return
    assert Checkpoint.from_bytes(read.to_bytes()) == read


@pytest.mark.parametrize("cut", [*range(0, 20), 100, 400])
def test_a_cut_off_checkpoint_is_refused(cut: int) -> None:
    with pytest.raises(UnreadableChange):
        Checkpoint.from_bytes(GOOD.to_bytes()[:cut])


def _forged(header: bytes, rows: bytes = b"") -> bytes:
    body = struct.pack(">I", len(header)) + header + rows
    return b"PSCHECK1" + struct.pack(">I", zlib.crc32(body)) + body


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (b'[{"type":9,"timestamp":1,"sequence":1}]', "no event of type 9"),
        (b'[{"type":0,"timestamp":1,"sequence":null}]', "type 0 with sequence None"),
        (b'[{"type":3,"timestamp":1,"sequence":1}]', "type 3 with sequence 1"),
        (b'[{"type":0,"timestamp":1,"sequence":1}]', "fewer rows"),
        (b"[{}]", "missing required field"),
        (b"5", "Expected `array`"),
    ],
)
def test_a_header_that_names_what_is_not_there(events: bytes, why: str) -> None:
    with pytest.raises(UnreadableChange, match=why):
        Checkpoint.from_bytes(_forged(b'{"position":0,"source":"s","state":{},"events":' + events + b"}"))


def test_rows_that_no_event_names_are_refused() -> None:
    rows = GOOD.to_bytes()[GOOD.to_bytes().index(b"\xff\xff\xff\xff") :]
    with pytest.raises(UnreadableChange, match="more rows"):
        Checkpoint.from_bytes(_forged(b'{"position":0,"source":"s","state":{},"events":[]}', rows))
