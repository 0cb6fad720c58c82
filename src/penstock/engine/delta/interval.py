"""How the changes of an interval `(before, after]` of one Delta table are read, decided from the log alone.

    Δ  =  Σ  adjacent sub-intervals, each read in exactly one way:
          by commit   the commit's change files if it has any that can be trusted, else its data-changing files,
                      added +1, removed −1
          by ends     files live at the end and not at the start +1, the reverse −1 (rewritten rows cancel)

The two are never mixed within one commit: change files and file lists of the same commit tell the same change twice.
The cut is the one that reads the fewest bytes. If a file to be read, or a schema or protocol on the way, is not plain
Parquet (see `allow_list`), the whole interval goes through Delta's own reader instead, with the same result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.delta.allow_list import Protocol, refusal
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.drift import SchemaDrift, drift_affects, schema_drift
from penstock.engine.delta.log_entry import Commit, DataFile, FileKey, Metadata
from penstock.engine.delta.log_storage import local_path
from penstock.engine.delta.snapshot import Snapshot, file_refusal
from penstock.errors import FrontierLost

__all__ = ["ChangeSet", "ChangeSetKind", "Part", "SchemaDrift", "Way", "classify", "drift_affects", "ways"]

FILE_COST = 256 * 1024
"""Opening one more file costs about as much as reading this many bytes."""

ROW_BYTES = 16
"""What a row takes in a file, where no count is known."""

CUTS_LIMIT = 48
"""Up to this many commits every cut is weighed; beyond, only all-by-commit and all-by-ends."""


class ChangeSetKind(StrEnum):
    """How a change set is read."""

    NONE = "none"
    FILES = "files"
    READER = "reader"


class Way(StrEnum):
    """How one sub-interval is read."""

    COMMITS = "commits"
    ENDS = "ends"
    FEED = "feed"
    """Delta's own change reader, commit by commit."""
    SNAPSHOTS = "snapshots"
    """Delta's own reader at both ends."""


@dataclass(frozen=True, slots=True)
class Part:
    """One sub-interval `(before, after]` and what to read for it."""

    before: int
    after: int
    way: Way
    plus: tuple[DataFile, ...] = ()
    minus: tuple[DataFile, ...] = ()
    cdc: tuple[DataFile, ...] = ()

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Everything that is read."""
        return self.plus + self.minus + self.cdc


@dataclass(frozen=True, eq=False)
class ChangeSet:
    """What happened to a table over an interval, as the log tells it, and how to read the rows."""

    start: Snapshot
    end: Snapshot
    kind: ChangeSetKind
    parts: tuple[Part, ...]
    insert_only: bool
    """Proven: no row that was there at `before` is gone or different, and reading yields no negative weight."""
    drift: SchemaDrift
    reader_because: str = ""
    """Why Delta's reader is needed, if it is."""
    feed_on: bool = field(default=False)
    """The table kept a change data feed over the whole interval."""

    @property
    def before(self) -> int:
        """The version the interval starts after."""
        return self.start.version

    @property
    def after(self) -> int:
        """The version the interval ends with."""
        return self.end.version

    @property
    def data_changed(self) -> bool:
        """False if no commit of the interval changed rows (OPTIMIZE, ALTER, …)."""
        return self.kind is not ChangeSetKind.NONE

    @property
    def schema_change(self) -> SchemaDrift | None:
        """The drift, if there is any."""
        return self.drift or None

    @cached_property
    def bytes(self) -> int:
        """Bytes of the files to be read."""
        return sum(file.size for part in self.parts for file in part.files)

    @cached_property
    def rows_estimate(self) -> int:
        """Rows to be read. The log has no statistics of a change file: its own footer counts, else its size."""
        return sum(_rows(file) for part in self.parts for file in part.files)


