"""One changelog record: data, and how many copies of it come or go.

    weight > 0 adds that many copies, weight < 0 takes them away, weight 0 changes nothing

The weight is the truth. The operation is there for sinks that want one, and has the sign of the weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
import pyarrow as pa

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.changes.wire.arrow_stream import batches_from_bytes, batches_to_bytes
from penstock.errors import InvalidChange, UnreadableChange

T = TypeVar("T")
_BATCH = 1
"""The code of a record batch among the extension types of MessagePack."""
_I64 = 2**63


@dataclass(frozen=True, slots=True)
class ChangelogRecord(Generic[T]):
    """A change of data of any kind; `timestamp` is event time in milliseconds."""

    data: T
    weight: int
    timestamp: int
    operation: CdcOperation

    def __post_init__(self) -> None:
        if self.weight * self.operation.weight() < 0:
            raise InvalidChange(
                what=f"a record of operation {self.operation} and weight {self.weight}",
                why="the operation and the sign of the weight disagree",
                fix="Give additions +I or +U, removals -D or -U.",
            )

    @staticmethod
    def insert(data: T, timestamp: int) -> ChangelogRecord[T]:
        """One copy comes."""
        return ChangelogRecord(data, 1, timestamp, CdcOperation.INSERT)

    @staticmethod
    def delete(data: T, timestamp: int) -> ChangelogRecord[T]:
        """One copy goes."""
        return ChangelogRecord(data, -1, timestamp, CdcOperation.DELETE)

    @staticmethod
    def retraction(old: T, new: T, timestamp: int) -> tuple[ChangelogRecord[T], ChangelogRecord[T]]:
        """An update: the old data goes, then the new data comes."""
        return (
            ChangelogRecord(old, -1, timestamp, CdcOperation.UPDATE_BEFORE),
            ChangelogRecord(new, 1, timestamp, CdcOperation.UPDATE_AFTER),
        )

    def is_insert(self) -> bool:
        """True if copies come."""
        return self.weight > 0

    def is_delete(self) -> bool:
        """True if copies go."""
        return self.weight < 0

    def to_bytes(self) -> bytes:
        """The record as MessagePack; data may be plain values, bytes, or an Arrow record batch."""
        whole = (self.operation.to_u8(), self.weight, self.timestamp, self.data)
        try:
            return _ENCODER.encode(whole)
        except (TypeError, OverflowError, RecursionError) as error:
            raise InvalidChange(
                what="the binary form of this record", why=str(error), fix="Use plain values or an Arrow record batch."
            ) from error

    @staticmethod
    def from_bytes(data: bytes) -> ChangelogRecord[Any]:
        """The inverse of `to_bytes`; tuples come back as lists. Damaged bytes are an UnreadableChange."""
        try:
            byte, weight, timestamp, payload = _DECODER.decode(data)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise UnreadableChange(what="a changelog record", why=str(error)) from error
        operation = CdcOperation.from_u8(byte)
        if operation is None or not (-_I64 <= weight < _I64 and -_I64 <= timestamp < _I64):
            raise UnreadableChange(
                what="a changelog record",
                why=f"operation {byte}, weight {weight} or timestamp {timestamp} is out of range",
            )
        try:
            return ChangelogRecord(payload, weight, timestamp, operation)
        except InvalidChange as error:
            raise UnreadableChange(what="a changelog record", why=error.text) from error


def _encode_batch(value: object) -> msgspec.msgpack.Ext:
    if isinstance(value, pa.RecordBatch):
        return msgspec.msgpack.Ext(_BATCH, batches_to_bytes([value]))
    raise TypeError(f"{type(value).__name__} has no binary form")


def _decode_batch(code: int, data: memoryview) -> pa.RecordBatch:
    batches = batches_from_bytes(data) if code == _BATCH else []
    if len(batches) != 1:
        raise UnreadableChange(what="the data of a changelog record", why=f"extension {code} holds no record batch")
    return batches[0]


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_encode_batch)
_DECODER = msgspec.msgpack.Decoder(tuple[int, int, int, Any], ext_hook=_decode_batch)
