"""The checker behind the interval tests: ours against Spark's own snapshots, bit by bit, as bags.

After every step Spark reads the table itself; that is what the version holds. A scan must be that bag; the changes of
an interval must be the difference of the bags at its ends, each row once, no weight 0, whatever way it was read. What
is read on the driver is held against the same rows.
"""

from __future__ import annotations

import itertools
import os
import random
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from penstock.engine.delta import interval
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.drift import drift_affects
from penstock.engine.delta.interval import ChangeSet, Part, Way, classify
from penstock.engine.read.driver_read import changed_rows, rows_at
from penstock.engine.read.file_columns import FileColumns
from penstock.engine.read.scan import changes, fields_of, scan
from penstock.engine.spark.refresh_conf import REFRESH_CONF
from penstock.names import WEIGHT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Bag = Counter[tuple[Any, ...]]
Held = dict[int, list[dict[str, Any]]]
"""Version → rows, as Spark itself reads them."""
Step = str | Callable[["SparkSession", str], Iterable[object]]
"""SQL, or a function that does something and yields after each commit to be looked at."""
_NUMBER = itertools.count()
SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.merge.materializeSource": "none",
}
"""Settings that only make queries over a handful of rows quicker."""
CHECKING = SMALL | {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
WRITING = SMALL | {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
}
"""The same for the statements that make a history; what is checked runs with generated code, as it does in use."""
ALL_WAYS = (Way.COMMITS, Way.ENDS, Way.FEED, Way.SNAPSHOTS)


@dataclass(frozen=True)
class History:
    """A table and what is done to it. In SQL, `{t}` is the table and `{path}` its folder."""

    name: str
    steps: Sequence[Step]
    fast: bool = True
    """Whether the last version is expected to be read as plain Parquet."""
    folder: str = "table"
    ways: tuple[Way, ...] = ()
    """Ways to force on the whole interval, besides the one that is chosen."""
    conf: dict[str, str] = field(default_factory=dict)
    slow: bool = False
    """True for a second pairing of what another history has: left to the long run."""

    def __str__(self) -> str:
        return self.name


def bits(value: Any) -> Any:
    """A value such that equality is equality of bits; map entries have no order."""
    match value:
        case float():
            return struct.pack(">d", value)
        case Decimal():
            return str(value)
        case bool() | int() | str() | bytes() | None:
            return type(value).__name__, value
        case datetime() | date():
            return value.isoformat()
        case dict():
            return tuple((name, bits(part)) for name, part in value.items())
        case list() if value and isinstance(value[0], tuple):
            return frozenset((bits(key), bits(part)) for key, part in value)
        case list():
            return tuple(bits(part) for part in value)
    raise TypeError(type(value))


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    table = frame.toArrow()
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*map(_values, table.columns), strict=True)]


def _values(column: Any) -> list[Any]:
    return column.to_pylist()  # type: ignore[no-any-return]


def bag(found: Iterable[dict[str, Any]], columns: Sequence[str]) -> Bag:
    return Counter(tuple(bits(row.get(name)) for name in columns) for row in found)


def difference(before: Bag, after: Bag) -> dict[tuple[Any, ...], int]:
    return {row: after[row] - before[row] for row in before | after if after[row] != before[row]}


def run(spark: SparkSession, history: History, path: str) -> Held:
    """Play the history; what Spark itself reads after each step, by version."""
    table = f"history_{next(_NUMBER)}"
    held: Held = {}

    def look() -> None:
        if os.path.isdir(f"{path}/_delta_log"):
            held[DeltaLog(path).latest_version()] = rows(spark.read.format("delta").load(path))

    with session_conf(spark, WRITING | history.conf):
        for step in history.steps:
            if isinstance(step, str):
                spark.sql(step.replace("{t}", table).replace("{path}", path))
                look()
            else:
                for _ in step(spark, path):
                    look()
        spark.sql(f"DROP TABLE IF EXISTS {table}")
    return held


def travel(spark: SparkSession, log: DeltaLog, which: Iterable[int]) -> Held:
    """What Spark's time travel reads at these versions: slower than looking after each step, and the same."""
    return {
        version: rows(spark.read.format("delta").option("versionAsOf", version).load(log.root)) for version in which
    }


def check_history(spark: SparkSession, history: History, path: str, held: Held) -> DeltaLog:
    """Every version as a scan, adjacent and longer intervals as changes; returns the log for further questions."""
    log = DeltaLog(path)
    with session_conf(spark, {**CHECKING, **REFRESH_CONF}):
        # Delta's own reader takes its time; that it reads its own versions needs no proof for each.
        some = held if history.fast else dict(list(held.items())[-2:])
        check_scans(spark, log, some)
        found = [classify(log, before, after) for before, after in pairs(sorted(held))]
        for way in history.ways:
            with forced(way):
                found.append(classify(log, min(held), max(held)))
        check_changes(spark, log, found, held)
        check_driver(spark, log, found, held, history.fast)
    newest = log.snapshot()
    assert newest.fast is history.fast, newest.slow_because
    return log


