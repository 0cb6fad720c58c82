"""A fresh read: the stored table plus the delta since its frontier, without writing.

The delta is computed as a refresh would compute it and laid over the stored rows: a bag adds up, a keyed table takes
the new row of every touched key. Upstream stream tables are read as they are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.catalog.model import Action, StreamTableMeta
from penstock.engine.change_rows import overlaid
from penstock.refresh.compute import compute
from penstock.refresh.run import Attempt
from penstock.refresh.survey import Pins
from penstock.refresh.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fresh_rows(warehouse: Warehouse, meta: StreamTableMeta) -> DataFrame:
    """The rows of a stream table as of now."""
    refresher = warehouse.refresher
    attempt = Attempt(meta)
    work, decision = refresher.prepared(attempt, Pins({}, warehouse.now()))
    workspace, definition = work.workspace, work.definition
    if decision.action is Action.NO_DATA:
        return workspace.shown(definition, work.storage.path, work.pin.version)
    if decision.action is not Action.INCREMENTAL:
        versions = {source.path: work.interval.after.version(source.id) for source in work.plan.bound.sources}
        return workspace.witnessed(definition.query, definition.columns, versions, work.interval.after.data_timestamp)
    computed = compute(work, decision, attempt.timed, lambda stage, done: None)
    if computed.change is None:
        return workspace.shown(definition, work.storage.path, work.pin.version)
    return overlaid(workspace, definition, work.plan.store, work.storage.path, work.pin.version, computed.change)
