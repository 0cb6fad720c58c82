"""A changelog as an Arrow stream: its media type, and its columns also where there is no row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from penstock.changes.wire.commit_changes import mark_names
from penstock.engine.changelog.changelog import Changelog

MEDIA: Final = "application/vnd.apache.arrow.stream"


def changelog_schema(changelog: Changelog, columns: Sequence[str] | None) -> pa.Schema:
    """The marks, then the visible columns, or those of them that were chosen."""
    fields = {field.name.lower(): field for field in changelog.schema(changelog.newest())}
    chosen = list(fields.values()) if columns is None else [fields[name.lower()] for name in columns]
    names = mark_names([field.name for field in chosen])
    return pa.schema([*zip(names, (pa.int64(), pa.string(), pa.int64()), strict=True), *chosen])
