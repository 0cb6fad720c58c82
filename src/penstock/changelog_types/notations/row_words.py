"""The words insert, update, delete and refresh, one event per row, as change buffers use them.

    insert: after        update: before and after        delete: before        refresh: the whole contents, old and new

An update is one event. As a Z-set it is a pair, so the row before it is needed; a refresh needs all rows before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from penstock.changelog_types.changelog_record import ChangelogRecord
from penstock.changelog_types.notations.joined_updates import joined_updates
from penstock.changelog_types.notations.three_labels import ThreeLabels
from penstock.errors import NotConvertible

T = TypeVar("T")
Word = Literal["insert", "update", "delete", "refresh"]
WORDS = ThreeLabels("a row event", ("insert", "delete", "update"))


@dataclass(frozen=True, slots=True)
class RowChange(Generic[T]):
    """One event of one row, with what is known of the row before and after it."""

    word: Word
    before: T | None = None
    after: T | None = None


def to_records(change: RowChange[T], timestamp: int) -> tuple[ChangelogRecord[T], ...]:
    """The records of an event of one row."""
    before, after = change.before, change.after
    match change.word:
        case "insert" if after is not None:
            return (ChangelogRecord.insert(after, timestamp),)
        case "delete" if before is not None:
            return (ChangelogRecord.delete(before, timestamp),)
        case "update" if before is not None and after is not None:
            return ChangelogRecord.retraction(before, after, timestamp)
    raise NotConvertible(
        what=f"a change {change.word} with {'no' if before is None else 'a'} row before and "
        f"{'no' if after is None else 'a'} row after",
        target="records",
        why="insert needs the row after, delete the row before, update both, and refresh is not about one row",
        fix="Keep the rows before, or take a refresh with `refresh_to_records`.",
    )


def refresh_to_records(old: Iterable[T], new: Iterable[T], timestamp: int) -> list[ChangelogRecord[T]]:
    """A refresh: all old contents go, then all new contents come. Net them to see what really changed."""
    return [
        *(ChangelogRecord.delete(row, timestamp) for row in old),
        *(ChangelogRecord.insert(row, timestamp) for row in new),
    ]


def from_records(records: Iterable[ChangelogRecord[T]]) -> list[RowChange[T]]:
    """The events of records; −U directly before +U is one update. A weight of n is n events."""
    made: list[RowChange[T]] = []
    for gone, come in joined_updates(records):
        word: Word = "insert" if gone is None else "delete" if come is None else "update"
        made.append(RowChange(word, None if gone is None else gone.data, None if come is None else come.data))
    return made
