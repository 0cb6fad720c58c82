"""The fences of the commit protocol where Spark is involved: used numbers, stale pins, foreign commits, sleepers."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import write_deltalake

import penstock.engine.write.commit as commit_module
from penstock.engine.write import apply_spark
from penstock.engine.write.apply import Applier, Change, ChangeKind
from penstock.engine.write.commit import commit, commit_frontier_only
from penstock.engine.write.merge_predicate import OP
from penstock.engine.write.storage import Storage
from penstock.engine.write.table_properties import Layout, layout_of
from penstock.errors import CommitConflict
from penstock.names import WEIGHT
from stored import ID, action_kinds, apply_now, bag, record, schema, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BAG = schema(k="long", **{WEIGHT: "long"})
ROW = {"k": 1, WEIGHT: 1}


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    made = Storage.create(tmp_path / "t", Layout(BAG, None), {"penstock.id": ID, "penstock.definition": "{}"})
    apply_now(made, Change("append", table(BAG, [ROW])))
    return made


def change(kind: ChangeKind) -> Change:
    if kind == "bag":
        return Change("bag", table(BAG, [{**ROW, OP: "d"}, {**ROW, WEIGHT: 9, OP: "i"}], with_op=True))
    return Change(kind, table(BAG, [{**ROW, WEIGHT: 9}]))


def rows(storage: Storage) -> Any:
    return bag(storage.pin().handle.to_pyarrow_table(), BAG)


@pytest.mark.parametrize(
    ("kind", "successor"), [("append", "delta-rs"), ("bag", "delta-rs"), ("overwrite", "delta-rs"), ("append", "spark")]
)
def test_a_sleeper_that_wakes_after_a_takeover_does_no_harm(
    spark: SparkSession, storage: Storage, kind: ChangeKind, successor: Applier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sleeper has passed every check when it is stopped; its number is the successor's by the time it goes on."""
    pin = storage.pin()
    monkeypatch.setattr(commit_module, "_session", lambda storage, pin, spark: spark)
    apply_now(storage, Change("append", table(BAG, [{"k": 2, WEIGHT: 1}])), successor, spark=spark)
    before = rows(storage)
    with pytest.raises(CommitConflict, match="Spark skipped"):
        commit(storage, pin, change(kind), record(), applier="spark", transaction_number=1, spark=spark)
    assert (storage.version, rows(storage)) == (2, before)


@pytest.mark.parametrize("kind", ["append", "bag", "overwrite"])
def test_a_stale_pin_is_refused(spark: SparkSession, storage: Storage, kind: ChangeKind) -> None:
    pin = storage.pin()
    write_deltalake(storage.path, table(BAG, [ROW]), mode="append")
    with pytest.raises(CommitConflict, match="moved from version 1 to 2"):
        commit(storage, pin, change(kind), record(), applier="spark", transaction_number=1, spark=spark)
    assert storage.version == 2


def test_a_used_number_is_refused(spark: SparkSession, storage: Storage) -> None:
    with pytest.raises(CommitConflict, match="was used already"):
        commit(storage, storage.pin(), change("append"), record(), applier="spark", transaction_number=0, spark=spark)
    assert storage.version == 1


def test_a_commit_on_top_of_a_foreign_change_is_reported_now_and_at_the_next_pin(
    spark: SparkSession, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = storage.pin()
    monkeypatch.setattr(commit_module, "_session", lambda storage, pin, spark: spark)
    spark.sql(f"UPDATE delta.`{storage.path}` SET k = 7")
    with pytest.raises(CommitConflict, match="on top of UPDATE at version 2"):
        commit(storage, pin, change("append"), record(), applier="spark", transaction_number=1, spark=spark)
    again = storage.pin()
    assert (again.record_version, again.damaged) == (3, "UPDATE at version 2 changed stored rows")


def test_a_foreign_optimize_is_accepted_a_foreign_update_is_damage(spark: SparkSession, storage: Storage) -> None:
    apply_now(storage, Change("append", table(BAG, [ROW])))
    pin = storage.pin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commit_module, "_session", lambda storage, pin, spark: spark)
        spark.sql(f"OPTIMIZE delta.`{storage.path}`")
        done = commit(storage, pin, change("append"), record(), applier="spark", transaction_number=2, spark=spark)
    assert done.version == 4
    pin = storage.pin()
    assert ([one.operation for one in pin.foreign], pin.damaged) == (["OPTIMIZE"], None)
    spark.sql(f"UPDATE delta.`{storage.path}` SET k = 7")
    assert storage.pin().damaged == "UPDATE at version 5 changed stored rows"


def test_spark_keeps_the_definition(spark: SparkSession, storage: Storage) -> None:
    definition = '{"query": "SELECT \'${x}\' AS `a\\"b`, \\\\ FROM ž"}'
    storage.set_configuration({"penstock.definition": definition})
    apply_now(storage, change("overwrite"), "spark", spark=spark)
    assert storage.configuration["penstock.definition"] == definition
    shown: Any = spark.sql(f"SHOW TBLPROPERTIES delta.`{storage.path}`").collect()
    assert dict(shown)["penstock.definition"] == definition


def test_a_table_that_delta_rs_may_not_write_goes_to_spark(spark: SparkSession, storage: Storage) -> None:
    spark.sql(f"ALTER TABLE delta.`{storage.path}` SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    pin = storage.pin()
    assert pin.damaged is None
    assert "rowTracking" in (pin.not_fast or "")
    done = apply_now(storage, change("append"), "delta-rs", spark=spark)
    assert (done.applier, done.rows_written) == ("spark", 1)
    carried = commit_frontier_only(storage, storage.pin(), record(), spark=spark)
    assert carried.applier == "spark"
    assert not set(action_kinds(storage, carried.version)) & {"add", "remove", "cdc"}


def test_a_writer_overtaken_while_it_writes_loses(spark: SparkSession, storage: Storage, tmp_path: Path) -> None:
    """Spark has read the table and is writing files when the successor commits: even a blind append must not land."""
    gate = tmp_path / "gate"

    def slowly(batches: Any) -> Any:
        (gate.parent / "writing").touch()
        while not gate.exists():
            time.sleep(0.05)
        yield from batches

    pin = storage.pin()
    late = (
        spark.createDataFrame([(1, 9)], f"k long, {WEIGHT} long")
        .coalesce(1)
        .mapInArrow(slowly, f"k long, {WEIGHT} long")
    )
    with ThreadPoolExecutor(1) as pool:
        number = pin.next_transaction
        running = pool.submit(
            commit,
            storage,
            pin,
            Change("append", late),
            record(),
            applier="spark",
            transaction_number=number,
            spark=spark,
        )
        while not (tmp_path / "writing").exists() and not running.done():
            time.sleep(0.05)
        apply_now(storage, Change("append", table(BAG, [{"k": 2, WEIGHT: 1}])))
        gate.touch()
        with pytest.raises(CommitConflict):
            running.result(timeout=60)
    assert storage.version == 2
    assert storage.pin().damaged is None


def test_errors_of_spark_are_ours(spark: SparkSession, storage: Storage) -> None:
    """Two writers inside Spark at once: the loser learns it as a conflict, whatever Delta calls it."""
    import delta.exceptions

    def lose(*_: Any, **__: Any) -> None:
        raise delta.exceptions.ConcurrentAppendException("files were added")

    pin = storage.pin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apply_spark, "_merge", lose)
        with pytest.raises(CommitConflict, match="files were added"):
            apply_spark.apply(
                spark, storage.path, change("bag"), layout_of(pin.handle), schema_json=None, record="", app=ID, number=1
            )
