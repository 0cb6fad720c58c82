"""ALTER of a lag or a mode, while somebody else changes the definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.catalog.model import UNSET, RefreshMode
from penstock.ddl import alter as altering
from penstock.ddl.create import Proposal
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.write.storage import Storage
from penstock.engine.write.storage_state import StorageState, storage_state
from penstock.engine.write.table_properties import DEFINITION_KEY
from penstock.errors import CatalogError, CommitConflict
from penstock.names import TableName
from penstock.testing.published import Published, PublishedTable

LAG = timedelta(minutes=7)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


def definition(table: PublishedTable) -> Definition:
    return Definition.from_json(table.storage.pin().definition)


def redefine(table: PublishedTable, query: str) -> None:
    """What another process's ALTER … AS leaves."""
    changed = replace(definition(table), query=query)
    Storage.open(table.storage.path).set_configuration({DEFINITION_KEY: changed.to_json()})


def disturb(monkeypatch: pytest.MonkeyPatch, table: PublishedTable, times: int) -> None:
    """Another process changes the query just after the definition was read, that many times."""
    left = iter(range(times))

    def read(log: DeltaLog) -> StorageState:
        found = storage_state(log)
        if (number := next(left, None)) is not None:
            redefine(table, f"SELECT {number}")
        return found

    monkeypatch.setattr(altering, "storage_state", read)


def test_a_query_that_changes_meanwhile_is_not_changed_back(world: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    table, warehouse = world.keyed("t", {"k": "long"}, key=("k",)), world.tables._warehouse
    (meta,) = warehouse.catalog.get_all()
    disturb(monkeypatch, table, times=2)
    altering.alter(warehouse, meta, LAG, RefreshMode.FULL, UNSET)
    held = definition(table)
    assert (held.query, held.target_lag, held.refresh_mode) == ("SELECT 1", LAG, "FULL")
    (meta,) = warehouse.catalog.get_all()
    assert (meta.target_lag, meta.refresh_mode) == (LAG, RefreshMode.FULL)


def test_who_is_never_let_in_is_told_and_has_changed_nothing(world: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    table, warehouse = world.keyed("t", {"k": "long"}, key=("k",)), world.tables._warehouse
    (meta,) = warehouse.catalog.get_all()
    disturb(monkeypatch, table, times=1000)
    with pytest.raises(CommitConflict, match=r"default\.t"):
        altering.alter(warehouse, meta, LAG, UNSET, UNSET)
    assert definition(table).target_lag == timedelta(minutes=1)
    assert warehouse.catalog.get_all() == [meta]


def test_a_change_that_the_catalog_was_not_told_of_is_made_up_for(
    world: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, warehouse = world.keyed("t", {"k": "long"}, key=("k",)), world.tables._warehouse
    (meta,) = warehouse.catalog.get_all()
    with monkeypatch.context() as broken:
        broken.setattr(warehouse.catalog, "update_definition", _away)
        with pytest.raises(CatalogError):
            altering.alter(warehouse, meta, LAG, UNSET, UNSET)
    assert definition(table).target_lag == LAG
    altering.alter(warehouse, meta, LAG, UNSET, UNSET)
    assert warehouse.catalog.get_by_id(meta.id).target_lag == LAG


def test_the_catalog_has_the_last_word_of_the_storage_and_not_of_the_slower_one(
    world: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, warehouse = world.keyed("t", {"k": "long"}, key=("k",)), world.tables._warehouse
    (meta,) = warehouse.catalog.get_all()
    update = warehouse.catalog.update_definition

    def overtaken(*given: Any, **changes: Any) -> None:
        monkeypatch.setattr(warehouse.catalog, "update_definition", update)
        altering.alter(warehouse, meta, 2 * LAG, UNSET, UNSET)
        update(*given, **changes)

    monkeypatch.setattr(warehouse.catalog, "update_definition", overtaken)
    altering.alter(warehouse, meta, LAG, UNSET, UNSET)
    assert warehouse.definition(meta).target_lag == warehouse.catalog.get_by_id(meta.id).target_lag == 2 * LAG


def _away(*given: Any, **changes: Any) -> None:
    raise CatalogError(why="the server is away", fix="Try again.")


def same_rows(table: PublishedTable, **changed: Any) -> Proposal:
    """What a query as it is held is proposed as, under other settings of its refreshes."""
    held = definition(table)
    bound = SimpleNamespace(columns_used=(), sources=(), views=())
    plan: Any = SimpleNamespace(bound=bound, store=SimpleNamespace(key=("k",)))
    nothing: Any = None
    return Proposal(TableName.parse(held.name), replace(held, **changed), plan, nothing)


def test_a_query_whose_rows_stay_leaves_the_lag_to_whoever_changes_it_meanwhile(
    world: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, warehouse = world.keyed("t", {"k": "long"}, key=("k",)), world.tables._warehouse
    (meta,) = warehouse.catalog.get_all()
    proposal = same_rows(table, refresh_mode="FULL")
    put = Storage.set_configuration

    def overtaken(storage: Storage, changes: dict[str, str], at: int | None = None) -> None:
        monkeypatch.setattr(Storage, "set_configuration", put)
        altering.alter(warehouse, meta, LAG, UNSET, UNSET)
        put(storage, changes, at)

    monkeypatch.setattr(Storage, "set_configuration", overtaken)
    assert altering.redefinition(warehouse, meta, proposal, False, keeps={"target_lag_seconds"}) is None
    held, told = definition(table), warehouse.catalog.get_by_id(meta.id)
    assert (held.target_lag, held.refresh_mode) == (told.target_lag, told.refresh_mode) == (LAG, "FULL")


def test_a_query_whose_rows_stay_does_not_come_into_force_over_the_rows_of_another(
    world: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, warehouse = world.keyed("t", {"k": "long"}, key=("k",)), world.tables._warehouse
    (meta,) = warehouse.catalog.get_all()
    proposal = same_rows(table, refresh_mode="FULL")
    disturb(monkeypatch, table, times=1)
    with pytest.raises(CommitConflict, match="another query"):
        altering.redefinition(warehouse, meta, proposal, False)
    assert definition(table).query == "SELECT 0"
