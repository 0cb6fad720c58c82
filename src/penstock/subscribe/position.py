"""How far a subscriber has got in the changelog of its stream table."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.changes.wire.commit_changes import CommitChanges
from penstock.subscribe.start import Point

Item = CommitChanges | int
"""A commit's events, or the moment that the table stands for, in milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """An item that was read, and how far it brings its subscriber."""

    item: Item
    lsn: int
    version: int
    is_snapshot: bool = False


class Position:
    """What one subscriber received; the subscription's signal guards it."""

    def __init__(self, point: Point) -> None:
        self.lsn = point.lsn
        """Everything up to this LSN was delivered, dropped or not chosen."""
        self.version = point.version
        self.delivered = 0
        """Events delivered so far."""
        self.has_begun = point.snapshot is None
        """False until the rows to begin with were delivered."""

    def advance(self, fetched: Fetched) -> None:
        """The item was delivered, or nothing of it was chosen: move past it. A moment has no position."""
        if isinstance(fetched.item, int):
            return
        self.lsn, self.version = max(self.lsn, fetched.lsn), max(self.version, fetched.version)
        self.has_begun = self.has_begun or fetched.is_snapshot
