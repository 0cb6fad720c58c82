"""Functions that a query calls: a change of one is noticed, and one that is gone keeps the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import QueryInvalid
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


@pytest.fixture
def numbers(ps: StreamTables) -> StreamTables:
    ps.sql("CREATE TABLE numbers (id INT, v INT); INSERT INTO numbers VALUES (1, 1), (2, NULL), (3, 3)")
    return ps


def rows(ps: StreamTables, name: str = "st") -> list[Any]:
    return sorted(map(tuple, ps.table(name).collect()), key=repr)


def register(ps: StreamTables, factor: int) -> None:
    ps.spark.udf.register("scaled", lambda v: None if v is None else v * factor, "INT")


def test_a_python_function_registered_anew(numbers: StreamTables) -> None:
    register(numbers, 2)
    numbers.create_stream_table("st", "SELECT id, scaled(v) AS s FROM numbers", refresh_mode="INCREMENTAL")
    numbers.create_stream_table("reader", "SELECT sum(s) AS s FROM st")
    assert numbers.refresh("st").action == "NO_DATA"
    # The same code in another guise is no change.
    register(numbers, 2)
    assert numbers.refresh("st").action == "NO_DATA"
    register(numbers, 10)
    [told] = [each for each in numbers.diagnose("st").findings if each.code == "REBUILD"]
    assert "UDF_CHANGED" in told.text
    done = numbers.refresh("reader")
    assert [(each.action, each.reason_code) for each in done.upstream] == [("REINITIALIZE", "UDF_CHANGED")]
    assert rows(numbers) == [(1, 10), (2, None), (3, 30)]
    assert rows(numbers, "reader") == [(40,)]
    numbers.sql("INSERT INTO numbers VALUES (4, 4); DELETE FROM numbers WHERE id = 1")
    assert numbers.refresh("st").action == "INCREMENTAL"
    assert_exact(numbers, "st")
    assert rows(numbers)[-1] == (4, 40)


def test_a_sql_function_created_anew_even_below_another_and_below_a_view(numbers: StreamTables) -> None:
    numbers.sql("""
        CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 1;
        CREATE FUNCTION twice_plus(x INT) RETURNS INT RETURN plus(plus(x));
        CREATE VIEW more AS SELECT id, twice_plus(v) AS m FROM numbers""")
    numbers.create_stream_table("st", "SELECT id, m FROM more")
    assert rows(numbers) == [(1, 3), (2, None), (3, 5)]
    assert numbers.refresh("st").action == "NO_DATA"
    numbers.sql("CREATE OR REPLACE FUNCTION plus(x INT) RETURNS INT RETURN x + 100")
    done = numbers.refresh("st")
    assert (done.action, done.reason_code) == ("REINITIALIZE", "UDF_CHANGED")
    assert rows(numbers) == [(1, 201), (2, None), (3, 203)]
    assert numbers.refresh("st").action == "NO_DATA"
    numbers.sql("INSERT INTO numbers VALUES (4, 4)")
    numbers.refresh("st")
    assert_exact(numbers, "st")


def test_a_table_function_created_anew(numbers: StreamTables) -> None:
    numbers.sql("CREATE FUNCTION small() RETURNS TABLE (id INT) RETURN SELECT id FROM numbers WHERE id < 3")
    numbers.create_stream_table("st", "SELECT id FROM small()")
    numbers.sql("CREATE OR REPLACE FUNCTION small() RETURNS TABLE (id INT) RETURN SELECT id FROM numbers WHERE id < 2")
    assert numbers.refresh("st").reason_code == "UDF_CHANGED"
    assert rows(numbers) == [(1,)]


def test_a_function_that_is_gone_keeps_the_rows_and_says_what_to_do(numbers: StreamTables) -> None:
    numbers.sql("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 1")
    numbers.create_stream_table("st", "SELECT id, plus(v) AS p FROM numbers")
    held = rows(numbers)
    numbers.sql("DROP FUNCTION plus")
    with pytest.raises(QueryInvalid, match=r"function \S*plus, which it calls, is not there any more") as told:
        numbers.refresh("st")
    assert "register the function again" in str(told.value)
    assert rows(numbers) == held
    assert numbers.status()[0].status == "ERROR"
    numbers.sql("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 1")
    assert numbers.refresh("st").action == "NO_DATA"
    assert numbers.status()[0].status == "ACTIVE"
    assert_exact(numbers, "st")
