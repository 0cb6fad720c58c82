"""Running a delta program: leaves bound to pinned reads, statements run in order, rows collected.

Small leaves are read on the driver (`driver_read`), and rows of a small step come to the driver as Arrow. A statement
all of whose leaves are there runs as a prepared one (`prepared`), and plain distinct keys of such a leaf need no
statement at all. Otherwise the leaves become temporary views of a session of its own; rows of a large step stay in
Spark, cached until the end. Every read is noted with the rows that the log counts in its files, so that a refresh can
say what it cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from penstock.compile.stored import MINUS, OP, PLUS, SHOWN, Summary
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.interval import ChangeSet
from penstock.engine.delta.log_entry import DataFile
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.driver_read import Placed, changed_rows, placed_rows, rows_at, whole
from penstock.engine.read.file_columns import FileColumns
from penstock.engine.read.pruning import Bounds, bounds_of, prune
from penstock.engine.read.scan import changes, check_columns, fields_of, scan
from penstock.engine.run.driver_totals import new_totals
from penstock.engine.run.plain_rows import plain_change, plain_keys
from penstock.engine.run.prepared import LocalRows, PreparedStatements
from penstock.engine.spark.calls import arrow_rows
from penstock.engine.spark.tuning import Tuning, over_files, single_task
from penstock.errors import InternalError
from penstock.names import WEIGHT, Interval, quote
from penstock.operators.delta_query import BagTotals, Leaf, LeafKind, Moment, PlainChange, PlainKeys, Step, Within
from penstock.operators.source import Source

Timed = Callable[[str], AbstractContextManager[None]]


def untimed(stage: str) -> AbstractContextManager[None]:
    """Time nothing."""
    return nullcontext()


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
            *(
                [
                    F.sum(PLUS).alias("plus"),
                    F.sum(MINUS).alias("minus"),
                    F.sum(F.least(F.col(PLUS), F.col(MINUS))).alias("both"),
                ]
                if PLUS in named
                else []
            ),
        ).first()
        found = totals.asDict() if totals is not None else {}
        return Summary(
            rows=found.get("rows") or 0,
            operations=frozenset(found.get("ops") or ()),
            least_weight=found.get("least"),
            inserted=found.get("plus") or 0,
            deleted=found.get("minus") or 0,
            updated=found.get("both") or 0,
        )


@dataclass(frozen=True, slots=True)
class Read:
    """What one statement reads under one leaf's name."""

    step: str
    leaf: str
    files: int
    of_files: int
    rows: int | None
    """Live rows of these files; None if the log does not say."""
    bytes: int


def rows_of(reads: Iterable[Read]) -> int | None:
    """All rows read; None if some are not known."""
    total = 0
    for read in reads:
        if read.rows is None:
            return None
        total += read.rows
    return total


