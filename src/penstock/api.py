"""Stream tables from Python: thin, delegates; holds no SQL of its own, and of Spark only the session to hand on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from penstock.arguments import checked
from penstock.catalog.fault import fault, set_aside
from penstock.catalog.identity_file import read_identity
from penstock.catalog.model import UNSET, Alert, RefreshRecord, Status, StreamTableMeta, UnsetType
from penstock.catalog.open_catalog import catalog_place, open_catalog
from penstock.catalog.reader import CatalogReader
from penstock.catalog.warehouse_folder import (
    had_catalog,
    lost_stream_tables,
    made,
    require_warehouse,
    warehouse_folder,
)
from penstock.changes.filter.moments import read_timestamp
from penstock.changes.wire.change_event import ChangeEvent
from penstock.engine.changelog.changelog import Changelog
from penstock.engine.read.rows_as_view import rows_as_views
from penstock.engine.run.workspace import Logs
from penstock.engine.run.written_rows import counting_rows, counts
from penstock.engine.spark import registry
from penstock.engine.spark.calls import let_calls_end
from penstock.engine.spark.handed_in import DataFrame, SparkSession
from penstock.engine.spark.plain_tables import create_table
from penstock.engine.spark.python_query import frame_from, named_query
from penstock.engine.spark.result_settings import result_settings
from penstock.engine.spark.session import check_session, start_session
from penstock.engine.spark.statement import statement_errors
from penstock.engine.spark.threads import spark_threads
from penstock.engine.write.storage import Storage
from penstock.errors import (
    InvalidName,
    NotAllRefreshed,
    QueryInvalid,
    ReadOnly,
    StreamTableNotFound,
    TableBusy,
    TableExists,
)
from penstock.graph.lag import format_lag, parse_target_lag
from penstock.lang import (
    AlterStreamTable,
    AuditStreamTable,
    CreateStreamTable,
    DescribeHistory,
    DescribeStreamTable,
    DropStreamTable,
    ExplainStreamTable,
    OptimizeStreamTable,
    PassThrough,
    RefreshStreamTable,
    RefreshStreamTables,
    ShowCreateStreamTable,
    ShowStreamTables,
    Statement,
    Subscribe,
)
from penstock.lang.plain_refresh import PlainRefresh, plain_refresh
from penstock.lang.script import half_way, read_script
from penstock.lang.unknown_name import LOST, lost_ones, what_was_meant
from penstock.lang.written import inserted_into
from penstock.monitor.diagnose.diagnosis import Diagnosis, diagnose
from penstock.monitor.diagnose.gather import gather
from penstock.monitor.health import Health
from penstock.monitor.http import Server
from penstock.monitor.info import info
from penstock.monitor.json_log import log_to
from penstock.monitor.monitor import Monitor
from penstock.monitor.picture import GraphPicture, picture
from penstock.monitor.stats import StatsRow, stats
from penstock.monitor.status import StatusRow, status
from penstock.monitor.unchanged import is_unchanged
from penstock.monitor.views import views_in
from penstock.names import Frontier, TableName
from penstock.refresh.advise import LayoutAdvice, advise
from penstock.refresh.alter import alter, postpone, redefinition, status_of
from penstock.refresh.audit import AuditReport, audit
from penstock.refresh.create import Proposal, make, mode_of, propose
from penstock.refresh.define import Redefinition
from penstock.refresh.defining import defining
from penstock.refresh.describe import columns_of, details_of
from penstock.refresh.drop import drop
from penstock.refresh.explain import Explanation, explain_query, explain_table
from penstock.refresh.fresh import fresh_rows
from penstock.refresh.guard_names import guard_names
from penstock.refresh.guard_versions import guard_versions
from penstock.refresh.keep_names import keep_names
from penstock.refresh.names_of_others import names_of, refuse_names_of_others
from penstock.refresh.optimize import OptimizeResult, optimize
from penstock.refresh.outcome import Replacement, StreamTableInfo, changed, column_changes, created, unchanged
from penstock.refresh.read_together import rows_together
from penstock.refresh.repair import RepairReport, rebuild
from penstock.refresh.result import RefreshResult, Report
from penstock.refresh.retention import guard_vacuum
from penstock.refresh.session_first import session_first
from penstock.refresh.settle import Opened, refuse_broken_foreign, settle
from penstock.refresh.share_names import begin_sharing, note_names
from penstock.refresh.show_create import create_text
from penstock.refresh.shown import ShownVersion, shown_versions
from penstock.refresh.together import refresh_together
from penstock.refresh.warehouse import Warehouse
from penstock.schedule.backoff import Backoff
from penstock.schedule.clock import SystemClock
from penstock.schedule.due import due
from penstock.schedule.grid import period
from penstock.schedule.running import Running
from penstock.schedule.scheduler import Scheduler
from penstock.schedule.steady_clock import SteadyClock
from penstock.schedule.upkeep import Upkeep
from penstock.schedule.workshop import WarehouseWorkshop
from penstock.settings import Settings
from penstock.subscribe.all_changes import AllChanges
from penstock.subscribe.callback import CallbackSubscription
from penstock.subscribe.feed import Feed
from penstock.subscribe.key_watch import KeyWatch, watch_key
from penstock.subscribe.start import Start
from penstock.subscribe.subscribe import subscribe
from penstock.subscribe.subscribers import SubscriberRow, subscriber_rows
from penstock.subscribe.subscription import Delivery, Subscription


@dataclass(frozen=True, slots=True)
class StatementResult:
    """What one of our statements answers."""

    kind: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    message: str | None = None


@checked
def open(
    path: str | Path,
    *,
    spark: SparkSession | None = None,
    catalog: str | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> StreamTables:
    """Open a warehouse, creating it if need be.

    Without `spark`, a local Spark with Delta is started for it. `catalog` is a path to a SQLite file or an address,
    `postgresql://user:password@host:port/database`; the default is the setting of that name, else a file in the
    warehouse.
    """
    root = warehouse_folder(path).resolve()
    is_new = read_identity(root) is None
    with session_first(root, spark, Settings.load(root, **_given(settings))) if is_new else nullcontext():
        opened = StreamTables(path, spark=spark, catalog=catalog, settings=settings)
    try:
        opened.start()
    except BaseException:
        opened.close()
        raise
    return opened


@checked
def look(path: str | Path, *, settings: Settings | Mapping[str, Any] | None = None) -> StreamTables:
    """Open a warehouse to look at it: Spark is started only when something has to be computed."""
    return StreamTables(path, settings=settings)


@checked
def repair(
    path: str | Path,
    *,
    spark: SparkSession | None = None,
    catalog: str | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> RepairReport:
    """Rebuild the catalog of a warehouse from its tables, also where `open` refuses because it is broken or lost.

    A broken one is kept beside the new one. The report says what the tables do not tell, and what therefore is gone.
    """
    root = warehouse_folder(path)
    require_warehouse(root)
    held = Settings.load(root, **_given(settings))
    place = catalog or catalog_place(root, held.catalog)
    broken = fault(place)
    if broken:
        refuse_broken_foreign(root.resolve(), place)
    with session_first(root.resolve(), spark, held):
        kept = set_aside(place) if broken else None
        # From here on there is one, if only an empty one.
        with open_catalog(place) as begun:
            if begun.read_only:
                raise ReadOnly(place=root)
        with open(root, spark=spark, catalog=catalog, settings=settings) as opened:
            report = opened.repair()
    lines = report.lines if kept is None else (f"{place} cannot be used ({broken}): kept as {kept}", *report.lines)
    return replace(report, lines=lines, kept=kept)


@checked
class StreamTables:
    """One warehouse: its tables, its stream tables, and the work of keeping them fresh."""

    @checked
    def __init__(
        self,
        path: str | Path,
        *,
        spark: SparkSession | None = None,
        catalog: str | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
    ) -> None:
        root = warehouse_folder(path).resolve()
        self._owns_spark = spark is None
        if spark is not None:
            check_session(spark)
            let_calls_end(spark.sparkContext._gateway)
        self._given = _given(settings)
        held = Settings.load(root, **self._given)
        logging.getLogger("penstock").setLevel(held.log_level.upper())
        if held.log_format == "json":
            log_to("json")
        place, logs = catalog or catalog_place(root, held.catalog), Logs(str(root))
        with made(root):
            opened = open_catalog(place, root, must_exist=had_catalog(root))
            try:
                settle(Opened(root, opened, place, logs, datetime.now(UTC)))
            except BaseException:
                opened.close()
                raise
        self._warehouse = Warehouse(
            root=root,
            start=lambda: start_session(root, held) if spark is None else _passed_in(spark, root, opened),
            started=self._restore,
            catalog=opened,
            settings=held,
            now=lambda: datetime.now(UTC),
            sleep=time.sleep,
            logs=logs,
        )
        warehouse = self._warehouse
        self._monitor = Monitor(
            opened,
            lambda: warehouse.settings,
            warehouse.logs,
            warehouse.now,
            f"penstock:{root}",
            period,
            self.lost,
            self._is_unchanged,
        )
        self._feed = Feed(lambda name: opened.get_by_name(TableName.parse(name)).data_timestamp)
        self._all_changes: AllChanges | None = None
        self._opening = threading.Lock()
        warehouse.tell, warehouse.observe = self._monitor.tell, self._monitor.observe

    # -- opening and closing

    def start(self) -> None:
        """Start Spark, if that has not happened yet."""
        _ = self.spark

    def _restore(self) -> None:
        """Make this process know what the warehouse holds."""
        spark, catalog = self.spark, self._warehouse.catalog
        if not catalog.read_only:
            catalog.close_orphans(now=catalog.now())
            keep = timedelta(days=self.settings.history_keep_days)
            catalog.prune_history(keep, now=self._warehouse.now())
            catalog.prune_alerts(keep, now=self._warehouse.now())
        if registry.is_forgetful(spark):
            begin_sharing(self._warehouse)

    def close(self) -> None:
        """Let go of the catalog, and of Spark if this object started it; alerts on their way are delivered first."""
        self._feed.close()
        if self._all_changes is not None:
            self._all_changes.close()
        self._monitor.close()
        self._warehouse.catalog.close()
        if self._owns_spark and self._warehouse.has_started:
            self.spark.stop()

    def __enter__(self) -> StreamTables:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def spark(self) -> SparkSession:
        """The Spark session underneath."""
        return self._warehouse.spark

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._warehouse.settings

    @property
    def path(self) -> Path:
        """The warehouse folder."""
        return self._warehouse.root

    # -- SQL

    def sql(self, text: str, *, yes: bool = False, progress: Report | None = None) -> Any:
        """Run statements: ours here, everything else by Spark. Returns the last one's result.

        Ours give a `StatementResult`, SUBSCRIBE a `Subscription`, Spark's a DataFrame; that of an INSERT or CREATE
        TABLE … AS holds the number of rows, as Delta's of UPDATE, DELETE and MERGE do. A script is parsed whole before
        any of it runs; the error of one that fails half way carries a note of what was done and what was not. With
        `yes`, sources may be dropped, renamed, replaced or vacuumed although stream tables need them.
        """
        result: Any = StatementResult("nothing", (), ())
        steps = read_script(text)
        for at, step in enumerate(steps):
            try:
                result = self._statement(step.statement, progress, yes)
            except (Exception, KeyboardInterrupt) as error:
                if len(steps) > 1:
                    error.add_note(half_way(steps, at, error))
                raise
        return result

    def _statement(self, statement: Statement, progress: Report | None, yes: bool) -> Any:
        match statement:
            case PassThrough() if (plain := plain_refresh(statement)) is not None:
                return self._refresh_plainly(plain, statement, progress)
            case PassThrough():
                return self._pass_through(statement, yes)
            case CreateStreamTable():
                made = self.create_stream_table(
                    statement.name,
                    statement.query,
                    None if statement.downstream else (statement.target_lag or "1 minute"),
                    statement.refresh_mode,
                    statement.initialize,
                    key=statement.key,
                    or_replace=statement.or_replace,
                    if_not_exists=statement.if_not_exists,
                    cascade=statement.cascade or yes,
                    progress=progress,
                )
                why = f" ({made.reason})" if made.reason else ""
                return _said(
                    "create", f"stream table {made.name} {made.message}, maintained {made.effective_mode}{why}"
                )
            case AlterStreamTable():
                return self._alter(statement, yes)
            case DropStreamTable():
                dropped = self.drop_stream_table(statement.name, statement.if_exists, statement.cascade)
                return _said("drop", f"dropped {', '.join(dropped)}" if dropped else "nothing to drop")
            case RefreshStreamTable():
                return _refreshed([self.refresh(statement.name, progress=progress)])
            case RefreshStreamTables():
                return _refreshed(_all_of(self.refresh_all(progress=progress)))
            case ShowStreamTables():
                return _shown([row for row in self.status() if _matches(row.name, statement.like)], self.lost())
            case ShowCreateStreamTable():
                return StatementResult("show_create", ("statement",), ((self.show_create(statement.name),),))
            case DescribeStreamTable():
                lines = tuple(self.describe(statement.name, statement.extended))
                return StatementResult("describe", ("column", "type"), lines)
            case DescribeHistory():
                return _history(self.history(statement.name, statement.limit or 20))
            case ExplainStreamTable():
                told = self.explain(statement.name or statement.query or "")
                return StatementResult(
                    "explain", ("plan",), tuple((line,) for line in told.text(statement.extended).splitlines())
                )
            case AuditStreamTable():
                return _audited(self.audit(statement.name))
            case OptimizeStreamTable():
                self._find(statement.name)
                return _optimized(self.optimize(statement.name, progress=progress))
            case Subscribe():
                return self._subscribe(statement)

    def _pass_through(self, statement: PassThrough, yes: bool) -> DataFrame:
        keep_names(self._warehouse)
        guard_versions(self._warehouse, statement.sql, registry.current_schema(self.spark))
        if statement.kind != "query":
            guard_names(self._warehouse, statement, yes)
        if statement.verb == "VACUUM" and not yes:
            guard_vacuum(self._warehouse, statement, registry.current_schema(self.spark))
        catalog, now = self._warehouse.catalog, self._warehouse.now()
        shown = rows_as_views(self.spark, views_in(statement.sql, catalog, now, self._minimum_lag, self._is_unchanged))
        with shown, statement_errors(self.spark, statement.sql):
            written = self._counting(statement)
            creates = statement.defines == "table"
            frame = create_table(self.spark, statement.sql) if creates else self.spark.sql(statement.sql)
            inserted = written()
        if inserted is not None:
            frame = counts(self.spark, inserted)
        if statement.kind in {"ddl", "other"}:
            note_names(self._warehouse)
        return frame

    def _counting(self, statement: PassThrough) -> Callable[[], int | None]:
        """What says after a statement how many rows it inserted, if Spark does not say so itself."""
        target = inserted_into(statement)
        try:
            table = None if target is None else self._name(target)
        except InvalidName:
            # A path, or a name that Spark is to refuse.
            table = None
        return (lambda: None) if table is None else counting_rows(self.spark, self._warehouse.logs, table)

    def _refresh_plainly(self, plain: PlainRefresh, statement: PassThrough, progress: Report | None) -> StatementResult:
        """Spark's REFRESH: of a stream table it means ours, which Spark would answer without doing anything."""
        what = plain.what
        try:
            table = self._name(what)
        except InvalidName:
            # A path, or a name that Spark is to refuse.
            table = None
        if table is not None and self._warehouse.catalog.find(table) is not None:
            return _refreshed([self.refresh(what, progress=progress)])
        if plain.is_name:
            with statement_errors(self.spark, statement.sql):
                exists = self.spark.catalog.tableExists(what)
            if not exists:
                self._find(what)
        self._pass_through(statement, yes=False)
        if plain.is_name:
            told = f"{what} is no stream table: Spark will read its files anew, and nothing was computed"
        else:
            told = f"Spark will read {what} anew, and nothing was computed; write: REFRESH STREAM TABLE name"
        return _said("refresh", told)

    def _alter(self, statement: AlterStreamTable, yes: bool) -> StatementResult:
        changes: dict[str, Any] = {}
        if statement.as_query is not None:
            changes = {"query": statement.as_query, "cascade": statement.cascade or yes}
        elif statement.set_downstream or statement.set_target_lag is not None:
            changes = {"target_lag": statement.set_target_lag}
        elif statement.set_refresh_mode is not None:
            changes = {"refresh_mode": statement.set_refresh_mode}
        else:
            changes = {"status": "SUSPENDED" if statement.suspend else "ACTIVE"}
        altered = self.alter_stream_table(statement.name, **changes)
        return _said("alter", f"stream table {altered.name} {altered.message}")

    def _subscribe(self, statement: Subscribe) -> Subscription:
        moment = statement.as_of_timestamp
        return self.subscribe(
            statement.name,
            start="snapshot" if statement.with_snapshot else None,
            version=statement.as_of_version,
            timestamp=None if moment is None else read_timestamp(moment),
            lsn=statement.after_lsn,
            where=statement.where,
        )

    # -- definitions

    def create_stream_table(
        self,
        name: str,
        query: str | DataFrame | Callable[[SparkSession], DataFrame],
        target_lag: str | timedelta | None = "1 minute",
        refresh_mode: str = "AUTO",
        initialize: bool = True,
        *,
        key: Iterable[str] | None = None,
        or_replace: bool = False,
        if_not_exists: bool = False,
        cascade: bool = False,
        progress: Report | None = None,
    ) -> StreamTableInfo:
        """Define a stream table, and fill it unless `initialize` is False.

        `query` is SQL, a DataFrame, or a function that makes a DataFrame of the session. A DataFrame is written down as
        SQL; where it has no SQL form, a function that can be imported is called at every refresh, which is then FULL.
        `target_lag` None means DOWNSTREAM. With `or_replace` an unchanged definition keeps its rows; one under which
        other stream tables could not read it any more is refused without `cascade`.
        """
        warehouse = self._warehouse
        table = self._name(name)
        query = query if isinstance(query, str) else self._text_of(query)
        held = warehouse.catalog.find(table)
        if held is not None and if_not_exists:
            return unchanged(held)
        if held is not None and not or_replace:
            raise TableExists(name=table, kind="stream table")
        lag = parse_target_lag(target_lag, self._minimum_lag)
        with defining():
            proposal = propose(warehouse, name, query, lag, mode_of(refresh_mode), tuple(key or ()))
            if held is not None:
                replacement = self._replace(held, proposal, initialize, cascade, progress)
                return changed(held, warehouse.catalog.get_by_name(table), replacement)
            meta = make(warehouse, proposal)
            refreshed = None
            if initialize:
                try:
                    refreshed = self.refresh(name, progress=progress)
                except TableBusy:
                    # A scheduler has seen it and is filling it.
                    refreshed = None
                except BaseException:
                    drop(warehouse, meta, cascade=False)
                    raise
        return created(warehouse.catalog.get_by_name(table), refreshed)

    def _replace(
        self, held: StreamTableMeta, proposal: Proposal, initialize: bool, cascade: bool, progress: Report | None
    ) -> Replacement | None:
        """Give a stream table another definition, with its rows unless they are to come later; None if they stay."""
        warehouse = self._warehouse
        before, refreshed = warehouse.definition(held), None
        change = redefinition(warehouse, held, proposal, cascade)
        if change is None:
            return None
        if initialize:
            refreshed = self._refresh([held], progress, isolate=False, redefined=change)[-1]
        else:
            postpone(warehouse, held, change)
        return Replacement(column_changes(before, warehouse.definition(held)), refreshed)

    def _text_of(self, query: DataFrame | Callable[[SparkSession], DataFrame]) -> str:
        keep_names(self._warehouse)
        frame = frame_from(query, self.spark) if callable(query) else query
        settings, database = result_settings(self.spark), registry.current_schema(self.spark)
        try:
            return self._warehouse.fresh_workspace(settings, database).text_of(frame)
        except QueryInvalid:
            named = named_query(query) if callable(query) else None
            if named is None:
                raise
            return named

    def alter_stream_table(
        self,
        name: str,
        target_lag: str | timedelta | UnsetType | None = UNSET,
        refresh_mode: str | UnsetType = UNSET,
        status: str | UnsetType = UNSET,
        query: str | UnsetType = UNSET,
        *,
        cascade: bool = False,
    ) -> StreamTableInfo:
        """Change what is given, all of it or nothing. `target_lag` None means DOWNSTREAM.

        The rows of a new query are computed beside the old ones and take their place in one commit, together with the
        definition; if the query fails, nothing has changed. One under which other stream tables could not read this
        one any more is refused without `cascade`. A mode that is given with a query is the mode of that query.
        """
        was = self._find(name)
        lag = target_lag if target_lag is UNSET else parse_target_lag(target_lag, self._minimum_lag)
        mode = refresh_mode if refresh_mode is UNSET else mode_of(refresh_mode)
        wanted = status if status is UNSET else status_of(status)
        replacement = None
        with defining():
            if query is not UNSET:
                # Lag and mode come into force in the commit of the rows, and the status once that has succeeded.
                lag, mode = was.target_lag if lag is UNSET else lag, was.refresh_mode if mode is UNSET else mode
                proposal = propose(self._warehouse, name, query, lag, mode, was.key)
                replacement = self._replace(was, proposal, True, cascade, None)
                lag = mode = UNSET
            alter(self._warehouse, self._find(name), lag, mode, wanted)
        return changed(was, self._find(name), replacement)

    def drop_stream_table(self, name: str, if_exists: bool = False, cascade: bool = False) -> list[str]:
        """Drop a stream table; returns the names of all that were dropped."""
        meta = self._warehouse.catalog.find(self._name(name))
        if meta is None and if_exists:
            return []
        return drop(self._warehouse, meta or self._find(name), cascade)

    # -- refreshing

    def refresh(self, name: str, *, progress: Report | None = None) -> RefreshResult:
        """Bring a stream table up to now, its upstreams first. A suspended one is refreshed and stays suspended."""
        meta = self._find(name)
        done = self._refresh([meta], progress, isolate=False)
        return next(each for each in reversed(done) if each.name == str(meta.name))

    refresh_stream_table = refresh

    def refresh_all(self, *, progress: Report | None = None) -> list[RefreshResult]:
        """Bring all stream tables up to now, at one version of every source; those that are suspended are left alone.

        The error of one table is its result and does not stop others.
        """
        wanted = [meta for meta in self._warehouse.catalog.get_all() if meta.status is not Status.SUSPENDED]
        return self._refresh(wanted, progress, isolate=True)

    def tick(self, now: datetime | None = None) -> list[RefreshResult]:
        """Refresh everything that is due at a moment; the error of one table is its result and does not stop others.

        Nothing while the catalog is paused.
        """
        if not self.settings.enabled or self._warehouse.catalog.paused():
            return []
        moment = now or self._warehouse.now()
        found = due(self._warehouse.catalog, moment, self._minimum_lag, Backoff.of(self.settings))
        return self._refresh(found, None, isolate=True, now=moment)

    def run(self) -> Running:
        """Keep every stream table within its target lag, in the background, until `stop` of what is returned.

        Of several processes on one catalog exactly one acts; the others stand by and take over when it is gone.
        """
        return Running(self.scheduler())

    def scheduler(self) -> Scheduler:
        """The scheduler that `run` runs, for whoever has a thread for it already."""
        warehouse = self._warehouse
        threads = spark_threads(warehouse.spark)
        upkeep = Upkeep(warehouse, threads)

        def check() -> None:
            self._monitor.check()
            upkeep.check()

        return Scheduler(
            WarehouseWorkshop(warehouse),
            warehouse.catalog,
            lambda: warehouse.settings,
            SteadyClock(SystemClock()),
            threads,
            check,
        )

    def pause(self) -> None:
        """Keep all schedulers of this catalog from starting refreshes; what runs ends; by hand all works."""
        self._warehouse.catalog.set_paused(True)

    def resume(self) -> None:
        """Let the schedulers go on after `pause`."""
        self._warehouse.catalog.set_paused(False)

    def is_paused(self) -> bool:
        """True between `pause` and `resume`."""
        return self._warehouse.catalog.paused()

    def reload(self) -> Settings:
        """Read the settings again from file and environment; they hold from the next refresh on."""
        self._warehouse.set_settings(Settings.load(self.path, **self._given))
        logging.getLogger("penstock").setLevel(self.settings.log_level.upper())
        return self.settings

    def _refresh(
        self,
        targets: list[StreamTableMeta],
        progress: Report | None,
        isolate: bool,
        now: datetime | None = None,
        redefined: Redefinition | None = None,
    ) -> list[RefreshResult]:
        warehouse = self._warehouse
        return refresh_together(warehouse, targets, now or warehouse.now(), progress, isolate, redefined)

    # -- layout

    def advise(self) -> list[LayoutAdvice]:
        """How the files of every stream table and every source lie, and by which columns they should be sorted."""
        return advise(self._warehouse)

    def optimize(
        self, name: str | None = None, dry_run: bool = False, *, progress: Report | None = None
    ) -> list[OptimizeResult]:
        """Lay files out as `advise` says; no row changes, and what is laid out well is left alone.

        Without a name: every stream table; sources are only told of. A source that is named is sorted too, by Delta's
        own OPTIMIZE. With `dry_run` nothing is done.
        """
        done = optimize(self._warehouse, None if name is None else self._name(name), dry_run, progress)
        if name is not None and not done:
            self._find(name)
        return done

    # -- reading

    def table(self, name: str, fresh: bool = False) -> DataFrame:
        """The stream table's rows; with `fresh`, as they would be after a refresh, without writing anything."""
        meta = self._find(name)
        keep_names(self._warehouse)
        return fresh_rows(self._warehouse, [meta])[0] if fresh else self.spark.table(meta.name.sql)

    def read_together(self, names: Iterable[str], fresh: bool = False) -> dict[str, DataFrame]:
        """The rows of several stream tables at one instant: all show the same version of every base table they share.

        As they are stored, that is the newest such instant; `NoCommonInstant` if there is none. With `fresh`, it is
        now. Nothing is written.
        """
        asked = list(dict.fromkeys(names))
        metas = [self._find(name) for name in asked]
        frames = fresh_rows(self._warehouse, metas) if fresh else rows_together(self._warehouse, metas)
        return dict(zip(asked, frames, strict=True))

    def explain(self, name_or_query: str) -> Explanation:
        """How a stream table is maintained, or how a query would be."""
        keep_names(self._warehouse)
        text = name_or_query.strip()
        if not text.upper().startswith(("SELECT", "WITH", "FROM", "VALUES", "TABLE ", "(", "--", "/*")):
            return explain_table(self._warehouse, self._find(text))
        settings, database = result_settings(self.spark), registry.current_schema(self.spark)
        guard_versions(self._warehouse, text, database)
        with defining():
            return explain_query(self._warehouse, text, settings, database)

    def audit(self, name: str) -> AuditReport:
        """Recompute the query at the stored frontier and compare."""
        meta = self._find(name)
        keep_names(self._warehouse)
        frontier, version = self._state(meta)
        return audit(meta, self._warehouse.workspace(self._warehouse.definition(meta)), frontier, version)

    def _state(self, meta: StreamTableMeta) -> tuple[Frontier | None, int | None]:
        pin = Storage.open(meta.path).pin()
        if pin.record is None:
            return None, None
        later = meta.frontier_version == pin.record_version and meta.frontier is not None
        return (meta.frontier if later else pin.record.frontier), pin.version

    # -- looking

    def status(self) -> list[StatusRow]:
        """One row per stream table."""
        keep_names(self._warehouse)
        return status(self._warehouse.catalog, self._warehouse.now(), self._minimum_lag, self._is_unchanged)

    pgt_status = status

    def diagnose(self, name: str) -> Diagnosis:
        """Why a stream table is stale, or why it can be trusted, with what to do; nothing is computed or changed."""
        keep_names(self._warehouse)
        return diagnose(gather(self._warehouse, self._find(name), self._minimum_lag))

    def history(self, name: str | None = None, max_rows: int = 20) -> list[RefreshRecord]:
        """The newest refreshes first."""
        table = None if name is None else self._find(name).name
        return self._warehouse.catalog.recent_history(table, max_rows)

    refresh_history = history

    def show_create(self, name: str) -> str:
        """SQL that, run again, gives the stream table's definition."""
        meta, spark = self._find(name), self.spark
        definition = self._warehouse.definition(meta)
        return create_text(definition, meta, registry.current_schema(spark), result_settings(spark))

    def describe(self, name: str, extended: bool = False) -> list[tuple[str, str]]:
        """The columns of a stream table with their types; `extended`, what else a person would ask of it."""
        meta = self._find(name)
        definition = self._warehouse.definition(meta)
        sources = [each.source_name for each in self._warehouse.catalog.dependencies_of(meta.id)]
        return columns_of(definition) + (details_of(definition, meta, sources) if extended else [])

    def versions(self, name: str, max_rows: int = 20) -> list[ShownVersion]:
        """What each version of a stream table shows, newest first: its data timestamp and the versions behind it."""
        return shown_versions(self._warehouse, self._find(name), max_rows)

    def subscribe(
        self,
        name: str,
        *,
        start: str | None = None,
        version: int | None = None,
        timestamp: datetime | None = None,
        lsn: int | None = None,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        policy: str = "block",
        buffer: int = 1024,
        delivery: Delivery = "every",
        progress: bool = False,
        durable: str | None = None,
    ) -> Subscription:
        """Follow the changes of a stream table: iterate over the result, or use `next`, `async for`, `commits`.

        It begins now, with `start="snapshot"`, or after a `version`, `timestamp` or `lsn`. `where` is a SQL predicate,
        `columns` a choice of columns. `policy` says what becomes of commits that come too fast: block, drop_oldest,
        drop_newest, sample(n), demand. `delivery` is `every` commit, or `net` of all that wait. With `progress`,
        watermarks tell how far the table has got. A `durable` name keeps its acknowledged position.
        """
        begin = Start.of(start, version=version, timestamp=timestamp, lsn=lsn)
        return subscribe(
            self._warehouse,
            self._feed,
            self._find(name),
            begin,
            where=where,
            columns=columns,
            policy=policy,
            buffer=buffer,
            delivery=delivery,
            progress=progress,
            durable=durable,
        )

    def on_change(
        self,
        name: str,
        call: Callable[[ChangeEvent], object],
        *,
        on_error: Callable[[Exception], object] | None = None,
        on_complete: Callable[[], object] | None = None,
        **options: Any,
    ) -> CallbackSubscription:
        """Call a function with every change of a stream table; the options are those of `subscribe`."""
        return CallbackSubscription(self.subscribe(name, **options), call, on_error, on_complete)

    def watch(self, name: str, key: str, since_lsn: int | None = None) -> KeyWatch:
        """Watch a key of a stream table, or with `….*` all keys that begin so: iterate over the result, or use `next`.

        It begins now, or after an LSN of the stream table. Of a key with several columns the values are joined by
        dots. Iterating ends after 60 seconds without a change.
        """
        return watch_key(self._warehouse, self._feed, self._find(name), key, since_lsn)

    def subscriptions(self) -> list[SubscriberRow]:
        """The durable subscriptions, and how far each has got."""
        return subscriber_rows(self._warehouse)

    def drop_subscription(self, name: str) -> None:
        """Forget a durable subscription."""
        self._warehouse.catalog.drop_subscriber(name)

    def changelog(self, name: str) -> Changelog:
        """The changes of a stream table, commit by commit; needs no Spark."""
        meta = self._find(name)
        return Changelog(str(meta.name), self._warehouse.logs.at(meta.path))

    def all_changes(self) -> AllChanges:
        """The changes of all stream tables in one order, for consumers that poll with a cursor; needs no Spark."""
        with self._opening:
            if self._all_changes is None:
                warehouse = self._warehouse
                self._all_changes = AllChanges(warehouse.catalog, warehouse.logs, self.settings.ring_events)
            return self._all_changes

    def graph(self) -> GraphPicture:
        """Who reads whom."""
        return picture(self._warehouse.catalog)

    st_graph = graph

    def info(self, name: str | None = None) -> list[dict[str, Any]]:
        """Everything the catalog knows, per stream table."""
        catalog = self._warehouse.catalog
        tables = catalog.get_all() if name is None else [self._find(name)]
        return info(catalog, tables, self._warehouse.now(), self._minimum_lag, self._is_unchanged)

    def stats(self) -> list[StatsRow]:
        """The totals of every stream table since its creation or the last reset."""
        return stats(self._warehouse.catalog)

    def reset_stats(self, name: str) -> None:
        """Start the totals of a stream table again from zero."""
        self._warehouse.catalog.reset_counters(self._find(name).id)

    def alerts(self, name: str | None = None, max_rows: int = 100) -> list[Alert]:
        """The newest alerts first, of one stream table or of all."""
        table = None if name is None else self._find(name).name
        return self._warehouse.catalog.recent_alerts(table, max_rows)

    def on_alert(self, listener: Callable[[Alert], None]) -> Callable[[], None]:
        """Call a function for every alert that this process raises, on a thread of its own; returns what ends it."""
        return self._monitor.on_alert(listener)

    def health(self) -> Health:
        """Whether anything needs a person: catalog, scheduler, stopped and late stream tables."""
        return self._monitor.health()

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> Server:
        """Answer `/metrics`, `/health`, `/ready` and `/status` over HTTP, until closed; port 0 takes a free one."""
        return self._monitor.serve(host, port)

    def repair(self) -> RepairReport:
        """Put back into the catalog what the tables say and it does not."""
        return rebuild(self._warehouse)

    def lost(self) -> list[str]:
        """Stream tables that lie in the warehouse, and that its catalog does not know; `repair` puts them back."""
        return [str(name) for name in lost_stream_tables(self.path, self._warehouse.catalog.get_all())]

    # -- names

    @property
    def _minimum_lag(self) -> timedelta:
        return timedelta(seconds=self.settings.min_target_lag_seconds)

    def _is_unchanged(self, meta: StreamTableMeta) -> bool:
        return is_unchanged(self._warehouse, meta)

    def _name(self, name: str) -> TableName:
        # A session that has just been started stands in the default schema.
        started = self._warehouse.has_started
        return TableName.parse(name, registry.current_schema(self.spark) if started else "default")

    def _find(self, name: str) -> StreamTableMeta:
        table = self._name(name)
        meta = self._warehouse.catalog.find(table)
        if meta is not None:
            return meta
        kind = registry.kind_of(self.spark, table) if self._warehouse.has_started else None
        known = [each.name for each in self._warehouse.catalog.get_all()]
        meant = f"It is a {kind}. " if kind else ""
        hint = LOST if str(table) in self.lost() else meant + what_was_meant(name, table, known)
        raise StreamTableNotFound(name=str(table), nearest=hint)


