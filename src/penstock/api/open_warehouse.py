"""A warehouse from its folder: settings, logging, catalog, monitor, and how its Spark session starts."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from penstock.api.find import lost_names
from penstock.api.restore_session import restore_session
from penstock.catalog.open_catalog import catalog_place, open_catalog
from penstock.catalog.reader import CatalogReader
from penstock.catalog.warehouse_folder import had_catalog, made
from penstock.ddl.claim_place import Opened, claim_place
from penstock.ddl.names_of_others import names_of, refuse_names_of_others
from penstock.engine.run.workspace import Logs
from penstock.engine.spark.calls import defer_interrupts
from penstock.engine.spark.pyspark_types import SparkSession
from penstock.engine.spark.session import check_session, start_session
from penstock.monitor.json_log import log_to
from penstock.monitor.monitor import Monitor
from penstock.monitor.unchanged import UnchangedByLogs
from penstock.refresh.warehouse import Warehouse
from penstock.settings import Settings


def given_settings(settings: Settings | Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings that the caller gave, which win over file and environment."""
    return asdict(settings) if isinstance(settings, Settings) else dict(settings or {})


def open_warehouse(root: Path, spark: SparkSession | None, catalog: str | None, given: Mapping[str, Any]) -> Warehouse:
    """Open the catalog, finish what a crash left open, and say how a session starts; none starts yet."""
    if spark is not None:
        check_session(spark)
        defer_interrupts(spark.sparkContext._gateway)
    settings = Settings.load(root, **given)
    _log_as(settings)
    if settings.log_format == "json":
        log_to("json")
    place, logs = catalog or catalog_place(root, settings.catalog), Logs(str(root))
    with made(root):
        opened = open_catalog(place, root, must_exist=had_catalog(root))
        try:
            claim_place(Opened(root, opened, place, logs, datetime.now(UTC)))
        except BaseException:
            opened.close()
            raise
    warehouse = Warehouse(
        root=root,
        start=lambda: start_session(root, settings) if spark is None else _own_session(spark, root, opened),
        catalog=opened,
        settings=settings,
        now=lambda: datetime.now(UTC),
        sleep=time.sleep,
        logs=logs,
    )
    warehouse.started = lambda: restore_session(warehouse)
    return warehouse


def open_monitor(warehouse: Warehouse) -> Monitor:
    """The monitor of a warehouse, which sees every alert and every refresh from now on."""
    monitor = Monitor(
        warehouse.catalog,
        lambda: warehouse.settings,
        warehouse.logs,
        warehouse.now,
        f"penstock:{warehouse.root}",
        lambda: lost_names(warehouse),
        partial(UnchangedByLogs, warehouse),
    )
    warehouse.tell, warehouse.observe = monitor.tell, monitor.observe
    return monitor


def reload_settings(warehouse: Warehouse, given: Mapping[str, Any]) -> None:
    """Read the settings again; they hold from the next refresh on."""
    warehouse.set_settings(Settings.load(warehouse.root, **given))
    _log_as(warehouse.settings)


def _log_as(settings: Settings) -> None:
    logging.getLogger("penstock").setLevel(settings.log_level.upper())


def _own_session(spark: SparkSession, root: Path, catalog: CatalogReader) -> SparkSession:
    """The session that the caller handed in, unless another warehouse uses its names."""
    refuse_names_of_others(spark, root, names_of(catalog))
    return spark
