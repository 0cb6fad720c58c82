"""One entry of a Delta log: the actions in its JSON lines, and the commit that they are together.

    file  =  (path, deletion vector)

The same Parquet file under another deletion vector is another file. Checkpoints hold the same actions, so their files
and metadata are read here too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

from pyspark.sql.types import StructType

from penstock.engine.delta.allow_list import Protocol
from penstock.engine.delta.deletion_vector import DeletionVector
from penstock.engine.delta.log_storage import Stamp, modified_at

FileKey = tuple[str, str | None]
"""Path as the log spells it, and the id of the deletion vector if there is one.

The spelling counts, as it does for Spark: `p=ž` and `p=%C5%BE` are two entries, even if they mean one file.
"""

STATISTICS_STEP: Final = timedelta(milliseconds=1)
"""Writers cut moments in statistics to whole milliseconds, so a stored value can lie so far outside its bounds."""

_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
_UNREAD: Final = -1
# Decimals go through text: as doubles they would be wrong beyond 15 digits.
_STATISTICS = json.JSONDecoder(parse_float=Decimal)
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True, slots=True)
class FileStats:
    """What the log says about the values in a file: raw JSON values, decimals exact."""

    rows: int | None
    low: Mapping[str, Any]
    high: Mapping[str, Any]
    nulls: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file as a log entry names it; equal if path and deletion vector are."""

    path: str
    """Full path as Spark takes it: root joined, unquoted once."""
    size: int = field(compare=False)
    partition: Mapping[str, str | None] = field(compare=False)
    """Partition values as the log writes them; NULL is None. Type them by the schema."""
    stats_json: str | None = field(default=None, compare=False, repr=False)
    deletion_vector: DeletionVector | None = None
    name: str = field(default="", compare=False, repr=False)
    """The path as the log spells it."""
    _rows: int | None = field(default=_UNREAD, init=False, compare=False, repr=False)

    @property
    def key(self) -> FileKey:
        """What identifies this file within its table."""
        return self.name, None if self.deletion_vector is None else self.deletion_vector.id

    @property
    def deleted_rows(self) -> int:
        """Rows that are in the file and that its deletion vector hides."""
        return 0 if self.deletion_vector is None else self.deletion_vector.cardinality

    @property
    def absolute(self) -> bool:
        """True if the entry points outside the table's folder (a shallow clone)."""
        return _ABSOLUTE.match(self.name) is not None

    @property
    def stats(self) -> FileStats:
        """The statistics, parsed when asked for: to keep them with every file would take twice the room of the rest."""
        return _parse_stats(self.stats_json)

    @property
    def rows(self) -> int | None:
        """Live rows, if the log knows. Counted over all files of a table, so this one figure is kept."""
        if self._rows == _UNREAD:
            rows = self.stats.rows
            object.__setattr__(self, "_rows", None if rows is None else rows - self.deleted_rows)
        return self._rows


@dataclass(frozen=True, slots=True)
class Added:
    """An `add` action."""

    file: DataFile
    data_change: bool


@dataclass(frozen=True, slots=True)
class Removed:
    """A `remove` action."""

    key: FileKey
    data_change: bool


@dataclass(frozen=True, slots=True)
class Metadata:
    """A `metaData` action: what the table is."""

    table_id: str
    schema_json: str
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]
    name: str | None = None
    description: str | None = None

    @property
    def schema(self) -> StructType:
        """The schema as Spark knows it, field metadata included."""
        return _parse_schema(self.schema_json)


@dataclass(frozen=True, slots=True)
class Commit:
    """One version of the log, parsed."""

    version: int
    adds: tuple[Added, ...]
    removes: tuple[Removed, ...]
    cdc: tuple[DataFile, ...]
    metadata: Metadata | None
    protocol: Protocol | None
    info: Mapping[str, Any]
    txns: Mapping[str, int]
    committed_at: datetime | None

    @property
    def operation(self) -> str | None:
        """The writer's word for what it did."""
        return self.info.get("operation")

    @property
    def may_lack_changes(self) -> bool:
        """True if the commit's change files may lack rows: those of delta-rs's UPDATE do (1.6.6 drops new images)."""
        return self.operation == "UPDATE" and str(self.info.get("engineInfo", "")).startswith("delta-rs")

    @property
    def moves_data(self) -> bool:
        """True if the commit added, removed or rewrote rows (and did not just lay them out anew)."""
        moved = any(each.data_change for each in self.adds) or any(each.data_change for each in self.removes)
        return bool(self.cdc) or moved

    @property
    def user_metadata(self) -> str | None:
        """The text that the writer attached."""
        return self.info.get("userMetadata")


