"""The notice of a commit that the feed sends to each subscriber: its place and how many events it has, not its rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommitNotice:
    """One commit of a stream table."""

    version: int
    """The Delta version of the stream table that the commit made."""
    last_lsn: int
    """The position that the stream table's changelog reaches with it."""
    events: int
    """How many events it has; a commit without events only moves the moment on."""
    moment: int
    """The moment that the stream table stands for after it, in milliseconds since 1970."""

    @property
    def before(self) -> int:
        """The position that lies before its first event."""
        return self.last_lsn - self.events
