"""Exactly these Parquet files as DataFrames: the schema spelled out, folders never looked at.

Partition values come from the log, typed by the schema. Each row carries the sign of its file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from penstock.engine.delta.log_entry import DataFile
from penstock.names import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

LITERAL_READS = 2
"""Up to this many combinations of sign and partition values are read one by one, their values as literals.

Measured with 2 / 10 / 60 combinations: one by one 0.2 / 0.7 / 4.3 s, by lookup 0.3 / 0.3 / 0.5 s.
"""

SIGN = "__ps_sign"
"""Column of signed rows: +1 or −1."""
_FILE = "__ps_file"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")


def pinned_files(
    spark: SparkSession,
    signed: Sequence[tuple[DataFile, int]],
    fields: Sequence[StructField],
    schema: StructType,
    partition_columns: Sequence[str],
) -> list[DataFrame]:
    """Exactly these Parquet files, with the partition values that the log gives them and their sign beside.

    Files that agree in both take them as literals. A read of its own for each combination costs 0.05 s and more to
    plan, so beyond a few all files are read at once and look theirs up by file name.
    """
    names = {field.name.lower() for field in fields}
    asked = [column for column in partition_columns if column.lower() in names]
    groups: dict[tuple[int, tuple[str | None, ...]], list[DataFile]] = {}
    for file, sign in signed:
        groups.setdefault((sign, tuple(file.partition.get(column) for column in asked)), []).append(file)
    lowered = [column.lower() for column in asked]
    if len(groups) > LITERAL_READS and _have_unique_names(signed):
        return [_looked_up(spark, signed, fields, schema, dict(zip(lowered, asked, strict=True)))]
    frames = []
    for (sign, values), files in groups.items():
        # Text cast by Spark, as Delta's own reader does; it writes an empty string for NULL too.
        literals = {name: F.lit(value or None) for name, value in zip(lowered, values, strict=True)}
        frame = _parquet(spark, files, fields, schema, lowered)
        chosen = [_column(field, schema, literals) for field in fields]
        frames.append(frame.select(*chosen, F.lit(sign).cast("bigint").alias(SIGN)))
    return frames


def _have_unique_names(signed: Sequence[tuple[DataFile, int]]) -> bool:
    """True if the last part of the path identifies each file and needs no escaping anywhere."""
    last = [_file_name(file) for file, _ in signed]
    return len(set(last)) == len(last) and all(map(_PLAIN_NAME.fullmatch, last))


def _looked_up(
    spark: SparkSession,
    signed: Sequence[tuple[DataFile, int]],
    fields: Sequence[StructField],
    schema: StructType,
    asked: Mapping[str, str],
) -> DataFrame:
    files = [file for file, _ in signed]
    held = {f"__ps_p{at}": name for at, name in enumerate(asked)}
    table = pa.table(
        {
            _FILE: pa.array([_file_name(file) for file in files], pa.string()),
            SIGN: pa.array([sign for _, sign in signed], pa.int64()),
            **{
                column: pa.array([file.partition.get(asked[name]) or None for file in files], pa.string())
                for column, name in held.items()
            },
        }
    )
    lookup = spark.createDataFrame(table)
    frame = _parquet(spark, files, fields, schema, list(asked))
    named = frame.select("*", F.col("_metadata.file_name").alias("__ps_from"))
    joined = named.join(F.broadcast(lookup), F.col("__ps_from") == F.col(_FILE), "left")
    # The lookup covers every file that is read; should it ever not, fail rather than make up NULLs.
    lost = F.raise_error(F.concat(F.lit("no log entry for data file "), F.col("__ps_from")))
    values = {name: F.when(F.col(_FILE).isNull(), lost).otherwise(F.col(column)) for column, name in held.items()}
    sign = F.when(F.col(_FILE).isNull(), lost).otherwise(F.col(SIGN))
    return joined.select(*(_column(field, schema, values) for field in fields), sign.cast("bigint").alias(SIGN))


def _parquet(
    spark: SparkSession,
    files: Sequence[DataFile],
    fields: Sequence[StructField],
    schema: StructType,
    partitions: Sequence[str],
) -> DataFrame:
    """The stored columns among `fields`, under the names of `schema`."""
    known = {field.name.lower(): field.name for field in schema.fields}
    stored = [
        StructField(known[field.name.lower()], field.dataType, True)
        for field in fields
        if field.name.lower() in known and field.name.lower() not in partitions
    ]
    return (
        spark.read.schema(StructType(stored))
        .option("__globPaths__", "false")
        .option("recursiveFileLookup", "true")
        .option("ignoreMissingFiles", "false")
        .option("ignoreCorruptFiles", "false")
        .parquet(*(file.path for file in files))
    )


def _column(field: StructField, schema: StructType, partitions: Mapping[str, Column]) -> Column:
    """A column of a pinned read: from the log, from the files, or NULL if `schema` does not have it."""
    name = field.name.lower()
    if name in partitions:
        return partitions[name].cast(field.dataType).alias(field.name)
    stored = next((known.name for known in schema.fields if known.name.lower() == name), None)
    if stored is None:
        return F.lit(None).cast(field.dataType).alias(field.name)
    return F.col(quote(stored)).alias(field.name)


def _file_name(file: DataFile) -> str:
    return file.path.rpartition("/")[2]
