"""Looking again and again at a real catalog: episodes live in memory, and in the catalog beyond it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from monitored import NOON, Add, ended

from penstock.catalog import Alert, SqliteCatalog, Status
from penstock.engine.run.workspace import Logs
from penstock.monitor.episode_tracker import EpisodeTracker
from penstock.monitor.pending import PendingChanges
from penstock.names import Frontier
from penstock.settings import Settings

SECOND = timedelta(seconds=1)


def tracker(catalog: SqliteCatalog) -> EpisodeTracker:
    return EpisodeTracker(catalog, PendingChanges(catalog, Logs()), Settings)


def look(catalog: SqliteCatalog, who: EpisodeTracker, now: datetime) -> list[str]:
    """What is told, and kept as the table sink keeps it."""
    alerts: tuple[Alert, ...] = who.judge(now)
    for alert in alerts:
        catalog.record_alert(alert)
    return [alert.event.value for alert in alerts]


def test_an_episode_survives_a_restart(catalog: SqliteCatalog, add: Add) -> None:
    stale = {"is_populated": True, "status": Status.ACTIVE, "data_timestamp": NOON, "frontier": Frontier.of({}, NOON)}
    add("revenue", **stale)
    first = tracker(catalog)
    assert look(catalog, first, NOON + 60 * SECOND) == []
    assert look(catalog, first, NOON + 121 * SECOND) == ["lag_exceeded"]
    assert look(catalog, first, NOON + 122 * SECOND) == []
    second = tracker(catalog)
    assert look(catalog, second, NOON + 123 * SECOND) == []
    # The clock of a test goes where it wants: the table is within its target again.
    assert look(catalog, second, NOON + 30 * SECOND) == ["lag_recovered"]
    assert look(catalog, tracker(catalog), NOON + 30 * SECOND) == []


def test_another_leader_in_between_is_noticed(catalog: SqliteCatalog, add: Add) -> None:
    add("revenue", is_populated=True, status=Status.ACTIVE, data_timestamp=NOON, frontier=Frontier.of({}, NOON))
    mine, other = tracker(catalog), tracker(catalog)
    assert look(catalog, mine, NOON) == []
    assert look(catalog, other, NOON + 121 * SECOND) == ["lag_exceeded"]
    mine.forget()
    assert look(catalog, mine, NOON + 122 * SECOND) == []


def test_a_table_created_again_has_no_episodes_of_the_one_that_was_dropped(catalog: SqliteCatalog, add: Add) -> None:
    def filled(at: datetime) -> dict[str, Any]:
        return {"is_populated": True, "status": Status.ACTIVE, "data_timestamp": at, "frontier": Frontier.of({}, at)}

    number = add("revenue", **filled(NOON))
    watcher = tracker(catalog)
    assert look(catalog, watcher, NOON + 121 * SECOND) == ["lag_exceeded"]
    catalog.delete(number)
    born = NOON + 122 * SECOND
    add("revenue", now=born, **filled(born))
    assert look(catalog, watcher, born) == []
    assert look(catalog, tracker(catalog), born) == []
    assert look(catalog, tracker(catalog), born + 121 * SECOND) == ["lag_exceeded"]


def test_the_pace_comes_from_history(catalog: SqliteCatalog, add: Add) -> None:
    number = add(
        "revenue", is_populated=True, status=Status.ACTIVE, data_timestamp=NOON, frontier=Frontier.of({}, NOON)
    )
    for each in range(3):
        catalog.record_refresh(ended(number, each, seconds=17.9))
    watcher = tracker(catalog)
    assert look(catalog, watcher, NOON) == []
    for each in range(3, 5):
        catalog.record_refresh(ended(number, each, seconds=18.5))
    assert look(catalog, watcher, NOON) == ["falling_behind"]
    assert look(catalog, tracker(catalog), NOON) == []
