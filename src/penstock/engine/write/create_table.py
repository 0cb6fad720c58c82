"""A stream table's own Delta table, created empty by delta-rs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from deltalake import DeltaTable, Schema, write_deltalake

from penstock.engine.delta.storage_schema import arrow_schema, nullable, require_storable
from penstock.engine.write.commit_notes import configuration_note, with_note
from penstock.engine.write.delta_rs_errors import translated
from penstock.engine.write.delta_rs_limits import hides_timestamp_ntz
from penstock.engine.write.table_properties import DEFAULTS, ID_KEY, Layout, key_configuration
from penstock.errors import InternalError, TableExists
from penstock.names import HIDDEN


def create_table(where: str, layout: Layout, configuration: Mapping[str, str]) -> DeltaTable:
    """Create the table; TableExists if there is one, UnstorableColumn if it cannot hold a column.

    `configuration` must hold `penstock.id`; nullability in the layout's schema is dropped.
    """
    require_storable(layout.schema_json)
    if not configuration.get(ID_KEY):
        raise InternalError(why=f"a stream table's storage needs {ID_KEY} in its configuration")
    properties = {**DEFAULTS, **configuration, **key_configuration(layout.key)}
    with translated(where):
        if DeltaTable.is_deltatable(where):
            raise TableExists(name=where, kind="Delta table")
        if "://" not in where:
            Path(where).mkdir(parents=True, exist_ok=True)
        if hides_timestamp_ntz(layout.schema_json):
            return _created_in_two_steps(where, layout.schema_json, properties)
        return _created(where, nullable(layout.schema_json), properties)


def _created(where: str, schema_json: str, properties: dict[str, str]) -> DeltaTable:
    schema = Schema.from_json(schema_json)
    return DeltaTable.create(where, schema, configuration=properties, raise_if_key_not_exists=False)


def _created_in_two_steps(where: str, schema_json: str, properties: dict[str, str]) -> DeltaTable:
    """Create with a plain column of the type, which brings the feature in, and take that column away again."""
    wanted = json.loads(nullable(schema_json))
    stand_in = {"name": f"{HIDDEN}stand_in", "type": "timestamp_ntz", "nullable": True, "metadata": {}}
    handle = _created(where, json.dumps({**wanted, "fields": [*wanted["fields"], stand_in]}), properties)
    write_deltalake(
        handle,
        arrow_schema(schema_json).empty_table(),
        mode="overwrite",
        schema_mode="overwrite",
        commit_properties=with_note(configuration_note(properties[ID_KEY])),
    )
    return handle
