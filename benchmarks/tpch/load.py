"""The eight Delta tables: change data feed on, laid out in several files in key order, so that files can be skipped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import penstock


@dataclass(frozen=True, slots=True)
class Table:
    """How one table is laid out."""

    name: str
    key: tuple[str, ...]
    files: int


TABLES = (
    Table("region", ("r_regionkey",), 1),
    Table("nation", ("n_nationkey",), 1),
    Table("supplier", ("s_suppkey",), 4),
    Table("customer", ("c_custkey",), 8),
    Table("part", ("p_partkey",), 8),
    Table("partsupp", ("ps_partkey", "ps_suppkey"), 16),
    Table("orders", ("o_orderkey",), 16),
    Table("lineitem", ("l_orderkey", "l_linenumber"), 32),
)


def load(ps: penstock.StreamTables, data: Path, coarser: int = 1) -> None:
    """Make the eight tables from generated files; `coarser` divides the number of files of each."""
    for table in TABLES:
        files, order = max(1, table.files // coarser), ", ".join(table.key)
        ps.sql(
            f"""
            CREATE TABLE {table.name} TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS
            SELECT /*+ REPARTITION_BY_RANGE({files}, {order}) */ * FROM {generated(data, table.name)} SORT BY {order}
            """
        )


def generated(data: Path, table: str) -> str:
    """The generated rows of a table, as a relation; they never change."""
    return f"parquet.`{data / table}.parquet`"


def count_rows(ps: penstock.StreamTables) -> dict[str, int]:
    """Rows at rest, per table."""
    return {table.name: ps.spark.table(table.name).count() for table in TABLES}
