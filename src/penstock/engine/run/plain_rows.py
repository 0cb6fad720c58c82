"""Steps that need no Spark: rows of one leaf on the driver, chosen by comparisons, renamed, then distinct or netted.

    keys     =  the distinct values of some columns
    change   =  equal rows as one, weights summed, zeros dropped

Integers, decimals, dates, timestamps and strings compare in Arrow as they do in Spark; a comparison with NULL chooses
no row in either. Values that Spark compares in a way of its own (NaN, -0.0) are left to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import LongType, StringType, StructField, StructType

from penstock.compile.stored import MINUS, OP, PLUS
from penstock.engine.read.net import net_table
from penstock.engine.run.driver_totals import equal_by_bits
from penstock.names import WEIGHT
from penstock.operators.delta_query import Plain
from penstock.operators.expression import Comparison

_COMPARE: Mapping[str, Callable[[Any, Any], pa.ChunkedArray]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def plain_keys(plain: Plain, rows: pa.Table, schema: StructType) -> tuple[StructType, pa.Table] | None:
    """The distinct values of the columns; None if Spark must tell them apart."""
    chosen = _chosen(plain, rows)
    if chosen is None:
        return None
    return _typed(plain, schema), chosen.group_by(chosen.column_names).aggregate([])


def plain_change(plain: Plain, rows: pa.Table, schema: StructType) -> tuple[StructType, pa.Table] | None:
    """The net change of a bag, counted as its store counts it; None if Spark must tell the rows apart."""
    chosen = _chosen(plain, rows, WEIGHT)
    if chosen is None:
        return None
    values = _typed(plain, schema).fields
    change = net_table(chosen, values)
    if change is None:
        return None
    weight, zero = change.column(WEIGHT), pa.scalar(0, pa.int64())
    change = change.append_column(OP, pa.repeat(pa.scalar("i"), change.num_rows))
    change = change.append_column(PLUS, pc.max_element_wise(weight, zero))
    change = change.append_column(MINUS, pc.max_element_wise(pc.negate(weight), zero))
    counts = [StructField(PLUS, LongType()), StructField(MINUS, LongType())]
    return StructType([*values, StructField(WEIGHT, LongType()), StructField(OP, StringType()), *counts]), change


def _typed(plain: Plain, schema: StructType) -> StructType:
    return StructType([StructField(name, schema[column].dataType) for name, column in plain.columns.items()])


def _chosen(plain: Plain, rows: pa.Table, *beside: str) -> pa.Table | None:
    """The columns under their names, and others beside them, of the rows that are chosen."""
    if not plain.columns or not all(equal_by_bits(rows.schema.field(column).type) for column in plain.columns.values()):
        return None
    for column, held in plain.where:
        mask = _holds(rows.column(column), held)
        if mask is None:
            return None
        rows = rows.filter(mask)
    return rows.select([*plain.columns.values(), *beside]).rename_columns([*plain.columns, *beside])


def _holds(column: pa.ChunkedArray, held: Comparison) -> pa.ChunkedArray | None:
    if held.operator == "IS NULL":
        return pc.is_null(column)
    if held.operator == "IS NOT NULL":
        return pc.is_valid(column)
    if not equal_by_bits(column.type):
        return None
    # A constant may be too large for the column's own type.
    column = column.cast(pa.int64()) if pa.types.is_integer(column.type) else column
    values = [_scalar(value, column.type) for value in held.values]
    if held.operator == "IN":
        return pc.is_in(column, value_set=pa.array([value.as_py() for value in values], column.type))
    return _COMPARE[held.operator](column, values[0])


def _scalar(value: bool | int | Decimal | str, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_date32(kind):
        return pa.scalar(value, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.scalar(value, pa.int64()).cast(kind)
    return pa.scalar(value, kind)
