"""What the ring holds, read under one lock, so that the figures belong together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CdcStats:
    """`current_lsn` may exceed `newest_lsn`: a restart sets it, and a ring of size 0 only counts."""

    buffered_events: int
    current_lsn: int
    oldest_lsn: int | None
    newest_lsn: int | None
    evicted_events: int = 0
    """Events that were emitted and are not held any more."""
