"""A row as a change record carries it: an id, and the values as bytes in a numbered format.

Format 1 is the JSON object of the row (`canonical_json.py`). Types are those of the table's schema and are not
repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from penstock.changes.wire.canonical_json import canonical_json
from penstock.errors import InvalidChangeRecord

JSON_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Entity:
    """A row with its id."""

    id: int
    values: Mapping[str, Any]

    def serialize(self, format_version: int = JSON_FORMAT) -> bytes:
        """The values as bytes.

        >>> Entity(1, {"b": 2, "a": None}).serialize()
        b'{"a":null,"b":2}'
        """
        _check(format_version)
        return canonical_json(self.values)

    @classmethod
    def deserialize(cls, entity_id: int, data: bytes, format_version: int = JSON_FORMAT) -> Entity:
        """The row that `serialize` wrote, with JSON values."""
        _check(format_version)
        try:
            return cls(entity_id, msgspec.json.decode(data, type=dict[str, Any]))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidChangeRecord(why=str(error)) from error


def _check(format_version: int) -> None:
    if format_version != JSON_FORMAT:
        raise InvalidChangeRecord(why=f"rows of format {format_version} cannot be read or written")
