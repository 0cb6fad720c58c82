"""Pruning may only ever skip a file that cannot hold a touched key."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.engine.delta_log import DataFile
from penstock.engine.pruning import Bounds, Range, bounds_of, keep_file

TYPES: dict[str, DataType] = {
    "i": IntegerType(),
    "l": LongType(),
    "s": StringType(),
    "day": DateType(),
    "ts": TimestampType(),
    "ntz": TimestampNTZType(),
    "d": DoubleType(),
    "f": FloatType(),
    "m": DecimalType(15, 2),
    "wide": DecimalType(38, 18),
    "t": BooleanType(),
}
SCHEMA = StructType([StructField(name, kind) for name, kind in TYPES.items()])


def file(
    low: dict[str, Any], high: dict[str, Any], nulls: dict[str, int] | None = None, rows: int | None = 10
) -> DataFile:
    stats = {"numRecords": rows, "minValues": low, "maxValues": high, "nullCount": nulls or {}}
    return DataFile("/t/f", 1, {}, json.dumps(stats))


def kept(column: str, low: Any, high: Any, touched: Range, nulls: int | None = 0) -> bool:
    counts = {} if nulls is None else {column: nulls}
    return keep_file(file({column: low}, {column: high}, counts), Bounds({column: touched}), SCHEMA)


@pytest.mark.parametrize(
    ("column", "low", "high", "inside", "outside"),
    [
        ("i", -5, 5, 5, 6),
        ("l", 0, 2**62, 2**62, 2**62 + 1),
        ("s", "b", "d", "d", "e"),
        ("s", "ž", "ž", "ž", "\U0001f600"),
        ("day", "2024-01-01", "2024-01-31", date(2024, 1, 31), date(2024, 2, 1)),
        ("m", 1.1, 2.2, Decimal("2.20"), Decimal("2.21")),
        (
            "ts",
            "2024-01-01T00:00:00.000Z",
            "2024-01-02T00:00:00.000Z",
            datetime(2024, 1, 2, 0, 0, 0, 999, UTC),
            datetime(2024, 1, 2, 0, 0, 1, 0, UTC),
        ),
        (
            "ntz",
            "2024-01-01T00:00:00.000",
            "2024-01-02T00:00:00.123",
            datetime(2024, 1, 2, 0, 0, 0, 123_999),
            datetime(2024, 1, 2, 0, 0, 0, 124_001),
        ),
    ],
)
def test_a_file_is_kept_for_keys_in_its_range_only(column: str, low: Any, high: Any, inside: Any, outside: Any) -> None:
    assert kept(column, low, high, Range(inside, inside))
    assert not kept(column, low, high, Range(outside, outside))
    assert kept(column, low, high, Range(inside, outside))


def test_floats_never_prune_because_nan_is_not_in_their_bounds() -> None:
    assert kept("d", 1.0, 2.0, Range(float("nan"), float("nan")))
    assert kept("d", 1.0, 2.0, Range(9.0, 9.0))
    assert kept("f", 1.0, 2.0, Range(9.0, 9.0))


def test_wide_decimals_never_prune_because_writers_round_their_bounds() -> None:
    # delta-rs wrote 1.2345678901234566e+17 for 123456789012345678.91.
    exact = Decimal("123456789012345678.91")
    assert kept("wide", 1.2345678901234566e17, 1.2345678901234566e17, Range(exact, exact))


def test_a_microsecond_after_a_bound_cut_to_milliseconds_is_inside() -> None:
    touched = datetime(2024, 1, 1, 0, 0, 0, 123_456, UTC)
    assert kept("ts", "2024-01-01T00:00:00.123Z", "2024-01-01T00:00:00.123Z", Range(touched, touched))


@pytest.mark.parametrize(("nulls", "keeps"), [(0, False), (1, True), (None, True)])
def test_a_null_key_keeps_every_file_that_may_hold_nulls(nulls: int | None, keeps: bool) -> None:
    assert kept("i", 1, 2, Range(None, None, has_null=True), nulls) is keeps
    assert kept("i", 1, 2, Range(9, 9, has_null=True), nulls) is keeps


def test_a_file_of_nulls_holds_no_other_key() -> None:
    assert not keep_file(file({}, {}, {"i": 10}), Bounds({"i": Range(1, 9)}), SCHEMA)
    assert keep_file(file({}, {}, {"i": 10}, rows=None), Bounds({"i": Range(1, 9)}), SCHEMA)


def test_what_is_not_known_keeps_the_file() -> None:
    touched = Bounds({"i": Range(9, 9)})
    assert keep_file(DataFile("/t/f", 1, {}, None), touched, SCHEMA)
    assert keep_file(file({"i": 1}, {}), touched, SCHEMA)
    assert keep_file(file({"i": 1}, {"i": "not a number"}), touched, SCHEMA)
    assert keep_file(file({"x": 1}, {"x": 1}), Bounds({"x": Range(9, 9)}), SCHEMA)
    assert kept("t", False, False, Range(True, True))
    early = datetime(5, 1, 1, tzinfo=UTC)
    assert kept("ts", "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", Range(early, early))


def test_a_key_of_another_type_keeps_the_file() -> None:
    assert kept("i", 1, 2, Range("9", "9"))
    assert kept("i", 1, 2, Range(True, True))
    assert kept("ts", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z", Range(datetime(2030, 1, 1), datetime(2030, 1, 1)))
    assert kept("day", "2024-01-01", "2024-01-01", Range(datetime(2030, 1, 1), datetime(2030, 1, 1)))


def test_partition_values_are_exact() -> None:
    at = DataFile("/t/f", 1, {"i": "5", "s": None, "ts": "2024-01-01 00:00:00"}, None)
    assert keep_file(at, Bounds({"i": Range(1, 5)}), SCHEMA)
    assert not keep_file(at, Bounds({"i": Range(6, 7)}), SCHEMA)
    assert not keep_file(at, Bounds({"s": Range("a", "z")}), SCHEMA)
    assert keep_file(at, Bounds({"s": Range("a", "z", has_null=True)}), SCHEMA)
    # The text of a timestamp may be in the writer's zone.
    far = datetime(1990, 1, 1, tzinfo=UTC)
    assert keep_file(at, Bounds({"ts": Range(far, far)}), SCHEMA)


def test_every_column_can_rule_a_file_out() -> None:
    one = file({"i": 1, "l": 1}, {"i": 5, "l": 5}, {"i": 0, "l": 0})
    assert keep_file(one, Bounds({"i": Range(1, 1), "L": Range(2, 2)}), SCHEMA)
    assert not keep_file(one, Bounds({"i": Range(1, 1), "L": Range(7, 7)}), SCHEMA)


def test_bounds_of_touched_keys() -> None:
    table = pa.table(
        {
            "k0": pa.array([3, None, 1], pa.int64()),
            "k1": pa.array([float("nan"), 1.0, 2.0]),
            "k2": pa.array([None, None, None], pa.string()),
            "k3": pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * 3, pa.timestamp("us", "UTC")),
        }
    )
    at = datetime(2024, 1, 1, tzinfo=UTC)
    found = bounds_of(table, {"l": "k0", "d": "k1", "s": "k2", "ts": "k3"})
    assert found.columns == {"l": Range(1, 3, True), "s": Range(None, None, True), "ts": Range(at, at)}
    plain = bounds_of(table, {"l": "k0", "s": "k2"}, null_safe=False)
    assert plain.columns == {"l": Range(1, 3), "s": Range(None, None)}


def test_without_a_match_for_null_only_null_keys_touch_nothing() -> None:
    assert not kept("i", 1, 2, Range(None, None), nulls=None)
