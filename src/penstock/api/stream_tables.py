"""The methods of one warehouse. Each checks its arguments, finds the stream table that is named, and delegates."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from warnings import warn

from penstock.api import definitions, reading
from penstock.api.find import find_stream_table, full_name, lost_names
from penstock.api.open_warehouse import given_settings, open_monitor, open_warehouse, reload_settings
from penstock.api.refreshing import refresh_due, refresh_every, refresh_one, scheduler_of
from penstock.api.script import ScriptRun
from penstock.api.statement_result import StatementResult
from penstock.arguments import checked
from penstock.catalog.model import UNSET, Alert, RefreshRecord, StreamTableMeta, UnsetType
from penstock.catalog.warehouse_folder import warehouse_folder
from penstock.changes.wire.change_event import ChangeEvent
from penstock.ddl.outcome import StreamTableInfo
from penstock.ddl.repair import RepairReport, rebuild
from penstock.engine.changelog.changelog import Changelog
from penstock.engine.spark.pyspark_types import DataFrame, SparkSession
from penstock.layout.advise import LayoutAdvice, advise
from penstock.layout.optimize import OptimizeResult, optimize
from penstock.monitor.diagnose.diagnosis import Diagnosis, diagnose
from penstock.monitor.diagnose.gather import gather
from penstock.monitor.health import Health
from penstock.monitor.http import Server
from penstock.monitor.info import info
from penstock.monitor.picture import GraphPicture, picture
from penstock.monitor.stats import StatsRow, stats
from penstock.monitor.status import StatusRow, status
from penstock.monitor.unchanged import UnchangedByLogs
from penstock.names import TableName
from penstock.reading.audit import AuditReport
from penstock.reading.explain import Explanation
from penstock.reading.version_history import StoredVersion, version_history
from penstock.refresh.keep_names import keep_names
from penstock.refresh.result import RefreshResult, Report
from penstock.schedule.running import Running
from penstock.schedule.scheduler import Scheduler
from penstock.settings import DEFAULT_LAG, Settings
from penstock.subscribe.all_changes import AllChanges
from penstock.subscribe.callback import CallbackSubscription
from penstock.subscribe.feed import Feed
from penstock.subscribe.fetch import Delivery
from penstock.subscribe.key_watch import KeyWatch, watch_key
from penstock.subscribe.start import Start
from penstock.subscribe.subscribe import subscribe
from penstock.subscribe.subscribers import SubscriberRow, subscriber_rows
from penstock.subscribe.subscription import Subscription


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
        self._owns_spark = spark is None
        self._given = given_settings(settings)
        root = warehouse_folder(path).resolve()
        self._warehouse = warehouse = open_warehouse(root, spark, catalog, self._given)
        self._monitor = open_monitor(warehouse)
        self._feed = Feed(lambda name: warehouse.catalog.get_by_name(TableName.parse(name)).data_timestamp)
        self._all_changes: AllChanges | None = None
        self._opening = threading.Lock()

    def start(self) -> None:
        """Start Spark, unless it runs already."""
        _ = self.spark

    def close(self) -> None:
        """Deliver the alerts that wait, close the catalog, and stop Spark if this object started it."""
        self._feed.close()
        if self._all_changes is not None:
            self._all_changes.close()
        self._monitor.close()
        self._warehouse.catalog.close()
        if self._owns_spark and (begun := self._warehouse.begun) is not None:
            begun.stop()

    def __enter__(self) -> StreamTables:
        return self

    def __exit__(self, *failure: object) -> None:
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

    def sql(
        self, text: str, *, yes: bool = False, progress: Report | None = None
    ) -> StatementResult | Subscription | DataFrame:
        """Run statements, and return the result of the last one.

        Penstock runs stream table statements: they return a `StatementResult`, and SUBSCRIBE a `Subscription`. Spark
        runs all others: they return a DataFrame; that of INSERT and CREATE TABLE … AS holds the number of rows, as
        that of Delta's UPDATE, DELETE and MERGE does. A script is parsed whole before any of it runs. If a statement
        fails, its error carries a note of the statements that ran and of those that did not. With `yes`, a statement
        may drop, rename, replace or vacuum a source that stream tables need.
        """
        return ScriptRun(self, self._warehouse, yes, progress).run(text)

    # -- definitions

    def create_stream_table(
        self,
        name: str,
        query: str | DataFrame | Callable[[SparkSession], DataFrame],
        target_lag: str | timedelta | None = DEFAULT_LAG,
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

        `query` is SQL, a DataFrame, or a function that makes a DataFrame of the session. Penstock stores a DataFrame
        as SQL. If it has no SQL form, every refresh calls the function, which must be importable, and is FULL.
        `target_lag` None means DOWNSTREAM. With `or_replace`, an unchanged definition keeps its rows, and a changed one
        that breaks other stream tables needs `cascade`.
        """
        return definitions.create_stream_table(
            self._warehouse,
            name,
            query,
            target_lag,
            refresh_mode,
            initialize,
            key=key,
            or_replace=or_replace,
            if_not_exists=if_not_exists,
            cascade=cascade,
            progress=progress,
        )

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

        One commit replaces the definition and the rows when the query is new; if the query fails, nothing has changed.
        A query that breaks other stream tables needs `cascade`. A mode given with a query is the mode of that query.
        """
        return definitions.alter_stream_table(self._warehouse, name, target_lag, refresh_mode, status, query, cascade)

    def drop_stream_table(self, name: str, if_exists: bool = False, cascade: bool = False) -> list[str]:
        """Drop a stream table, with `cascade` its readers too; returns the names of all that it dropped."""
        return definitions.drop_stream_table(self._warehouse, name, if_exists, cascade)

    # -- refreshing

    def refresh(self, name: str, *, progress: Report | None = None) -> RefreshResult:
        """Refresh a stream table, after its upstreams. A suspended stream table is refreshed and stays suspended."""
        return refresh_one(self._warehouse, name, progress)

    refresh_stream_table = refresh

    def refresh_all(self, *, progress: Report | None = None) -> list[RefreshResult]:
        """Refresh all stream tables that are not suspended, at one version of every source.

        A stream table that fails has its error in its result, and does not stop the others.
        """
        return refresh_every(self._warehouse, progress)

    def tick(self, now: datetime | None = None) -> list[RefreshResult]:
        """Refresh the stream tables that are due at a moment; none while the catalog is paused.

        A stream table that fails has its error in its result, and does not stop the others.
        """
        return refresh_due(self._warehouse, now)

    def run(self) -> Running:
        """Keep every stream table within its target lag, in the background, until `stop` of the result.

        Of several processes on one catalog exactly one refreshes. The others stand by, and one takes over if it dies.
        """
        return Running(self.scheduler())

    def scheduler(self) -> Scheduler:
        """The scheduler that `run` runs, for a caller that has a thread for it."""
        return scheduler_of(self._warehouse, self._monitor)

    def pause(self) -> None:
        """Keep all schedulers of this catalog from starting refreshes. Running refreshes end; `refresh` still works."""
        self._warehouse.catalog.set_paused(True)

    def resume(self) -> None:
        """Let the schedulers start refreshes again."""
        self._warehouse.catalog.set_paused(False)

    def is_paused(self) -> bool:
        """True between `pause` and `resume`."""
        return self._warehouse.catalog.paused()

    def reload(self) -> Settings:
        """Read the settings again from file and environment; the next refresh obeys them."""
        reload_settings(self._warehouse, self._given)
        return self.settings

    # -- layout

    def advise(self) -> list[LayoutAdvice]:
        """How the files of every stream table and every source lie, and by which columns they should be sorted."""
        return advise(self._warehouse)

    def optimize(
        self, name: str | None = None, dry_run: bool = False, *, progress: Report | None = None
    ) -> list[OptimizeResult]:
        """Sort and compact files as `advise` says. No row changes, and a table that lies well stays as it is.

        Without a name it does so for every stream table, and reports on sources. A source that is named it sorts with
        Delta's own OPTIMIZE. With `dry_run` it only reports.
        """
        done = optimize(self._warehouse, None if name is None else full_name(self._warehouse, name), dry_run, progress)
        if name is not None and not done:
            self._find(name)
        return done

    # -- reading

    def table(self, name: str, fresh: bool = False) -> DataFrame:
        """The rows of a stream table; with `fresh`, the rows that a refresh would store, without storing them."""
        return reading.read_rows(self._warehouse, name, fresh)

    def read_together(self, names: Iterable[str], fresh: bool = False) -> dict[str, DataFrame]:
        """The rows of several stream tables at one instant: all show the same version of every base table they share.

        It is the newest such instant among the stored versions, or `NoCommonInstant` is raised. With `fresh`, it is
        now. Nothing is written.
        """
        return reading.read_at_one_instant(self._warehouse, names, fresh)

    def explain(self, name_or_query: str) -> Explanation:
        """How a stream table is maintained, or how a query would be."""
        return reading.explain_name_or_query(self._warehouse, name_or_query)

    def audit(self, name: str) -> AuditReport:
        """Recompute the query at the stored frontier and compare."""
        return reading.audit_stream_table(self._warehouse, name)

    # -- state

    def status(self) -> list[StatusRow]:
        """One row per stream table."""
        keep_names(self._warehouse)
        warehouse = self._warehouse
        return status(
            warehouse.catalog, warehouse.now(), warehouse.settings.min_target_lag, partial(UnchangedByLogs, warehouse)
        )

    pgt_status = status

    def diagnose(self, name: str) -> Diagnosis:
        """Why a stream table is stale or fresh, and what to do. It computes no rows and changes nothing."""
        keep_names(self._warehouse)
        return diagnose(gather(self._warehouse, self._find(name), self._warehouse.settings.min_target_lag))

    def history(self, name: str | None = None, max_rows: int = 20) -> list[RefreshRecord]:
        """The latest refreshes, newest first."""
        table = None if name is None else self._find(name).name
        return self._warehouse.catalog.recent_history(table, max_rows)

    refresh_history = history

    def show_create(self, name: str) -> str:
        """The SQL that gives a stream table the definition it has."""
        return reading.create_statement(self._warehouse, name)

    def describe(self, name: str, extended: bool = False) -> list[tuple[str, str]]:
        """The columns of a stream table with their types; `extended` adds options, sources, query and location."""
        return reading.describe_stream_table(self._warehouse, name, extended)

    def versions(self, name: str, max_rows: int = 20) -> list[StoredVersion]:
        """What each version of a stream table shows, newest first: its data timestamp and the versions behind it."""
        return version_history(self._warehouse, self._find(name), max_rows)

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

        It begins now, with all rows (`start="snapshot"`), or after a `version`, `timestamp` or `lsn`. `where` is a SQL
        predicate, `columns` a choice of columns. `policy` decides about commits that come too fast: block,
        drop_oldest, drop_newest, sample(n), demand. `delivery` gives `every` commit, or the `net` change of all that
        wait. With `progress`, watermarks show how far the table has got. A `durable` name keeps its acknowledged
        position.
        """
        return subscribe(
            self._warehouse,
            self._feed,
            self._find(name),
            Start.of(start, version=version, timestamp=timestamp, lsn=lsn),
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

        It begins now, or after an LSN of the stream table. Dots join the values of a key with several columns.
        Iterating ends after 60 seconds without a change.
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
        """Which stream table reads what."""
        return picture(self._warehouse.catalog)

    st_graph = graph

    def info(self, name: str | None = None) -> list[dict[str, Any]]:
        """Everything the catalog knows, per stream table."""
        warehouse = self._warehouse
        tables = warehouse.catalog.get_all() if name is None else [self._find(name)]
        unchanged = partial(UnchangedByLogs, warehouse)
        return info(warehouse.catalog, tables, warehouse.now(), warehouse.settings.min_target_lag, unchanged)

    def stats(self) -> list[StatsRow]:
        """The totals of every stream table since its creation or the last reset."""
        return stats(self._warehouse.catalog)

    def reset_stats(self, name: str) -> None:
        """Set the totals of a stream table to zero."""
        self._warehouse.catalog.reset_counters(self._find(name).id)

    def alerts(self, name: str | None = None, max_rows: int = 100) -> list[Alert]:
        """The latest alerts, newest first, of one stream table or of all."""
        table = None if name is None else self._find(name).name
        return self._warehouse.catalog.recent_alerts(table, max_rows)

    def on_alert(self, listener: Callable[[Alert], None]) -> Callable[[], None]:
        """Call a function for every alert of this process, on a thread of its own. Call the result to stop that."""
        return self._monitor.on_alert(listener)

    def health(self) -> Health:
        """What needs attention: the catalog, the scheduler, stopped and late stream tables."""
        return self._monitor.health()

    def serve_metrics(self, host: str = "127.0.0.1", port: int = 0) -> Server:
        """Answer `/metrics`, `/health`, `/ready` and `/status` over HTTP, until closed; port 0 takes a free one."""
        return self._monitor.serve(host, port)

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> Server:
        """The old name of `serve_metrics`."""
        # Level 3 is the caller: what checks the arguments lies in between.
        warn("serve is now serve_metrics; the next release drops the old name", DeprecationWarning, 3)
        return self.serve_metrics(host, port)

    def repair(self) -> RepairReport:
        """Restore catalog entries from the tables themselves."""
        return rebuild(self._warehouse)

    def lost(self) -> list[str]:
        """Stream tables that lie in the warehouse and are missing from its catalog; `repair` restores them."""
        return lost_names(self._warehouse)

    def _find(self, name: str) -> StreamTableMeta:
        return find_stream_table(self._warehouse, name)
