"""What a refresh finds when another worker is ahead of its pins: nothing goes back, and nothing is claimed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.catalog import Dependency, SourceType, StreamTableMeta
from penstock.engine.run.workspace import Logs
from penstock.names import Frontier, SourceVersion, TableName
from penstock.refresh.stages.survey import Pins, Situation, survey

NOW = datetime(2026, 1, 1, tzinfo=UTC)
META = StreamTableMeta(name=TableName.parse("a"), table_id="a", path="", query="", definition_hash="h")


def known(source: str) -> Dependency:
    return Dependency(source_id=source, source_name="shop.orders", source_type=SourceType.TABLE, columns_used=("id",))


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A source at version 4."""
    for number in range(5):
        write_deltalake(str(tmp_path / "orders"), pa.table({"id": [number]}), mode="append")
    return tmp_path / "orders"


def surveyed(orders: Path, stored: int, pinned: int, stamp: datetime = NOW) -> tuple[Situation, str]:
    source = str(DeltaTable(str(orders)).metadata().id)
    before = Frontier({source: SourceVersion(stored)}, NOW, {"x": stored})
    definition: Any = SimpleNamespace(sources={source: str(orders)}, views={}, functions={}, hash="h")
    record = SimpleNamespace(frontier=before, definition_hash="h")
    pin: Any = SimpleNamespace(record=record, record_version=1, damaged=None)
    pins = Pins({source: pinned}, stamp, {"x": pinned})
    found = survey(META, definition, pin, pins, Logs(), lambda _: "", known, lambda _: None)
    return found, source


def test_the_pins_are_what_is_read_and_what_is_shown(orders: Path) -> None:
    found, source = surveyed(orders, stored=1, pinned=3, stamp=NOW + timedelta(minutes=1))
    assert found.rebuild is None
    assert found.data_changed
    assert found.after.version(source) == 3
    assert found.after.bases == {"x": 3}
    assert found.after.data_timestamp == NOW + timedelta(minutes=1)


def test_whoever_is_ahead_of_the_pins_stays_there_with_what_it_showed(orders: Path) -> None:
    found, source = surveyed(orders, stored=3, pinned=1, stamp=NOW - timedelta(minutes=1))
    assert found.rebuild is None
    assert not found.data_changed
    assert found.after.version(source) == 3
    assert found.after.bases == {"x": 3}, "not those of the pins"
    assert found.after.data_timestamp == NOW, "a data timestamp never moves back"


def test_a_source_that_really_went_back_is_a_reason_to_rebuild(orders: Path) -> None:
    found, source = surveyed(orders, stored=9, pinned=4)
    assert found.rebuild is not None
    assert found.rebuild == ("SOURCE_CHANGED", "shop.orders went back from version 9 to 4"), "by its name"
    assert found.after.version(source) == 4


def test_whoever_is_partly_ahead_of_the_pins_claims_nothing_of_what_it_shows(orders: Path, tmp_path: Path) -> None:
    for number in range(5):
        write_deltalake(str(tmp_path / "items"), pa.table({"id": [number]}), mode="append")
    paths = {str(DeltaTable(str(path)).metadata().id): str(path) for path in (orders, tmp_path / "items")}
    first, second = paths
    before = Frontier({first: SourceVersion(3), second: SourceVersion(2)}, NOW, {"x": 3})
    definition: Any = SimpleNamespace(sources=paths, views={}, functions={}, hash="h")
    pin: Any = SimpleNamespace(
        record=SimpleNamespace(frontier=before, definition_hash="h"), record_version=1, damaged=None
    )
    pins = Pins({first: 1, second: 4}, NOW, {"x": 1})
    found = survey(META, definition, pin, pins, Logs(), lambda _: "", known, lambda _: None)
    assert {source: found.after.version(source) for source in paths} == {first: 3, second: 4}
    assert found.after.bases is None
