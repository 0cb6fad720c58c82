"""Status says how long a stream table waits for those that it reads."""

from __future__ import annotations

from datetime import timedelta

from monitored import NOON, Add, ended

from penstock.catalog import SqliteCatalog, StreamTableMeta
from penstock.monitor.status import status
from penstock.monitor.views import views_in


def test_only_what_is_older_than_its_lag_is_asked_whether_it_is_right_all_the_same(
    catalog: SqliteCatalog, add: Add
) -> None:
    for name, lag in {"late": 1, "idle": 1, "fresh": 60}.items():
        add(name, target_lag=timedelta(minutes=lag), is_populated=True, data_timestamp=NOON)
    asked: list[str] = []

    def unchanged(meta: StreamTableMeta) -> bool:
        asked.append(meta.name.table)
        return meta.name.table == "idle"

    rows = status(catalog, NOON + timedelta(minutes=5), timedelta(minutes=1), lambda *_: unchanged)
    assert {row.name: (row.lag_exceeded, row.unchanged, row.is_late) for row in rows} == {
        "default.fresh": (False, False, False),
        "default.idle": (False, True, False),
        "default.late": (True, False, True),
    }
    assert sorted(asked) == ["idle", "late"]


def test_a_reader_waits_as_long_as_its_upstreams_take_on_average(catalog: SqliteCatalog, add: Add) -> None:
    ids = {name: add(name, {source: ""}) for name, source in {"a": "orders", "b": "id-a", "c": "id-b"}.items()}
    for number, (name, seconds) in enumerate([("a", 2.0), ("a", 4.0), ("b", 0.5), ("c", 60.0)]):
        catalog.record_refresh(ended(ids[name], number, seconds))
    rows = {row.name: row for row in status(catalog, NOON, timedelta(minutes=1))}
    waits = {name: row.to_json()["expected_wait"] for name, row in rows.items()}
    assert waits == {"default.a": 0, "default.b": 3, "default.c": 3.5}
    (view,) = views_in("SELECT * FROM penstock_status", catalog, NOON, timedelta(minutes=1))
    at = [name for name, _ in view.columns].index("expected_wait_seconds")
    assert {row[0]: row[at] for row in view.rows()} == waits
