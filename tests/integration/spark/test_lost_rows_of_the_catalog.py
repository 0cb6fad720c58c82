"""A lost catalog comes back from the tables, whatever lies beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


def lose(ps: StreamTables) -> None:
    """Forget every stream table; that plain tables are still known makes no difference here."""
    for meta in ps._warehouse.catalog.get_all():
        ps._warehouse.catalog.delete(meta.id)
        ps.spark.sql(f"DROP VIEW {meta.name.sql}")


def test_what_a_killed_create_left_does_not_take_the_place_of_the_table(
    ps: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise SystemExit

    ps.sql("CREATE TABLE src AS SELECT 1 AS id")
    with monkeypatch.context() as dying:
        dying.setattr(ps._warehouse.catalog, "insert", killed)
        with pytest.raises(SystemExit):
            ps.create_stream_table("st", "SELECT id FROM src")
    [left] = (ps.path / "stream_tables").glob("*/st-*")
    # Which of the two comes first is up to their names.
    left.rename(left.with_name("st-00000000"))
    ps.create_stream_table("st", "SELECT id, id * 2 AS twice FROM src")
    lose(ps)
    lines = ps.repair().lines
    assert sum("restored" in line for line in lines) == 1, lines
    assert any("st-00000000" in line for line in lines)
    assert ps.table("st").columns == ["id", "twice"]
    assert ps.refresh("st").action == "NO_DATA"
    assert_exact(ps, "st")


def test_a_schema_that_holds_stream_tables_alone_comes_back_with_them(ps: StreamTables, tmp_path: Path) -> None:
    ps.sql("CREATE TABLE src AS SELECT 1 AS id")
    ps.sql(f"CREATE SCHEMA mart LOCATION '{tmp_path / 'mart.db'}'")
    try:
        ps.create_stream_table("mart.st", "SELECT id FROM shop.src")
        lose(ps)
        ps.sql("DROP SCHEMA mart")
        lines = ps.repair().lines
        assert sum("restored, at version" in line for line in lines) == 1, lines
        assert_exact(ps, "mart.st")
    finally:
        ps.spark.sql("DROP SCHEMA IF EXISTS mart CASCADE")
