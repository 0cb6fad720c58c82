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

from penstock.engine.delta.allow_list import Protocol
from penstock.engine.delta.log_entry import DataFile, Metadata
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read import pruning
from penstock.engine.read.large_sources import LargeSources
from penstock.engine.read.pruning import Bounds, Range, bounds_of, keep_file, prunes_well, row_filter

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


def test_keys_far_apart_do_not_keep_the_files_between_them() -> None:
    touched = bounds_of(pa.table({"k": [9, 1, 900, None, 1]}), {"l": "k"}).columns["l"]
    assert touched.spans == ((1, 1), (9, 9), (900, 900))
    assert [kept("l", low, low + 9, touched) for low in (0, 10, 800, 891, 901)] == [True, False, False, True, False]
    days = bounds_of(pa.table({"k": [date(2024, 1, 1), date(2024, 3, 1)]}), {"day": "k"}).columns["day"]
    assert not kept("day", "2024-01-02", "2024-02-29", days)
    assert kept("day", "2024-01-02", "2024-03-01", days)


def test_many_keys_are_taken_together_with_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "SPANS", 3)
    touched = bounds_of(pa.table({"k": list(range(0, 70, 10))}), {"l": "k"}).columns["l"]
    assert touched.spans == ((0, 20), (30, 50), (60, 60))
    assert (touched.low, touched.high) == (0, 60)
    assert not kept("l", 21, 29, touched)
    assert kept("l", 21, 30, touched)


def test_instants_are_ordered_as_instants_when_clocks_go_back() -> None:
    first, second = datetime(2024, 10, 27, 0, 50, tzinfo=UTC), datetime(2024, 10, 27, 1, 10, tzinfo=UTC)
    column = pa.array([second, first], pa.timestamp("us", "Europe/Prague"))
    touched = bounds_of(pa.table({"k": column}), {"ts": "k"}).columns["ts"]
    assert touched.spans == ((first, first), (second, second))
    assert not kept("ts", "2024-10-27T00:55:00.000Z", "2024-10-27T01:05:00.000Z", touched)


def test_several_ranges_meet() -> None:
    one = Range(1, 9, True, ((1, 3), (5, 5), (7, 9)))
    two = Range(2, 8, False, ((2, 2), (4, 8)))
    assert one.meet(two).spans == two.meet(one).spans == ((2, 2), (5, 5), (7, 8))
    assert one.meet(two) == Range(2, 8)
    assert one.meet(Range(None, None, True)) == Range(None, None, True)
    both = Bounds({"i": one}).meet(Bounds({"i": Range(20, 30), "l": two}))
    assert both.columns == {"i": Range(None, None), "l": two}


@pytest.mark.parametrize(
    ("column", "values", "text"),
    [
        ("i", [3, -1], "(`i` IN ((-1), 3))"),
        ("i", [3, None], "(`i` IN (3) OR `i` IS NULL)"),
        ("i", [None], "(`i` IS NULL)"),
        ("i", [], "(FALSE)"),
        ("s", ["it's ${x}"], "(`s` IN ('it\\u0027s \\u0024{x}'))"),
        ("m", [Decimal("1.50")], "(`m` IN (CAST('1.50' AS DECIMAL(15,2))))"),
        ("day", [date(1500, 1, 1)], "(`day` IN (CAST('1500-01-01' AS DATE)))"),
        (
            "ntz",
            [datetime(2024, 1, 1)],
            "((`ntz` >= TIMESTAMP_NTZ '2023-12-31 23:59:59.999000' "
            "AND `ntz` <= TIMESTAMP_NTZ '2024-01-01 00:00:00.001000'))",
        ),
        ("l", list(range(100)), "((`l` >= 0 AND `l` <= 99))"),
        ("d", [1.0], ""),
    ],
)
def test_rows_are_filtered_by_what_can_be_written_down(column: str, values: list[Any], text: str) -> None:
    kinds = {"i": pa.int32(), "l": pa.int64(), "m": pa.decimal128(15, 2), "s": pa.string()}
    table = pa.table({"k": pa.array(values, kinds.get(column))})
    assert row_filter(bounds_of(table, {column: "k"}), SCHEMA) == text


def snapshot(spans: list[tuple[int, int]], rows: int | None = 100_000) -> Snapshot:
    files = [
        DataFile(
            f"/t/{n}",
            1,
            {},
            json.dumps({"numRecords": rows, "minValues": {"l": low}, "maxValues": {"l": high}, "nullCount": {"l": 0}}),
            name=str(n),
        )
        for n, (low, high) in enumerate(spans)
    ]
    metadata = Metadata("t", SCHEMA.json(), (), {})
    return Snapshot("/t", 0, metadata, Protocol(1, 2, frozenset()), {file.key: file for file in files}, {}, None)


@pytest.mark.parametrize(
    ("spans", "rows", "worth"),
    [
        ([(n * 10, n * 10 + 9) for n in range(20)], 100_000, True),
        ([(n * 10, n * 10 + 9) for n in range(20)], None, True),
        ([(n * 10, n * 10 + 12) for n in range(4)], 100_000, True),
        ([(0, 1000) for _ in range(20)], 100_000, False),
        ([(n * 10, n * 10 + 9) for n in range(20)], 10, False),
        ([(n * 10, n * 10 + 9) for n in range(3)], 100_000, False),
    ],
    ids=["in order", "rows not counted", "slight overlap", "scattered", "few rows", "few files"],
)
def test_keys_are_worth_collecting_for_a_large_table_in_their_order(
    spans: list[tuple[int, int]], rows: int | None, worth: bool
) -> None:
    assert prunes_well(snapshot(spans, rows), "l") is worth
    assert not prunes_well(snapshot(spans, rows), "d")
    assert not prunes_well(snapshot(spans, rows), "nothing")


@pytest.mark.parametrize(
    ("files", "rows", "worth"),
    [(20, 50_000, True), (20, 1_000_000, False), (20, 100, False), (20, None, True)],
    ids=["fits the driver", "too many rows", "read whole", "rows not counted"],
)
def test_a_table_that_fits_the_driver_is_narrowed_whatever_its_order(files: int, rows: int | None, worth: bool) -> None:
    large = LargeSources({"t": snapshot([(0, 1000)] * files, rows)})
    assert (("t", "l") in large) is worth
    assert ("t", "d") not in large
    assert ("u", "l") not in large
