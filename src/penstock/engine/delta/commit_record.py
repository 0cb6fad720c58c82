"""The record that every commit of a stream table carries.

One Delta commit holds the rows *and* this record, so the two can never disagree: a reader of the table can read how far
it has got. It is JSON text under the commit key `userMetadata`, the one key that both Spark and delta-rs show
in a table's history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.names import Frontier

FORMAT = 1
"""Version of the JSON form; a record of another format is not ours to read."""

FIRST_LSN = 1
"""Where every changelog begins: 0 is the position before its first change."""

USER_METADATA = "userMetadata"
"""The commitInfo key that holds the record."""


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """What one commit says about itself.

    `rows_inserted` and `rows_deleted` count visible rows; `first_lsn` and `lsn_count` are the dense range of positions
    that the commit's changes take in the changelog: one for a row that comes, goes, or takes another's place, and one
    for all rows together if they were put anew (`replaces`). `base_version` is the table version the commit was
    computed from: set by `commit`, it exposes a commit that landed on top of another writer's. `before` is the frontier
    that the rows of that version had reached meanwhile without a change. `properties` are the table properties that
    belong to these rows, where they differ from those that the table had: a definition comes into force with its rows,
    in one commit.
    """

    stream_table_id: str
    definition_hash: str
    refresh_id: str
    action: str
    frontier: Frontier
    data_timestamp: datetime | None = None
    rows_inserted: int = 0
    rows_deleted: int = 0
    first_lsn: int = FIRST_LSN
    lsn_count: int = 0
    replaces: bool = False
    base_version: int | None = None
    before: Frontier | None = None
    properties: Mapping[str, str] | None = None
    format: int = FORMAT

    @property
    def last_lsn(self) -> int:
        """The position that the table has reached with this commit."""
        return self.first_lsn + self.lsn_count - 1

    def to_json(self) -> str:
        """The record as JSON text; `from_json` gives back an equal record."""
        fields: dict[str, Any] = {
            "format": self.format,
            "stream_table_id": self.stream_table_id,
            "definition_hash": self.definition_hash,
            "refresh_id": self.refresh_id,
            "action": self.action,
            "frontier": self.frontier.to_json(),
            "data_timestamp": _stamp(self.data_timestamp),
            "rows_inserted": self.rows_inserted,
            "rows_deleted": self.rows_deleted,
            "first_lsn": self.first_lsn,
            "lsn_count": self.lsn_count,
            "replaces": self.replaces,
            "base_version": self.base_version,
            "before": None if self.before is None else self.before.to_json(),
        }
        if self.properties is not None:
            fields["properties"] = dict(self.properties)
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> CommitRecord:
        """Read JSON text; ValueError if it is not a record of this format."""
        fields = json.loads(text)
        if not isinstance(fields, dict) or "stream_table_id" not in fields:
            raise ValueError("this is not a commit record")
        if fields.get("format") != FORMAT:
            raise ValueError(
                f"commit record format {fields.get('format')!r} is not known; this Penstock reads format {FORMAT}"
            )
        try:
            stamp = fields["data_timestamp"]
            return cls(
                stream_table_id=fields["stream_table_id"],
                definition_hash=fields["definition_hash"],
                refresh_id=fields["refresh_id"],
                action=fields["action"],
                frontier=Frontier.from_json(fields["frontier"]),
                data_timestamp=None if stamp is None else datetime.fromisoformat(stamp),
                rows_inserted=int(fields["rows_inserted"]),
                rows_deleted=int(fields["rows_deleted"]),
                first_lsn=int(fields["first_lsn"]),
                lsn_count=int(fields["lsn_count"]),
                replaces=bool(fields["replaces"]),
                base_version=fields.get("base_version"),
                before=Frontier.from_json(fields["before"]) if fields.get("before") else None,
                properties=fields.get("properties"),
            )
        except (KeyError, TypeError) as broken:
            raise ValueError(f"this commit record is incomplete: {broken}") from broken


def record_in(commit_info: Mapping[str, Any], *ids: str) -> CommitRecord | None:
    """The record in a commit's `commitInfo` if it is one of the stream table that has or had these ids, else None.

    A record of ours in a format of a later Penstock raises ValueError: taking that commit for a foreign one would
    rebuild a healthy table.
    """
    text = commit_info.get(USER_METADATA)
    if not isinstance(text, str) or '"stream_table_id"' not in text:
        return None
    try:
        fields = json.loads(text)
    except ValueError:
        return None
    if not isinstance(fields, dict) or fields.get("stream_table_id") not in ids or "refresh_id" not in fields:
        return None
    return CommitRecord.from_json(text)


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="microseconds")
