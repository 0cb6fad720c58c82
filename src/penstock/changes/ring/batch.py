"""Changes of one kind to one collection, before they have LSNs: ids, Arrow rows, or both.

Row i of `rows` is the i-th event; of an update, `rows` is after and `before` is before, row by row. A REFRESH is one
event, and its `rows` are the whole new contents. Arrow tables are kept by reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.changes.wire.change_operation import ChangeOperation
from penstock.errors import InvalidRun

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Events of one operation, `count` of them."""

    operation: ChangeOperation
    collection: str
    entity_kind: str
    count: int
    ids: NDArray[np.uint64] | None = None
    rows: pa.Table | None = None
    before: pa.Table | None = None

    def __post_init__(self) -> None:
        if self.before is not None and (self.rows is None or self.operation is not ChangeOperation.UPDATE):
            raise InvalidRun(why=f"only updates have rows before and after, not {self.operation} of {self.collection}")
        lengths = {
            "ids": None if self.ids is None else len(self.ids),
            "rows": None if self.rows is None or self._is_refresh else self.rows.num_rows,
            "rows before": None if self.before is None else self.before.num_rows,
        }
        for what, length in lengths.items():
            if length is not None and length != self.count:
                raise InvalidRun(why=f"{self.count} events of {self.collection} come with {length} {what}")

    @classmethod
    def of_ids(
        cls, operation: ChangeOperation, collection: str, entity_kind: str, ids: Iterable[int] | NDArray[np.integer]
    ) -> Batch:
        """Events known by their ids alone; the ids are copied."""
        copied = _copy(ids)
        return cls(operation, collection, entity_kind, len(copied), ids=copied)

    @classmethod
    def of_rows(
        cls,
        operation: ChangeOperation,
        collection: str,
        rows: pa.Table,
        before: pa.Table | None = None,
        ids: Iterable[int] | NDArray[np.integer] | None = None,
        entity_kind: str = "row",
    ) -> Batch:
        """One event for each Arrow row."""
        copied = None if ids is None else _copy(ids)
        return cls(operation, collection, entity_kind, rows.num_rows, copied, rows, before)

    @classmethod
    def of_refresh(cls, collection: str, contents: pa.Table) -> Batch:
        """One event: these are all rows now."""
        return cls(ChangeOperation.REFRESH, collection, "refresh", 1, rows=contents)

    def last(self, count: int) -> Batch:
        """Its last `count` events: itself if it has no more, else a copy without the others."""
        if self.count <= count:
            return self
        places = np.arange(self.count - count, self.count)
        return Batch(
            self.operation,
            self.collection,
            self.entity_kind,
            count,
            None if self.ids is None else self.ids[places],
            None if self.rows is None or self._is_refresh else self.rows.take(places),
            None if self.before is None else self.before.take(places),
        )

    @property
    def _is_refresh(self) -> bool:
        return self.operation is ChangeOperation.REFRESH


def _copy(ids: Iterable[int] | NDArray[np.integer]) -> NDArray[np.uint64]:
    """A copy, so that no caller changes what readers of the ring hold."""
    if isinstance(ids, np.ndarray):
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise InvalidRun(why=f"ids are a column of integers, not {ids.ndim}-dimensional {ids.dtype}")
        # A signed array would wrap around without a word.
        if ids.dtype.kind == "i" and ids.size and ids.min() < 0:
            raise InvalidRun(why="ids are 0 or more")
        return ids.astype(np.uint64)
    try:
        return np.fromiter(ids, dtype=np.uint64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidRun(why=f"ids are integers from 0 to 2⁶⁴ − 1: {error}") from error
