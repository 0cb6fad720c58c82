"""A session that Penstock starts is quiet and tidy; one that is passed in is checked, not changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from penstock.engine.spark.session import (
    CATALOG,
    EXTENSION,
    SPARK_VERSION,
    check_session,
    local_conf,
    start_session,
)
from penstock.errors import JavaUnusable, SessionMisconfigured
from penstock.settings import Settings

QUIET_RUN = """
import sys
from pathlib import Path
from penstock.engine.spark.session import check_session, start_session
from pyspark.sql.functions import udf

spark = start_session(Path(sys.argv[1]), extra={"spark.master": "local[1]"})
check_session(spark)
assert spark.sparkContext.master == "local[1]"
spark.sql("CREATE TABLE t (a INT)")
spark.sql("INSERT INTO t VALUES (1)")
assert spark.table("t").select(udf(lambda a: a + 1, "int")("a")).collect()[0][0] == 2
"""


def run_script(script: str, warehouse: Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, str(warehouse)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def passed_in(version: str = SPARK_VERSION + ".0", loadable: bool = True, **settings: str) -> SparkSession:
    """What check_session looks at, and nothing else."""
    names = {name.replace("_", "."): value for name, value in settings.items()}
    known = {"spark.sql.extensions": EXTENSION, "spark.sql.catalog.spark_catalog": CATALOG} | names
    classes = SimpleNamespace(classIsLoadable=lambda name: loadable)
    fake = SimpleNamespace(
        version=version,
        conf=SimpleNamespace(get=lambda name, default: known.get(name) or default),
        sparkContext=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: False))),
        _jvm=SimpleNamespace(
            org=SimpleNamespace(
                apache=SimpleNamespace(spark=SimpleNamespace(util=SimpleNamespace(Utils=classes))),
            )
        ),
    )
    return cast(SparkSession, fake)


def test_started_session_passes_its_own_check(spark: SparkSession) -> None:
    check_session(spark)


def test_tables_are_delta_with_change_data_feed(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE session_defaults (a INT)")
    try:
        (detail,) = spark.sql("DESCRIBE DETAIL session_defaults").collect()
        assert detail["format"] == "delta"
        assert detail["properties"]["delta.enableChangeDataFeed"] == "true"
        assert detail["properties"]["delta.enableDeletionVectors"] == "false"
    finally:
        spark.sql("DROP TABLE session_defaults")


def test_same_warehouse_shares_the_running_session(spark: SparkSession) -> None:
    warehouse = Path(cast(str, spark.conf.get("spark.penstock.warehouse")))
    # Not the same object: the active session of this thread may be a newSession() of another test.
    assert start_session(warehouse).sparkContext is spark.sparkContext


def test_other_warehouse_is_refused_while_a_session_runs(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SessionMisconfigured, match="another Spark session is running"):
        start_session(tmp_path)


def test_python_workers_use_this_python(spark: SparkSession) -> None:
    assert spark.sparkContext.pythonExec == sys.executable


def test_python_udf_reads_a_table(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).write.save(str(tmp_path / "table"))
    plus_one = udf(lambda number: number + 1, "bigint")
    assert spark.read.load(str(tmp_path / "table")).select(plus_one("id")).collect() == [(1,)]


def test_commit_conflicts_arrive_as_typed_exceptions(spark: SparkSession) -> None:
    from delta.exceptions import ConcurrentAppendException
    from pyspark.errors.exceptions.captured import convert_exception

    jvm: Any = spark._jvm
    thrown = jvm.io.delta.exceptions.ConcurrentAppendException("another writer")
    assert isinstance(convert_exception(thrown), ConcurrentAppendException)


@pytest.mark.jvm
@pytest.mark.process
@pytest.mark.slow
def test_nothing_is_printed_and_nothing_lands_in_the_working_directory(tmp_path: Path) -> None:
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    # A space, because the path travels through JVM options.
    done = run_script(QUIET_RUN, tmp_path / "ware house", cwd)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(cwd.iterdir()) == []
    assert sorted(each.name for each in (tmp_path / "ware house").iterdir()) == ["logs", "tables"]


@pytest.mark.jvm
@pytest.mark.process
@pytest.mark.slow
def test_spark_talks_when_asked_to(tmp_path: Path) -> None:
    done = run_script(QUIET_RUN, tmp_path / "warehouse", tmp_path, PENSTOCK_SPARK_LOG="info")
    assert done.returncode == 0
    assert "Running Spark version" in done.stderr


@pytest.mark.jvm
@pytest.mark.process
@pytest.mark.slow
def test_foreign_spark_home_and_connect_mode_are_not_followed(tmp_path: Path) -> None:
    done = run_script(QUIET_RUN, tmp_path / "warehouse", tmp_path, SPARK_HOME="/nowhere", SPARK_API_MODE="connect")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.process
def test_missing_java_is_said_before_spark_starts(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from penstock.engine.spark.session import *; "
        "start_session(Path(sys.argv[1]))"
    )
    done = run_script(script, tmp_path / "warehouse", tmp_path, JAVA_HOME="/nowhere")
    assert JavaUnusable.condition in done.stderr.splitlines()[-2]


def test_whole_session_is_accepted() -> None:
    check_session(passed_in(spark_sql_extensions=f"com.example.Other, {EXTENSION}"))


@pytest.mark.parametrize(
    ("session", "what", "fix"),
    [
        (passed_in(version="3.5.1"), "Spark 3.5.1", "4.2"),
        (
            passed_in(spark_sql_extensions="com.example.Other"),
            "spark.sql.extensions is com.example.Other",
            f"Set spark.sql.extensions={EXTENSION}",
        ),
        (passed_in(spark_sql_extensions=""), "spark.sql.extensions is not set", EXTENSION),
        (passed_in(loadable=False), "not on its class path", "spark.jars"),
    ],
)
def test_what_is_missing_is_named(session: SparkSession, what: str, fix: str) -> None:
    with pytest.raises(SessionMisconfigured) as caught:
        check_session(session)
    assert what in caught.value.text
    assert fix in caught.value.advice


def test_missing_catalog_is_named() -> None:
    session = passed_in()
    session.conf.get = lambda name, default: EXTENSION if name == "spark.sql.extensions" else default  # type: ignore
    with pytest.raises(SessionMisconfigured, match=r"spark\.sql\.catalog\.spark_catalog is not set"):
        check_session(session)


def test_connect_session_is_refused() -> None:
    connect = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})
    with pytest.raises(SessionMisconfigured, match="Spark Connect"):
        check_session(cast(SparkSession, connect()))


def test_settings_reach_spark_and_the_time_zone_is_left_alone(tmp_path: Path) -> None:
    conf = local_conf(tmp_path, [], Settings(driver_memory="3g", shuffle_partitions=7))
    assert (conf["spark.driver.memory"], conf["spark.sql.shuffle.partitions"]) == ("3g", "7")
    assert "spark.sql.session.timeZone" not in conf
