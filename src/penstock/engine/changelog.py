"""The changelog of a stream table, read back from its own commits: no Spark, no second copy of anything.

    events of a commit  =  net change of (identity, visible columns), one minus and one plus of an identity paired

The identity of a stored row is its key, hidden or not, or all its columns; `first_lsn` and `lsn_count` of the commit's
record number the events. Within a commit they are ordered by kind and then by value, so every reader numbers them
alike. A commit that changed hidden columns only has no events.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.changes.commit_changes import CommitChanges, Positions
from penstock.compile.stored import SHOWN
from penstock.engine.commit_record import CommitRecord, record_in
from penstock.engine.definition import Definition
from penstock.engine.delta_log import Commit, DataFile, DeltaLog, Snapshot
from penstock.engine.interval import ChangeSet, Kind, Part, Way, classify, ways
from penstock.engine.log_storage import local_path
from penstock.engine.scan import CHANGE_SIGNS, CHANGE_TYPE
from penstock.engine.storage import DEFINITION_KEY, ID_KEY, KEY_KEY, records, standing
from penstock.engine.storage_schema import arrow_schema, same_columns
from penstock.engine.unread import UNREAD, unread
from penstock.errors import (
    FrontierLost,
    InternalError,
    NotReached,
    NotRetained,
    SourceMissing,
    StateDamaged,
    StorageError,
)
from penstock.names import WEIGHT

_PLACE, _MINUS, _PLUS = "__ps_place", "__ps_minus_place", "__ps_plus_place"


@dataclass(frozen=True, slots=True)
class Entry:
    """A commit that has events, or that at least carries a record."""

    version: int
    record: CommitRecord

    @property
    def last_lsn(self) -> int:
        """The position that the table has reached with this commit."""
        return self.record.last_lsn


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
        """The newest version of the table, whoever made it."""
        return self._log.latest_version()

    def definition(self) -> Definition:
        """The definition in force."""
        return Definition.from_json(standing(self._log).definition)

    def newest_first(self) -> Iterator[Entry]:
        """Our commits, the newest first, as far back as the log goes and nobody else has changed rows."""
        with self._understood():
            for version, record in records(self._log):
                yield Entry(version, record)

    def newest(self) -> Entry:
        """The newest commit of ours."""
        for entry in self.newest_first():
            return entry
        damaged = standing(self._log).damaged
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

        An error if that cannot be told: the table as a whole is not there, or does not answer.
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
        if change_set.kind is Kind.READER:
            yield (_told(change_set, self._log.commit(after)),)
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
            raise unread(failed, self.name, file.name, local=True) from failed
        return True

    def committed_at(self, entry: Entry) -> datetime:
        """When a commit was made."""
        return self._log.commit(entry.version).committed_at or datetime.now(UTC)

    def _ours(self, version: int) -> Entry | None:
        try:
            info, identity = self._log.commit(version).info, self._log.snapshot().properties.get(ID_KEY, "")
        except (FrontierLost, SourceMissing):
            return None
        with self._understood():
            record = record_in(info, identity)
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
        """Version and first position of the oldest commit after a version that can still be told, be it one to come."""
        for entry in self._kept():
            if entry.version > after:
                return entry.version, entry.record.first_lsn
        newest = self.newest()
        return newest.version + 1, newest.last_lsn + 1

    def changes(self, entry: Entry) -> CommitChanges:
        """The events of one commit; `NotRetained` if its files are gone."""
        record = entry.record
        places = np.arange(record.first_lsn, record.first_lsn + record.lsn_count, dtype=np.int64)
        changes = self._told(entry, entry.version - 1, record.replaces, record.first_lsn, places)
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
        return self._told(last, before, replaces, entries[0].record.first_lsn, None)

    def whole(self, entry: Entry) -> CommitChanges:
        """All visible rows as of a commit of ours, as one event at its last position."""
        return self._told(entry, None, True, entry.last_lsn, None)

    def schema(self, entry: Entry) -> pa.Schema:
        """The visible columns as of a commit of ours."""
        shape = _Shape.of(self.name, self._log.snapshot(entry.version), entry.record)
        return shape.shown(shape.stored.empty_table()).schema

    def key(self, entry: Entry) -> tuple[str, ...]:
        """The visible columns that identify a row as of a commit of ours; empty if there are none."""
        return _Shape.of(self.name, self._log.snapshot(entry.version), entry.record).visible_key

    def snapshot(self, entry: Entry) -> pa.Table:
        """All visible rows as of a commit of ours."""
        rows = self.whole(entry).refreshed
        assert rows is not None
        return rows

    def _told(
        self, entry: Entry, before: int | None, replaces: bool, first_lsn: int, places: Positions | None
    ) -> CommitChanges:
        record = entry.record
        try:
            snapshot = self._log.snapshot(entry.version)
            commit = self._log.commit(entry.version)
            shape = _Shape.of(self.name, snapshot, record)
            if replaces or before is None:
                parts = _all_rows(self._laid_out(snapshot), shape)
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

    def _net(self, before: int, after: int, shape: _Shape) -> _Parts:
        missing = FileNotFoundError()
        for parts in self._ways(before, after):
            try:
                return _net(parts, shape)
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


@dataclass(frozen=True, slots=True)
class _Shape:
    """Which columns a version stores, which of them are seen, and which identify a row."""

    table: str
    stored: pa.Schema
    visible: tuple[tuple[str, str], ...]
    """Visible name, storage name."""
    identity: tuple[str, ...]
    keyed: bool
    weighted: bool
    hides_rows: bool

    @classmethod
    def of(cls, table: str, snapshot: Snapshot, record: CommitRecord) -> _Shape:
        properties = {**snapshot.properties, **(record.properties or {})}
        definition = Definition.from_json(properties[DEFINITION_KEY])
        key = json.loads(properties.get(KEY_KEY, "null"))
        stored = arrow_schema(snapshot.metadata.schema_json)
        marks = {WEIGHT, SHOWN}
        return cls(
            table=table,
            stored=stored,
            visible=tuple((visible, name) for visible, name, _ in definition.columns),
            identity=tuple(name for name in stored.names if name not in marks) if key is None else tuple(key),
            keyed=key is not None,
            weighted=definition.weighted,
            hides_rows=definition.has_hidden_rows,
        )

    @property
    def read(self) -> list[str]:
        """The stored columns that events are made of."""
        names = dict.fromkeys((*self.identity, *(name for _, name in self.visible)))
        marks = ([WEIGHT] if self.weighted else []) + ([SHOWN] if self.hides_rows else [])
        return [*names, *marks]

    @property
    def visible_key(self) -> tuple[str, ...]:
        """The key by its visible names; empty if a part of it is hidden, or if there is none."""
        if not self.keyed:
            return ()
        names = {stored: visible for visible, stored in self.visible}
        return tuple(names[name] for name in self.identity) if all(name in names for name in self.identity) else ()

    def shown(self, rows: pa.Table) -> pa.Table:
        """What a user sees of physical rows: copies as rows of their own."""
        if self.hides_rows and SHOWN in rows.column_names:
            rows = rows.filter(rows.column(SHOWN))
        if self.weighted and WEIGHT in rows.column_names:
            rows = _repeated(rows, rows.column(WEIGHT))
        return rows.select([name for _, name in self.visible]).rename_columns([name for name, _ in self.visible])

    def ordered(self, rows: pa.Table) -> pa.Table:
        """Visible rows in an order that depends on their values alone."""
        return rows.take(_order(_comparable(rows)))


@dataclass(frozen=True, slots=True)
class _Parts:
    deletes: pa.Table
    was: pa.Table
    now: pa.Table
    inserts: pa.Table
    refreshed: pa.Table | None = None


def _all_rows(snapshot: Snapshot, shape: _Shape) -> _Parts:
    rows = shape.shown(_rows_at(snapshot, shape))
    nothing = rows.slice(0, 0)
    return _Parts(nothing, nothing, nothing, nothing, shape.ordered(rows))


def _net(parts: Sequence[Part], shape: _Shape) -> _Parts:
    rows = _signed(parts, shape)
    if shape.hides_rows:
        rows = rows.filter(rows.column(SHOWN))
    if shape.weighted:
        counts = pc.multiply(rows.column(_PLACE), rows.column(WEIGHT))
        rows = rows.drop_columns([_PLACE]).append_column(_PLACE, counts)
    values = [name for name in shape.read if name not in {WEIGHT, SHOWN}]
    sign, rows = rows.column(_PLACE), rows.select(values)
    keys = _comparable(rows)
    grouped = (
        keys.append_column(WEIGHT, sign)
        .append_column(_PLACE, pa.array(np.arange(rows.num_rows)))
        .group_by(keys.column_names)
        .aggregate([(WEIGHT, "sum"), (_PLACE, "min")])
    )
    kept = grouped.filter(pc.not_equal(grouped.column(f"{WEIGHT}_sum"), 0))
    kept = kept.take(_order(kept.select(keys.column_names)))
    net = rows.take(kept.column(f"{_PLACE}_min"))
    weights = kept.column(f"{WEIGHT}_sum")
    came, went = pc.greater(weights, 0), pc.less(weights, 0)
    plain = replace(shape, weighted=False, hides_rows=False)
    if not shape.keyed:
        deletes = _repeated(net.filter(went), pc.negate(weights.filter(went)))
        inserts = _repeated(net.filter(came), weights.filter(came))
        nothing = plain.shown(net.slice(0, 0))
        return _Parts(plain.shown(deletes), nothing, nothing, plain.shown(inserts))
    return _paired(net, _comparable(net.select(shape.identity), one_zero=True), came, plain)


def _paired(net: pa.Table, keys: pa.Table, came: pa.ChunkedArray, shape: _Shape) -> _Parts:
    """One minus and one plus of the same key are one update."""
    places = pa.array(np.arange(net.num_rows))
    minus = pc.if_else(came, pa.scalar(None, pa.int64()), places)
    plus = pc.if_else(came, places, pa.scalar(None, pa.int64()))
    table = pa.table([*keys.columns, minus, plus], names=[*keys.column_names, _MINUS, _PLUS])
    per_key = table.group_by(keys.column_names, use_threads=False).aggregate([(_MINUS, "max"), (_PLUS, "max")])
    minus, plus = per_key.column(f"{_MINUS}_max"), per_key.column(f"{_PLUS}_max")
    both = pc.and_(pc.is_valid(minus), pc.is_valid(plus))
    place = pc.sort_indices(pa.table({"at": plus.filter(both)}), sort_keys=[("at", "ascending")])
    rows = shape.shown(net)
    return _Parts(
        deletes=rows.take(_sorted(minus.filter(pc.is_null(plus)))),
        was=rows.take(minus.filter(both).take(place)),
        now=rows.take(plus.filter(both).take(place)),
        inserts=rows.take(_sorted(plus.filter(pc.is_null(minus)))),
    )


def _told(change_set: ChangeSet, commit: Commit) -> Part:
    """What a commit of a table with deletion vectors tells by itself: change files, or files that it only added."""
    fresh = tuple(added.file for added in commit.adds if added.data_change)
    if not commit.cdc and (commit.removes or any(file.deletion_vector is not None for file in fresh)):
        raise StorageError(detail=f"{change_set.end.root} can only be read through Spark: {change_set.reader_because}")
    return Part(commit.version - 1, commit.version, Way.COMMITS, () if commit.cdc else fresh, (), commit.cdc)


def _signed(parts: Sequence[Part], shape: _Shape) -> pa.Table:
    """The rows that came and went, with +1 or −1 in `_PLACE`."""
    wanted = pa.schema([shape.stored.field(name) for name in shape.read])
    target = wanted.append(pa.field(_PLACE, pa.int64()))
    tables = [target.empty_table()]
    for part in parts:
        for files, sign in ((part.plus, 1), (part.minus, -1)):
            for file in files:
                rows = _read(shape.table, file, wanted)
                tables.append(rows.append_column(_PLACE, pa.array(np.full(rows.num_rows, sign, np.int64))))
        for file in part.cdc:
            rows = _read(shape.table, file, wanted.append(pa.field(CHANGE_TYPE, pa.string())))
            came = pc.is_in(
                rows.column(CHANGE_TYPE), value_set=pa.array([kind for kind, sign in CHANGE_SIGNS.items() if sign > 0])
            )
            signs = pc.if_else(came, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))
            tables.append(rows.drop_columns([CHANGE_TYPE]).append_column(_PLACE, signs))
    return pa.concat_tables(tables)


def _rows_at(snapshot: Snapshot, shape: _Shape) -> pa.Table:
    if any(file.deletion_vector is not None for file in snapshot.files):
        raise StorageError(detail=f"{shape.table} has deletion vectors, and its rows can only be read through Spark")
    wanted = pa.schema([shape.stored.field(name) for name in shape.read])
    return pa.concat_tables([wanted.empty_table(), *(_read(shape.table, file, wanted) for file in snapshot.files)])


def _read(table: str, file: DataFile, wanted: pa.Schema) -> pa.Table:
    path = local_path(file.path)
    try:
        # Opened here: given a path, pyarrow takes one that it cannot look at for one that is not there.
        with nullcontext(file.path) if path is None else pa.OSFile(path) as source:
            rows = pq.read_table(source, columns=wanted.names, partitioning=None)
        return rows.select(wanted.names).cast(wanted)
    except FileNotFoundError:
        raise
    except (*UNREAD, KeyError) as failed:
        raise unread(failed, table, file.name, local=path is not None) from failed


def _repeated(rows: pa.Table, times: pa.ChunkedArray) -> pa.Table:
    counts = times.to_numpy()
    if (counts == 1).all():
        return rows
    return rows.take(pa.array(np.repeat(np.arange(rows.num_rows), counts)))


def _comparable(rows: pa.Table, one_zero: bool = False) -> pa.Table:
    """Columns that are equal exactly where those of `rows` hold the same value, and that can be grouped and sorted.

    Floating-point numbers go by their bits, so −0.0 is not 0.0 except with `one_zero`, as Spark has it for keys; every
    NaN is one value. Nested values go by a text that has all of them.
    """
    columns = []
    for column in rows.columns:
        kind = column.type
        if pa.types.is_floating(kind):
            array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            array = pc.if_else(pc.is_nan(array), pa.scalar(float("nan"), kind), array)
            if one_zero:
                array = pc.if_else(pc.equal(array, pa.scalar(0.0, kind)), pa.scalar(0.0, kind), array)
            columns.append(array.view(pa.int64() if kind.bit_width == 64 else pa.int32()))
        elif pa.types.is_nested(kind):
            values = map(_with_one_zero, column.to_pylist()) if one_zero else column.to_pylist()
            texts = [None if value is None else repr(value) for value in values]
            columns.append(pa.array(texts, pa.string()))
        else:
            columns.append(column)
    # Names of the rows could be twice the same after case folding, or clash with ours.
    return pa.table(columns, names=[f"k{place}" for place in range(len(columns))])


def _with_one_zero(value: Any) -> Any:
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, dict):
        return {name: _with_one_zero(each) for name, each in value.items()}
    return [_with_one_zero(each) for each in value] if isinstance(value, list) else value


def _order(keys: pa.Table) -> pa.Array:
    return pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])


def _sorted(places: pa.ChunkedArray) -> pa.Array:
    return places.take(pc.sort_indices(places))
