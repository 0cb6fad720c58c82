"""Notes: what our commits that move no data, and so carry no record, say of themselves.

A note stands where a record would, under the commit key `userMetadata`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from deltalake import CommitProperties

from penstock.engine.delta.commit_record import USER_METADATA

_CONFIGURATION_NOTE = "penstock configuration"
_LAYOUT_NOTE = "penstock layout"


def configuration_note(stream_table_id: str, defines: bool = False) -> str:
    """What a commit of ours that only sets table properties says of itself, and whether a definition is among them."""
    return json.dumps({_CONFIGURATION_NOTE: stream_table_id, **({"defines": True} if defines else {})})


def layout_note(stream_table_id: str, columns: Iterable[str]) -> str:
    """What a commit of ours that only lays the files out anew says of itself."""
    return json.dumps({_LAYOUT_NOTE: stream_table_id, "columns": list(columns)})


def with_note(note: str) -> CommitProperties:
    """What makes delta-rs write a note into its commit, and make that commit once or not at all."""
    return CommitProperties(custom_metadata={USER_METADATA: note}, max_commit_retries=0)


def layout_in(info: Mapping[str, Any], ids: tuple[str, ...]) -> tuple[str, ...] | None:
    """The columns in a layout note of this stream table; None if the commit carries none."""
    text = info.get(USER_METADATA)
    if not isinstance(text, str) or _LAYOUT_NOTE not in text:
        return None
    try:
        fields = json.loads(text)
    except ValueError:
        return None
    ours = isinstance(fields, dict) and fields.get(_LAYOUT_NOTE) in ids
    return tuple(fields.get("columns", ())) if ours else None
