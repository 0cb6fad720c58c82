"""How long a source still holds what a stream table has not taken over yet.

    frontier at the newest version      nothing is needed of the past
    else, of the log                    every entry after the frontier: kept for delta.logRetentionDuration
          of the data                   the files that later commits removed, and their change files: kept by VACUUM for
                                        delta.deletedFileRetentionDuration, or for the term in its statement

So the term of each starts with the first commit after the frontier that matters, and the sooner end counts. If part of
the past is lost all the same, that costs a rebuild, never a wrong row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from penstock.catalog.model import Dependency, SourceType, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.engine.bind.pinned_query import folder
from penstock.engine.changelog.changelog import Changelog
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.run.workspace import Logs
from penstock.engine.spark.registry import table_path
from penstock.engine.write.storage_state import storage_state
from penstock.errors import FrontierLost, PenstockError, RetentionCut
from penstock.graph.lag import format_lag
from penstock.lang.statements import PassThrough
from penstock.lang.vacuum import Vacuum, read_vacuum
from penstock.names import TableName
from penstock.refresh.stored_frontier import stored_frontier
from penstock.refresh.warehouse import Warehouse

LOG_KEPT: Final = timedelta(days=30)
"""Delta's default of `delta.logRetentionDuration`."""

FILES_KEPT: Final = timedelta(days=7)
"""Delta's default of `delta.deletedFileRetentionDuration`."""

WARN_BELOW: Final = 0.25
"""Warn when less than this share of a retention is left."""

SUBSCRIPTION: Final = "subscription "
"""Begins the name under which a durable subscription holds something."""

_UNITS: Final = {
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_678_400,
    "year": 31_622_400,
}
_TERM: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+?)s?\b")


def kept_for(text: str | None, default: timedelta) -> timedelta:
    """A Delta interval property as a duration; the default if there is none, or none that can be read.

    >>> kept_for("interval 1 week 2 days", FILES_KEPT).days, kept_for(None, LOG_KEPT).days
    (9, 30)
    """
    terms = _TERM.findall((text or "").lower())
    if not terms or any(unit not in _UNITS for _, unit in terms):
        return default
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in terms))


@dataclass(frozen=True, slots=True)
class Holding:
    """What one stream table needs of one source's past."""

    stream_table: str
    source: str
    source_path: str
    version: int
    """Where its frontier stands."""
    newest: int
    log_since: datetime | None
    """When the first log entry that it needs was written; None if it needs none."""
    files_since: datetime | None
    """When the first data file that it needs was removed from the table; None if it needs none."""
    log_kept: timedelta
    files_kept: timedelta
    lost: str | None = None
    """Why it can no longer be had, if it cannot."""

    @property
    def ends(self) -> tuple[datetime, timedelta, str] | None:
        """When the first part may be gone, how long that part is kept, and by which property; None if never."""
        found = [
            (since + kept, kept, name)
            for since, kept, name in (
                (self.log_since, self.log_kept, "delta.logRetentionDuration"),
                (self.files_since, self.files_kept, "delta.deletedFileRetentionDuration"),
            )
            if since is not None
        ]
        return min(found) if found else None

    def time_left(self, now: datetime) -> timedelta | None:
        """How long everything surely stays; negative if it may be gone already, None if nothing is needed."""
        return None if self.ends is None else self.ends[0] - now

    def running_out(self, now: datetime) -> bool:
        """True if less than a quarter of the retention is left."""
        return self.ends is not None and self.ends[0] - now < self.ends[1] * WARN_BELOW

    def cut_by(self, kept: timedelta, now: datetime) -> bool:
        """True if removing files that left the table longer than `kept` ago takes some that are needed."""
        return self.files_since is not None and self.files_since < now - kept


def holdings(catalog: CatalogReader, logs: Logs, tables: Iterable[StreamTableMeta]) -> Iterator[Holding]:
    """What each of these stream tables needs of each of its sources; reads logs only. What is missing is left out."""
    for meta in tables:
        try:
            frontier = stored_frontier(meta, storage_state(logs.at(meta.path)))
        except PenstockError:
            continue
        if frontier is None:
            continue
        for each in catalog.dependencies_of(meta.id):
            if (
                each.source_type is SourceType.VIEW
                or each.source_path is None
                or each.source_id not in frontier.sources
            ):
                continue
            try:
                at = frontier.version(each.source_id)
                yield _holding(str(meta.name), each.source_name, each.source_path, logs.at(each.source_path), at)
            except PenstockError:
                continue


