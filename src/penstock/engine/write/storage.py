"""A stream table's own Delta table: created, opened, and pinned to the one state that a refresh starts from.

A refresh begins with `pin`: one handle, one version, the newest commit record and transaction number as of exactly that
version. The refresh commits on that handle, so anything that happened in between is a conflict and never a surprise.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deltalake import DeltaTable

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.log_entry import Commit
from penstock.engine.delta.log_storage import local_path, location
from penstock.engine.write.commit_notes import configuration_note, with_note
from penstock.engine.write.create_table import create_table
from penstock.engine.write.delta_rs_errors import translated
from penstock.engine.write.delta_rs_limits import ONLY_VECTORS, not_writable_by_delta_rs
from penstock.engine.write.storage_state import Pin, since_our_record
from penstock.engine.write.table_properties import DEFINITION_KEY, ID_KEY, Layout, ids_of
from penstock.errors import CommitConflict, FrontierLost, StorageError, StorageMissing
from penstock.failpoints import Failpoint, reach


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
        where = location(str(path))
        storage = cls(where, create_table(where, layout, configuration))
        reach(Failpoint.STORAGE_MADE)
        return storage

    @classmethod
    def open(cls, path: str | Path, handle: DeltaTable | None = None) -> Storage:
        """Open the table, by a handle on it if there is one; StorageMissing if there is none, or if it is not ours."""
        where = location(str(path))
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

    def commit(self, version: int) -> Commit | None:
        """One commit of the table; None if its log entry is gone."""
        try:
            return DeltaLog(self.path).commit(version)
        except FrontierLost:
            return None

    def commits_after(self, version: int) -> Iterator[Commit]:
        """The commits after a version up to the newest, oldest first; StorageError if one is gone."""
        for each in range(version + 1, self.version + 1):
            landed = self.commit(each)
            if landed is None:
                raise StorageError(detail=f"the log entry of version {each} of {self.path} is gone")
            yield landed

    def require_at(self, version: int) -> None:
        """CommitConflict if the table is at another version by now."""
        newest = self.version
        if newest != version:
            raise CommitConflict(name=self.path, why=f"it moved from version {version} to {newest}")

    def set_configuration(self, changes: dict[str, str], at: int | None = None) -> None:
        """Set table properties, in a commit of its own that carries no record.

        CommitConflict if the table is no longer `at` the version that the changes were made from.
        """
        handle = _opened(self.path)
        if at is not None and handle.version() != at:
            raise CommitConflict(name=self.path, why=f"it is at version {handle.version()}, not {at}")
        note = with_note(configuration_note(self.stream_table_id, defines=DEFINITION_KEY in changes))
        with translated(self.path):
            handle.alter.set_table_properties(changes, raise_if_not_exists=False, commit_properties=note)
        reach(Failpoint.DEFINITION_SET)

    def pin(self, log: DeltaLog | None = None) -> Pin:
        """Pin where the table stands, with a handle at that version that only the pin uses; `log` spares reading."""
        handle, self._handle = self._newest(), None
        if str(handle.metadata().id) != self.table_id:
            raise StorageMissing(name=self.path, path=self.path, why="another Delta table has taken its place")
        configuration = handle.metadata().configuration
        stream_table_id = configuration.get(ID_KEY)
        if not stream_table_id:
            raise StorageMissing(name=self.path, path=self.path, why=f"its property {ID_KEY} was removed")
        version = handle.version()
        not_fast = not_writable_by_delta_rs(handle)
        found = since_our_record(log or DeltaLog(self.path), version, ids_of(configuration))
        pin = Pin(
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
            marks=not_fast == ONLY_VECTORS and local_path(self.path) is not None,
            laid_out_by=found.laid_out_by,
        )
        reach(Failpoint.PINNED)
        return pin

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
