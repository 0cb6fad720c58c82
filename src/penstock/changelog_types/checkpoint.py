"""A subscription at rest: where it stands and what it has not delivered yet, as bytes.

    "PSCHECK1" · CRC-32 of all that follows, u32 · length of the header, u32 · header, JSON · rows, an Arrow stream

Numbers are big-endian. The header names the events in order; their rows follow in the same order. Damaged bytes are an
UnreadableChange, never half a checkpoint.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from penstock.changelog_types.change_event_batch import ChangeEventBatch, batches_of
from penstock.changes.wire.arrow_stream import batches_from_bytes, batches_to_bytes
from penstock.changes.wire.change_event import ChangeEvent, Delete, Insert, Snapshot, Update, Watermark
from penstock.changes.wire.event_type import EventType
from penstock.errors import InvalidChange, UnreadableChange

_MAGIC = b"PSCHECK1"
_FRONT = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`position` is the next sequence to read, `state` whatever else the subscription needs, as JSON values."""

    position: int
    pending: ChangeEventBatch
    state: Mapping[str, Any] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The whole checkpoint."""
        events = [_Event(each.event_type().value, each.timestamp, each.sequence) for each in self.pending.events]
        rows = batches_to_bytes([batch for event in self.pending.events for batch in batches_of(event)])
        try:
            header = _ENCODER.encode(_Header(self.position, self.pending.source, dict(self.state), events))
        except (TypeError, RecursionError) as error:
            raise InvalidChange(
                what="the state of this checkpoint", why=str(error), fix="Keep values that JSON can hold."
            ) from error
        front = _FRONT.pack(0, len(header))[4:]
        body = front + header + rows
        return _MAGIC + struct.pack(">I", zlib.crc32(body)) + body

    @staticmethod
    def from_bytes(data: bytes) -> Checkpoint:
        """The inverse of `to_bytes`."""
        begin = len(_MAGIC) + _FRONT.size
        if len(data) < begin or data[: len(_MAGIC)] != _MAGIC:
            raise _unreadable("it does not begin like one")
        checksum, length = _FRONT.unpack_from(data, len(_MAGIC))
        if zlib.crc32(memoryview(data)[len(_MAGIC) + 4 :]) != checksum:
            raise _unreadable("its checksum does not fit: bytes are missing or were changed")
        if length > len(data) - begin:
            raise _unreadable(f"its header of {length} bytes is cut off")
        try:
            header = _DECODER.decode(memoryview(data)[begin : begin + length])
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise _unreadable(str(error)) from error
        batches = iter(batches_from_bytes(memoryview(data)[begin + length :]))
        try:
            events = [_event(each, batches) for each in header.events]
            if next(batches, None) is not None:
                raise _unreadable("it has more rows than its header names")
            return Checkpoint(header.position, ChangeEventBatch.new(header.source, events), header.state)
        except InvalidChange as error:
            raise _unreadable(error.text) from error


class _Event(msgspec.Struct, frozen=True):
    type: int
    timestamp: int
    sequence: int | None


class _Header(msgspec.Struct, frozen=True):
    position: int
    source: str
    state: dict[str, Any]
    events: list[_Event]


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Header)


def _event(header: _Event, batches: Iterator[pa.RecordBatch]) -> ChangeEvent:
    kind = EventType.from_u8(header.type)
    if kind is None or (header.sequence is None) == (kind in _SEQUENCED):
        raise _unreadable(f"there is no event of type {header.type} with sequence {header.sequence}")
    sequence = header.sequence or 0
    match kind:
        case EventType.INSERT:
            return Insert(_next(batches), header.timestamp, sequence)
        case EventType.DELETE:
            return Delete(_next(batches), header.timestamp, sequence)
        case EventType.UPDATE:
            return Update(_next(batches), _next(batches), header.timestamp, sequence)
        case EventType.SNAPSHOT:
            return Snapshot(_next(batches), header.timestamp)
        case EventType.WATERMARK:
            return Watermark(header.timestamp)


_SEQUENCED = (EventType.INSERT, EventType.DELETE, EventType.UPDATE)


def _next(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch:
    batch = next(batches, None)
    if batch is None:
        raise _unreadable("it has fewer rows than its header names")
    return batch


def _unreadable(why: str) -> UnreadableChange:
    return UnreadableChange(what="a checkpoint", why=why)
