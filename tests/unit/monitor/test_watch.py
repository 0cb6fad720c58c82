"""What is told, when, and only once per episode; every input is made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from monitored import NOON

from penstock.catalog import Alert, AlertEvent
from penstock.monitor.pending import Pending
from penstock.monitor.status import StatusRow
from penstock.monitor.watch import REMEMBERED, Episode, Episodes, Pace, Retention, Watch, reopened, watch

MINUTE = timedelta(minutes=1)
REVENUE = "default.revenue"


def row(lag: float | None = 30, name: str = REVENUE, **fields: Any) -> StatusRow:
    return StatusRow(
        **{
            "name": name,
            "status": "ACTIVE",
            "refresh_mode": "AUTO",
            "effective_mode": "INCREMENTAL",
            "reason": None,
            "target_lag": "1 minute",
            "effective_lag": MINUTE,
            "current_lag": None if lag is None else timedelta(seconds=lag),
            "lag_exceeded": False,
            "last_refresh": None,
            "data_timestamp": None,
            "errors": 0,
            "last_error": None,
            **fields,
        }
    )


def look(rows: Sequence[StatusRow], before: Watch | Episodes = {}, now: datetime = NOON, **inputs: Any) -> Watch:  # noqa: B006
    held = before.episodes if isinstance(before, Watch) else before
    return watch(rows, now, open_before=held, **{"buffer_rows": 1000, **inputs})


def told(seen: Watch) -> list[tuple[str, str]]:
    return [(alert.stream_table, alert.event.value) for alert in seen.alerts]


# -- lag


@pytest.mark.parametrize(("lag", "exceeded"), [(None, False), (60, False), (120, False), (120.001, True)])
def test_a_lag_is_exceeded_above_twice_the_target(lag: float | None, exceeded: bool) -> None:
    assert bool(look([row(lag)]).alerts) is exceeded


def test_rows_that_nobody_changed_are_no_episode() -> None:
    assert not look([row(100_000, unchanged=True)]).alerts


def test_an_episode_is_told_once_and_ends_within_the_target() -> None:
    first = look([row(121, last_error="boom")])
    assert told(first) == [(REVENUE, "lag_exceeded")]
    assert first.alerts[0].facts == {"lag_seconds": 121.0, "target_seconds": 60.0, "last_error": "boom"}
    later = look([row(500)], first)
    assert later.alerts == ()
    between = look([row(90)], later)
    assert between.alerts == ()
    over = look([row(60)], between, NOON + timedelta(minutes=10))
    assert told(over) == [(REVENUE, "lag_recovered")]
    assert over.alerts[0].facts == {"lag_seconds": 60.0, "target_seconds": 60.0, "exceeded_seconds": 600.0}
    assert over.episodes == {}
    assert look([row(60)], over).alerts == ()
    assert told(look([row(121)], over)) == [(REVENUE, "lag_exceeded")]


def test_stream_tables_have_episodes_of_their_own() -> None:
    first = look([row(121), row(10, "default.top")])
    assert told(look([row(121), row(121, "default.top")], first)) == [("default.top", "lag_exceeded")]


@pytest.mark.parametrize("status", ["SUSPENDED", "ERROR"])
def test_nobody_expects_a_stopped_table_to_be_fresh(status: str) -> None:
    assert look([row(10_000, status=status)]).alerts == ()
    begun = look([row(121)])
    stopped = look([row(10_000, status=status)], begun)
    assert stopped.alerts == ()
    assert told(look([row(5)], stopped)) == [(REVENUE, "lag_recovered")]


def test_a_table_that_is_gone_takes_its_episodes_along() -> None:
    gone = look([], look([row(121)]))
    assert (gone.alerts, gone.episodes) == ((), {})


# -- pace


def pace(*seconds: float) -> Pace:
    return Pace(REVENUE, timedelta(seconds=24), tuple(timedelta(seconds=each) for each in seconds))


@pytest.mark.parametrize(
    ("durations", "behind"),
    [
        ((18, 18, 18), False),
        ((18.1, 18.1, 18.1), True),
        # One that met a busy machine.
        ((50, 1, 1), False),
        ((50, 50, 1), True),
        # Older ones do not count.
        ((1, 1, 1, 50, 50, 50), False),
        # Too few to judge.
        ((50, 50), False),
        ((), False),
    ],
)
def test_falling_behind_is_half_of_what_the_period_leaves(durations: tuple[float, ...], behind: bool) -> None:
    assert bool(look([row()], paces=[pace(*durations)]).alerts) is behind


def test_falling_behind_says_what_to_do() -> None:
    seen = look([row()], paces=[pace(30, 30, 30)])
    assert told(seen) == [(REVENUE, "falling_behind")]
    facts = dict(seen.alerts[0].facts)
    assert "SET TARGET LAG '2 minutes'" in str(facts.pop("advice"))
    assert facts == {
        "duration_seconds": 30.0,
        "allowed_seconds": 18.0,
        "period_seconds": 24.0,
        "target_seconds": 60.0,
        "mode": "INCREMENTAL",
    }
    full = look([row(effective_mode="FULL", reason="NOT_DETERMINISTIC")], paces=[pace(30, 30, 30)])
    assert "NOT_DETERMINISTIC" in str(full.alerts[0].facts["advice"])


def test_the_lag_that_is_advised_is_long_enough() -> None:
    from penstock.graph.grid import period
    from penstock.graph.lag import parse_target_lag

    second = timedelta(seconds=1)
    for takes in (0.3, 18.5, 30, 61, 1000, 12_345.6):
        durations = (timedelta(seconds=takes),) * 3
        (alert,) = look([row(None, effective_lag=second)], paces=[Pace(REVENUE, second, durations)]).alerts
        lag = parse_target_lag(str(alert.facts["advice"]).split("'")[1], second)
        assert lag is not None
        again = look([row(None, effective_lag=lag)], paces=[Pace(REVENUE, period(lag), durations)])
        assert again.alerts == ()


def test_falling_behind_is_told_once_until_it_is_over() -> None:
    first = look([row()], paces=[pace(30, 30, 30)])
    again = look([row()], first, paces=[pace(40, 30, 30)])
    assert again.alerts == ()
    over = look([row()], again, paces=[pace(1, 1, 40)])
    assert (over.alerts, over.episodes) == ((), {})
    assert told(look([row()], over, paces=[pace(30, 30, 30)])) == [(REVENUE, "falling_behind")]


# -- waiting changes


def waiting(rows: int, source: str = "default.orders") -> list[Pending]:
    return [Pending(REVENUE, source, rows, rows * 10, 3)]


def test_waiting_changes_warn_above_the_threshold_and_are_over_at_half_of_it() -> None:
    assert look([row()], pending=waiting(1000)).alerts == ()
    first = look([row()], pending=waiting(1001))
    assert told(first) == [(REVENUE, "buffer_lag_warning")]
    assert first.alerts[0].facts == {
        "source": "default.orders",
        "pending_rows": 1001,
        "pending_bytes": 10010,
        "pending_commits": 3,
        "threshold_rows": 1000,
    }
    still = look([row()], first, pending=waiting(501))
    assert look([row()], still, pending=waiting(1001)).alerts == ()
    over = look([row()], still, pending=waiting(500))
    assert told(look([row()], over, pending=waiting(1001))) == [(REVENUE, "buffer_lag_warning")]


def test_changes_that_cannot_be_read_for_a_while_wait_still() -> None:
    first = look([row()], pending=waiting(1001))
    blind = look([row()], first, pending=[Pending(REVENUE, "default.orders", 0, 0, 0, unreadable=True)])
    assert look([row()], blind, pending=waiting(1001)).alerts == ()


def test_sources_have_episodes_of_their_own() -> None:
    first = look([row()], pending=waiting(1001))
    second = look([row()], first, pending=waiting(1001) + waiting(5000, "default.items"))
    assert [alert.facts["source"] for alert in second.alerts] == ["default.items"]


# -- retention


@pytest.mark.parametrize(("hours", "warns"), [(42, False), (41.9, True), (0, True), (-5, True)])
def test_retention_warns_when_less_than_a_quarter_is_left(hours: float, warns: bool) -> None:
    kept = Retention(REVENUE, "default.orders", NOON + timedelta(hours=hours), timedelta(days=7))
    seen = look([row()], retention=[kept])
    assert bool(seen.alerts) is warns
    if warns:
        assert told(seen) == [(REVENUE, "retention_warning")]
        assert seen.alerts[0].facts["left_seconds"] == hours * 3600
        assert look([row()], seen, retention=[kept]).alerts == ()
        assert look([row(status="SUSPENDED")], retention=[kept]).alerts, "a suspended table loses its frontier too"


# -- after a restart


def test_open_episodes_are_found_in_the_newest_alerts() -> None:
    seen = look(
        [row(121), row(121, "default.top")],
        pending=waiting(1001),
        paces=[pace(30, 30, 30)],
        retention=[Retention(REVENUE, "default.orders", NOON, timedelta(days=7))],
    )
    assert reopened(reversed(seen.alerts), NOON) == seen.episodes
    later = look([row(121), row(5, "default.top")], seen, NOON + MINUTE)
    newest_first = [*reversed(later.alerts), *reversed(seen.alerts)]
    found = reopened(newest_first, NOON + MINUTE)
    assert Episode("default.top", AlertEvent.LAG_EXCEEDED) not in found
    assert found[Episode(REVENUE, AlertEvent.LAG_EXCEEDED)] == NOON


def test_an_older_alert_without_an_end_is_raised_again() -> None:
    old = Alert(AlertEvent.FALLING_BEHIND, REVENUE, NOON - REMEMBERED - MINUTE, {})
    late = Alert(AlertEvent.LAG_EXCEEDED, REVENUE, NOON - REMEMBERED - MINUTE, {})
    assert reopened([old, late], NOON) == {Episode(REVENUE, AlertEvent.LAG_EXCEEDED): late.at}


def test_an_exceeded_lag_that_was_told_twice_began_with_the_newer() -> None:
    alerts = [
        Alert(AlertEvent.LAG_EXCEEDED, REVENUE, NOON, {}),
        Alert(AlertEvent.LAG_RECOVERED, REVENUE, NOON - MINUTE, {}),
        Alert(AlertEvent.LAG_EXCEEDED, REVENUE, NOON - 2 * MINUTE, {}),
    ]
    assert reopened(alerts, NOON) == {Episode(REVENUE, AlertEvent.LAG_EXCEEDED): NOON}
    assert reopened(alerts[1:], NOON) == {}