def classify(log: DeltaLog, before: int, after: int, table_id: str | None = None) -> ChangeSet:
    """Decide how the interval `(before, after]` is read.

    `table_id` is the id the table had at `before`: with it, a table dropped and created again differs from one that
    was replaced (then `drift.recreated` is set and there is nothing to read). `FrontierLost` if `before` cannot be
    rebuilt, `SourceMissing` if the table is gone. Intermediate commits that were cleaned away are no loss: the two ends
    are enough.
    """
    end = log.snapshot(after)
    if table_id is not None and _recreated(log, before, end, table_id):
        return ChangeSet(end, end, ChangeSetKind.NONE, (), False, SchemaDrift(recreated=True))
    if before > after:
        raise ValueError("an interval cannot end before it starts")
    if before == after:
        return ChangeSet(end, end, ChangeSetKind.NONE, (), True, SchemaDrift(), feed_on=_keeps_feed(end.metadata))
    start = log.snapshot(before)
    try:
        commits: tuple[Commit, ...] | None = log.commits(before, after)
    except FrontierLost:
        commits = None
    drift = _drift(start, end, commits)
    steps = None if commits is None else _steps(start, commits)
    whole = _ends(start, end)
    feed_on = commits is not None and all(
        map(_keeps_feed, [start.metadata, *(commit.metadata for commit in commits if commit.metadata)])
    )
    if steps is not None and not any(step.own.files for step in steps):
        return ChangeSet(start, end, ChangeSetKind.NONE, (), True, drift, feed_on=feed_on)
    if steps is None and not whole.files:
        return ChangeSet(start, end, ChangeSetKind.NONE, (), True, drift, feed_on=feed_on)

    because = _schema_refusal(start, end, commits or ())
    if not because:
        parts = _cheapest(steps if drift.additive else None, whole)
        if parts is not None:
            signs = any(part.minus or part.cdc for part in parts)
            return ChangeSet(start, end, ChangeSetKind.FILES, parts, not signs, drift, feed_on=feed_on)
        because = file_refusal(whole.files)
    part = _through_reader(steps if drift.additive else None, start, end)
    grown = steps is not None and all(not step.own.minus and not step.own.cdc for step in steps)
    insert_only = grown and part.way is Way.FEED
    return ChangeSet(start, end, ChangeSetKind.READER, (part,), insert_only, drift, because, feed_on)


def ways(log: DeltaLog, change_set: ChangeSet) -> Iterator[tuple[Part, ...]]:
    """Every way to read the change set from files, the chosen one first: where a file is gone, another may do."""
    yield change_set.parts
    if change_set.kind is not ChangeSetKind.FILES:
        return
    others: list[tuple[Part, ...]] = [(_ends(change_set.start, change_set.end),)]
    if change_set.drift.additive:
        with suppress(FrontierLost):
            steps = _steps(change_set.start, log.commits(change_set.before, change_set.after))
            others.append(_merge(step.own for step in steps))
    yield from (parts for parts in others if not any(file_refusal(part.files) for part in parts))


def _recreated(log: DeltaLog, before: int, end: Snapshot, table_id: str) -> bool:
    if before > end.version:
        return end.table_id != table_id
    try:
        return log.snapshot(before).table_id != table_id
    except FrontierLost:
        # Whether it was the same table can no longer be seen; that it is lost is reason enough.
        return False


def _keeps_feed(metadata: Metadata) -> bool:
    return (metadata.properties.get("delta.enableChangeDataFeed") or "").lower() == "true"


def _drift(start: Snapshot, end: Snapshot, commits: Sequence[Commit] | None) -> SchemaDrift:
    ends = schema_drift(start.schema, end.schema)
    between = [commit.metadata for commit in commits or () if commit.metadata is not None]
    ids = {metadata.table_id for metadata in [start.metadata, *between, end.metadata]}
    schemas = [start.schema, *(metadata.schema for metadata in between), end.schema]
    detour = any(not schema_drift(was, now).additive for was, now in pairwise(schemas) if was != now)
    moved = any(metadata.partition_columns != start.partition_columns for metadata in [*between, end.metadata])
    return SchemaDrift(
        ends.added,
        ends.dropped,
        ends.renamed,
        ends.retyped,
        ends.loosened,
        replaced=start.table_id != end.table_id,
        detour=(detour and ends.additive) or moved or (len(ids) > 1 and start.table_id == end.table_id),
    )


def _schema_refusal(start: Snapshot, end: Snapshot, commits: Iterable[Commit]) -> str:
    """Why some version of the interval cannot be read as plain Parquet, whatever its files."""
    metadata: Metadata = start.metadata
    protocol: Protocol = start.protocol
    if why := refusal(protocol, metadata.schema, metadata.properties):
        return why
    for commit in commits:
        if commit.metadata is None and commit.protocol is None:
            continue
        metadata, protocol = commit.metadata or metadata, commit.protocol or protocol
        if why := refusal(protocol, metadata.schema, metadata.properties):
            return why
    return refusal(end.protocol, end.schema, end.properties)


@dataclass(frozen=True, slots=True)
class _Step:
    """One commit: its own reading, and every file that came or went, data-changing or not."""

    own: Part
    came: dict[FileKey, DataFile]
    went: dict[FileKey, DataFile]
    lacking: bool = False
    """Its change files must not be read, not by Delta either."""


