"""Changes by deletion vectors: Spark reads what the model says, from the table and from its change feed."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from warehouses import warehouse

import penstock.engine.write.apply_vectors as apply_vectors
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.read.file_columns import FileColumns
from penstock.engine.write.apply import Change, ChangeKind
from penstock.engine.write.commit import Committed, Marking, commit_frontier_only
from penstock.engine.write.marked_files import SPARSE_FILES
from penstock.engine.write.merge_predicate import OP
from penstock.engine.write.storage import Storage
from penstock.engine.write.table_properties import CHECKPOINT_INTERVAL, Layout, layout_of
from penstock.errors import CommitConflict
from penstock.names import WEIGHT
from penstock.testing.oracle import assert_exact
from stored import ID, NAN, Model, action_kinds, apply_now, bag, bits, record, schema, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

SIGNS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
KEYED = schema(k="long", s="string", at="timestamp", f="double", total="decimal(38,18)", n="long")
BAG = schema(**{"k": "integer", "x": "double", "s": "string", "day": "timestamp_ntz", WEIGHT: "long"})


def keyed_row(chance: random.Random) -> dict[str, Any]:
    return {
        "k": chance.choice([None, 1, 2, 3, 50, -7]),
        "s": chance.choice([None, "", "it's", "ž\U0001f600"]),
        "at": chance.choice([None, datetime(2024, 5, 1, 12, 0, 0, 123456, UTC)]),
        "f": chance.choice([None, NAN, -0.0, 0.0, 1.5]),
        "total": chance.choice([None, Decimal("12345678901234567890.123456789012345678"), Decimal("0.5")]),
        "n": chance.randrange(3),
    }


def bag_value(chance: random.Random) -> dict[str, Any]:
    return {
        "k": chance.choice([None, 1, 2]),
        "x": chance.choice([None, NAN, 0.0, -0.0]),
        "s": chance.choice([None, "a"]),
        "day": chance.choice([None, datetime(2024, 3, 31, 2, 30, 0, 1)]),
    }


class Table:
    """A stream table's storage that is changed by vectors, and the model of it."""

    def __init__(self, spark: SparkSession, root: Path, schema_json: str, key: tuple[str, ...] | None) -> None:
        self.spark = spark
        self.model = Model(schema_json, key)
        self.storage = Storage.create(root / "t", Layout(schema_json, key), {"penstock.id": ID})
        self.storage.set_configuration({CHECKPOINT_INTERVAL: "4"})
        self.log = DeltaLog(self.storage.path)
        self.net: dict[int, Counter[Any]] = {}
        self.columns = FileColumns()

    @property
    def marking(self) -> Marking:
        return Marking(self.log, self.columns, 1)

    def apply(self, kind: ChangeKind, rows: list[dict[str, Any]]) -> Committed:
        net = self.model.apply(kind, rows)
        arrow = table(self.model.schema_json, rows, with_op=kind in ("keyed", "bag"))
        done = apply_now(self.storage, Change(kind, arrow), marking=self.marking)
        self.net[done.version] = net
        return done

    def check(self) -> None:
        schema_json, expected = self.model.schema_json, self.model.state()
        rows = self.spark.read.format("delta").load(self.storage.path).toArrow()
        assert bag(rows, schema_json) == expected, "as Spark reads it"
        assert self.log.snapshot().rows == len(self.model.rows)
        assert self.storage.pin().damaged is None
        feed = (
            self.spark.read.format("delta")
            .option("readChangeFeed", "true")
            .option("startingVersion", min(self.net))
            .load(self.storage.path)
            .drop("_commit_timestamp")
            .toArrow()
        )
        found: dict[int, Counter[Any]] = {version: Counter() for version in self.net}
        names = [name for name in feed.column_names if not name.startswith("_c")]
        told = pa.Table.from_pylist(feed.select(names).to_pylist(), table(schema_json, []).schema).to_pylist()
        for version, kind, row in zip(
            feed["_commit_version"].to_pylist(), feed["_change_type"].to_pylist(), told, strict=True
        ):
            found[version][bits(row)] += SIGNS[kind]
        net = {version: Counter({row: n for row, n in each.items() if n}) for version, each in found.items()}
        assert net == self.net, "as its change feed tells it"


def keyed_change(held: Table, chance: random.Random) -> list[dict[str, Any]]:
    identity = held.model._identity
    there = {identity(row, "keyed") for row in held.model.rows}
    wanted = {identity(row, "keyed"): row for row in (keyed_row(chance) for _ in range(20))}
    return [{**row, OP: "d" if key in there and chance.random() < 0.4 else "u"} for key, row in wanted.items()]


