"""What a caller or a callback does wrong never counts against a stream table; an interruption leaves nothing behind."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import QueryInvalid, StreamTableNotFound

if TYPE_CHECKING:
    from penstock.api import StreamTables


def _stop(_: object) -> None:
    raise KeyboardInterrupt


def test_a_progress_function_that_raises_is_left_out_and_the_refresh_goes_on(
    ps: StreamTables, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[object] = []

    def broken(progress: object) -> None:
        told.append(progress)
        raise TypeError("not today")

    ps.sql("CREATE TABLE orders AS SELECT id FROM range(5)")
    ps.create_stream_table("total", "SELECT count(*) AS n FROM orders", progress=broken)
    ps.sql("INSERT INTO orders VALUES (7)")
    with caplog.at_level(logging.WARNING):
        result = ps.refresh("total", progress=broken)
    assert result.rows_inserted == 1
    assert len(told) == 2
    assert "raised TypeError: not today" in caplog.text
    ps.optimize("total", progress=broken)
    row = ps.status()[0]
    assert (row.status, row.errors) == ("ACTIVE", 0)
    assert [each.n for each in ps.table("total").collect()] == [6]


def test_a_progress_function_that_asks_for_work_is_refused_instead_of_waiting_for_itself(
    ps: StreamTables, caplog: pytest.LogCaptureFixture
) -> None:
    ps.sql("CREATE TABLE orders AS SELECT id FROM range(5)")
    ps.create_stream_table("total", "SELECT count(*) AS n FROM orders")
    ps.sql("INSERT INTO orders VALUES (7)")
    asked: list[object] = []
    with caplog.at_level(logging.WARNING):
        assert ps.refresh("total", progress=lambda _: asked.append(ps.refresh("total"))).rows_inserted == 1
    assert "CALLED_BY_PROGRESS" in caplog.text
    assert {(each.status, each.errors) for each in ps.status()} == {("ACTIVE", 0)}
    assert ps.refresh("total").action == "NO_DATA"


def test_an_interruption_inside_a_callback_leaves_neither_lease_nor_error_nor_half_a_table(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE orders AS SELECT id FROM range(5)")
    with pytest.raises(KeyboardInterrupt):
        ps.create_stream_table("half", "SELECT count(*) AS n FROM orders", progress=_stop)
    with pytest.raises(StreamTableNotFound):
        ps.history("half")
    ps.create_stream_table("total", "SELECT count(*) AS n FROM orders")
    ps.create_stream_table("other", "SELECT max(id) AS newest FROM orders")
    ps.create_stream_table("both", "SELECT n, newest FROM total CROSS JOIN other")
    ps.sql("INSERT INTO orders VALUES (7)")
    with pytest.raises(KeyboardInterrupt):
        ps.refresh("both", progress=_stop)
    assert not [each for each in ps.history() if each.status.value in {"RUNNING", "FAILED"}]
    assert {(each.status, each.errors) for each in ps.status()} == {("ACTIVE", 0)}
    assert ps.history("total")[0].reason == "INTERRUPTED: KeyboardInterrupt"
    assert not ps.alerts()
    # At once, with nobody's lease in the way.
    ps.refresh("both")
    assert [(each.n, each.newest) for each in ps.table("both").collect()] == [(6, 7)]


def _broken(_: SparkSession) -> DataFrame:
    raise TypeError("no such thing")


def _number(_: SparkSession) -> Any:
    return 7


def test_a_function_for_a_query_that_raises_is_an_error_of_the_query(ps: StreamTables) -> None:
    with pytest.raises(QueryInvalid, match="the function _broken raised TypeError: no such thing"):
        ps.create_stream_table("x", _broken)
    with pytest.raises(QueryInvalid, match="the function _number returned int, not a DataFrame"):
        ps.create_stream_table("x", _number)
    assert not ps.status()


def test_a_data_frame_with_a_function_of_its_own_says_that_it_can_be_registered(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE orders AS SELECT id FROM range(5)")
    doubled = F.udf(lambda number: number * 2, "long")
    with pytest.raises(QueryInvalid, match=r"ps\.spark\.udf\.register") as refused:
        ps.create_stream_table("x", ps.spark.table("orders").select(doubled("id").alias("twice")))
    assert "calls <lambda>, a function that is not registered" in refused.value.text
    known = ps.spark.udf.register("doubled", lambda number: number * 2, "long")
    ps.create_stream_table("x", ps.spark.table("orders").select(known("id").alias("twice")))
    assert sorted(each.twice for each in ps.table("x").collect()) == [0, 2, 4, 6, 8]
