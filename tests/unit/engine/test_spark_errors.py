"""Whatever Spark, delta-rs or the system raises is one of our errors, sorted by what is to be done about it."""

from __future__ import annotations

import errno
import json
import zipfile
from pathlib import Path
from typing import Any

import pyspark
import pytest
from deltalake.exceptions import CommitFailedError, DeltaError
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from penstock.engine.failures.spark_errors import CONDITIONS, SQL_STATES, Link, Meaning, meaning_of, understood
from penstock.engine.spark.jars import DELTA_VERSION
from penstock.engine.write.delta_rs_errors import translated
from penstock.errors import (
    CommitConflict,
    DiskFull,
    EngineUnavailable,
    FrontierLost,
    InternalError,
    OutOfMemory,
    PenstockError,
    QueryFailed,
    Retry,
    SourceMissing,
    StorageError,
    StorageUnreachable,
)


def known_conditions() -> dict[str, str | None]:
    """Every condition that Spark and Delta themselves know, with its SQLSTATE, from their jars."""
    jars = Path(pyspark.__file__).parent / "jars"
    found: dict[str, str | None] = {}
    ours = Path(__file__).parents[3] / ".jars"
    for jar, name in (
        (next(jars.glob("spark-common-utils_*.jar")), "error/error-conditions.json"),
        (next(ours.glob(f"delta-spark_*{DELTA_VERSION}.jar")), "error/delta-error-classes.json"),
    ):
        with zipfile.ZipFile(jar) as archive:
            told: dict[str, Any] = json.loads(archive.read(name))
        for condition, facts in told.items():
            found[condition] = facts.get("sqlState")
            found |= {f"{condition}.{part}": facts.get("sqlState") for part in facts.get("subClass", {})}
    return found


KNOWN = known_conditions()


@pytest.mark.parametrize("condition", [each for each in CONDITIONS if not each.startswith("_LEGACY_ERROR_TEMP")])
def test_every_condition_in_the_table_exists(condition: str) -> None:
    assert condition in KNOWN


def test_most_of_sparks_conditions_mean_something() -> None:
    unknown = {
        name: state
        for name, state in KNOWN.items()
        if meaning_of([Link("SparkException", "", name, state)]) is None and not name.startswith("_LEGACY")
    }
    # What is left concerns streams, cursors, configuration, Hive and the like, which no refresh can meet.
    assert {str(state)[:2] for state in unknown.values()}.isdisjoint(SQL_STATES)
    assert len(unknown) < len(KNOWN) / 8


@pytest.mark.parametrize(
    ("condition", "meaning"),
    [
        ("DIVIDE_BY_ZERO", Meaning.DATA),
        ("REMAINDER_BY_ZERO", Meaning.DATA),
        ("CAST_INVALID_INPUT", Meaning.DATA),
        ("CAST_OVERFLOW", Meaning.DATA),
        ("ARITHMETIC_OVERFLOW", Meaning.DATA),
        ("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", Meaning.DATA),
        ("INVALID_ARRAY_INDEX", Meaning.DATA),
        ("SCALAR_SUBQUERY_TOO_MANY_ROWS", Meaning.DATA),
        ("USER_RAISED_EXCEPTION", Meaning.DATA),
        ("FAILED_EXECUTE_UDF", Meaning.DATA),
        ("DUPLICATED_MAP_KEY", Meaning.DATA),
        ("UNRESOLVED_COLUMN.WITH_SUGGESTION", Meaning.DATA),
        ("TABLE_OR_VIEW_NOT_FOUND", Meaning.NO_SOURCE),
        ("PATH_NOT_FOUND", Meaning.NO_SOURCE),
        ("FAILED_READ_FILE.FILE_NOT_EXIST", Meaning.LOST_FILE),
        ("FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER", Meaning.UNREACHABLE),
        ("UNABLE_TO_ACQUIRE_MEMORY", Meaning.MEMORY),
        ("SPARK_JOB_CANCELLED", Meaning.CANCELLED),
        ("DELTA_CONCURRENT_APPEND.WITHOUT_HINT", Meaning.CONFLICT),
        ("DELTA_MISSING_CHANGE_DATA", Meaning.LOST_FILE),
        ("INTERNAL_ERROR", Meaning.BUG),
        ("INTERNAL_ERROR_NETWORK", Meaning.ENGINE),
        ("_LEGACY_ERROR_TEMP_2005", Meaning.DATA),
    ],
)
def test_a_condition_means(condition: str, meaning: Meaning) -> None:
    assert meaning_of([Link("SparkException", "…", condition, KNOWN.get(condition))]) is meaning


