"""What an exception of Spark, delta-rs or the system means: one of our errors, by what is to be done about it.

    condition     the name that Spark or Delta gives the error, by the longest entry of `CONDITIONS` that it begins with
    SQLSTATE      where the condition has no entry of its own: the standard's classes say whose fault it is
    words, kind   for exceptions without a condition: a few telling words, then the class in the JVM or in Python
    else          a bug

An exception is a chain of causes. The first link that means anything decides, except that a system at its end (memory,
disk, a stopped Spark) decides wherever it is: `Job aborted` is caused by it and not the other way round.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException

from penstock.engine.failures.spark_message import on_our_query
from penstock.errors import (
    CommitConflict,
    DiskFull,
    EngineUnavailable,
    FrontierLost,
    InternalError,
    JobCancelled,
    OutOfMemory,
    PenstockError,
    QueryFailed,
    SourceMissing,
    StorageUnreachable,
)


class Meaning(Enum):
    """What an exception comes down to; each is one class of ours."""

    DATA = QueryFailed
    NO_SOURCE = SourceMissing
    LOST_FILE = FrontierLost
    CONFLICT = CommitConflict
    MEMORY = OutOfMemory
    DISK = DiskFull
    ENGINE = EngineUnavailable
    CANCELLED = JobCancelled
    UNREACHABLE = StorageUnreachable
    BUG = InternalError

    @property
    def is_system(self) -> bool:
        """True if neither the query nor its data can be at fault."""
        return self in _SYSTEM


_SYSTEM = frozenset({Meaning.MEMORY, Meaning.DISK, Meaning.ENGINE, Meaning.CANCELLED, Meaning.UNREACHABLE})

CONDITIONS: Final[Mapping[str, Meaning]] = {
    # Spark: a source that is not there, or a file of one of its versions
    "TABLE_OR_VIEW_NOT_FOUND": Meaning.NO_SOURCE,
    "VIEW_NOT_FOUND": Meaning.NO_SOURCE,
    "SCHEMA_NOT_FOUND": Meaning.NO_SOURCE,
    "PATH_NOT_FOUND": Meaning.NO_SOURCE,
    "FAILED_READ_FILE.FILE_NOT_EXIST": Meaning.LOST_FILE,
    "FAILED_READ_FILE": Meaning.UNREACHABLE,
    # Spark: resources
    "UNABLE_TO_ACQUIRE_MEMORY": Meaning.MEMORY,
    "AGGREGATE_OUT_OF_MEMORY": Meaning.MEMORY,
    "POINTER_ARRAY_OUT_OF_MEMORY": Meaning.MEMORY,
    "SPILL_OUT_OF_MEMORY": Meaning.MEMORY,
    "INTERNAL_ERROR_MEMORY": Meaning.MEMORY,
    "KRYO_BUFFER_OVERFLOW": Meaning.MEMORY,
    # Spark: its own workings
    "SPARK_JOB_CANCELLED": Meaning.CANCELLED,
    "OPERATION_CANCELED": Meaning.CANCELLED,
    "INTERNAL_ERROR_NETWORK": Meaning.ENGINE,
    "INTERNAL_ERROR_SHUFFLE": Meaning.ENGINE,
    "INTERNAL_ERROR_STORAGE": Meaning.ENGINE,
    "INTERNAL_ERROR_EXECUTOR": Meaning.ENGINE,
    "INTERNAL_ERROR_BROADCAST": Meaning.ENGINE,
    "STAGE_MATERIALIZATION_MULTIPLE_FAILURES": Meaning.ENGINE,
    "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND": Meaning.ENGINE,
    "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED": Meaning.UNREACHABLE,
    "FAILED_RENAME_TEMP_FILE": Meaning.UNREACHABLE,
    "TASK_WRITE_FAILED": Meaning.UNREACHABLE,
    "INTERNAL_ERROR": Meaning.BUG,
    # Spark: the query or its data, where the SQLSTATE does not say so
    "PYTHON_EXCEPTION": Meaning.DATA,
    "USER_RAISED_EXCEPTION": Meaning.DATA,
    "_LEGACY_ERROR_USER_RAISED_EXCEPTION": Meaning.DATA,
    "CHECK_CONSTRAINT_VIOLATION": Meaning.DATA,
    "DUPLICATED_MAP_KEY": Meaning.DATA,
    # Errors that Spark has not named yet: numbered by where they are raised (parser, analysis, execution)
    "_LEGACY_ERROR_TEMP_0": Meaning.DATA,
    "_LEGACY_ERROR_TEMP_1": Meaning.DATA,
    "_LEGACY_ERROR_TEMP_2": Meaning.DATA,
    # Delta
    "DELTA_TABLE_NOT_FOUND": Meaning.NO_SOURCE,
    "DELTA_MISSING_DELTA_TABLE": Meaning.NO_SOURCE,
    "DELTA_PATH_DOES_NOT_EXIST": Meaning.NO_SOURCE,
    "DELTA_EMPTY_DIRECTORY": Meaning.NO_SOURCE,
    "DELTA_FILE_NOT_FOUND": Meaning.LOST_FILE,
    "DELTA_LOG_FILE_NOT_FOUND": Meaning.LOST_FILE,
    "DELTA_MISSING_CHANGE_DATA": Meaning.LOST_FILE,
    "DELTA_NO_RECREATABLE_HISTORY_FOUND": Meaning.LOST_FILE,
    "DELTA_VERSIONS_NOT_CONTIGUOUS": Meaning.LOST_FILE,
    "DELTA_VERSION_NOT_FOUND": Meaning.LOST_FILE,
    "DELTA_CONCURRENT_APPEND": Meaning.CONFLICT,
    "DELTA_CONCURRENT_DELETE_DELETE": Meaning.CONFLICT,
    "DELTA_CONCURRENT_DELETE_READ": Meaning.CONFLICT,
    "DELTA_CONCURRENT_TRANSACTION": Meaning.CONFLICT,
    "DELTA_CONCURRENT_WRITE": Meaning.CONFLICT,
    "DELTA_METADATA_CHANGED": Meaning.CONFLICT,
    "DELTA_PROTOCOL_CHANGED": Meaning.CONFLICT,
    "DELTA_MAX_COMMIT_RETRIES_EXCEEDED": Meaning.CONFLICT,
    "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS": Meaning.CONFLICT,
    "DELTA_MERGE_MATERIALIZE_SOURCE_FAILED_REPEATEDLY": Meaning.ENGINE,
}
"""Condition, or how it begins → meaning."""

_ONLY_WHERE: Final = frozenset({"TASK_WRITE_FAILED"})
"""Conditions that say where something went wrong; if a cause says what, that decides."""

SQL_STATES: Final[Mapping[str, Meaning]] = {
    "08": Meaning.UNREACHABLE,  # connection
    "0A": Meaning.DATA,  # not supported
    "21": Meaning.DATA,  # cardinality
    "22": Meaning.DATA,  # data
    "23": Meaning.DATA,  # constraints
    "38": Meaning.DATA,  # external routines
    "39": Meaning.DATA,
    "40": Meaning.CONFLICT,  # rolled back
    "42": Meaning.DATA,  # names and syntax
    "53": Meaning.MEMORY,  # resources
    "54": Meaning.DATA,  # limits
    "58": Meaning.UNREACHABLE,  # system
    "82": Meaning.MEMORY,
    "P0": Meaning.DATA,  # raised on purpose
    "XX": Meaning.BUG,
}
"""The first two letters of a SQLSTATE → meaning."""

KINDS: Final[Mapping[str, Meaning]] = {
    "OutOfMemoryError": Meaning.MEMORY,
    "SparkOutOfMemoryError": Meaning.MEMORY,
    "MemoryError": Meaning.MEMORY,
    "Py4JNetworkError": Meaning.ENGINE,
    "Py4JNetworkException": Meaning.ENGINE,
    "ConnectionRefusedError": Meaning.ENGINE,
    "ExecutorLostFailure": Meaning.ENGINE,
    "ConnectException": Meaning.UNREACHABLE,
    "SocketException": Meaning.UNREACHABLE,
    "SocketTimeoutException": Meaning.UNREACHABLE,
    "UnknownHostException": Meaning.UNREACHABLE,
    "TimeoutException": Meaning.UNREACHABLE,
    "TimeoutError": Meaning.UNREACHABLE,
    "ConnectionError": Meaning.UNREACHABLE,
    "ConnectionResetError": Meaning.UNREACHABLE,
    "FileNotFoundException": Meaning.LOST_FILE,
    "ConcurrentAppendException": Meaning.CONFLICT,
    "ConcurrentDeleteDeleteException": Meaning.CONFLICT,
    "ConcurrentDeleteReadException": Meaning.CONFLICT,
    "ConcurrentTransactionException": Meaning.CONFLICT,
    "ConcurrentWriteException": Meaning.CONFLICT,
    "MetadataChangedException": Meaning.CONFLICT,
    "ProtocolChangedException": Meaning.CONFLICT,
    "CommitFailedError": Meaning.CONFLICT,
    "PythonException": Meaning.DATA,
}
"""The class of an exception, without its package → meaning."""

WORDS: Final[tuple[tuple[str, Meaning], ...]] = (
    (r"No space left on device|os error 28\b|database or disk is full|Disk quota exceeded", Meaning.DISK),
    (r"java\.lang\.OutOfMemoryError|Cannot allocate memory|os error 12\b", Meaning.MEMORY),
    (r"Total size of serialized results .* is bigger than", Meaning.MEMORY),
    (r"(stopped|shut ?down) SparkContext|SparkContext (was|has been|is) (shut ?down|stopped)", Meaning.ENGINE),
    (r"ExecutorLostFailure|executor lost|Python worker exited unexpectedly|cancelled because", Meaning.ENGINE),
    (r"Answer from Java side is empty|while sending or receiving", Meaning.ENGINE),
    # The JVM cannot reach back to Python.
    (r"Cannot obtain a new communication channel|Target Object ID does not exist for this gateway", Meaning.ENGINE),
    # No trace, no classes: the process that was to send them is gone.
    (r"^An error occurred while calling \S+$|does not exist in the JVM$", Meaning.ENGINE),
    (r"Connection (refused|reset)|timed out|os error 110\b|os error 111\b", Meaning.UNREACHABLE),
    (
        r"status code: (429|5\d\d)|ServiceUnavailable|SlowDown|Generic \w+ error.*(dispatch|request)",
        Meaning.UNREACHABLE,
    ),
)
"""Telling words of messages → meaning; tried in this order, of exceptions that have no condition."""

_ERRNO: Final[Mapping[int, Meaning]] = {
    errno.ENOSPC: Meaning.DISK,
    errno.EDQUOT: Meaning.DISK,
    errno.ENOMEM: Meaning.MEMORY,
    errno.ECONNREFUSED: Meaning.UNREACHABLE,
    errno.ECONNRESET: Meaning.UNREACHABLE,
    errno.ETIMEDOUT: Meaning.UNREACHABLE,
    errno.EHOSTUNREACH: Meaning.UNREACHABLE,
    errno.ESTALE: Meaning.UNREACHABLE,
    errno.EIO: Meaning.UNREACHABLE,
    errno.EMFILE: Meaning.UNREACHABLE,
    errno.ENFILE: Meaning.UNREACHABLE,
}
_FILE = re.compile(r"(?:File|file) (\S+) does not exist")


@dataclass(frozen=True, slots=True)
class Link:
    """One exception of a chain of causes: its class, its message, and the names that it goes by."""

    kind: str
    message: str
    condition: str | None = None
    sql_state: str | None = None
    number: int | None = None
    """The system's error number."""


