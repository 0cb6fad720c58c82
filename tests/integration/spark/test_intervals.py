"""Changes and scans over every kind of table history that Delta knows, against Spark's own snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from interval_check import ALL_WAYS, History, check_history, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEED = "delta.enableChangeDataFeed"


def dml(name: str, by: str, feed: bool) -> History:
    """One table through every statement that changes rows, and those that do not."""
    made = f"USING delta {by} LOCATION '{{path}}' TBLPROPERTIES ({FEED}={str(feed).lower()})"
    otherwise = made.replace(by, "") if by else made.replace("LOCATION", "PARTITIONED BY (p) LOCATION")
    return History(
        name,
        [
            f"CREATE TABLE {{t}} (id BIGINT, v INT, s STRING, p INT) {made}",
            "INSERT INTO {t} SELECT id, id * 10, IF(id % 4 = 0, NULL, 'a'), IF(id = 7, NULL, id % 3) FROM range(20)",
            "INSERT INTO {t} VALUES (5, 1, 'x', 1), (5, 1, 'x', 1), (NULL, NULL, NULL, NULL)",
            "UPDATE {t} SET v = v + 1 WHERE id % 5 = 0",
            "DELETE FROM {t} WHERE id IN (3, 4)",
            "MERGE INTO {t} t USING (SELECT id, id AS n FROM range(8, 24)) s ON t.id = s.id "
            "WHEN MATCHED AND t.id % 4 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = n, p = 2 "
            "WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, s.n, 4)",
            "MERGE INTO {t} t USING (SELECT 100 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (id)",
            "OPTIMIZE {t}",
            "INSERT INTO {t} VALUES (200, 1, 'small', 1)",
            "OPTIMIZE {t} ZORDER BY (id)",
            "INSERT INTO {t} REPLACE WHERE p = 1 SELECT id, id, 'rw', 1 FROM range(3)",
            *(["RESTORE TABLE {t} TO VERSION AS OF 4"] if not by else []),
            "ALTER TABLE {t} SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 9 days')",
            "INSERT OVERWRITE {t} SELECT id, id, 'over', id % 2 FROM range(6)",
            "TRUNCATE TABLE {t}",
            "INSERT INTO {t} (id, p) VALUES (1, 1), (2, 2)",
            "DELETE FROM {t}",
            "INSERT INTO {t} VALUES (1, 1, 'again', 1)",
            f"CREATE OR REPLACE TABLE {{t}} (id BIGINT, v INT, s STRING, p INT) {made}",
            "INSERT INTO {t} VALUES (1, 1, 'again', 1)",
            f"CREATE OR REPLACE TABLE {{t}} {otherwise} AS SELECT 1L AS id, 'text' AS v, 2 AS other, 5 AS p",
            "DELETE FROM {t} WHERE id = 1",
        ],
        ways=ALL_WAYS,
        slow=not feed,
    )


def rewriting(name: str, by: str, feed: bool) -> History:
    """The statements that rewrite files, once more for the other pairings of feed and partitions."""
    return History(
        name,
        [
            f"CREATE TABLE {{t}} (id BIGINT, p INT, v INT) USING delta {by} LOCATION '{{path}}' "
            f"TBLPROPERTIES ({FEED}={str(feed).lower()})",
            "INSERT INTO {t} SELECT id, IF(id = 7, NULL, id % 3), id * 10 FROM range(20)",
            "INSERT INTO {t} VALUES (5, 1, 1), (5, 1, 1), (NULL, NULL, NULL)",
            "UPDATE {t} SET p = 9 WHERE id = 5",
            "MERGE INTO {t} t USING (SELECT id FROM range(8, 24)) s ON t.id = s.id WHEN MATCHED AND t.id % 4 = 0 THEN "
            "DELETE WHEN MATCHED THEN UPDATE SET v = -1 WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, 4)",
            "DELETE FROM {t} WHERE p = 1",
            "OPTIMIZE {t}",
            "ALTER TABLE {t} ADD COLUMNS (extra STRUCT<a: INT, b: STRING>, late DOUBLE)",
            "INSERT INTO {t} VALUES (300, 1, 1, named_struct('a', 1, 'b', 'q'), DOUBLE('-0.0'))",
            "UPDATE {t} SET late = 2.5 WHERE id IN (5, 300)",
            "ALTER TABLE {t} ADD COLUMNS (extra.c DOUBLE)",
            "INSERT INTO {t} (id, extra) VALUES (301, named_struct('a', 1, 'b', 'q', 'c', 1.5D))",
        ],
        ways=ALL_WAYS,
        slow=not feed,
    )


TYPES = (
    "i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, f FLOAT, d DOUBLE, m DECIMAL(38,18), m0 DECIMAL(38,0), s STRING, "
    "b BINARY, t BOOLEAN, day DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, a ARRAY<DOUBLE>, "
    "st STRUCT<x: FLOAT, y: STRUCT<z: DECIMAL(38,18), w: DOUBLE>>, mp MAP<STRING, DOUBLE>, "
    "ast ARRAY<STRUCT<q: TIMESTAMP, r: MAP<INT, STRING>>>"
)
ROW = (
    "(1Y, 2S, 3, {i}, FLOAT('{f}'), DOUBLE('{f}'), 0.123456789012345678BD + {i}, 99999999999999999999999999999999999998"
    "BD, 'ž\\u0000x', X'00ff', true, DATE'{day}', TIMESTAMP'{ts}', TIMESTAMP_NTZ'{ts}', array(DOUBLE('{f}'), NULL), "
    "named_struct('x', FLOAT('{f}'), 'y', named_struct('z', 1.5BD, 'w', DOUBLE('{f}'))), "
    "map('k', DOUBLE('{f}'), 'j', 1.0D), array(named_struct('q', TIMESTAMP'{ts}', 'r', map(2, 'b', 1, 'a'))))"
)


def typed_row(i: int, f: str, day: str = "2024-02-29", ts: str = "2024-03-10 02:30:00.123456") -> str:
    return ROW.format(i=i, f=f, day=day, ts=ts)


def types(feed: bool) -> History:
    nulls = "(" + ", ".join(["NULL"] * 18) + ")"
    steps = [
        f"CREATE TABLE {{t}} ({TYPES}) USING delta LOCATION '{{path}}' TBLPROPERTIES ({FEED}={str(feed).lower()})",
        f"INSERT INTO {{t}} VALUES {typed_row(1, '0.0')}, {typed_row(2, '-0.0')}, {typed_row(3, 'NaN')}, "
        f"{typed_row(4, 'Infinity')}, {nulls}, {nulls}",
        f"INSERT INTO {{t}} VALUES {typed_row(1, '0.0')}, {typed_row(5, '1.5', '1582-10-10')}, "
        f"{typed_row(6, '1.5', '0001-01-01', '0002-01-01 00:00:00')}, "
        f"{typed_row(7, '1.5', '9999-12-31', '9998-12-31 23:59:59.999999')}, "
        f"{typed_row(8, '1.5', '1900-01-01', '1900-01-01 00:00:00.000001')}",
        "UPDATE {t} SET d = -d, f = -f WHERE i64 <= 2",
        "UPDATE {t} SET a = transform(a, x -> -x), st = named_struct('x', -st.x, 'y', st.y), "
        "mp = transform_values(mp, (k, v) -> -v) WHERE i64 <= 4",
        "DELETE FROM {t} WHERE i64 IN (3, 6) OR i64 IS NULL",
        "UPDATE {t} SET m = m + 0.000000000000000001BD, ts = ts + INTERVAL '0.000001' SECOND WHERE i64 < 8",
        "OPTIMIZE {t}",
        "DELETE FROM {t} WHERE i64 >= 5",
    ]
    return History(
        f"every type, feed {feed}",
        steps if feed else [*steps[:5], steps[-2]],
        ways=ALL_WAYS if feed else (),
        slow=not feed,
    )


def partitions() -> History:
    odd = ["plain", "", " ", "a/b", "č%20ž", "x=y", "it''s", "{*}[?]", "2024-01-01", "1", "001", "null", "a:b#c\\\\d"]
    values = ", ".join(f"({i}, '{text}', {i % 2})" for i, text in enumerate(odd))
    return History(
        "odd partition values",
        [
            "CREATE TABLE {t} (id INT, p STRING, n INT) USING delta PARTITIONED BY (p) LOCATION '{path}' "
            f"TBLPROPERTIES ({FEED}=true)",
            f"INSERT INTO {{t}} VALUES {values}, (90, NULL, 1), (91, NULL, 1)",
            "UPDATE {t} SET n = n + 1 WHERE id % 2 = 0",
            "DELETE FROM {t} WHERE p = 'a/b' OR p IS NULL OR p = '1'",
            "UPDATE {t} SET p = concat(p, '+') WHERE id < 6",
            "OPTIMIZE {t}",
            "INSERT INTO {t} SELECT id + 1000, p, n FROM {t}",
        ],
        folder="odd %20 žluť [x] {y} folder",
    )


def typed_partitions() -> History:
    return History(
        "typed partition values",
        [
            "CREATE TABLE {t} (id INT, day DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, m DECIMAL(20,4), t BOOLEAN, "
            "d DOUBLE, _u BIGINT, i8 TINYINT) USING delta PARTITIONED BY (day, ts, ntz, m, t, d, _u, i8) "
            f"LOCATION '{{path}}' TBLPROPERTIES ({FEED}=true)",
            "INSERT INTO {t} VALUES (1, DATE'2024-02-29', TIMESTAMP'2024-03-10 12:30:00.123456', "
            "TIMESTAMP_NTZ'2024-03-10 02:30:00', 1.5BD, true, -0.0D, -9223372036854775808L, -128Y), "
            "(2, NULL, NULL, NULL, NULL, NULL, DOUBLE('NaN'), NULL, NULL), "
            "(3, DATE'0001-01-01', TIMESTAMP'1900-01-01 00:00:00', TIMESTAMP_NTZ'9998-12-31 23:59:59.999999', "
            "-1234567890123456.7891BD, false, 1e300D, 1L, 1Y)",
            "UPDATE {t} SET id = id + 10, m = 2 WHERE t",
            "DELETE FROM {t} WHERE t IS NULL",
            "INSERT INTO {t} (id, day) VALUES (5, DATE'2024-02-29')",
        ],
    )


def properties(
    name: str, properties: str, columns: str = "id BIGINT, v INT", fast: bool = True, **more: Any
) -> History:
    """A table with a feature, through plain DML."""
    clause = more.pop("clause", "")
    extra = more.pop("extra", ())
    return History(
        name,
        [
            f"CREATE TABLE {{t}} ({columns}) USING delta {clause} LOCATION '{{path}}' TBLPROPERTIES ({properties})",
            "INSERT INTO {t} (id, v) SELECT id, id % 3 FROM range(12)",
            "INSERT INTO {t} (id, v) VALUES (3, 5), (3, 5)",
            "UPDATE {t} SET v = v + 1 WHERE id = 3",
            *extra,
            "DELETE FROM {t} WHERE id > 9",
            "OPTIMIZE {t}",
        ],
        fast=fast,
        **more,
    )


FEATURES = [
    properties(
        "constraints, generated, identity and default columns",
        f"{FEED}=true, delta.constraints.positive='v >= 0', delta.feature.allowColumnDefaults='supported', "
        "delta.checkpointInterval=3",
        "n BIGINT GENERATED ALWAYS AS IDENTITY, id BIGINT NOT NULL, v INT, g BIGINT GENERATED ALWAYS AS (id * 2), "
        "s STRING DEFAULT 'standard', d DOUBLE DEFAULT 1.5",
        extra=["ALTER TABLE {t} ADD COLUMN x INT", "ALTER TABLE {t} ALTER COLUMN x SET DEFAULT 7"],
    ),
    properties(
        "clustered, row tracking, in-commit timestamps, v2 checkpoints",
        f"{FEED}=true, delta.enableRowTracking=true, delta.enableInCommitTimestamps=true, "
        "delta.checkpointPolicy='v2', delta.checkpointInterval=3",
        clause="CLUSTER BY (id)",
    ),
    properties(
        "vectors, mapping and widening allowed but not used",
        f"{FEED}=false, delta.feature.deletionVectors='supported', delta.enableDeletionVectors=false, "
        "delta.feature.columnMapping='supported', delta.enableTypeWidening=true",
    ),
    properties(
        "type widened, CHAR and VARCHAR",
        f"{FEED}=true, delta.enableTypeWidening=true",
        "id BIGINT, v INT, c CHAR(4), w VARCHAR(9)",
        fast=False,
        extra=["ALTER TABLE {t} ALTER COLUMN v TYPE BIGINT", "INSERT INTO {t} VALUES (4, 10000000000, 'c', 'w')"],
    ),
]


def vectors(feed: bool) -> History:
    steps = [
        "CREATE TABLE {t} (id BIGINT, p INT, v INT) USING delta PARTITIONED BY (p) LOCATION '{path}' "
        f"TBLPROPERTIES ({FEED}={str(feed).lower()}, delta.enableDeletionVectors=true)",
        "INSERT INTO {t} SELECT id, id % 2, id FROM range(1, 40, 1, 1)",
        "DELETE FROM {t} WHERE id % 10 = 1",
        "DELETE FROM {t} WHERE id % 10 = 2",
        "UPDATE {t} SET v = -1 WHERE id % 10 = 3",
        "MERGE INTO {t} t USING (SELECT id FROM range(30, 45)) s ON t.id = s.id WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (id, p, v) VALUES (s.id, 0, 0)",
        "INSERT INTO {t} VALUES (1000, 1, 1)",
        "REORG TABLE {t} APPLY (PURGE)",
        "DELETE FROM {t} WHERE id % 10 = 4",
    ]
    some = steps if feed else [*steps[:4], *steps[6:8]]
    return History(f"deletion vectors, feed {feed}", some, fast=not feed, ways=ALL_WAYS if feed else (), slow=True)


def mapping(mode: str) -> History:
    steps = [
        "CREATE TABLE {t} (id BIGINT, `odd name, (x)` INT, `a.b c%20 ž` STRING, gone INT, "
        "st STRUCT<`in ner`: INT>) USING delta LOCATION '{path}' "
        f"TBLPROPERTIES ({FEED}=true, delta.columnMapping.mode='{mode}')",
        "INSERT INTO {t} VALUES (1, 1, 'x', 1, named_struct('in ner', 5)), (2, 2, 'y', 2, NULL)",
        "UPDATE {t} SET `odd name, (x)` = 5 WHERE id = 1",
        "ALTER TABLE {t} RENAME COLUMN `odd name, (x)` TO plain",
        "INSERT INTO {t} VALUES (3, 3, 'z', 3, named_struct('in ner', 6))",
        "ALTER TABLE {t} DROP COLUMN gone",
        "UPDATE {t} SET plain = 7 WHERE id = 3",
        "ALTER TABLE {t} ADD COLUMN gone STRING",
        "INSERT INTO {t} VALUES (4, 4, 'w', NULL, 'new')",
        "DELETE FROM {t} WHERE id = 1",
    ]
    whole = mode == "name"
    return History(
        f"column mapping by {mode}",
        steps if whole else steps[:5],
        fast=False,
        ways=ALL_WAYS if whole else (),
        slow=not whole,
    )


def odd_names() -> History:
    return History(
        "odd column names",
        [
            "CREATE TABLE {t} (`a.b` INT, `c%20` INT, `ünï` STRING, `per%cent` INT, `UPPER` INT, `_x` INT, "
            "`select` INT, `p.q%` INT) USING delta PARTITIONED BY (`p.q%`) LOCATION '{path}' "
            f"TBLPROPERTIES ({FEED}=true)",
            "INSERT INTO {t} VALUES (1, 2, 'x', 4, 5, 6, 7, 8), (1, 2, 'y', 4, 5, 6, 7, NULL)",
            "UPDATE {t} SET `a.b` = 9, upper = 3 WHERE `ünï` = 'x'",
            "DELETE FROM {t} WHERE `p.q%` IS NULL",
        ],
        folder="100% odd / žluť".replace("/", "-"),
        ways=ALL_WAYS,
    )


def backtick() -> History:
    """Delta's own UPDATE and MERGE fail on such a name, appends do not."""
    return History(
        "backtick in a column name",
        [
            f"CREATE TABLE {{t}} (`back``tick` INT) USING delta LOCATION '{{path}}' TBLPROPERTIES ({FEED}=false)",
            "INSERT INTO {t} VALUES (1), (1), (2)",
            "INSERT INTO {t} VALUES (3)",
            "DELETE FROM {t}",
        ],
        folder="it's a `tick` folder".replace("'", "’"),
    )


