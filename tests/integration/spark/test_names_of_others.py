"""A session whose names stand for another warehouse's files is refused, so that no statement reaches that warehouse."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warehouses import opened_anew, with_names_of_its_own

import penstock
from penstock.errors import SessionMisconfigured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "CREATE TABLE orders (id INT) USING delta{at}; INSERT INTO orders VALUES (1), (2)"
STREAM = "CREATE STREAM TABLE sums AS SELECT sum(id) AS n FROM orders"


def fingerprints(root: Path) -> dict[str, str]:
    """Every file of the tables with a hash of its bytes."""
    files = [file for folder in ("tables", "data", "stream_tables") for file in (root / folder).rglob("*")]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files) if file.is_file()}


def refused(root: Path, session: SparkSession) -> str:
    """What is said when a warehouse is opened in a session that is another's."""
    with pytest.raises(SessionMisconfigured, match="another warehouse") as caught:
        penstock.open(root, spark=session)
    return str(caught.value)


def test_a_copy_is_refused_in_a_session_of_the_original(spark: SparkSession, tmp_path: Path) -> None:
    a, b = tmp_path / "A", tmp_path / "B"
    session = with_names_of_its_own(spark, a)
    with penstock.open(a, spark=session) as original:
        original.sql(f"{TABLE.format(at='')}; {STREAM}")
        before = fingerprints(a)
        shutil.copytree(a, b)
        assert str(a) in refused(b, session)
        # Asked twice, it is refused twice.
        with penstock.StreamTables(b, spark=session) as copy:
            for _ in range(2):
                with pytest.raises(SessionMisconfigured):
                    copy.sql("DROP TABLE orders")
    refused(b, session)
    for file in b.glob("catalog.sqlite*"):
        file.unlink()
    with pytest.raises(SessionMisconfigured):
        penstock.repair(b, spark=session)
    assert fingerprints(a) == before
    own = with_names_of_its_own(spark, b)
    penstock.repair(b, spark=own)
    with penstock.open(b, spark=own) as copy:
        copy.sql("INSERT INTO orders VALUES (3); REFRESH STREAM TABLE sums")
        assert copy.sql("SELECT n FROM sums").collect()[0][0] == 6
        copy.sql("DROP STREAM TABLE sums; DROP TABLE orders")
    assert fingerprints(a) == before
    # And the other way round.
    refused(a, own)


@pytest.mark.parametrize("script", [TABLE, f"{TABLE}; {STREAM}; ALTER TABLE orders RENAME TO others"])
def test_one_name_is_enough(spark: SparkSession, tmp_path: Path, script: str) -> None:
    a, b = tmp_path / "A", tmp_path / "B"
    session = with_names_of_its_own(spark, tmp_path / "neutral")
    with penstock.open(a, spark=session) as original:
        original.sql(script.format(at=f" LOCATION '{a}/data/orders'"), yes=True)
    shutil.copytree(a, b)
    before = fingerprints(a)
    refused(b, session)
    assert fingerprints(a) == before
    # The session of the one stays its own.
    with penstock.open(a, spark=session):
        pass


@pytest.mark.parametrize(
    "other", ["CREATE TABLE sums (n INT)", "CREATE VIEW orders AS SELECT 1 AS id", "CREATE SCHEMA mart"]
)
def test_two_warehouses_with_one_name(spark: SparkSession, tmp_path: Path, other: str) -> None:
    a, b = tmp_path / "A", tmp_path / "B"
    with opened_anew(spark, b) as second:
        second.sql(other)
    session = with_names_of_its_own(spark, tmp_path / "neutral")
    with penstock.open(a, spark=session) as first:
        first.sql(f"CREATE SCHEMA mart LOCATION '{a}/tables/mart.db'")
        place = f" LOCATION '{a}/tables/orders'"
        first.sql(f"{TABLE.format(at=place)}; {STREAM}")
        refused(b, session)
        assert first.sql("SELECT n FROM sums").collect()[0][0] == 3


def test_new_tables_do_not_go_into_another_warehouse(spark: SparkSession, tmp_path: Path) -> None:
    with opened_anew(spark, tmp_path / "A") as first:
        assert "default" in refused(tmp_path / "B", first.spark)
    assert not (tmp_path / "B").exists()


def test_two_warehouses_without_a_common_name_share_a_session(spark: SparkSession, tmp_path: Path) -> None:
    session = with_names_of_its_own(spark, tmp_path / "neutral")
    with penstock.open(tmp_path / "A", spark=session) as first:
        first.sql(f"{TABLE.format(at='')}; {STREAM}")
        with penstock.open(tmp_path / "B", spark=session) as second:
            second.sql("CREATE STREAM TABLE counts AS SELECT count(*) AS n FROM orders")
            first.sql("INSERT INTO orders VALUES (4)")
            for each in (first, second):
                each.refresh_all()
            assert first.sql("SELECT s.n, c.n FROM sums s CROSS JOIN counts c").collect() == [(7, 3)]
            first.sql("CREATE TABLE more (id INT)")
    for folder in ("B", "A"):
        penstock.open(tmp_path / folder, spark=session).close()
    # What is the other's is not remembered as one's own.
    with opened_anew(spark, tmp_path / "A") as alone:
        assert not alone.spark.catalog.tableExists("counts")
        assert alone.sql("SELECT * FROM orders").count() == 3


def test_a_warehouse_that_was_moved_under_its_session_needs_another(spark: SparkSession, tmp_path: Path) -> None:
    session = with_names_of_its_own(spark, tmp_path / "neutral")
    with penstock.open(tmp_path / "A", spark=session) as first:
        first.sql(TABLE.format(at=f" LOCATION '{tmp_path}/A/data/orders'"))
    (tmp_path / "A").rename(tmp_path / "M")
    with pytest.raises(SessionMisconfigured, match="nothing is any more"):
        penstock.open(tmp_path / "M", spark=session)
    assert not (tmp_path / "A").exists()
    with opened_anew(spark, tmp_path / "M") as moved:
        moved.sql("INSERT INTO orders VALUES (3)")
        assert moved.sql("SELECT * FROM orders").count() == 3