def held_by_subscribers(catalog: CatalogReader, logs: Logs) -> Iterator[Holding]:
    """What each durable subscription needs of its stream table; reads logs only. What is missing is left out."""
    for each in catalog.subscribers():
        try:
            meta = catalog.get_by_table_id(each.table_id)
            log = logs.at(meta.path)
            at = Changelog(each.stream_table, log).version_at(each.acknowledged)
            yield _holding(f"{SUBSCRIPTION}{each.name}", each.stream_table, meta.path, log, at)
        except PenstockError:
            continue


def _holding(name: str, source: str, path: str, log: DeltaLog, version: int) -> Holding:
    newest = log.latest_version()
    properties = log.snapshot(newest).properties
    log_since = files_since = lost = None
    try:
        for commit in log.commits(version, newest):
            log_since = log_since or commit.committed_at
            if commit.removes or commit.cdc:
                files_since = commit.committed_at
                break
    except FrontierLost as gone:
        lost = gone.text
    return Holding(
        stream_table=name,
        source=source,
        source_path=path,
        version=version,
        newest=newest,
        log_since=log_since,
        files_since=files_since,
        log_kept=kept_for(properties.get("delta.logRetentionDuration"), LOG_KEPT),
        files_kept=kept_for(properties.get("delta.deletedFileRetentionDuration"), FILES_KEPT),
        lost=lost,
    )


def guard_vacuum(warehouse: Warehouse, statement: PassThrough, current_schema: str) -> None:
    """RetentionCut if a VACUUM would remove files that a stream table still needs."""
    asked = read_vacuum(statement)
    if asked is None or asked.dry_run:
        return
    path = _vacuumed(warehouse, asked, current_schema)
    if path is None:
        return
    catalog, now = warehouse.catalog, warehouse.now()
    readers = {each.stream_table_id for each in catalog.all_dependencies() if _at(each, path)}
    tables = [meta for meta in catalog.get_all() if meta.id in readers]
    needed = chain(holdings(catalog, warehouse.logs, tables), held_by_subscribers(catalog, warehouse.logs))
    found = [each for each in needed if place(each.source_path) == path]
    cut = [each for each in found if each.cut_by(asked.retain if asked.retain is not None else each.files_kept, now)]
    if cut:
        raise _refusal(statement.sql.strip(), cut, now)


def _refusal(statement: str, cut: list[Holding], now: datetime) -> RetentionCut:
    oldest = min(cut, key=lambda each: each.files_since or now)
    age = now - (oldest.files_since or now)
    hours = int(age.total_seconds() // 3600) + 1
    names = ", ".join(dict.fromkeys(each.stream_table for each in cut))
    first = oldest.stream_table
    spoken = format_lag(timedelta(seconds=max(1, round(age.total_seconds()))))
    return RetentionCut(
        statement=statement,
        names=names,
        source=oldest.source,
        why=f"{first} stands at version {oldest.version} of {oldest.newest}, {spoken} behind",
        fix=(
            f"Let it read on and acknowledge, or drop it: penstock subscriptions --drop {first.split()[-1]}. Or keep "
            f"more: RETAIN {hours} HOURS."
            if first.startswith(SUBSCRIPTION)
            else f"Refresh first: REFRESH STREAM TABLE {first}. Or keep more: RETAIN {hours} HOURS. With penstock sql "
            "--yes or ps.sql(…, yes=True) it runs all the same; the stream table is then rebuilt by its next refresh."
        ),
    )


def _vacuumed(warehouse: Warehouse, asked: Vacuum, current_schema: str) -> str | None:
    if asked.path is not None:
        return place(asked.path)
    try:
        path = table_path(warehouse.spark, TableName.parse(asked.table or "", current_schema))
    except PenstockError:
        return None
    return None if path is None else place(path)


def _at(dependency: Dependency, path: str) -> bool:
    return dependency.source_path is not None and place(dependency.source_path) == path


def place(path: str) -> str:
    """Where a folder really is, whichever links lead to it."""
    plain = folder(path)
    return os.path.realpath(plain) if plain.startswith("/") else plain