def bag_change(held: Table, chance: random.Random) -> list[dict[str, Any]]:
    identity = held.model._identity
    there = {identity(row, "bag"): {name: row[name] for name in row if name != WEIGHT} for row in held.model.rows}
    gone = chance.sample(sorted(there, key=repr), min(4, len(there)))
    rows: list[dict[str, Any]] = [{**there[key], WEIGHT: 0, OP: "d"} for key in gone]
    rows += [{**there[key], WEIGHT: chance.randrange(1, 4), OP: "i"} for key in gone if chance.random() < 0.5]
    return [*rows, *({**bag_value(chance), WEIGHT: 1, OP: "i"} for _ in range(3))]


@pytest.mark.parametrize("kind", ["keyed", "bag"])
def test_random_histories(spark: SparkSession, tmp_path: Path, kind: ChangeKind) -> None:
    """Every kind of change on a table that has vectors; a checkpoint now and then."""
    chance = random.Random(3)
    held = Table(spark, tmp_path, *((KEYED, ("k", "s", "at")) if kind == "keyed" else (BAG, None)))
    if kind == "keyed":
        held.apply("keyed", [{**row, OP: "u"} for row in keyed_change(held, chance)])
    else:
        held.apply("append", [{**bag_value(chance), WEIGHT: 1} for _ in range(30)])
    by = [held.apply(kind, (keyed_change if kind == "keyed" else bag_change)(held, chance)).applier for _ in range(6)]
    assert by == ["vectors"] * 6
    assert any(file.deletion_vector for file in held.log.snapshot().files)
    held.check()
    if kind == "bag":
        assert held.apply("append", [{**bag_value(chance), WEIGHT: 2}]).applier == "vectors"
    assert list((tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet"))
    carried = commit_frontier_only(held.storage, held.storage.pin(), record())
    assert carried.applier == "vectors"
    fresh = DeltaLog(held.storage.path)
    assert fresh.snapshot().live.keys() == held.log.snapshot().live.keys(), "vectors are in the checkpoint"
    rows = [] if kind == "keyed" else [{**bag_value(chance), WEIGHT: 1} for _ in range(3)]
    assert held.apply("overwrite", rows).applier == "vectors"
    held.check()


@pytest.mark.parametrize("kind", [pytest.param("keyed", marks=pytest.mark.slow), "bag"])
def test_many_small_changes_leave_few_files(spark: SparkSession, tmp_path: Path, kind: ChangeKind) -> None:
    """Worn files are folded, and nobody who follows the table notices."""
    chance = random.Random(8)
    held = Table(spark, tmp_path, *((KEYED, ("k", "s", "at")) if kind == "keyed" else (BAG, None)))
    held.apply("append", [{**bag_value(chance), WEIGHT: 1} for _ in range(30)]) if kind == "bag" else None
    most = 0
    for step in range(70):
        if kind == "bag" and step % 30:
            held.apply("append", [{**bag_value(chance), WEIGHT: 1}])
        else:
            held.apply(kind, (keyed_change if kind == "keyed" else bag_change)(held, chance)[:4])
        most = max(most, len(held.log.snapshot().files))
    assert SPARSE_FILES <= most <= 2 * SPARSE_FILES
    held.check()


def test_a_stale_pin_loses_and_leaves_nothing_behind(spark: SparkSession, tmp_path: Path) -> None:
    held = Table(spark, tmp_path, BAG, None)
    chance = random.Random(1)
    held.apply("append", [{**bag_value(chance), WEIGHT: 1} for _ in range(10)])
    held.apply("bag", bag_change(held, chance))
    pin = held.storage.pin()
    change = Change("bag", table(BAG, bag_change(held, chance), with_op=True))
    held.apply("append", [{**bag_value(chance), WEIGHT: 1}])
    files = {path for path in (tmp_path / "t").rglob("*") if path.is_file()}
    marked = apply_vectors.mark(held.columns, held.log.snapshot(pin.version), layout_of(pin.handle), change)
    assert marked is not None
    with pytest.raises(CommitConflict, match="has made version"):
        apply_vectors.apply(
            pin, held.storage.path, marked, held.columns, record="", app=ID, number=pin.next_transaction
        )
    assert {path for path in (tmp_path / "t").rglob("*") if path.is_file()} == files
    held.check()


def test_a_commit_says_that_the_table_has_vectors_once(spark: SparkSession, tmp_path: Path) -> None:
    held = Table(spark, tmp_path, BAG, None)
    chance = random.Random(1)
    held.apply("append", [{**bag_value(chance), WEIGHT: 1} for _ in range(10)])
    before = held.storage.configuration
    first = held.apply("bag", bag_change(held, chance))
    second = held.apply("bag", bag_change(held, chance))
    kinds = [set(action_kinds(held.storage, each.version)) for each in (first, second)]
    assert kinds[0] - kinds[1] == {"protocol", "metaData"}
    assert held.storage.configuration == {**before, "delta.enableDeletionVectors": "true"}
    protocol = DeltaTable(held.storage.path).protocol()
    assert {"deletionVectors", "timestampNtz"} <= set(protocol.reader_features or ())
    assert {"changeDataFeed", "appendOnly", "invariants", "timestampNtz"} <= set(protocol.writer_features or ())
    held.storage.set_configuration({"penstock.definition": "{}"})
    assert held.apply("bag", bag_change(held, chance)).applier == "vectors", (
        "a property set by delta-rs changes nothing"
    )
    held.check()


def test_vectors_that_spark_wrote_are_understood(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') "
        "AS SELECT id, id % 7 AS g FROM range(0, 5000, 1, 2)"
    )
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 3 = 0 OR id BETWEEN 1000 AND 1999")
    snapshot = DeltaLog(path).snapshot()
    assert {file.deletion_vector is not None for file in snapshot.files} == {True}
    shown = {row.id for row in spark.read.format("delta").load(path).collect()}
    live: set[int] = set()
    for file in snapshot.files:
        mask = FileColumns().live(snapshot.root, file)
        live |= set(pa.parquet.read_table(file.path).column("id").filter(mask).to_pylist())
    assert live == shown


def refreshed(ps: StreamTables, *names: str) -> list[str | None]:
    results = [ps.refresh(name) for name in names]
    for name, result in zip(names, results, strict=True):
        assert_exact(ps, name, "INCREMENTAL", result, to_the_bit=True)
    return [result.applier for result in results]


def test_stream_tables_over_one_with_vectors_and_its_readers(spark: SparkSession, tmp_path: Path) -> None:
    with warehouse(spark, tmp_path, deletion_vector_bytes=1) as ps:
        ps.sql("CREATE TABLE facts (k INT, g INT, d DOUBLE)")
        ps.sql("INSERT INTO facts SELECT id, id % 7, IF(id % 9 = 0, double('NaN'), -0.0) FROM range(300)")
        ps.create_stream_table("bag", "SELECT k, g, d FROM facts", refresh_mode="INCREMENTAL")
        ps.create_stream_table(
            "keyed", "SELECT g, count(*) AS n, max(k) AS most FROM facts GROUP BY g", refresh_mode="INCREMENTAL"
        )
        ps.create_stream_table("over", "SELECT g, count(*) AS n FROM bag GROUP BY g", refresh_mode="INCREMENTAL")
        for change in (
            "DELETE FROM facts WHERE k % 10 = 3",
            "UPDATE facts SET g = g + 1 WHERE k % 11 = 4",
            "INSERT INTO facts VALUES (7, NULL, 0.0), (7, NULL, 0.0); DELETE FROM facts WHERE k = 8",
        ):
            ps.sql(change)
            assert refreshed(ps, "bag", "keyed", "over")[:2] == ["vectors", "vectors"]
        log = DeltaLog(str(ps.info("bag")[0]["path"]))
        assert any(file.deletion_vector for file in log.snapshot().files)
        changelog = ps.changelog("bag")
        shown = ps.table("bag").toArrow()
        told = changelog.snapshot(changelog.newest())
        assert Counter(map(repr, told.to_pylist())) == Counter(map(repr, shown.to_pylist()))
        assert "deletion vectors are on" in ps.explain("bag").text()
        assert ps.refresh("bag").action == "NO_DATA"
        ps.spark.sql("DELETE FROM facts WHERE k > 150")
        assert refreshed(ps, "bag", "over", "keyed")[0] == "vectors"


def test_a_foreign_write_to_a_table_with_vectors_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    with warehouse(spark, tmp_path, deletion_vector_bytes=1) as ps:
        ps.sql("CREATE TABLE facts (k INT); INSERT INTO facts SELECT id FROM range(100)")
        ps.create_stream_table("bag", "SELECT k FROM facts", refresh_mode="INCREMENTAL")
        ps.sql("DELETE FROM facts WHERE k % 10 = 3")
        assert refreshed(ps, "bag") == ["vectors"]
        path = str(ps.info("bag")[0]["path"])
        ps.spark.sql(f"DELETE FROM delta.`{path}` WHERE k = 5")
        result = ps.refresh("bag")
        assert result.action == "REINITIALIZE"
        assert ps.audit("bag").exact
