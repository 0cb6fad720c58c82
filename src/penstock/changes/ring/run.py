"""A run: part of a batch with its LSNs, which are dense. Row i of the run has LSN `first_lsn + i`.

The ring holds runs and returns runs; a part of a run shares the arrays of the whole. `events` makes an object per row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

from penstock.changes.ring.changed_columns import changed_columns
from penstock.changes.ring.row_event import ChangeEvent
from penstock.changes.wire.change_operation import ChangeOperation

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from penstock.changes.ring.batch import Batch


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Events `start` to `start + count` of a batch."""

    first_lsn: int
    timestamp: int
    batch: Batch
    start: int
    count: int

    @property
    def last_lsn(self) -> int:
        """The LSN of the last row."""
        return self.first_lsn + self.count - 1

    @property
    def ids(self) -> NDArray[np.uint64] | None:
        """The ids, without a copy; None if the rows have none."""
        ids = self.batch.ids
        return None if ids is None else ids[self.start : self.start + self.count]

    @property
    def rows(self) -> pa.Table | None:
        """The Arrow rows, without a copy; the whole contents for a REFRESH."""
        rows = self.batch.rows
        if rows is None or self.batch.operation is ChangeOperation.REFRESH:
            return rows
        return rows.slice(self.start, self.count)

    @property
    def before(self) -> pa.Table | None:
        """Of updates: the rows before, without a copy."""
        before = self.batch.before
        return None if before is None else before.slice(self.start, self.count)

    def part(self, offset: int, count: int) -> Run:
        """`count` of its rows, from this one on."""
        if offset == 0 and count == self.count:
            return self
        return Run(self.first_lsn + offset, self.timestamp, self.batch, self.start + offset, count)

    def events(self) -> list[ChangeEvent]:
        """The rows one by one."""
        batch, ids = self.batch, self.ids
        columns: list[Iterable[object]] = [
            range(self.first_lsn, self.first_lsn + self.count),
            repeat(self.timestamp),
            repeat(batch.operation),
            repeat(batch.collection),
            repeat(0) if ids is None else ids.tolist(),
            repeat(batch.entity_kind),
        ]
        if (before := self.before) is not None and (rows := self.rows) is not None:
            columns.append(map(changed_columns, before.to_pylist(), rows.to_pylist()))
        return list(map(ChangeEvent, *columns))