def _steps(start: Snapshot, commits: Iterable[Commit]) -> list[_Step]:
    """Every commit on its own, as the difference of the live files around it."""
    live = dict(start.live)
    steps = []
    for commit in commits:
        fresh = {added.file.key: added for added in commit.adds}
        gone = {removed.key: removed for removed in commit.removes}
        went = {key: live[key] for key in gone if key in live and key not in fresh}
        came = {key: added.file for key, added in fresh.items() if key not in live}
        for key in gone:
            live.pop(key, None)
        for key, added in fresh.items():
            live[key] = added.file
        span = commit.version - 1, commit.version, Way.COMMITS
        lacking = bool(commit.cdc) and commit.may_lack_changes
        if commit.cdc and not lacking:
            own = Part(*span, cdc=commit.cdc)
        else:
            own = Part(
                *span,
                plus=tuple(file for key, file in came.items() if fresh[key].data_change),
                minus=tuple(file for key, file in went.items() if gone[key].data_change),
            )
        steps.append(_Step(own, came, went, lacking))
    return steps


def _ends(start: Snapshot, end: Snapshot) -> Part:
    plus = tuple(file for key, file in end.live.items() if key not in start.live)
    minus = tuple(file for key, file in start.live.items() if key not in end.live)
    return Part(start.version, end.version, Way.ENDS, plus, minus)


def _cheapest(steps: Sequence[_Step] | None, whole: Part) -> tuple[Part, ...] | None:
    """The cut that reads least; None if every cut meets a file that is not plain Parquet."""
    candidates: list[tuple[Part, ...]] = [(whole,)]
    if steps is not None:
        candidates.append(_merge([step.own for step in steps]))
        if 1 < len(steps) <= CUTS_LIMIT and (cut := _best_cut(steps)) is not None:
            candidates.append(_merge(cut))
    readable = [parts for parts in candidates if not any(file_refusal(part.files) for part in parts)]
    return min(readable, key=lambda parts: sum(map(_cost, parts))) if readable else None


def _best_cut(steps: Sequence[_Step]) -> list[Part] | None:
    """Shortest way from the start to the end of the interval, over every sub-interval read by ends or by commit."""
    best: list[tuple[float, list[Part]]] = [(float("inf"), []) for _ in range(len(steps) + 1)]
    best[0] = 0.0, []
    for first in range(len(steps)):
        spent, chosen = best[first]
        if spent == float("inf"):
            continue
        own = steps[first].own
        _offer(best, first + 1, spent, chosen, own)
        came: dict[FileKey, DataFile] = {}
        went: dict[FileKey, DataFile] = {}
        for last in range(first, len(steps)):
            went |= {key: file for key, file in steps[last].went.items() if came.pop(key, None) is None}
            came |= {key: file for key, file in steps[last].came.items() if went.pop(key, None) is None}
            ends = Part(own.before, steps[last].own.after, Way.ENDS, tuple(came.values()), tuple(went.values()))
            _offer(best, last + 1, spent, chosen, ends)
    cost, parts = best[-1]
    return None if cost == float("inf") else parts


def _offer(best: list[tuple[float, list[Part]]], at: int, spent: float, chosen: list[Part], part: Part) -> None:
    cost = spent + (float("inf") if file_refusal(part.files) else _cost(part))
    if cost < best[at][0]:
        best[at] = cost, [*chosen, part]


def _merge(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Adjacent commits as one part; a file that was added and removed again cancels without being read."""
    merged: list[Part] = []
    for part in parts:
        if not merged or part.way is not Way.COMMITS or merged[-1].way is not Way.COMMITS:
            merged.append(part)
            continue
        last = merged[-1]
        plus = dict.fromkeys(last.plus)
        minus = dict.fromkeys(last.minus)
        for file in part.minus:
            if file in plus:
                del plus[file]
            else:
                minus[file] = None
        for file in part.plus:
            if file in minus:
                del minus[file]
            else:
                plus[file] = None
        merged[-1] = Part(last.before, part.after, Way.COMMITS, tuple(plus), tuple(minus), last.cdc + part.cdc)
    return tuple(part for part in merged if part.files)


def _through_reader(steps: Sequence[_Step] | None, start: Snapshot, end: Snapshot) -> Part:
    """The whole interval through Delta's reader: by its change reader where that is cheaper and can express it."""
    both = Part(start.version, end.version, Way.SNAPSHOTS, end.files, start.files)
    if steps is None or any(step.lacking for step in steps):
        return both
    feed = Part(
        start.version,
        end.version,
        Way.FEED,
        tuple(file for step in steps for file in step.own.plus),
        tuple(file for step in steps for file in step.own.minus),
        tuple(file for step in steps for file in step.own.cdc),
    )
    return feed if _cost(feed) <= _cost(both) else both


def _cost(part: Part) -> int:
    return sum(file.size + FILE_COST for file in part.files)


def _rows(file: DataFile) -> int:
    """Rows of a file: as the log has it, else as the file has it, else as its size suggests."""
    rows = file.rows
    if rows is not None:
        return rows
    path = local_path(file.path)
    if path is None:
        return file.size // ROW_BYTES
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return file.size // ROW_BYTES
