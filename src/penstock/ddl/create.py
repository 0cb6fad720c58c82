"""CREATE STREAM TABLE: everything is checked before anything is made.

Order of making: storage, catalog row, view, first fill. A crash in between leaves at most an empty stream table that
the next refresh fills, or a folder to which nothing refers.
"""

from __future__ import annotations

import re
import shutil
import uuid
from dataclasses import dataclass
from datetime import timedelta

from penstock.catalog.model import RefreshMode, Status, StreamTableMeta
from penstock.compile.plan import Plan
from penstock.ddl.drop import discard_view
from penstock.ddl.guard_versions import guard_versions
from penstock.engine.delta.definition import Definition
from penstock.engine.run.workspace import Workspace
from penstock.engine.spark.registry import current_schema, kind_of, register_view, schema_exists
from penstock.engine.spark.result_settings import result_settings
from penstock.engine.spark.schema_text import schema_json
from penstock.engine.write.storage import Storage
from penstock.engine.write.table_properties import DEFINITION_KEY, ID_KEY, Layout
from penstock.errors import InvalidMode, InvalidName, NotIncremental, SchemaNotFound, TableExists
from penstock.failpoints import Failpoint, reach
from penstock.lang import check_query
from penstock.names import TableName
from penstock.refresh.copied_sources import require_one_copy
from penstock.refresh.define import check_graph, dependencies_of
from penstock.refresh.hidden_names import refuse_hidden
from penstock.refresh.keep_names import keep_names
from penstock.refresh.stages.plan import describe
from penstock.refresh.warehouse import Warehouse

_TABLE = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A checked definition, of which nothing exists yet."""

    name: TableName
    definition: Definition
    plan: Plan
    workspace: Workspace
    """Where the query was bound."""


def mode_of(text: str | RefreshMode) -> RefreshMode:
    """A refresh mode by name, in any case."""
    try:
        return RefreshMode(str(text).upper())
    except ValueError:
        raise InvalidMode(what="refresh mode", value=text, allowed=", ".join(RefreshMode)) from None


def propose(
    warehouse: Warehouse,
    name: str,
    query: str,
    target_lag: timedelta | None,
    mode: RefreshMode,
    key: tuple[str, ...],
) -> Proposal:
    """Check name, query, key, mode and graph; nothing is changed."""
    spark = warehouse.spark
    keep_names(warehouse)
    database = current_schema(spark)
    table = TableName.parse(name, database)
    if not _TABLE.fullmatch(table.table):
        why = "Spark takes only letters, digits and _ in the name of a table or view, also in backticks"
        plain = re.sub(r"[^A-Za-z0-9]+", "_", table.table).strip("_")
        raise InvalidName(name=name, why=why, fix=f"Choose a name such as {plain or 'my_table'}.")
    if not schema_exists(spark, table.schema):
        raise SchemaNotFound(schema=table.schema)
    held = warehouse.catalog.find(table)
    if held is None and (kind := kind_of(spark, table)) is not None:
        raise TableExists(name=table, kind=kind)
    text = check_query(query)
    guard_versions(warehouse, text, database)
    settings = result_settings(spark)
    workspace = warehouse.fresh_workspace(settings, database)
    with workspace.alone():
        plan = workspace.propose(text, key)
        refuse_hidden(warehouse, text, database)
        reads = dict(workspace.columns_read_by_name(text))
    if mode is RefreshMode.INCREMENTAL and plan.refused is not None:
        raise NotIncremental(reason=plan.refused.reason, detail=plan.refused.construct, fix=plan.refused.advice)
    check_graph(warehouse.catalog, table, held, plan.bound)
    require_one_copy(warehouse.catalog, dependencies_of(plan.bound))
    draft = Definition(
        id=uuid.uuid4().hex,
        name=str(table),
        query=text,
        database=database,
        settings=settings,
        target_lag_seconds=None if target_lag is None else target_lag.total_seconds(),
        refresh_mode=mode.value,
        key=key,
        columns=(),
        reads=reads,
        weighted=True,
        has_hidden_rows=False,
        created_at=warehouse.now().isoformat(),
    )
    return Proposal(table, describe(draft, plan, warehouse.logs), plan, workspace)


def make(warehouse: Warehouse, proposal: Proposal) -> StreamTableMeta:
    """Bring a proposal into being, empty."""
    definition, plan, table = proposal.definition, proposal.plan, proposal.name
    path = warehouse.storage_path(table, definition.id)
    layout = Layout(schema_json(warehouse.spark, plan.store.columns), plan.store.key)
    storage = Storage.create(path, layout, {ID_KEY: definition.id, DEFINITION_KEY: definition.to_json()})
    inserted: int | None = None
    named = False
    try:
        inserted = warehouse.catalog.insert(
            StreamTableMeta(
                name=table,
                table_id=storage.table_id,
                path=path,
                query=definition.query,
                definition_hash=definition.hash,
                database=definition.database,
                settings=definition.settings,
                target_lag=definition.target_lag,
                refresh_mode=RefreshMode(definition.refresh_mode),
                key=definition.key,
                status=Status.INITIALIZING,
                effective_mode=RefreshMode.INCREMENTAL
                if plan.incremental and definition.refresh_mode != RefreshMode.FULL
                else RefreshMode.FULL,
                reason_code=plan.refused.reason if plan.refused else None,
                reason=plan.refused.explained if plan.refused else None,
            ),
            dependencies_of(plan.bound),
            now=warehouse.now(),
        )
        named = True
        register_view(warehouse.spark, definition, path)
        reach(Failpoint.VIEW_MADE)
    except BaseException:
        # Whatever it was (Spark may refuse the view, a user may interrupt): nothing half-made stays.
        if inserted is not None:
            warehouse.catalog.delete(inserted)
        shutil.rmtree(path, ignore_errors=True)
        if named:
            discard_view(warehouse, storage.table_id, table)
        raise
    warehouse.adopt(definition, proposal.workspace)
    return warehouse.catalog.get_by_name(table)
