"""Laying files out anew changes no row: not for readers of the table, not for its consumers, not for later refreshes."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.engine import layout, pruning, rewrite
from penstock.engine.interval import Kind, Way, classify
from penstock.engine.storage import FILE_SIZE, Storage
from penstock.errors import CommitConflict
from penstock.refresh import optimize as optimizing
from penstock.testing.oracle import assert_exact
from warehouses import warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.api import StreamTables
    from penstock.refresh.optimize import OptimizeResult

ROWS, FILES = 2000, 10
NUMBERS = list(range(ROWS))
random.Random(5).shuffle(NUMBERS)


@pytest.fixture(autouse=True)
def _small_tables_count_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "WORTH_ROWS", 100)
    monkeypatch.setattr(layout, "SMALLEST_FILE", 2500)


def make(ps: StreamTables, name: str = "facts") -> DeltaTable:
    """A table whose files all cover the same range of `k`."""
    path = str(ps.path / "sources" / name)
    for at in range(FILES):
        part = NUMBERS[at::FILES]
        rows = pa.table(
            {
                "k": pa.array([n if n % 400 else None for n in part], pa.int64()),
                "g": pa.array([n % 7 for n in part], pa.int64()),
                "v": pa.array([n % 3 for n in part], pa.int64()),
                "d": pa.array([[-0.0, 0.0, float("nan"), None, n / 2][n % 5] for n in part], pa.float64()),
            }
        )
        write_deltalake(path, rows, mode="append", configuration={"delta.enableChangeDataFeed": "true"})
    ps.spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{path}'")
    return DeltaTable(path)


def exact(ps: StreamTables, *names: str) -> None:
    for name in names:
        report = ps.audit(name)
        assert report.exact, report


def only(results: list[OptimizeResult]) -> OptimizeResult:
    assert len(results) == 1
    return results[0]


def storage(ps: StreamTables, name: str) -> Storage:
    return Storage.open(ps.info(name)[0]["path"])


def weights(ps: StreamTables, name: str) -> tuple[int, int]:
    rows = ps.spark.read.format("delta").load(storage(ps, name).path)
    first = rows.selectExpr("count(*)", "sum(__ps_weight)").first()
    assert first is not None
    return first[0], first[1]


def test_it(ps: StreamTables) -> None:
    facts = make(ps)
    ps.create_stream_table("keyed", "SELECT k, count(*) AS n, sum(v) AS s FROM facts GROUP BY k")
    ps.create_stream_table("bag", "SELECT g, v, d FROM facts")
    ps.create_stream_table("over", "SELECT g, count(*) AS n FROM bag GROUP BY g")
    ps.create_stream_table("joined", "SELECT a.k, b.v FROM facts a JOIN facts b ON a.k = b.k")
    for advice in ps.advise():
        print(json.dumps(advice.to_json()))
    print(ps.explain("bag").text())
    for done in ps.optimize():
        print(json.dumps(done.to_json()))
    exact(ps, "keyed", "bag", "over", "joined")
    for done in ps.optimize():
        print(done.table, done.done, done.reason)
    print(only(ps.optimize("facts")))
    facts.update_incremental()
    facts.delete("k < 300")
    for name in ("keyed", "bag", "over", "joined"):
        r = ps.refresh(name); print(r.name, r.action, r.applier, r.reason, r.rows_inserted, r.rows_deleted)
    exact(ps, "keyed", "bag", "over", "joined")
