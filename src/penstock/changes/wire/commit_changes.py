"""What one commit did to a stream table, as Arrow tables of its visible columns.

    the table after  =  the table before − deletes − was + now + inserts

Every event has a position (LSN): a row that goes, a row that takes another's place, a row that comes; they stand in
this order, densely, from `first_lsn` on. A copy of a row that is there several times is an event of its own. A commit
that put all rows anew is one event, with the new rows in `refreshed`. Choosing rows or columns keeps the positions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.changes.wire.arrow_rows import ArrowRows

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CommitChanges(ArrowRows):
    """The events of one commit; `was` and `now` go row by row."""

    table: str
    version: int
    first_lsn: int
    last_lsn: int
    """The position up to which a reader of these events has got, however many of them were chosen."""
    data_timestamp: datetime | None
    """The moment that the rows stand for."""
    committed_at: datetime
    key: tuple[str, ...]
    """Visible columns that identify a row; empty if rows have no identity."""
    deletes: pa.Table
    was: pa.Table
    now: pa.Table
    inserts: pa.Table
    delete_lsns: Positions
    update_lsns: Positions
    insert_lsns: Positions
    refreshed: pa.Table | None = None

    @property
    def events(self) -> int:
        """How many events there are."""
        if self.refreshed is not None:
            return 1
        return int(self.deletes.num_rows + self.now.num_rows + self.inserts.num_rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in memory."""
        parts = (self.deletes, self.was, self.now, self.inserts, self.refreshed)
        return sum(int(part.nbytes) for part in parts if part is not None)

    @property
    def schema(self) -> pa.Schema:
        """The columns of every part."""
        return self.inserts.schema

    def __len__(self) -> int:
        return self.events

    def __bool__(self) -> bool:
        return self.events > 0

    def arrow(self) -> pa.Table:
        """The changelog as rows: `_lsn`, `_op`, `_weight` (with one more underscore if taken), then the columns.

        `_op` is -D, -U, +U or +I; an update is two rows, one after the other. All rows anew have r.
        """
        if self.refreshed is not None:
            return _marked(self.refreshed, np.full(self.refreshed.num_rows, self.last_lsn, np.int64), ["r"], [1])
        count = self.now.num_rows
        pairs = pa.concat_tables([self.was, self.now])
        if count:
            pairs = pairs.take(pa.array(np.stack([np.arange(count), np.arange(count) + count], 1).ravel()))
        rows = pa.concat_tables(
            [
                _marked(self.deletes, self.delete_lsns, ["-D"], [-1]),
                _marked(pairs, np.repeat(self.update_lsns, 2), ["-U", "+U"], [-1, 1]),
                _marked(self.inserts, self.insert_lsns, ["+I"], [1]),
            ]
        )
        lsns = rows.column(0).to_numpy()
        # An update that is seen as a row that goes or comes keeps its place among the updates.
        return rows if (lsns[1:] >= lsns[:-1]).all() else rows.take(pa.array(np.argsort(lsns, kind="stable")))

    def after(self, lsn: int) -> CommitChanges:
        """The events after a position."""
        if lsn < self.first_lsn or self.refreshed is not None:
            return self
        deleted, updated, inserted = (
            int(np.searchsorted(lsns, lsn, "right")) for lsns in (self.delete_lsns, self.update_lsns, self.insert_lsns)
        )
        return replace(
            self,
            first_lsn=lsn + 1,
            deletes=self.deletes.slice(deleted),
            was=self.was.slice(updated),
            now=self.now.slice(updated),
            inserts=self.inserts.slice(inserted),
            delete_lsns=self.delete_lsns[deleted:],
            update_lsns=self.update_lsns[updated:],
            insert_lsns=self.insert_lsns[inserted:],
        )

    def first(self, count: int) -> CommitChanges:
        """The first events by their positions; a reader of them has got as far as the last of them."""
        if count >= self.events:
            return self
        lsn = int(np.sort(np.concatenate([self.delete_lsns, self.update_lsns, self.insert_lsns]))[count - 1])
        deleted, updated, inserted = (
            int(np.searchsorted(lsns, lsn, "right")) for lsns in (self.delete_lsns, self.update_lsns, self.insert_lsns)
        )
        return replace(
            self,
            last_lsn=lsn,
            deletes=self.deletes.slice(0, deleted),
            was=self.was.slice(0, updated),
            now=self.now.slice(0, updated),
            inserts=self.inserts.slice(0, inserted),
            delete_lsns=self.delete_lsns[:deleted],
            update_lsns=self.update_lsns[:updated],
            insert_lsns=self.insert_lsns[:inserted],
        )

    def runs(self) -> Iterator[tuple[str, pa.Table | None, pa.Table | None, Positions]]:
        """The events by kind: `delete`, `update`, `insert` or `refresh`, rows before, rows after, positions."""
        if self.refreshed is not None:
            yield "refresh", None, self.refreshed, np.array([self.last_lsn], np.int64)
            return
        if self.deletes.num_rows:
            yield "delete", self.deletes, None, self.delete_lsns
        if self.now.num_rows:
            yield "update", self.was, self.now, self.update_lsns
        if self.inserts.num_rows:
            yield "insert", None, self.inserts, self.insert_lsns


def _marked(rows: pa.Table, lsns: Positions, ops: list[str], weights: list[int]) -> pa.Table:
    """The rows with their marks in front; operations and weights take turns."""
    turns = rows.num_rows // len(ops)
    marks = [
        pa.array(lsns, pa.int64()),
        pa.array(ops * turns, pa.string()),
        pa.array(np.tile(np.array(weights, np.int64), turns)),
    ]
    return pa.table([*marks, *rows.columns], names=[*mark_names(rows.column_names), *rows.column_names])


def mark_names(columns: Collection[str]) -> list[str]:
    """What the marks are called beside these columns: a name that is taken gets one more underscore.

    >>> mark_names(["_op", "v"])
    ['_lsn', '__op', '_weight']
    """
    taken = {column.lower() for column in columns}
    names = []
    for mark in ("_lsn", "_op", "_weight"):
        name = mark
        while name in taken:
            name = f"_{name}"
        names.append(name)
    return names
