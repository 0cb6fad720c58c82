"""Apply a change without rewriting a file: rows that go are marked in deletion vectors, rows that come are appended.

    rows after  =  rows before − those at the marked positions + the new file's

A merge writes every file anew in which one row changed; a change that is scattered over a large table would write the
whole table. Here a commit costs what changed, and the files keep their order and stay in the cache of columns. The
commit carries change files like any merge, so a follower of the table reads those and no vector. Files in which
little is left are folded together now and then (`marked_files`); the rest of what vectors hide is purged when the
table is optimized.

Only for tables on the local disk: delta-rs writes no vectors, so we put the log entry there ourselves.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from penstock.engine.delta.commit_record import USER_METADATA
from penstock.engine.delta.put_entry import put_entry
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.delta.storage_schema import arrow_schema, conform
from penstock.engine.read.driver_read import Placed
from penstock.engine.read.file_columns import FileColumns
from penstock.engine.read.scan import CHANGE_TYPE
from penstock.engine.write.apply import Change
from penstock.engine.write.apply_delta_rs import merge_key, merge_source
from penstock.engine.write.find_rows import Found, find_rows
from penstock.engine.write.marked_files import Marked, file_actions
from penstock.engine.write.merge_predicate import OP
from penstock.engine.write.staged import StagedFiles
from penstock.engine.write.storage_state import Pin
from penstock.engine.write.table_properties import CHECKPOINT_INTERVAL, DELETION_VECTORS, Layout
from penstock.errors import CommitConflict, InternalError

_log = logging.getLogger("penstock.storage")

_FEATURE = "deletionVectors"
_READ_TOO = frozenset({_FEATURE, "timestampNtz", "variantType"})
"""Features that readers have to know, of those that a stream table's storage can have."""


def mark(
    columns: FileColumns, snapshot: Snapshot, layout: Layout, change: Change, near: Placed | None = None
) -> Marked | None:
    """What a change takes away and adds, as positions and rows; None if it cannot be marked here.

    `near` are stored rows that were placed while the change was computed.
    """
    schema = arrow_schema(layout.schema_json)
    if isinstance(change.rows, StagedFiles):
        return Marked(snapshot, None, change.kind == "overwrite", change.rows.files, None)
    if not isinstance(change.rows, pa.Table):
        return None
    if change.kind == "overwrite":
        return Marked(snapshot, None, True, conform(change.rows, schema), None)
    if change.kind == "append":
        rows = conform(change.rows, schema)
        inserted = rows.append_column(CHANGE_TYPE, pa.repeat(pa.scalar("insert"), rows.num_rows))
        return Marked(snapshot, None, False, rows, inserted)
    source = merge_source(change, change.rows, layout)
    operations = source[OP]
    wanted = source if change.kind == "keyed" else source.filter(pc.equal(operations, "d"))
    found = find_rows(columns, snapshot, wanted, merge_key(change, layout), near)
    if found is None:
        return None
    added = source.filter(pc.not_equal(operations, "d"))
    return Marked(snapshot, found, False, added.select(schema.names), _change_file_rows(source, wanted, found, schema))


def _change_file_rows(source: pa.Table, wanted: pa.Table, found: Found, schema: pa.Schema) -> pa.Table:
    """The rows of a change file: what was, what is, and what each of them is called."""
    replaced = pc.take(wanted[OP], pa.array(found.matches))
    was = pc.if_else(pc.equal(replaced, "u"), "update_preimage", "delete")
    kept = np.zeros(source.num_rows, bool)
    if "u" in set(pc.unique(source[OP]).to_pylist()):
        kept[found.matches] = True
    names = pc.if_else(pa.array(kept), "update_postimage", "insert")
    comes = pc.not_equal(source[OP], "d")
    before = found.rows.select(schema.names).cast(schema).append_column(CHANGE_TYPE, was)
    after = source.select(schema.names).append_column(CHANGE_TYPE, names).filter(comes)
    return pa.concat_tables([before, after])


def apply(pin: Pin, root: str, marked: Marked, columns: FileColumns, *, record: str, app: str, number: int) -> None:
    """Commit a marked change as the version after the pinned one."""
    snapshot = marked.snapshot
    if snapshot.version != pin.version:
        raise InternalError(why=f"a change of version {pin.version} was marked in version {snapshot.version}")
    written: list[Path] = []
    try:
        actions = list(file_actions(root, marked, columns, written))
    except BaseException:
        _discard(written)
        raise
    switch = [] if _has_vectors(snapshot) else _switched_on(pin, snapshot)
    try:
        put_entry(root, pin.version + 1, [*_head(marked, record, app, number), *switch, *actions])
    except CommitConflict:
        # Only now it is certain that no entry names them; after any other error they are left to VACUUM.
        _discard(written)
        raise
    _keep_up(pin.handle, pin.version + 1)


def _discard(written: Iterable[Path]) -> None:
    for path in written:
        with suppress(OSError):
            path.unlink()


def commit_frontier_only(pin: Pin, root: str, snapshot: Snapshot, *, record: str, app: str, number: int) -> None:
    """Commit the record alone."""
    nothing = Marked(snapshot, None, False, (), None)
    put_entry(root, pin.version + 1, _head(nothing, record, app, number))
    _keep_up(pin.handle, pin.version + 1)


def _has_vectors(snapshot: Snapshot) -> bool:
    on = snapshot.properties.get(DELETION_VECTORS, "false").lower() == "true"
    return on and _FEATURE in snapshot.features


def _head(marked: Marked, record: str, app: str, number: int) -> list[dict[str, Any]]:
    now = int(time.time() * 1000)
    info: dict[str, Any] = {
        "timestamp": now,
        "operation": "WRITE" if marked.gone is None else "MERGE",
        "operationParameters": {},
        "readVersion": marked.snapshot.version,
        "isBlindAppend": marked.gone is None and not marked.everything_goes,
        "engineInfo": "Penstock",
        USER_METADATA: record,
    }
    return [{"commitInfo": info}, {"txn": {"appId": app, "version": number, "lastUpdated": now}}]


def _switched_on(pin: Pin, snapshot: Snapshot) -> list[dict[str, Any]]:
    """The actions that allow deletion vectors in a table, with everything else about it unchanged."""
    features = snapshot.features | {_FEATURE}
    metadata, created = snapshot.metadata, pin.handle.metadata().created_time
    body: dict[str, Any] = {
        "id": metadata.table_id,
        "name": metadata.name,
        "description": metadata.description,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": metadata.schema_json,
        "partitionColumns": [],
        "configuration": {**metadata.properties, DELETION_VECTORS: "true"},
        "createdTime": created,
    }
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": sorted(features & _READ_TOO),
        "writerFeatures": sorted(features),
    }
    return [{"protocol": protocol}, {"metaData": {name: value for name, value in body.items() if value is not None}}]


def _keep_up(handle: DeltaTable, version: int) -> None:
    """Bring the handle to the new version, and write a checkpoint when it is time: a commit by delta-rs does both."""
    try:
        handle.update_incremental()
        every = int(handle.metadata().configuration.get(CHECKPOINT_INTERVAL, "100"))
        if (version + 1) % every == 0:
            handle.create_checkpoint()
            handle.cleanup_metadata()
    except (DeltaError, OSError) as failed:
        # The rows are in the table, and the next checkpoint will do as well.
        _log.warning("no checkpoint at version %d of %s: %s", version, handle.table_uri, failed)
