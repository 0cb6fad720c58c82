"""What waits: per stream table and source, the changes between its frontier and the source's newest version.

The Delta logs alone supply the counts, without a Spark job. Only of change files the log has no row counts; those come
from the files, once, because an interval that has been looked at does not change. A long interval that grows is not
read again from its start: what came since the last look is added to what was seen then.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from penstock.catalog.model import Dependency, SourceType, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.engine.delta.interval import classify
from penstock.engine.delta.log_storage import Stamp
from penstock.engine.run.workspace import Logs
from penstock.errors import PenstockError

LONG: Final = 100
"""Commits beyond which files that came and went again within the interval may be counted."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Changes of one source that one stream table has not read yet."""

    stream_table: str
    source: str
    rows: int
    """As many as would be read; an updated row counts twice."""
    bytes: int
    commits: int
    unreadable: bool = False
    """The changes since the frontier cannot be read; the next refresh says why."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What an interval held, and the file of its last commit: another table may count up to the same version."""

    before: int
    after: int
    stamp: Stamp | None
    pending: Pending


class PendingChanges:
    """Looks at the logs, and remembers what it saw of them."""

    def __init__(self, catalog: CatalogReader, logs: Logs) -> None:
        self._catalog = catalog
        self._logs = logs
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._looking = threading.Lock()

    def __call__(self) -> list[Pending]:
        """One line per stream table and source that it reads, by names."""
        # The scheduler and several scrapes may ask at once.
        with self._looking:
            return self._collect()

    def _collect(self) -> list[Pending]:
        reads: dict[int, list[Dependency]] = {}
        for each in self._catalog.all_dependencies():
            if each.source_type is not SourceType.VIEW:
                reads.setdefault(each.stream_table_id, []).append(each)
        found = [self._of(meta, each) for meta in self._filled() for each in reads.get(meta.id, ())]
        waiting = [each for each in found if each is not None]
        known = {(each.stream_table, each.source) for each in waiting}
        self._seen = {key: held for key, held in self._seen.items() if key in known}
        return sorted(waiting, key=lambda each: (each.stream_table, each.source))

    def _filled(self) -> Iterable[StreamTableMeta]:
        return (meta for meta in self._catalog.get_all() if meta.is_populated and meta.frontier is not None)

    def _of(self, meta: StreamTableMeta, reads: Dependency) -> Pending | None:
        key = str(meta.name), reads.source_name
        frontier = meta.frontier
        if frontier is None or reads.source_path is None or reads.source_id not in frontier.sources:
            return None
        before = frontier.version(reads.source_id)
        try:
            log = self._logs.at(reads.source_path)
            after = log.latest_version()
            held = self._seen.get(key)
            known, start = Pending(*key, 0, 0, 0), before
            if held is not None and held.before == before and held.stamp == log.stamp(held.after):
                if held.after == after:
                    return held.pending
                if held.after < after and after - before > LONG:
                    known, start = held.pending, held.after
            stamp = log.stamp(after)
            change = classify(log, start, after, reads.source_id)
            if change.drift.recreated:
                return Pending(*key, 0, 0, 0, unreadable=True)
            seen = Pending(*key, known.rows + change.rows_estimate, known.bytes + change.bytes, after - before)
        except (PenstockError, ValueError, OSError):
            return Pending(*key, 0, 0, 0, unreadable=True)
        self._seen[key] = _Seen(before, after, stamp, seen)
        return seen
