"""Others at a stream table's storage: what moves no rows is accepted, anything else is noticed, told and undone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.testing.oracle import assert_exact

if TYPE_CHECKING:
    from penstock.api import StreamTables


@pytest.fixture
def chain(ps: StreamTables) -> StreamTables:
    ps.sql("""
        CREATE TABLE src (id INT, v INT);
        INSERT INTO src SELECT id, id % 10 FROM range(100);
        CREATE STREAM TABLE st AS SELECT v, count(*) AS n FROM src GROUP BY v;
        CREATE STREAM TABLE copy AS SELECT v, n FROM st""")
    return ps


def storage(ps: StreamTables, name: str = "st") -> str:
    [found] = (ps.path / "stream_tables").glob(f"*/{name}-*")
    return f"delta.`{Path(found)}`"


def rows(ps: StreamTables, name: str) -> list[Any]:
    return sorted(map(tuple, ps.table(name).collect()))


def test_optimize_by_others_is_accepted_and_told(ps: StreamTables, caplog: pytest.LogCaptureFixture) -> None:
    ps.sql("""
        CREATE TABLE src (id INT);
        CREATE STREAM TABLE st AS SELECT id FROM src;
        CREATE STREAM TABLE copy AS SELECT count(*) AS n FROM st""")
    for number in range(3):
        ps.sql(f"INSERT INTO src VALUES ({number})")
        ps.refresh("st")
    ps.refresh("copy")
    ps.spark.sql(f"OPTIMIZE {storage(ps)}")
    assert ps.refresh("copy").action == "NO_DATA"
    [told] = [each for each in ps.diagnose("st").findings if each.code == "FOREIGN_LAYOUT"]
    assert "OPTIMIZE" in told.text
    ps.sql("INSERT INTO src VALUES (2000)")
    done = ps.refresh("copy")
    assert [each.action for each in (done, *done.upstream)] == ["INCREMENTAL", "INCREMENTAL"]
    assert "accepted, they move no rows: OPTIMIZE" in caplog.text
    for name in ("st", "copy"):
        assert_exact(ps, name)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {st} WHERE v < 5",
        "UPDATE {st} SET n = 0 WHERE v = 1",
        "INSERT INTO {st} SELECT * FROM {st} LIMIT 1",
    ],
    ids=["delete", "update", "insert"],
)
def test_a_write_by_others_is_told_and_undone_and_consumers_see_only_what_differs(
    chain: StreamTables, statement: str
) -> None:
    held, alerts = rows(chain, "copy"), list[Any]()
    chain._warehouse.tell = alerts.append
    chain.spark.sql(statement.format(st=storage(chain)))
    [told] = [each for each in chain.diagnose("st").findings if each.code == "FOREIGN_WRITE"]
    assert told.serious
    chain.sql("INSERT INTO src VALUES (500, 3)")
    done = chain.refresh("copy")
    assert [(each.action, each.reason_code) for each in done.upstream] == [("REINITIALIZE", "FOREIGN_WRITE")]
    assert [each.facts["reason"] for each in alerts if each.event == "reinitialize_needed"] == ["FOREIGN_WRITE"]
    # All rows of the upstream were written anew, yet its consumer has one row to change: the one that did.
    assert (done.action, done.rows_inserted, done.rows_deleted) == ("INCREMENTAL", 1, 1)
    assert set(rows(chain, "copy")) - set(held) == {(3, 11)}
    for name in ("st", "copy"):
        assert_exact(chain, name)
    assert chain.refresh("copy").action == "NO_DATA"


def test_columns_changed_by_others_are_undone(chain: StreamTables) -> None:
    chain.spark.sql(f"ALTER TABLE {storage(chain)} ADD COLUMNS (note STRING)")
    assert chain.refresh("st").reason_code == "FOREIGN_WRITE"
    assert chain.table("st").columns == ["v", "n"]
    assert_exact(chain, "st")


def test_a_storage_set_back_to_an_older_version_keeps_its_definition(chain: StreamTables) -> None:
    before = chain.refresh("st").version
    chain.sql("ALTER STREAM TABLE st AS SELECT v, count(*) AS n, max(id) AS top FROM src GROUP BY v")
    chain.spark.sql(f"RESTORE {storage(chain)} TO VERSION AS OF {before}")
    assert chain.refresh("st").reason_code == "FOREIGN_WRITE"
    assert chain.table("st").columns == ["v", "n", "top"]
    assert_exact(chain, "st")
    assert chain.refresh("st").action == "NO_DATA"
