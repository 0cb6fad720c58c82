"""The changelog of a stream table, read back from its own commits: no Spark, no second copy of anything.

    events of a commit  =  net change of its files (`net_events`), numbered by `first_lsn` and `lsn_count` of its record

The identity of a stored row is its key, hidden or not, or all its columns. A commit that changed hidden columns only
has no events. For events that can no longer be read it raises `NotRetained`, which names the earliest position that can
be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from penstock.arguments import checked
from penstock.changes.wire.commit_changes import CommitChanges, Positions
from penstock.engine.changelog.changelog_rows import Shape
from penstock.engine.changelog.net_events import Events, net_events, whole_state
from penstock.engine.delta.commit_record import CommitRecord, record_in
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.interval import ChangeSet, ChangeSetKind, Part, Way, classify, ways
from penstock.engine.delta.log_entry import Commit, DataFile
from penstock.engine.delta.log_storage import local_path
from penstock.engine.delta.snapshot import Snapshot
from penstock.engine.delta.storage_schema import same_columns
from penstock.engine.failures.read_failure import read_failure
from penstock.engine.write.storage_state import records, storage_state
from penstock.engine.write.table_properties import ids_of
from penstock.errors import (
    FrontierLost,
    InternalError,
    NotReached,
    NotRetained,
    SourceMissing,
    StateDamaged,
    StorageError,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A commit that has events, or that at least carries a record."""

    version: int
    record: CommitRecord

    @property
    def last_lsn(self) -> int:
        """The position that the table has reached with this commit."""
        return self.record.last_lsn


