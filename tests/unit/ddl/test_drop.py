"""DROP where Spark does not answer: what the warehouse keeps of the stream table goes all the same."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.ddl import drop as dropping
from penstock.errors import CatalogError
from penstock.refresh.warehouse import Warehouse
from penstock.testing.published import Published


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Published]:
    with Published.open(tmp_path) as opened:
        yield opened


@pytest.fixture
def deaf(world: Published, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A warehouse whose session is gone."""

    def refused(*_: Any) -> None:
        raise ConnectionRefusedError("no answer from the JVM")

    warehouse = world.tables._warehouse
    session: Any = object()
    monkeypatch.setattr(warehouse, "_session", session)
    monkeypatch.setattr(dropping, "drop_left_over", refused)
    monkeypatch.setattr(dropping, "keep_names", refused)
    return warehouse


def test_a_view_that_cannot_be_dropped_keeps_nothing_else(
    world: Published, deaf: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    table = world.keyed("t", {"k": "long"}, key=("k",))
    (meta,) = deaf.catalog.get_all()
    with caplog.at_level(logging.WARNING):
        assert dropping.drop(deaf, meta, cascade=False) == ["default.t"]
    assert (deaf.catalog.get_all(), Path(table.storage.path).exists()) == ([], False)
    assert "no answer from the JVM" in caplog.text
    # The next look at the names drops it.
    assert deaf.named == {meta.table_id: meta.name}


def test_what_could_not_be_filled_is_taken_back_without_another_error(
    world: Published, deaf: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = world.keyed("t", {"k": "long"}, key=("k",))
    (meta,) = deaf.catalog.get_all()
    with monkeypatch.context() as broken:
        broken.setattr(deaf.catalog, "delete", _away)
        dropping.undo(deaf, meta)
    assert Path(table.storage.path).exists()
    monkeypatch.setattr(dropping, "keep_names", _away)
    dropping.undo(deaf, meta)
    assert (deaf.catalog.get_all(), Path(table.storage.path).exists()) == ([], False)


@pytest.mark.parametrize("away", [False, True])
def test_the_workspace_of_what_is_dropped_is_let_go_of(world: Published, deaf: Warehouse, away: bool) -> None:
    table, other = (world.keyed(name, {"k": "long"}, key=("k",)) for name in ("t", "other"))
    workspace: Any = object()
    for each in (table, other):
        deaf._workspaces[each.storage.stream_table_id] = (), workspace
    if away:
        Path(table.storage.path).rename(Path(table.storage.path).with_name("away"))
    dropping.drop(deaf, deaf.catalog.get_by_table_id(table.storage.table_id), cascade=False)
    assert other.storage.stream_table_id in deaf._workspaces
    assert (table.storage.stream_table_id in deaf._workspaces) is away


def _away(*_: Any) -> None:
    raise CatalogError(why="the server is away", fix="Try again.")
