"""Where the scheduler's decisions are carried out: catalog, logs and Spark behind a few questions.

The scheduler knows nothing else of the world, so a simulated one can take its place.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Protocol

from penstock.catalog.model import Action, SourceType, Status, StreamTableMeta
from penstock.engine.spark.session import is_alive
from penstock.errors import PenstockError, Retry, StreamTableNotFound, TableBusy
from penstock.refresh.graph_run import Arrival, GraphRun, Skip
from penstock.refresh.input_fingerprint import InputFingerprint, input_fingerprint
from penstock.refresh.run_graph import Outcome, begin, carry_out
from penstock.refresh.warehouse import Warehouse
from penstock.said_once import SaidOnce
from penstock.schedule.due import Picture


class RefreshExecutor(Protocol):
    """What the scheduler asks for."""

    def picture(self) -> Picture | None:
        """All stream tables as they are now; None while nothing may be started."""

    def woken(self, keys: Collection[str]) -> frozenset[str]:
        """The tables for which there may be something to do; cheap, because the scheduler asks all the time.

        A write to one of its base tables wakes a quiet table; a change of what it failed on wakes a table in error.
        """

    def begin(self, wanted: frozenset[str], stamp: datetime, resting: frozenset[str]) -> GraphRun:
        """Pin the newest versions, and settle every table to which nothing happened."""

    def carry_out(self, graph_run: GraphRun, key: str) -> Outcome:
        """Bring one table to the graph run's vector; errors are part of the outcome."""

    def skip(self, key: str, skip: Skip, stamp: datetime) -> None:
        """Note that a table was due and not refreshed."""

    def engine_is_gone(self) -> bool:
        """True if nothing can be computed any more in this process."""


class WarehouseExecutor:
    """The executor of a real warehouse."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._picture: Picture | None = None
        self._paths: dict[str, str] = {}
        self._seen: dict[str, dict[str, int]] = {}
        """Quiet table → the versions of all base tables behind it that nothing new was found in."""
        self._noting = threading.Lock()
        self._inputs: dict[str, InputFingerprint] = {}
        """Table in error → what it depended on when it was last begun."""
        self._failed_on: dict[str, InputFingerprint] = {}
        """Table in error → what it depended on when it failed again; a try on the same would fail the same way."""
        self._said = SaidOnce()
        """Of tables that another process works on: a skip is noted once, not at every try."""

    def picture(self) -> Picture | None:
        warehouse = self._warehouse
        if not warehouse.settings.enabled or warehouse.catalog.paused():
            return None
        picture = Picture.of(warehouse.catalog, warehouse.settings.min_target_lag)
        if self._picture is None or self._picture.dag_version != picture.dag_version:
            self._paths = {
                each.source_id: each.source_path
                for each in warehouse.catalog.all_dependencies()
                if each.source_type is SourceType.TABLE and each.source_path
            }
            with self._noting:
                self._seen = {key: seen for key, seen in self._seen.items() if key in picture.tables}
        in_error = {meta.table_id for meta in picture.in_error()}
        with self._noting:
            self._failed_on = {key: held for key, held in self._failed_on.items() if key in in_error}
        self._picture = picture
        return picture

    def woken(self, keys: Collection[str]) -> frozenset[str]:
        in_error = self._in_error(keys)
        asked = [key for key in keys if key in self._seen and key not in in_error]
        newest = {base: self._version(base) for base in {base for key in asked for base in self._seen[key]}}
        # A table that cannot be read wakes no reader: the refresh that reads it at its time says so.
        moved = {key for key in asked if any(newest[base] not in {None, at} for base, at in self._seen[key].items())}
        return frozenset(moved.union(key for key, meta in in_error.items() if self._is_on_other_inputs(meta)))

    def begin(self, wanted: frozenset[str], stamp: datetime, resting: frozenset[str]) -> GraphRun:
        # Before versions are pinned: what changes from here on must wake it again.
        for key, meta in self._in_error(wanted).items():
            if (found := input_fingerprint(self._warehouse, meta)) is not None:
                self._inputs[key] = found
        graph_run = begin(self._warehouse, wanted, stamp, resting)
        for key in graph_run.arrived:
            self._note_quiet(graph_run, key)
        return graph_run

    def carry_out(self, graph_run: GraphRun, key: str) -> Outcome:
        try:
            # A user may have suspended it since the graph run began.
            if self._warehouse.catalog.get_by_table_id(key).status is Status.SUSPENDED:
                return Outcome(Arrival(blocked=True))
        except PenstockError as error:
            return Outcome(Arrival(blocked=True), error)
        outcome = carry_out(self._warehouse, graph_run, key, patience=timedelta(0), fused=True)
        self._note_held(graph_run, key, outcome.error)
        self._note_failed(key, outcome.error)
        if outcome.arrival.result is not None and outcome.arrival.result.action is Action.NO_DATA:
            self._note_quiet(graph_run, key)
        return outcome

    def skip(self, key: str, skip: Skip, stamp: datetime) -> None:
        # One that was dropped since has no history to note it in, and must not keep the others from setting out.
        with suppress(StreamTableNotFound):
            self._warehouse.recorder.skipped(self._warehouse.catalog.get_by_table_id(key), skip, stamp)

    def engine_is_gone(self) -> bool:
        return not is_alive(self._warehouse.spark)

    def _note_held(self, graph_run: GraphRun, key: str, error: PenstockError | None) -> None:
        if not isinstance(error, TableBusy):
            self._said.forget(key)
        elif self._said.is_news(key):
            self.skip(key, Skip(error.condition, error.text), graph_run.stamp)

    def _in_error(self, keys: Collection[str]) -> dict[str, StreamTableMeta]:
        tables = self._picture.tables if self._picture is not None else {}
        return {key: tables[key] for key in keys if key in tables and tables[key].status is Status.ERROR}

    def _is_on_other_inputs(self, meta: StreamTableMeta) -> bool:
        failed_on = self._failed_on.get(meta.table_id)
        return failed_on is None or input_fingerprint(self._warehouse, meta) != failed_on

    def _note_failed(self, key: str, error: PenstockError | None) -> None:
        held = self._inputs.pop(key, None)
        # After any other error there is no telling what it was: it is tried again at longer and longer intervals.
        if held is not None and error is not None and error.retry in {Retry.CHANGE, Retry.NEVER}:
            with self._noting:
                self._failed_on[key] = held

    def _note_quiet(self, graph_run: GraphRun, key: str) -> None:
        behind = graph_run.part.graph.upstream(key)
        seen = {base: version for base, version in graph_run.part.versions.items() if base in behind}
        # Workers do this while the loop forgets tables that are gone.
        with self._noting:
            self._seen[key] = seen

    def _version(self, base: str) -> int | None:
        path = self._paths.get(base)
        try:
            return None if path is None else self._warehouse.logs.at(path).latest_version()
        except (PenstockError, OSError):
            return None
