"""Where a subscription begins.

now          what is committed from here on
snapshot     all rows as they are, then what is committed after exactly these
version n    what was committed after version n of the stream table
timestamp t  what was committed after the newest state that stands for a moment up to t
lsn n        the events after position n; 0 is the whole changelog
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from penstock.engine.changelog.changelog import Changelog, Entry
from penstock.errors import InvalidValue, NotReached

StartKind = Literal["now", "snapshot", "version", "timestamp", "lsn"]

WORDS: Final = ("now", "snapshot")
"""The points that `start` names; the others are named by a value."""


@dataclass(frozen=True, slots=True)
class Start:
    """A point in a changelog, as it was asked for: `Start.of(**start.keywords())` is the same point."""

    kind: StartKind = "now"
    value: int | datetime | None = None

    @classmethod
    def of(
        cls,
        start: str | None = None,
        *,
        version: int | None = None,
        timestamp: datetime | None = None,
        lsn: int | None = None,
    ) -> Start:
        """The one point that was named; now if none was."""
        if start not in (None, *WORDS):
            raise InvalidValue(what="start", value=start, allowed=", ".join(WORDS))
        given = [] if start is None else [cls("snapshot" if start == "snapshot" else "now")]
        given += [cls("version", version)] if version is not None else []
        given += [cls("timestamp", timestamp)] if timestamp is not None else []
        given += [cls("lsn", lsn)] if lsn is not None else []
        if len(given) > 1:
            kinds = ", ".join(each.kind for each in given)
            raise InvalidValue(what="start", value=kinds, allowed="one point to begin at")
        return given[0] if given else cls()

    @classmethod
    def after(cls, lsn: int) -> Start:
        """The events after a position."""
        return cls("lsn", lsn)

    @property
    def lsn(self) -> int | None:
        """The position that it begins after; None if it is named in another way."""
        return self.value if self.kind == "lsn" and isinstance(self.value, int) else None

    def keywords(self) -> dict[str, Any]:
        """The point as keyword arguments of `of` and `StreamTables.subscribe`."""
        return {"start": self.kind} if self.kind in WORDS else {self.kind: self.value}


@dataclass(frozen=True, slots=True)
class Point:
    """A point in a changelog, found: events after `lsn`, which lie in commits after `version`."""

    version: int
    lsn: int
    snapshot: Entry | None = None
    """The commit whose rows come first, if the subscription begins with all rows."""


def locate(changelog: Changelog, start: Start) -> Point:
    """Find the point; `NotRetained` if it is no longer kept, `NotReached` if it lies ahead."""
    newest = changelog.newest()
    match start.kind:
        case "now":
            return Point(newest.version, newest.last_lsn)
        case "snapshot":
            return Point(newest.version, newest.last_lsn, newest)
        case "version":
            asked = _number(start)
            if asked > changelog.latest_version():
                raise NotReached(what=f"version {asked}", name=changelog.name, newest=changelog.latest_version())
            following = changelog.after_version(asked)
            return Point(asked, following[0].record.first_lsn - 1 if following else newest.last_lsn)
        case "timestamp":
            assert isinstance(start.value, datetime)
            moment = start.value if start.value.tzinfo is not None else start.value.replace(tzinfo=UTC)
            found = changelog.at_time(moment)
            return Point(found.version, found.last_lsn)
        case "lsn":
            asked = _number(start)
            if asked > newest.last_lsn:
                raise NotReached(what=f"LSN {asked}", name=changelog.name, newest=newest.last_lsn)
            entries = changelog.after_lsn(asked)
            return Point(entries[0].version - 1 if entries else newest.version, asked)


def _number(start: Start) -> int:
    if not isinstance(start.value, int) or start.value < 0:
        raise InvalidValue(what=start.kind, value=start.value, allowed="a whole number from 0 on")
    return start.value
