"""ALTER … AS and CREATE OR REPLACE: built beside the old rows, swapped in one commit, or not at all."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engine.delta.definition import Definition
from penstock.engine.delta.delta_log import DeltaLog
from penstock.engine.write.storage import Storage
from penstock.engine.write.storage_state import records, storage_state
from penstock.errors import KeyViolated, PenstockError, QueryFailed, QueryInvalid
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables

OLD = "SELECT region, sum(amount) AS total FROM orders GROUP BY region"


@pytest.fixture
def orders(ps: StreamTables) -> StreamTables:
    ps.sql("""
        CREATE TABLE orders (id INT, region STRING, amount INT);
        INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20), (3, 'south', 0)""")
    ps.create_stream_table("st", OLD)
    return ps


def rows(ps: StreamTables, name: str = "st") -> list[Any]:
    return sorted(map(tuple, ps.table(name).collect()), key=repr)


def log(ps: StreamTables, name: str = "st") -> DeltaLog:
    [found] = (ps.path / "stream_tables").glob(f"*/{name}-*")
    return DeltaLog(str(Path(found)))


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        pytest.param("ALTER STREAM TABLE st AS SELECT id, 100 / amount AS x FROM orders", QueryFailed, id="raises"),
        pytest.param("ALTER STREAM TABLE st AS SELECT no_such FROM orders", QueryInvalid, id="does not resolve"),
        pytest.param(
            "CREATE OR REPLACE STREAM TABLE st AS SELECT id, 100 / amount AS x FROM orders",
            QueryFailed,
            id="replaced by one that raises",
        ),
        pytest.param(
            "CREATE OR REPLACE STREAM TABLE st KEY (region) AS SELECT region, id FROM orders",
            KeyViolated,
            id="replaced by one that breaks its key",
        ),
    ],
)
def test_a_new_query_that_fails_changes_nothing(
    orders: StreamTables, statement: str, error: type[PenstockError]
) -> None:
    held, version = rows(orders), log(orders).latest_version()
    with pytest.raises(error):
        orders.sql(statement)
    assert (rows(orders), log(orders).latest_version()) == (held, version)
    [facts] = orders.info("st")
    assert (facts["query"], facts["status"], facts["consecutive_errors"]) == (OLD, "ACTIVE", 0)
    # The old maintenance goes on.
    orders.sql("INSERT INTO orders VALUES (4, 'north', 5)")
    assert orders.refresh("st").action == "INCREMENTAL"
    assert_exact(orders, "st")


def test_rows_columns_and_definition_come_in_one_commit(orders: StreamTables) -> None:
    before = log(orders).latest_version()
    orders.sql("ALTER STREAM TABLE st AS SELECT id, amount * 2 AS twice FROM orders")
    version, record = next(records(log(orders)))
    assert version == before + 1
    assert record.properties is not None
    told = Definition.from_json(record.properties["penstock.definition"])
    assert [name for name, _, _ in told.columns] == ["id", "twice"]
    assert log(orders).snapshot(version).schema.names[:2] == ["id", "twice"]
    # The properties follow in a commit that moves no rows; from then on they have the word.
    found = storage_state(log(orders))
    assert (found.unset, found.version) == (None, before + 2)
    orders.sql("ALTER STREAM TABLE st SET TARGET LAG '7 minutes'")
    assert Definition.from_json(storage_state(log(orders)).definition).target_lag_seconds == 420
    orders.sql("DELETE FROM orders WHERE id = 1")
    assert orders.refresh("st").action == "INCREMENTAL"
    assert_exact(orders, "st")


def test_old_rows_are_readable_while_the_new_ones_are_computed(
    orders: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, seen = rows(orders), []
    import penstock.refresh.run as run

    compute = run.compute

    def watched(*given: Any) -> Any:
        done = compute(*given)
        seen.append(rows(orders))
        return done

    monkeypatch.setattr(run, "compute", watched)
    orders.sql("ALTER STREAM TABLE st AS SELECT id FROM orders")
    assert seen == [held]
    assert rows(orders) == [(1,), (2,), (3,)]


def test_consumers_follow(orders: StreamTables) -> None:
    orders.sql("""
        CREATE STREAM TABLE lucky AS SELECT region FROM st;
        CREATE STREAM TABLE unlucky AS SELECT region, total FROM st;
        CREATE STREAM TABLE last AS SELECT count(*) AS n FROM unlucky""")
    held = rows(orders, "unlucky")
    orders.sql("ALTER STREAM TABLE st CASCADE AS SELECT region, count(*) AS n FROM orders GROUP BY region")
    assert orders.refresh("lucky").action in {"NO_DATA", "INCREMENTAL", "REINITIALIZE"}
    assert_exact(orders, "lucky")
    with pytest.raises(QueryInvalid, match="total") as told:
        orders.refresh("unlucky")
    assert "ALTER STREAM TABLE" in str(told.value)
    status = {row.name: row.status for row in orders.status()}
    assert (status["shop.unlucky"], status["shop.last"]) == ("ERROR", "ACTIVE")
    assert rows(orders, "unlucky") == held
    orders.sql("ALTER STREAM TABLE unlucky AS SELECT region, n AS total FROM st")
    assert orders.refresh("last").action in {"NO_DATA", "INCREMENTAL"}
    for name in ("unlucky", "last"):
        assert_exact(orders, name)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT DISTINCT region FROM orders", "SELECT region FROM orders"),
        ("SELECT region FROM orders", "SELECT region FROM orders GROUP BY region HAVING count(*) > 1"),
    ],
)
def test_consumers_follow_a_query_that_counts_its_rows_otherwise(orders: StreamTables, before: str, after: str) -> None:
    orders.sql(f"""
        CREATE STREAM TABLE upstream AS {before};
        CREATE STREAM TABLE reader AS SELECT region, count(*) AS n FROM upstream GROUP BY region""")
    orders.sql(f"ALTER STREAM TABLE upstream AS {after}")
    assert orders.refresh("reader").reason_code == "SOURCE_CHANGED"
    assert_exact(orders, "reader")


def test_a_new_query_may_read_other_stream_tables_which_are_refreshed_first(orders: StreamTables) -> None:
    orders.sql("""
        CREATE STREAM TABLE up AS SELECT id, amount FROM orders;
        INSERT INTO orders VALUES (9, 'east', 9)""")
    orders.sql("ALTER STREAM TABLE st AS SELECT u.id, o.region FROM up u JOIN orders o ON o.id = u.id")
    assert ("east",) in [row[1:] for row in rows(orders)]
    assert_exact(orders, "up")
    assert_exact(orders, "st")
    assert ("shop.st", "shop.up", "STREAM_TABLE") in orders.graph().edges()
    orders.sql("INSERT INTO orders VALUES (10, 'west', 1)")
    assert orders.refresh("st").action == "INCREMENTAL"
    assert_exact(orders, "st")


def test_a_definition_put_off_is_filled_by_the_next_refresh(orders: StreamTables) -> None:
    held = rows(orders)
    # A swap before it must not be taken for the newest word.
    orders.sql("ALTER STREAM TABLE st AS SELECT id FROM orders")
    orders.sql(f"ALTER STREAM TABLE st AS {OLD}")
    orders.sql("CREATE OR REPLACE STREAM TABLE st INITIALIZE ON SCHEDULE AS SELECT id, region FROM orders")
    assert rows(orders) == held
    assert orders.refresh("st").action == "REINITIALIZE"
    assert_exact(orders, "st")
    assert len(rows(orders)) == 3


def test_a_lag_that_is_changed_while_another_query_comes_into_force_stays_changed(
    orders: StreamTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Storage.set_configuration

    def overtaken(storage: Storage, changes: dict[str, str], at: int | None = None) -> None:
        monkeypatch.setattr(Storage, "set_configuration", put)
        orders.alter_stream_table("st", target_lag="7 minutes")
        put(storage, changes, at)

    monkeypatch.setattr(Storage, "set_configuration", overtaken)
    orders.sql("ALTER STREAM TABLE st AS SELECT id FROM orders")
    held = Definition.from_json(storage_state(log(orders)).definition)
    [meta] = orders._warehouse.catalog.get_all()
    assert held.query == meta.query == "SELECT id FROM orders"
    assert held.target_lag == meta.target_lag == timedelta(minutes=7)
    assert orders.refresh("st").action == "NO_DATA"


def test_a_table_without_rows_that_gets_another_definition_shows_the_columns_of_that(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE t (k INT, v INT); INSERT INTO t VALUES (1, 10), (1, 10)")
    ps.sql("CREATE STREAM TABLE late INITIALIZE ON SCHEDULE AS SELECT k, max(v) AS v FROM t GROUP BY k")
    ps.sql("ALTER STREAM TABLE late AS SELECT k, v AS w, 1 AS more FROM t")
    assert ps.sql("SELECT * FROM late").columns == ["k", "w", "more"]
    assert rows(ps, "late") == [(1, 10, 1), (1, 10, 1)]
    assert_exact(ps, "late")


@pytest.mark.parametrize("given", [{}, {"refresh_mode": "FULL"}, {"target_lag": "9 minutes"}])
def test_a_lag_that_is_changed_while_another_query_waits_for_its_turn_stays_changed(
    orders: StreamTables, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    import penstock.refresh.run as run

    hold = run.hold

    def overtaken(*asked: Any) -> Any:
        orders.alter_stream_table("st", target_lag="7 minutes", refresh_mode="INCREMENTAL")
        return hold(*asked)

    monkeypatch.setattr(run, "hold", overtaken)
    orders.alter_stream_table("st", query="SELECT id FROM orders", **given)
    held = Definition.from_json(storage_state(log(orders)).definition)
    [meta] = orders._warehouse.catalog.get_all()
    assert held.query == meta.query == "SELECT id FROM orders"
    assert held.target_lag == meta.target_lag == timedelta(minutes=9 if "target_lag" in given else 7)
    assert held.refresh_mode == meta.refresh_mode == given.get("refresh_mode", "INCREMENTAL")