def meaning_of(chain: Iterable[Link]) -> Meaning | None:
    """What a chain of causes, outermost first, comes down to; None if nothing in it is known."""
    known = [(link, meaning) for link in chain if (meaning := _of(link)) is not None]
    telling = [meaning for link, meaning in known if link.condition not in _ONLY_WHERE]
    found = telling or [meaning for _, meaning in known]
    system = next((meaning for meaning in found if meaning.is_system), None)
    decided = next((meaning for meaning in found if meaning is not Meaning.BUG), None)
    return system or decided or (Meaning.BUG if found else None)


def understood(error: BaseException, name: str) -> PenstockError:
    """An exception that happened while working on a stream table as one of ours; InternalError if it is not known."""
    if isinstance(error, PenstockError):
        return error
    chain = chain_of(error)
    meaning = meaning_of(chain) or Meaning.BUG
    why = on_our_query(deciding_link(chain, meaning).message) or type(error).__name__
    match meaning:
        case Meaning.NO_SOURCE:
            return SourceMissing(source=f"of {name}", why=why)
        case Meaning.LOST_FILE:
            lost = next((found.group(1) for link in chain if (found := _FILE.search(link.message))), None)
            if lost is None:
                return FrontierLost(source=f"a source of {name}", version="at the frontier", why=why)
            return without_file(lost)
        case Meaning.BUG:
            return InternalError(why=f"{type(error).__name__}: {why}")
    kind: type[PenstockError] = meaning.value
    return kind(name=name, why=why)


