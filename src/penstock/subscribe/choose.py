"""Which rows and columns of a commit a subscriber gets; positions stay what they are.

a row that changes from chosen to not chosen is a row that goes, and the other way round one that comes
a row that changes in none of the chosen columns does not change
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.changes.filter.predicate import Predicate
from penstock.changes.filter.row_filter import RowFilter, bind_filter
from penstock.changes.filter.same_rows import same_rows
from penstock.changes.wire.commit_changes import CommitChanges, Positions
from penstock.errors import InvalidFilter
from penstock.lang.predicate import parse_predicate

Choose = Callable[[CommitChanges], CommitChanges]


def chooser(
    schema: pa.Schema,
    where: str | None,
    columns: Sequence[str] | None,
    zone: str | None = None,
    collated: Collection[str] = (),
) -> Choose:
    """What a subscriber asked for, as a function; `InvalidFilter` if the table has no such columns.

    `zone` is the time zone that the stream table's query was defined in; `collated` are columns that compare by a
    collation, of which conditions here know nothing.
    """
    if where is None and columns is None:
        return lambda changes: changes
    predicate = None if where is None else parse_predicate(where)
    # What a table with these columns would not answer is refused now, and not at the first commit.
    first = _Choice(schema, predicate, columns, zone)
    if odd := sorted({name.lower() for name in collated} & {name.lower() for name in first.read}):
        raise InvalidFilter(
            why=f"column {odd[0]} compares by a collation, which conditions of subscriptions do not",
            fix="Put the condition into the query of a stream table, and subscribe to that.",
        )
    bound = {schema: first}

    def choose(changes: CommitChanges) -> CommitChanges:
        held = changes.schema
        if held not in bound:
            bound[held] = _Choice(held, predicate, columns, zone)
        return bound[held].of(changes)

    return choose


class _Choice:
    """A choice over the columns that a table has."""

    def __init__(
        self, schema: pa.Schema, predicate: Predicate | None, columns: Sequence[str] | None, zone: str | None
    ) -> None:
        self._filter: RowFilter | None = None if predicate is None else bind_filter(predicate, schema, zone)
        self.read = () if self._filter is None else self._filter.columns
        """The columns that the condition reads."""
        self._names = None if columns is None else [_spelled(schema, name) for name in columns]

    def of(self, changes: CommitChanges) -> CommitChanges:
        if self._filter is not None:
            changes = self._rows(changes, self._filter)
        return changes if self._names is None else self._columns(changes, self._names)

    def _rows(self, changes: CommitChanges, row_filter: RowFilter) -> CommitChanges:
        if changes.refreshed is not None:
            return replace(changes, refreshed=changes.refreshed.filter(row_filter.mask(changes.refreshed)))
        gone, new = row_filter.mask(changes.deletes), row_filter.mask(changes.inserts)
        was, now = row_filter.mask(changes.was), row_filter.mask(changes.now)
        both, left, joined = pc.and_(was, now), pc.and_not(was, now), pc.and_not(now, was)
        return replace(
            changes,
            deletes=_joined(changes.deletes.filter(gone), changes.was.filter(left)),
            delete_lsns=np.concatenate([_at(changes.delete_lsns, gone), _at(changes.update_lsns, left)]),
            was=changes.was.filter(both),
            now=changes.now.filter(both),
            update_lsns=_at(changes.update_lsns, both),
            inserts=_joined(changes.now.filter(joined), changes.inserts.filter(new)),
            insert_lsns=np.concatenate([_at(changes.update_lsns, joined), _at(changes.insert_lsns, new)]),
        )

    def _columns(self, changes: CommitChanges, names: list[str]) -> CommitChanges:
        was, now = changes.was.select(names), changes.now.select(names)
        changed = pc.invert(same_rows(was, now))
        return replace(
            changes,
            key=changes.key if set(changes.key) <= set(names) else (),
            deletes=changes.deletes.select(names),
            was=was.filter(changed),
            now=now.filter(changed),
            update_lsns=_at(changes.update_lsns, changed),
            inserts=changes.inserts.select(names),
            refreshed=None if changes.refreshed is None else changes.refreshed.select(names),
        )


def _spelled(schema: pa.Schema, name: str) -> str:
    for held in schema.names:
        if held.lower() == name.lower():
            return str(held)
    raise InvalidFilter(why=f"column not found: {name}", fix=f"The columns are: {', '.join(schema.names)}.")


def _joined(first: pa.Table, second: pa.Table) -> pa.Table:
    return pa.concat_tables([first, second])


def _at(lsns: Positions, mask: pa.BooleanArray) -> Positions:
    kept: Positions = lsns[np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool)]
    return kept
