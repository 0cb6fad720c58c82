"""What waits, from hand-written logs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from monitored import NOON, Add
from test_delta_log import PROTOCOL, add, metadata, remove, write

from penstock.catalog import SqliteCatalog, Status
from penstock.engine.run.workspace import Logs
from penstock.monitor.pending import Pending, PendingChanges
from penstock.names import Frontier


def rows(path: str, count: int, size: int = 10) -> dict[str, object]:
    return add(path, size, stats=json.dumps({"numRecords": count}))


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    root = tmp_path / "orders"
    write(root, 0, PROTOCOL, metadata("orders"))
    write(root, 1, rows("a", 100))
    return root


def at(version: int) -> dict[str, object]:
    return {"is_populated": True, "frontier": Frontier.of({"orders": version}, NOON), "status": Status.ACTIVE}


def test_rows_bytes_and_commits_since_the_frontier(catalog: SqliteCatalog, add: Add, orders: Path) -> None:
    add("revenue", {"orders": str(orders)}, **at(1))
    add("older", {"orders": str(orders)}, **at(0))
    add("empty", {"orders": str(orders)})
    pending = PendingChanges(catalog, Logs())
    assert pending() == [
        Pending("default.older", "default.orders", 100, 10, 1),
        Pending("default.revenue", "default.orders", 0, 0, 0),
    ]
    write(orders, 2, rows("b", 7, 70))
    write(orders, 3, remove("a"), rows("c", 95, 950))
    found = {each.stream_table: each for each in pending()}
    # Rows of the file that went are read as well as rows of those that came.
    assert found["default.revenue"] == Pending("default.revenue", "default.orders", 7 + 100 + 95, 70 + 10 + 950, 2)


def test_an_interval_that_was_looked_at_is_not_looked_at_again(
    catalog: SqliteCatalog, add: Add, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.monitor import pending as module

    looks: list[tuple[int, int]] = []
    real = module.classify
    monkeypatch.setattr(module, "classify", lambda log, b, a, i: (looks.append((b, a)), real(log, b, a, i))[1])
    add("revenue", {"orders": str(orders)}, **at(0))
    pending = PendingChanges(catalog, Logs())
    assert pending() == pending()
    write(orders, 2, rows("b", 7))
    assert pending() == pending()
    assert looks == [(0, 1), (0, 2)]


def test_a_long_interval_that_grows_is_not_read_from_its_start(
    catalog: SqliteCatalog, add: Add, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.monitor import pending as module

    looks: list[tuple[int, int]] = []
    real = module.classify
    monkeypatch.setattr(module, "classify", lambda log, b, a, i: (looks.append((b, a)), real(log, b, a, i))[1])
    for version in range(2, 103):
        write(orders, version, rows(f"f{version}", 1))
    add("revenue", {"orders": str(orders)}, **at(1))
    pending = PendingChanges(catalog, Logs())
    assert pending() == [Pending("default.revenue", "default.orders", 101, 1010, 101)]
    write(orders, 103, rows("more", 5))
    assert pending() == [Pending("default.revenue", "default.orders", 106, 1020, 102)]
    assert looks == [(1, 102), (102, 103)]


def test_a_frontier_or_a_source_that_is_gone_is_told(catalog: SqliteCatalog, add: Add, orders: Path) -> None:
    write(orders, 2, rows("b", 7))
    (orders / "_delta_log" / f"{0:020d}.json").unlink()
    add("revenue", {"orders": str(orders)}, **at(0))
    add("other", {"orders": str(orders.parent / "nothing")}, **at(0))
    assert [(each.stream_table, each.unreadable) for each in PendingChanges(catalog, Logs())()] == [
        ("default.other", True),
        ("default.revenue", True),
    ]


def test_a_table_created_again_up_to_the_same_version_is_looked_at_again(
    catalog: SqliteCatalog, add: Add, orders: Path
) -> None:
    add("revenue", {"orders": str(orders)}, **at(0))
    pending = PendingChanges(catalog, Logs())
    assert pending() == [Pending("default.revenue", "default.orders", 100, 10, 1)]
    shutil.rmtree(orders)
    write(orders, 0, PROTOCOL, metadata("orders"))
    write(orders, 1, rows("restored", 7))
    assert pending() == [Pending("default.revenue", "default.orders", 7, 10, 1)]
    shutil.rmtree(orders)
    write(orders, 0, PROTOCOL, metadata("another"))
    write(orders, 1, rows("anew", 5))
    assert pending() == [Pending("default.revenue", "default.orders", 0, 0, 0, unreadable=True)]


def test_a_table_created_again_is_another_table(catalog: SqliteCatalog, add: Add, tmp_path: Path) -> None:
    write(tmp_path / "orders", 0, PROTOCOL, metadata("another"))
    write(tmp_path / "orders", 1, rows("a", 5))
    add("revenue", {"orders": str(tmp_path / "orders")}, **at(0))
    assert PendingChanges(catalog, Logs())() == [Pending("default.revenue", "default.orders", 0, 0, 0, True)]
