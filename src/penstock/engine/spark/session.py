"""The Spark session underneath: started here, or passed in and checked.

A session that Penstock starts is local, has Delta, keeps everything under the warehouse folder and says nothing on the
terminal: Spark's log goes to `logs/spark.log` there, what the JVM itself prints to `logs/jvm.log`.
`PENSTOCK_SPARK_LOG=info` (or debug, warn, …) sends both to the terminal instead.
A session that is passed in is never changed; what it lacks is one error that names the setting and its value.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Imported for its effect: from here on, Delta's commit conflicts reach Python as typed exceptions.
import delta.exceptions  # noqa: F401
import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from penstock.catalog.warehouse_folder import TABLES_FOLDER
from penstock.engine.failures.silence import quiet_in
from penstock.engine.spark.calls import defer_interrupts
from penstock.engine.spark.jars import resolve_jars
from penstock.engine.spark.java import require_java
from penstock.engine.spark.jvm import java
from penstock.errors import NOT_WRITABLE, ReadOnly, SessionMisconfigured, WarehouseUnusable
from penstock.interrupts import DeferInterrupt
from penstock.settings import Settings

SPARK_VERSION = "4.2"
EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
JVM_LOG = "jvm.log"

_OWNER = "spark.penstock.warehouse"


def start_session(
    warehouse: Path, settings: Settings | None = None, extra: Mapping[str, str] | None = None
) -> SparkSession:
    """A local Spark with Delta for this warehouse; the running one if it belongs to the same warehouse.

    `extra` are Spark settings that win over everything that Penstock sets.
    """
    warehouse = warehouse.absolute()
    if (running := running_session()) is not None:
        owner = running.conf.get(_OWNER, None)
        if owner == str(warehouse):
            return running
        raise SessionMisconfigured(
            what=f"another Spark session is running in this process, not one for {warehouse}",
            fix="Pass it in with penstock.open(…, spark=spark), or stop it first."
            if owner is None
            else f"It is the one of {owner}: stop it first, or use another process.",
        )
    require_java()
    jars = resolve_jars()
    logs = warehouse / "logs"
    try:
        logs.mkdir(parents=True, exist_ok=True)
        (logs / JVM_LOG).touch()
    except OSError as error:
        if error.errno in NOT_WRITABLE:
            raise ReadOnly(place=warehouse) from error
        raise WarehouseUnusable(
            path=warehouse, why=error.strerror or error, fix="Choose a folder that can be written to."
        ) from error

    conf = SparkConf(loadDefaults=False)
    conf.setAll(list({**local_conf(warehouse, jars, settings or Settings()), **(extra or {})}.items()))
    # Workers would otherwise take the first python3 on the PATH, which lacks our packages.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    gateway = SparkContext._gateway or _launch(conf, logs / JVM_LOG)
    defer_interrupts(gateway)
    _require_delta(gateway, jars)
    with _handler_kept():
        context = SparkContext(conf=conf, gateway=gateway)
    quiet_in(context)
    return SparkSession(context)


def running_session() -> SparkSession | None:
    """The session that runs in this process, started here or not."""
    found = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    return found if found is not None and is_alive(found) else None


@contextmanager
def _handler_kept() -> Iterator[None]:
    """Let PySpark replace Python's handler of SIGINT by its own, but not a handler that the program set."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if signal.getsignal(signal.SIGINT) != before not in (None, signal.default_int_handler):
        signal.signal(signal.SIGINT, before)


def local_conf(warehouse: Path, jars: list[Path], settings: Settings) -> dict[str, str]:
    """Every Spark setting of a session that Penstock starts."""
    return {
        "spark.master": "local[*]",
        "spark.app.name": "penstock",
        _OWNER: str(warehouse),
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.sql.extensions": EXTENSION,
        "spark.sql.catalog.spark_catalog": CATALOG,
        "spark.sql.sources.default": "delta",
        "spark.sql.warehouse.dir": str(warehouse / TABLES_FOLDER),
        # Tables are registered from Penstock's own catalog; a Hive metastore would leave Derby files in the cwd.
        "spark.sql.catalogImplementation": "in-memory",
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": _log_options(warehouse / "logs" / "spark.log"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Otherwise every step of building a DataFrame looks up its line in the caller: a quarter of a small refresh.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        # Many stream tables share one JVM; beyond the default of 100 their generated classes push each other out.
        "spark.sql.codegen.cache.maxEntries": "1000",
        # Scans are handed long file lists; above the default of 32 paths Spark lists them in a job of its own.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        # The default of 10,000 lists the folder of a small table in as many tasks: VACUUM takes 25 s, so it takes 2.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
        # Spark 4.2.0 hangs for ever in a Python UDF that reads a Parquet scan directly (SPARK-58241).
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
        # The default of 50 runs a 50-task stage to read the log of a table of two rows.
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.databricks.delta.properties.defaults.enableChangeDataFeed": "true",
        # delta-rs commits and pinned scans are for tables without deletion vectors.
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
        # A checkpoint every 10 commits (the default) costs more than the small commits between them.
        "spark.databricks.delta.properties.defaults.checkpointInterval": "100",
    }


