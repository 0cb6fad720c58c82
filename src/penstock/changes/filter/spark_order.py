"""How Spark compares two values of one type.

NaN equals NaN and is larger than every other number, −0.0 equals 0.0, text and bytes compare by unsigned bytes, false
is before true. A NULL on either side gives NULL, except for `<=>`.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.changes.filter.predicate import Operator


def compare(operator: Operator, left: Any, right: Any) -> Any:
    """left operator right over Arrow arrays or scalars of one type, row by row."""
    match operator:
        case "=":
            return _equal(left, right)
        case "<>":
            return pc.invert(_equal(left, right))
        case "<":
            return _less(left, right)
        case ">=":
            return pc.invert(_less(left, right))
        case ">":
            return _less(right, left)
        case "<=":
            return pc.invert(_less(right, left))
        case "<=>":
            both_null = pc.and_(pc.is_null(left), pc.is_null(right))
            return pc.or_(pc.coalesce(_equal(left, right), pa.scalar(False)), both_null)


def is_any_of(values: Any, options: Any) -> Any:
    """True where a value of the Arrow array `values` equals one of the array `options`; NULLs equal nothing."""
    if pa.types.is_floating(values.type):
        # Arrow keeps the zeros apart; adding 0.0 leaves only the positive one.
        values, options = pc.add(values, 0.0), pc.add(options, 0.0)
    return pc.is_in(values, value_set=options.drop_null())


def _equal(left: Any, right: Any) -> Any:
    same = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return same


def _less(left: Any, right: Any) -> Any:
    smaller = pc.less(left, right)
    if pa.types.is_floating(left.type):
        smaller = pc.or_(smaller, pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right)))
    return smaller
