"""Open a warehouse: with Spark, without it until something has to be computed, or to repair its catalog."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from warnings import warn

from penstock.api.open_warehouse import given_settings
from penstock.api.stream_tables import StreamTables
from penstock.arguments import checked
from penstock.catalog.fault import fault, set_aside
from penstock.catalog.identity_file import read_identity
from penstock.catalog.open_catalog import catalog_place, is_address, open_catalog, require_place
from penstock.catalog.warehouse_folder import require_warehouse, warehouse_folder
from penstock.ddl.claim_place import refuse_broken_foreign
from penstock.ddl.repair import RepairReport
from penstock.ddl.session_first import session_first
from penstock.engine.spark.pyspark_types import SparkSession
from penstock.errors import ReadOnly
from penstock.settings import Settings


@checked
def open(
    path: str | Path,
    *,
    spark: SparkSession | None = None,
    catalog: str | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> StreamTables:
    """Open a warehouse, and create it if it does not exist.

    Without `spark`, it starts a local Spark with Delta. `catalog` is a path to a SQLite file or an address,
    `postgresql://user:password@host:port/database`; the default is the setting of that name, else a file in the
    warehouse.
    """
    root = warehouse_folder(path).resolve()
    held = Settings.load(root, **given_settings(settings))
    if is_address(place := catalog or held.catalog):
        require_place(place)
    with session_first(root, spark, held) if read_identity(root) is None else nullcontext():
        opened = StreamTables(path, spark=spark, catalog=catalog, settings=settings)
    try:
        opened.start()
    except BaseException:
        opened.close()
        raise
    return opened


@checked
def open_lazily(path: str | Path, *, settings: Settings | Mapping[str, Any] | None = None) -> StreamTables:
    """Open a warehouse without Spark, which starts only when something has to be computed."""
    return StreamTables(path, settings=settings)


def look(path: str | Path, *, settings: Settings | Mapping[str, Any] | None = None) -> StreamTables:
    """The old name of `open_lazily`."""
    warn("penstock.look is now penstock.open_lazily; the next release drops the old name", DeprecationWarning, 2)
    return open_lazily(path, settings=settings)


@checked
def repair(
    path: str | Path,
    *,
    spark: SparkSession | None = None,
    catalog: str | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> RepairReport:
    """Rebuild the catalog of a warehouse from its tables, also if `open` refuses because it is broken or lost.

    It keeps a broken catalog beside the new one. The report names what only the old catalog knew and is lost.
    """
    root = warehouse_folder(path)
    require_warehouse(root)
    held = Settings.load(root, **given_settings(settings))
    place = catalog or catalog_place(root, held.catalog)
    require_place(place)
    broken = fault(place)
    if broken:
        refuse_broken_foreign(root.resolve(), place)
    with session_first(root.resolve(), spark, held):
        kept = set_aside(place) if broken else None
        # `open` refuses a warehouse with tables and no catalog; an empty catalog is enough.
        with open_catalog(place) as begun:
            if begun.read_only:
                raise ReadOnly(place=root)
        with open(root, spark=spark, catalog=catalog, settings=settings) as opened:
            report = opened.repair()
    lines = report.lines if kept is None else (f"{place} cannot be used ({broken}): kept as {kept}", *report.lines)
    return replace(report, lines=lines, kept=kept)
