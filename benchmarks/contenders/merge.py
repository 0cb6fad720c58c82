"""Hand-written Delta SQL: the change feed since the last run, aggregated, merged into the target.

As a good engineer writes it, and generous where in doubt: one statement per run, versions looked up without a Spark
job, deletion vectors on the target, no change feed on it. The feed of orders is carried incrementally; if another table
has changed, the target is computed anew, which is what such jobs do in practice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltalake import DeltaTable

import penstock
from benchmarks.contenders.contender import Contender
from benchmarks.shapes import Shape
from penstock.testing.oracle import bag_difference


@dataclass
class Merge(Contender):
    """The MERGE of one shape."""

    ps: penstock.StreamTables
    shape: Shape
    tables: Mapping[str, str]
    target: str
    """A table name."""
    _seen: dict[str, int] = field(default_factory=dict, init=False)
    """Versions of the sources that the target shows."""
    _folders: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for name in ("orders", *self.shape.dimensions):
            found = self.ps.spark.sql(f"DESCRIBE DETAIL {self.tables[name]}").select("location").first()
            assert found is not None
            self._folders[name] = str(found[0]).removeprefix("file:")
        self._overwrite(self._versions())

    def run(self) -> None:
        """Carry everything since the last run into the target."""
        now = self._versions()
        if any(now[name] != self._seen[name] for name in self.shape.dimensions):
            self._overwrite(now)
        elif now["orders"] > self._seen["orders"]:
            first = self._seen["orders"] + 1
            self.ps.spark.sql(self.shape.merge_over(self.tables, self.target, first, now["orders"]))
            self._seen = now

    def exact(self) -> bool:
        """The target, brought up to date, against the query, as bags."""
        self.run()
        query = self.ps.spark.sql(self.shape.query_over(self.tables))
        return bag_difference(query, self.ps.spark.table(self.target)).empty

    def drop(self) -> None:
        """Remove the target."""
        self.ps.spark.sql(f"DROP TABLE IF EXISTS {self.target}")

    def _versions(self) -> dict[str, int]:
        return {name: DeltaTable(folder).version() for name, folder in self._folders.items()}

    def _overwrite(self, versions: dict[str, int]) -> None:
        self.ps.spark.sql(
            f"""
            CREATE OR REPLACE TABLE {self.target} USING delta TBLPROPERTIES
              ('delta.enableChangeDataFeed' = 'false', 'delta.enableDeletionVectors' = 'true')
            AS {self.shape.query_over(self.tables)}
            """
        )
        self._seen = versions
