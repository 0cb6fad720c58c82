"""Folders with spaces, signs and letters that addresses write otherwise: everything is found where it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warehouses import warehouse

import penstock
from penstock.engine.spark import registry
from penstock.errors import RetentionCut, WarehouseUnusable
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("name", ["my tables", "prix 100%", "ünï+plus&more", "one#two"])
def test_a_warehouse_in_such_a_folder(spark: SparkSession, tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    with warehouse(spark, place) as ps:
        ps.sql(f"CREATE TABLE src (id INT, v INT) LOCATION '{place / 'outside'}'; CREATE TABLE more (id INT, v INT)")
        ps.sql("INSERT INTO src VALUES (1, 1), (2, 2); INSERT INTO more VALUES (9, 9)")
        query = "SELECT id, v FROM src UNION ALL SELECT id, v FROM more"
        ps.create_stream_table("bag", query, refresh_mode="INCREMENTAL")
        ps.create_stream_table("sums", "SELECT v, count(*) AS n FROM bag GROUP BY v", refresh_mode="INCREMENTAL")
        ps.sql(
            "INSERT INTO src VALUES (3, 2); DELETE FROM src WHERE id = 1; DELETE FROM more; CREATE TABLE other (x INT)"
        )
        assert ps.refresh("sums").action == "INCREMENTAL", "no name has moved"
        for table in ("bag", "sums"):
            assert_exact(ps, table)
            assert ps.audit(table).exact

        known = {each.table: each for each in ps._warehouse.catalog.known_tables()}
        assert known["src"].path == f"file:{place / 'outside'}"
        assert known["more"].path == f"file:{place / 'tables' / 'shop.db' / 'more'}"
        # As for a process that finds Spark's catalog empty.
        ps.spark.sql("DROP TABLE src")
        assert registry.restore(ps.spark, [known["src"]]) == []
        ps.sql("INSERT INTO src VALUES (4, 4); DELETE FROM src WHERE id = 3")
        ps.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        with pytest.raises(RetentionCut):
            ps.sql("VACUUM src RETAIN 0 HOURS")
        assert ps.refresh("sums").upstream[0].action == "INCREMENTAL"
        for table in ("bag", "sums"):
            assert_exact(ps, table)


def test_a_folder_that_would_be_taken_for_another_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WarehouseUnusable, match="%20 in its path"):
        penstock.open(tmp_path / "a%20b")
    assert list(tmp_path.iterdir()) == []
