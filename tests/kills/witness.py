"""The witness: what a catalog and its tables must look like at any moment, however often somebody was killed.

    rows      of a stream table at the version of a frontier = its query over the base tables at that frontier's
              versions, run by DuckDB through all stream tables between
    changelog the weights of all changes ever, summed up = the rows that are there
    follower  whoever began with the first change and was told every one since holds the rows that are there
    records   frontiers only grow, positions in the changelog have neither gaps nor overlaps, no refresh commits twice
    history   no refresh is RUNNING whose process is dead
    frontier  never behind one that was seen before

Everything is read from fixed versions, so all this holds while a scheduler runs, too. Nothing here uses Spark, and of
Penstock only what reads its own formats.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from delta_rs_rows import rows_of
from penstock.catalog.model import StreamTableMeta
from penstock.catalog.owner import is_dead
from penstock.catalog.reader import CatalogReader
from penstock.engine.changelog.changelog import Changelog
from penstock.engine.delta.commit_record import FIRST_LSN, CommitRecord
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.write.table_properties import DEFINITION_KEY, ID_KEY
from penstock.errors import PenstockError
from penstock.names import WEIGHT, Frontier
from penstock.testing.changelog_oracle import bag

Bag = Counter[tuple[Any, ...]]


@dataclass
class Findings:
    """What is not as it must be, by kind."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def none(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)

    def __str__(self) -> str:
        kinds = {"lost": self.lost, "doubled": self.doubled, "wrong": self.wrong}
        return "\n".join(f"{kind}: {line}" for kind, lines in kinds.items() for line in lines)

    def compare(self, where: str, have: Bag, want: Bag) -> None:
        """Note how one bag differs from what it should be."""
        for row, copies in (want - have).items():
            self.lost.append(f"{where}: {copies} x {row}")
        for row, copies in (have - want).items():
            (self.doubled if row in want else self.wrong).append(f"{where}: {copies} x {row} too many")


@dataclass
class _Seen:
    """How far the log of one stream table has been read."""

    version: int = -1
    stored: Bag = field(default_factory=Counter)
    """The changes so far, summed up, by stored row without its weight."""
    record: CommitRecord | None = None
    record_version: int | None = None
    records: dict[int, CommitRecord] = field(default_factory=dict)
    refreshes: set[str] = field(default_factory=set)
    position: int = FIRST_LSN - 1
    """How far a follower of the changelog has got."""
    copy: Counter[str] = field(default_factory=Counter)
    """The rows that the follower holds."""
    frontier: Frontier | None = None


