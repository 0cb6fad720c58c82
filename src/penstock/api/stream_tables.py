"""The methods of one warehouse. Each checks its arguments, finds the stream table that is named, and delegates."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from warnings import warn

from penstock.api import definitions, reading
from penstock.api.find import find_stream_table, full_name, lost_names, minimum_lag
from penstock.api.open_warehouse import given_settings, open_monitor, open_warehouse, reload_settings
from penstock.api.refreshing import refresh_due, refresh_every, refresh_one, scheduler_of
from penstock.api.script import ScriptRun
from penstock.api.statement_result import StatementResult
from penstock.arguments import checked
from penstock.catalog.model import UNSET, Alert, RefreshRecord, StreamTableMeta, UnsetType
from penstock.catalog.warehouse_folder import warehouse_folder
from penstock.changes.wire.change_event import ChangeEvent
from penstock.engine.changelog.changelog import Changelog
from penstock.engine.spark.handed_in import DataFrame, SparkSession
from penstock.graph.lag import DEFAULT_LAG
from penstock.monitor.diagnose.diagnosis import Diagnosis, diagnose
from penstock.monitor.diagnose.gather import gather
from penstock.monitor.health import Health
from penstock.monitor.http import Server
from penstock.monitor.info import info
from penstock.monitor.picture import GraphPicture, picture
from penstock.monitor.stats import StatsRow, stats
from penstock.monitor.status import StatusRow, status
from penstock.names import TableName
from penstock.refresh.advise import LayoutAdvice, advise
from penstock.refresh.audit import AuditReport
from penstock.refresh.explain import Explanation
from penstock.refresh.keep_names import keep_names
from penstock.refresh.optimize import OptimizeResult, optimize
from penstock.refresh.outcome import StreamTableInfo
from penstock.refresh.repair import RepairReport, rebuild
from penstock.refresh.result import RefreshResult, Report
from penstock.refresh.shown import ShownVersion, shown_versions
from penstock.schedule.running import Running
from penstock.schedule.scheduler import Scheduler
from penstock.settings import Settings
from penstock.subscribe.all_changes import AllChanges
from penstock.subscribe.callback import CallbackSubscription
from penstock.subscribe.feed import Feed
from penstock.subscribe.key_watch import KeyWatch, watch_key
from penstock.subscribe.start import Start
from penstock.subscribe.subscribe import subscribe
from penstock.subscribe.subscribers import SubscriberRow, subscriber_rows
from penstock.subscribe.subscription import Delivery, Subscription


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
        """Start Spark, if that has not happened yet."""
        _ = self.spark

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
        """Run statements: ours here, everything else by Spark. Returns the last one's result.

        Ours give a `StatementResult`, SUBSCRIBE a `Subscription`, Spark's a DataFrame; that of an INSERT or CREATE
        TABLE … AS holds the number of rows, as Delta's of UPDATE, DELETE and MERGE do. A script is parsed whole before
        any of it runs; the error of one that fails half way carries a note of what was done and what was not. With
        `yes`, sources may be dropped, renamed, replaced or vacuumed although stream tables need them.
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

        `query` is SQL, a DataFrame, or a function that makes a DataFrame of the session. A DataFrame is written down as
        SQL; where it has no SQL form, a function that can be imported is called at every refresh, which is then FULL.
        `target_lag` None means DOWNSTREAM. With `or_replace` an unchanged definition keeps its rows; one under which
        other stream tables could not read it any more is refused without `cascade`.
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
        """Change what is given. `target_lag` None means DOWNSTREAM.

        The rows of a new query are computed beside the old ones and take their place in one commit, together with the
        definition; if the query fails, nothing has changed. One under which other stream tables could not read this
        one any more is refused without `cascade`.
        """
        return definitions.alter_stream_table(self._warehouse, name, target_lag, refresh_mode, status, query, cascade)

    def drop_stream_table(self, name: str, if_exists: bool = False, cascade: bool = False) -> list[str]:
        """Drop a stream table; returns the names of all that were dropped."""
        return definitions.drop_stream_table(self._warehouse, name, if_exists, cascade)

    # -- refreshing

    def refresh(self, name: str, *, progress: Report | None = None) -> RefreshResult:
        """Bring a stream table up to now, its upstreams first. A suspended one is refreshed and stays suspended."""
        return refresh_one(self._warehouse, name, progress)

    refresh_stream_table = refresh

    def refresh_all(self, *, progress: Report | None = None) -> list[RefreshResult]:
        """Bring all stream tables up to now, at one version of every source; those that are suspended are left alone.

        The error of one table is its result and does not stop others.
        """
        return refresh_every(self._warehouse, progress)

    def tick(self, now: datetime | None = None) -> list[RefreshResult]:
        """Refresh everything that is due at a moment; the error of one table is its result and does not stop others.

        Nothing while the catalog is paused.
        """
        return refresh_due(self._warehouse, now)

    def run(self) -> Running:
        """Keep every stream table within its target lag, in the background, until `stop` of what is returned.

        Of several processes on one catalog exactly one acts; the others stand by and take over when it is gone.
        """
        return Running(self.scheduler())

    def scheduler(self) -> Scheduler:
        """The scheduler that `run` runs, for whoever has a thread for it already."""
        return scheduler_of(self._warehouse, self._monitor)

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
        reload_settings(self._warehouse, self._given)
        return self.settings

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
        return reading.read_rows(self._warehouse, name, fresh)

    def read_together(self, names: Iterable[str], fresh: bool = False) -> dict[str, DataFrame]:
        """The rows of several stream tables at one instant: all show the same version of every base table they share.

        As they are stored, that is the newest such instant; `NoCommonInstant` if there is none. With `fresh`, it is
        now. Nothing is written.
        """
        return reading.read_at_one_instant(self._warehouse, names, fresh)

    def explain(self, name_or_query: str) -> Explanation:
        """How a stream table is maintained, or how a query would be."""
        return reading.explain_name_or_query(self._warehouse, name_or_query)

    def audit(self, name: str) -> AuditReport:
        """Recompute the query at the stored frontier and compare."""
        return reading.audit_stream_table(self._warehouse, name)

    # -- looking

    def status(self) -> list[StatusRow]:
        """One row per stream table."""
        keep_names(self._warehouse)
        return status(self._warehouse.catalog, self._warehouse.now(), minimum_lag(self._warehouse))

    pgt_status = status

    def diagnose(self, name: str) -> Diagnosis:
        """Why a stream table is stale, or why it can be trusted, with what to do; nothing is computed or changed."""
        keep_names(self._warehouse)
        return diagnose(gather(self._warehouse, self._find(name), minimum_lag(self._warehouse)))

    def history(self, name: str | None = None, max_rows: int = 20) -> list[RefreshRecord]:
        """The newest refreshes first."""
        table = None if name is None else self._find(name).name
        return self._warehouse.catalog.recent_history(table, max_rows)

    refresh_history = history

    def show_create(self, name: str) -> str:
        """SQL that, run again, gives the stream table's definition."""
        return reading.create_statement(self._warehouse, name)

    def describe(self, name: str, extended: bool = False) -> list[tuple[str, str]]:
        """The columns of a stream table with their types; `extended`, what else a person would ask of it."""
        return reading.describe_stream_table(self._warehouse, name, extended)

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
        return info(catalog, tables, self._warehouse.now(), minimum_lag(self._warehouse))

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

    def serve_metrics(self, host: str = "127.0.0.1", port: int = 0) -> Server:
        """Answer `/metrics`, `/health`, `/ready` and `/status` over HTTP, until closed; port 0 takes a free one."""
        return self._monitor.serve(host, port)

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> Server:
        """The old name of `serve_metrics`."""
        # Level 3 is the caller: what checks the arguments lies in between.
        warn("serve is now serve_metrics; the next release drops the old name", DeprecationWarning, 3)
        return self.serve_metrics(host, port)

    def repair(self) -> RepairReport:
        """Put back into the catalog what the tables say and it does not."""
        return rebuild(self._warehouse)

    def lost(self) -> list[str]:
        """Stream tables that lie in the warehouse, and that its catalog does not know; `repair` puts them back."""
        return lost_names(self._warehouse)

    def _name(self, name: str) -> TableName:
        return full_name(self._warehouse, name)

    def _find(self, name: str) -> StreamTableMeta:
        return find_stream_table(self._warehouse, name)
