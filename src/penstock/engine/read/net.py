"""Equal rows as one: weights summed, zeros dropped; by Spark, and by Arrow on the driver.

    net(rows)  =  { (row, Σ weight) : Σ weight ≠ 0 }

Equal means every value the same, −0.0 apart from 0.0 and NaN equal to NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StructField,
    StructType,
    VariantType,
)

from penstock.names import WEIGHT, quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def net_frame(frame: DataFrame, fields: Sequence[StructField]) -> DataFrame:
    """The netted rows of a DataFrame with a weight.

    VARIANT values cancel by type and JSON text; those whose type does not show it stay side by side.
    """
    keys: list[Column] = []
    chosen: list[Column] = []
    kept: list[Column] = []
    for at, field in enumerate(fields):
        column, key = F.col(quote(field.name)), f"__ps_k{at}"
        match field.dataType:
            case DoubleType() | FloatType():
                # Grouping turns -0.0 into 0.0; the flag keeps them apart and brings the sign back.
                keys += [column.alias(key), (column.cast("string") == F.lit("-0.0")).alias(f"{key}_minus")]
                minus_zero = F.lit(-0.0).cast(field.dataType)
                chosen.append(F.when(F.col(f"{key}_minus"), minus_zero).otherwise(F.col(key)).alias(field.name))
            case VariantType():
                kind = F.schema_of_variant(column)
                text = F.to_json(F.struct(column.alias("v")))
                mixed = F.when(kind.contains("VARIANT"), F.monotonically_increasing_id())
                keys += [text.alias(f"{key}_text"), kind.alias(f"{key}_kind"), mixed.alias(f"{key}_row")]
                kept.append(F.any_value(column).alias(key))
                chosen.append(F.col(key).alias(field.name))
            case kind if _holds(kind, (VariantType,)):
                keys.append(F.monotonically_increasing_id().alias(f"{key}_row"))
                kept.append(F.any_value(column).alias(key))
                chosen.append(F.col(key).alias(field.name))
            case kind if _holds(kind, (DoubleType, FloatType)):
                keys += [column.alias(f"{key}_value"), column.cast("string").alias(f"{key}_text")]
                kept.append(F.any_value(column).alias(key))
                chosen.append(F.col(key).alias(field.name))
            case _:
                keys.append(column.alias(key))
                chosen.append(F.col(key).alias(field.name))
    grouped = frame.groupBy(*keys).agg(F.sum(F.col(WEIGHT)).alias(WEIGHT), *kept)
    return grouped.where(F.col(WEIGHT) != 0).select(*chosen, F.col(WEIGHT))


def net_table(rows: pa.Table, fields: Sequence[StructField]) -> pa.Table | None:
    """The netted rows of a table with a weight; None if a NaN is among them, which has many bit patterns."""
    bits: Mapping[type[DataType], pa.DataType] = {DoubleType: pa.int64(), FloatType: pa.int32()}
    floats = {field.name: bits[type(field.dataType)] for field in fields if type(field.dataType) in bits}
    if any(pc.any(pc.is_nan(rows.column(name))).as_py() for name in floats):
        return None
    keys = [_viewed(rows.column(field.name), floats.get(field.name)) for field in fields]
    names = [field.name for field in fields]
    grouped = pa.table([*keys, rows.column(WEIGHT)], names=[*names, WEIGHT]).group_by(names)
    summed = grouped.aggregate([(WEIGHT, "sum")])
    kept = summed.filter(pc.not_equal(summed.column(f"{WEIGHT}_sum"), 0))
    back = [rows.schema.field(name).type if name in floats else None for name in names]
    arrays = [_viewed(kept.column(name), kind) for name, kind in zip(names, back, strict=True)]
    return pa.table([*arrays, kept.column(f"{WEIGHT}_sum")], names=[*names, WEIGHT])


def _viewed(column: pa.ChunkedArray, kind: pa.DataType | None) -> pa.ChunkedArray | pa.Array:
    """The same bits as another type."""
    return column if kind is None else column.combine_chunks().view(kind)


def _holds(kind: DataType, sought: tuple[type[DataType], ...]) -> bool:
    match kind:
        case StructType():
            return any(_holds(field.dataType, sought) for field in kind.fields)
        case ArrayType():
            return _holds(kind.elementType, sought)
        case MapType():
            return _holds(kind.keyType, sought) or _holds(kind.valueType, sought)
    return isinstance(kind, sought)
