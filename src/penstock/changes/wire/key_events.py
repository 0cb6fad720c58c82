"""The events of a commit that concern watched keys, with the rows before and after as JSON.

A commit with all rows anew becomes the row of a single key, or the fact that it is gone (`after` is null). For a prefix
it becomes one event with the prefix itself as its key, and then one for every row under it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.changes.wire.change_operation import ChangeOperation
from penstock.changes.wire.commit_changes import CommitChanges, Positions
from penstock.changes.wire.key_text import is_prefix, key_texts, matches
from penstock.changes.wire.kv_watch_event import KvWatchEvent
from penstock.changes.wire.payload import json_column


def key_events(changes: CommitChanges, wanted: str) -> Iterator[KvWatchEvent]:
    """What a commit did to the rows whose key text matches, in the order of their positions."""
    committed_at = int(changes.committed_at.timestamp() * 1000)

    def event(op: ChangeOperation, key: str, before: Any, after: Any, lsn: int) -> KvWatchEvent:
        return KvWatchEvent(changes.table, key, op, before, after, lsn, committed_at)

    for kind, was, now, lsns in changes.runs():
        rows = was if now is None else now
        assert rows is not None
        texts = key_texts(rows, changes.key)
        places = [place for place, text in enumerate(texts) if matches(text, wanted)]
        operation = ChangeOperation(kind)
        before, after = _objects(was, places), _objects(now, places)
        if operation is ChangeOperation.REFRESH and (is_prefix(wanted) or not places):
            yield event(operation, wanted, None, None, int(lsns[0]))
        for place, old, new in zip(places, before, after, strict=True):
            yield event(operation, texts[place], old, new, _lsn(operation, lsns, place))


def _lsn(operation: ChangeOperation, lsns: Positions, place: int) -> int:
    return int(lsns[0 if operation is ChangeOperation.REFRESH else place])


def _objects(rows: pa.Table | None, places: list[int]) -> list[dict[str, Any] | None]:
    """These rows as JSON objects; as many times None if there are no rows."""
    if rows is None:
        return [None] * len(places)
    chosen = rows.take(pa.array(np.array(places, np.int64)))
    columns = [json_column(column) for column in chosen.columns]
    return [dict(zip(rows.column_names, values, strict=True)) for values in zip(*columns, strict=True)]
