"""Names and positions: what a table is called and how far it has been read.

A frontier is a point in a product of total orders (one version per source): `a <= b` holds only if it holds for every
source, so two frontiers can be incomparable; `merge` is the least upper bound. A frontier never moves back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.errors import InvalidName

HIDDEN = "__ps_"
"""Prefix of every hidden column and generated relation; users may not use it."""

WEIGHT = "__ps_weight"
"""The multiplicity of a row in a delta, or of a physical row in a stored bag."""

_FORM = "Names are table, schema.table or catalog.schema.table, of letters, digits and _."
_PART = re.compile(r"`(?:[^`]|``)+`|[^`.\s]+")
_PLAIN = re.compile(r"[^`.\s]+")


def quote(identifier: str) -> str:
    """The identifier in backticks, as Spark reads it.

    >>> quote("odd`name")
    '`odd``name`'
    """
    return "`" + identifier.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """`schema.table` inside one Spark catalog; compared without regard to case, as Spark does by default."""

    schema: str
    table: str
    catalog: str = "spark_catalog"

    @classmethod
    def parse(cls, text: str, default_schema: str = "default") -> TableName:
        """Read `table`, `schema.table` or `catalog.schema.table`.

        >>> TableName.parse("Sales.`Odd name`")
        TableName(schema='sales', table='odd name', catalog='spark_catalog')
        """
        stripped = text.strip()
        parts: list[str] = []
        at = 0
        while True:
            found = _PART.match(stripped, at)
            if not found:
                raise InvalidName(name=text, why="a part of it is empty or badly quoted", fix=_FORM)
            raw = found.group()
            parts.append(raw[1:-1].replace("``", "`") if raw.startswith("`") else raw)
            at = found.end()
            if at == len(stripped):
                break
            if stripped[at] != ".":
                raise InvalidName(name=text, why=f"unexpected {stripped[at]!r} at position {at + 1}", fix=_FORM)
            at += 1
        if len(parts) > 3:
            raise InvalidName(name=text, why="it has more than three parts", fix=_FORM)
        parts = [part.lower() for part in parts]
        for part in parts:
            if part.startswith(HIDDEN):
                why = f"the prefix {HIDDEN} is reserved"
                raise InvalidName(name=text, why=why, fix="Choose a name that begins otherwise.")
            if "/" in part or "\\" in part or part in {".", ".."}:
                raise InvalidName(name=text, why="slashes are not allowed", fix="Choose a name without them.")
        table = parts[-1]
        schema = parts[-2] if len(parts) > 1 else default_schema
        return cls(schema, table, parts[0]) if len(parts) == 3 else cls(schema, table)

    def __str__(self) -> str:
        """The name as people write it, odd parts quoted: `parse` reads it back."""
        return ".".join(part if _PLAIN.fullmatch(part) else quote(part) for part in (self.schema, self.table))

    @property
    def sql(self) -> str:
        """The name as SQL text."""
        return f"{quote(self.schema)}.{quote(self.table)}"


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """How far one source has been read: a Delta version, and when that version was committed."""

    version: int
    snapshot_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Frontier:
    """Source id → version, plus the data timestamp they stand for.

    >>> a = Frontier.of({"orders": 3}); b = Frontier.of({"orders": 4})
    >>> a <= b, b <= a, a.merge(b) == b
    (True, False, True)
    """

    sources: Mapping[str, SourceVersion]
    data_timestamp: datetime | None = None
    bases: Mapping[str, int] | None = None
    """The versions of base tables that stream tables among the sources show; None if not known."""

    @classmethod
    def of(cls, versions: Mapping[str, int], data_timestamp: datetime | None = None) -> Frontier:
        """A frontier from plain version numbers."""
        return cls({source: SourceVersion(version) for source, version in versions.items()}, data_timestamp)

    def version(self, source: str) -> int:
        """The version of one source."""
        return self.sources[source].version

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.sources))

    def __le__(self, other: Frontier) -> bool:
        return all(
            source in other.sources and held.version <= other.sources[source].version
            for source, held in self.sources.items()
        )

    def same_versions(self, other: Frontier) -> bool:
        """True if both stand at the same version of every source, whatever their timestamps."""
        return {s: v.version for s, v in self.sources.items()} == {s: v.version for s, v in other.sources.items()}

    def comparable(self, other: Frontier) -> bool:
        """True if one of the two is at or before the other in every source."""
        return self <= other or other <= self

    def merge(self, other: Frontier) -> Frontier:
        """The least frontier that is not earlier than either."""
        merged = dict(self.sources)
        for source, held in other.sources.items():
            if source not in merged or merged[source].version < held.version:
                merged[source] = held
        stamps = [stamp for stamp in (self.data_timestamp, other.data_timestamp) if stamp is not None]
        return Frontier(merged, max(stamps) if stamps else None)

    def base_versions(self, stream_tables: Container[str]) -> dict[str, int] | None:
        """Base table → version, through the stream tables in between; None if no commit recorded it."""
        direct = {source: held.version for source, held in self.sources.items() if source not in stream_tables}
        if self.bases is None and len(direct) < len(self.sources):
            return None
        return {**(self.bases or {}), **direct}

    def to_json(self) -> dict[str, Any]:
        """The JSON form; `from_json` gives back an equal frontier."""
        return {
            "format": 1,
            "sources": {
                source: {"version": held.version, "snapshot_ts": _stamp(held.snapshot_at)}
                for source, held in sorted(self.sources.items())
            },
            "data_timestamp": _stamp(self.data_timestamp),
            **({} if self.bases is None else {"bases": dict(sorted(self.bases.items()))}),
        }

    def dumps(self) -> str:
        """The JSON form as text."""
        return json.dumps(self.to_json(), separators=(",", ":"))

    @classmethod
    def from_json(cls, data: str | Mapping[str, Any]) -> Frontier:
        """Read the JSON form, as text or as a mapping."""
        fields: Mapping[str, Any] = json.loads(data) if isinstance(data, str) else data
        if fields.get("format") != 1:
            raise ValueError(f"frontier format {fields.get('format')!r} is not known; this Penstock reads format 1")
        return cls(
            {
                source: SourceVersion(int(held["version"]), _moment(held.get("snapshot_ts")))
                for source, held in fields["sources"].items()
            },
            _moment(fields.get("data_timestamp")),
            fields.get("bases"),
        )


@dataclass(frozen=True, slots=True)
class Interval:
    """The half-open interval `(before, after]` between two frontiers over the same sources."""

    before: Frontier
    after: Frontier

    def __post_init__(self) -> None:
        if not self.before <= self.after:
            raise ValueError("an interval cannot end before it starts")

    @property
    def moved(self) -> frozenset[str]:
        """The sources whose version differs between the two ends."""
        return frozenset(
            source
            for source, held in self.after.sources.items()
            if source not in self.before.sources or self.before.version(source) != held.version
        )


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="microseconds")


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
