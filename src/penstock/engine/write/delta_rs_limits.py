"""What delta-rs may not write, and the one table feature that we declare for it.

A table is writable by allow-list: a protocol or a feature that is not named here is refused.
"""

from __future__ import annotations

from deltalake import DeltaTable, TableFeatures

from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.delta.log_storage import location
from penstock.engine.delta.storage_schema import fields_of, holds, only_in_maps
from penstock.engine.write.commit_notes import configuration_note, with_note
from penstock.engine.write.table_properties import DELETION_VECTORS, layout_of

ONLY_VECTORS = "table features deletionVectors"
"""Why delta-rs may not write a table that is otherwise like any other."""

_WRITABLE = frozenset(
    {"invariants", "appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "timestampNtz"}
)


def declare_timestamp_ntz(handle: DeltaTable, stream_table_id: str) -> None:
    """Declare the feature for timestamps without zone in a commit of its own, on this handle.

    Needed before an overwrite brings the first such column: Spark refuses to add the feature by itself. The features
    that the old protocol number stood for are named too, because delta-rs would drop them.
    """
    handle.alter.add_feature(
        [
            TableFeatures.TimestampWithoutTimezone,
            TableFeatures.ChangeDataFeed,
            TableFeatures.Invariants,
            TableFeatures.AppendOnly,
        ],
        allow_protocol_versions_increase=True,
        commit_properties=with_note(configuration_note(stream_table_id)),
    )


def hides_timestamp_ntz(schema_json: str) -> bool:
    """True if timestamps without zone occur inside maps only, where delta-rs forgets to declare their table feature."""
    kinds = [kind for kind in fields_of(schema_json).values() if holds(kind, "timestamp_ntz")]
    return bool(kinds) and all(only_in_maps(kind, "timestamp_ntz") for kind in kinds)


def not_writable_by_delta_rs(handle: DeltaTable) -> str | None:
    """Why delta-rs must not write this table, or None; by allow-list, so what is not known is refused."""
    protocol = handle.protocol()
    features = set(protocol.writer_features or ()) | set(protocol.reader_features or ())
    if protocol.min_reader_version not in (1, 3) or protocol.min_writer_version not in (1, 2, 3, 4, 7):
        return f"protocol ({protocol.min_reader_version}, {protocol.min_writer_version})"
    # delta-rs itself adds this feature when it sets a property of a table with timestamps without zone; it concerns
    # columns of that type only.
    if "variantType" in features and not any(holds(kind, "variant") for kind in layout_of(handle).fields.values()):
        features.discard("variantType")
    # A table that had deletion vectors keeps the feature for the sake of its older versions.
    if "deletionVectors" in features and not _has_deletion_vectors(handle):
        features.discard("deletionVectors")
    unknown = sorted(features - _WRITABLE)
    return f"table features {', '.join(unknown)}" if unknown else None


def _has_deletion_vectors(handle: DeltaTable) -> bool:
    """True if writers of the table may leave deletion vectors, or a live file has one."""
    if handle.metadata().configuration.get(DELETION_VECTORS, "false").lower() == "true":
        return True
    snapshot = DeltaLog(location(handle.table_uri)).snapshot(handle.version())
    return any(file.deletion_vector for file in snapshot.files)