def without_file(path: str) -> FrontierLost:
    """A file that a version needs is gone; its folder tells whose version that is."""
    folder, _, file = path.rpartition("/")
    return FrontierLost(source=folder or "a source", version="at the frontier", why=f"{file} is gone")


def system_error(error: BaseException, name: str) -> PenstockError | None:
    """The same for errors of the system alone: memory, disk, network, a Spark that is gone; else None."""
    meaning = meaning_of(chain_of(error))
    return understood(error, name) if meaning is not None and meaning.is_system else None


def chain_of(error: BaseException) -> list[Link]:
    """An exception and its causes, in Python and in the JVM."""
    links: list[Link] = []
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        links += _links(cause)
        cause = cause.__cause__ or cause.__context__
    return links


def _links(error: BaseException) -> list[Link]:
    number = error.errno if isinstance(error, OSError) else None
    try:
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        state = error.getSqlState() if isinstance(error, PySparkException) else None
        message = "" if isinstance(error, Py4JJavaError) else str(error)
    except (Py4JError, OSError) as gone:
        return [Link(type(error).__name__, ""), Link(type(gone).__name__, str(gone))]
    links = [Link(type(error).__name__, message, condition, state, number)]
    thrown = _thrown(error)
    for _ in range(_DEEPEST):
        if thrown is None:
            break
        try:
            links.append(_java_link(thrown))
            thrown = thrown.getCause()
        except (Py4JError, OSError) as gone:
            # Asked about an error, the JVM itself does not answer.
            links.append(Link(type(gone).__name__, str(gone)))
            break
    return links


