"""Times as people read them: two units at most, moments in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def format_duration(duration: timedelta | float | None, missing: str = "–") -> str:
    """A duration in its two largest units.

    >>> [format_duration(seconds) for seconds in (0.2134, 12, timedelta(minutes=1, seconds=30), 90000, None)]
    ['213 ms', '12 s', '1 m 30 s', '1 d 1 h', '–']
    """
    if duration is None:
        return missing
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if seconds < 0:
        return "-" + format_duration(-seconds)
    if 0 < seconds < 1:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 10:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + " s"
    rest = round(seconds)
    parts: list[str] = []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append(f"{count} {unit}" if count else "")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if part)


def format_moment(at: datetime | None, missing: str = "–") -> str:
    """A moment in UTC, to the second."""
    if at is None:
        return missing
    return (at if at.tzinfo is None else at.astimezone(UTC)).strftime("%Y-%m-%d %H:%M:%S")
