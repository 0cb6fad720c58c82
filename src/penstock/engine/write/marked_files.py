"""The files of a change by deletion vectors: written, and named as the actions of a commit.

    touched files   the same file under a new vector; gone altogether if no row is left
    new rows        one file, in the order in which the files of the table are sorted
    sparse files      those whose live rows would fill less than half a file: once there are many, their rows move into
                    the new file
    change file     what was and what is; left out where added and removed files say just that

So a table that changes all the time has few small files, and at most about as many hidden rows as live ones.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.delta.deletion_vector import Places, alive, write_vectors
from penstock.engine.delta.log_entry import DataFile, FileKey
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.delta.storage_schema import Fields, fields_of, prunable
from penstock.engine.read.file_columns import FileColumns
from penstock.engine.write.find_rows import Found
from penstock.engine.write.layout import file_size
from penstock.engine.write.staged import StagedFile, describe, sort_columns
from penstock.engine.write.table_properties import layout_key

CHANGES = "_change_data"

SPARSE_FILES = 16
"""From this many sparse files on, one file takes their rows."""

FOLDED_ROWS = 400_000
"""The most rows that it takes, so that no commit takes much longer than its neighbours."""

_TIGHT = re.compile(r'"tightBounds"\s*:\s*true')


@dataclass(frozen=True, slots=True)
class Marked:
    """A change as marks and additions: what to take away, and what to add."""

    snapshot: Snapshot
    gone: Found | None
    """None if nothing goes, or if everything does."""
    everything_goes: bool
    added: pa.Table | tuple[StagedFile, ...]
    """Rows, or files that hold them."""
    change_rows: pa.Table | None
    """Rows of the change file; None if added and removed files say it all."""

    @property
    def rewritten(self) -> int:
        """Bytes that a merge would write anew in place of the marks."""
        return 0 if self.gone is None else self.gone.bytes


def file_actions(root: str, marked: Marked, columns: FileColumns, written: list[Path]) -> Iterator[dict[str, Any]]:
    """Write what has to be written, noting it in `written`, and name it."""
    now, snapshot = int(time.time() * 1000), marked.snapshot
    if marked.everything_goes:
        yield from (_removed(file, now) for file in snapshot.files)
        yield from _additions(root, snapshot, marked.added, written)
        return
    hidden = {} if marked.gone is None else _hidden(root, marked.gone)
    added = marked.added
    folded: dict[FileKey, pa.Table] = {}
    if isinstance(added, pa.Table):
        folded = _folded(root, snapshot, hidden, columns)
        moved = [rows.select(added.column_names).cast(added.schema) for rows in folded.values()]
        added = pa.concat_tables([added, *moved])
    if marked.change_rows is not None and marked.change_rows.num_rows and (hidden or folded):
        path = _write(root, CHANGES, marked.change_rows, fields_of(snapshot.metadata.schema_json), written)
        cdc = {"path": f"{CHANGES}/{path.name}", "partitionValues": {}, "size": path.stat().st_size}
        yield {"cdc": {**cdc, "dataChange": False}}
    yield from _touched(root, snapshot, hidden, folded.keys(), now, written)
    yield from _additions(root, snapshot, added, written)


def _hidden(root: str, gone: Found) -> dict[FileKey, Places]:
    """For every file that loses rows, all positions that do not count any more."""
    hidden = {}
    for file, places in gone.files:
        former = file.deletion_vector
        # None of them was hidden before, or it would not have been found.
        hidden[file.key] = places if former is None else np.sort(np.concatenate([former.places(root), places]))
    return hidden


def _folded(
    root: str, snapshot: Snapshot, hidden: Mapping[FileKey, Places], columns: FileColumns
) -> dict[FileKey, pa.Table]:
    """The live rows of sparse files that are to be folded into one, by file; none as long as such files are few."""
    sparse = []
    for file in snapshot.files:
        rows = file.stats.rows
        live = 0 if rows is None else rows - (len(hidden[file.key]) if file.key in hidden else file.deleted_rows)
        if rows and live and file.size * live / rows < file_size(snapshot.bytes) / 2:
            sparse.append((live, file))
    if len(sparse) < SPARSE_FILES:
        return {}
    folded: dict[FileKey, pa.Table] = {}
    room = FOLDED_ROWS
    for live, file in sorted(sparse, key=lambda each: each[0]):
        room -= live
        rows_of_it = _live_rows(root, snapshot, file, hidden.get(file.key), columns) if room >= 0 else None
        if rows_of_it is None:
            break
        folded[file.key] = rows_of_it
    return folded


def _live_rows(
    root: str, snapshot: Snapshot, file: DataFile, hidden: Places | None, columns: FileColumns
) -> pa.Table | None:
    held = columns.of(file, snapshot.schema.fields)
    if held is None:
        return None
    rows = pa.table(held)
    if hidden is None and file.deletion_vector is not None:
        hidden = file.deletion_vector.places(root)
    return rows if hidden is None else rows.filter(pa.array(alive(hidden, rows.num_rows)))


def _touched(
    root: str,
    snapshot: Snapshot,
    hidden: Mapping[FileKey, Places],
    folded: Set[FileKey],
    now: int,
    written: list[Path],
) -> Iterator[dict[str, Any]]:
    for key in dict.fromkeys([*hidden, *folded]):
        yield _removed(snapshot.live[key], now)
    left = [
        (snapshot.live[key], places)
        for key, places in hidden.items()
        if key not in folded and len(places) < (snapshot.live[key].stats.rows or 0)
    ]
    vectors = write_vectors(root, [places for _, places in left]) if left else []
    written += {Path(vector.path(root)) for vector in vectors}
    for (file, _), vector in zip(left, vectors, strict=True):
        marked = replace(file, deletion_vector=vector)
        yield {"add": {**_entry(marked), "modificationTime": now, "dataChange": True, "stats": _loosened(file)}}


def _additions(
    root: str, snapshot: Snapshot, added: pa.Table | tuple[StagedFile, ...], written: list[Path]
) -> Iterator[dict[str, Any]]:
    if isinstance(added, pa.Table):
        added = (_written_in_order(root, added, snapshot, written),) if added.num_rows else ()
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


def _written_in_order(root: str, rows: pa.Table, snapshot: Snapshot, written: list[Path]) -> StagedFile:
    order = sort_columns(snapshot.schema, layout_key(snapshot.properties))[:1]
    in_order = rows.sort_by([(name, "ascending") for name in order]) if order else rows
    path = _write(root, "", in_order, fields_of(snapshot.metadata.schema_json), written)
    return describe(path, path.name, snapshot.schema)


def _removed(file: DataFile, now: int) -> dict[str, Any]:
    extra = {"deletionTimestamp": now, "dataChange": True, "extendedFileMetadata": True}
    return {"remove": {**_entry(file), **extra}}


def _entry(file: DataFile) -> dict[str, Any]:
    vector = {} if file.deletion_vector is None else {"deletionVector": file.deletion_vector.entry()}
    return {"path": file.name, "partitionValues": {}, "size": file.size, **vector}


def _loosened(file: DataFile) -> str | None:
    """The statistics of a file of which rows are hidden: bounds that hold, but that no row need reach.

    As text, because numbers in it may have more digits than a number in Python keeps.
    """
    text = file.stats_json
    if text is None or '"tightBounds"' in text:
        return text and _TIGHT.sub('"tightBounds":false', text)
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
