"""The rows behind a changelog, read from the files of a stream table's commits: the stored ones, and the visible ones.

    signed rows  =  rows of files that came +1, of files that went −1, of change files by what they say

A stored row is visible as often as its weight says, and not at all while it is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.compile.stored import SHOWN
from penstock.engine.delta.commit_record import CommitRecord
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.interval import Part
from penstock.engine.delta.log_entry import DataFile
from penstock.engine.delta.log_storage import local_path
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.delta.storage_schema import arrow_schema
from penstock.engine.failures.read_failure import READ_ERRORS, read_failure
from penstock.engine.read.pinned_files import SIGN
from penstock.engine.read.scan import CHANGE_SIGNS, CHANGE_TYPE
from penstock.engine.write.table_properties import DEFINITION_KEY, layout_key
from penstock.names import WEIGHT


@dataclass(frozen=True, slots=True)
class Shape:
    """Which columns a version stores, which of them are visible, and which identify a row."""

    table: str
    stored: pa.Schema
    visible: tuple[tuple[str, str], ...]
    """Visible name, storage name."""
    identity: tuple[str, ...]
    keyed: bool
    weighted: bool
    hides_rows: bool

    @classmethod
    def of(cls, table: str, snapshot: Snapshot, record: CommitRecord) -> Shape:
        """As a commit of ours left it."""
        properties = {**snapshot.properties, **(record.properties or {})}
        definition = Definition.from_json(properties[DEFINITION_KEY])
        key = layout_key(properties)
        stored = arrow_schema(snapshot.metadata.schema_json)
        marks = {WEIGHT, SHOWN}
        return cls(
            table=table,
            stored=stored,
            visible=tuple((visible, name) for visible, name, _ in definition.columns),
            identity=tuple(name for name in stored.names if name not in marks) if key is None else key,
            keyed=key is not None,
            weighted=definition.weighted,
            hides_rows=definition.has_hidden_rows,
        )

    @property
    def read(self) -> list[str]:
        """The stored columns that events are made of."""
        names = dict.fromkeys((*self.identity, *(name for _, name in self.visible)))
        marks = ([WEIGHT] if self.weighted else []) + ([SHOWN] if self.hides_rows else [])
        return [*names, *marks]

    @property
    def visible_key(self) -> tuple[str, ...]:
        """The key by its visible names; empty if a part of it is hidden, or if there is none."""
        if not self.keyed:
            return ()
        names = {stored: visible for visible, stored in self.visible}
        return tuple(names[name] for name in self.identity) if all(name in names for name in self.identity) else ()

    def visible_rows(self, rows: pa.Table) -> pa.Table:
        """What a user sees of physical rows: copies as rows of their own."""
        if self.hides_rows and SHOWN in rows.column_names:
            rows = rows.filter(rows.column(SHOWN))
        if self.weighted and WEIGHT in rows.column_names:
            rows = repeated(rows, rows.column(WEIGHT))
        return rows.select([name for _, name in self.visible]).rename_columns([name for name, _ in self.visible])


def signed_rows(parts: Sequence[Part], shape: Shape) -> pa.Table:
    """The rows that came and went, with +1 or −1 in `SIGN`."""
    wanted = pa.schema([shape.stored.field(name) for name in shape.read])
    target = wanted.append(pa.field(SIGN, pa.int64()))
    tables = [target.empty_table()]
    for part in parts:
        for files, sign in ((part.plus, 1), (part.minus, -1)):
            for file in files:
                rows = _read(shape.table, file, wanted)
                tables.append(rows.append_column(SIGN, pa.array(np.full(rows.num_rows, sign, np.int64))))
        for file in part.cdc:
            rows = _read(shape.table, file, wanted.append(pa.field(CHANGE_TYPE, pa.string())))
            came = pc.is_in(
                rows.column(CHANGE_TYPE), value_set=pa.array([kind for kind, sign in CHANGE_SIGNS.items() if sign > 0])
            )
            signs = pc.if_else(came, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))
            tables.append(rows.drop_columns([CHANGE_TYPE]).append_column(SIGN, signs))
    return pa.concat_tables(tables)


def rows_at(snapshot: Snapshot, shape: Shape) -> pa.Table:
    """The stored rows of a version."""
    wanted = pa.schema([shape.stored.field(name) for name in shape.read])
    return pa.concat_tables(
        [wanted.empty_table(), *(_live(shape.table, snapshot, file, wanted) for file in snapshot.files)]
    )


def _live(table: str, snapshot: Snapshot, file: DataFile, wanted: pa.Schema) -> pa.Table:
    """The rows of a file that its deletion vector leaves."""
    rows = _read(table, file, wanted)
    if file.deletion_vector is None:
        return rows
    try:
        alive = file.deletion_vector.alive(snapshot.root, rows.num_rows)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as failed:
        raise read_failure(failed, table, file.name, local=True) from failed
    return rows.filter(pa.array(alive))


def _read(table: str, file: DataFile, wanted: pa.Schema) -> pa.Table:
    path = local_path(file.path)
    try:
        # Opened here: given a path, pyarrow takes one that it cannot look at for one that is not there.
        with nullcontext(file.path) if path is None else pa.OSFile(path) as source:
            rows = pq.read_table(source, columns=wanted.names, partitioning=None)
        return rows.select(wanted.names).cast(wanted)
    except FileNotFoundError:
        raise
    except (*READ_ERRORS, KeyError) as failed:
        raise read_failure(failed, table, file.name, local=path is not None) from failed


def repeated(rows: pa.Table, times: pa.ChunkedArray) -> pa.Table:
    """Every row as often as its number says."""
    counts = times.to_numpy()
    if (counts == 1).all():
        return rows
    return rows.take(pa.array(np.repeat(np.arange(rows.num_rows), counts)))