def entry_name(version: int) -> str:
    """The name of a version's entry in the log's folder."""
    return f"{version:020d}.json"


def actions(text: bytes) -> Iterator[dict[str, Any]]:
    """The actions in the text of an entry, or of a checkpoint in JSON."""
    return (json.loads(line) for line in text.splitlines() if line.strip())


def read_entry(root: str, version: int, text: bytes, stamp: Stamp | None) -> Commit:
    """The commit that an entry's text describes; ValueError, KeyError, TypeError or AttributeError if it is broken."""
    adds: list[Added] = []
    removes: list[Removed] = []
    cdc: list[DataFile] = []
    txns: dict[str, int] = {}
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    info: Mapping[str, Any] = {}
    if not text.strip():
        # A power cut can leave an empty entry: to go past it would lose its rows for good.
        raise ValueError("it is empty")
    for action in actions(text):
        if body := action.get("add"):
            adds.append(Added(data_file(root, body), body.get("dataChange", True)))
        elif body := action.get("remove"):
            vector = body.get("deletionVector")
            key = _spelling(body["path"]), DeletionVector.of(vector).id if vector else None
            removes.append(Removed(key, body.get("dataChange", True)))
        elif body := action.get("cdc"):
            cdc.append(data_file(root, body))
        elif body := action.get("metaData"):
            metadata = read_metadata(body)
        elif body := action.get("protocol"):
            protocol = read_protocol(body)
        elif body := action.get("txn"):
            txns[body["appId"]] = body["version"]
        elif body := action.get("commitInfo"):
            info = body
    return Commit(
        version, tuple(adds), tuple(removes), tuple(cdc), metadata, protocol, info, txns, _commit_time(info, stamp)
    )


def data_file(root: str, action: Mapping[str, Any]) -> DataFile:
    """The file that an `add` or `cdc` action names, in the table at a root."""
    name = _spelling(action["path"])
    plain = unquote(name)
    vector = action.get("deletionVector")
    return DataFile(
        path=plain if _ABSOLUTE.match(plain) else f"{root}/{plain}",
        size=action.get("size") or 0,
        partition=dict(action.get("partitionValues") or {}),
        stats_json=action.get("stats"),
        deletion_vector=DeletionVector.of(vector) if vector else None,
        name=name,
    )


def read_metadata(body: Mapping[str, Any]) -> Metadata:
    """What a `metaData` action says."""
    return Metadata(
        table_id=body["id"],
        schema_json=body["schemaString"],
        partition_columns=tuple(body.get("partitionColumns") or ()),
        properties=dict(body.get("configuration") or {}),
        name=body.get("name"),
        description=body.get("description"),
    )


def read_protocol(body: Mapping[str, Any]) -> Protocol:
    """What a `protocol` action says."""
    return Protocol(
        reader=body["minReaderVersion"],
        writer=body["minWriterVersion"],
        listed=frozenset(body.get("readerFeatures") or ()) | frozenset(body.get("writerFeatures") or ()),
    )


def _commit_time(info: Mapping[str, Any], stamp: Stamp | None) -> datetime | None:
    """As Delta has it: the time in the commit if the table keeps one, else the time of its file."""
    if (inside := info.get("inCommitTimestamp")) is not None:
        return datetime.fromtimestamp(inside / 1000, UTC)
    return None if stamp is None else modified_at(stamp)


def _spelling(path: str) -> str:
    return _ESCAPE.sub(lambda found: found[0].upper(), path) if "%" in path else path


@lru_cache(maxsize=256)
def _parse_schema(text: str) -> StructType:
    return StructType.fromJson(json.loads(text))


@lru_cache(maxsize=16384)
def _parse_stats(text: str | None) -> FileStats:
    body = _STATISTICS.decode(text) if text else {}
    return FileStats(
        body.get("numRecords"),
        body.get("minValues") or {},
        body.get("maxValues") or {},
        body.get("nullCount") or {},
    )
