"""Which stream tables a refresh covers: one by name, all, or those that are due."""

from __future__ import annotations

from datetime import datetime

from penstock.api.find import find_stream_table
from penstock.catalog.model import Status
from penstock.engine.spark.threads import spark_threads
from penstock.errors import StreamTableNotFound
from penstock.lang.unknown_name import DROPPED
from penstock.monitor.monitor import Monitor
from penstock.refresh.result import RefreshResult, Report
from penstock.refresh.run_graph import run_graph
from penstock.refresh.warehouse import Warehouse
from penstock.schedule.backoff import Backoff
from penstock.schedule.clock import SystemClock
from penstock.schedule.due import due
from penstock.schedule.refresh_executor import WarehouseExecutor
from penstock.schedule.scheduler import Scheduler
from penstock.schedule.steady_clock import SteadyClock
from penstock.schedule.upkeep import Upkeep


def refresh_one(warehouse: Warehouse, name: str, progress: Report | None) -> RefreshResult:
    """Refresh a stream table after its upstreams."""
    meta = find_stream_table(warehouse, name)
    done = run_graph(warehouse, [meta], warehouse.now(), progress, isolate=False)
    result = next((each for each in reversed(done) if each.name == str(meta.name)), None)
    if result is None:
        raise StreamTableNotFound(name=meta.name, nearest=DROPPED)
    return result


def refresh_every(warehouse: Warehouse, progress: Report | None) -> list[RefreshResult]:
    """Refresh all stream tables that are not suspended."""
    wanted = [meta for meta in warehouse.catalog.get_all() if meta.status is not Status.SUSPENDED]
    return run_graph(warehouse, wanted, warehouse.now(), progress, isolate=True)


def refresh_due(warehouse: Warehouse, now: datetime | None) -> list[RefreshResult]:
    """Refresh the stream tables that are due at a moment; none while refreshing is disabled or paused."""
    if not warehouse.settings.enabled or warehouse.catalog.paused():
        return []
    moment = now or warehouse.now()
    found = due(warehouse.catalog, moment, warehouse.settings.min_target_lag, Backoff.of(warehouse.settings))
    return run_graph(warehouse, found, moment, None, isolate=True)


def scheduler_of(warehouse: Warehouse, monitor: Monitor) -> Scheduler:
    """The scheduler of a warehouse, which also raises its alerts and tidies up."""
    threads = spark_threads(warehouse.spark)
    upkeep = Upkeep(warehouse, threads)

    def check() -> None:
        monitor.check()
        upkeep.check()

    return Scheduler(
        WarehouseExecutor(warehouse),
        warehouse.catalog,
        lambda: warehouse.settings,
        SteadyClock(SystemClock()),
        threads,
        check,
    )
