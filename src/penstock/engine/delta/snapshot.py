"""A Delta table at one version: its files, its metadata, and whether its files alone are its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from pyspark.sql.types import StructType

from penstock.engine.delta.allow_list import Protocol, refusal
from penstock.engine.delta.log_entry import DataFile, FileKey, Metadata
from penstock.engine.delta.log_storage import Stamp


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A table at one version."""

    root: str
    version: int
    metadata: Metadata = field(repr=False)
    protocol: Protocol
    live: Mapping[FileKey, DataFile] = field(repr=False)
    txns: Mapping[str, int] = field(repr=False)
    committed_at: datetime | None
    stamp: Stamp | None = None
    """The identity of its commit's file, by which it differs from the same version of a table that was there before."""

    @property
    def table_id(self) -> str:
        """The identity of the table: it outlives renames, not a drop."""
        return self.metadata.table_id

    @property
    def schema(self) -> StructType:
        """The table's schema, field metadata included."""
        return self.metadata.schema

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The names of the partition columns."""
        return self.metadata.partition_columns

    @property
    def properties(self) -> Mapping[str, str]:
        """The table properties."""
        return self.metadata.properties

    @property
    def features(self) -> frozenset[str]:
        """Every table feature in force, also those that an old protocol number implies."""
        return self.protocol.features

    @cached_property
    def files(self) -> tuple[DataFile, ...]:
        """The live files."""
        return tuple(self.live.values())

    @cached_property
    def bytes(self) -> int:
        """Size of the live files."""
        return sum(file.size for file in self.files)

    @cached_property
    def rows(self) -> int | None:
        """Live rows, if every file has statistics."""
        total = 0
        for file in self.files:
            rows = file.rows
            if rows is None:
                return None
            total += rows
        return total

    @cached_property
    def slow_because(self) -> str:
        """Why a list of Parquet files would not be this table; empty if it would."""
        return refusal(self.protocol, self.schema, self.properties) or file_refusal(self.files)

    @property
    def fast(self) -> bool:
        """True if reading the listed Parquet files is reading the table."""
        return not self.slow_because

    @cached_property
    def fast_with_vectors(self) -> bool:
        """True if reading the listed Parquet files is reading the table, but for rows that deletion vectors hide."""
        plain = not refusal(self.protocol, self.schema, self.properties)
        return plain and not any(file.absolute for file in self.files)


def file_refusal(files: Iterable[DataFile]) -> str:
    """Why these files cannot be read as plain Parquet; empty if they can."""
    for file in files:
        if file.deletion_vector is not None:
            return "a file has a deletion vector"
        if file.absolute:
            return "a file lies outside the table's folder"
    return ""
