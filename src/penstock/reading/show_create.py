"""SHOW CREATE STREAM TABLE: the text that, run again, gives the same definition.

A query means something only in its schema and under its settings. Where the session that asks is in another schema, or
has other settings that a result can depend on, the statements that change that come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from penstock.catalog.model import StreamTableMeta
from penstock.engine.delta.definition import Definition
from penstock.graph.lag import format_lag
from penstock.lang import CreateStreamTable
from penstock.lang.statements import RefreshMode
from penstock.lang.write_create import write_create
from penstock.names import TableName, quote


def create_text(definition: Definition, meta: StreamTableMeta, database: str, settings: Mapping[str, str]) -> str:
    """Statements that define it again, in a session that is in `database` and has these result settings."""
    lag = definition.target_lag
    statement = CreateStreamTable(
        name=str(TableName.parse(definition.name)),
        query=definition.query,
        target_lag=None if lag is None else format_lag(lag),
        downstream=lag is None,
        refresh_mode=cast(RefreshMode, definition.refresh_mode),
        initialize=meta.is_populated,
        key=definition.key,
    )
    held = definition.settings
    before = [f"SET {name}={value}" for name, value in sorted(held.items()) if settings.get(name) != value]
    before += [f"RESET {name}" for name in sorted(settings.keys() - held.keys())]
    if definition.database != database:
        before.append(f"USE {quote(definition.database)}")
    return ";\n".join([*before, write_create(statement)])