def _given(settings: Settings | Mapping[str, Any] | None) -> dict[str, Any]:
    """What the caller asked for, which wins over file and environment."""
    return asdict(settings) if isinstance(settings, Settings) else dict(settings or {})


def _passed_in(spark: SparkSession, root: Path, catalog: CatalogReader) -> SparkSession:
    refuse_names_of_others(spark, root, names_of(catalog))
    return spark


def _said(kind: str, message: str) -> StatementResult:
    return StatementResult(kind, (), (), message)


def _all_of(results: list[RefreshResult]) -> list[RefreshResult]:
    """The results; NotAllRefreshed if there is an error among them."""
    failed = {each.name: each.error.condition for each in results if each.error is not None}
    if failed:
        told = ", ".join(f"{name} ({condition})" for name, condition in failed.items())
        raise NotAllRefreshed(failed=len(failed), count=len(results), names=told, one=next(iter(failed)))
    return results


def _refreshed(results: list[RefreshResult]) -> StatementResult:
    columns = ("name", "action", "reason", "rows_inserted", "rows_deleted", "version", "seconds")
    rows = tuple(
        (
            each.name,
            each.action.value,
            each.reason_code,
            each.rows_inserted,
            each.rows_deleted,
            each.version,
            round(each.seconds, 3),
        )
        for each in results
    )
    return StatementResult("refresh", columns, rows)


