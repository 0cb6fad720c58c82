"""A Delta table's log, read in Python: which files make up a version, and what each commit did.

    state(v)  =  newest checkpoint at or before v,  then every commit up to v, in order

A file is (path, deletion vector): the same Parquet file under another deletion vector is another file. No Spark job is
ever started here; asking for the newest version costs a few system calls. Snapshots and commits are cached under the
identity of their commit file, so that a table dropped and created again at the same place is never mistaken for the
old one.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar
from urllib.parse import unquote

import pyarrow.parquet as pq
from pyspark.sql.types import StructType

from penstock.engine.delta.allow_list import Protocol, refusal
from penstock.engine.delta.deletion_vector import DeletionVector
from penstock.engine.delta.log_storage import LogStorage, Stamp, local_path, log_storage, modified_at
from penstock.engine.failures.read_failure import UNREAD, unreachable
from penstock.errors import FrontierLost, SourceMissing, StorageUnreachable

T = TypeVar("T")

FileKey = tuple[str, str | None]
"""Path as the log spells it, and the id of the deletion vector if there is one.

The spelling counts, as it does for Spark: `p=ž` and `p=%C5%BE` are two entries, even if they mean one file.
"""

SNAPSHOTS_KEPT = 8
COMMITS_KEPT = 256
REPLAY_LIMIT = 500
"""Above this many commits after a cached snapshot, a checkpoint is likely to be the shorter way."""

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.([0-9a-f-]{36}))?\.(parquet|json)")
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
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
        """The statistics, parsed when first asked for."""
        return _parse_stats(self.stats_json)

    @property
    def rows(self) -> int | None:
        """Live rows, if the log knows."""
        rows = self.stats.rows
        return None if rows is None else rows - self.deleted_rows


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
    def is_mistold(self) -> bool:
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


class DeltaLog:
    """The log of the table at `root`; safe to share between threads.

    `SystemTrouble` if it cannot be read for the moment.
    """

    def __init__(self, root: str) -> None:
        path = local_path(root)
        self.root = root.rstrip("/") if path is None else path
        with self._reading():
            self._storage: LogStorage = log_storage(root)
        self._lock = threading.RLock()
        self._latest: int | None = None
        self._snapshots: _Cache[Snapshot] = _Cache(SNAPSHOTS_KEPT)
        self._commits: _Cache[Commit] = _Cache(COMMITS_KEPT)

    def latest_version(self) -> int:
        """The newest version; `SourceMissing` if there is no Delta table here."""
        with self._lock, self._reading():
            known = self._latest
            if known is None or self._storage.stamp(_commit_name(known)) is None:
                known = self._list_latest()
            while self._storage.stamp(_commit_name(known + 1)) is not None:
                known += 1
            self._latest = known
            return known

    def snapshot(self, version: int | None = None) -> Snapshot:
        """The table at a version (the newest by default).

        `FrontierLost` if that version cannot be rebuilt any more, `SourceMissing` if there is no table.
        """
        with self._lock, self._reading():
            if version is None:
                version = self.latest_version()
            stamp = self._storage.stamp(_commit_name(version))
            found = self._snapshots.get(version, stamp)
            if found is None:
                found = self._build(version, stamp)
                self._snapshots.put(version, stamp, found)
            return found

    def stamp(self, version: int) -> Stamp | None:
        """The identity of a commit's file, or None if there is none."""
        with self._reading():
            return self._storage.stamp(_commit_name(version))

    def commits(self, before: int, after: int) -> tuple[Commit, ...]:
        """The commits of the interval `(before, after]`, oldest first; `FrontierLost` if one of them is gone."""
        return tuple(self.commit(version) for version in range(before + 1, after + 1))

    def commit(self, version: int) -> Commit:
        """One commit; `FrontierLost` if its file is gone."""
        with self._lock, self._reading():
            name = _commit_name(version)
            stamp = self._storage.stamp(name)
            found = self._commits.get(version, stamp)
            if found is None:
                try:
                    text = self._storage.read(name)
                except FileNotFoundError:
                    raise FrontierLost(
                        source=self.root, version=version, why="its commit file is no longer in the log"
                    ) from None
                try:
                    found = self._parse_commit(version, text, stamp)
                except (ValueError, KeyError, TypeError, AttributeError) as broken:
                    # It may be mended, from a copy or by its writer: so it is tried again.
                    why = f"its log entry {version:020d}.json cannot be read ({broken})"
                    raise StorageUnreachable(name=self.root, why=why) from broken
                self._commits.put(version, stamp, found)
            return found

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except UNREAD as failed:
            raise unreachable(failed, self.root) from failed

    def _list_latest(self) -> int:
        try:
            names = self._storage.names()
        except (FileNotFoundError, NotADirectoryError):
            raise SourceMissing(source=self.root, why="there is no Delta log") from None
        versions = [int(found[1]) for name in names if (found := _COMMIT.fullmatch(name))]
        versions += [int(found[1]) for name in names if (found := _CHECKPOINT.fullmatch(name))]
        if not versions:
            raise SourceMissing(source=self.root, why="its Delta log is empty")
        return max(versions)

    def _build(self, version: int, stamp: Stamp | None) -> Snapshot:
        state = self._nearest_cached(version) or self._from_checkpoint(version)
        for commit in self.commits(state.version, version):
            state.apply(commit)
        if state.metadata is None or state.protocol is None:
            raise FrontierLost(source=self.root, version=version, why="the log holds no metadata up to there")
        committed_at = self.commit(version).committed_at if stamp is not None else None
        return Snapshot(self.root, version, state.metadata, state.protocol, state.live, dict(state.txns), committed_at)

    def _nearest_cached(self, version: int) -> _State | None:
        for held in sorted(self._snapshots.versions(), reverse=True):
            if not version - REPLAY_LIMIT <= held <= version:
                continue
            base = self._snapshots.get(held, self._storage.stamp(_commit_name(held)))
            whole = base is not None and all(
                self._storage.stamp(_commit_name(step)) is not None for step in range(held + 1, version + 1)
            )
            if base is not None and whole:
                return _State(base.version, base.metadata, base.protocol, dict(base.live), dict(base.txns))
        return None

    def _from_checkpoint(self, version: int) -> _State:
        try:
            names = self._storage.names()
        except (FileNotFoundError, NotADirectoryError):
            raise SourceMissing(source=self.root, why="there is no Delta log") from None
        if self._storage.stamp(_commit_name(version)) is None and version > self._list_latest():
            raise FrontierLost(
                source=self.root, version=version, why=f"the table is only at version {self._list_latest()}"
            )
        for at, parts in _checkpoints(names, version):
            try:
                return self._read_checkpoint(at, parts)
            except FileNotFoundError:
                continue
        return _State(-1, None, None, {}, {})

    def _read_checkpoint(self, version: int, parts: Iterable[str]) -> _State:
        state = _State(version, None, None, {}, {})
        sidecars: list[str] = []
        for part in parts:
            if part.endswith(".json"):
                for action in _lines(self._storage.read(part)):
                    self._restore(state, action)
                    if "sidecar" in action:
                        sidecars.append(action["sidecar"]["path"])
            else:
                for action in self._parquet_actions(part):
                    self._restore(state, action)
                    if action.get("sidecar"):
                        sidecars.append(action["sidecar"]["path"])
        for sidecar in sidecars:
            for action in self._parquet_actions(f"_sidecars/{unquote(sidecar)}"):
                self._restore(state, action)
        return state

    def _parquet_actions(self, name: str) -> list[dict[str, Any]]:
        file = pq.ParquetFile(self._storage.parquet(name))
        try:
            wanted = {"add", "metaData", "protocol", "txn", "sidecar"}
            # `stats_parsed` and `partitionValues_parsed` repeat what is there as text.
            leaves = [
                path
                for path in (file.schema.column(i).path for i in range(len(file.schema)))
                if path.split(".")[0] in wanted and not path.startswith(("add.stats_parsed", "add.partitionValues_"))
            ]
            rows: list[dict[str, Any]] = file.read(columns=leaves).to_pylist()
            return rows
        finally:
            file.close()

    def _restore(self, state: _State, action: Mapping[str, Any]) -> None:
        if add := action.get("add"):
            file = self._file(add)
            state.live[file.key] = file
        elif metadata := action.get("metaData"):
            state.metadata = _metadata(metadata)
        elif protocol := action.get("protocol"):
            state.protocol = _protocol(protocol)
        elif txn := action.get("txn"):
            state.txns[txn["appId"]] = txn["version"]

    def _file(self, action: Mapping[str, Any]) -> DataFile:
        name = _spelling(action["path"])
        plain = unquote(name)
        vector = action.get("deletionVector")
        return DataFile(
            path=plain if _ABSOLUTE.match(plain) else f"{self.root}/{plain}",
            size=action.get("size") or 0,
            partition=dict(action.get("partitionValues") or {}),
            stats_json=action.get("stats"),
            deletion_vector=DeletionVector.of(vector) if vector else None,
            name=name,
        )

    def _parse_commit(self, version: int, text: bytes, stamp: Stamp | None) -> Commit:
        adds: list[Added] = []
        removes: list[Removed] = []
        cdc: list[DataFile] = []
        txns: dict[str, int] = {}
        metadata: Metadata | None = None
        protocol: Protocol | None = None
        info: Mapping[str, Any] = {}
        if not text.strip():
            # What a power cut leaves of an entry: going past it would lose its rows for good.
            raise ValueError("it is empty")
        for action in _lines(text):
            if body := action.get("add"):
                adds.append(Added(self._file(body), body.get("dataChange", True)))
            elif body := action.get("remove"):
                vector = body.get("deletionVector")
                key = _spelling(body["path"]), DeletionVector.of(vector).id if vector else None
                removes.append(Removed(key, body.get("dataChange", True)))
            elif body := action.get("cdc"):
                cdc.append(self._file(body))
            elif body := action.get("metaData"):
                metadata = _metadata(body)
            elif body := action.get("protocol"):
                protocol = _protocol(body)
            elif body := action.get("txn"):
                txns[body["appId"]] = body["version"]
            elif body := action.get("commitInfo"):
                info = body
        return Commit(
            version, tuple(adds), tuple(removes), tuple(cdc), metadata, protocol, info, txns, _commit_time(info, stamp)
        )


