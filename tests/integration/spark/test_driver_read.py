"""What the driver reads is what Spark reads, value for value; what it might read differently it leaves to Spark."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.interval import classify
from penstock.engine.read.driver_read import changed_rows, rows_at
from penstock.engine.read.file_columns import FileColumns
from penstock.engine.read.pruning import bounds_of, prune
from penstock.engine.read.scan import changes, fields_of, scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

COLUMNS = (
    "b BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, f FLOAT, d DOUBLE, s STRING, x BINARY, "
    "p DECIMAL(9,2), q DECIMAL(38,10), day DATE, t TIMESTAMP, n TIMESTAMP_NTZ"
)
ROWS = [
    "true, 1, 2, 3, 4, float('1.5'), double('-0.0'), 'é', x'00ff', 1.25, 12345678901234567890.5, "
    "DATE'2024-02-29', TIMESTAMP'2024-03-31 02:30:00.123456', TIMESTAMP_NTZ'2024-10-27 02:30:00'",
    "false, -128, -1, -2147483648, -9223372036854775808, float('-inf'), 0.0, '', x'', -1.25, -0.1, "
    "DATE'1970-01-01', TIMESTAMP'1969-12-31 23:59:59.999999', TIMESTAMP_NTZ'1999-12-31 00:00:00'",
    ", ".join(["NULL"] * 14),
    "true, 1, 2, 5, 4, float('1.5'), double('0.0'), 'é', x'00ff', 1.25, 1, DATE'2024-02-29', "
    "TIMESTAMP'2024-03-31 02:30:00.123456', TIMESTAMP_NTZ'2024-10-27 02:30:00'",
]


@pytest.fixture
def every_type(ps: StreamTables) -> DeltaLog:
    """A table with every type that is read on the driver, updated, deleted from, and given one more column."""
    values = ", ".join(f"({row})" for row in ROWS)
    run(
        ps.spark,
        f"CREATE TABLE e ({COLUMNS}) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        f"INSERT INTO e VALUES {values}",
        f"INSERT INTO e VALUES {values}",
        "UPDATE e SET d = double('0.0'), s = 'z' WHERE i32 = 3",
        "DELETE FROM e WHERE i32 = 5",
        "INSERT INTO e (i32, day) VALUES (9, DATE'2030-01-01'), (9, DATE'2030-01-01')",
    )
    return log_of(ps, "e")


def run(spark: SparkSession, *statements: str) -> None:
    for statement in statements:
        spark.sql(statement)


def log_of(ps: StreamTables, name: str) -> DeltaLog:
    place = ps.spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]["location"]
    return DeltaLog(str(place).removeprefix("file:"))


def bag(table: pa.Table) -> Counter[str]:
    return Counter(repr(tuple(row.values())) for row in table.to_pylist())


def both(ps: StreamTables, log: DeltaLog, version: int, columns: list[str] | None = None) -> tuple[Any, Any]:
    """The rows of a version as the driver and as Spark read them."""
    snapshot = log.snapshot(version)
    names = columns or snapshot.schema.names
    ours = rows_at(FileColumns(), snapshot, snapshot.files, fields_of(snapshot.schema, names), [])
    return ours, scan(ps.spark, snapshot, names).toArrow()


def test_every_type_reads_the_same(ps: StreamTables, every_type: DeltaLog) -> None:
    for version in range(1, every_type.snapshot().version + 1):
        ours, theirs = both(ps, every_type, version)
        assert bag(ours) == bag(theirs)


def test_rows_reach_spark_as_they_were(ps: StreamTables, every_type: DeltaLog) -> None:
    snapshot = every_type.snapshot()
    fields = fields_of(snapshot.schema, snapshot.schema.names)
    ours = rows_at(FileColumns(), snapshot, snapshot.files, fields, [])
    handed = ps.spark.createDataFrame(ours, schema=StructType(fields))
    assert handed.schema == scan(ps.spark, snapshot, snapshot.schema.names).schema
    assert bag(handed.toArrow()) == bag(scan(ps.spark, snapshot, snapshot.schema.names).toArrow())


@pytest.mark.parametrize("columns", [["i32", "s", "d"], ["d"], ["f", "day", "t"]])
def test_changes_net_the_same(ps: StreamTables, every_type: DeltaLog, columns: list[str]) -> None:
    last = every_type.snapshot().version
    for before in range(1, last):
        for after in range(before + 1, last + 1):
            change_set = classify(every_type, before, after)
            ours = changed_rows(FileColumns(), change_set, fields_of(change_set.end.schema, columns))
            assert ours is not None
            assert bag(ours) == bag(changes(ps.spark, every_type, change_set, columns).toArrow()), (before, after)


def test_touched_keys_leave_the_others_out(ps: StreamTables, every_type: DeltaLog) -> None:
    snapshot = every_type.snapshot()
    held = pa.table({"k": pa.array([9, None], pa.int32())})
    files = prune(snapshot.files, bounds_of(held, {"i32": "k"}), snapshot.schema)
    fields = fields_of(snapshot.schema, ["i32", "s"])
    ours = rows_at(FileColumns(), snapshot, files, fields, [("i32", held.column("k"))])
    assert ours is not None
    assert sorted(ours.column("i32").to_pylist(), key=str) == [9, 9, None, None]


def test_a_column_that_a_file_lacks_is_null(ps: StreamTables) -> None:
    run(
        ps.spark,
        "CREATE TABLE wide (a INT) USING delta",
        "INSERT INTO wide VALUES (1)",
        "ALTER TABLE wide ADD COLUMN (b STRING)",
        "INSERT INTO wide VALUES (2, 'x')",
    )
    ours, theirs = both(ps, log_of(ps, "wide"), 3)
    assert bag(ours) == bag(theirs) == Counter({"(1, None)": 1, "(2, 'x')": 1})


def test_partition_values_come_from_the_log(ps: StreamTables) -> None:
    run(
        ps.spark,
        "CREATE TABLE parts (a INT, s STRING, i INT, day DATE) USING delta PARTITIONED BY (s, i, day)",
        "INSERT INTO parts VALUES (1, 'x y', 7, DATE'2024-01-01'), (2, NULL, NULL, NULL)",
        "INSERT INTO parts VALUES (3, 'é', -1, DATE'1999-01-01')",
    )
    ours, theirs = both(ps, log_of(ps, "parts"), 2)
    assert bag(ours) == bag(theirs)
    assert ours.num_rows == 3


def test_hidden_rows_and_weights(ps: StreamTables) -> None:
    run(
        ps.spark,
        "CREATE TABLE stored (a INT, w BIGINT, h BOOLEAN) USING delta",
        "INSERT INTO stored VALUES (1, 2, true), (2, 3, false), (3, 1, true)",
    )
    snapshot = log_of(ps, "stored").snapshot()
    fields = fields_of(snapshot.schema, ["a"])
    ours = rows_at(FileColumns(), snapshot, snapshot.files, fields, [], visible_if="h", weight="w")
    assert ours is not None
    assert sorted(ours.column("a").to_pylist()) == [1, 1, 3]


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        ("a ARRAY<INT>", "array(1)"),
        ("a DATE", "DATE'1500-01-01'"),
        ("a TIMESTAMP", "TIMESTAMP'1700-01-01 00:00:00'"),
        ("a STRUCT<b: INT>", "named_struct('b', 1)"),
    ],
)
def test_what_might_read_differently_is_left_to_spark(ps: StreamTables, columns: str, value: str) -> None:
    run(ps.spark, f"CREATE TABLE odd ({columns}) USING delta", f"INSERT INTO odd VALUES ({value})")
    ours, theirs = both(ps, log_of(ps, "odd"), 1)
    assert ours is None
    assert theirs.num_rows == 1


def test_a_file_that_is_gone_is_left_to_spark(ps: StreamTables) -> None:
    run(ps.spark, "CREATE TABLE gone (a INT) USING delta", "INSERT INTO gone VALUES (1)")
    snapshot = log_of(ps, "gone").snapshot()
    for file in snapshot.files:
        Path(file.path).unlink()
    assert rows_at(FileColumns(), snapshot, snapshot.files, fields_of(snapshot.schema, ["a"]), []) is None


def test_columns_are_kept_up_to_a_limit(ps: StreamTables, every_type: DeltaLog) -> None:
    snapshot = every_type.snapshot()
    fields = fields_of(snapshot.schema, ["i64", "s"])
    roomy, tight = FileColumns(), FileColumns(limit=1)
    file = next(file for file in snapshot.files if file.rows)
    first = roomy.of(file, fields)
    assert first is not None
    again = roomy.of(file, fields)
    assert again is not None
    assert again["i64"] is first["i64"]
    once, twice = tight.of(file, fields), tight.of(file, fields)
    assert once is not None
    assert twice is not None
    assert twice["i64"] is not once["i64"]
    assert twice["i64"] == once["i64"]