class Witness:
    """Looks at one warehouse again and again; `queries` are its stream tables, upstreams first."""

    def __init__(self, catalog: CatalogReader, queries: dict[str, str], bases: dict[str, Path]) -> None:
        self.catalog = catalog
        self._queries = queries
        self._bases = bases
        self._base_names = {str(DeltaTable(path).metadata().id): name for name, path in bases.items()}
        self._seen: dict[str, _Seen] = {name: _Seen() for name in queries}

    def check(self) -> Findings:
        """Everything; the findings are empty if all is well."""
        findings = Findings()
        metas = {meta.name.table: meta for meta in self.catalog.get_all()}
        for name in self._queries.keys() - metas.keys():
            findings.lost.append(f"{name} is not in the catalog")
        for name in self._queries:
            if name in metas:
                self._check_table(name, metas[name], {meta.table_id for meta in metas.values()}, findings)
        for record in self.catalog.recent_history(None, 1000):
            if record.status == "RUNNING" and is_dead(record.owner or ""):
                findings.lost.append(f"{record.name}: refresh {record.refresh_id} still RUNNING, its process is dead")
        return findings

    def is_level(self) -> bool:
        """True if every stream table shows the newest version of every base table."""
        metas = self.catalog.get_all()
        ids = {meta.table_id for meta in metas}
        newest = {name: DeltaTable(path).version() for name, path in self._bases.items()}
        for meta in metas:
            shown = meta.frontier.base_versions(ids) if meta.frontier is not None else None
            if shown is None or any(newest[self._base_names[base]] != at for base, at in shown.items()):
                return False
        return True

    def _check_table(self, name: str, meta: StreamTableMeta, ids: set[str], findings: Findings) -> None:
        seen = self._seen[name]
        table = DeltaTable(meta.path)
        self._read_log(name, table, seen, findings)
        self._follow(name, meta, seen, findings)
        states: dict[int, list[Frontier]] = {}
        if seen.record is not None and seen.record_version is not None:
            states.setdefault(seen.record_version, []).append(seen.record.frontier)
        if meta.frontier is not None and meta.frontier_version is not None:
            states.setdefault(meta.frontier_version, []).append(meta.frontier)
        if not states:
            findings.lost.append(f"{name} has no frontier")
            return
        for version, frontiers in states.items():
            have = _shown(meta.path, version)
            for frontier in frontiers:
                bases = frontier.base_versions(ids)
                if bases is None:
                    findings.wrong.append(f"{name}: its frontier does not say which base versions it shows")
                    continue
                findings.compare(f"{name} at version {version} and {bases}", have, self._recomputed(name, bases))
        # The one that holds: our newest commit's, unless the catalog has a later one for that same commit.
        held = seen.record.frontier if seen.record is not None else None
        if held is None or (meta.frontier is not None and meta.frontier_version == seen.record_version):
            held = meta.frontier
        if held is not None:
            if seen.frontier is not None and not seen.frontier <= held:
                findings.lost.append(
                    f"{name}: frontier moved back from {_versions(seen.frontier)} to {_versions(held)}"
                )
            seen.frontier = held

    def _follow(self, name: str, meta: StreamTableMeta, seen: _Seen, findings: Findings) -> None:
        """Tell the follower what it has not heard of, and see whether it holds the rows of the newest commit."""
        changelog = Changelog(name, DeltaLog(meta.path))
        try:
            entries = changelog.after_lsn(seen.position)
        except PenstockError as error:
            # It refuses a storage to which somebody else has written.
            findings.wrong.append(f"{name}: {error}")
            return
        for entry in entries:
            try:
                changes = changelog.changes(entry)
            except PenstockError as error:
                findings.wrong.append(f"{name} at version {entry.version}: {error}")
                return
            if changes.first_lsn != seen.position + 1:
                kind = findings.lost if changes.first_lsn > seen.position + 1 else findings.doubled
                kind.append(f"{name}: the changelog goes on at {changes.first_lsn} after {seen.position}")
            if changes.refreshed is not None:
                seen.copy = bag(changes.refreshed)
            for gone in (changes.deletes, changes.was):
                seen.copy.subtract(bag(gone))
            for come in (changes.now, changes.inserts):
                seen.copy.update(bag(come))
            seen.position = changes.last_lsn
        if entries:
            rows = bag(changelog.snapshot(entries[-1]))
            where = f"{name} as a follower has it at {seen.position}"
            findings.compare(where, _as_rows(+seen.copy), _as_rows(rows))

    def _read_log(self, name: str, table: DeltaTable, seen: _Seen, findings: Findings) -> None:
        newest, stream_table_id = table.version(), table.metadata().configuration[ID_KEY]
        if newest <= seen.version:
            return
        since = seen.version + 1
        shown: Counter[int] = Counter()
        for version, weight, row in _changes(table, since, newest):
            seen.stored[row] += weight
            shown[version] += weight
        for version in range(since, newest + 1):
            self._read_commit(name, table, version, stream_table_id, seen, shown[version], findings)
        seen.stored = Counter({row: copies for row, copies in seen.stored.items() if copies})
        findings.compare(f"{name}: changes up to version {newest}", seen.stored, _stored(str(table.table_uri), newest))
        seen.version = newest

    def _read_commit(
        self,
        name: str,
        table: DeltaTable,
        version: int,
        stream_table_id: str,
        seen: _Seen,
        shown: int,
        findings: Findings,
    ) -> None:
        where = f"{name} at version {version}"
        record = _record(str(table.table_uri), version, stream_table_id)
        if record is None:
            if shown:
                findings.wrong.append(f"{where}: rows without a record")
            return
        before = seen.record
        if record.refresh_id in seen.refreshes:
            findings.doubled.append(f"{where}: refresh {record.refresh_id} has committed before")
        next_lsn = FIRST_LSN if before is None else before.first_lsn + before.lsn_count
        if record.first_lsn != next_lsn:
            kind = findings.doubled if record.first_lsn < next_lsn else findings.lost
            kind.append(f"{where}: changes begin at {record.first_lsn}, not at {next_lsn}")
        if shown != record.rows_inserted - record.rows_deleted:
            findings.wrong.append(
                f"{where}: +{record.rows_inserted} -{record.rows_deleted} recorded, {shown:+d} stored"
            )
        if before is not None and not before.frontier <= record.frontier:
            findings.lost.append(f"{where}: its frontier is behind the commit before it")
        seen.refreshes.add(record.refresh_id)
        seen.record, seen.record_version = record, version

    def _recomputed(self, name: str, bases: dict[str, int]) -> Bag:
        """The query's rows over base tables at these versions."""
        with duckdb.connect() as db:
            for base, version in bases.items():
                table = self._base_names[base]
                db.register(table, rows_of(str(self._bases[table]), version))
            known: set[str] = set()
            for each, query in self._queries.items():
                # A query over bases that this frontier does not have is of no concern to it.
                try:
                    db.execute(f"CREATE VIEW {each} AS {query}")
                except duckdb.CatalogException:
                    continue
                known.add(each)
            assert name in known, f"{name} reads something that its frontier does not have: {bases}"
            return Counter(db.execute(f"SELECT * FROM {name}").fetchall())


