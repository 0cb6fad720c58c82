"""Records in which an update is a pair, for notations in which it is one event.

    +I → (nothing, row)        −D → (row, nothing)        −U directly followed by +U → (old row, new row)

Half an update is refused: which row it belongs to cannot be guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from penstock.changelog_types.cdc_operation import CdcOperation
from penstock.changelog_types.changelog_record import ChangelogRecord
from penstock.errors import NotConvertible

T = TypeVar("T")


def joined_updates(
    records: Iterable[ChangelogRecord[T]],
) -> Iterator[tuple[ChangelogRecord[T] | None, ChangelogRecord[T] | None]]:
    """What goes and what comes, once per copy."""
    waiting: ChangelogRecord[T] | None = None
    for record in records:
        if (record.operation is CdcOperation.UPDATE_AFTER) != (waiting is not None):
            raise half_an_update()
        if waiting is not None and waiting.weight != -record.weight:
            raise half_an_update()
        if record.operation is CdcOperation.UPDATE_BEFORE:
            waiting = record
            continue
        pair = (record, None) if record.operation is CdcOperation.DELETE else (waiting, record)
        waiting = None
        for _ in range(abs(record.weight)):
            yield pair
    if waiting is not None:
        raise half_an_update()


def half_an_update() -> NotConvertible:
    """The refusal."""
    return NotConvertible(
        what="half an update",
        target="one event",
        why="an update is one event with both rows",
        fix="Put -U directly before its +U with the same weight, or send -D and +I.",
    )