def pairs(known: Sequence[int]) -> list[tuple[int, int]]:
    """Every adjacent pair, the whole, and a few in between."""
    longer = [(before, after) for at, before in enumerate(known) for after in known[at + 2 :]]
    chosen = random.Random(7).sample(longer, min(len(longer), len(known) // 3))
    return list(dict.fromkeys([*itertools.pairwise(known), (known[0], known[-1]), *chosen]))


def check_scans(spark: SparkSession, log: DeltaLog, held: Held) -> None:
    columns = {version: log.snapshot(version).schema.names[::-1] for version in held}
    frames = [scan(spark, log.snapshot(version), columns[version]) for version in held]
    for version, frame, got in zip(held, frames, collect(frames), strict=True):
        assert frame.columns == columns[version]
        assert bag(got, columns[version]) == bag(held[version], columns[version]), f"scan of version {version}"


def check_changes(spark: SparkSession, log: DeltaLog, found: Sequence[ChangeSet], held: Held) -> None:
    columns = [
        [name for name in one.end.schema.names if drift_affects(replace(one.drift, loosened=()), [name]) is None]
        for one in found
    ]
    frames = [changes(spark, log, one, names) for one, names in zip(found, columns, strict=True)]
    for one, names, frame, got in zip(found, columns, frames, collect(frames), strict=True):
        said = f"({one.before}, {one.after}] {[part.way.value for part in one.parts]}"
        assert frame.columns == [*names, WEIGHT], said
        want = difference(bag(held[one.before], names), bag(held[one.after], names))
        weights: Counter[tuple[Any, ...]] = Counter()
        for row in got:
            assert row[WEIGHT] != 0, said
            weights[tuple(bits(row[name]) for name in names)] += row[WEIGHT]
        assert {row: weight for row, weight in weights.items() if weight} == want, said
        if one.insert_only:
            assert all(row[WEIGHT] > 0 for row in got), said
        else:
            assert len(weights) == len(got), f"{said}: not netted"
        if not one.data_changed:
            assert want == {}, said
        covered = [(part.before, part.after) for part in one.parts]
        assert all(left[1] <= right[0] for left, right in itertools.pairwise(covered)), said


def check_driver(spark: SparkSession, log: DeltaLog, found: Sequence[ChangeSet], held: Held, fast: bool) -> None:
    """What the driver is ready to read, column by column, is what Spark read."""
    cache, zone = FileColumns(), str(spark.conf.get("spark.sql.session.timeZone"))
    compared = 0
    for version in held:
        snapshot = log.snapshot(version)
        fields = fields_of(snapshot.schema, snapshot.schema.names)
        some = [each for each in fields if rows_at(cache, snapshot, snapshot.files, [each], []) is not None]
        got = rows_at(cache, snapshot, snapshot.files, some, [])
        if got is not None:
            names = [each.name for each in some]
            assert bag(zoned(got, zone), names) == bag(held[version], names), f"driver's scan of version {version}"
            compared += 1
    assert compared or not fast
    for one in found:
        names = [name for name in one.end.schema.names if not drift_affects(replace(one.drift, loosened=()), [name])]
        fields = fields_of(one.end.schema, names)
        some = [each for each in fields if changed_rows(cache, one, [each]) is not None]
        got = changed_rows(cache, one, some)
        if got is not None:
            names = [each.name for each in some]
            weights: Counter[tuple[Any, ...]] = Counter()
            for row in zoned(got, zone):
                weights[tuple(bits(row[name]) for name in names)] += row[WEIGHT]
            want = difference(bag(held[one.before], names), bag(held[one.after], names))
            assert {row: weight for row, weight in weights.items() if weight} == want, f"({one.before}, {one.after}]"


def zoned(table: pa.Table, zone: str) -> list[dict[str, Any]]:
    """Arrow rows with timestamps in the zone in which Spark shows them."""
    for place, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            shown = table.column(place).cast(pa.timestamp("us", zone))
            table = table.set_column(place, pa.field(column.name, shown.type), shown)
    return table.to_pylist()  # type: ignore[no-any-return]


def collect(frames: Sequence[DataFrame]) -> list[list[dict[str, Any]]]:
    """The rows of each frame, in as few queries as their schemas allow."""
    groups: dict[str, list[int]] = {}
    for at, frame in enumerate(frames):
        groups.setdefault(frame.schema.simpleString(), []).append(at)
    found: list[list[dict[str, Any]]] = [[] for _ in frames]
    for members in groups.values():
        for some in (members[at : at + 12] for at in range(0, len(members), 12)):
            marked = [frames[at].withColumn("__at", F.lit(at)) for at in some]
            for row in rows(reduce(lambda left, right: left.union(right), marked)):
                found[row.pop("__at")].append(row)
    return found


@contextmanager
def forced(way: Way | None) -> Iterator[None]:
    """Make one way the cheapest; the reader's ways also by refusing the files."""
    if way is None:
        yield
        return
    cost, refuse, weighed = interval._cost, interval._schema_refusal, interval.CUTS_LIMIT

    def favour(part: Part) -> int:
        return 0 if part.way is way else 10**12

    interval._cost = favour
    interval.CUTS_LIMIT = 0
    if way in (Way.FEED, Way.SNAPSHOTS):
        interval._schema_refusal = lambda *_: "forced by the test"
    try:
        yield
    finally:
        interval._cost, interval._schema_refusal, interval.CUTS_LIMIT = cost, refuse, weighed


@contextmanager
def session_conf(spark: SparkSession, conf: Any) -> Iterator[None]:
    held = {name: spark.conf.get(name, None) for name in conf}
    for name, value in conf.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in held.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
