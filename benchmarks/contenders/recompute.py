"""Plain Spark: run the query, overwrite a Delta table with the result."""

from __future__ import annotations

from dataclasses import dataclass

import penstock
from benchmarks.contenders.contender import Contender


@dataclass
class Recompute(Contender):
    """A full recompute. Its result is the query's by construction."""

    ps: penstock.StreamTables
    query: str
    target: str
    """A folder."""

    def run(self) -> None:
        """Recompute and overwrite."""
        self.ps.spark.sql(self.query).write.format("delta").mode("overwrite").save(self.target)

    def exact(self) -> bool:
        """Nothing to check."""
        return True