@checked
class Changelog:
    """What happened to one stream table, commit by commit, as far back as its log and files go."""

    def __init__(self, name: str, log: DeltaLog) -> None:
        self.name = name
        self._log = log

    @property
    def root(self) -> str:
        """Where the table lies."""
        return self._log.root

    def latest_version(self) -> int:
        """The newest version of the table, of ours or not."""
        return self._log.latest_version()

    def definition(self) -> Definition:
        """The definition in force."""
        return Definition.from_json(storage_state(self._log).definition)

    def newest_first(self) -> Iterator[Entry]:
        """Our commits, the newest first, as far back as the log goes and no other writer has changed rows."""
        with self._understood():
            for version, record in records(self._log):
                yield Entry(version, record)

    def newest(self) -> Entry:
        """The newest commit of ours."""
        for entry in self.newest_first():
            return entry
        damaged = storage_state(self._log).damaged
        if damaged is not None:
            raise StateDamaged(name=self.name, why=damaged)
        raise NotReached(what="the first state", name=self.name, newest="none")

    def entry(self, version: int) -> Entry:
        """Our commit that made a version; `NotRetained` if the log holds no such commit any more."""
        found = self._ours(version)
        if found is None:
            raise NotRetained(what=f"version {version}", name=self.name, earliest="a later one")
        return found

    def keeps(self, version: int) -> bool:
        """False if our commit of this version, or files that its events need, are gone for ever; rows are not read.

        An error if that is unknown: the table as a whole is not there, or does not answer.
        """
        with suppress(FrontierLost, InternalError):
            entry = self._ours(version)
            if entry is not None and any(all(map(self._is_there, files)) for files in self._needed(entry)):
                return True
        # Only inside a table that is there is something gone.
        self._log.latest_version()
        return False

    def _needed(self, entry: Entry) -> Iterator[Sequence[DataFile]]:
        """The files of every way to read a commit's events."""
        if entry.record.replaces:
            yield self._laid_out(self._log.snapshot(entry.version)).files
            return
        for parts in self._ways(entry.version - 1, entry.version):
            yield [file for part in parts for file in part.files]

    def _ways(self, before: int, after: int) -> Iterator[tuple[Part, ...]]:
        """Every way to read what happened between two versions, the cheapest first."""
        change_set = classify(self._log, before, after)
        if change_set.kind is ChangeSetKind.READER:
            yield (_part(change_set, self._log.commit(after)),)
        else:
            yield from ways(self._log, change_set)

    def _is_there(self, file: DataFile) -> bool:
        path = local_path(file.path)
        if path is None:
            return True
        try:
            os.stat(path)
        except FileNotFoundError:
            return False
        except OSError as failed:
            raise read_failure(failed, self.name, file.name, local=True) from failed
        return True

    def committed_at(self, entry: Entry) -> datetime:
        """When a commit was made."""
        return self._log.commit(entry.version).committed_at or datetime.now(UTC)

    def _ours(self, version: int) -> Entry | None:
        try:
            info, ids = self._log.commit(version).info, ids_of(self._log.snapshot().properties)
        except (FrontierLost, SourceMissing):
            return None
        with self._understood():
            record = record_in(info, *ids)
        return None if record is None else Entry(version, record)

    @contextmanager
    def _understood(self) -> Iterator[None]:
        try:
            yield
        except ValueError as unknown:
            raise StorageError(detail=f"a commit of {self.name} cannot be understood: {unknown}") from unknown

    def after_version(self, version: int) -> list[Entry]:
        """Our commits after a version, oldest first; the version itself must still be readable."""
        found: list[Entry] = []
        for entry in self.newest_first():
            if entry.version <= version:
                return found[::-1]
            found.append(entry)
            base = entry.record.base_version
            if base is not None and base <= version:
                return found[::-1]
        if found and found[-1].record.base_version is None and version <= 0:
            return found[::-1]
        oldest, lsn = self._earliest()
        raise NotRetained(what=f"version {version}", name=self.name, earliest=oldest - 1, earliest_lsn=lsn)

    def after_lsn(self, lsn: int) -> list[Entry]:
        """Our commits with an event after a position, oldest first."""
        found: list[Entry] = []
        for entry in self.newest_first():
            if entry.last_lsn <= lsn:
                return found[::-1]
            if entry.record.lsn_count:
                found.append(entry)
            if entry.record.first_lsn <= lsn + 1:
                return found[::-1]
        _, oldest = self._earliest()
        raise NotRetained(what=f"LSN {lsn + 1}", name=self.name, earliest=oldest, earliest_lsn=oldest)

    def version_at(self, lsn: int) -> int:
        """The version whose commits after it hold all events after a position; the newest for none yet."""
        entries = self.after_lsn(lsn) if lsn >= 0 else []
        return entries[0].version - 1 if entries else self.latest_version()

    def at_time(self, moment: datetime) -> Entry:
        """The newest commit that stood for a moment not after this one."""
        earliest: Entry | None = None
        for earliest in self.newest_first():
            reached = earliest.record.data_timestamp
            if reached is not None and reached <= moment:
                return earliest
        first = earliest.record.data_timestamp if earliest is not None else None
        raise NotRetained(what=f"the state at {moment.isoformat()}", name=self.name, earliest=first)

    def _earliest(self, after: int = -1) -> tuple[int, int]:
        """Version and first position of the oldest readable commit after a version, which may be one still to come."""
        for entry in self._kept():
            if entry.version > after:
                return entry.version, entry.record.first_lsn
        newest = self.newest()
        return newest.version + 1, newest.last_lsn + 1

    def changes(self, entry: Entry) -> CommitChanges:
        """The events of one commit; `NotRetained` if its files are gone."""
        record = entry.record
        places = np.arange(record.first_lsn, record.first_lsn + record.lsn_count, dtype=np.int64)
        changes = self._read_changes(entry, entry.version - 1, record.replaces, record.first_lsn, places)
        if changes.events != record.lsn_count:
            raise InternalError(
                why=f"version {entry.version} of {self.name} holds {changes.events} changes, "
                f"its record counts {record.lsn_count}"
            )
        return changes

    def net(self, before: int, entries: Sequence[Entry]) -> CommitChanges:
        """What several commits together changed since version `before`; all events stand at the last position."""
        last = entries[-1]
        replaces = any(entry.record.replaces for entry in entries)
        return self._read_changes(last, before, replaces, entries[0].record.first_lsn, None)

    def whole(self, entry: Entry) -> CommitChanges:
        """All visible rows as of a commit of ours, as one event at its last position."""
        return self._read_changes(entry, None, True, entry.last_lsn, None)

    def schema(self, entry: Entry) -> pa.Schema:
        """The visible columns as of a commit of ours."""
        shape = Shape.of(self.name, self._log.snapshot(entry.version), entry.record)
        return shape.visible_rows(shape.stored.empty_table()).schema

    def key(self, entry: Entry) -> tuple[str, ...]:
        """The visible columns that identify a row as of a commit of ours; empty if there are none."""
        return Shape.of(self.name, self._log.snapshot(entry.version), entry.record).visible_key

    def snapshot(self, entry: Entry) -> pa.Table:
        """All visible rows as of a commit of ours."""
        rows = self.whole(entry).refreshed
        assert rows is not None
        return rows

    def _read_changes(
        self, entry: Entry, before: int | None, replaces: bool, first_lsn: int, places: Positions | None
    ) -> CommitChanges:
        record = entry.record
        try:
            snapshot = self._log.snapshot(entry.version)
            commit = self._log.commit(entry.version)
            shape = Shape.of(self.name, snapshot, record)
            if replaces or before is None:
                parts = whole_state(self._laid_out(snapshot), shape)
            else:
                parts = self._net(before, entry.version, shape)
        except (FrontierLost, FileNotFoundError):
            version, lsn = self._earliest(entry.version)
            what = f"version {entry.version}"
            raise NotRetained(what=what, name=self.name, earliest=version, earliest_lsn=lsn) from None
        deleted, updated = parts.deletes.num_rows, parts.now.num_rows
        if places is None:
            places = np.full(deleted + updated + parts.inserts.num_rows, entry.last_lsn, np.int64)
        return CommitChanges(
            table=self.name,
            version=entry.version,
            first_lsn=first_lsn,
            last_lsn=entry.last_lsn,
            data_timestamp=record.data_timestamp,
            committed_at=commit.committed_at or datetime.now(UTC),
            key=shape.visible_key,
            deletes=parts.deletes,
            was=parts.was,
            now=parts.now,
            inserts=parts.inserts,
            delete_lsns=places[:deleted],
            update_lsns=places[deleted : deleted + updated],
            insert_lsns=places[deleted + updated :],
            refreshed=parts.refreshed,
        )

    def _net(self, before: int, after: int, shape: Shape) -> Events:
        missing = FileNotFoundError()
        for parts in self._ways(before, after):
            try:
                return net_events(parts, shape)
            except FileNotFoundError as gone:
                missing = gone
        raise missing

    def _laid_out(self, snapshot: Snapshot) -> Snapshot:
        """The same rows as they lie in the newest version that still has them: VACUUM leaves those files longest."""
        version, newest = snapshot.version, self._log.latest_version()
        while version < newest and not (commit := self._log.commit(version + 1)).moves_data:
            moved = commit.metadata
            if moved is not None and not same_columns(snapshot.metadata.schema_json, moved.schema_json):
                break
            version += 1
        return self._log.snapshot(version)

    def _kept(self) -> Iterator[Entry]:
        """Commits with events that can still be read, oldest first."""
        found = [entry for entry in self.newest_first() if entry.record.lsn_count]
        yield from (entry for entry in reversed(found) if self.keeps(entry.version))


def _part(change_set: ChangeSet, commit: Commit) -> Part:
    """What a commit of a table with deletion vectors tells by itself: change files, or files that it only added."""
    fresh = tuple(added.file for added in commit.adds if added.data_change)
    if not commit.cdc and (commit.removes or any(file.deletion_vector is not None for file in fresh)):
        raise StorageError(detail=f"{change_set.end.root} can only be read through Spark: {change_set.reader_because}")
    return Part(commit.version - 1, commit.version, Way.COMMITS, () if commit.cdc else fresh, (), commit.cdc)
