"""What a stream table's own Delta table says of itself: its properties, and how its rows are laid out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from deltalake import DeltaTable

from penstock.engine.delta.storage_schema import Fields, fields_of

ID_KEY = "penstock.id"
"""Configuration key of the stream table's id, which is also the app id of its transactions."""

FORMER_IDS_KEY = "penstock.former_ids"
"""Configuration key of the ids that the commits of the table's originals carry, JSON list; only copies have it."""

DEFINITION_KEY = "penstock.definition"
"""Configuration key of the definition, JSON text."""

KEY_KEY = "penstock.key"
"""Configuration key of the layout's key: a JSON list of column names, or null for a bag."""

TARGET_FILE_SIZE = 32 * 1024 * 1024
"""A merge rewrites whole files: small enough that a clustered change rewrites little, large enough to scan well."""

DELETION_VECTORS = "delta.enableDeletionVectors"
FILE_SIZE = "delta.targetFileSize"
CHECKPOINT_INTERVAL = "delta.checkpointInterval"

DEFAULTS = {
    "delta.enableChangeDataFeed": "true",
    DELETION_VECTORS: "false",
    FILE_SIZE: str(TARGET_FILE_SIZE),
    # Spark writes a checkpoint every 10 commits by default, and each costs seconds.
    CHECKPOINT_INTERVAL: "100",
}
"""What every stream table's table is created with."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How result rows are stored.

    `schema_json` is the Spark StructType JSON of all storage columns, hidden ones included. `key` names the storage
    columns that are matched null-safely; () is the single row of a global aggregate, None a bag with `__ps_weight`.
    """

    schema_json: str
    key: tuple[str, ...] | None

    @property
    def fields(self) -> Fields:
        """Column name → Delta type, in storage order."""
        return fields_of(self.schema_json)


def ids_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The id of a stream table and those that it had in the warehouses it was copied from, newest first."""
    return properties.get(ID_KEY, ""), *json.loads(properties.get(FORMER_IDS_KEY, "[]"))


def key_configuration(key: tuple[str, ...] | None) -> dict[str, str]:
    """The table property that holds a layout's key, for `set_configuration` when a new definition changes it."""
    return {KEY_KEY: json.dumps(key)}


def layout_of(handle: DeltaTable) -> Layout:
    """The layout that a handle's version has."""
    return Layout(str(handle.schema().to_json()), layout_key(handle.metadata().configuration))


def layout_key(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    """The key that table properties name, or None for a bag."""
    key = json.loads(properties.get(KEY_KEY, "null"))
    return None if key is None else tuple(key)
