"""Appending the delta rows with Spark: the least that writing a change down can cost."""

from __future__ import annotations

from dataclasses import dataclass

import penstock
from benchmarks.contenders.contender import Contender


@dataclass
class Append(Contender):
    """Appends rows that lie ready in a Delta table to another one."""

    ps: penstock.StreamTables
    rows: str
    """The folder of the rows."""
    target: str
    """A folder."""

    def run(self) -> None:
        """Append them."""
        self.ps.spark.read.format("delta").load(self.rows).write.format("delta").mode("append").save(self.target)

    def exact(self) -> bool:
        """Nothing to check."""
        return True
