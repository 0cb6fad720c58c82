"""All rows of a table, read for many clients and held once.

    the same table, condition, columns and commit  →  the same Arrow table, for as long as a client is receiving it

A slow client that begins with all rows holds them until it has received them. The reading threads use this too.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime
from weakref import WeakValueDictionary

import pyarrow as pa

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.serve.streams.choice import Choice

_Key = tuple[str, str | None, tuple[str, ...] | None, int, int, datetime]


class SharedRows:
    """The rows that are being sent."""

    def __init__(self) -> None:
        self._held: WeakValueDictionary[_Key, pa.Table] = WeakValueDictionary()
        self._turn = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def of(self, choice: Choice, changes: CommitChanges) -> CommitChanges:
        """The commit; if it has all rows, with the Arrow table that other clients hold already."""
        if changes.refreshed is None:
            return changes
        key = choice.table, choice.where, choice.columns, changes.version, changes.last_lsn, changes.committed_at
        # An empty part may be a slice, which keeps alive what it was cut from.
        none = changes.schema.empty_table()
        with self._turn:
            held = self._held.setdefault(key, changes.refreshed)
        return replace(changes, deletes=none, was=none, now=none, inserts=none, refreshed=held)
