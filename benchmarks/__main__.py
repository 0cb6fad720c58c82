"""`make bench`: a refresh against a full recompute of the same query, interleaved, in one Spark session.

The peer is what one would write without Penstock: run the query, overwrite the result table. Both sides start from the
same changed sources; every cell's result is checked by an audit before its figures count. Arguments choose queries:
`python -m benchmarks join "join + aggregate"`. BENCH_ROWS and BENCH_REPEATS change the size.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

import penstock

RESULTS = Path(__file__).parent / "results"
ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
REPEATS = int(os.environ.get("BENCH_REPEATS", "5"))

QUERIES = {
    "join + aggregate": """
        SELECT c.region, count(*) AS orders, sum(o.amount) AS total, avg(o.quantity) AS mean
        FROM orders o JOIN customers c ON o.customer_id = c.id GROUP BY c.region""",
    "join": "SELECT o.id, o.amount, c.region FROM orders o JOIN customers c ON o.customer_id = c.id",
    "aggregate": "SELECT product, sum(amount) AS total, max(quantity) AS most FROM orders GROUP BY product",
    "filter": "SELECT id, amount FROM orders WHERE amount > 900",
    "distinct": "SELECT DISTINCT product, quantity FROM orders",
}


@dataclass(frozen=True)
class Cell:
    """One measured cell: medians of interleaved repeats."""

    query: str
    rows: int
    changed: int
    refresh_seconds: float
    recompute_seconds: float
    ratio: float
    action: str
    exact: bool


def main() -> int:
    """Run all cells, print the table, keep the results."""
    out = Console(width=120)
    chosen = {name: query for name, query in QUERIES.items() if not sys.argv[1:] or name in sys.argv[1:]}
    out.print(f"{ROWS:,} orders, {ROWS // 10:,} customers, {REPEATS} interleaved repeats, medians\n")
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder, penstock.open(folder) as ps:
        _fill(ps)
        cells = [
            _measure(ps, name, query, changed, out) for name, query in chosen.items() for changed in (100, ROWS // 100)
        ]
    table = Table(title="refresh against recompute + overwrite")
    for heading in ("query", "rows", "changed", "refresh s", "recompute s", "faster", "action", "audit"):
        table.add_column(heading, justify="left" if heading in {"query", "action", "audit"} else "right")
    for cell in cells:
        table.add_row(
            cell.query,
            f"{cell.rows:,}",
            f"{cell.changed:,}",
            f"{cell.refresh_seconds:.2f}",
            f"{cell.recompute_seconds:.2f}",
            f"{cell.ratio:.1f}×",
            cell.action,
            "exact" if cell.exact else "DIFFERS",
        )
    out.print(table)
    RESULTS.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC)
    path = RESULTS / f"{stamp:%Y%m%d-%H%M%S}.json"
    machine = {"cpus": os.cpu_count(), "python": platform.python_version(), "platform": platform.platform()}
    path.write_text(
        json.dumps({"at": stamp.isoformat(), "machine": machine, "cells": [asdict(cell) for cell in cells]}, indent=2)
    )
    out.print(f"written to {path}")
    return 0 if all(cell.exact for cell in cells) else 1


def _fill(ps: penstock.StreamTables) -> None:
    ps.sql(
        f"""
        CREATE TABLE customers AS SELECT id, concat('region-', id % 50) AS region FROM range({ROWS // 10});
        CREATE TABLE orders AS SELECT id, (id * 7919) % {ROWS // 10} AS customer_id, CAST(id % 1000 AS INT) AS product,
          CAST(id % 100000 / 100.0 AS DECIMAL(12,2)) AS amount, CAST(id % 9 AS INT) AS quantity FROM range({ROWS})
        """
    )


def _measure(ps: penstock.StreamTables, name: str, query: str, changed: int, out: Console) -> Cell:
    ps.create_stream_table("bench", query, refresh_mode="INCREMENTAL", or_replace=True)
    target = str(ps.path / "recompute")
    refreshes, recomputes, action, exact = [], [], "", True
    for turn in range(REPEATS + 1):
        start = (turn * 37 * changed) % (ROWS - changed)
        ps.sql(f"UPDATE orders SET amount = amount + 1 WHERE id >= {start} AND id < {start + changed}")
        first = time.perf_counter()
        result = ps.refresh("bench")
        second = time.perf_counter()
        ps.spark.sql(query).write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(target)
        third = time.perf_counter()
        if turn:  # the first turn warms both sides up
            refreshes.append(second - first)
            recomputes.append(third - second)
        action = result.action.value
        exact &= ps.audit("bench").exact
    ours, theirs = statistics.median(refreshes), statistics.median(recomputes)
    out.print(f"  {name}, {changed:,} changed: {ours:.2f} s against {theirs:.2f} s")
    return Cell(name, ROWS, changed, round(ours, 3), round(theirs, 3), round(theirs / ours, 2), action, exact)


if __name__ == "__main__":
    sys.exit(main())
