"""Where the stored rows stand, by the newest record and by the catalog."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.catalog import StreamTableMeta
from penstock.names import Frontier, TableName
from penstock.refresh.stored_frontier import stored_frontier

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
META = StreamTableMeta(name=TableName.parse("a"), table_id="a", path="", query="", definition_hash="h")


def at(version: int) -> Frontier:
    return Frontier.of({"orders": version}, NOON)


@pytest.mark.parametrize(
    ("catalog", "written_for", "stored", "wanted"),
    [
        pytest.param(None, None, at(3), at(3), id="the catalog has never heard of a commit"),
        pytest.param(at(5), 7, at(3), at(5), id="no data since the commit"),
        pytest.param(at(5), 6, at(3), at(3), id="the catalog speaks of an older commit"),
        pytest.param(at(2), 7, at(3), at(3), id="another commit of that number, which is further"),
        pytest.param(Frontier.of({"other": 9}, NOON), 7, at(3), at(3), id="another commit of that number, of others"),
        pytest.param(at(5), 7, None, None, id="no commit of ours"),
    ],
)
def test_the_catalog_is_believed_only_where_it_goes_on_from_the_newest_record(
    catalog: Frontier | None, written_for: int | None, stored: Frontier | None, wanted: Frontier | None
) -> None:
    record = None if stored is None else SimpleNamespace(frontier=stored)
    state: Any = SimpleNamespace(record=record, record_version=None if stored is None else 7)
    assert stored_frontier(replace(META, frontier=catalog, frontier_version=written_for), state) == wanted
