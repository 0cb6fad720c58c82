"""The events of the item that a subscriber takes one by one.

A commit may be several events. Until the last of them is delivered, only positions before the first that waits are safe
to acknowledge. So every event carries the position up to which everything is delivered as long as it waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from penstock.changes.wire.change_event import ChangeEvent
from penstock.subscribe.commit_events import events_of
from penstock.subscribe.position import Item

LinedUp = tuple[int | None, ChangeEvent]
"""An event, and the position up to which everything is delivered as long as it waits; a moment has none."""


def lined_up(item: Item, before: int, together: bool) -> Sequence[LinedUp]:
    """The events of an item, if everything up to `before` is delivered when it is taken.

    With `together` they count as delivered only with the last of them.
    """
    if isinstance(item, int):
        return [(None, ChangeEvent.watermark(item))]
    together = together or item.refreshed is not None
    safe = [before if together else int(lsns[0]) - 1 for _, _, _, lsns in item.runs()]
    return list(zip(safe, events_of(item), strict=True))


class EventQueue:
    """Events in the order of their delivery; the subscription's signal guards it."""

    def __init__(self) -> None:
        self._events: deque[LinedUp] = deque()

    def __len__(self) -> int:
        return len(self._events)

    def add(self, events: Iterable[LinedUp]) -> None:
        """Let the events of an item that was taken wait."""
        self._events.extend(events)

    def take(self) -> ChangeEvent | None:
        """The next event, if there is one."""
        return self._events.popleft()[1] if self._events else None

    def delivered_up_to(self, position: int) -> int:
        """The position before the first row that still waits; the subscriber's own if none does."""
        return min((safe for safe, _ in self._events if safe is not None), default=position)

    def clear(self) -> None:
        """Drop all events that wait."""
        self._events.clear()
