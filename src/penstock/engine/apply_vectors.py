"""Apply a change without rewriting a file: rows that go are marked in deletion vectors, rows that come are appended.

    rows after  =  rows before − those at the marked positions + the new file's

A merge writes every file anew in which one row changed; a change that is scattered over a large table would write the
whole table. Here a commit costs what changed, and the files keep their order and stay in the cache of columns. The
commit carries change files like any merge, so whoever follows the table reads those and no vector. What vectors hide
is purged when the table is optimized.

Only for tables on the local disk, since the log entry is put there by us: delta-rs writes no vectors.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from penstock.engine.apply import Change
from penstock.engine.apply_delta_rs import merge_key, merge_source
from penstock.engine.commit_record import USER_METADATA
from penstock.engine.deletion_vector import write_vectors
from penstock.engine.delta_log import DataFile, Snapshot
from penstock.engine.driver_read import Placed
from penstock.engine.file_columns import FileColumns
from penstock.engine.find_rows import Found, find_rows
from penstock.engine.merge_predicate import OP
from penstock.engine.put_entry import put_entry
from penstock.engine.scan import CHANGE_TYPE
from penstock.engine.staged import StagedFile, StagedFiles, describe, sort_columns
from penstock.engine.storage import CHECKPOINT_INTERVAL, DELETION_VECTORS, Layout, Pin, layout_key
from penstock.engine.storage_schema import Fields, arrow_schema, conform, fields_of, prunable
from penstock.errors import CommitConflict, InternalError

_log = logging.getLogger("penstock.storage")

CHANGES = "_change_data"
_FEATURE = "deletionVectors"
_READ_TOO = frozenset({_FEATURE, "timestampNtz", "variantType"})
"""Features that readers have to know, of those that a stream table's storage can have."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A change as marks and additions: what to take away, and what to add."""

    snapshot: Snapshot
    gone: Found | None
    """None if nothing goes, or if everything does."""
    everything_goes: bool
    added: pa.Table | tuple[StagedFile, ...]
    """Rows, or files that hold them."""
    told: pa.Table | None
    """Rows of the change file; None if added and removed files say it all."""

    @property
    def rewritten(self) -> int:
        """Bytes that a merge would write anew in place of the marks."""
        return 0 if self.gone is None else self.gone.bytes


def mark(
    columns: FileColumns, snapshot: Snapshot, layout: Layout, change: Change, near: Placed | None = None
) -> Marked | None:
    """What a change takes away and adds, as positions and rows; None if that is for others to find out.

    `near` are stored rows that were placed while the change was computed.
    """
    schema = arrow_schema(layout.schema_json)
    if isinstance(change.rows, StagedFiles):
        return Marked(snapshot, None, change.kind == "overwrite", change.rows.files, None)
    if not isinstance(change.rows, pa.Table):
        return None
    if change.kind in ("append", "overwrite"):
        return Marked(snapshot, None, change.kind == "overwrite", conform(change.rows, schema), None)
    source = merge_source(change, change.rows, layout)
    operations = source[OP]
    wanted = source if change.kind == "keyed" else source.filter(pc.equal(operations, "d"))
    found = find_rows(columns, snapshot, wanted, merge_key(change, layout), near)
    if found is None:
        return None
    added = source.filter(pc.not_equal(operations, "d"))
    return Marked(snapshot, found, False, added.select(schema.names), _told(source, wanted, found, schema))


def _told(source: pa.Table, wanted: pa.Table, found: Found, schema: pa.Schema) -> pa.Table:
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


def apply(pin: Pin, root: str, marked: Marked, *, record: str, app: str, number: int) -> None:
    """Commit a marked change as the version after the pinned one."""
    snapshot = marked.snapshot
    if snapshot.version != pin.version:
        raise InternalError(why=f"a change of version {pin.version} was marked in version {snapshot.version}")
    written: list[Path] = []
    try:
        actions = list(_file_actions(root, marked, written))
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


