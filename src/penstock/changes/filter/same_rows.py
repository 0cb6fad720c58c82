"""Which rows of two tables are the same, bit by bit.

NULL is the same as NULL and NaN as NaN; −0.0 and 0.0 differ, since a reader can distinguish them. Arrays, structs and
maps are the same when their parts are, in order.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}


def same_rows(before: pa.Table, after: pa.Table) -> pa.BooleanArray:
    """True where the row of `before` is the row of `after`; both tables have one schema and as many rows."""
    columns = (
        _same(left.combine_chunks(), right.combine_chunks())
        for left, right in zip(before.columns, after.columns, strict=True)
    )
    return reduce(pc.and_, columns, pa.repeat(True, before.num_rows))


def _same(left: Any, right: Any) -> Any:
    kind = left.type
    if pa.types.is_null(kind):
        return pa.repeat(True, len(left))
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    both_valid = pc.and_(pc.is_valid(left), pc.is_valid(right))
    if pa.types.is_struct(kind):
        alike = reduce(
            pc.and_,
            (_same(pc.struct_field(left, [at]), pc.struct_field(right, [at])) for at in range(kind.num_fields)),
            pa.repeat(True, len(left)),
        )
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        alike = _same_lists(left, right)
    elif kind in _BITS:
        bits = pc.equal(left.view(_BITS[kind]), right.view(_BITS[kind]))
        alike = pc.or_(bits, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    else:
        alike = pc.equal(left, right)
    return pc.or_(both_null, pc.and_(both_valid, pc.coalesce(alike, pa.scalar(False))))


def _same_lists(left: Any, right: Any) -> Any:
    left, right = _plain_list(left), _plain_list(right)
    as_long = pc.coalesce(pc.equal(pc.list_value_length(left), pc.list_value_length(right)), pa.scalar(False))
    rows = pc.indices_nonzero(as_long)
    first, second = left.take(rows), right.take(rows)
    differing = pc.invert(_same(pc.list_flatten(first), pc.list_flatten(second)))
    spoiled = rows.take(pc.list_parent_indices(first).filter(differing))
    same = np.array(as_long)
    same[np.asarray(spoiled)] = False
    return pa.array(same)


def _plain_list(values: Any) -> Any:
    """A map as the list of its entries: Arrow flattens lists only."""
    if not pa.types.is_map(values.type):
        return values
    entry = pa.struct([pa.field("key", values.type.key_type, False), pa.field("value", values.type.item_type)])
    return values.cast(pa.list_(pa.field("entries", entry, False)))
