"""What a scheduler sees of a catalog."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from penstock.catalog import Dependency, SourceType, SqliteCatalog, StreamTableMeta
from penstock.names import TableName
from penstock.schedule.due import Picture


def test_tables_in_a_circle_and_their_readers_are_left_out_and_the_others_are_seen(tmp_path: Path) -> None:
    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        for name, source in {"a": "b", "b": "a", "c": "t", "over": "b", "over_over": "over"}.items():
            meta = StreamTableMeta(name=TableName.parse(name), table_id=name, path="", query="", definition_hash="")
            reads = Dependency(source_id=source, source_name=source, source_type=SourceType.TABLE)
            catalog.insert(meta, [reads], now=catalog.now())
        picture = Picture.of(catalog, timedelta(minutes=1))
    assert list(picture.tables) == ["c"]
    assert list(picture.lags) == ["c"]
    assert picture.circle is not None
    assert "default.a" in picture.circle