RETRIES = {
    Meaning.DATA: Retry.CHANGE,
    Meaning.NO_SOURCE: Retry.CHANGE,
    Meaning.LOST_FILE: Retry.REINITIALIZE,
    Meaning.CONFLICT: Retry.BACKOFF,
    Meaning.MEMORY: Retry.BACKOFF,
    Meaning.DISK: Retry.BACKOFF,
    Meaning.ENGINE: Retry.BACKOFF,
    Meaning.CANCELLED: Retry.BACKOFF,
    Meaning.UNREACHABLE: Retry.BACKOFF,
    Meaning.BUG: Retry.BUG,
}


@pytest.mark.parametrize("meaning", list(Meaning))
def test_a_meaning_is_a_class_of_what_to_do(meaning: Meaning) -> None:
    assert meaning.value.retry is RETRIES[meaning]


def test_trouble_of_the_system_decides_wherever_it_is_in_the_chain() -> None:
    aborted = Link("SparkException", "Job aborted due to stage failure", "CAST_INVALID_INPUT", "22018")
    full = Link("IOException", "No space left on device")
    assert meaning_of([aborted, full]) is Meaning.DISK
    assert meaning_of([Link("SparkException", "", "INTERNAL_ERROR", "XX000"), aborted]) is Meaning.DATA
    assert meaning_of([Link("RuntimeException", "who knows")]) is None


def test_where_something_went_wrong_decides_only_if_no_cause_says_what() -> None:
    writing = Link("SparkException", "Task failed while writing rows to file:/x", "TASK_WRITE_FAILED", "58030")
    assert meaning_of([writing]) is Meaning.UNREACHABLE
    assert meaning_of([writing, Link("PythonException", "ZeroDivisionError", "PYTHON_EXCEPTION")]) is Meaning.DATA
    assert meaning_of([writing, Link("IOException", "No space left on device")]) is Meaning.DISK


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), DiskFull),
        (OSError(errno.EIO, "Input/output error"), StorageUnreachable),
        (DeltaError("Generic LocalFileSystem error: Unable to write: No space left on device (os error 28)"), DiskFull),
        (CommitFailedError("a concurrent transaction added files"), CommitConflict),
        (MemoryError(), OutOfMemory),
        (Py4JNetworkError("Answer from Java side is empty"), EngineUnavailable),
        (Py4JError("Cannot obtain a new communication channel"), EngineUnavailable),
        (Py4JError("An error occurred while calling o2447.isDefined"), EngineUnavailable),
        (Py4JError("org.apache.spark.sql.classic.SparkSession does not exist in the JVM"), EngineUnavailable),
        (Py4JError("An error occurred while calling o1.x. Trace:\nMethod x([]) does not exist"), InternalError),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), StorageUnreachable),
        (TimeoutError("timed out"), StorageUnreachable),
        (AnalysisException(message="[X] no", errorClass="NOT_IN_PYSPARK", messageParameters={}), InternalError),
        (ZeroDivisionError("in Penstock itself"), InternalError),
        (KeyError("x"), InternalError),
    ],
)
def test_an_exception_becomes(error: Exception, kind: type[PenstockError]) -> None:
    meant = understood(error, "shop.totals")
    assert type(meant) is kind
    assert "shop.totals" in meant.text or kind is InternalError


def test_an_error_of_ours_stays_what_it_is() -> None:
    ours = SourceMissing(source="orders", why="dropped")
    assert understood(ours, "shop.totals") is ours


def test_causes_are_followed() -> None:
    failed = PySparkException(message="could not write")
    failed.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert type(understood(failed, "t")) is DiskFull


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), DiskFull),
        (CommitFailedError("Transaction failed: No space left on device (os error 28)"), DiskFull),
        (CommitFailedError("Transaction failed: version 3 already exists"), CommitConflict),
        (DeltaError("something else"), StorageError),
    ],
)
def test_a_full_disk_is_no_conflict_of_delta_rs(raised: Exception, kind: type[PenstockError]) -> None:
    with pytest.raises(PenstockError) as told, translated("storage"):
        raise raised
    assert type(told.value) is kind


def test_an_error_that_only_a_jvm_which_is_gone_could_explain() -> None:
    class Captured(PySparkException):
        def getCondition(self) -> str:
            raise Py4JNetworkError("Error while sending or receiving")

    assert type(understood(Captured(message="?"), "t")) is EngineUnavailable


class FileNotFoundException(Exception):
    """As the JVM calls it."""


def test_a_lost_file_is_named() -> None:
    error = PySparkException(message="[FAILED_READ_FILE] File /data/part-1.parquet does not exist. os error 110")
    assert type(understood(error, "t")) is StorageUnreachable
    gone = FileNotFoundException("File file:/data/orders/part-1.parquet does not exist")
    assert understood(gone, "t").text == (
        "version at the frontier of file:/data/orders can no longer be read: part-1.parquet is gone"
    )
    assert "a source of t" in understood(FileNotFoundException("gone"), "t").text
    assert FrontierLost.retry is Retry.REINITIALIZE
    assert QueryFailed.retry is Retry.CHANGE
