"""What a scheduler sees of a catalog."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from penstock.catalog import Dependency, SourceType, SqliteCatalog, Status, StreamTableMeta
from penstock.names import TableName
from penstock.schedule.backoff import Backoff
from penstock.schedule.due import Picture, due


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


def test_a_tick_tries_a_table_in_error_at_growing_intervals(tmp_path: Path) -> None:
    second = timedelta(seconds=1)
    backoff = Backoff(2 * second, 60 * second)
    with SqliteCatalog(tmp_path / "catalog.db") as catalog:
        now = catalog.now()
        meta = StreamTableMeta(
            name=TableName.parse("a"), table_id="a", path="", query="", definition_hash="", target_lag=60 * second
        )
        number = catalog.insert(meta, [], now=now)
        for failures, rest in ((1, 2), (2, 4), (3, 8)):
            catalog.record_failure(number, "[QUERY_FAILED] division by zero", now=now)
            catalog.update_status(number, Status.ERROR, now=now)
            assert failures == catalog.get_by_id(number).consecutive_errors
            assert due(catalog, now + (rest - 1) * second, second, backoff) == []
            assert [each.table_id for each in due(catalog, now + rest * second, second, backoff)] == ["a"]