def _shown(rows: list[StatusRow], lost: Sequence[str]) -> StatementResult:
    columns = (
        "name",
        "status",
        "refresh_mode",
        "effective_mode",
        "target_lag",
        "current_lag",
        "last_refresh",
        "errors",
    )
    return StatementResult(
        "show",
        columns,
        tuple(
            (
                row.name,
                row.status,
                row.refresh_mode,
                row.effective_mode,
                row.target_lag,
                None
                if row.current_lag is None
                else format_lag(timedelta(seconds=round(row.current_lag.total_seconds()))),
                row.last_refresh,
                row.errors,
            )
            for row in rows
        ),
        lost_ones(lost) if lost else None,
    )


def _history(records: list[RefreshRecord]) -> StatementResult:
    counts = ("rows_inserted", "rows_deleted", "delta_rows", "rows_read", "rows_at_rest", "rows_written")
    columns = ("started_at", "action", "status", "reason", *counts, "commit_version", "seconds")
    return StatementResult(
        "history",
        columns,
        tuple(
            (
                each.started_at,
                each.action.value,
                each.status.value,
                each.reason,
                *(getattr(each, name) for name in counts),
                each.commit_version,
                round((each.ended_at - each.started_at).total_seconds(), 3) if each.ended_at else None,
            )
            for each in records
        ),
    )


def _audited(report: AuditReport) -> StatementResult:
    verdict = "exact" if report.exact else "DIFFERS"
    columns = ("name", "verdict", "missing_rows", "extra_rows", "rows", "seconds")
    row = (report.name, verdict, report.missing_rows, report.extra_rows, report.rows, round(report.seconds, 3))
    return StatementResult("audit", columns, (row,))


def _optimized(results: list[OptimizeResult]) -> StatementResult:
    columns = ("name", "done", "reason", "files_before", "files_after", "touched_before", "touched_after", "seconds")
    rows = tuple(
        (
            each.table,
            ", ".join(each.done) or "nothing",
            each.reason,
            each.advice.layout.files,
            each.after.files,
            each.advice.layout.touched,
            each.after.touched,
            round(each.seconds, 3),
        )
        for each in results
    )
    return StatementResult("optimize", columns, rows)


def _matches(name: str, like: str | None) -> bool:
    from fnmatch import fnmatchcase

    if like is None:
        return True
    table = name.rsplit(".", 1)[-1]
    return any(
        fnmatchcase(table, part.strip().lower()) or fnmatchcase(name, part.strip().lower()) for part in like.split("|")
    )
