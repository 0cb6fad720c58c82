"""Dates and timestamps from text, in the plain forms only.

Spark takes many more spellings ('2026-1', ' today '); a form that is not read here is refused, never guessed.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"(?P<local>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?)(?P<zone>.*)", re.S
)
_OFFSET = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")
_UTC = {"UTC", "Z", "GMT", "Etc/UTC", "Etc/GMT", "+00:00", "-00:00"}


def read_date(text: str) -> date | None:
    """The date that `text` is, written as 2026-01-31; None if it is not.

    >>> read_date("2026-01-31")
    datetime.date(2026, 1, 31)
    >>> read_date("2026-02-31") is None
    True
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def read_timestamp(text: str) -> datetime | None:
    """The timestamp that `text` is, written as 2026-01-31[ 12:30[:15[.123456]]][zone]; without a zone it is naive.

    >>> read_timestamp("2026-01-31 12:30:15.5").isoformat()
    '2026-01-31T12:30:15.500000'
    >>> read_timestamp("2026-01-31T12:30+02:00").isoformat()
    '2026-01-31T12:30:00+02:00'
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    local, _, fraction = found["local"].partition(".")
    try:
        at = datetime.fromisoformat(local).replace(microsecond=int(fraction.ljust(6, "0")) if fraction else 0)
    except ValueError:
        return None
    named = found["zone"].strip()
    if not named:
        return None if found["zone"] else at
    zone = read_zone(named)
    return at.replace(tzinfo=zone) if zone else None


def in_utc(at: datetime) -> datetime | None:
    """The instant of a timestamp that has a zone; None if it lies outside the years 1 to 9999 of UTC."""
    try:
        return at.astimezone(UTC)
    except OverflowError:
        return None


def read_zone(name: str) -> tzinfo | None:
    """The time zone of that name: a region, UTC, or an offset such as +02:00; None if there is none."""
    if name in _UTC:
        return UTC
    if found := _OFFSET.fullmatch(name):
        hours, minutes = int(found[2]), int(found[3])
        if minutes > 59 or hours * 60 + minutes > 18 * 60:
            return None
        return timezone(timedelta(hours=hours, minutes=minutes) * (-1 if found[1] == "-" else 1))
    if "/" not in name:
        # Three-letter names mean one thing to Java and another here (EST, MST, HST).
        return None
    try:
        return ZoneInfo(name)
    # A path that leads nowhere, or to a directory: what is raised depends on the platform.
    except (KeyError, ValueError, OSError):
        return None


def is_utc(name: str | None) -> bool:
    """True if the time zone is UTC, at all times."""
    return name in _UTC
