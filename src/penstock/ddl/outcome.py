"""What CREATE and ALTER answer: whether they made or changed a stream table, what that cost, which columns differ.

The answer is the difference between the stream table before the statement and after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.catalog.model import Status, StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.graph.lag import format_lag
from penstock.refresh.result import RefreshResult


@dataclass(frozen=True, slots=True)
class StreamTableInfo:
    """What `create_stream_table` made or found, or `alter_stream_table` changed."""

    name: str
    effective_mode: str | None
    reason: str | None
    created: bool
    replaced: bool
    """It has another definition than before, with other rows."""
    changes: tuple[str, ...]
    """What differs from before, in words: columns, lag, mode, status."""
    refresh: RefreshResult | None

    @property
    def message(self) -> str:
        """All of it in one line."""
        if not self.replaced:
            done = "created" if self.created else "altered" if self.changes else "unchanged"
            return ", ".join([done, *self.changes])
        rows = (
            "its rows follow at the next refresh"
            if self.refresh is None
            else f"{counted(self.refresh.rows_inserted)} rebuilt"
        )
        return ", ".join(["replaced", rows, *self.changes])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "effective_mode": self.effective_mode,
            "reason": self.reason,
            "created": self.created,
            "replaced": self.replaced,
            "changes": list(self.changes),
            "message": self.message,
            "refresh": self.refresh.to_json() if self.refresh else None,
        }


@dataclass(frozen=True, slots=True)
class Replacement:
    """The new rows that a new definition gives a stream table; without a `refresh`, they are still to come."""

    columns: tuple[str, ...]
    """What differs in its columns, in words."""
    refresh: RefreshResult | None


def unchanged(meta: StreamTableMeta) -> StreamTableInfo:
    """A stream table that was there already and is left alone."""
    return _info(meta)


def created(meta: StreamTableMeta, refresh: RefreshResult | None) -> StreamTableInfo:
    """A new stream table, filled or not."""
    return _info(meta, created=True, refresh=refresh)


def changed(was: StreamTableMeta, now: StreamTableMeta, replacement: Replacement | None) -> StreamTableInfo:
    """A stream table after ALTER, with what changed, if anything did."""
    changes: list[str] = []
    if was.target_lag != now.target_lag:
        changes.append(f"target lag {'DOWNSTREAM' if now.target_lag is None else format_lag(now.target_lag)}")
    if was.refresh_mode is not now.refresh_mode:
        changes.append(f"refresh mode {now.refresh_mode.value}")
    if was.key != now.key:
        changes.append(f"key {', '.join(now.key) or 'given up'}")
    if (was.status is Status.SUSPENDED) != (now.status is Status.SUSPENDED):
        changes.append("suspended" if now.status is Status.SUSPENDED else "resumed")
    if replacement is None:
        return _info(now, changes=tuple(changes))
    return _info(now, replaced=True, changes=(*replacement.columns, *changes), refresh=replacement.refresh)


def column_changes(old: Definition, new: Definition) -> tuple[str, ...]:
    """How the columns of two definitions differ, in words."""
    before = {visible: type_ for visible, _, type_ in old.columns}
    after = {visible: type_ for visible, _, type_ in new.columns}
    return (
        *(f"column {name} added" for name in after if name not in before),
        *(f"column {name} dropped" for name in before if name not in after),
        *(
            f"column {name} was {before[name]} and is now {type_}"
            for name, type_ in after.items()
            if name in before and before[name] != type_
        ),
    )


def counted(rows: int) -> str:
    """A number of rows as people write it."""
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def _info(
    meta: StreamTableMeta,
    created: bool = False,
    replaced: bool = False,
    changes: tuple[str, ...] = (),
    refresh: RefreshResult | None = None,
) -> StreamTableInfo:
    mode = meta.effective_mode.value if meta.effective_mode else None
    reason = meta.reason if mode == "FULL" else None
    return StreamTableInfo(str(meta.name), mode, reason, created, replaced, changes, refresh)
