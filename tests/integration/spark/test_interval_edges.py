"""What the histories do not show: lost files and commits, weights, odd types, pruning, and the checker itself."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from interval_check import SMALL, bag, check_changes, check_scans, forced, rows, session_conf, travel
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.interval import ChangeSet, ChangeSetKind, Part, Way, classify
from penstock.engine.failures.lost_file import lost_file
from penstock.engine.read.pruning import bounds_of, prune
from penstock.engine.read.scan import changes, scan
from penstock.engine.spark.refresh_conf import REFRESH_CONF
from penstock.errors import FrontierLost, SourceChanged, SourceMissing
from penstock.names import WEIGHT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def quick(spark: SparkSession) -> Iterator[SparkSession]:
    with session_conf(spark, {**SMALL, **REFRESH_CONF}):
        yield spark


def create(spark: SparkSession, path: str, columns: str, **properties: str) -> str:
    shown = ", ".join(f"'delta.{name}'='{value}'" for name, value in properties.items())
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta" + (f" TBLPROPERTIES ({shown})" if shown else ""))
    return f"delta.`{path}`"


def test_the_checker_catches_change_files_mixed_with_file_lists(quick: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = create(quick, path, "id INT, v INT", enableChangeDataFeed="true")
    quick.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)")
    quick.sql(f"UPDATE {table} SET v = 20 WHERE id = 2")
    log = DeltaLog(path)
    held = travel(quick, log, [1, 2])
    with forced(Way.COMMITS):
        told = classify(log, 1, 2)
    with forced(Way.ENDS):
        ends = classify(log, 1, 2)
    check_changes(quick, log, [told, ends], held)
    mixed = Part(1, 2, Way.COMMITS, ends.parts[0].plus, ends.parts[0].minus, told.parts[0].cdc)
    with pytest.raises(AssertionError):
        check_changes(quick, log, [replace(told, parts=(mixed,))], held)
    one_sided = Part(1, 2, Way.COMMITS, ends.parts[0].plus)
    with pytest.raises(AssertionError):
        check_changes(quick, log, [replace(told, parts=(one_sided,))], held)
    with pytest.raises(AssertionError):
        check_changes(quick, log, [replace(ends, insert_only=True)], held)
    with pytest.raises(AssertionError):
        check_scans(quick, log, {1: held[2]})


def test_files_that_vacuum_took_are_named(quick: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = create(quick, path, "id INT, v INT")
    quick.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    quick.sql(f"UPDATE {table} SET v = 20 WHERE id = 2")
    log = DeltaLog(path)
    found: dict[Way | None, ChangeSet] = {None: classify(log, 1, 2)}
    for way in (Way.FEED, Way.SNAPSHOTS):
        with forced(way):
            found[way] = classify(log, 1, 2)
    # VACUUM lists folders in as many tasks as the second setting says; the default is 10,000.
    at_once = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    }
    with session_conf(quick, at_once):
        quick.sql(f"VACUUM {table} RETAIN 0 HOURS")
    for one in found.values():
        with pytest.raises((PySparkException, Py4JError)) as caught:
            rows(changes(quick, log, one, ["id", "v"]))
        lost = lost_file(caught.value)
        assert lost is not None
        assert lost.endswith(".parquet")
        assert path in lost
    with pytest.raises((PySparkException, Py4JError)) as caught:
        rows(scan(quick, log.snapshot(1), ["id"]))
    assert lost_file(caught.value) is not None
    assert sorted(row["id"] for row in rows(scan(quick, log.snapshot(), ["id"]))) == [1, 2]
    with pytest.raises((PySparkException, Py4JError)) as caught:
        quick.sql("SELECT raise_error('not that')").collect()
    assert lost_file(caught.value) is None


@pytest.mark.parametrize(
    ("properties", "conf"),
    [
        ({}, {}),
        ({}, {"spark.databricks.delta.checkpoint.partSize": "3"}),
        ({"checkpointPolicy": "v2"}, {}),
        ({"checkpointPolicy": "v2"}, {"spark.databricks.delta.checkpointV2.topLevelFileFormat": "json"}),
    ],
    ids=["classic", "in parts", "v2", "v2 as JSON"],
)
def test_a_log_that_was_cleaned_up(
    quick: SparkSession, tmp_path: Path, properties: dict[str, str], conf: dict[str, str]
) -> None:
    path = str(tmp_path / "t")
    with session_conf(quick, conf):
        table = create(quick, path, "id INT, v INT", checkpointInterval="3", **properties)
        for step in range(1, 4):
            quick.sql(f"INSERT INTO {table} VALUES ({step}, 0)")
        quick.sql(f"UPDATE {table} SET v = 1 WHERE id < 3")
        for step in range(5, 7):
            quick.sql(f"INSERT INTO {table} VALUES ({step}, 0)")
    whole = DeltaLog(path)
    assert whole.latest_version() == 6
    kept = {version: set(whole.snapshot(version).live) for version in range(7)}
    for version in range(3):
        os.remove(f"{path}/_delta_log/{version:020d}.json")
    log = DeltaLog(path)
    assert {version: set(log.snapshot(version).live) for version in range(3, 7)} == {v: kept[v] for v in range(3, 7)}
    os.remove(f"{path}/_delta_log/{5:020d}.json")
    log = DeltaLog(path)
    assert set(log.snapshot(6).live) == kept[6]
    for lost in (2, 5):
        with pytest.raises(FrontierLost):
            log.snapshot(lost)
    # From 3 to 6 the commits are not all there any more; the ends are.
    held = travel(quick, log, [3, 6])
    found = classify(log, 3, 6)
    assert [part.way for part in found.parts] == [Way.ENDS]
    check_changes(quick, log, [found], held)
    with pytest.raises(FrontierLost):
        classify(log, 1, 6)


def test_dropped_and_created_again(quick: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = create(quick, path, "id INT")
    quick.sql(f"INSERT INTO {table} VALUES (1)")
    log = DeltaLog(path)
    old = log.snapshot().table_id
    quick.sql("CREATE TABLE again (id INT) USING delta LOCATION '" + path + "'")
    quick.sql("CREATE OR REPLACE TABLE again (id INT, v INT) USING delta LOCATION '" + path + "'")
    replaced = classify(log, 1, log.latest_version(), table_id=old)
    assert replaced.drift.replaced
    assert replaced.drift.added == ("v",)
    assert rows(changes(quick, log, replaced, ["id"])) == [{"id": 1, WEIGHT: -1}]
    quick.sql("DROP TABLE again")
    shutil.rmtree(path)
    with pytest.raises(SourceMissing):
        classify(log, 1, 1, table_id=old)
    table = create(quick, path, "id INT")
    quick.sql(f"INSERT INTO {table} VALUES (2)")
    found = classify(log, 1, 1, table_id=old)
    assert found.drift.recreated
    with pytest.raises(SourceChanged):
        changes(quick, log, found, ["id"])
    assert rows(scan(quick, log.snapshot(), ["id"])) == [{"id": 2}]


def test_stored_weights_and_hidden_rows(quick: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = create(quick, path, "id INT, v INT, __ps_weight BIGINT, __ps_rows INT", enableChangeDataFeed="true")
    quick.sql(f"INSERT INTO {table} VALUES (1, 1, 3, 1), (1, 1, 2, 1), (2, 2, 1, 0)")
    quick.sql(f"DELETE FROM {table} WHERE __ps_weight = 3")
    quick.sql(f"UPDATE {table} SET __ps_rows = 1 WHERE id = 2")
    log = DeltaLog(path)

    def net(before: int, after: int, **how: Any) -> dict[tuple[Any, ...], int]:
        frame = changes(quick, log, classify(log, before, after), ["v", "ID"], weight_column=WEIGHT, **how)
        assert frame.columns == ["v", "ID", WEIGHT]
        total: Counter[tuple[Any, ...]] = Counter()
        for row in rows(frame):
            total[row["v"], row["ID"]] += row[WEIGHT]
        return dict(total)

    visible = {"where": "`__PS_rows` > 0"}
    assert net(0, 1) == {(1, 1): 5, (2, 2): 1}
    assert net(0, 1, **visible) == {(1, 1): 5}
    assert net(1, 2, **visible) == {(1, 1): -3}
    assert net(1, 3, **visible) == {(1, 1): -3, (2, 2): 1}
    assert net(2, 3) == {}


def test_rows_without_columns_and_with_partition_columns_only(quick: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    quick.sql(f"CREATE TABLE delta.`{path}` (id INT, p INT, q STRING) USING delta PARTITIONED BY (p, q)")
    quick.sql(f"INSERT INTO delta.`{path}` VALUES (1, 1, 'x'), (2, 1, 'x'), (3, NULL, 'y'), (4, 2, NULL)")
    quick.sql(f"DELETE FROM delta.`{path}` WHERE id IN (1, 4)")
    log = DeltaLog(path)
    at = log.snapshot(1)
    assert scan(quick, at, []).count() == 4
    found = bag(rows(scan(quick, at, ["q", "P"])), ["q", "P"])
    assert sum(found.values()) == 4
    assert bag(rows(scan(quick, at, ["q"])), ["q"]) == bag([{"q": "x"}, {"q": "x"}, {"q": "y"}, {"q": None}], ["q"])
    difference = classify(log, 1, 2)
    assert rows(changes(quick, log, difference, [])) == [{WEIGHT: -2}]
    by_partition = {(row["p"], row["q"]): row[WEIGHT] for row in rows(changes(quick, log, difference, ["p", "q"]))}
    assert by_partition == {(1, "x"): -1, (2, None): -1}
    assert rows(changes(quick, log, classify(log, 2, 2), ["id"])) == []


def test_variants_cancel_by_type_and_text(quick: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = create(quick, path, "id INT, v VARIANT")
    quick.sql(
        f"INSERT INTO {table} SELECT 1, parse_json('{{\"a\": 1}}') UNION ALL SELECT 2, NULL "
        "UNION ALL SELECT 3, parse_json('[1, \"x\"]') UNION ALL SELECT 4, parse_json('1')"
    )
    quick.sql(f"UPDATE {table} SET v = parse_json('\"1\"') WHERE id = 4")
    log = DeltaLog(path)
    found = classify(log, 1, 2)
    assert found.kind is ChangeSetKind.READER
    got = changes(quick, log, found, ["id", "v"]).selectExpr("id", "to_json(v) AS v", WEIGHT).collect()
    total: Counter[tuple[Any, ...]] = Counter()
    for row in got:
        total[row["id"], row["v"]] += row[WEIGHT]
    assert {key: weight for key, weight in total.items() if weight} == {(4, "1"): -1, (4, '"1"'): 1}
    # The array of mixed types stays as a pair that sums to nothing; everything else is netted.
    assert len(got) in (2, 4)
    assert {row["id"] for row in got} <= {3, 4}


KEYS: dict[str, tuple[str, pa.DataType, list[Any]]] = {
    "long": ("BIGINT", pa.int64(), [0, 7, -(2**62), 2**62, None]),
    "text": ("STRING", pa.string(), ["", "a", "ž" * 40, "z" * 61, None]),
    "day": ("DATE", pa.date32(), [datetime(1970, 1, 1).date(), datetime(2024, 2, 29).date(), None]),
    "micros": (
        "TIMESTAMP",
        pa.timestamp("us", "UTC"),
        [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros) for micros in (0, 1, 999, 1001)] + [None],
    ),
    "double": ("DOUBLE", pa.float64(), [float("nan"), 0.0, -0.0, 1.5, float("inf"), None]),
    "short decimal": ("DECIMAL(15,2)", pa.decimal128(15, 2), [Decimal("0.01"), Decimal("9999999999999.99"), None]),
    "long decimal": (
        "DECIMAL(38,18)",
        pa.decimal128(38, 18),
        [Decimal("12345678901234567890.123456789012345678"), Decimal("12345678901234567890.123456789012345679"), None],
    ),
}


def test_pruning_never_loses_a_row(quick: SparkSession, tmp_path: Path) -> None:
    """One file per value, by both writers; every key, NULL included, must still find all its rows."""
    from deltalake import write_deltalake

    columns = ", ".join(f"`{name}` {kind}" for name, (kind, _, _) in KEYS.items())
    path = str(tmp_path / "t")
    create(quick, path, columns.replace("short decimal", "short").replace("long decimal", "wide"))
    names = {"short decimal": "short", "long decimal": "wide"}
    skipped = 0
    for column, (_, kind, values) in KEYS.items():
        for value in values:
            one = {
                names.get(other, other): pa.array([value if other == column else None], type_)
                for other, (_, type_, _) in KEYS.items()
            }
            write_deltalake(path, pa.table(one), mode="append")
            assert kind is not None
    log = DeltaLog(path)
    rewritten = str(tmp_path / "by_spark")
    create(quick, rewritten, columns.replace("short decimal", "short").replace("long decimal", "wide"))
    everything = scan(quick, log.snapshot(), log.snapshot().schema.names)
    everything.repartitionByRange(8, "long", "micros").write.format("delta").mode("append").save(rewritten)
    for snapshot in (log.snapshot(), DeltaLog(rewritten).snapshot()):
        held: dict[str, list[Any]] = {}
        for file in snapshot.files:
            held[file.path] = quick.read.schema(snapshot.schema).parquet(file.path).toArrow().to_pylist()
        for column, (_, kind, values) in KEYS.items():
            name = names.get(column, column)
            for value in values:
                bounds = bounds_of(pa.table({"k": pa.array([value], kind)}), {name: "k"})
                kept = {file.path for file in prune(snapshot.files, bounds, snapshot.schema)}
                skipped += len(snapshot.files) - len(kept)
                with_it = {file for file, found in held.items() if any(_same(row[name], value) for row in found)}
                assert with_it
                assert with_it <= kept, (column, value)
    assert skipped > 100, "pruning that skips nothing proves nothing"


def _same(left: Any, right: Any) -> bool:
    return left == right or (left != left and right != right)
