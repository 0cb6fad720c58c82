"""Where the catalog cannot be written to, a session reads stream tables, and a refresh is refused."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.errors import ReadOnly

if TYPE_CHECKING:
    from penstock.api import StreamTables


def test_rows_are_read_and_nothing_is_changed(ps: StreamTables, monkeypatch: pytest.MonkeyPatch) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS id")
    ps.create_stream_table("st", "SELECT id FROM src")
    ps.sql("INSERT INTO src VALUES (2)")
    ps.close()
    # Root, as whom tests may run, ignores modes.
    monkeypatch.setattr("penstock.catalog.sqlite.os.access", lambda path, mode: mode & os.W_OK == 0)
    file = ps.path / "catalog.sqlite"
    before = file.read_bytes()
    with penstock.open(ps.path, spark=ps.spark) as looking:
        assert [row.id for row in looking.table("st").collect()] == [1]
        assert sorted(row.id for row in looking.table("st", fresh=True).collect()) == [1, 2]
        with pytest.raises(ReadOnly):
            looking.refresh("st")
        [row] = looking.status()
        assert (row.status, row.errors, row.last_error) == ("ACTIVE", 0, None)
    assert file.read_bytes() == before
