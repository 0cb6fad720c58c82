"""The oracle: a stream table must equal its query, as a bag, in schema, and by the action that was asked for.

    rows of the stream table  =  rows of its query, run by Spark now          EXCEPT ALL, both ways

The newest commit's changelog is checked with it (`changelog_oracle`).

It shares nothing with `audit`: it reads the view that users read, and runs the query's text. So call it after a refresh
and before the next change of a source; and not of a star over a source that has other columns than it had at CREATE,
since the text means something else now. Equal counts or equal sets are not enough, and a skipped refresh is a failure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.testing.changelog_oracle import assert_changelog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.api import StreamTables
    from penstock.refresh.result import RefreshResult

SAMPLES = 5


@dataclass(frozen=True, slots=True)
class BagDifference:
    """Rows of one bag that the other lacks, each counted as often as it is missing."""

    only_left: int
    only_right: int
    samples_left: tuple[str, ...]
    samples_right: tuple[str, ...]

    @property
    def empty(self) -> bool:
        """True if the bags are equal."""
        return not (self.only_left or self.only_right)


def bag_difference(left: DataFrame, right: DataFrame, to_the_bit: bool = False) -> BagDifference:
    """EXCEPT ALL both ways, by position; with `to_the_bit`, −0.0 and 0.0 are two values, as they are in a file."""
    names = [f"c{place}" for place in range(len(left.columns))]
    assert len(left.columns) == len(right.columns), f"{left.columns} and {right.columns} cannot be compared"
    ours, theirs = (_comparable(side.toDF(*names), to_the_bit) for side in (left, right))
    # EXCEPT ALL in both directions at once: copies on the left minus copies on the right.
    counted = ours.selectExpr("*", "1L AS n").unionAll(theirs.selectExpr("*", "-1L AS n"))
    rows = counted.groupBy(*names).agg({"n": "sum"}).where("`sum(n)` <> 0").collect()
    only = [[row for row in rows if row[-1] > 0], [row for row in rows if row[-1] < 0]]
    samples = [tuple(f"{tuple(row)[:-1]} x {abs(row[-1])}" for row in side[:SAMPLES]) for side in only]
    totals = [sum(abs(row[-1]) for row in side) for side in only]
    return BagDifference(totals[0], totals[1], samples[0], samples[1])


def _comparable(frame: DataFrame, to_the_bit: bool) -> DataFrame:
    items = []
    for field in frame.schema.fields:
        text = field.dataType.simpleString()
        # Set operations refuse maps; equality of floating-point numbers is coarser than their bits.
        if text.startswith("map<"):
            items.append(f"CAST(array_sort(map_entries({field.name})) AS STRING) AS {field.name}")
        elif "map<" in text or (to_the_bit and ("float" in text or "double" in text)):
            items.append(f"CAST({field.name} AS STRING) AS {field.name}")
        else:
            items.append(field.name)
    return frame.selectExpr(*items)


def assert_exact(
    ps: StreamTables,
    name: str,
    expect_action: str | None = None,
    result: RefreshResult | None = None,
    to_the_bit: bool = False,
    context: str = "",
) -> None:
    """Fail unless the stream table equals its query now; `expect_action` is what the last refresh must have done.

    `result` is that refresh, if it is at hand, else history is asked. `context` is printed with a failure.
    """
    if expect_action is not None:
        done: Any = result if result is not None else ps.history(name, 1)[0]
        what = f"{name} was refreshed {done.action}, not {expect_action}: {done.reason}\n{context}"
        assert str(done.action) == expect_action, what
    query = str(ps.info(name)[0]["query"])
    stored, fresh = ps.table(name), ps.spark.sql(query)
    have = [(field.name, field.dataType.simpleString()) for field in stored.schema.fields]
    want = [(field.name, field.dataType.simpleString()) for field in fresh.schema.fields]
    assert have == want, f"{name} has the columns {have}, its query {want}\n{context}"
    found = bag_difference(fresh, stored, to_the_bit)
    assert found.empty, (
        f"{name} differs from its query: {found.only_left} rows missing, {found.only_right} not wanted\n"
        f"missing: {found.samples_left}\nnot wanted: {found.samples_right}\n{context}"
    )
    changelog = ps.changelog(name)
    assert_changelog(changelog, changelog.newest())
