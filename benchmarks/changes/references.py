"""Changelog and notification references."""

from __future__ import annotations

import numpy as np

from benchmarks.changes.cell import Cell, per_row
from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.changelog_types.changelog_buffer import ChangelogBuffer
from penstock.changelog_types.changelog_ref import ChangelogRef, refs
from penstock.changelog_types.notification_ref import NotificationRef, aligned, write_notifications
from penstock.changes.wire.event_type import EventType

ROWS = 4096
_INDICES = np.arange(ROWS, dtype=np.uint32)
_WEIGHTS = np.ones(ROWS, np.int16)
_OPERATIONS = np.zeros(ROWS, np.uint8)
_OFFSETS = np.arange(ROWS, dtype=np.uint64)
_MANY = refs(0, _INDICES, _WEIGHTS, _OPERATIONS)
_ONE = ChangelogRef(0, 0, 1, CdcOperation.INSERT)
_ROOM = aligned(ROWS)
_BUFFER = ChangelogBuffer.with_capacity(ROWS)


def _push_many() -> None:
    _BUFFER.clear()
    _BUFFER.push_many(_MANY)


def _push_each() -> None:
    _BUFFER.clear()
    for _ in range(ROWS):
        _BUFFER.push(_ONE)


def _append_each() -> list[ChangelogRef]:
    return [_ONE for _ in range(ROWS)]


def _refs_each() -> None:
    for row in range(ROWS):
        ChangelogRef(0, row, 1, CdcOperation.INSERT)


def _notifications_each() -> None:
    for at in range(ROWS):
        NotificationRef(at, 1, EventType.INSERT, 10, 0, at)


CELLS = [
    Cell(
        "ChangelogRef, made",
        5e-9,
        lambda: per_row(lambda: refs(0, _INDICES, _WEIGHTS, _OPERATIONS), ROWS, 200),
        lambda: per_row(_refs_each, ROWS, 3),
    ),
    Cell(
        "ChangelogBuffer, push_many",
        5e-9,
        lambda: per_row(_push_many, ROWS, 500),
        lambda: per_row(_append_each, ROWS, 20),
    ),
    Cell(
        "ChangelogBuffer, push, a call",
        1e-6,
        lambda: per_row(_push_each, ROWS, 3),
        lambda: per_row(_append_each, ROWS, 20),
    ),
    Cell(
        "NotificationRef, made",
        5e-9,
        lambda: per_row(lambda: write_notifications(_ROOM, 1, 1, EventType.INSERT, _INDICES, 0, _OFFSETS), ROWS, 200),
        lambda: per_row(_notifications_each, ROWS, 3),
    ),
]
