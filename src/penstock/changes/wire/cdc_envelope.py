"""A change in the envelope that Debezium made common, as JSON.

    c  create: after        u  update: before and after        d  delete: before        r  read, of a snapshot: after

Keys come in the declared order. `before` and `after` are absent when there is none, never null; a null inside them is a
NULL of the row and stays. When an envelope is read, absent and null both mean none, because Debezium writes both.
`payload.py` defines the forms of values.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

from penstock.changes.wire.payload import json_value
from penstock.errors import InvalidChange, UnreadableChange

T = TypeVar("T")


class CdcSource(msgspec.Struct, frozen=True):
    """Where a change comes from; `sequence` orders the changes of one source."""

    name: str
    db: str
    table: str
    sequence: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.sequence < 2**64:
            raise InvalidChange(
                what=f"sequence {self.sequence}", why="it has 64 bits and no sign", fix="Count changes from 1."
            )


class CdcEnvelope(msgspec.Struct, Generic[T], frozen=True, omit_defaults=True):
    """One change of one row; `ts_ms` is milliseconds since 1970."""

    op: Literal["c", "u", "d", "r"]
    ts_ms: int
    source: CdcSource
    before: T | None = None
    after: T | None = None

    def __post_init__(self) -> None:
        if (self.before is None, self.after is None) not in _IMAGES.get(self.op, ()) or not -_I64 <= self.ts_ms < _I64:
            raise InvalidChange(
                what=f"an envelope of op {self.op!r} at {self.ts_ms} with "
                f"{'no' if self.before is None else 'a'} before and {'no' if self.after is None else 'an'} after",
                why="c and r have an after, d has a before, u has both (or, from elsewhere, only an after)",
                fix="Make envelopes with insert, update, delete and read.",
            )

    @staticmethod
    def insert(after: T, source: CdcSource, ts_ms: int) -> CdcEnvelope[T]:
        """A row came."""
        return CdcEnvelope("c", ts_ms, source, None, after)

    @staticmethod
    def delete(before: T, source: CdcSource, ts_ms: int) -> CdcEnvelope[T]:
        """A row went."""
        return CdcEnvelope("d", ts_ms, source, before, None)

    @staticmethod
    def update(before: T, after: T, source: CdcSource, ts_ms: int) -> CdcEnvelope[T]:
        """A row went and another of the same key came."""
        return CdcEnvelope("u", ts_ms, source, before, after)

    @staticmethod
    def read(after: T, source: CdcSource, ts_ms: int) -> CdcEnvelope[T]:
        """A row was there when the reader began."""
        return CdcEnvelope("r", ts_ms, source, None, after)

    def weight(self) -> int:
        """By how many the number of rows grows: c and r +1, d −1, u 0."""
        return _WEIGHTS[self.op]

    def to_json(self) -> bytes:
        """The wire form."""
        try:
            before, after = json_value(self.before), json_value(self.after)
            if before is self.before and after is self.after:
                return _ENCODER.encode(self)
            return _ENCODER.encode(CdcEnvelope(self.op, self.ts_ms, self.source, before, after))
        except (TypeError, RecursionError) as error:
            raise InvalidChange(
                what="the JSON of this envelope", why=str(error), fix="Use values that a table can hold."
            ) from error

    @staticmethod
    def from_json(data: bytes | str) -> CdcEnvelope[dict[str, Any]]:
        """Read an envelope whose rows are objects; keys it does not know are ignored."""
        try:
            return _DECODER.decode(data)
        except InvalidChange as error:
            raise UnreadableChange(what="an envelope", why=error.text) from error
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise UnreadableChange(what="an envelope", why=str(error)) from error


_I64 = 2**63
_WEIGHTS = {"c": 1, "r": 1, "d": -1, "u": 0}
_IMAGES = {
    "c": ((True, False),),
    "r": ((True, False),),
    "d": ((False, True),),
    "u": ((False, False), (True, False)),
}
"""What may be missing: (before, after)."""
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(CdcEnvelope[dict[str, Any]])
