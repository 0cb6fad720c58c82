"""Where a stream table's storage stands: our newest commit of rows, and what others did since.

Commits of others are looked at here: those that move no data (OPTIMIZE, changed properties) are accepted and named,
anything else means that the stored rows are no longer ours. Commits of ours that carry no record, because they move no
data either, carry a note instead.

A new definition is part of the commit that brings its rows: it stands in the record. The same refresh sets the table's
properties to it afterwards; if it died before, the next refresh does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from deltalake import DeltaTable

from penstock.engine.delta.commit_record import USER_METADATA, CommitRecord, record_in
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.log_entry import Commit
from penstock.engine.delta.storage_schema import same_columns
from penstock.engine.write.commit_notes import configuration_note, layout_in
from penstock.engine.write.table_properties import DEFINITION_KEY, ID_KEY, KEY_KEY, ids_of
from penstock.errors import FrontierLost, StorageMissing


@dataclass(frozen=True, slots=True)
class ForeignCommit:
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
    foreign: tuple[ForeignCommit, ...] = ()
    damaged: str | None = None
    unset: Mapping[str, str] | None = None
    """Properties that are in force and that the table lacks: not yet set, or taken away by another writer."""

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


def storage_state(log: DeltaLog) -> StorageState:
    """Where a storage stands, from its log alone: nothing can be committed from here, and no handle is opened."""
    snapshot = log.snapshot()
    if not snapshot.properties.get(ID_KEY):
        raise StorageMissing(name=log.root, path=log.root, why=f"its property {ID_KEY} was removed")
    found = since_our_record(log, snapshot.version, ids_of(snapshot.properties))
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
    """Our commits of rows with their versions, newest first, as far back as no other writer has changed rows."""
    version, ids = log.latest_version(), ids_of(log.snapshot().properties)
    while True:
        found = since_our_record(log, version, ids)
        if found.damaged or found.record is None or found.record_version is None:
            return
        yield found.record_version, found.record
        if found.record.base_version is None:
            return
        version = found.record.base_version


@dataclass(slots=True)
class Found:
    """What a walk over the log has found."""

    record: CommitRecord | None
    record_version: int | None
    foreign: list[ForeignCommit]
    damaged: str | None
    schema_touched: bool
    laid_out_by: tuple[str, ...] | None = None
    defined: bool = False
    """A definition was set since our newest record."""
    defined_at: int | None = None
    """The newest commit of ours that was made with the definition in force."""
    overwritten: bool = False
    """Another writer has written the table's metadata since then."""
    lost: Mapping[str, str] | None = None
    """What is in force and was taken away by that, as by a RESTORE of a version before it."""

    @property
    def unset(self) -> Mapping[str, str] | None:
        pending = None if self.record is None or self.defined else self.record.properties
        return pending or self.lost


def since_our_record(log: DeltaLog, version: int, ids: tuple[str, ...]) -> Found:
    """Walk the log back to our newest record, judging every other commit on the way.

    A Spark commit of ours can have landed on top of a commit that it never saw; its record names the version it was
    computed from, and the walk goes on down to there.
    """
    found = Found(None, None, [], None, False)
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


def _judge(found: Found, commit: Commit, ids: tuple[str, ...]) -> None:
    note = commit.info.get(USER_METADATA)
    defines = note in {configuration_note(each, defines=True) for each in ids}
    if defines or note in {configuration_note(each) for each in ids}:
        # Below the record, a definition was in force before it.
        if found.record is None and defines:
            found.defined = True
            found.defined_at = commit.version if found.defined_at is None else found.defined_at
        return
    laid_out_by = layout_in(commit.info, ids)
    if laid_out_by is not None and not commit.moves_data:
        found.laid_out_by = found.laid_out_by or laid_out_by
        return
    operation = str(commit.operation or "unknown operation")
    found.overwritten = found.overwritten or (commit.metadata is not None and found.defined_at is None)
    if commit.moves_data:
        found.damaged = f"{operation} at version {commit.version} changed stored rows"
    else:
        found.foreign.append(ForeignCommit(commit.version, operation))
        found.schema_touched = found.schema_touched or commit.metadata is not None


def _schema_damage(log: DeltaLog, newest: int, ours: int) -> str | None:
    try:
        before, now = (log.snapshot(version).metadata.schema_json for version in (ours, newest))
    except FrontierLost as gone:
        return f"its columns at version {ours} can no longer be compared: {gone.text}"
    return None if same_columns(before, now) else "another writer changed its columns"


def _lost(log: DeltaLog, newest: int, ours: int) -> Mapping[str, str] | None:
    try:
        before, now = (log.snapshot(version).properties for version in (ours, newest))
    except FrontierLost:
        return None
    held = {key: before[key] for key in (DEFINITION_KEY, KEY_KEY) if key in before}
    return held if any(now.get(key) != value for key, value in held.items()) else None
