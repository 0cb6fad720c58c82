"""The plan of a run, and the texts of the shapes."""

from __future__ import annotations

import pytest
import sqlglot
from benchmarks.shapes import FIVE, SHAPES, Shape
from benchmarks.workloads import EVERYTHING, PROMISED

TABLES = {name: f"shop.{name}" for name in ("orders", "customers", "baskets", "products")}


def test_labels_are_unique() -> None:
    for plan in (PROMISED, EVERYTHING):
        labels = [label for workload in plan for label in workload.labels]
        assert len(labels) == len(set(labels))


def test_everything_has_all_that_is_promised() -> None:
    assert {label for workload in PROMISED for label in workload.labels} <= {
        label for workload in EVERYTHING for label in workload.labels
    }


def test_the_matrix_is_whole() -> None:
    cells = [label for workload in EVERYTHING for label in workload.labels if label.startswith("matrix")]
    assert len(cells) == 3 * 3 * len(FIVE)
    large = [label for workload in EVERYTHING for label in workload.labels if label.startswith("large")]
    assert len(large) == 3 * 2 * len(FIVE)


def test_some_parts_can_be_chosen() -> None:
    kept = [left for workload in PROMISED if (left := workload.only(["10M, 0.1% clustered: JOIN", "q03"])) is not None]
    assert [left.labels for left in kept] == [("large 10M, 0.1% clustered: join",), ("TPC-H SF 1, 0.1%: q03",)]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_texts_of_a_shape_are_sql_over_the_tables_that_it_names(shape: Shape) -> None:
    query = sqlglot.parse_one(shape.query_over(TABLES), dialect="spark")
    read = {table.name for table in query.find_all(sqlglot.exp.Table)}
    assert read == {"orders", *shape.dimensions}
    merge = shape.merge_over(TABLES, "shop.result", 3, 5)
    assert "table_changes('shop.orders', 3, 5)" in merge
    assert isinstance(sqlglot.parse_one(merge, dialect="spark"), sqlglot.exp.Merge)
