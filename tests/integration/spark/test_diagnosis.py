"""`diagnose` on a real warehouse: what is gathered is what is there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from warehouses import answer

from penstock.catalog.model import SCHEDULER
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.api import StreamTables
    from penstock.monitor.diagnose.diagnosis import Diagnosis


@pytest.fixture
def orders(ps: StreamTables) -> StreamTables:
    ps.sql("""
        CREATE TABLE orders (id INT, amount INT);
        INSERT INTO orders VALUES (1, 10);
        CREATE STREAM TABLE shares AS SELECT id, 100 / amount AS share FROM orders;
        CREATE STREAM TABLE best AS SELECT max(share) AS share FROM shares""")
    return ps


def later(ps: StreamTables, hours: int) -> None:
    ps._warehouse.now = lambda: datetime.now(UTC) + timedelta(hours=hours)


def codes(told: Diagnosis) -> list[str]:
    return [each.code for each in told.findings]


def test_fresh_then_stale_for_want_of_a_scheduler(orders: StreamTables) -> None:
    told = orders.diagnose("shares")
    assert told.fresh
    assert codes(told) == ["NO_SCHEDULER", "TRUSTED"]
    later(orders, 3000)
    for name in ("shares", "best"):
        told = orders.diagnose(name)
        assert (told.fresh, told.at_risk) == (True, False)
        assert "no source has changed since" in told.verdict
    orders.sql("OPTIMIZE orders; INSERT INTO orders VALUES (2, 20)")
    assert not orders.diagnose("best").fresh
    told = orders.diagnose("shares")
    assert not told.fresh
    assert told.findings[0].code == "NO_SCHEDULER"
    catalog = orders._warehouse.catalog
    catalog.acquire_lease(SCHEDULER, "me", timedelta(minutes=1), now=catalog.now())
    assert "NO_SCHEDULER" not in codes(orders.diagnose("shares"))
    catalog.set_paused(True)
    assert orders.diagnose("shares").findings[0].code == "PAUSED"


def test_a_query_that_reads_the_clock_is_stale_though_no_source_changed(orders: StreamTables) -> None:
    orders.sql("CREATE STREAM TABLE ages AS SELECT id, current_timestamp() AS seen FROM orders")
    later(orders, 3)
    assert orders.diagnose("shares").fresh
    assert not orders.diagnose("ages").fresh


def test_the_root_of_an_error_is_named_downstream(orders: StreamTables) -> None:
    orders.sql("INSERT INTO orders VALUES (2, 0)")
    with pytest.raises(PenstockError):
        orders.refresh("best")
    told = orders.diagnose("shares").findings[0]
    assert (told.code, "DIVIDE_BY_ZERO" in told.text, "Mend the data" in told.advice) == ("ERROR", True, True)
    told = orders.diagnose("best").findings[0]
    assert told.code == "UPSTREAM_BLOCKED"
    assert "it waits for shop.shares: its last refresh failed: [QUERY_FAILED]" in told.text
    [pending] = [each for each in orders.diagnose("shares").findings if each.code == "PENDING"]
    assert pending.text == "1 change row waits in shop.orders (version 1 → 2)"


def test_suspended_by_hand_and_a_source_that_is_gone(orders: StreamTables) -> None:
    orders.sql("ALTER STREAM TABLE best SUSPEND")
    assert orders.diagnose("best").findings[0].text.startswith("it was suspended by hand")
    orders.sql("DROP TABLE orders", yes=True)
    told = orders.diagnose("shares").findings[0]
    assert (told.code, "no Delta log" in told.text) == ("SOURCE_MISSING", True)


def test_always_full_says_what_stands_in_the_way(orders: StreamTables) -> None:
    made = answer(orders, "CREATE STREAM TABLE dice AS SELECT id, rand() AS r FROM orders").message or ""
    # The first fill is FULL for every table; this one is FULL for another reason.
    assert "maintained FULL (rand" in made
    [row] = [each for each in orders.status() if each.name.endswith(".dice")]
    assert (row.reason or "").startswith("NON_DETERMINISTIC: ")
    [told] = [each for each in orders.diagnose("dice").findings if each.code == "ALWAYS_FULL"]
    assert "NON_DETERMINISTIC" in told.text
    assert told.advice.startswith("Compute the value when the row is written.")


def test_a_refresh_at_work_is_named(orders: StreamTables) -> None:
    catalog = orders._warehouse.catalog
    meta = next(each for each in catalog.get_all() if each.name.table == "shares")
    catalog.acquire_lease(meta.id, "host:99", timedelta(minutes=1), now=catalog.now())
    [told] = [each for each in orders.diagnose("shares").findings if each.code == "RUNNING"]
    assert told.text.startswith("host:99 is refreshing it")
