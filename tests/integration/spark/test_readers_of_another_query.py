"""Another query for a stream table that others read: who would break is named first, and what it cost is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from warehouses import answer

from penstock.errors import QueryInvalid, ReadersBreak
from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables

OLD = "SELECT id, region, amount FROM orders"
READERS = {
    "all_of_it": "SELECT * FROM st",
    "joined": "SELECT a.id, b.region FROM st a JOIN st b USING (id)",
    "filtered": "SELECT id FROM shop.st WHERE amount > 5",
    "summed": "SELECT region, sum(amount) AS total FROM st GROUP BY region",
    "by_view": "SELECT count(amount) AS n FROM seen",
    "recomputed": "SELECT id, rand() < 2 AS low, (SELECT max(amount) FROM st) AS m FROM orders",
    "few": "SELECT id FROM (SELECT * FROM st)",
}


@pytest.fixture
def read(ps: StreamTables) -> StreamTables:
    ps.sql("""
        CREATE TABLE orders (id INT, region STRING, amount INT);
        INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20), (3, 'south', 0)""")
    ps.create_stream_table("st", OLD)
    ps.sql("CREATE VIEW seen AS SELECT id, amount FROM st")
    for name, query in READERS.items():
        ps.create_stream_table(name, query)
    ps.create_stream_table("further", "SELECT region FROM all_of_it")
    return ps


def broken(ps: StreamTables, query: str) -> set[str]:
    """The readers that are named when the stream table is to have another query; nothing has changed then."""
    before = state(ps)
    with pytest.raises(ReadersBreak) as refused:
        ps.alter_stream_table("st", query=query)
    assert state(ps) == before
    return {name for name in [*READERS, "further"] if f"shop.{name} (" in str(refused.value)}


def state(ps: StreamTables) -> Any:
    info = ps.info("st")[0]
    return info["query"], info["data_timestamp"], sorted(ps.table("st").collect()), ps.table("st").dtypes


def test_who_would_break_is_named_and_nothing_changes(read: StreamTables) -> None:
    assert broken(read, "SELECT id, region FROM orders") == {*READERS} - {"joined", "few"}
    assert broken(read, "SELECT id, region AS place, amount FROM orders") == {"all_of_it", "joined", "summed"}
    # Of another type, what still can be read is read.
    days = "SELECT id, region, array(amount) AS amount FROM orders"
    assert broken(read, days) == {"filtered", "summed"}
    statement = "CREATE OR REPLACE STREAM TABLE st AS SELECT id, region FROM orders"
    with pytest.raises(ReadersBreak, match=r"shop\.filtered \(it uses the column amount of `shop`\.`st`"):
        read.sql(statement)
    with pytest.raises(ReadersBreak, match=r"shop\.by_view \(it uses amount\)"):
        read.create_stream_table("st", "SELECT id, region FROM orders", or_replace=True, initialize=False)
    read.sql(statement.replace("AS SELECT", "CASCADE AS SELECT"))
    for name in READERS:
        if name in {"joined", "few"}:
            read.refresh(name)
            assert_exact(read, name)
        else:
            held = read.table(name).count()
            with pytest.raises(QueryInvalid):
                read.refresh(name)
            assert read.table(name).count() == held
    read.refresh("st")
    assert read.sql(f"ALTER STREAM TABLE st AS {OLD}").message.endswith("column amount added")
    for name in READERS:
        read.refresh(name)
        assert name == "recomputed" or read.audit(name).exact, name


def test_a_yes_is_enough_and_what_breaks_nobody_needs_none(read: StreamTables) -> None:
    wider = "SELECT amount + 0L AS amount, region, id, 1 AS more FROM orders"
    told = read.sql(f"ALTER STREAM TABLE st AS {wider}").message
    assert told == (
        "stream table shop.st replaced, 3 rows rebuilt, column more added, column amount was INT and is now BIGINT"
    )
    for name in READERS:
        read.refresh(name)
        assert name == "recomputed" or read.audit(name).exact, name
    read.sql("ALTER STREAM TABLE st AS SELECT id FROM orders", yes=True)
    assert read.table("st").columns == ["id"]
    # Who is broken already is not broken by this.
    read.sql("CREATE OR REPLACE STREAM TABLE st AS SELECT id FROM orders WHERE id > 1")
    assert read.table("st").count() == 2


def test_the_answer_says_what_was_done(ps: StreamTables) -> None:
    ps.sql("CREATE TABLE orders (id INT, amount INT); INSERT INTO orders SELECT id, id FROM range(1200)")
    create = "CREATE OR REPLACE STREAM TABLE st TARGET LAG '{}' AS SELECT {} FROM orders"
    said = [
        answer(ps, statement).message or ""
        for statement in (
            create.format("1 minute", "id, amount"),
            create.format("1 minute", "id, amount"),
            create.format("2 minutes", "id, amount"),
            create.format("2 minutes", "id, amount * 2L AS amount, 1 AS x"),
            create.format("2 minutes", "id").replace("TARGET", "INITIALIZE ON SCHEDULE TARGET"),
            "ALTER STREAM TABLE st SET TARGET LAG DOWNSTREAM",
            "ALTER STREAM TABLE st SET TARGET LAG DOWNSTREAM",
            "ALTER STREAM TABLE st SET REFRESH MODE FULL",
            "ALTER STREAM TABLE st SUSPEND",
            "ALTER STREAM TABLE st RESUME",
        )
    ]
    assert [each.removeprefix("stream table shop.st ") for each in said] == [
        "created, maintained INCREMENTAL",
        "unchanged, maintained INCREMENTAL",
        "altered, target lag 2 minutes, maintained INCREMENTAL",
        "replaced, 1,200 rows rebuilt, column x added, column amount was INT and is now BIGINT, maintained INCREMENTAL",
        "replaced, its rows follow at the next refresh, column amount dropped, column x dropped, "
        "maintained INCREMENTAL",
        "altered, target lag DOWNSTREAM",
        "unchanged",
        "altered, refresh mode FULL",
        "altered, suspended",
        "altered, resumed",
    ]
    ps.refresh("st")
    done = ps.create_stream_table("st", "SELECT id, id AS y FROM orders", or_replace=True).to_json()
    assert (done["created"], done["replaced"], done["changes"][0]) == (False, True, "column y added")
    assert done["refresh"]["rows_inserted"] == 1200
