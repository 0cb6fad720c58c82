"""What happened to an entity: inserted, updated, deleted, or its whole collection replaced at once (REFRESH)."""

from __future__ import annotations

from enum import StrEnum


class ChangeOperation(StrEnum):
    """One of four, written in lower case on every wire."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    REFRESH = "refresh"

    @classmethod
    def from_str(cls, value: str) -> ChangeOperation | None:
        """The operation of this name, to the letter; None for anything else.

        >>> ChangeOperation.from_str("insert"), ChangeOperation.from_str("Insert")
        (<ChangeOperation.INSERT: 'insert'>, None)
        """
        return _BY_NAME.get(value)

    def as_str(self) -> str:
        """The name that `from_str` reads back."""
        return self.value


_BY_NAME = {operation.value: operation for operation in ChangeOperation}
