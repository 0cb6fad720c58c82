"""ALTER STREAM TABLE and CREATE OR REPLACE: change what is given, leave the rest, keep rows that are still right.

Another query comes into force with its rows: they are computed beside the old ones, and one commit brings rows, columns
and definition. Until then, and if the new query fails, everything is as it was.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Set
from dataclasses import replace
from datetime import timedelta
from typing import Final

from penstock.catalog.model import UNSET, Alert, AlertEvent, Dependency, RefreshMode, Status, StreamTableMeta, UnsetType
from penstock.ddl.create import Proposal
from penstock.ddl.guard_readers import guard_readers
from penstock.engine.delta.definition import Definition
from penstock.engine.write.storage import Storage
from penstock.engine.write.storage_state import storage_state
from penstock.engine.write.table_properties import DEFINITION_KEY, key_configuration
from penstock.errors import CommitConflict, InvalidMode, NotIncremental
from penstock.refresh.define import Redefinition, dependencies_of, note_definition
from penstock.refresh.warehouse import Warehouse

TRIES: Final = 20
"""How often a definition that others change meanwhile is read again."""

BUSY: Final = "it was committed to again and again while its definition was changed"

_log = logging.getLogger("penstock.refresh")


def status_of(text: str | Status) -> Status:
    """ACTIVE or SUSPENDED; a user cannot set the other statuses."""
    allowed = (Status.ACTIVE, Status.SUSPENDED)
    try:
        status = Status(str(text).upper())
    except ValueError:
        status = Status.ERROR
    if status not in allowed:
        raise InvalidMode(what="status", value=text, allowed=", ".join(allowed))
    return status


def alter(
    warehouse: Warehouse,
    meta: StreamTableMeta,
    target_lag: timedelta | UnsetType | None,
    mode: RefreshMode | UnsetType,
    status: Status | UnsetType,
) -> None:
    """Change lag, mode or status."""
    if target_lag is not UNSET or mode is not UNSET:
        _change(warehouse, meta, target_lag, mode)
        _update_catalog(warehouse, meta)
    if status is not UNSET:
        if status is Status.ACTIVE and not meta.is_populated:
            status = Status.INITIALIZING
        warehouse.catalog.update_status(meta.id, status, now=warehouse.now())
        if status is Status.SUSPENDED and meta.status is not status:
            about = {"stream_table": str(meta.name), "event": "suspended"}
            _log.info("%s suspended", meta.name, extra=about)
        elif status is not Status.SUSPENDED and meta.status in {Status.SUSPENDED, Status.ERROR}:
            facts = {"was": meta.status.value, "last_error": meta.last_error}
            warehouse.tell(Alert(AlertEvent.RESUMED, str(meta.name), warehouse.now(), facts))


def _change(
    warehouse: Warehouse, meta: StreamTableMeta, target_lag: timedelta | UnsetType | None, mode: RefreshMode | UnsetType
) -> None:
    """Change the stored definition, unless it says that already.

    The definition is written as a whole, so only over the version that was read: this must not undo another ALTER.
    """
    for _ in range(TRIES):
        found = storage_state(warehouse.logs.at(meta.path))
        definition = Definition.from_json(found.definition)
        changed = definition
        if mode is RefreshMode.INCREMENTAL:
            _check_incremental(warehouse, definition)
        if mode is not UNSET:
            changed = replace(changed, refresh_mode=mode.value)
        if target_lag is not UNSET:
            changed = replace(changed, target_lag_seconds=None if target_lag is None else target_lag.total_seconds())
        if changed == definition:
            return
        try:
            properties = {**(found.unset or {}), DEFINITION_KEY: changed.to_json()}
            Storage.open(meta.path).set_configuration(properties, at=found.version)
        except CommitConflict:
            continue
        return
    raise CommitConflict(name=meta.name, why=BUSY)


def _update_catalog(warehouse: Warehouse, meta: StreamTableMeta) -> None:
    """Bring lag and mode in the catalog into line with the storage.

    This also finishes an earlier ALTER whose worker died before it wrote to the catalog, or was overtaken.
    """
    for _ in range(TRIES):
        stored, held = warehouse.definition(meta), warehouse.catalog.get_by_id(meta.id)
        lag, mode = stored.target_lag, RefreshMode(stored.refresh_mode)
        if (held.target_lag, held.refresh_mode) == (lag, mode):
            return
        warehouse.catalog.update_definition(meta.id, now=warehouse.now(), target_lag=lag, refresh_mode=mode)
    raise CommitConflict(name=meta.name, why="its lag or mode was changed again and again")


def redefinition(
    warehouse: Warehouse,
    meta: StreamTableMeta,
    proposal: Proposal,
    cascade: bool,
    keeps: Set[str] = frozenset(),
) -> Redefinition | None:
    """What it takes to give a stream table another definition; None if its rows stay.

    A definition with the same rows (another lag, another mode) is put in force here. ReadersBreak if others could not
    read it any more, unless that is wanted (`cascade`). Fields that it `keeps` are not taken from the proposal: they
    stay what they are by the time it comes into force.
    """
    held, reads = warehouse.definition(meta), tuple(dependencies_of(proposal.plan.bound))
    wanted = replace(proposal.definition, id=held.id, created_at=held.created_at)
    if wanted.query == held.query and _columns(reads) == _columns(warehouse.catalog.dependencies_of(meta.id)):
        # Its sources may show other columns by now, but none that its stars or names would take.
        wanted = replace(wanted, reads=held.reads)
    change = Redefinition(meta.table_id, wanted, proposal.plan.store.key, reads, frozenset(keeps))
    if wanted.hash != held.hash:
        if not cascade:
            guard_readers(warehouse, meta, wanted)
        if wanted.reads == proposal.definition.reads:
            warehouse.adopt(wanted, proposal.workspace)
        return change
    _put_in_force(warehouse, meta, change, same_rows=True)
    _update_catalog(warehouse, meta)
    return None


def _columns(reads: Iterable[Dependency]) -> dict[str, tuple[str, ...]]:
    return {each.source_id: each.columns_used for each in reads}


def postpone(warehouse: Warehouse, meta: StreamTableMeta, change: Redefinition) -> None:
    """Put a definition in force now, and leave its rows to the next refresh; until then the old ones stay readable."""
    _put_in_force(warehouse, meta, change, same_rows=False)
    warehouse.catalog.mark_reinit(meta.id, "the query was replaced", now=warehouse.now())
    warehouse.forget(change.definition.id)


def _put_in_force(warehouse: Warehouse, meta: StreamTableMeta, change: Redefinition, same_rows: bool) -> None:
    """Write a definition over the one that was read; with `same_rows`, only over one that gives the same rows."""
    for _ in range(TRIES):
        found = storage_state(warehouse.logs.at(meta.path))
        stored = Definition.from_json(found.definition)
        wanted = change.over(stored)
        if same_rows and stored.hash != wanted.hash:
            raise CommitConflict(name=meta.name, why="another query came into force meanwhile")
        if wanted == stored:
            return
        properties = {DEFINITION_KEY: wanted.to_json(), **key_configuration(change.key)}
        try:
            Storage.open(meta.path).set_configuration(properties, at=found.version)
        except CommitConflict:
            continue
        note_definition(warehouse.catalog, meta, wanted, change.dependencies, warehouse.now())
        return
    raise CommitConflict(name=meta.name, why=BUSY)


def _check_incremental(warehouse: Warehouse, definition: Definition) -> None:
    workspace = warehouse.workspace(definition)
    with workspace.alone():
        plan = workspace.plan_anew(definition.query, definition.key, definition.visible_columns)
    if plan.refused is not None:
        raise NotIncremental(reason=plan.refused.reason, detail=plan.refused.construct, fix=plan.refused.advice)