def carry(pin: Pin, root: str, snapshot: Snapshot, *, record: str, app: str, number: int) -> None:
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


def _file_actions(root: str, marked: Marked, written: list[Path]) -> Iterator[dict[str, Any]]:
    """Write what has to be written, noting it, and name it."""
    now = int(time.time() * 1000)
    fields = fields_of(marked.snapshot.metadata.schema_json)
    if marked.told is not None and marked.told.num_rows:
        path = _write(root, CHANGES, marked.told, fields, written)
        size = path.stat().st_size
        yield {"cdc": {"path": f"{CHANGES}/{path.name}", "partitionValues": {}, "size": size, "dataChange": False}}
    if marked.everything_goes:
        yield from (_removed(file, now) for file in marked.snapshot.files)
    if marked.gone is not None:
        yield from _marked_files(root, marked.gone, now, written)
    added = marked.added
    if isinstance(added, pa.Table):
        added = (_added(root, added, fields, marked.snapshot, written),) if added.num_rows else ()
    for file in added:
        yield {
            "add": {
                "path": file.path,
                "partitionValues": {},
                "size": file.size,
                "modificationTime": file.modified_ms,
                "dataChange": True,
                "stats": file.statistics,
            }
        }


def _added(root: str, rows: pa.Table, fields: Fields, snapshot: Snapshot, written: list[Path]) -> StagedFile:
    """The new rows as a file, in the order in which the files of a table are sorted: it is quicker to search."""
    order = sort_columns(snapshot.schema, layout_key(snapshot.properties))[:1]
    path = _write(root, "", rows.sort_by([(name, "ascending") for name in order]), fields, written)
    return describe(path, path.name, snapshot.schema)


def _marked_files(root: str, gone: Found, now: int, written: list[Path]) -> Iterator[dict[str, Any]]:
    """The files that lose rows: under a new vector, or altogether if no row is left."""
    hidden = []
    for file, places in gone.files:
        former = file.deletion_vector
        # None of them was hidden before, or it would not have been found.
        hidden.append(places if former is None else np.sort(np.concatenate([former.places(root), places])))
    left = [
        (file, places)
        for (file, _), places in zip(gone.files, hidden, strict=True)
        if len(places) < (file.stats.rows or 0)
    ]
    vectors = write_vectors(root, [places for _, places in left]) if left else []
    written += {Path(vector.path(root)) for vector in vectors}
    for file, _ in gone.files:
        yield _removed(file, now)
    for (file, _), vector in zip(left, vectors, strict=True):
        marked = replace(file, deletion_vector=vector)
        yield {"add": {**_entry(marked), "modificationTime": now, "dataChange": True, "stats": _loosened(file)}}


def _removed(file: DataFile, now: int) -> dict[str, Any]:
    extra = {"deletionTimestamp": now, "dataChange": True, "extendedFileMetadata": True}
    return {"remove": {**_entry(file), **extra}}


def _entry(file: DataFile) -> dict[str, Any]:
    vector = {} if file.deletion_vector is None else {"deletionVector": file.deletion_vector.entry()}
    return {"path": file.name, "partitionValues": {}, "size": file.size, **vector}


def _loosened(file: DataFile) -> str | None:
    """The statistics of a file of which rows are hidden: bounds that hold, but that no row need reach."""
    text = file.stats_json
    if text is None or '"tightBounds"' in text:
        return text
    return text.rstrip()[:-1] + ',"tightBounds":false}'


def _write(root: str, folder: str, rows: pa.Table, fields: Fields, written: list[Path]) -> Path:
    where = Path(root) / folder
    where.mkdir(exist_ok=True)
    path = where / f"part-00000-{uuid4()}.snappy.parquet"
    written.append(path)
    # Dictionaries of doubles make readers miss −0.0, and their bounds leave NaN out.
    safe = [name for name in rows.column_names if name not in fields or prunable(fields[name])]
    pq.write_table(rows, path, compression="snappy", use_dictionary=safe, write_statistics=safe, store_schema=False)
    return path


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
