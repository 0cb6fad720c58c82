"""A stream table's own Delta table: where it lies, what it promises, and the one state a refresh starts from.

A refresh begins with `pin`: one handle, one version, the newest commit record and transaction number as of exactly that
version. Whatever is committed later is committed on that handle, so anything that happened in between is a conflict and
never a surprise. Commits of others since our newest one are looked at here: those that move no data (OPTIMIZE, changed
properties) are accepted and named, anything else means that the stored rows are no longer ours. Commits of ours that
carry no record, because they move no data either, carry a note instead.

A new definition is part of the commit that brings its rows: it stands in the record. Setting the table's properties to
it comes afterwards, and is made up for by the next refresh if it did not happen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import CommitProperties, DeltaTable, Schema, TableFeatures, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, DeltaProtocolError, TableNotFoundError

from penstock.engine.delta.commit_record import USER_METADATA, CommitRecord, record_in
from penstock.engine.delta.delta_log import Commit, DeltaLog
from penstock.engine.delta.log_storage import local_path, log_storage
from penstock.engine.delta.storage_schema import (
    Fields,
    arrow_schema,
    fields_of,
    holds,
    nullable,
    only_in_maps,
    require_storable,
    same_columns,
)
from penstock.engine.failures.spark_errors import system_error
from penstock.errors import CommitConflict, FrontierLost, InternalError, StorageError, StorageMissing, TableExists
from penstock.names import HIDDEN

ID_KEY = "penstock.id"
"""Configuration key of the stream table's id, which is also the app id of its transactions."""

FORMER_IDS_KEY = "penstock.former_ids"
"""Configuration key of the ids that the commits of the table's originals carry, JSON list; only copies have it."""

DEFINITION_KEY = "penstock.definition"
"""Configuration key of the definition, JSON text."""

KEY_KEY = "penstock.key"
"""Configuration key of the layout's key: a JSON list of column names, or null for a bag."""

TARGET_FILE_SIZE = 32 * 1024 * 1024
"""A merge rewrites whole files: small enough that a clustered change rewrites little, large enough to scan well."""

DELETION_VECTORS = "delta.enableDeletionVectors"
FILE_SIZE = "delta.targetFileSize"
CHECKPOINT_INTERVAL = "delta.checkpointInterval"

