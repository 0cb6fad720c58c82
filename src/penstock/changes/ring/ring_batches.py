"""The events of a commit as the ring takes them: what happened to which ids. Rows stay in their table.

A commit's events stand in the ring in the order of their positions. All rows anew are one event, without an id.
"""

from __future__ import annotations

from penstock.changes.ring.batch import Batch
from penstock.changes.ring.entity_ids import entity_ids
from penstock.changes.wire.change_operation import ChangeOperation
from penstock.changes.wire.commit_changes import CommitChanges


def ring_batches(changes: CommitChanges, first: int, count: int) -> list[Batch]:
    """`count` events of a whole commit, from the one at place `first` on; its first event has place 0."""
    batches: list[Batch] = []
    place = 0
    for kind, was, now, lsns in changes.runs():
        size = len(lsns)
        start, end = max(first - place, 0), min(first + count - place, size)
        place += size
        if start >= end:
            continue
        if kind == "refresh":
            batches.append(Batch(ChangeOperation.REFRESH, changes.table, "refresh", 1))
            continue
        rows = was if now is None else now
        assert rows is not None
        ids = entity_ids(rows.slice(start, end - start), changes.key)
        batches.append(Batch(ChangeOperation(kind), changes.table, "row", end - start, ids=ids))
    return batches
