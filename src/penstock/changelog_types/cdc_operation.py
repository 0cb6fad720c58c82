"""What a change row does: an insert, a delete, or one half of an update.

    +I and +U add one copy, −D and −U take one away

An update is always a pair, −U before +U. The byte of an operation (0 to 3) is also its place in every lookup table.
"""

from __future__ import annotations

from enum import Enum

from penstock.errors import UnreadableChange


class CdcOperation(Enum):
    """A value type: compare, hash and copy it freely. Its value is its byte."""

    INSERT = 0
    DELETE = 1
    UPDATE_BEFORE = 2
    UPDATE_AFTER = 3

    def weight(self) -> int:
        """How many copies of the row this adds: +1 or −1."""
        return 1 if self.is_insert() else -1

    def is_insert(self) -> bool:
        """True for operations that add a row: INSERT and UPDATE_AFTER."""
        return self is CdcOperation.INSERT or self is CdcOperation.UPDATE_AFTER

    def is_delete(self) -> bool:
        """True for operations that take a row away: DELETE and UPDATE_BEFORE."""
        return not self.is_insert()

    @property
    def code(self) -> str:
        """The short form: +I, -D, -U or +U."""
        return _CODES[self.value]

    def to_u8(self) -> int:
        """The operation as a number from 0 to 3."""
        return self.value

    @staticmethod
    def from_u8(byte: int) -> CdcOperation | None:
        """The inverse of `to_u8`; None for any other number."""
        return _OPERATIONS[byte] if 0 <= byte < 4 else None

    def to_bytes(self) -> bytes:
        """The binary form, one byte."""
        return bytes((self.value,))

    @staticmethod
    def from_bytes(data: bytes) -> CdcOperation:
        """The inverse of `to_bytes`; anything else is an UnreadableChange."""
        operation = CdcOperation.from_u8(data[0]) if len(data) == 1 else None
        if operation is None:
            raise UnreadableChange(
                what="an operation", why=f"{data[:8].hex() or 'nothing'} is not one of 00, 01, 02, 03"
            )
        return operation

    def __str__(self) -> str:
        return self.code


_CODES = ("+I", "-D", "-U", "+U")
_OPERATIONS = tuple(CdcOperation)
