"""The words insert, update, delete and refresh, one event per row, as change buffers use them.

    insert: after        update: before and after        delete: before        refresh: the whole contents, old and new

An update is one event. As a Z-set it is a pair, so the row before it is needed; a refresh needs all rows before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.changes.cdc_operation import CdcOperation
from penstock.changes.changelog_record import ChangelogRecord
from penstock.errors import NotConvertible

T = TypeVar("T")
Word = Literal["insert", "update", "delete", "refresh"]
_WORDS = pa.array(["insert", "delete", "update"])
_PLACES = np.array([0, 1, 2, 2], np.uint8)


@dataclass(frozen=True, slots=True)
class RowChange(Generic[T]):
    """One event of one row, with what is known of the row before and after it."""

    word: Word
    before: T | None = None
    after: T | None = None


def to_records(change: RowChange[T], timestamp: int) -> tuple[ChangelogRecord[T], ...]:
    """The records of an event of one row."""
    before, after = change.before, change.after
    match change.word:
        case "insert" if after is not None:
            return (ChangelogRecord.insert(after, timestamp),)
        case "delete" if before is not None:
            return (ChangelogRecord.delete(before, timestamp),)
        case "update" if before is not None and after is not None:
            return ChangelogRecord.retraction(before, after, timestamp)
    raise NotConvertible(
        what=f"a change {change.word} with {'no' if before is None else 'a'} row before and "
        f"{'no' if after is None else 'a'} row after",
        target="records",
        why="insert needs the row after, delete the row before, update both, and refresh is not about one row",
        fix="Keep the rows before, or take a refresh with `refresh_to_records`.",
    )


def refresh_to_records(old: Iterable[T], new: Iterable[T], timestamp: int) -> list[ChangelogRecord[T]]:
    """A refresh: all old contents go, then all new contents come. Net them to see what really changed."""
    return [
        *(ChangelogRecord.delete(row, timestamp) for row in old),
        *(ChangelogRecord.insert(row, timestamp) for row in new),
    ]


def from_records(records: Sequence[ChangelogRecord[T]]) -> list[RowChange[T]]:
    """The events of records; −U directly before +U is one update. A weight of n is n events."""
    made: list[RowChange[T]] = []
    waiting: ChangelogRecord[T] | None = None
    for record in records:
        after_half = record.operation is CdcOperation.UPDATE_AFTER
        if after_half != (waiting is not None) or (waiting is not None and waiting.weight != -record.weight):
            raise _unpaired()
        if waiting is not None:
            made += [RowChange[T]("update", waiting.data, record.data)] * record.weight
        elif record.operation is CdcOperation.INSERT:
            made += [RowChange[T]("insert", after=record.data)] * record.weight
        elif record.operation is CdcOperation.DELETE:
            made += [RowChange[T]("delete", before=record.data)] * -record.weight
        waiting = record if record.operation is CdcOperation.UPDATE_BEFORE else None
    if waiting is not None:
        raise _unpaired()
    return made


def words_of(operations: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """The events of many operations: the row with the newest image of each, and the words. −U rows carry none."""
    rows = np.flatnonzero(operations != CdcOperation.UPDATE_BEFORE.value)
    return rows, _WORDS.take(pa.array(_PLACES[operations[rows]]))


def _unpaired() -> NotConvertible:
    return NotConvertible(
        what="half an update",
        target="an event",
        why="an update is one event",
        fix="Put -U directly before its +U with the same weight, or send -D and +I.",
    )