def _as_rows(texts: Counter[str]) -> Bag:
    return Counter({(text,): copies for text, copies in texts.items()})


def _changes(table: DeltaTable, since: int, newest: int) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
    """(Version, weight, stored row) of all changes from one version to another, as delta-rs reads the change feed.

    It misreads one kind of commit: of a file that leaves with a deletion vector and without a change file it gives the
    rows that were hidden all along. There the rows before and after are the witness.
    """
    path = str(table.table_uri)
    misread = {version for version in range(since, newest + 1) if _is_misread(_actions(path, version))}
    for change in pa.table(table.load_cdf(starting_version=since, ending_version=newest)).to_pylist():
        sign = 1 if change.pop("_change_type") in {"insert", "update_postimage"} else -1
        version = change.pop("_commit_version")
        del change["_commit_timestamp"]
        if version not in misread:
            row, weight = _weighed(change)
            yield version, sign * weight, row
    for version in misread:
        before, after = _stored(path, version - 1), _stored(path, version)
        yield from ((version, -copies, row) for row, copies in (before - after).items())
        yield from ((version, copies, row) for row, copies in (after - before).items())


def _is_misread(actions: list[dict[str, Any]]) -> bool:
    left = any("deletionVector" in action.get("remove", ()) for action in actions)
    return left and not any("cdc" in action for action in actions)


def _weighed(row: dict[str, Any]) -> tuple[tuple[Any, ...], int]:
    weight = row.pop(WEIGHT) if WEIGHT in row else 1
    return tuple(sorted(row.items(), key=lambda item: item[0])), weight


def _stored(path: str, version: int) -> Bag:
    rows: Bag = Counter()
    for each in rows_of(path, version).to_pylist():
        row, weight = _weighed(each)
        rows[row] += weight
    return rows


def _shown(path: str, version: int) -> Bag:
    """What a user sees of a stream table at a version."""
    table = DeltaTable(path, version=version)
    definition = Definition.from_json(table.metadata().configuration[DEFINITION_KEY])
    assert not definition.has_hidden_rows, f"{definition.name}: the witness does not know which rows are hidden"
    rows: Bag = Counter()
    for row in rows_of(path, version).to_pylist():
        shown = tuple(row[stored] for _, stored, _ in definition.columns)
        rows[shown] += row[WEIGHT] if definition.weighted else 1
    return rows


def _record(path: str, version: int, stream_table_id: str) -> CommitRecord | None:
    for action in _actions(path, version):
        told = action.get("commitInfo", {}).get("userMetadata")
        if isinstance(told, str) and stream_table_id in told and '"refresh_id"' in told:
            return CommitRecord.from_json(told)
    return None


def _actions(path: str, version: int) -> list[dict[str, Any]]:
    text = (Path(path.removeprefix("file://")) / "_delta_log" / f"{version:020d}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def _versions(frontier: Frontier) -> dict[str, int]:
    return {source: frontier.version(source) for source in frontier}