def check_session(spark: SparkSession) -> None:
    """Raise SessionMisconfigured for the first thing that a passed-in session lacks."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise SessionMisconfigured(
            what="it is a Spark Connect session",
            fix="Pass a classic session, made without .remote(…) and with spark.api.mode=classic.",
        )
    if not is_alive(spark):
        raise SessionMisconfigured(what="it has been stopped", fix="Pass a running session.")
    if spark.version.split(".")[:2] != SPARK_VERSION.split("."):
        raise SessionMisconfigured(
            what=f"it is Spark {spark.version}",
            fix=f"Penstock needs Spark {SPARK_VERSION}, for which its Delta is made.",
        )
    for name, needed in (("spark.sql.extensions", EXTENSION), ("spark.sql.catalog.spark_catalog", CATALOG)):
        found = spark.conf.get(name, "") or ""
        if needed not in [part.strip() for part in found.split(",")]:
            raise SessionMisconfigured(
                what=f"{name} is {found or 'not set'}",
                fix=f"Set {name}={needed} before the session starts; it cannot be changed later.",
            )
    for name in (EXTENSION, CATALOG):
        if not _can_load(spark, name):
            raise SessionMisconfigured(
                what=f"class {name} is not on its class path",
                fix="Add the Delta jars with spark.jars or spark.jars.packages before the session starts.",
            )


def is_alive(spark: SparkSession) -> bool:
    """False if the session was stopped, or its JVM is gone."""
    context = spark.sparkContext
    try:
        return context._jsc is not None and not context._jsc.sc().isStopped()
    except (Py4JError, OSError):
        return False


def _can_load(spark: SparkSession, name: str) -> bool:
    loaded: bool = java(spark).org.apache.spark.util.Utils.classIsLoadable(name)
    return loaded


def _require_delta(gateway: Any, jars: list[Path]) -> None:
    """SessionMisconfigured if a JVM that Penstock did not start, as under spark-submit, was started without Delta."""
    if not gateway.jvm.org.apache.spark.util.Utils.classIsLoadable(EXTENSION):
        raise SessionMisconfigured(
            what="this process has a JVM already, and it was started without Delta",
            fix=f"With spark-submit: --jars {','.join(map(str, jars))}",
        )


def _log_level() -> str:
    return os.environ.get("PENSTOCK_SPARK_LOG", "").strip()


def _log_options(file: Path) -> str:
    level = _log_level()
    properties = {
        "log4j2.configurationFile": Path(__file__).with_name("log4j2.properties").as_uri(),
        "penstock.log.file": str(file),
        "penstock.log.level": level or "warn",
        "penstock.log.to": "terminal" if level else "file",
    }
    return " ".join(f'"-D{name}={value}"' for name, value in properties.items())


def _launch(conf: SparkConf, log: Path) -> Any:
    """Start the JVM; its output goes to a file, because some of it (launcher, incubator modules) knows no log level.

    An interrupt waits until the JVM is up: one that is left while it starts finds nobody to answer to, and stays.
    """
    with _spark_home(), log.open("wb") as output, DeferInterrupt():
        popen: dict[str, Any] = {} if _log_level() else {"stdout": output, "stderr": subprocess.STDOUT}
        try:
            return launch_gateway(conf, popen)
        except PySparkRuntimeError as error:
            said = log.read_text(errors="replace").strip().splitlines()
            raise SessionMisconfigured(
                what="the JVM ended before Spark was up" + "".join(f"\n    {line}" for line in said[-5:]),
                fix=f"All it said is in {log}.",
            ) from error


@contextmanager
def _spark_home() -> Iterator[None]:
    """Spark is the one in the installed package, whatever SPARK_HOME says."""
    before = os.environ.get("SPARK_HOME")
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SPARK_HOME"]
        else:
            os.environ["SPARK_HOME"] = before
