"""Which stream tables a refresh is asked for, while others change what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.api import refreshing
from penstock.ddl import drop as dropping
from penstock.errors import StreamTableNotFound
from penstock.refresh.result import RefreshResult
from penstock.testing.published import Published


def test_a_stream_table_that_is_dropped_before_its_turn_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Published.open(tmp_path) as world:
        world.keyed("t", {"k": "long"}, key=("k",))
        warehouse = world.tables._warehouse
        (meta,) = warehouse.catalog.get_all()

        def nothing_left(*_: Any, **__: Any) -> list[RefreshResult]:
            warehouse.catalog.delete(meta.id)
            return []

        monkeypatch.setattr(refreshing, "run_graph", nothing_left)
        with pytest.raises(StreamTableNotFound, match=r"default\.t"):
            refreshing.refresh_one(warehouse, "t", None)
        with pytest.raises(StreamTableNotFound, match="meanwhile"):
            dropping.drop(warehouse, meta, cascade=False)
