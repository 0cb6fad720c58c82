"""Is this machine ready? One check per thing that Penstock stands on, each with what was found and what to do.

A check never raises and never changes anything: a broken installation is what it is made for. Only `deep` starts Spark,
and writes one small Delta table into a folder that is removed again.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from penstock.catalog.database import REPAIR
from penstock.catalog.fault import fault, schema_of
from penstock.catalog.open_catalog import catalog_place, is_address
from penstock.catalog.warehouse_folder import had_catalog, require_warehouse
from penstock.engine.spark.jars import DELTA_VERSION, JARS, jars_folder, missing_jars
from penstock.engine.spark.java import require_java
from penstock.errors import CatalogLost, JavaUnusable, PenstockError
from penstock.settings import Settings

_PYSPARK_VERSION = "4.2.0"
_OLDEST_PYTHON = (3, 11)
_LEAST_FREE_BYTES = 2 * 1024**3
_LARGEST_SKEW_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `advice` is empty when it is as it should be."""

    name: str
    ok: bool
    found: str
    advice: str = ""


def diagnose(warehouse: Path, catalog: str | Path | None = None, deep: bool = False) -> list[Check]:
    """Every check, in the order in which one should mend them; without `catalog`, the setting says where it is."""
    checks = [
        _java(),
        _python(),
        _package("Spark", "pyspark", _PYSPARK_VERSION),
        _package("Delta", "delta-spark", DELTA_VERSION),
        _package("delta-rs", "deltalake", "1.6"),
        _jars(),
        *_warehouse(warehouse, catalog),
    ]
    if deep:
        checks.append(_round_trip())
    return checks


def _java() -> Check:
    try:
        return Check("Java", True, require_java())
    except JavaUnusable as error:
        return Check("Java", False, str(error.facts["found"]), error.advice)


def _python() -> Check:
    needed = ".".join(map(str, _OLDEST_PYTHON))
    ok = sys.version_info >= _OLDEST_PYTHON
    found = f"Python {sys.version.split()[0]} ({sys.executable})"
    return Check("Python", ok, found, "" if ok else f"Install Python {needed} or later.")


def _package(name: str, distribution: str, needed: str) -> Check:
    advice = f"Install {distribution}=={needed}{'' if needed.count('.') > 1 else '.*'}."
    try:
        found = version(distribution)
    except PackageNotFoundError:
        return Check(name, False, "not installed", advice)
    ok = found == needed or found.startswith(needed + ".")
    return Check(name, ok, f"{distribution} {found}", "" if ok else advice)


def _jars() -> Check:
    try:
        folder = jars_folder()
    except PenstockError as error:
        return Check("jars", False, error.text, error.advice)
    lacking = missing_jars(folder)
    if not lacking:
        return Check("jars", True, f"all {len(JARS)} in {folder}")
    found = f"{len(JARS) - len(lacking)} of {len(JARS)} in {folder}"
    if _is_writable(_nearest(folder)):
        return Check("jars", True, f"{found}; the next start fetches the others")
    names = ", ".join(jar.coordinate for jar in lacking)
    return Check("jars", False, f"{found}, which is not writable", f"Put {names} there, or set PENSTOCK_JARS.")


def _warehouse(path: Path, catalog: str | Path | None) -> list[Check]:
    try:
        require_warehouse(path)
    except PenstockError as error:
        return [Check("warehouse", False, error.text, error.advice)]
    warehouse = path.absolute()
    return [_folder(warehouse), _catalog(warehouse, catalog), _disk(warehouse)]


def _catalog(warehouse: Path, place: str | Path | None) -> Check:
    try:
        place = place or catalog_place(warehouse, Settings.load(warehouse).catalog)
        return _postgres(place) if is_address(place) else _sqlite(Path(place), warehouse)
    except PenstockError as error:
        return Check("catalog", False, error.text, error.advice)


def _postgres(address: str) -> Check:
    # Here and not above, as in `open_catalog`.
    from penstock.catalog.postgres import read_state
    from penstock.catalog.postgres_address import PostgresAddress

    state = read_state(address)
    there = f"schema version {state.schema_version}" if state.schema_version else "none yet, will be made"
    found = f"{PostgresAddress.parse(address)}, PostgreSQL {state.server}, {there}"
    ahead = state.ahead.total_seconds()
    if abs(ahead) > _LARGEST_SKEW_SECONDS:
        # Leases go by the server's clock alone, so this does no harm to them.
        way = "ahead of" if ahead > 0 else "behind"
        advice = "Set both clocks; data timestamps and lags go by that of the machine."
        return Check("catalog", False, f"{found}; its clock is {abs(ahead):.0f} s {way} this machine's", advice)
    return Check("catalog", True, found)


def _sqlite(file: Path, warehouse: Path) -> Check:
    if why := fault(file):
        return Check("catalog", False, f"{file}: {why}", REPAIR)
    must_exist = had_catalog(warehouse)
    if not file.exists():
        if must_exist:
            raise CatalogLost(place=file)
        return Check("catalog", True, f"none yet; {file} will be made at the first start")
    return Check("catalog", True, f"{file}, schema version {schema_of(file, must_exist=must_exist)}")


def _folder(warehouse: Path) -> Check:
    if _is_writable(warehouse):
        return Check("warehouse", True, f"{warehouse} (writable)")
    advice = "It can be read. To change anything, work as a user who may write there."
    return Check("warehouse", False, f"{warehouse} (not writable)", advice)


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _disk(warehouse: Path) -> Check:
    free = shutil.disk_usage(warehouse).free
    ok = free >= _LEAST_FREE_BYTES
    least = _LEAST_FREE_BYTES / 1024**3
    return Check("disk", ok, f"{free / 1024**3:.1f} GiB free", "" if ok else f"Make room: {least:.0f} GiB at least.")


def _nearest(path: Path) -> Path:
    """The path itself, or the closest folder above it that exists."""
    return next(each for each in (path, *path.parents) if each.exists())


def _round_trip() -> Check:
    try:
        with tempfile.TemporaryDirectory(prefix="penstock-doctor-") as folder:
            return Check("round trip", True, _write_and_read(Path(folder)))
    except PenstockError as error:
        return Check("round trip", False, error.text, error.advice)
    except Exception as error:
        # Whatever Spark, py4j or the file system raise is the finding.
        said = next(iter(str(error).splitlines()), "")
        advice = "PENSTOCK_SPARK_LOG=info shows what Spark says."
        return Check("round trip", False, f"{type(error).__name__}: {said}", advice)


def _write_and_read(folder: Path) -> str:
    # Here and not above: a broken pyspark must not keep the other checks from running.
    from pyspark.sql import SparkSession

    from penstock.engine.spark.session import check_session, start_session

    running = SparkSession.getActiveSession()
    spark = running or start_session(folder / "warehouse")
    try:
        check_session(spark)
        table = str(folder / "table")
        spark.range(3).write.format("delta").save(table)
        rows = spark.read.format("delta").load(table).count()
        if rows != 3:
            raise ValueError(f"wrote 3 rows, read {rows}")
        return f"Spark {spark.version} wrote and read a Delta table"
    finally:
        if running is None:
            spark.stop()
