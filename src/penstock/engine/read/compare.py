"""Comparing two DataFrames as bags, to the bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from penstock.names import quote
from penstock.operators.types import equal_by_text

SAMPLES = 5


@dataclass(frozen=True, slots=True)
class BagDifference:
    """How many rows each side has that the other lacks."""

    missing: int
    extra: int
    samples: tuple[tuple[str, dict[str, Any]], ...]
    rows: int
    """Rows on the right."""


def bag_difference(wanted: DataFrame, found: DataFrame) -> BagDifference:
    """What `found` lacks and what it has too much, compared by position. One job.

    Floating-point values differ where their text does, so −0.0 is not 0.0 and every NaN is NaN.
    """
    fields = list(wanted.schema.fields)
    if [field.dataType.simpleString() for field in fields] != [
        field.dataType.simpleString() for field in found.schema.fields
    ]:
        raise ValueError(
            f"the two have different columns: {wanted.schema.simpleString()} and {found.schema.simpleString()}"
        )
    left = wanted.toDF(*(f"c{index}" for index in range(len(fields))))
    right = found.toDF(*(f"c{index}" for index in range(len(fields))))
    keys = [key for index, field in enumerate(fields) for key in _keys(f"c{index}", field)]
    both = left.withColumn("__side", F.lit(1)).unionAll(right.withColumn("__side", F.lit(-1)))
    grouped = both.groupBy(*keys).agg(
        F.sum("__side").alias("__n"),
        F.count(F.when(F.col("__side") == -1, 1)).alias("__right"),
        F.first(F.struct(*(F.col(f"c{index}") for index in range(len(fields))))).alias("__row"),
    )
    totals = grouped.agg(
        F.sum(F.greatest(F.col("__n"), F.lit(0))).alias("missing"),
        F.sum(F.greatest(-F.col("__n"), F.lit(0))).alias("extra"),
        F.sum("__right").alias("rows"),
    ).first()
    missing, extra, rows = (int(value or 0) for value in totals) if totals is not None else (0, 0, 0)
    samples: list[tuple[str, dict[str, Any]]] = []
    if missing or extra:
        names = [field.name for field in fields]
        for kind, sign in (("missing", 1), ("extra", -1)):
            rows_found = grouped.where(F.col("__n") * sign > 0).limit(SAMPLES).collect()
            samples += [(kind, dict(zip(names, row["__row"], strict=True))) for row in rows_found]
    return BagDifference(missing, extra, tuple(samples), rows)


def _keys(name: str, field: StructField) -> list[Column]:
    column = F.col(quote(name))
    kind = field.dataType.simpleString().upper()
    if "VARIANT" in kind:
        return [F.to_json(F.struct(column))]
    if equal_by_text(kind):
        return [column.cast("string")]
    return [column]