@dataclass
class Program:
    """One program at work on one interval."""

    spark: SparkSession
    logs: Mapping[str, DeltaLog]
    interval: Interval
    change_sets: Mapping[str, ChangeSet]
    stored: tuple[DeltaLog, int] | None
    prepared: PreparedStatements
    tuning: Tuning
    on_driver: bool = True
    """False if rows are expected to be too many for the driver."""
    partitions: str = "4"
    """Shuffle partitions of work that is not small."""
    columns: FileColumns = field(default_factory=FileColumns)
    timed: Timed = untimed
    """Called with what is being done: binding and reading leaves, analysing a statement, running it."""
    reads: list[Read] = field(default_factory=list)
    results: dict[str, Rows] = field(default_factory=dict)
    placed: Placed | None = None
    """The stored rows that were read last, and where they lie."""
    _local: dict[str, Rows] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    """Files that were read on the driver: they are read once, however many statements use them."""

    def run(self, step: Step) -> Rows:
        """Run a statement and keep its rows under the step's name."""
        bound = self._bound(step)
        rows = self._on_driver(step, bound) or self._run(step, bound)
        self.results[step.name] = rows
        return rows

    def _run(self, step: Step, bound: Mapping[str, Rows]) -> Rows:
        frame = self._prepared(step, bound) or self._analysed(step, bound)
        with self.timed("run"):
            if self.on_driver:
                return Rows(frame.schema, arrow_rows(frame))
            # Kept before they are computed: what was cached until an error must be let go of as well.
            rows = self.results[step.name] = Rows(frame.schema, frame.persist())
            frame.count()
            return rows

    def _on_driver(self, step: Step, bound: Mapping[str, Rows]) -> Rows | None:
        """The rows of a step without Spark, if its leaves are on the driver and it has a simpler way."""
        held = {name: rows.held for name, rows in bound.items() if isinstance(rows.held, pa.Table)}
        if len(held) < len(bound):
            return None
        with self.timed("run"):
            match step.shortcut:
                case PlainKeys(plain):
                    return _as_rows(plain_keys(plain, held[plain.leaf], bound[plain.leaf].schema))
                case PlainChange(plain):
                    return _as_rows(plain_change(plain, held[plain.leaf], bound[plain.leaf].schema))
                case BagTotals(changed, stored, values):
                    totals = new_totals(held[changed], held[stored], list(values))
                    schema = bound[changed].schema
                    fields = [*(schema[name] for name in (*values, WEIGHT)), StructField(OP, StringType())]
                    return None if totals is None else Rows(StructType(fields), totals)
        return None

    def frame(self, step: Step) -> DataFrame:
        """The statement as a DataFrame over bound leaves, not run yet."""
        return self._analysed(step, self._bound(step))

    def _bound(self, step: Step) -> dict[str, Rows]:
        with self.timed("read"):
            return {leaf.name: self._bind(leaf, step.name) for leaf in step.leaves}

    def _prepared(self, step: Step, bound: Mapping[str, Rows]) -> DataFrame | None:
        """The statement planned before, over rows that are all on the driver; None if some are not."""
        local = {
            name: LocalRows(rows.schema, rows.held)
            for name, rows in bound.items()
            if isinstance(rows.held, pa.Table) and rows.schema.fields
        }
        if not self._small or len(local) < len(bound):
            return None
        with self.timed("analyse"):
            self.tuning.apply(single_task(sum(rows.table.num_rows for rows in local.values())))
            return self.prepared.frame(step.sql, local)

    def _analysed(self, step: Step, bound: Mapping[str, Rows]) -> DataFrame:
        self.tuning.apply(over_files(self._small, self.partitions))
        with self.timed("read"):
            for name, rows in bound.items():
                rows.frame(self.spark).createOrReplaceTempView(name)
        with self.timed("analyse"):
            return self.spark.sql(step.sql)

    def keep(self, name: str, rows: Rows) -> None:
        """Offer rows under a leaf's name."""
        self.results[name] = rows

    def close(self) -> None:
        """Release what was cached."""
        for rows in self.results.values():
            if not isinstance(rows.held, pa.Table):
                rows.held.unpersist()

    def _bind(self, leaf: Leaf, step: str) -> Rows:
        if leaf.kind is LeafKind.COLLECTED:
            return self.results[leaf.name]
        if leaf.name not in self._local:
            rows = self._read(leaf, step)
            if not isinstance(rows.held, pa.Table):
                return rows
            self._local[leaf.name] = rows
        return self._local[leaf.name]

    def _read(self, leaf: Leaf, step: str) -> Rows:
        match leaf.kind:
            case LeafKind.CLOCK:
                return self._clock(leaf)
            case LeafKind.CHANGES:
                return self._changes(leaf, step)
        return self._rows(leaf, step)

    def _clock(self, leaf: Leaf) -> Rows:
        frontier = self.interval.before if leaf.moment is Moment.BEFORE else self.interval.after
        if frontier.data_timestamp is None:
            raise InternalError(why="a program reads the clock where no moment is known")
        moment = pa.array([frontier.data_timestamp], pa.timestamp("us", "UTC"))
        return Rows(StructType([StructField(leaf.columns[0], TimestampType())]), pa.table({leaf.columns[0]: moment}))

    def _changes(self, leaf: Leaf, step: str) -> Rows:
        assert leaf.source is not None
        log = self.logs[leaf.source.id]
        columns = [name for name in leaf.columns if name != WEIGHT]
        weight = WEIGHT if leaf.source.weighted else None
        visible_if = SHOWN if leaf.source.has_hidden_rows else None
        change_set = self.change_sets[leaf.source.id]
        count = sum(len(part.files) for part in change_set.parts)
        self.reads.append(Read(step, leaf.name, count, count, change_set.rows_estimate, change_set.bytes))
        if self._small:
            check_columns(log, change_set, [*columns, *(name for name in (weight, visible_if) if name)])
            fields = fields_of(change_set.end.schema, columns)
            rows = changed_rows(self.columns, change_set, fields, visible_if, weight)
            if rows is not None:
                return Rows(StructType([*fields, StructField(WEIGHT, LongType())]), rows)
        where = quote(visible_if) if visible_if else None
        frame = changes(self.spark, log, change_set, columns, weight_column=weight, where=where)
        return Rows(frame.schema, frame)

    def _rows(self, leaf: Leaf, step: str) -> Rows:
        """The rows of a source at one end of the interval, or the stored rows."""
        if leaf.source is not None:
            frontier = self.interval.before if leaf.moment is Moment.BEFORE else self.interval.after
            snapshot = self.logs[leaf.source.id].snapshot(frontier.version(leaf.source.id))
        elif self.stored is not None:
            snapshot = self.stored[0].snapshot(self.stored[1])
        else:
            raise InternalError(why="a program reads stored rows where there are none")
        bounds = self._bounds(leaf)
        files = prune(snapshot.files, bounds, snapshot.schema)
        weighted, hidden = (leaf.source.weighted, leaf.source.has_hidden_rows) if leaf.source else (False, False)
        if self._small and (bounds or whole(snapshot)):
            fields = fields_of(snapshot.schema, leaf.columns)
            keys = [(each.column, held.column(each.collected)) for each, held in self._keys(leaf)]
            visible_if, weight = SHOWN if hidden else None, WEIGHT if weighted else None
            if leaf.source is None:
                self.placed = placed_rows(self.columns, snapshot, files, fields, keys)
                rows = None if self.placed is None else self.placed.rows
            else:
                rows = rows_at(self.columns, snapshot, files, fields, keys, visible_if, weight)
            if rows is not None:
                self._note(step, leaf, snapshot, [file for file in files if file.path not in self._seen])
                self._seen |= {file.path for file in files}
                return Rows(StructType(fields), rows)
        self._note(step, leaf, snapshot, files)
        if leaf.source is None:
            frame = scan(self.spark, snapshot, leaf.columns, bounds)
        else:
            frame = plain_rows(self.spark, snapshot, leaf.source, leaf.columns, bounds)
        return Rows(frame.schema, frame)

    @property
    def _small(self) -> bool:
        """True if the change is so small that what it touches may be small too."""
        return self.on_driver and self.change_sets != {}

    def _note(self, step: str, leaf: Leaf, snapshot: Snapshot, files: Sequence[DataFile]) -> None:
        """Count what is read. Delta's own reader skips by the same statistics, through the filter on rows."""
        rows = [file.rows for file in files]
        known = [each for each in rows if each is not None]
        total = sum(known) if len(known) == len(rows) else None
        size = sum(file.size for file in files)
        self.reads.append(Read(step, leaf.name, len(files), len(snapshot.files), total, size))

    def _bounds(self, leaf: Leaf) -> Bounds | None:
        """What the steps collected say of a leaf's columns."""
        bounds = Bounds()
        for each, held in self._keys(leaf):
            bounds = bounds.meet(bounds_of(held, {each.column: each.collected}))
        return bounds or None

    def _keys(self, leaf: Leaf) -> Iterator[tuple[Within, pa.Table]]:
        """A leaf's ranges with the rows they were collected from; rows that stayed in Spark say nothing."""
        for each in leaf.within:
            held = self.results[each.step].held
            if isinstance(held, pa.Table):
                yield each, held


def plain_rows(
    spark: SparkSession,
    snapshot: Snapshot,
    source: Source,
    columns: tuple[str, ...],
    bounds: Bounds | None = None,
) -> DataFrame:
    """A source's rows at a version as a plain bag: hidden groups left out, rows repeated by their weight."""
    extra = [name for name, there in ((WEIGHT, source.weighted), (SHOWN, source.has_hidden_rows)) if there]
    frame = scan(spark, snapshot, [*columns, *extra], bounds)
    if source.has_hidden_rows:
        frame = frame.where(F.col(quote(SHOWN)))
    if source.weighted:
        copies = F.explode(F.array_repeat(F.lit(0), F.col(quote(WEIGHT)).cast("int"))).alias("__ps_copy")
        frame = frame.select(*(F.col(quote(name)) for name in columns), copies)
    return frame.select(*(F.col(quote(name)) for name in columns))


def _as_rows(found: tuple[StructType, pa.Table] | None) -> Rows | None:
    return None if found is None else Rows(*found)
