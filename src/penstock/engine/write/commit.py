"""The commit protocol: rows and record in one Delta commit, exactly once, or not at all.

    version    the pinned one must still be the newest; delta-rs commits on the pinned handle without a retry, and an
               entry that we put into the log ourselves takes exactly the next place
    number     the transaction number must be the pinned one's successor; a number already used is refused
    record     carries the pinned version, so that a commit which landed elsewhere gives itself away at the next pin

A transaction does not make delta-rs idempotent (it commits a repeat happily), and Spark does not look at the pinned
version at all: it skips numbers it has seen and otherwise commits on top of whatever is newest. So a worker that slept
through a takeover is stopped by the version in delta-rs and by the number in Spark. What Spark cannot refuse is a
commit on top of a foreign one, which has no number of ours: that is found out afterwards, see `commit`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.engine.delta.commit_record import CommitRecord, record_in
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.log_entry import Commit
from penstock.engine.delta.log_storage import local_path
from penstock.engine.delta.storage_schema import fields_of, holds, require_storable, same_columns
from penstock.engine.read.driver_read import Placed
from penstock.engine.read.file_columns import FileColumns
from penstock.engine.spark.calls import arrow_rows
from penstock.engine.write import apply_delta_rs, apply_vectors
from penstock.engine.write.apply import Applier, Change
from penstock.engine.write.apply_vectors import mark
from penstock.engine.write.delta_rs_errors import translated
from penstock.engine.write.delta_rs_limits import declare_timestamp_ntz, hides_timestamp_ntz
from penstock.engine.write.marked_files import Marked
from penstock.engine.write.staged import StagedFiles
from penstock.engine.write.storage import Storage
from penstock.engine.write.storage_state import Pin
from penstock.engine.write.table_properties import ID_KEY, layout_of
from penstock.errors import CommitConflict, InternalError, StorageError, SystemTrouble
from penstock.failpoints import Failpoint, reach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Committed:
    """One commit that is in the table; `applier` is who made it, which may differ from who was asked."""

    version: int
    applier: Applier
    seconds: float
    rows_written: int


@dataclass(frozen=True, slots=True)
class Marking:
    """What it takes to find the rows that a change takes away, and when marking them is better than a merge."""

    log: DeltaLog
    columns: FileColumns
    limit: int
    """Bytes of files that a merge would write anew, from which on rows are marked instead; 0 is never."""
    near: Placed | None = None
    """Stored rows that were placed while the change was computed."""


def commit(
    storage: Storage,
    pin: Pin,
    change: Change,
    record: CommitRecord,
    *,
    applier: Applier,
    transaction_number: int,
    spark: SparkSession | None = None,
    schema_json: str | None = None,
    marking: Marking | None = None,
) -> Committed:
    """Apply the change and the record in one commit; a pin serves one call.

    `schema_json` is the new schema of an overwrite that changes columns. With `marking`, a change that would make
    delta-rs write much anew is applied by deletion vectors, and so is every change to a table that has some. A table
    that delta-rs may not write goes to Spark otherwise, whatever was asked for. CommitConflict means that nothing of
    this change is in the table, with one exception: a Spark commit that landed on top of a foreign commit which changed
    rows. Its rows and record are in the table then, computed from a state that was no longer true; the record's base
    version makes the next pin report the table as damaged, and the rebuild that follows replaces both.
    """
    reach(Failpoint.BEFORE_THE_WRITE)
    started = time.perf_counter()
    record = _fenced(storage, pin, record, transaction_number)
    marked = None if applier == "spark" else _marked(storage, pin, change, schema_json, marking)
    chosen: Applier = "vectors" if marked is not None else "spark" if pin.not_fast else applier
    session = _session(storage, pin, spark) if chosen == "spark" else None
    _prepare(storage, pin, record, schema_json, chosen)
    if marked is not None and marking is not None:
        base = pin.version
        with _unless_it_landed(storage, base, record), translated(storage.path):
            apply_vectors.apply(
                pin,
                storage.path,
                marked,
                marking.columns,
                record=record.to_json(),
                app=record.stream_table_id,
                number=transaction_number,
            )
        version = base + 1
        written = _given(change.rows)
    elif session is None:
        rows = change.rows if isinstance(change.rows, pa.Table | StagedFiles) else arrow_rows(change.rows)
        base = pin.handle.version()
        with _unless_it_landed(storage, base, record), translated(storage.path):
            apply_delta_rs.apply(
                pin.handle,
                change,
                rows,
                schema_json=schema_json,
                record=record.to_json(),
                app=record.stream_table_id,
                number=transaction_number,
            )
        version = _landed_by_delta_rs(storage, base, record)
        written = _given(rows)
    else:
        from penstock.engine.write import apply_spark

        apply_spark.apply(
            session,
            storage.path,
            change,
            layout_of(pin.handle),
            schema_json=schema_json,
            record=record.to_json(),
            app=record.stream_table_id,
            number=transaction_number,
        )
        version = _landed_by_spark(storage, pin, record)
        written = change.rows.num_rows if isinstance(change.rows, pa.Table) else _rows_written(storage, version)
    reach(Failpoint.COMMITTED)
    return Committed(version, chosen, time.perf_counter() - started, written)


def commit_frontier_only(
    storage: Storage,
    pin: Pin,
    record: CommitRecord,
    *,
    transaction_number: int | None = None,
    spark: SparkSession | None = None,
) -> Committed:
    """Commit the record without rows, so that a frontier which moved over unchanged rows is in the table too."""
    started = time.perf_counter()
    number = pin.next_transaction if transaction_number is None else transaction_number
    record = _fenced(storage, pin, record, number)
    if pin.marks:
        snapshot, app = DeltaLog(storage.path).snapshot(pin.version), record.stream_table_id
        with _unless_it_landed(storage, pin.version, record), translated(storage.path):
            apply_vectors.commit_frontier_only(
                pin, storage.path, snapshot, record=record.to_json(), app=app, number=number
            )
        return Committed(pin.version + 1, "vectors", time.perf_counter() - started, 0)
    if pin.not_fast is None:
        with _unless_it_landed(storage, pin.version, record), translated(storage.path):
            apply_delta_rs.commit_frontier_only(
                pin.handle, record=record.to_json(), app=record.stream_table_id, number=number
            )
        version = _landed_by_delta_rs(storage, pin.version, record)
        return Committed(version, "delta-rs", time.perf_counter() - started, 0)
    from penstock.engine.write import apply_spark

    session = _session(storage, pin, spark)
    layout = layout_of(pin.handle)
    apply_spark.commit_frontier_only(
        session, storage.path, layout, record=record.to_json(), app=record.stream_table_id, number=number
    )
    return Committed(_landed_by_spark(storage, pin, record), "spark", time.perf_counter() - started, 0)


def _marked(
    storage: Storage, pin: Pin, change: Change, schema_json: str | None, marking: Marking | None
) -> Marked | None:
    """The change in marks and additions, if that is how it is to be applied."""
    if marking is None:
        return None
    snapshot = marking.log.snapshot(pin.version)
    if not pin.marks:
        worth = marking.limit and snapshot.bytes >= marking.limit and change.kind in ("keyed", "bag")
        if not worth or pin.not_fast is not None or local_path(storage.path) is None:
            return None
    layout = layout_of(pin.handle)
    if schema_json is not None and not same_columns(schema_json, layout.schema_json):
        return None
    marked = mark(marking.columns, snapshot, layout, change, marking.near)
    if marked is None or pin.marks:
        return marked
    return marked if marked.rewritten >= marking.limit else None


def _fenced(storage: Storage, pin: Pin, record: CommitRecord, number: int) -> CommitRecord:
    if pin.handle.version() != pin.version:
        raise CommitConflict(name=storage.path, why=f"the pin of version {pin.version} was used already")
    if record.stream_table_id != pin.handle.metadata().configuration.get(ID_KEY):
        raise InternalError(why=f"a record of {record.stream_table_id} cannot go into {storage.path}")
    if pin.transaction is not None and number <= pin.transaction:
        raise CommitConflict(
            name=storage.path, why=f"transaction {number} was used already, the newest is {pin.transaction}"
        )
    if number != pin.next_transaction:
        raise InternalError(why=f"transaction {number} does not follow {pin.transaction}")
    return replace(record, base_version=pin.version)


def _prepare(storage: Storage, pin: Pin, record: CommitRecord, schema_json: str | None, applier: Applier) -> None:
    """Declare a table feature that new columns need and the applier would not declare by itself."""
    if schema_json is None:
        return
    require_storable(schema_json)
    if "timestampNtz" in (pin.handle.protocol().writer_features or ()):
        return
    needed = any(holds(kind, "timestamp_ntz") for kind in fields_of(schema_json).values())
    if needed and (applier == "spark" or hides_timestamp_ntz(schema_json)):
        with translated(storage.path):
            declare_timestamp_ntz(pin.handle, record.stream_table_id)


@contextmanager
def _unless_it_landed(storage: Storage, base: int, record: CommitRecord) -> Iterator[None]:
    """Raise the error of the block only if the commit is not in the table.

    Checkpoints and the clean-up of the log come after the commit inside the same call; when they fail, or when an
    answer of the storage gets lost, the rows are there all the same.
    """
    try:
        yield
    except (StorageError, SystemTrouble):
        if not _is_ours(storage, base + 1, record):
            raise


def _is_ours(storage: Storage, version: int, record: CommitRecord) -> bool:
    landed = storage.commit(version)
    return landed is not None and _carries(landed, record)


def _carries(commit: Commit, record: CommitRecord) -> bool:
    found = record_in(commit.info, record.stream_table_id)
    return found is not None and found.refresh_id == record.refresh_id


def _landed_by_delta_rs(storage: Storage, base: int, record: CommitRecord) -> int:
    if _is_ours(storage, base + 1, record):
        return base + 1
    newest = storage.version
    if newest != base:
        raise CommitConflict(name=storage.path, why=f"it moved to version {newest} meanwhile")
    raise InternalError(why=f"the change to {storage.path} touched no row, so nothing was committed")


def _session(storage: Storage, pin: Pin, spark: SparkSession | None) -> SparkSession:
    if spark is None:
        why = f"delta-rs may not write {storage.path} ({pin.not_fast})" if pin.not_fast else "Spark was asked for"
        raise StorageError(detail=f"{why}, and no Spark session was given")
    storage.require_at(pin.version)
    return spark


def _landed_by_spark(storage: Storage, pin: Pin, record: CommitRecord) -> int:
    """The version at which our commit is, after looking at every commit since the pin."""
    foreign: list[str] = []
    for landed in storage.commits_after(pin.version):
        if _carries(landed, record):
            if foreign:
                raise CommitConflict(
                    name=storage.path, why=f"committed on top of {foreign[0]}; the next refresh rebuilds"
                )
            return landed.version
        if landed.moves_data:
            foreign.append(f"{landed.operation or 'an unknown operation'} at version {landed.version}")
    raise CommitConflict(name=storage.path, why="its transaction number is taken, so Spark skipped this commit")


def _given(rows: object) -> int:
    """Rows of a change that is on the driver, or in files."""
    if isinstance(rows, StagedFiles):
        return rows.rows
    assert isinstance(rows, pa.Table)
    return int(rows.num_rows)


def _rows_written(storage: Storage, version: int) -> int:
    """Rows of a Spark commit as Spark counted them."""
    landed = storage.commit(version)
    metrics = {} if landed is None else landed.info.get("operationMetrics", {})
    if "numSourceRows" in metrics:
        return int(metrics["numSourceRows"])
    return int(metrics.get("numOutputRows", 0))
