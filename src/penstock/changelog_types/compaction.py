"""A changelog made smaller without changing its meaning.

net       equal rows become one, its weight the sum; rows of weight 0 are gone
collapse  by key: one row that stays is an upsert, only rows that go are a delete, two that stay are an error
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.changelog_types.row_groups import grouped
from penstock.errors import InvalidChange, NotOneRowPerKey
from penstock.names import WEIGHT


@dataclass(frozen=True, slots=True)
class Collapsed:
    """What a table of one row per key needs to follow: whole rows to put there, and keys to remove."""

    upserts: pa.Table
    deletes: pa.Table


def net(changes: pa.Table, weight: str = WEIGHT) -> pa.Table:
    """The changes netted, in the order of their first occurrence. Rows are compared to the bit."""
    weights = weights_of(changes, weight)
    names = [name for name in changes.column_names if name != weight]
    if not names:
        total = pa.array([int(weights.sum())], pa.int64())
        return pa.table({weight: total}).filter(pc.not_equal(total, 0))
    found = grouped(changes, names, {"weight": (weights, "sum")})
    kept = found["weight"] != 0
    rows = changes.select(names).take(pa.array(found["first"][kept]))
    return rows.append_column(weight, pa.array(found["weight"][kept], pa.int64())).select(changes.column_names)


def collapse(changes: pa.Table, key: Sequence[str], weight: str = WEIGHT) -> Collapsed:
    """The changes as one upsert or one delete per key."""
    check_key(changes, key, weight)
    netted = net(changes, weight)
    weights = weights_of(netted, weight)
    numbers = np.arange(len(weights))
    found = grouped(
        netted,
        key,
        {
            "live": (np.maximum(weights, 0), "sum"),
            "row": (np.where(weights > 0, numbers, -1), "max"),
        },
    )
    double = found["live"] > 1
    if double.any():
        at = int(np.argmax(double))
        raise NotOneRowPerKey(key=key_text(netted, key, int(found["first"][at])), rows=int(found["live"][at]))
    stays = found["live"] == 1
    rows = netted.drop_columns([weight])
    return Collapsed(
        rows.take(pa.array(found["row"][stays])), rows.select(list(key)).take(pa.array(found["first"][~stays]))
    )


def weights_of(changes: pa.Table, weight: str) -> npt.NDArray[np.int64]:
    """The weight column as numbers."""
    if weight not in changes.column_names:
        raise InvalidChange(
            what="a table of changes", why=f"it has no column {weight}", fix="Add the weight of every row."
        )
    column = changes.column(weight)
    if column.null_count or not pa.types.is_integer(column.type):
        raise InvalidChange(
            what=f"a weight column of {column.type} with {column.null_count} NULLs",
            why="a weight is a 64-bit integer",
            fix="Give every row an integer weight.",
        )
    numbers: npt.NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return numbers


def check_key(changes: pa.Table, key: Sequence[str], weight: str) -> None:
    """Refuse a key that is no key of these changes."""
    if not key or weight in key or not set(key) <= set(changes.column_names):
        raise InvalidChange(
            what=f"the key ({', '.join(key)})",
            why=f"it must name columns, and not {weight}",
            fix=f"Choose from: {', '.join(name for name in changes.column_names if name != weight)}.",
        )


def key_text(changes: pa.Table, key: Sequence[str], row: int) -> str:
    """The key of a row, as people read it."""
    return ", ".join(f"{name} = {changes.column(name)[row].as_py()!r}" for name in key)
