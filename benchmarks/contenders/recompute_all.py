"""Plain Spark over a graph of queries: recompute every table in order, each from the ones before it."""

from __future__ import annotations

from dataclasses import dataclass

import penstock
from benchmarks.contenders.contender import Contender


@dataclass
class RecomputeAll(Contender):
    """Overwrites several tables. Their rows are the queries' by construction."""

    ps: penstock.StreamTables
    queries: dict[str, str]
    """Query by table name, upstreams first."""

    def run(self) -> None:
        """Recompute and overwrite them all."""
        for table, query in self.queries.items():
            self.ps.spark.sql(query).write.format("delta").mode("overwrite").saveAsTable(table)

    def exact(self) -> bool:
        """Nothing to check."""
        return True

    def drop(self) -> None:
        """Remove the tables."""
        for table in self.queries:
            self.ps.spark.sql(f"DROP TABLE IF EXISTS {table}")
