"""The canonical grid: stamps at which stream tables of unlike lags meet.

    periods  p = 1.5 · 2ⁿ s          stamp(now, p) = ⌊now / p⌋ · p
    period(lag) = largest p ≤ lag/2

Every stamp of a coarse period is a stamp of every finer one, so tables of unlike lags share the coarser one's stamps.
A period of at most half the lag leaves the other half for waiting and working. All arithmetic is on whole microseconds
(1.5 s · 2⁻⁵ is the finest that is whole), so there is no rounding.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

FINEST: Final = timedelta(microseconds=46_875)
"""1.5 s · 2⁻⁵."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def period(lag: timedelta) -> timedelta:
    """The largest period of the grid that is at most half the lag.

    >>> period(timedelta(seconds=60)).total_seconds(), period(timedelta(hours=1)).total_seconds()
    (24.0, 1536.0)
    """
    steps = lag // 2 // FINEST
    if steps < 1:
        raise ValueError(f"a lag of {lag} is below twice the finest period")
    # Integer type: the bit length minus one is ⌊log₂⌋.
    return FINEST * (1 << (int(steps).bit_length() - 1))


def stamp(now: datetime, every: timedelta) -> datetime:
    """The newest stamp of that period that is not after `now`."""
    return _EPOCH + (now - _EPOCH) // every * every


def due_stamp(now: datetime, lag: timedelta, data_timestamp: datetime | None) -> datetime | None:
    """The stamp to refresh to, or None if the data is already as new as the grid offers.

    A stream table that was never filled is due at once; a data timestamp never moves back.
    """
    offered = stamp(now, period(lag))
    return offered if data_timestamp is None or offered > data_timestamp else None


def next_stamp(now: datetime, lag: timedelta) -> datetime:
    """The first stamp after `now`: until then there is nothing new to do for this lag."""
    every = period(lag)
    return stamp(now, every) + every