_DEFAULTS = {
    "delta.enableChangeDataFeed": "true",
    DELETION_VECTORS: "false",
    FILE_SIZE: str(TARGET_FILE_SIZE),
    # Spark writes a checkpoint every 10 commits by default, and each costs seconds.
    CHECKPOINT_INTERVAL: "100",
}
_WRITABLE = frozenset(
    {"invariants", "appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "timestampNtz"}
)
_ONLY_VECTORS = "table features deletionVectors"
"""Why delta-rs may not write a table that is otherwise like any other."""

_CONFIGURATION_NOTE = "penstock configuration"
_LAYOUT_NOTE = "penstock layout"


@dataclass(frozen=True, slots=True)
class Layout:
    """How result rows are stored.

    `schema_json` is the Spark StructType JSON of all storage columns, hidden ones included. `key` names the storage
    columns that are matched null-safely; () is the single row of a global aggregate, None a bag with `__ps_weight`.
    """

    schema_json: str
    key: tuple[str, ...] | None

    @property
    def fields(self) -> Fields:
        """Column name → Delta type, in storage order."""
        return fields_of(self.schema_json)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A commit on the table that is not a commit of rows by us and moved no data."""

    version: int
    operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageState:
    """Where a stream table's storage stands: our newest record, and what others did since.

    `damaged` says why the stored rows can no longer be trusted, or is None.
    """

    version: int
    table_id: str
    configuration: Mapping[str, str]
    record: CommitRecord | None
    record_version: int | None
    foreign: tuple[Foreign, ...] = ()
    damaged: str | None = None
    unset: Mapping[str, str] | None = None
    """Properties that are in force and that the table does not have: not yet, or because somebody took them away."""

    @property
    def definition(self) -> str:
        """The definition in force, JSON text; KeyError if there is none."""
        return (self.unset or self.configuration)[DEFINITION_KEY]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin(StorageState):
    """The state of a stream table that one refresh starts from; good for one commit.

    `not_fast` says why delta-rs may not write this table, or is None; `marks` is True if what stands in its way is
    deletion vectors alone, on a disk where we can write them ourselves.
    """

    transaction: int | None
    handle: DeltaTable
    not_fast: str | None = None
    marks: bool = False
    laid_out_by: tuple[str, ...] | None = None
    """The columns that the files were sorted by since our newest record, or None if they were not."""

    @property
    def next_transaction(self) -> int:
        """The transaction number of the next commit."""
        return 0 if self.transaction is None else self.transaction + 1


class Storage:
    """One stream table's Delta table at a folder."""

    def __init__(self, path: str, handle: DeltaTable) -> None:
        self.path = path
        self._handle: DeltaTable | None = handle
        self.table_id = str(handle.metadata().id)

    @classmethod
    def create(cls, path: str | Path, layout: Layout, configuration: dict[str, str]) -> Storage:
        """Create the table, empty; TableExists if there is one, UnstorableColumn if it cannot hold a column.

        `configuration` must hold `penstock.id`; nullability in the layout's schema is dropped.
        """
        where = _location(path)
        require_storable(layout.schema_json)
        if not configuration.get(ID_KEY):
            raise InternalError(why=f"a stream table's storage needs {ID_KEY} in its configuration")
        properties = {**_DEFAULTS, **configuration, **key_configuration(layout.key)}
        with translated(where):
            if DeltaTable.is_deltatable(where):
                raise TableExists(name=where, kind="Delta table")
            if "://" not in where:
                Path(where).mkdir(parents=True, exist_ok=True)
            if hides_timestamp_ntz(layout.schema_json):
                handle = _created_in_two_steps(where, layout.schema_json, properties)
            else:
                handle = _created(where, nullable(layout.schema_json), properties)
        return cls(where, handle)

    @classmethod
    def open(cls, path: str | Path, handle: DeltaTable | None = None) -> Storage:
        """Open the table, by a handle on it if there is one; StorageMissing if there is none, or if it is not ours."""
        where = _location(path)
        storage = cls(where, handle or _opened(where))
        if ID_KEY not in storage.configuration:
            raise StorageMissing(name=where, path=where, why=f"the Delta table there has no {ID_KEY}: it is not ours")
        return storage

    @property
    def stream_table_id(self) -> str:
        """The id of the stream table, and the app id of its transactions."""
        return self.configuration[ID_KEY]

    @property
    def version(self) -> int:
        """The newest version, asked of the log."""
        return self._newest().version()

    @property
    def configuration(self) -> dict[str, str]:
        """The table properties at the newest version."""
        return dict(self._newest().metadata().configuration)

    @property
    def layout(self) -> Layout:
        """The layout at the newest version."""
        return layout_of(self._newest())

    def set_configuration(self, changes: dict[str, str], at: int | None = None) -> None:
        """Set table properties, in a commit of its own that carries no record.

        CommitConflict if the table is no longer `at` the version that the changes were made from.
        """
        handle = _opened(self.path)
        if at is not None and handle.version() != at:
            raise CommitConflict(name=self.path, why=f"it is at version {handle.version()}, not {at}")
        note = _noted(configuration_note(self.stream_table_id, defines=DEFINITION_KEY in changes))
        with translated(self.path):
            handle.alter.set_table_properties(changes, raise_if_not_exists=False, commit_properties=note)

    def pin(self, log: DeltaLog | None = None) -> Pin:
        """Say where the table stands, with a handle at that version which is the pin's alone; `log` spares reading."""
        handle, self._handle = self._newest(), None
        if str(handle.metadata().id) != self.table_id:
            raise StorageMissing(name=self.path, path=self.path, why="another Delta table has taken its place")
        configuration = handle.metadata().configuration
        stream_table_id = configuration.get(ID_KEY)
        if not stream_table_id:
            raise StorageMissing(name=self.path, path=self.path, why=f"its property {ID_KEY} was removed")
        version = handle.version()
        not_fast = not_writable_by_delta_rs(handle)
        found = _since_our_record(log or DeltaLog(self.path), version, ids_of(configuration))
        return Pin(
            version=version,
            table_id=self.table_id,
            configuration=configuration,
            record=found.record,
            record_version=found.record_version,
            transaction=handle.transaction_version(stream_table_id),
            handle=handle,
            foreign=tuple(reversed(found.foreign)),
            damaged=found.damaged,
            unset=found.unset,
            not_fast=not_fast,
            marks=not_fast == _ONLY_VECTORS and local_path(self.path) is not None,
            laid_out_by=found.laid_out_by,
        )

    def _newest(self) -> DeltaTable:
        if self._handle is None:
            self._handle = _opened(self.path)
            return self._handle
        try:
            with translated(self.path):
                self._handle.update_incremental()
        except StorageError:
            self._handle = _opened(self.path)
        return self._handle


def storage_state(log: DeltaLog) -> StorageState:
    """Where a storage stands, from its log alone: nothing can be committed from here, and no handle is opened."""
    snapshot = log.snapshot()
    if not snapshot.properties.get(ID_KEY):
        raise StorageMissing(name=log.root, path=log.root, why=f"its property {ID_KEY} was removed")
    found = _since_our_record(log, snapshot.version, ids_of(snapshot.properties))
    return StorageState(
        version=snapshot.version,
        table_id=snapshot.table_id,
        configuration=snapshot.properties,
        record=found.record,
        record_version=found.record_version,
        foreign=tuple(reversed(found.foreign)),
        damaged=found.damaged,
        unset=found.unset,
    )


def records(log: DeltaLog) -> Iterator[tuple[int, CommitRecord]]:
    """Our commits of rows with their versions, newest first, as far back as nobody else has changed rows."""
    version, ids = log.latest_version(), ids_of(log.snapshot().properties)
    while True:
        found = _since_our_record(log, version, ids)
        if found.damaged or found.record is None or found.record_version is None:
            return
        yield found.record_version, found.record
        if found.record.base_version is None:
            return
        version = found.record.base_version


def ids_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The id of a stream table and those that it had in the warehouses it was copied from, newest first."""
    return properties.get(ID_KEY, ""), *json.loads(properties.get(FORMER_IDS_KEY, "[]"))


def key_configuration(key: tuple[str, ...] | None) -> dict[str, str]:
    """The table property that holds a layout's key, for `set_configuration` when a new definition changes it."""
    return {KEY_KEY: json.dumps(key)}


def layout_of(handle: DeltaTable) -> Layout:
    """The layout that a handle's version has."""
    return Layout(str(handle.schema().to_json()), layout_key(handle.metadata().configuration))


def layout_key(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    """The key that table properties name, or None for a bag."""
    key = json.loads(properties.get(KEY_KEY, "null"))
    return None if key is None else tuple(key)


def read_commit(path: str, version: int) -> list[dict[str, Any]] | None:
    """The actions of one commit, or None if its log entry is gone."""
    try:
        text = log_storage(path).read(f"{version:020d}.json")
    except FileNotFoundError:
        return None
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def commit_info(actions: list[dict[str, Any]]) -> dict[str, Any]:
    """The `commitInfo` among the actions of a commit, or an empty one."""
    return next((action["commitInfo"] for action in actions if "commitInfo" in action), {})


def moves_data(actions: list[dict[str, Any]]) -> bool:
    """True if the commit added, removed or rewrote rows (and did not just lay them out anew)."""
    return any(
        kind == "cdc" or (kind in ("add", "remove") and body.get("dataChange", True))
        for action in actions
        for kind, body in action.items()
    )


def declare_timestamp_ntz(handle: DeltaTable, stream_table_id: str) -> None:
    """Declare the feature for timestamps without zone in a commit of its own, on this handle.

    Needed before an overwrite brings the first such column: Spark refuses to add the feature by itself. The features
    that the old protocol number stood for are named too, because delta-rs would drop them.
    """
    handle.alter.add_feature(
        [
            TableFeatures.TimestampWithoutTimezone,
            TableFeatures.ChangeDataFeed,
            TableFeatures.Invariants,
            TableFeatures.AppendOnly,
        ],
        allow_protocol_versions_increase=True,
        commit_properties=_configuration_note(stream_table_id),
    )


def hides_timestamp_ntz(schema_json: str) -> bool:
    """True if timestamps without zone occur inside maps only, where delta-rs forgets to declare their table feature."""
    kinds = [kind for kind in fields_of(schema_json).values() if holds(kind, "timestamp_ntz")]
    return bool(kinds) and all(only_in_maps(kind, "timestamp_ntz") for kind in kinds)


def not_writable_by_delta_rs(handle: DeltaTable) -> str | None:
    """Why delta-rs must not write this table, or None; by allow-list, so what is not known is refused."""
    protocol = handle.protocol()
    features = set(protocol.writer_features or ()) | set(protocol.reader_features or ())
    if protocol.min_reader_version not in (1, 3) or protocol.min_writer_version not in (1, 2, 3, 4, 7):
        return f"protocol ({protocol.min_reader_version}, {protocol.min_writer_version})"
    # delta-rs itself adds this feature when it sets a property of a table with timestamps without zone; it concerns
    # columns of that type only.
    if "variantType" in features and not any(holds(kind, "variant") for kind in layout_of(handle).fields.values()):
        features.discard("variantType")
    # A table that had deletion vectors keeps the feature for the sake of its older versions.
    if "deletionVectors" in features and not _has_deletion_vectors(handle):
        features.discard("deletionVectors")
    unknown = sorted(features - _WRITABLE)
    return f"table features {', '.join(unknown)}" if unknown else None


def _has_deletion_vectors(handle: DeltaTable) -> bool:
    """True if writers of the table may leave deletion vectors, or a live file has one."""
    if handle.metadata().configuration.get(DELETION_VECTORS, "false").lower() == "true":
        return True
    snapshot = DeltaLog(_location(handle.table_uri)).snapshot(handle.version())
    return any(file.deletion_vector for file in snapshot.files)


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Errors of delta-rs as ours: CommitConflict for a lost race, StorageMissing for no table, SystemTrouble for a full
    disk and the like, StorageError else.
    """
    try:
        yield
    except CommitFailedError as lost:
        _raise_trouble(lost, name)
        if "Unsupported" in str(lost):
            raise StorageError(detail=f"delta-rs cannot write {name}: {lost}") from lost
        raise CommitConflict(name=name, why=str(lost)) from lost
    except TableNotFoundError as missing:
        raise StorageMissing(name=name, path=name, why=str(missing)) from missing
    except (DeltaError, DeltaProtocolError, OSError, ValueError, MemoryError) as failed:
        _raise_trouble(failed, name)
        raise StorageError(detail=f"delta-rs failed on {name}: {failed}") from failed
    except BaseException as panic:
        # A panic in Rust arrives as a child of BaseException, which `except Exception` would let through.
        if type(panic).__name__ != "PanicException":
            raise
        raise StorageError(detail=f"delta-rs panicked on {name}: {panic}") from panic


def _raise_trouble(error: Exception, name: str) -> None:
    trouble = system_error(error, name)
    if trouble is not None:
        raise trouble from error


@dataclass(slots=True)
class _Found:
    record: CommitRecord | None
    record_version: int | None
    foreign: list[Foreign]
    damaged: str | None
    schema_touched: bool
    laid_out_by: tuple[str, ...] | None = None
    defined: bool = False
    """A definition was set since our newest record."""
    defined_at: int | None = None
    """The newest commit of ours that was made with the definition in force."""
    overwritten: bool = False
    """Somebody wrote the table's metadata since then."""
    lost: Mapping[str, str] | None = None
    """What is in force and was taken away by that, as by a RESTORE of a version before it."""

    @property
    def unset(self) -> Mapping[str, str] | None:
        pending = None if self.record is None or self.defined else self.record.properties
        return pending or self.lost


def _since_our_record(log: DeltaLog, version: int, ids: tuple[str, ...]) -> _Found:
    """Walk the log back to our newest record, judging every other commit on the way.

    A Spark commit of ours can have landed on top of a commit that it never saw; its record names the version it was
    computed from, and the walk goes on down to there.
    """
    found = _Found(None, None, [], None, False)
    newest = version
    stop = 0
    while version > stop:
        try:
            commit = log.commit(version)
        except FrontierLost:
            found.damaged = found.damaged or f"the log entry of version {version} is gone"
            return found
        record = record_in(commit.info, *ids) if found.record is None else None
        if record is not None:
            found.record, found.record_version = record, version
            found.defined_at = version if found.defined_at is None else found.defined_at
            stop = version - 1 if record.base_version is None else record.base_version
        else:
            _judge(found, commit, ids)
        version -= 1
    if found.schema_touched and found.damaged is None:
        found.damaged = _schema_damage(log, newest, found.record_version or 0)
    if found.overwritten and found.defined_at is not None:
        found.lost = _lost(log, newest, found.defined_at)
    return found


def _judge(found: _Found, commit: Commit, ids: tuple[str, ...]) -> None:
    note = commit.info.get(USER_METADATA)
    defines = note in {configuration_note(each, defines=True) for each in ids}
    if defines or note in {configuration_note(each) for each in ids}:
        # Below the record, a definition was in force before it.
        if found.record is None and defines:
            found.defined = True
            found.defined_at = commit.version if found.defined_at is None else found.defined_at
        return
    laid_out_by = _layout_in(commit.info, ids)
    if laid_out_by is not None and not commit.moves_data:
        found.laid_out_by = found.laid_out_by or laid_out_by
        return
    operation = str(commit.operation or "unknown operation")
    found.overwritten = found.overwritten or (commit.metadata is not None and found.defined_at is None)
    if commit.moves_data:
        found.damaged = f"{operation} at version {commit.version} changed stored rows"
    else:
        found.foreign.append(Foreign(commit.version, operation))
        found.schema_touched = found.schema_touched or commit.metadata is not None


def _created(where: str, schema_json: str, properties: dict[str, str]) -> DeltaTable:
    schema = Schema.from_json(schema_json)
    return DeltaTable.create(where, schema, configuration=properties, raise_if_key_not_exists=False)


def _created_in_two_steps(where: str, schema_json: str, properties: dict[str, str]) -> DeltaTable:
    """Create with a plain column of the type, which brings the feature in, and take that column away again."""
    wanted = json.loads(nullable(schema_json))
    stand_in = {"name": f"{HIDDEN}stand_in", "type": "timestamp_ntz", "nullable": True, "metadata": {}}
    handle = _created(where, json.dumps({**wanted, "fields": [*wanted["fields"], stand_in]}), properties)
    write_deltalake(
        handle,
        arrow_schema(schema_json).empty_table(),
        mode="overwrite",
        schema_mode="overwrite",
        commit_properties=_configuration_note(properties[ID_KEY]),
    )
    return handle


def configuration_note(stream_table_id: str, defines: bool = False) -> str:
    """What a commit of ours that only sets table properties says of itself, and whether a definition is among them."""
    return json.dumps({_CONFIGURATION_NOTE: stream_table_id, **({"defines": True} if defines else {})})


def layout_note(stream_table_id: str, columns: Iterable[str]) -> str:
    """What a commit of ours that only lays the files out anew says of itself."""
    return json.dumps({_LAYOUT_NOTE: stream_table_id, "columns": list(columns)})


def _configuration_note(stream_table_id: str) -> CommitProperties:
    return _noted(configuration_note(stream_table_id))


def _noted(note: str) -> CommitProperties:
    return CommitProperties(custom_metadata={USER_METADATA: note}, max_commit_retries=0)


def _layout_in(info: Mapping[str, Any], ids: tuple[str, ...]) -> tuple[str, ...] | None:
    """The columns in a layout note of this stream table; None if the commit carries none."""
    text = info.get(USER_METADATA)
    if not isinstance(text, str) or _LAYOUT_NOTE not in text:
        return None
    try:
        told = json.loads(text)
    except ValueError:
        return None
    ours = isinstance(told, dict) and told.get(_LAYOUT_NOTE) in ids
    return tuple(told.get("columns", ())) if ours else None


def _schema_damage(log: DeltaLog, newest: int, ours: int) -> str | None:
    try:
        before, now = (log.snapshot(version).metadata.schema_json for version in (ours, newest))
    except FrontierLost as gone:
        return f"its columns at version {ours} can no longer be compared: {gone.text}"
    return None if same_columns(before, now) else "its columns were changed by somebody else"


def _lost(log: DeltaLog, newest: int, ours: int) -> Mapping[str, str] | None:
    try:
        before, now = (log.snapshot(version).properties for version in (ours, newest))
    except FrontierLost:
        return None
    held = {key: before[key] for key in (DEFINITION_KEY, KEY_KEY) if key in before}
    return held if any(now.get(key) != value for key, value in held.items()) else None


def _opened(path: str) -> DeltaTable:
    try:
        with translated(path):
            return DeltaTable(path)
    except StorageMissing:
        raise
    except StorageError as failed:
        if "://" not in path and not (Path(path) / "_delta_log").is_dir():
            raise StorageMissing(name=path, path=path, why="there is no Delta table") from failed
        raise


def _location(path: str | Path) -> str:
    text = str(path)
    return local_path(text) or text.rstrip("/")
