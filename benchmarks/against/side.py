"""One side of the comparison: a process that has one commit's Penstock on its path, and takes its turns when asked.

It uses nothing but the public API, so that it runs with any commit. One JSON document per line each way: the name of a
case asks for one turn of it, the answer is the seconds that it took.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

import penstock

GROUPS_OF_MANY = 1_000_000
QUIET_TABLES = 20


class Side:
    """A warehouse with the tables of all cases."""

    def __init__(self, root: Path, many: int) -> None:
        self._ps = penstock.open(root / "warehouse", settings={"log_level": "warning"})
        self._root, self._many, self._turn = root, many, 0
        self.cases: dict[str, Callable[[], None]] = {
            "few rows: join and sum, 5 new of 100K": self._few_rows,
            "no change: refresh of one table": self._no_change,
            f"no change: refresh of {QUIET_TABLES} tables": self._no_changes,
            "first fill: CREATE over 1,000 rows": self._first_fill,
            f"sum by key, 1,000 new of {many:,}": self._many_rows,
        }

    def fill(self) -> None:
        """Make the tables, each as large as its case says."""
        self._write("orders", _orders(0, 100_000, 10_000))
        self._write(
            "people", pa.table({"id": range(10_000), "region": [f"region {each % 50}" for each in range(10_000)]})
        )
        self._write("quiet", _orders(0, 1_000, 100))
        for start in range(0, self._many, 1_000_000):
            self._write("many", _orders(start, min(1_000_000, self._many - start), GROUPS_OF_MANY))
        self._ps.sql("""
            CREATE STREAM TABLE few REFRESH MODE INCREMENTAL AS SELECT p.region, sum(o.amount) AS total, count(*) AS n
              FROM orders o JOIN people p ON p.id = o.person GROUP BY p.region;
            CREATE STREAM TABLE sums REFRESH MODE INCREMENTAL AS
              SELECT person, sum(amount) AS total, count(*) AS n FROM many GROUP BY person""")
        for number in range(QUIET_TABLES):
            self._ps.sql(f"CREATE STREAM TABLE quiet_{number} AS SELECT person, sum(amount) AS t FROM quiet GROUP BY 1")

    def take_turn(self, case: str) -> float:
        """Seconds of one turn, without what changes the sources."""
        self._turn += 1
        if "new of" in case:
            table, rows = ("orders", 5) if "100K" in case else ("many", 1_000)
            self._write(table, _orders(10**9 + self._turn * rows, rows, 10_000))
        began = time.perf_counter()
        self.cases[case]()
        return time.perf_counter() - began

    def exact(self) -> bool:
        """Whether all stream tables that change equal their queries."""
        return all(self._ps.audit(name).exact for name in ("few", "sums"))

    def _few_rows(self) -> None:
        assert self._ps.refresh("few").action == "INCREMENTAL"

    def _no_change(self) -> None:
        assert self._ps.refresh("quiet_0").action == "NO_DATA"

    def _no_changes(self) -> None:
        for number in range(QUIET_TABLES):
            self._ps.refresh(f"quiet_{number}")

    def _first_fill(self) -> None:
        self._ps.sql(f"CREATE STREAM TABLE made_{self._turn} AS SELECT person, max(amount) AS m FROM quiet GROUP BY 1")

    def _many_rows(self) -> None:
        assert self._ps.refresh("sums").action == "INCREMENTAL"

    def _write(self, table: str, rows: pa.Table) -> None:
        path = self._root / "tables" / table
        is_new = not path.exists()
        write_deltalake(str(path), rows, mode="append")
        if is_new:
            self._ps.sql(f"CREATE TABLE {table} USING delta LOCATION '{path}'")


def _orders(start: int, rows: int, people: int) -> pa.Table:
    numbers = range(start, start + rows)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "person": pa.array((each * 7919 % people for each in numbers), pa.int64()),
            "amount": pa.array((each % 1000 for each in numbers), pa.int64()),
        }
    )


def main() -> None:
    """Answer one line after another until there is none."""
    side = Side(Path(sys.argv[1]), int(sys.argv[2]))
    side.fill()
    print(json.dumps({"cases": list(side.cases), "version": penstock.__file__}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        answer = side.exact() if asked == "exact" else side.take_turn(asked)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
