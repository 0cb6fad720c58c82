"""Running a delta program: leaves bound to pinned reads, statements run in order, rows collected.

A program's leaves become temporary views of a session of its own. Rows of a small step come to the driver as Arrow and
go back in as a local relation, whose true size Spark knows; rows of a large one stay in Spark, cached until the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.compile.stored import MINUS, OP, PLUS, SHOWN, Summary
from penstock.engine.delta_log import DeltaLog
from penstock.engine.interval import ChangeSet
from penstock.engine.pruning import Bounds, bounds_of
from penstock.engine.scan import changes, scan
from penstock.errors import InternalError
from penstock.names import WEIGHT, Interval, quote
from penstock.operators.delta_query import Leaf, LeafKind, Moment, Step
from penstock.operators.source import Source


@dataclass(frozen=True)
class Rows:
    """The rows of one step: an Arrow table on the driver, or a cached DataFrame."""

    schema: StructType
    held: pa.Table | DataFrame

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows as a DataFrame of a session."""
        if isinstance(self.held, pa.Table):
            return spark.createDataFrame(self.held, schema=self.schema)
        return self.held

    def summary(self) -> Summary:
        """What the rows amount to; one Spark job if they are not on the driver."""
        if isinstance(self.held, pa.Table):
            return Summary.of(self.held)
        named = set(self.schema.names)
        totals = self.held.agg(
            F.count(F.lit(1)).alias("rows"),
            *([F.collect_set(OP).alias("ops")] if OP in named else []),
            *([F.min(WEIGHT).alias("least")] if WEIGHT in named else []),
            *([F.sum(PLUS).alias("plus"), F.sum(MINUS).alias("minus")] if PLUS in named else []),
        ).first()
        found = totals.asDict() if totals is not None else {}
        return Summary(
            rows=found.get("rows") or 0,
            operations=frozenset(found.get("ops") or ()),
            least_weight=found.get("least"),
            inserted=found.get("plus") or 0,
            deleted=found.get("minus") or 0,
        )


@dataclass
class Program:
    """One program at work on one interval."""

    spark: SparkSession
    logs: Mapping[str, DeltaLog]
    interval: Interval
    change_sets: Mapping[str, ChangeSet]
    stored: tuple[DeltaLog, int] | None
    on_driver: bool = True
    """False if rows are expected to be too many for the driver."""
    partitions: str = "4"
    """Shuffle partitions of work that is not small."""
    results: dict[str, Rows] = field(default_factory=dict)

    def run(self, step: Step) -> Rows:
        """Run a statement and keep its rows under the step's name."""
        self._tune()
        frame = self.frame(step)
        if self.on_driver:
            rows = Rows(frame.schema, frame.toArrow())
        else:
            cached = frame.persist()
            cached.count()
            rows = Rows(frame.schema, cached)
        self.results[step.name] = rows
        return rows

    def _tune(self) -> None:
        """Settings for the expected size: a small delta is done before adaptive execution has made up its mind."""
        small = self.on_driver and self.change_sets != {}
        self.spark.conf.set("spark.sql.adaptive.enabled", str(not small).lower())
        self.spark.conf.set("spark.sql.shuffle.partitions", "1" if small else self.partitions)

    def frame(self, step: Step) -> DataFrame:
        """The statement as a DataFrame over bound leaves, not run yet."""
        for leaf in step.leaves:
            self._bind(leaf).createOrReplaceTempView(leaf.name)
        return self.spark.sql(step.sql)

    def keep(self, name: str, rows: Rows) -> None:
        """Offer rows under a leaf's name."""
        self.results[name] = rows

    def close(self) -> None:
        """Let go of what was cached."""
        for rows in self.results.values():
            if not isinstance(rows.held, pa.Table):
                rows.held.unpersist()

    def _bind(self, leaf: Leaf) -> DataFrame:
        if leaf.kind is LeafKind.COLLECTED:
            return self.results[leaf.name].frame(self.spark)
        if leaf.kind is LeafKind.STORED:
            if self.stored is None:
                raise InternalError(why="a program reads stored rows where there are none")
            log, version = self.stored
            return scan(self.spark, log.snapshot(version), leaf.columns, self._bounds(leaf))
        assert leaf.source is not None
        log = self.logs[leaf.source.id]
        if leaf.kind is LeafKind.CHANGES:
            columns = [name for name in leaf.columns if name != WEIGHT]
            return changes(
                self.spark,
                log,
                self.change_sets[leaf.source.id],
                columns,
                weight_column=WEIGHT if leaf.source.weighted else None,
                where=quote(SHOWN) if leaf.source.has_hidden_rows else None,
            )
        frontier = self.interval.before if leaf.moment is Moment.BEFORE else self.interval.after
        return plain_rows(
            self.spark, log, frontier.version(leaf.source.id), leaf.source, leaf.columns, self._bounds(leaf)
        )

    def _bounds(self, leaf: Leaf) -> Bounds | None:
        ranges: dict[str, dict[str, str]] = {}
        for each in leaf.within:
            ranges.setdefault(each.step, {})[each.column] = each.collected
        for step, mapping in ranges.items():
            held = self.results[step].held
            if isinstance(held, pa.Table):
                return bounds_of(held, mapping)
        return None


def plain_rows(
    spark: SparkSession,
    log: DeltaLog,
    version: int,
    source: Source,
    columns: tuple[str, ...],
    bounds: Bounds | None = None,
) -> DataFrame:
    """A source's rows at a version as a plain bag: hidden groups left out, rows repeated by their weight."""
    extra = [name for name, there in ((WEIGHT, source.weighted), (SHOWN, source.has_hidden_rows)) if there]
    frame = scan(spark, log.snapshot(version), [*columns, *extra], bounds)
    if source.has_hidden_rows:
        frame = frame.where(F.col(quote(SHOWN)))
    if source.weighted:
        copies = F.explode(F.array_repeat(F.lit(0), F.col(quote(WEIGHT)).cast("int"))).alias("__ps_copy")
        frame = frame.select(*(F.col(quote(name)) for name in columns), copies)
    return frame.select(*(F.col(quote(name)) for name in columns))
