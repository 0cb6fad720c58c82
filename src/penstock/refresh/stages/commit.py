"""Sixth stage: one Delta commit with the rows, the record and the new frontier, made once or not at all.

before every write      the lease is asked for again: a worker that lost the table writes nothing
a new definition        comes in the commit of its rows; the table's properties follow, and the next refresh sets
                        them if this one does not live to do it
no changed row          nothing is committed, until the frontier that only the catalog holds is far ahead: then it
                        goes into a commit of its own
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from penstock.catalog.model import Action, StreamTableMeta
from penstock.catalog.reader import CatalogReader
from penstock.compile.bound import BoundQuery
from penstock.compile.plan import Plan
from penstock.engine.delta.commit_record import CommitRecord
from penstock.engine.delta.definition import Definition
from penstock.engine.run.program import Timed
from penstock.engine.write.commit import Committed as Landed
from penstock.engine.write.commit import Marking, commit_frontier_only
from penstock.engine.write.commit import commit as write_change
from penstock.engine.write.storage_state import StorageState, storage_state
from penstock.engine.write.table_properties import DEFINITION_KEY, key_configuration
from penstock.errors import CommitConflict
from penstock.failpoints import Failpoint, reach
from penstock.refresh.stages.compute import Computed, Write
from penstock.refresh.stages.decide import Decided, Decision
from penstock.refresh.stages.next_lsn import next_lsn
from penstock.refresh.stages.survey import Surveyed

CARRY_AFTER = timedelta(hours=42)
"""A quarter of Delta's default retention of a week: then a frontier that only the catalog holds goes into a commit."""


@dataclass(frozen=True)
class Writer:
    """Who commits: a refresh that holds its table."""

    refresh_id: str
    catalog: CatalogReader
    now: Callable[[], datetime]
    check_lease: Callable[[], None]
    """LeaseLost if another worker holds the table now."""
    check_graph: Callable[[BoundQuery], None]
    """CycleInGraph if the stream table may not read what a query reads."""
    redefined: Callable[[StreamTableMeta, Definition, Plan], None]
    """Called with a definition that is in force in the storage."""


@dataclass(frozen=True)
class Committed:
    """What a refresh that came to its end found and did."""

    decided: Decided
    decision: Decision
    computed: Computed | None
    """None if there was nothing to compute."""
    version: int | None
    """The storage version that it committed; None if there was nothing to commit."""
    record: CommitRecord | None
    """The record of the newest commit of ours."""
    applier: str | None = None


def commit(computed: Computed, writer: Writer, timed: Timed) -> Committed:
    """Commit the change, or the frontier alone where that is due."""
    decided, decision, write = computed.decided, computed.decision, computed.write
    if write is None:
        return replace(keep_rows(decided, decision, writer), computed=computed)
    pinned = decided.pinned
    redefined = computed.redefined or (pinned.definition if pinned.redefines else None)
    if redefined is not None:
        # Others may have been redefined while this was computed.
        writer.check_graph(decided.plan.bound)
    writer.check_lease()
    record = _record(decided, decision, writer, redefined or pinned.definition, computed)
    if redefined is not None:
        record = replace(record, properties=_configuration(decided.plan, redefined))
    with timed("commit"):
        landed = _written(decided, write, record)
    if redefined is not None:
        reach(Failpoint.BEFORE_THE_DEFINITION)
        put_in_force(decided, redefined, landed.version, writer)
        reach(Failpoint.REDEFINED)
    return Committed(decided, decision, computed, landed.version, record, landed.applier)


def keep_rows(decided: Decided, decision: Decision, writer: Writer) -> Committed:
    """Put a frontier that only the catalog would hold into a commit of its own, once it is far ahead."""
    pinned, state = decided.pinned, decided.pinned.state
    version = None
    if is_overdue(state, decided.surveyed):
        writer.check_lease()
        record = _record(decided, decision, writer, pinned.definition)
        spark = decided.planned.workspace.session if state.not_fast and not state.marks else None
        version = commit_frontier_only(pinned.storage, state, record, spark=spark).version
    return Committed(decided, decision, None, version, state.record)


def is_overdue(state: StorageState, surveyed: Surveyed) -> bool:
    """True if the newest commit's frontier lags so far that the sources' retention could overtake it."""
    held = state.record.data_timestamp if state.record is not None else None
    now = surveyed.after.data_timestamp
    return held is not None and now is not None and now - held > CARRY_AFTER


def put_in_force(decided: Decided, definition: Definition, version: int, writer: Writer) -> None:
    """Set the properties that a commit brought, and let the catalog hear of the definition."""
    # Not by a worker that slept since its commit: another definition may be in force by now.
    writer.check_lease()
    pinned, plan = decided.pinned, decided.plan
    # Nor over another ALTER of lag or mode since: what is not set then, the next refresh sets.
    with suppress(CommitConflict):
        pinned.storage.set_configuration(_configuration(plan, definition), at=version)
    log = decided.planned.workspace.logs.at(pinned.meta.path)
    in_force = Definition.from_json(storage_state(log).definition)
    if in_force.hash == definition.hash:
        writer.redefined(pinned.meta, in_force, plan)


def _written(decided: Decided, write: Write, record: CommitRecord) -> Landed:
    pinned, program, settings = decided.pinned, write.program, decided.settings
    limit = settings.deletion_vector_bytes if settings.apply == "auto" else 0
    log = decided.planned.workspace.logs.at(pinned.storage.path)
    return write_change(
        pinned.storage,
        pinned.state,
        write.change,
        record,
        applier=write.applier,
        transaction_number=pinned.state.next_transaction,
        spark=program.spark,
        schema_json=write.schema_json,
        marking=Marking(log, program.columns, limit, program.placed),
    )


def _configuration(plan: Plan, definition: Definition) -> dict[str, str]:
    """The table properties that carry a definition."""
    return {DEFINITION_KEY: definition.to_json(), **key_configuration(plan.store.key)}


def _record(
    decided: Decided, decision: Decision, writer: Writer, definition: Definition, computed: Computed | None = None
) -> CommitRecord:
    """What the commit says of itself; without `computed`, that no row changed."""
    pinned, surveyed = decided.pinned, decided.surveyed
    figures = computed.figures if computed is not None else None
    return CommitRecord(
        stream_table_id=definition.id,
        definition_hash=definition.hash,
        refresh_id=writer.refresh_id,
        action=decision.action.value,
        frontier=surveyed.after,
        data_timestamp=surveyed.after.data_timestamp,
        rows_inserted=figures.inserted if figures else 0,
        rows_deleted=figures.deleted if figures else 0,
        first_lsn=next_lsn(pinned.state, pinned.meta, writer.catalog, writer.now()),
        lsn_count=figures.events if figures else 0,
        replaces=computed is not None and computed.replaces,
        before=surveyed.before if decision.action is not Action.REINITIALIZE else None,
    )
