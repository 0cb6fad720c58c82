"""The scheduler's executor: what is wrong with one table is no other table's business."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from penstock.api import open_lazily
from penstock.catalog import Dependency, SourceType, Status, StreamTableMeta
from penstock.errors import QueryFailed, TableBusy
from penstock.names import TableName
from penstock.refresh.graph_run import Arrival, GraphRun, Skip
from penstock.refresh.run_graph import Outcome
from penstock.refresh.warehouse import Warehouse
from penstock.schedule import refresh_executor as executor_module
from penstock.schedule.refresh_executor import WarehouseExecutor
from penstock.testing.published import Published

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    with open_lazily(tmp_path / "w") as tables:
        yield tables._warehouse


def add(warehouse: Warehouse, name: str, source: Path) -> None:
    """A stream table that reads one base table."""
    meta = StreamTableMeta(
        name=TableName.parse(name), table_id=name, path=str(source / "none"), query="", definition_hash=""
    )
    reads = Dependency(
        source_id=f"{name}'s source", source_name=source.name, source_type=SourceType.TABLE, source_path=str(source)
    )
    warehouse.catalog.insert(meta, [reads], now=warehouse.catalog.now())


def written(folder: Path) -> Path:
    """A base table."""
    write_deltalake(str(folder), pa.table({"id": [1]}), mode="append")
    return folder


def unreachable(folder: Path) -> Path:
    """A base table whose storage answers with an error, to the superuser too."""
    folder.mkdir()
    (folder / "_delta_log").symlink_to(folder / "_delta_log")
    return folder


def test_a_source_that_cannot_be_reached_keeps_nobody_else_from_setting_out(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    add(warehouse, "good", written(tmp_path / "orders"))
    add(warehouse, "bad", unreachable(tmp_path / "far"))
    graph_run = WarehouseExecutor(warehouse).begin(frozenset({"good", "bad"}), NOW, frozenset())
    assert graph_run.part.versions == {"good's source": 0}
    assert graph_run.ready() == ["bad", "good"]


def test_a_source_that_cannot_be_reached_wakes_nobody_and_keeps_nobody_asleep(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    orders, far = written(tmp_path / "orders"), written(tmp_path / "far")
    add(warehouse, "good", orders)
    add(warehouse, "bad", far)
    executor = WarehouseExecutor(warehouse)
    assert executor.picture() is not None
    graph_run = executor.begin(frozenset({"good", "bad"}), NOW, frozenset())
    for key in ("good", "bad"):
        executor._note_quiet(graph_run, key)
    written(orders)
    (far / "_delta_log").rename(far / "away")
    (far / "_delta_log").symlink_to(far / "_delta_log")
    assert executor.woken({"good", "bad"}) == {"good"}


def test_a_table_that_was_dropped_while_it_ran_is_skipped_in_silence(warehouse: Warehouse) -> None:
    WarehouseExecutor(warehouse).skip("gone", Skip("STILL_RUNNING", "the refresh before it has not ended"), NOW)
    assert warehouse.catalog.recent_history() == []


def test_a_table_that_another_process_holds_is_skipped_and_history_says_so_once(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    add(warehouse, "held", written(tmp_path / "orders"))
    catalog, executor = warehouse.catalog, WarehouseExecutor(warehouse)
    (meta,) = catalog.get_all()
    catalog.acquire_lease(meta.id, "elsewhere:1:abc", timedelta(minutes=5), now=catalog.now())
    for _ in range(3):
        graph_run = executor.begin(frozenset({"held"}), NOW, frozenset())
        assert isinstance(executor.carry_out(graph_run, "held").error, TableBusy)
    (line,) = catalog.recent_history()
    assert (line.action, line.status) == ("SKIP", "SKIPPED")
    assert line.reason is not None
    assert line.reason.startswith("TABLE_BUSY: default.held is being refreshed by elsewhere:1:abc")
    assert catalog.counters(meta.id).skip_count == 1


def test_a_table_suspended_since_its_tour_began_is_left_alone_and_the_others_have_a_fuse(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, dict[str, object]]] = []

    def carried_out(warehouse: Warehouse, graph_run: GraphRun, key: str, **how: object) -> Outcome:
        done.append((key, how))
        return Outcome(Arrival())

    monkeypatch.setattr(executor_module, "carry_out", carried_out)
    for name in ("stopped", "going"):
        add(warehouse, name, written(tmp_path / name))
    catalog, executor = warehouse.catalog, WarehouseExecutor(warehouse)
    graph_run = executor.begin(frozenset({"stopped", "going"}), NOW, frozenset())
    catalog.update_status(catalog.get_by_table_id("stopped").id, Status.SUSPENDED, now=NOW)
    assert executor.carry_out(graph_run, "stopped") == Outcome(Arrival(blocked=True))
    assert executor.carry_out(graph_run, "going") == Outcome(Arrival())
    assert done == [("going", {"patience": timedelta(0), "fused": True})]


def test_workers_may_note_what_is_quiet_while_the_loop_looks(warehouse: Warehouse, tmp_path: Path) -> None:
    add(warehouse, "a", written(tmp_path / "orders"))
    catalog, executor = warehouse.catalog, WarehouseExecutor(warehouse)
    graph_run = executor.begin(frozenset({"a"}), NOW, frozenset())
    graph, ended = graph_run.part.graph, threading.Event()
    many = {f"worker's {number}": graph.nodes["a"] for number in range(20_000)}
    wide = replace(
        graph_run.part, graph=replace(graph, sources={**graph.sources, **{key: frozenset() for key in many}})
    )
    busy = replace(graph_run, part=wide)

    def work() -> None:
        for key in itertools.cycle(many):
            executor._note_quiet(busy, key)
            if ended.is_set():
                return

    worker, interval = threading.Thread(target=work), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    worker.start()
    try:
        for _ in range(200):
            # Whatever changes the graph makes the executor forget tables that are gone.
            catalog.update_status(1, Status.INITIALIZING, now=catalog.now())
            assert executor.picture() is not None
    finally:
        ended.set()
        worker.join()
        sys.setswitchinterval(interval)


def test_a_table_in_error_is_woken_by_what_it_failed_on_and_by_nothing_else(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Outcome(Arrival(blocked=True), QueryFailed(name="st", why="division by zero"))
    monkeypatch.setattr(executor_module, "carry_out", lambda *_, **__: failing)
    orders = written(tmp_path / "orders")
    add(warehouse, "st", orders)
    executor, catalog = WarehouseExecutor(warehouse), warehouse.catalog
    (meta,) = catalog.get_all()
    catalog.update_status(meta.id, Status.ERROR, now=catalog.now())
    # Its own storage is read for its definition.
    with Published.open(tmp_path / "other") as world:
        storage = world.keyed("st", {"k": "long"}, key=("k",)).storage.path
        catalog.update_definition(meta.id, now=catalog.now(), path=storage)
        executor.picture()
        assert executor.woken({"st"}) == {"st"}, "what it failed on at first is not known"
        try_once(executor)
        assert executor.woken({"st"}) == frozenset()
        written(orders)
        assert executor.woken({"st"}) == {"st"}
        try_once(executor)
        assert executor.woken({"st"}) == frozenset()
        catalog.update_status(meta.id, Status.ACTIVE, now=catalog.now())
        executor.picture()
        assert executor._failed_on == {}


def test_a_change_between_the_look_and_the_try_wakes_again(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Outcome(Arrival(blocked=True), QueryFailed(name="st", why="division by zero"))
    monkeypatch.setattr(executor_module, "carry_out", lambda *_, **__: failing)
    orders = written(tmp_path / "orders")
    add(warehouse, "st", orders)
    executor, catalog = WarehouseExecutor(warehouse), warehouse.catalog
    (meta,) = catalog.get_all()
    catalog.update_status(meta.id, Status.ERROR, now=catalog.now())
    executor.picture()
    graph_run = executor.begin(frozenset({"st"}), NOW, frozenset())
    written(orders)
    executor.carry_out(graph_run, "st")
    with Published.open(tmp_path / "other") as world:
        storage = world.keyed("st", {"k": "long"}, key=("k",)).storage.path
        catalog.update_definition(meta.id, now=catalog.now(), path=storage)
        executor.picture()
        assert executor.woken({"st"}) == {"st"}


def try_once(executor: WarehouseExecutor) -> None:
    assert executor.carry_out(executor.begin(frozenset({"st"}), NOW, frozenset()), "st").error is not None