_DEEPEST = 32
"""A chain of causes that is longer than this is a circle."""


def _thrown(error: BaseException) -> Any:
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    return error._origin if isinstance(error, CapturedException) else None


def _java_link(thrown: Any) -> Link:
    kind = str(thrown.getClass().getSimpleName())
    condition = state = None
    # Every SparkThrowable has these; other exceptions have no method of that name.
    try:
        condition, state = thrown.getCondition(), thrown.getSqlState()
    except Py4JNetworkError:
        raise
    except (Py4JError, TypeError):
        pass
    message = str(thrown.getMessage() or "").split("\nDriver stacktrace")[0]
    return Link(kind, message, condition and str(condition), state and str(state))


def _of(link: Link) -> Meaning | None:
    if link.number is not None and link.number in _ERRNO:
        return _ERRNO[link.number]
    if link.condition:
        parts = [name for name in CONDITIONS if _begins(link.condition, name)]
        if parts:
            return CONDITIONS[max(parts, key=len)]
        if link.sql_state and link.sql_state[:2] in SQL_STATES:
            return SQL_STATES[link.sql_state[:2]]
    # Words first: a commit that failed for want of space comes as a lost race.
    found = next((meaning for words, meaning in WORDS if re.search(words, link.message)), None)
    return found or KINDS.get(link.kind)


def _begins(condition: str, name: str) -> bool:
    return condition == name or condition.startswith(f"{name}." if not name.startswith("_LEGACY") else name)


def deciding_link(chain: list[Link], meaning: Meaning | None) -> Link:
    """What to show people of a chain: the link that means this, else the first that says anything."""
    spoken = [each for each in chain if each.message] or chain
    return next((each for each in spoken if meaning is not None and _of(each) is meaning), spoken[0])
