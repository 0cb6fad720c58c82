"""Rows written by Spark as Parquet files inside a table's folder, not part of the table until a commit names them.

    rows(files)  =  rows of the DataFrame, counted before anything is committed

Spark writes in parallel and plans no Delta write; delta-rs then commits the names in milliseconds. The statistics are
taken from the files themselves, for types whose bounds are the same everywhere: integers, dates, timestamps (to the
millisecond, outwards) and strings. Files that no commit came to name are removed by VACUUM like any other leftover.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from shutil import rmtree
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType, TimestampNTZType, TimestampType

from penstock.engine.delta.log_entry import STATISTICS_STEP
from penstock.engine.delta.log_storage import local_path
from penstock.engine.read.pruning import prunable
from penstock.engine.write.layout import files_wanted
from penstock.names import WEIGHT, quote

ROWS_PER_FILE = 250_000
"""A merge rewrites whole files, and pruning skips whole files: not too large. Sorted rows are cut by their bytes."""

SORT_ROWS = 500_000
"""From this many rows on, we sort the first rows of a table: later changes then touch few of its files."""

_TEXT = 256
"""Longer strings are no bounds worth keeping in a log."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One file: where it is relative to the table, and what a log says of it."""

    path: str
    size: int
    rows: int
    modified_ms: int
    statistics: str


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """Everything that one DataFrame was written to."""

    root: str
    schema: StructType
    files: tuple[StagedFile, ...]

    @property
    def rows(self) -> int:
        """All rows."""
        return sum(file.rows for file in self.files)

    @property
    def paths(self) -> list[str]:
        """The files, as Spark takes them."""
        return [f"{self.root}/{file.path}" for file in self.files]

    def count_where(self, column: str) -> int:
        """How many rows have true in a column."""
        return sum(int(pq.read_table(path, columns=[column]).column(column).to_numpy().sum()) for path in self.paths)

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows, read back."""
        if not self.files:
            return spark.createDataFrame([], self.schema)
        return spark.read.schema(self.schema).parquet(*self.paths)


def stageable(root: str) -> bool:
    """True if files can be staged in a table's folder: Spark and this process must see the same disk."""
    return local_path(root) is not None


def stage(frame: DataFrame, root: str) -> StagedFiles:
    """Run the DataFrame and write its rows beside the table's own files."""
    folder = f"staged-{uuid4().hex}"
    base = Path(local_path(root) or root)
    frame.write.option("maxRecordsPerFile", ROWS_PER_FILE).mode("errorifexists").parquet(str(base / folder))
    files = []
    for path in sorted((base / folder).glob("*.parquet")):
        written = describe(path, f"{folder}/{path.name}", frame.schema)
        if written.rows:
            files.append(written)
    return StagedFiles(str(base), frame.schema, tuple(files))


def sort_staged(spark: SparkSession, staged: StagedFiles, key: Sequence[str] | None) -> StagedFiles:
    """The same rows in files that the key separates; as they are, if they are few.

    The rows are written twice, because sorting what is written is cheap, and sorting a query would run it twice.
    """
    order = sort_columns(staged.schema, key)
    if staged.rows < SORT_ROWS or not order:
        return staged
    files = files_wanted(sum(file.size for file in staged.files))
    ranges = [F.col(quote(name)) for name in order]
    spread = staged.frame(spark).repartitionByRange(files, *ranges).sortWithinPartitions(*ranges)
    ordered = stage(spread, staged.root)
    for folder in {Path(path).parent for path in staged.paths}:
        rmtree(folder)
    return ordered


def sort_columns(schema: StructType, key: Sequence[str] | None) -> list[str]:
    """The columns of the key by which rows are sorted; without a key, the first column whose bounds can be trusted."""
    columns = [field.name for field in schema.fields if prunable(field.dataType) and field.name != WEIGHT]
    return [name for name in key if name in columns] if key is not None else columns[:1]


def describe(path: Path, name: str, schema: StructType) -> StagedFile:
    """A file that was written, with what a log should say of it."""
    facts = path.stat()
    metadata = pq.read_metadata(path)
    bounds = {field.name: field.dataType for field in schema.fields if prunable(field.dataType)}
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for column, kind in bounds.items():
        found = list(_statistics(metadata, column))
        if any(each is None for each in found):
            continue
        nulls[column] = sum(each.null_count for each in found)
        known = [each for each in found if each.has_min_max]
        # A row group of NULLs alone has no bounds; one of values without bounds says that no bounds are known.
        if len(known) < sum(each.num_values > 0 for each in found) or not known:
            continue
        low = _bound(min(each.min for each in known), kind, down=True)
        high = _bound(max(each.max for each in known), kind, down=False)
        if low is not None and high is not None:
            lows[column], highs[column] = low, high
    statistics = {"numRecords": metadata.num_rows, "minValues": lows, "maxValues": highs, "nullCount": nulls}
    return StagedFile(name, facts.st_size, metadata.num_rows, int(facts.st_mtime * 1000), json.dumps(statistics))


def _statistics(metadata: pq.FileMetaData, column: str) -> Iterator[Any]:
    """The statistics of a column in every row group; None where there are none."""
    places: Mapping[str, int] = {metadata.schema.column(place).path: place for place in range(metadata.num_columns)}
    for group in range(metadata.num_row_groups):
        chunk = metadata.row_group(group).column(places[column]) if column in places else None
        yield chunk.statistics if chunk is not None and chunk.is_stats_set else None


def _bound(value: Any, kind: DataType, down: bool) -> Any:
    """A bound as a log writes it; None if it is left out."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return value if len(value.encode()) <= _TEXT else None
    if isinstance(value, datetime) and isinstance(kind, TimestampType | TimestampNTZType):
        try:
            whole = value.replace(microsecond=value.microsecond // 1000 * 1000)
            whole = whole if down or whole == value else whole + STATISTICS_STEP
        except OverflowError:
            return None
        zone = "" if isinstance(kind, TimestampNTZType) else "Z"
        moment = whole if whole.tzinfo is None else whole.astimezone(UTC).replace(tzinfo=None)
        return moment.isoformat(timespec="milliseconds") + zone
    return value.isoformat() if isinstance(value, date) else None
