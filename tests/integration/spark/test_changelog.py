"""Changes of real refreshes: every kind of storage, FULL refreshes, and readers that hold back clean-up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warehouses import warehouse

from penstock.changes.wire.change_event import Delete, Insert, Snapshot, Update
from penstock.errors import RetentionCut
from penstock.testing.changelog_oracle import assert_changelog, bag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

STORES = {
    "rows_twice": "SELECT g, v FROM a WHERE v > 2",
    "sums": "SELECT g, sum(v) AS s, count(*) AS n FROM a GROUP BY g",
    "sums_without_their_key": "SELECT sum(v) AS s FROM a GROUP BY g",
    "total": "SELECT count(*) AS n, sum(v) AS s FROM a",
    "first_rows": "SELECT id, v FROM a ORDER BY v DESC, id LIMIT 3 OFFSET 1",
    "first_groups": "SELECT g, sum(v) AS s FROM a GROUP BY g ORDER BY s DESC, g LIMIT 2",
    "having": "SELECT g, max(v) AS m FROM a GROUP BY g HAVING count(*) > 1",
    "hidden_total": "SELECT count(*) AS n FROM a HAVING min(v) > 1000000",
    "places": "SELECT g, id, row_number() OVER (PARTITION BY g ORDER BY v DESC, id) AS place FROM a",
    "bits": "SELECT d, list FROM a",
}


def test_every_store_tells_its_changes(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE a (id INT, g INT, v INT, d DOUBLE, list ARRAY<DOUBLE>)")
    ps.sql(
        "INSERT INTO a VALUES (1, 1, 5, 0.0D, array(1D)), (2, 1, 6, -0.0D, NULL), "
        "(3, 2, 7, double('NaN'), array(-0.0D)), (4, NULL, 1, 1.5D, array(0.0D))"
    )
    for name, query in STORES.items():
        ps.create_stream_table(name, query, refresh_mode="INCREMENTAL")
    for change in (
        "INSERT INTO a VALUES (5, 1, 5, -0.0D, array(1D)), (6, 3, 9, 0.0D, NULL), (6, 3, 9, 0.0D, NULL)",
        "DELETE FROM a WHERE id IN (2, 4); UPDATE a SET v = v + 2 WHERE g = 1",
        # Two groups swap their sums: told apart by their key, though it is not seen.
        "UPDATE a SET g = 4 - g WHERE g IN (1, 3)",
    ):
        ps.sql(change)
        for name in STORES:
            ps.refresh(name)
    kinds: Counter[str] = Counter()
    for name in STORES:
        changelog = ps.changelog(name)
        expected = 1
        for entry in changelog.after_version(0):
            changes = assert_changelog(changelog, entry)
            assert changes.first_lsn == expected
            expected = changes.last_lsn + 1
            kinds.update(kind for kind, *_ in changes.runs())
        assert bag(changelog.snapshot(changelog.newest())) == Counter(
            repr(row) for row in ps.table(name).toArrow().to_pylist()
        )
    assert set(kinds) == {"delete", "update", "insert"}


def test_a_full_refresh_is_one_event_or_what_differs(spark: SparkSession, tmp_path: Path) -> None:
    with warehouse(spark, tmp_path) as ps:
        ps.sql("CREATE TABLE a (g INT, v INT); INSERT INTO a VALUES (1, 1), (2, 2)")
        ps.create_stream_table("sums", "SELECT g, sum(v) AS s FROM a GROUP BY g", refresh_mode="FULL")
        with ps.subscribe("sums", start="snapshot") as subscription:
            assert isinstance(subscription.next(20), Snapshot)
            ps.sql("INSERT INTO a VALUES (2, 3)")
            assert ps.refresh("sums").action == "FULL"
            anew = subscription.next(20)
            assert isinstance(anew, Snapshot)
            assert anew.dicts() == [{"g": 1, "s": 1}, {"g": 2, "s": 5}]
        with ps.subscribe("sums", durable="reader") as reader:
            ps.sql("INSERT INTO a VALUES (2, 4), (3, 0)")
            assert ps.refresh("sums").action == "FULL"
            changed, new = reader.next(20), reader.next(20)
            assert isinstance(changed, Update)
            assert (changed.old.to_pylist(), changed.new.to_pylist()) == ([{"g": 2, "s": 5}], [{"g": 2, "s": 9}])
            assert isinstance(new, Insert)
            reader.acknowledge()
        ps.drop_subscription("reader")
    with warehouse(spark, tmp_path / "diff", full_changes="diff") as ps:
        ps.sql("CREATE TABLE a (g INT, v INT); INSERT INTO a VALUES (1, 1), (2, 2)")
        ps.create_stream_table("sums", "SELECT g, sum(v) AS s FROM a GROUP BY g", refresh_mode="FULL")
        with ps.subscribe("sums") as subscription:
            ps.sql("DELETE FROM a WHERE g = 1")
            assert ps.refresh("sums").action == "FULL"
            assert isinstance(subscription.next(20), Delete)
            assert subscription.next(0.1) is None


def test_a_durable_subscription_holds_back_vacuum(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE a (g INT, v INT); INSERT INTO a VALUES (1, 1)")
    ps.create_stream_table("sums", "SELECT g, sum(v) AS s FROM a GROUP BY g")
    with ps.subscribe("sums", durable="slow"):
        pass
    ps.sql("INSERT INTO a VALUES (1, 2)")
    ps.refresh("sums")
    path = ps.info("sums")[0]["path"]
    with pytest.raises(RetentionCut, match="subscription slow"):
        ps.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")
    with ps.subscribe("sums", durable="slow") as subscription:
        assert isinstance(subscription.next(20), Update)
        subscription.acknowledge()
    # Nothing of ours is in the way any more, and Delta has its say.
    with pytest.raises(Exception, match=r"DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT|retention"):
        ps.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")
