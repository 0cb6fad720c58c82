"""One stream table's place of work: its settings in force, its sources' logs, its compiled plan.

Kept between refreshes, because analysing and compiling cost more than a small delta. A plan is good as long as the
definition and the schemas of its sources are what they were.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.compile.bound import BoundQuery, Refused, restrict
from penstock.compile.plan import Plan, compile_query
from penstock.compile.query_text import query_text
from penstock.compile.stored import SHOWN
from penstock.engine.bind.bind_query import SparkAnalyzer
from penstock.engine.bind.functions import function_code
from penstock.engine.bind.pinned_query import by_delta, by_file_list, folder, query_with
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.log_storage import Stamp
from penstock.engine.delta.readable import require_readable
from penstock.engine.read.file_columns import FileColumns
from penstock.engine.read.scan import scan
from penstock.engine.run.prepared import PreparedStatements
from penstock.engine.spark.columns_as_defined import Reads, columns_read_by_name
from penstock.engine.spark.registry import table_path, view_query, view_text
from penstock.engine.spark.result_settings import session_for
from penstock.engine.spark.threads import active
from penstock.engine.spark.tuning import Tuning
from penstock.errors import QueryInvalid, SourceMissing
from penstock.names import WEIGHT, TableName, quote
from penstock.operators.source import Source
from penstock.places import Places, is_written_out

StreamTableLookup = Callable[[TableName], Source | None]
StorageLookup = Callable[[str], Source | None]


class Logs:
    """The Delta logs in use, one object per folder, so that what was read of a log stays read; so do data files."""

    def __init__(self, root: str | None = None) -> None:
        self.places = Places(root)
        self._held: dict[str, DeltaLog] = {}
        self.columns = FileColumns()

    def at(self, path: str) -> DeltaLog:
        """The log of the table in a folder, which may be given as it is kept."""
        key = self.folder(path)
        held = self._held.get(key)
        # Two threads must get the same object, or each would read the log for itself.
        return held if held is not None else self._held.setdefault(key, DeltaLog(key))

    def folder(self, kept: str) -> str:
        """The one spelling of a folder that is given as it is kept."""
        return folder(self.places.real(kept))

    def kept(self, source: Source) -> str:
        """The form in which a definition keeps the folder of a source."""
        path = folder(source.path)
        return path if is_written_out(source.name) else self.places.kept(path)


_End = tuple[int, Stamp | None, datetime | None]
"""The newest commit of a table: its version, its file, and when it was made."""


@dataclass(frozen=True)
class _Proposed:
    """A plan that has not been used yet, and where its tables ended when it was made."""

    query: str
    key: tuple[str, ...]
    plan: Plan
    ends: Mapping[str, _End]
    """Folder of a table → its newest commit."""

    def is_for(self, query: str, key: tuple[str, ...], columns: tuple[str, ...]) -> bool:
        shown = tuple(column.visible for column in self.plan.store.columns if column.visible is not None)
        return (query, key, columns) == (self.query, self.key, shown)


class Workspace:
    """A session under a definition's settings, and what was compiled in it."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Mapping[str, str],
        database: str,
        logs: Logs,
        by_name: StreamTableLookup,
        by_storage: StorageLookup,
        reads: Reads,
    ) -> None:
        self.session = session_for(spark, settings, database)
        self.settings = dict(settings)
        self.logs = logs
        self._by_name = by_name
        self._by_storage = by_storage
        self.prepared = PreparedStatements(self.session)
        self.tuning = Tuning(self.session)
        self._home = spark
        self._set_reads(reads)
        self._plan: tuple[object, Plan] | None = None
        self._proposed: _Proposed | None = None
        self._busy = threading.RLock()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Work here as the only thread, under this session: its temporary views and settings are those of one work."""
        with self._busy, active(self.session):
            try:
                yield
            finally:
                # The caller reads these rows later, and they may be of any size.
                self.tuning.apply({})

    def bind(self, query: str) -> BoundQuery:
        """Analyse a query under the settings."""
        return self._analyzer.bind(query)

    def text_of(self, frame: DataFrame) -> str:
        """SQL that means what a DataFrame means; QueryInvalid if it has no SQL form."""
        bound = self._analyzer.bind_frame(frame)
        if isinstance(bound.tree, Refused):
            fix = "Write the query as SQL, or pass a function that can be imported and makes the DataFrame."
            if bound.tree.reason == "UDF":
                register = 'twice = ps.spark.udf.register("twice", lambda number: number * 2, "long")'
                fix = f"Register a function of your own and use what that returns: {register}. Or: {fix}"
            raise QueryInvalid(
                why=f"the DataFrame cannot be written as SQL: {bound.tree.reason}, {bound.tree.construct}", fix=fix
            )
        return query_text(bound)

    def propose(self, query: str, key: tuple[str, ...]) -> Plan:
        """The plan of a query that a definition may be made of; `serve` keeps it for the first refresh."""
        began = datetime.now(UTC)
        bound = self.bind(query)
        plan = compile_query(bound, key, self.settings)
        ends = {source.path: self._end_of(source.path) for source in bound.sources}
        # A commit that landed while the query was analysed may not be in the plan.
        if all(at is not None and at < began for _, _, at in ends.values()):
            self._proposed = _Proposed(query, key, plan, ends)
        return plan

    def serve(self, definition: Definition) -> None:
        """Become the workspace of a definition that was made of what was proposed here."""
        self._set_reads(definition.reads)

    def columns_read_by_name(self, query: str) -> Reads:
        """What the names in a query show now, for a definition to remember."""
        return columns_read_by_name(self.session, query)

    def check_over(self, query: str, name: TableName, wanted: Definition) -> None:
        """QueryInvalid if the query could not be analysed over a stream table that shows another definition's columns.

        Only where its text names the stream table; a view in between shows what it shows now.
        """
        nulls = ", ".join(f"CAST(NULL AS {type_}) AS {quote(visible)}" for visible, _, type_ in wanted.columns)
        schema = self.session.sql(f"SELECT {nulls}").schema
        # Spark must not know that there are no rows, or it would find that nothing of them is used.
        nothing = self.session.createDataFrame(self.session.sparkContext.emptyRDD(), schema)
        self._analyzer.check(query, {name: nothing})

    def plan(self, query: str, key: tuple[str, ...], columns: tuple[str, ...], schemas: object) -> Plan:
        """The compiled plan; `schemas` stands for everything outside the definition that it depends on.

        QueryInvalid if the query no longer returns one of `columns`, which are those of the stream table.
        """
        held = self._plan
        if held is None or held[0] != (query, key, columns, schemas):
            held = self._plan = (query, key, columns, schemas), self._planned(query, key, columns)
        return held[1]

    def require_sources(self, definition: Definition) -> None:
        """SourceMissing if a table that a definition reads is away, before Spark says so in other words."""
        for kept in definition.sources.values():
            require_readable(self.logs.at(kept))

    def plan_anew(self, query: str, key: tuple[str, ...], columns: tuple[str, ...]) -> Plan:
        """The plan for the query as it reads now, for a rebuild: its tables, views and types may have changed.

        `plan` gives it once it is kept: the rebuild may fail, and then the query can read again what it read before.
        """
        self._plan = None
        return self._planned(query, key, columns)

    def keep(self, definition: Definition, schemas: object, plan: Plan) -> None:
        """Let `plan` give this one from now on: the stored rows are made by it."""
        self._plan = (definition.query, definition.key, definition.visible_columns, schemas), plan

    def _planned(self, query: str, key: tuple[str, ...], columns: tuple[str, ...]) -> Plan:
        proposed, self._proposed = self._proposed, None
        if proposed is not None and proposed.is_for(query, key, columns) and self._still_holds(proposed):
            return proposed.plan
        try:
            return compile_query(restrict(self.bind(query), columns), key, self.settings)
        except KeyError as gone:
            raise QueryInvalid(
                why=f"it no longer returns column {gone.args[0]}",
                fix="Bring the column back, or give another query: ALTER STREAM TABLE … AS …",
            ) from gone

    def _still_holds(self, proposed: _Proposed) -> bool:
        """True if nothing that the plan was made of has changed: tables and their names, views, functions."""
        bound = proposed.plan.bound
        return (
            all(self._end_of(path) == end for path, end in proposed.ends.items())
            and all(each.is_stream_table or self._stands_for(each) for each in bound.sources)
            and all(view_text(self.session, view) == text for view, text in bound.views)
            and all(function_code(self.session, name) == code for name, code in bound.functions)
        )

    def _stands_for(self, source: Source) -> bool:
        """True if a name means the table that it meant; a table that is read by its path is what it was."""
        if source.name.startswith("delta.`"):
            return True
        place = table_path(self.session, TableName.parse(source.name))
        return place is not None and folder(place) == folder(source.path)

    def _end_of(self, path: str) -> _End:
        log = self.logs.at(path)
        snapshot = log.snapshot()
        return snapshot.version, log.stamp(snapshot.version), snapshot.committed_at

    def _set_reads(self, reads: Reads) -> None:
        self._reads = reads
        self._analyzer = SparkAnalyzer(self.session, self._source_at, self._stream_table, reads, self._home)

    def recomputed(
        self,
        query: str,
        columns: tuple[tuple[str, str, str], ...],
        versions: Mapping[str, int],
        moment: datetime | None,
        weighted: bool,
    ) -> DataFrame:
        """The query's rows at these versions of its tables (by folder), as storage columns, from pinned file lists."""
        frame = query_with(self.session, query, self._reads, by_file_list(self.session, self._pinned(versions)), moment)
        return _as_stored(frame, columns, weighted)

    def witnessed(
        self,
        query: str,
        columns: tuple[tuple[str, str, str], ...],
        versions: Mapping[str, int],
        moment: datetime | None,
    ) -> DataFrame:
        """The query's visible rows at these versions and this moment, through Delta's own reader alone."""
        frame = query_with(self.session, query, self._reads, by_delta(self.session, self._pinned(versions)), moment)
        return frame.select(*(frame[quote(visible)] for visible, _, _ in columns))

    def witnessed_over(
        self,
        query: str,
        columns: tuple[tuple[str, str, str], ...],
        versions: Mapping[str, int],
        moment: datetime | None,
        instead: Mapping[str, tuple[Definition, DataFrame]],
    ) -> DataFrame:
        """The same with some of its stream tables (by folder) read as the given rows, whatever their storage holds."""
        by_version = by_delta(self.session, self._pinned(versions))

        def read(path: str, names: Sequence[str]) -> DataFrame | None:
            held = instead.get(folder(path))
            return by_version(path, names) if held is None else as_storage(held[1], held[0], self._schema(path), names)

        frame = query_with(self.session, query, self._reads, read, moment)
        return frame.select(*(frame[quote(visible)] for visible, _, _ in columns))

    def _schema(self, path: str) -> StructType:
        return self.logs.at(path).snapshot().schema

    def visible_rows(self, definition: Definition, path: str, version: int) -> DataFrame:
        """What a user sees of the storage at a version, through Delta's own reader."""
        stored = self.session.read.format("delta").option("versionAsOf", version).load(path)
        stored.createOrReplaceTempView("__ps_visible_storage")
        return self.session.sql(view_query(definition, "`__ps_visible_storage`"))

    def stored_rows(self, path: str, version: int) -> int:
        """How many rows a user sees in the storage at a version, whatever definition they were stored under."""
        snapshot = self.logs.at(path).snapshot(version)
        marks = [name for name in (WEIGHT, SHOWN) if name in snapshot.schema.names]
        if not marks and snapshot.rows is not None:
            return snapshot.rows
        frame = scan(self.session, snapshot, marks or snapshot.schema.names[:1])
        if SHOWN in marks:
            frame = frame.where(F.col(quote(SHOWN)))
        total = frame.agg(F.sum(quote(WEIGHT)) if WEIGHT in marks else F.count(F.lit(1))).first()
        return int(total[0] or 0) if total is not None else 0

    def _pinned(self, versions: Mapping[str, int]) -> dict[str, tuple[DeltaLog, int]]:
        return {folder(path): (self.logs.at(path), version) for path, version in versions.items()}

    def _source_at(self, path: str, name: str) -> Source | None:
        stored = self._by_storage(folder(path))
        if stored is not None:
            return stored
        try:
            snapshot = self.logs.at(path).snapshot()
        except SourceMissing as missing:
            raise QueryInvalid(why=missing.text, fix="Create the table, or mend the query.") from missing
        return Source(snapshot.table_id, name, folder(path))

    def _stream_table(self, view: str) -> Source | None:
        return self._by_name(TableName.parse(view))


def as_storage(rows: DataFrame, definition: Definition, schema: StructType, names: Sequence[str]) -> DataFrame:
    """The rows that a stream table shows in the form of its storage: what its view does not look at is NULL."""
    visible = {stored: name for name, stored, _ in definition.columns}
    one = {WEIGHT: F.lit(1).cast("bigint"), SHOWN: F.lit(True)}
    return rows.select(
        *(
            (
                rows[quote(visible[name])]
                if name in visible
                else one[name]
                if name in one
                else F.lit(None).cast(schema[name].dataType)
            ).alias(name)
            for name in names
        )
    )


def _as_stored(frame: DataFrame, columns: tuple[tuple[str, str, str], ...], weighted: bool) -> DataFrame:
    items = [frame[quote(visible)].alias(stored) for visible, stored, _ in columns]
    if weighted:
        items.append(F.lit(1).cast("bigint").alias(WEIGHT))
    return frame.select(*items)
