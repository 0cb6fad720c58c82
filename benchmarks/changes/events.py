"""Events of record batches, and the wrapping of rows as changes."""

from __future__ import annotations

import copy

import numpy as np
import pyarrow as pa

from benchmarks.changes.cell import Cell, per_row
from penstock.changelog_types.changelog_record import ChangelogRecord
from penstock.changelog_types.notations import delta, weights
from penstock.changelog_types.record_events import event_of_record
from penstock.changes.wire.change_event import ChangeEvent

ROWS = 4096
SUBSCRIBERS = 1000
_BATCH = pa.record_batch({"id": pa.array(range(ROWS)), "name": pa.array([f"row {at}" for at in range(ROWS)])})
_LARGE = pa.record_batch({"id": pa.array(range(64 * ROWS))})
_DICTS = _BATCH.slice(0, 200).to_pylist()
_RECORD = ChangelogRecord.insert(_BATCH, 1)
_EVENT, _LARGE_EVENT = ChangeEvent.insert(_BATCH, 1, 1), ChangeEvent.insert(_LARGE, 1, 1)
_OPERATIONS = np.zeros(ROWS, np.uint8)
_LABELS = delta.CHANGE_TYPES.labels_of(_OPERATIONS)
_WORDS = _LABELS.to_pylist()
_BY_WORD = {label: at for at, label in enumerate(delta.CHANGE_TYPES.labels)}


def _deliver(event: ChangeEvent) -> list[ChangeEvent]:
    return [event] * SUBSCRIBERS


CELLS = [
    Cell(
        "ChangeEvent, cloned, per subscriber",
        10e-9,
        lambda: per_row(lambda: _deliver(_EVENT), SUBSCRIBERS, 500),
        lambda: per_row(lambda: copy.copy(_DICTS), 1, 500),
    ),
    Cell(
        "ChangeEvent of 64 times the rows, cloned",
        10e-9,
        lambda: per_row(lambda: _deliver(_LARGE_EVENT), SUBSCRIBERS, 500),
        lambda: per_row(lambda: copy.copy(_DICTS), 1, 500),
    ),
    Cell(
        "ChangeEvent, from a changelog record",
        20e-9,
        lambda: per_row(lambda: event_of_record(_RECORD, 1), ROWS, 500),
        lambda: per_row(lambda: [dict(row) for row in _DICTS], len(_DICTS), 50),
    ),
    Cell(
        "rows wrapped as changes with weights",
        50e-9,
        lambda: per_row(lambda: weights.with_weight(_BATCH, _OPERATIONS), ROWS, 200),
        lambda: per_row(lambda: [ChangelogRecord.insert(row, 1) for row in _DICTS], len(_DICTS), 50),
    ),
    Cell(
        "change types read as operations",
        20e-9,
        lambda: per_row(lambda: delta.CHANGE_TYPES.operations_of(_LABELS), ROWS, 100),
        lambda: per_row(lambda: [_BY_WORD[word] for word in _WORDS], ROWS, 50),
    ),
    Cell(
        "operations written as change types",
        20e-9,
        lambda: per_row(lambda: delta.CHANGE_TYPES.labels_of(_OPERATIONS), ROWS, 100),
        lambda: per_row(lambda: [delta.CHANGE_TYPES.labels[0] for _ in _WORDS], ROWS, 50),
    ),
]
