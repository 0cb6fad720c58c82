"""New multiplicities of a bag's touched values, on the driver.

    total(v)  =  weight of v in the change  +  weights of the stored rows equal to v,   for every v that lost copies

Rows are compared by their bits and weights are integers, so Spark would give the same totals. This does the work of a
statement of the store; types for which equality is not equality of bits are left to that statement.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.compile.stored import OP
from penstock.names import WEIGHT

_WAS, _LOST, _CHANGED = "__ps_was", "__ps_lost", "__ps_changed"


def equal_by_bits(kind: pa.DataType) -> bool:
    """True if values of the type are equal where their bits are, and nowhere else."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
    )


def new_totals(changed: pa.Table, stored: pa.Table, values: list[str]) -> pa.Table | None:
    """The rows of a bag change: 'd' takes all copies of a value away, 'i' adds a row, '!' is a contradiction.

    None if a column is of a type that is not compared here.
    """
    if not all(equal_by_bits(changed.schema.field(name).type) for name in values):
        return None
    typed = changed.select([*values, WEIGHT])
    weight = typed.column(WEIGHT)
    nothing = pa.repeat(pa.scalar(0, pa.int64()), typed.num_rows)
    lost = pc.less(weight, 0).cast(pa.int64())
    gained = pa.table([*typed.columns, nothing, lost, _ones(typed)], names=[*values, WEIGHT, _WAS, _LOST, _CHANGED])
    there = stored.select([*values, WEIGHT]).cast(typed.schema)
    none = pa.repeat(pa.scalar(0, pa.int64()), there.num_rows)
    held = pa.table([*there.columns, there.column(WEIGHT), none, none], names=[*values, WEIGHT, _WAS, _LOST, _CHANGED])
    # A value that only gained copies is a plain addition: its stored rows stay as they are.
    together = pa.concat_tables([gained, held]).group_by(values)
    summed = together.aggregate([(name, "sum") for name in (WEIGHT, _WAS, _LOST, _CHANGED)])
    summed = summed.filter(pc.greater(summed.column(f"{_CHANGED}_sum"), 0))
    is_lost = pc.greater(summed.column(f"{_LOST}_sum"), 0)
    total, was = summed.column(f"{WEIGHT}_sum"), summed.column(f"{_WAS}_sum")
    total = pc.if_else(is_lost, total, pc.subtract(total, was))
    rows = summed.select(values).append_column(WEIGHT, total)
    parts = [
        _marked(rows, pc.less(total, 0), "!"),
        _marked(rows, pc.and_(is_lost, pc.and_(pc.greater(was, 0), pc.greater_equal(total, 0))), "d"),
        _marked(rows, pc.greater(total, 0), "i"),
    ]
    return pa.concat_tables(parts)


def _ones(table: pa.Table) -> pa.Array:
    return pa.repeat(pa.scalar(1, pa.int64()), table.num_rows)


def _marked(rows: pa.Table, mask: pa.ChunkedArray, operation: str) -> pa.Table:
    kept = rows.filter(mask)
    return kept.append_column(OP, pa.repeat(pa.scalar(operation, pa.string()), kept.num_rows))