def clone() -> History:
    def source(spark: SparkSession, path: str) -> Iterator[None]:
        spark.sql(f"CREATE TABLE delta.`{path}_origin` (id INT, v INT) USING delta")
        spark.sql(f"INSERT INTO delta.`{path}_origin` VALUES (1, 1), (2, 2)")
        spark.sql(f"CREATE TABLE delta.`{path}` SHALLOW CLONE delta.`{path}_origin`")
        yield
        spark.sql(f"INSERT INTO delta.`{path}` VALUES (3, 3)")
        yield
        spark.sql(f"UPDATE delta.`{path}` SET v = 9 WHERE id = 1")
        yield

    return History("shallow clone", [source], fast=False)


def delta_rs(feed: bool, partitioned: bool) -> History:
    def write(spark: SparkSession, path: str) -> Iterator[None]:
        from deltalake import DeltaTable, write_deltalake

        def table(ids: list[int], value: float | None = 1.5) -> pa.Table:
            return pa.table(
                {
                    "id": pa.array(ids, pa.int64()),
                    "p": pa.array([None if i == 4 else f"ž/{i % 2}%" for i in ids], pa.string()),
                    "v": pa.array([value] * len(ids), pa.float64()),
                    "at": pa.array([1_700_000_000_000_001 + i for i in ids], pa.timestamp("us", "UTC")),
                }
            )

        write_deltalake(path, table([1, 2, 3, 4]), mode="append")
        yield
        write_deltalake(path, table([5, 5, 6], float("nan")), mode="append")
        yield
        opened = DeltaTable(path)
        (
            opened.merge(table([2, 9], -0.0), "t.id = s.id", source_alias="s", target_alias="t")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .execute()
        )
        yield
        opened.delete("id = 3")
        yield
        opened.update(predicate="id = 5", updates={"v": "7.25"})
        yield
        opened.optimize.compact()
        yield
        write_deltalake(path, table([20]), mode="append")
        yield
        DeltaTable(path).optimize.z_order(["id"])
        yield
        write_deltalake(path, table([1]), mode="overwrite", predicate="id = 1")
        yield
        write_deltalake(path, table([30, 31]), mode="overwrite")
        yield
        DeltaTable(path).restore(4)
        yield
        spark.sql(f"UPDATE delta.`{path}` SET v = 2 WHERE id = 1")
        yield
        DeltaTable(path).delete()
        yield

    by = "PARTITIONED BY (p)" if partitioned else ""
    return History(
        f"delta-rs writes, feed {feed}, {'partitioned' if partitioned else 'flat'}",
        [
            f"CREATE TABLE {{t}} (id BIGINT, p STRING, v DOUBLE, at TIMESTAMP) USING delta {by} LOCATION '{{path}}' "
            f"TBLPROPERTIES ({FEED}={str(feed).lower()})",
            write,
        ],
        slow=partitioned,
    )


HISTORIES = [
    dml("DML, flat, with feed", "", True),
    dml("DML, partitioned, without feed", "PARTITIONED BY (p)", False),
    rewriting("rewrites, flat, without feed", "", False),
    rewriting("rewrites, partitioned, with feed", "PARTITIONED BY (p)", True),
    types(True),
    types(False),
    partitions(),
    typed_partitions(),
    *FEATURES,
    vectors(True),
    vectors(False),
    mapping("name"),
    mapping("id"),
    odd_names(),
    backtick(),
    clone(),
    delta_rs(True, False),
    delta_rs(False, True),
]


@pytest.mark.parametrize(
    "history", [pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.slow else []) for one in HISTORIES]
)
def test_changes_are_the_difference_of_snapshots(spark: SparkSession, tmp_path: Path, history: History) -> None:
    path = str(tmp_path / history.folder)
    held = run(spark, history, path)
    check_history(spark, history, path, held)