class _State:
    """A snapshot in the making."""

    def __init__(
        self,
        version: int,
        metadata: Metadata | None,
        protocol: Protocol | None,
        live: dict[FileKey, DataFile],
        txns: dict[str, int],
    ) -> None:
        self.version = version
        self.metadata = metadata
        self.protocol = protocol
        self.live = live
        self.txns = txns

    def apply(self, commit: Commit) -> None:
        for removed in commit.removes:
            self.live.pop(removed.key, None)
        for added in commit.adds:
            self.live[added.file.key] = added.file
        self.metadata = commit.metadata or self.metadata
        self.protocol = commit.protocol or self.protocol
        self.txns.update(commit.txns)
        self.version = commit.version


class _Cache(Generic[T]):
    """The most recently used values per version, each valid only while its commit file is the same."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: OrderedDict[int, tuple[Stamp, T]] = OrderedDict()

    def versions(self) -> list[int]:
        return list(self._held)

    def get(self, version: int, stamp: Stamp | None) -> T | None:
        held = self._held.get(version)
        if held is None or stamp is None or held[0] != stamp:
            return None
        self._held.move_to_end(version)
        return held[1]

    def put(self, version: int, stamp: Stamp | None, value: T) -> None:
        if stamp is None:
            return
        self._held[version] = stamp, value
        self._held.move_to_end(version)
        while len(self._held) > self._limit:
            self._held.popitem(last=False)


def file_refusal(files: Iterable[DataFile]) -> str:
    """Why these files cannot be read as plain Parquet; empty if they can."""
    for file in files:
        if file.deletion_vector is not None:
            return "a file has a deletion vector"
        if file.absolute:
            return "a file lies outside the table's folder"
    return ""


def _spelling(path: str) -> str:
    return _ESCAPE.sub(lambda found: found[0].upper(), path) if "%" in path else path


def _commit_name(version: int) -> str:
    return f"{version:020d}.json"


def _checkpoints(names: Iterable[str], version: int) -> list[tuple[int, list[str]]]:
    """Complete checkpoints at or before a version, newest first."""
    single: list[tuple[int, list[str]]] = []
    many: dict[tuple[int, int], list[str]] = {}
    for name in names:
        found = _CHECKPOINT.fullmatch(name)
        if not found or int(found[1]) > version:
            continue
        if found[2]:
            many.setdefault((int(found[1]), int(found[3])), []).append(name)
        else:
            single.append((int(found[1]), [name]))
    whole = [(at, sorted(parts)) for (at, count), parts in many.items() if len(parts) == count]
    return sorted(single + whole, key=lambda found: found[0], reverse=True)


def _lines(text: bytes) -> Iterable[dict[str, Any]]:
    return (json.loads(line) for line in text.splitlines() if line.strip())


def _metadata(body: Mapping[str, Any]) -> Metadata:
    return Metadata(
        table_id=body["id"],
        schema_json=body["schemaString"],
        partition_columns=tuple(body.get("partitionColumns") or ()),
        properties=dict(body.get("configuration") or {}),
        name=body.get("name"),
        description=body.get("description"),
    )


def _protocol(body: Mapping[str, Any]) -> Protocol:
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


@lru_cache(maxsize=256)
def _parse_schema(text: str) -> StructType:
    return StructType.fromJson(json.loads(text))


@lru_cache(maxsize=16384)
def _parse_stats(text: str | None) -> FileStats:
    # Decimals go through text: as doubles they would be wrong beyond 15 digits.
    parse: Callable[[str], Any] = lambda found: json.loads(found, parse_float=Decimal)  # noqa: E731
    body = parse(text) if text else {}
    return FileStats(
        body.get("numRecords"),
        body.get("minValues") or {},
        body.get("maxValues") or {},
        body.get("nullCount") or {},
    )
