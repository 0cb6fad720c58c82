"""Laying a stream table's files out anew: the same rows, sorted, in files of the right size, in one Delta commit.

    rows after  =  rows before,   a bag's equal rows folded into one whose weight is their sum

The commit says `dataChange = false`, so no reader that follows the table sees a change, and it takes a transaction
number of the stream table like a refresh does: of a refresh and a rewrite that start from the same version one is
refused, never half done. Spark reads exactly the pinned files and replaces whatever is newest, so both are checked to
be the same before, and what landed is looked at after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.read.net import net_frame
from penstock.engine.read.scan import fields_of, scan
from penstock.engine.write.apply_spark import translated as translated_from_spark
from penstock.engine.write.commit_notes import configuration_note, layout_note
from penstock.engine.write.storage import Storage
from penstock.engine.write.storage_state import Pin
from penstock.engine.write.table_properties import DELETION_VECTORS, layout_of
from penstock.errors import CommitConflict, InternalError
from penstock.failpoints import Failpoint, reach
from penstock.names import WEIGHT, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_FILE_SIZE = "spark.databricks.delta.optimize.maxFileSize"
"""How large Delta's own OPTIMIZE makes files; its default of 1 GiB leaves most tables one file."""


def rewrite(
    spark: SparkSession, storage: Storage, pin: Pin, snapshot: Snapshot, columns: Sequence[str], files: int
) -> int:
    """Write the rows of the pinned version anew, sorted by `columns`, into about `files` files; returns the version.

    CommitConflict if the table moved: then its rows are those of the other writer.
    """
    reach(Failpoint.BEFORE_THE_REWRITE)
    if snapshot.version != pin.version:
        raise InternalError(why=f"a rewrite of version {pin.version} was given the files of {snapshot.version}")
    app, number = storage.stream_table_id, pin.next_transaction
    note = layout_note(app, columns)
    rows = _sorted(_folded(scan(spark, snapshot, snapshot.schema.names), snapshot, pin), columns, files)
    storage.require_at(pin.version)
    with translated_from_spark(storage.path):
        (
            rows.write.format("delta")
            .mode("overwrite")
            .option("dataChange", "false")
            .option("userMetadata", note)
            .option("txnAppId", app)
            .option("txnVersion", number)
            .save(storage.path)
        )
    version = _landed(storage, pin, note)
    reach(Failpoint.REWRITTEN)
    return version


def forbid_vectors(spark: SparkSession, storage: Storage) -> None:
    """Have no writer leave deletion vectors any more; files that have some keep them until they are rewritten."""
    session = spark.newSession()
    session.conf.set("spark.databricks.delta.commitInfo.userMetadata", configuration_note(storage.stream_table_id))
    with translated_from_spark(storage.path):
        session.sql(f"ALTER TABLE delta.{quote(storage.path)} SET TBLPROPERTIES ('{DELETION_VECTORS}' = 'false')")


def sort_source(spark: SparkSession, path: str, columns: Sequence[str], size: int) -> None:
    """Let Delta sort a table that is not ours into files of `size` bytes, or compact it if there are no columns."""
    session = spark.newSession()
    session.conf.set(MAX_FILE_SIZE, str(size))
    listed = ", ".join(map(quote, columns))
    with translated_from_spark(path):
        session.sql(f"OPTIMIZE delta.{quote(path)}" + (f" ZORDER BY ({listed})" if columns else "")).collect()


def _folded(rows: DataFrame, snapshot: Snapshot, pin: Pin) -> DataFrame:
    """A bag's equal rows as one: equal by bits, so that −0.0 does not become 0.0."""
    if layout_of(pin.handle).key is not None:
        return rows
    names = [name for name in snapshot.schema.names if name != WEIGHT]
    folded = net_frame(rows, fields_of(snapshot.schema, names))
    return folded.select(*(F.col(quote(name)) for name in snapshot.schema.names))


def _sorted(rows: DataFrame, columns: Sequence[str], files: int) -> DataFrame:
    order = [F.col(quote(name)) for name in columns]
    if not order:
        return rows.repartition(files)
    spread = rows.repartitionByRange(files, *order) if files > 1 else rows.repartition(1)
    return spread.sortWithinPartitions(*order)


def _landed(storage: Storage, pin: Pin, note: str) -> int:
    """The version of our commit, after looking at every commit since the pin."""
    for landed in storage.commits_after(pin.version):
        if landed.user_metadata == note:
            return landed.version
        if landed.moves_data:
            break
    raise CommitConflict(name=storage.path, why="its rows were changed while its files were laid out anew")
