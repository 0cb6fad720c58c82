"""Durations as people say them."""

from __future__ import annotations

from datetime import timedelta


def rounded(duration: timedelta) -> timedelta:
    """Two figures are enough: seconds below an hour, minutes below a day, hours from then on."""
    seconds = duration.total_seconds()
    unit = 1 if seconds < 3600 else 60 if seconds < 86_400 else 3600
    return timedelta(seconds=max(1, round(seconds / unit) * unit))
