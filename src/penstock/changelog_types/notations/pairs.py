"""Weights to updates, which needs a key: of one key, a row that goes and a row that comes are an update.

    rows with weights and a key → deletes, updates (before, after), inserts

Nothing is lost: before and deletes weigh −1, after and inserts +1, and together they are the netted changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.changelog_types.compaction import check_key, key_text, net, weights_of
from penstock.changelog_types.row_groups import grouped
from penstock.errors import NotOneRowPerKey
from penstock.names import WEIGHT


@dataclass(frozen=True, slots=True)
class Paired:
    """Rows without weights; row n of `before` became row n of `after`."""

    deletes: pa.Table
    before: pa.Table
    after: pa.Table
    inserts: pa.Table


def paired(changes: pa.Table, key: Sequence[str], weight: str = WEIGHT) -> Paired:
    """The changes of a table that has one row per key."""
    check_key(changes, key, weight)
    netted = net(changes, weight)
    weights = weights_of(netted, weight)
    numbers = np.arange(len(weights))
    found = grouped(
        netted,
        key,
        {
            "gone": (np.maximum(-weights, 0), "sum"),
            "come": (np.maximum(weights, 0), "sum"),
            "old": (np.where(weights < 0, numbers, -1), "max"),
            "new": (np.where(weights > 0, numbers, -1), "max"),
        },
    )
    most = np.maximum(found["gone"], found["come"])
    if (most > 1).any():
        at = int(np.argmax(most > 1))
        raise NotOneRowPerKey(key=key_text(netted, key, int(found["first"][at])), rows=int(most[at]))
    rows = netted.drop_columns([weight])
    old, new = found["old"], found["new"]
    both = (old >= 0) & (new >= 0)
    return Paired(
        rows.take(pa.array(old[(old >= 0) & ~both])),
        rows.take(pa.array(old[both])),
        rows.take(pa.array(new[both])),
        rows.take(pa.array(new[(new >= 0) & ~both])),
    )
