"""Values of every type a Delta table can hold, a plain-Python model of a stored table, and rows compared by bits."""

from __future__ import annotations

import json
import struct
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.engine.delta.commit_record import CommitRecord
from penstock.engine.delta.storage_schema import arrow_schema, conform
from penstock.engine.write.apply import Applier, Change, ChangeKind
from penstock.engine.write.commit import Committed, commit
from penstock.engine.write.merge_predicate import OP
from penstock.engine.write.storage import Storage
from penstock.names import WEIGHT, Frontier

ID = "st-1"
NAN, INF = float("nan"), float("inf")
STRUCT = {
    "type": "struct",
    "fields": [
        {"name": "x", "type": "double", "nullable": True, "metadata": {}},
        {"name": "q", "type": "decimal(38,18)", "nullable": True, "metadata": {}},
        {"name": "at", "type": "timestamp_ntz", "nullable": True, "metadata": {}},
    ],
}
ARRAY = {"type": "array", "elementType": "double", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": STRUCT, "valueContainsNull": True}


def _moments(zone: Any) -> list[datetime]:
    return [
        datetime(1, 1, 2, tzinfo=zone),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=zone),
        datetime(2024, 3, 31, 1, 30, 0, 123456, tzinfo=zone),
        datetime(2024, 3, 31, 1, 30, 0, 123999, tzinfo=zone),
        datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=zone),
    ]


_INNER = [
    {"x": NAN, "q": Decimal("1.000000000000000001"), "at": None},
    {"x": None, "q": None, "at": None},
    {"x": 1.5, "q": Decimal("-12345678901234567890.123456789012345678"), "at": datetime(2020, 1, 1, 0, 0, 0, 123456)},
]

SAMPLES: dict[str, tuple[Any, list[Any]]] = {
    "tiny": ("byte", [-128, 127, 0]),
    "small": ("short", [-32768, 32767]),
    "normal": ("integer", [-(2**31), 2**31 - 1]),
    "big": ("long", [-(2**63), 2**63 - 1, 0, 9007199254740993]),
    "real": ("float", [NAN, INF, -INF, -0.0, 0.5]),
    "double": ("double", [NAN, INF, -INF, -0.0, 1e300]),
    "money": ("decimal(15,3)", [Decimal("123456789012.345"), Decimal("-0.001"), Decimal("123456789012.344")]),
    "sum": ("decimal(22,2)", [Decimal("123456789012345678.91"), Decimal("123456789012345678.92"), Decimal("-0.01")]),
    "wide": ("decimal(38,18)", [Decimal("12345678901234567890.123456789012345678"), Decimal("-1.000000000000000001")]),
    "whole": ("decimal(38,0)", [Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(1)]),
    "text": ("string", ["", "a'b\"c\\d`e", "${env:HOME}$", "line\nbreak\ttab\0nul", "ž\U0001f600", "\U0010ffff" * 40]),
    "bytes": ("binary", [b"", b"\x00\xff", b"a"]),
    "flag": ("boolean", [True, False]),
    "day": ("date", [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)]),
    "instant": ("timestamp", _moments(UTC)),
    "local": ("timestamp_ntz", _moments(None)),
    "nested": (STRUCT, _INNER),
    "list": (ARRAY, [[], [None], [NAN, 1.0], [-0.0]]),
    "mapping": (MAP, [[], [("a", _INNER[0])], [("a", None)], [("b", _INNER[2]), ("a", _INNER[1])]]),
}


def schema(**columns: Any) -> str:
    """The schema JSON of these columns."""
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


def table(schema_json: str, rows: list[dict[str, Any]], *, with_op: bool = False) -> pa.Table:
    """Rows in storage types; with their `__ps_op` if asked for."""
    target = arrow_schema(schema_json)
    return pa.Table.from_pylist(rows, schema=target.append(pa.field(OP, pa.string())) if with_op else target)


def bits(value: Any) -> Any:
    """A hashable stand-in that is equal exactly if the stored bits are, all NaN being one."""
    match value:
        case float():
            return "NaN" if value != value else struct.pack(">d", value)
        case Decimal():
            return str(value)
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case dict():
            return tuple((name, bits(part)) for name, part in value.items())
        case list() | tuple():
            return tuple(bits(part) for part in value)
    return type(value).__name__, value


def alike(value: Any) -> Any:
    """A stand-in that is equal if SQL holds the values equal: like `bits`, but there is one zero."""
    match value:
        case float():
            return bits(value + 0.0)
        case dict():
            return tuple((name, alike(part)) for name, part in value.items())
        case list() | tuple():
            return tuple(alike(part) for part in value)
    return bits(value)


def bag(rows: pa.Table, schema_json: str) -> Counter[Any]:
    """The rows as a bag, compared by bits; two bags are equal exactly if EXCEPT ALL is empty both ways."""
    return Counter(bits(row) for row in conform(rows, arrow_schema(schema_json)).to_pylist())


@dataclass
class Model:
    """What a table must hold after each change, told in plain Python."""

    schema_json: str
    key: tuple[str, ...] | None
    rows: list[dict[str, Any]] = field(default_factory=list)

    def apply(self, kind: ChangeKind, rows: list[dict[str, Any]], schema_json: str | None = None) -> Counter[Any]:
        """Apply a change; returns its net effect on the bag of rows."""
        before = self.state()
        if kind == "append":
            self.rows = [*self.rows, *rows]
        elif kind == "overwrite":
            self.rows, self.schema_json = list(rows), schema_json or self.schema_json
        else:
            touched = {self._identity(row, kind) for row in rows if row[OP] != "i"}
            kept = [row for row in self.rows if self._identity(row, kind) not in touched]
            added = [{name: row[name] for name in row if name != OP} for row in rows if row[OP] != "d"]
            self.rows = kept + added
        after = Counter(self.state())
        after.subtract(before)
        return Counter({row: weight for row, weight in after.items() if weight})

    def state(self) -> Counter[Any]:
        """The rows as a bag."""
        return bag(table(self.schema_json, self.rows), self.schema_json)

    def _identity(self, row: dict[str, Any], kind: ChangeKind) -> Any:
        names = [name for name in row if name not in (OP, WEIGHT)] if kind == "bag" else self.key or ()
        return tuple(alike(row[name]) for name in names)


_refreshes = count(1)


def record(**facts: Any) -> CommitRecord:
    """A record with a refresh id of its own."""
    number = next(_refreshes)
    return CommitRecord(
        **{
            "stream_table_id": ID,
            "definition_hash": "d1",
            "refresh_id": f"refresh-{number}",
            "action": "INCREMENTAL",
            "frontier": Frontier.of({"orders": number}, datetime(2026, 1, 1, tzinfo=UTC)),
            "data_timestamp": datetime(2026, 1, 1, tzinfo=UTC),
            **facts,
        }
    )


def apply_now(storage: Storage, change: Change, applier: Applier = "delta-rs", **more: Any) -> Committed:
    """Pin and commit."""
    pin = storage.pin()
    return commit(storage, pin, change, record(), applier=applier, transaction_number=pin.next_transaction, **more)


def action_kinds(storage: Storage, version: int) -> list[str]:
    """The kinds of the actions in a commit of the table, in order."""
    entry = Path(storage.path) / "_delta_log" / f"{version:020d}.json"
    return [kind for line in entry.read_text().splitlines() for kind in json.loads(line)]
