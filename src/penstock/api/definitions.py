"""CREATE, ALTER and DROP from Python arguments: read the query, check the definition, then fill the table.

A definition is checked whole before anything is made. If its first fill fails, the new stream table is dropped again; a
replaced one keeps its old definition and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from datetime import timedelta

from penstock.api.find import find_stream_table, full_name
from penstock.api.refreshing import refresh_one
from penstock.catalog.model import UNSET, StreamTableMeta, UnsetType
from penstock.ddl.alter import alter, postpone, redefinition, status_of
from penstock.ddl.create import Proposal, make, mode_of, propose
from penstock.ddl.definition_errors import definition_errors
from penstock.ddl.drop import drop, undo
from penstock.ddl.outcome import Replacement, StreamTableInfo, changed, column_changes, created, unchanged
from penstock.engine.spark import registry
from penstock.engine.spark.pyspark_types import DataFrame, SparkSession
from penstock.engine.spark.python_query import frame_from, named_query
from penstock.engine.spark.result_settings import result_settings
from penstock.errors import QueryInvalid, TableBusy, TableExists
from penstock.graph.lag import parse_target_lag
from penstock.refresh.keep_names import keep_names
from penstock.refresh.result import Report
from penstock.refresh.run_graph import run_graph
from penstock.refresh.warehouse import Warehouse

Query = str | DataFrame | Callable[[SparkSession], DataFrame]


def create_stream_table(
    warehouse: Warehouse,
    name: str,
    query: Query,
    target_lag: str | timedelta | None,
    refresh_mode: str,
    initialize: bool,
    *,
    key: Iterable[str] | None,
    or_replace: bool,
    if_not_exists: bool,
    cascade: bool,
    progress: Report | None,
) -> StreamTableInfo:
    """Make a stream table, or replace one, and fill it."""
    table = full_name(warehouse, name)
    text = query if isinstance(query, str) else _query_text(warehouse, query)
    held = warehouse.catalog.find(table)
    if held is not None and if_not_exists:
        return unchanged(held)
    if held is not None and not or_replace:
        raise TableExists(name=table, kind="stream table")
    lag = parse_target_lag(target_lag, warehouse.settings.min_target_lag)
    with definition_errors():
        proposal = propose(warehouse, name, text, lag, mode_of(refresh_mode), tuple(key or ()))
        if held is not None:
            replacement = _replace(warehouse, held, proposal, initialize, cascade, progress)
            return changed(held, warehouse.catalog.get_by_name(table), replacement)
        meta = make(warehouse, proposal)
        refreshed = None
        if initialize:
            try:
                refreshed = refresh_one(warehouse, name, progress)
            except TableBusy:
                # A scheduler has seen it and is filling it.
                refreshed = None
            except BaseException:
                undo(warehouse, meta)
                raise
    return created(warehouse.catalog.get_by_name(table), refreshed)


def alter_stream_table(
    warehouse: Warehouse,
    name: str,
    target_lag: str | timedelta | UnsetType | None,
    refresh_mode: str | UnsetType,
    status: str | UnsetType,
    query: str | UnsetType,
    cascade: bool,
) -> StreamTableInfo:
    """Change what is given, all of it or nothing; the rest stays."""
    before = find_stream_table(warehouse, name)
    lag = target_lag if target_lag is UNSET else parse_target_lag(target_lag, warehouse.settings.min_target_lag)
    mode = refresh_mode if refresh_mode is UNSET else mode_of(refresh_mode)
    wanted = status if status is UNSET else status_of(status)
    replacement = None
    with definition_errors():
        if query is not UNSET:
            # Lag and mode come into force in the commit of the rows, and the status once that has succeeded.
            given = {"target_lag_seconds": lag, "refresh_mode": mode}
            keeps = {field for field, value in given.items() if value is UNSET}
            lag, mode = before.target_lag if lag is UNSET else lag, before.refresh_mode if mode is UNSET else mode
            proposal = propose(warehouse, name, query, lag, mode, before.key)
            replacement = _replace(warehouse, before, proposal, True, cascade, None, keeps)
            lag = mode = UNSET
        alter(warehouse, find_stream_table(warehouse, name), lag, mode, wanted)
    return changed(before, find_stream_table(warehouse, name), replacement)


def drop_stream_table(warehouse: Warehouse, name: str, if_exists: bool, cascade: bool) -> list[str]:
    """Drop a stream table, with `cascade` its readers too; returns the names of all that were dropped."""
    meta = warehouse.catalog.find(full_name(warehouse, name))
    if meta is None and if_exists:
        return []
    return drop(warehouse, meta or find_stream_table(warehouse, name), cascade)


def _replace(
    warehouse: Warehouse,
    held: StreamTableMeta,
    proposal: Proposal,
    initialize: bool,
    cascade: bool,
    progress: Report | None,
    keeps: Set[str] = frozenset(),
) -> Replacement | None:
    """Give a stream table another definition, with its rows unless they are to come later; None if its rows stay."""
    before, refreshed = warehouse.definition(held), None
    change = redefinition(warehouse, held, proposal, cascade, keeps)
    if change is None:
        return None
    if initialize:
        refreshed = run_graph(warehouse, [held], warehouse.now(), progress, isolate=False, redefinition=change)[-1]
    else:
        postpone(warehouse, held, change)
    return Replacement(column_changes(before, warehouse.definition(held)), refreshed)


def _query_text(warehouse: Warehouse, query: DataFrame | Callable[[SparkSession], DataFrame]) -> str:
    """A DataFrame as SQL; where it has no SQL form, the name of the function that makes it."""
    keep_names(warehouse)
    frame = frame_from(query, warehouse.spark) if callable(query) else query
    settings, database = result_settings(warehouse.spark), registry.current_schema(warehouse.spark)
    workspace = warehouse.fresh_workspace(settings, database)
    try:
        with workspace.alone():
            return workspace.text_of(frame)
    except QueryInvalid:
        named = named_query(query) if callable(query) else None
        if named is None:
            raise
        return named
