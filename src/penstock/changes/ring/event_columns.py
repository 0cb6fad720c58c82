"""Entries of the ring as Arrow columns: a few NumPy calls per poll instead of an object per row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from penstock.changes.ring.item_kind import public_item_kind
from penstock.changes.ring.row_event import ChangeEvent
from penstock.changes.ring.run import Run

NAMES = ("lsn", "timestamp", "operation", "collection", "kind", "entity_id")


def event_columns(entries: Sequence[Run | ChangeEvent]) -> pa.RecordBatch:
    """One row per event; the three texts are dictionaries."""
    counts = np.fromiter((1 if isinstance(each, ChangeEvent) else each.count for each in entries), np.int64)
    heads = [each if isinstance(each, ChangeEvent) else each.batch for each in entries]
    first = np.fromiter((each.lsn if isinstance(each, ChangeEvent) else each.first_lsn for each in entries), np.uint64)
    before = np.cumsum(counts) - counts
    total = int(counts.sum())
    # Row j of a run has the LSN first + j, and j is the row of the answer less the rows of earlier runs.
    lsn = np.arange(total, dtype=np.uint64) + np.repeat(first - before.astype(np.uint64), counts)
    timestamps = np.fromiter((each.timestamp for each in entries), np.uint64)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(lsn),
            pa.array(np.repeat(timestamps, counts)),
            _texts((each.operation.value for each in heads), counts),
            _texts((each.collection for each in heads), counts),
            _texts((public_item_kind(each.entity_kind) for each in heads), counts),
            pa.array(_ids(entries, before, total)),
        ],
        names=NAMES,
    )


def _texts(values: Iterable[str], counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.DictionaryArray:
    codes: dict[str, int] = {}
    each = np.fromiter((codes.setdefault(value, len(codes)) for value in values), np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(np.repeat(each, counts)), pa.array(list(codes), pa.string()))


def _ids(
    entries: Sequence[Run | ChangeEvent], before: np.ndarray[tuple[int], np.dtype[np.int64]], total: int
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    found = np.zeros(total, np.uint64)
    for each, at in zip(entries, before.tolist(), strict=True):
        if isinstance(each, ChangeEvent):
            found[at] = each.entity_id
        elif (ids := each.ids) is not None:
            found[at : at + each.count] = ids
    return found
