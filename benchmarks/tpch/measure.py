"""One stream table after one change: refresh it, recompute its query, compare the two as bags, to the bit.

The peer is what one would write without Penstock: run the query, overwrite a Delta table with the result. That table is
also the witness: it was computed by plain Spark SQL from the same versions.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import penstock
from benchmarks.tpch.queries import Query
from penstock.testing.oracle import bag_difference


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one refresh did, and what a recompute would have cost."""

    query: str
    after: str
    """The change that it followed."""
    action: str
    reason: str | None
    difference: str | None
    """None if the table is exact, else what is wrong."""
    rows: int
    rows_changed: int
    rows_read: int | None
    rows_at_rest: int
    """Rows of the query's source tables, each table counted once."""
    refresh_seconds: float
    recompute_seconds: float

    @property
    def exact(self) -> bool:
        """True if stored and recomputed rows are the same bag."""
        return self.difference is None

    @property
    def read_ratio(self) -> float | None:
        """Rows read ÷ rows at rest, or None if the refresh did not count them."""
        return None if self.rows_read is None else self.rows_read / self.rows_at_rest

    @property
    def speedup(self) -> float:
        """How many times faster than the recompute."""
        return self.recompute_seconds / self.refresh_seconds


def measure(ps: penstock.StreamTables, query: Query, after: str, sizes: dict[str, int]) -> Outcome:
    """Refresh, recompute, compare; an error is an outcome too, so that the other queries get their turn."""
    started = time.perf_counter()
    try:
        result = ps.refresh(query.name)
    except Exception as error:
        return Outcome(query.name, after, "FAILED", str(error), "the refresh failed", 0, 0, None, 1, 1e-9, 0.0)
    refreshed = time.perf_counter()
    target = str(ps.path / "recomputed" / query.name)
    fresh = ps.spark.sql(query.text).write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    fresh.save(target)
    recomputed = time.perf_counter()
    sources = {str(each["name"]).rsplit(".", 1)[-1] for each in ps.info(query.name)[0]["sources"]}
    return Outcome(
        query.name,
        after,
        result.action.value,
        result.reason,
        difference(ps, query, target),
        ps.table(query.name).count(),
        result.rows_inserted + result.rows_deleted,
        getattr(result, "rows_read", None),
        sum(sizes[source] for source in sources),
        refreshed - started,
        recomputed - refreshed,
    )


def difference(ps: penstock.StreamTables, query: Query, target: str) -> str | None:
    """How a stream table differs from the recomputed table in the folder `target`; None if it does not."""
    stored, fresh = ps.table(query.name), ps.spark.read.format("delta").load(target)
    have, want = (
        [(field.name, field.dataType.simpleString()) for field in frame.schema.fields] for frame in (stored, fresh)
    )
    if have != want:
        return f"columns {have}, not {want}"
    found = bag_difference(fresh, stored, to_the_bit=True)
    if found.empty:
        return None
    return (
        f"{found.only_left} rows missing, {found.only_right} not wanted; "
        f"missing: {found.samples_left}; not wanted: {found.samples_right}"
    )
