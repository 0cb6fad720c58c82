"""A storage that was put back from a backup, whose versions therefore come a second time with other rows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from penstock.api import StreamTables


def test_an_audit_goes_by_the_frontier_of_the_commit_and_not_by_another_of_its_number(
    ps: StreamTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise SystemExit

    ps.sql("CREATE TABLE src (id INT)")
    ps.sql("INSERT INTO src VALUES (1)")
    ps.create_stream_table("st", "SELECT id, count(*) AS n FROM src GROUP BY id")
    [storage] = (ps.path / "stream_tables").glob("*/st-*")
    shutil.copytree(storage, tmp_path / "backup")
    ps.sql("INSERT INTO src VALUES (2)")
    first = ps.refresh("st").version
    shutil.rmtree(storage)
    shutil.copytree(tmp_path / "backup", storage)
    ps.sql("INSERT INTO src VALUES (3)")
    with monkeypatch.context() as dying:
        # The rows are committed under a version that the catalog knows already, and the catalog never hears of it.
        dying.setattr(ps._warehouse.catalog, "update_after_refresh", killed)
        with pytest.raises(SystemExit):
            ps.refresh("st")
    [meta] = ps._warehouse.catalog.get_all()
    assert (meta.frontier_version, ps._warehouse.storage_state(meta).record_version) == (first, first)
    assert ps.audit("st").exact

    assert meta.frontier is not None
    [source] = meta.frontier.sources
    assert meta.frontier.version(source) < ps.audit("st").frontier.version(source)
