"""One leader at a time; a dead one is replaced, a stale one finds out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.catalog import SCHEDULER, SqliteCatalog, StreamTableMeta
from penstock.errors import LeaseLost
from penstock.names import TableName
from penstock.schedule import leader
from penstock.schedule.leader import TERM, Candidate
from penstock.testing.clock import FakeStopwatch


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    with SqliteCatalog(tmp_path / "catalog.db") as opened:
        yield opened


def test_one_leads_and_the_next_waits_until_it_steps_down(catalog: SqliteCatalog) -> None:
    first, second = Candidate(catalog), Candidate(catalog)
    leadership = first.stand()
    assert leadership is not None
    assert second.stand() is None
    assert second.rival is not None
    leadership.end()
    taken = second.stand()
    assert taken is not None
    assert taken.token > leadership.token
    taken.end()


def test_a_leader_elsewhere_that_stopped_answering_is_replaced_and_what_it_held_is_freed(
    catalog: SqliteCatalog,
) -> None:
    meta = StreamTableMeta(name=TableName.parse("a"), table_id="a", path="", query="", definition_hash="")
    table = catalog.insert(meta, [], now=catalog.now())
    catalog.acquire_lease(SCHEDULER, "elsewhere:1:x", TERM, now=catalog.now() - 2 * TERM)
    work = catalog.acquire_lease(table, "elsewhere:1:x", timedelta(hours=1), now=catalog.now())
    other = catalog.insert(
        StreamTableMeta(name=TableName.parse("b"), table_id="b", path="", query="", definition_hash=""),
        [],
        now=catalog.now(),
    )
    by_hand = catalog.acquire_lease(other, "somebody:2:y", timedelta(hours=1), now=catalog.now())
    leadership = Candidate(catalog).stand()
    assert leadership is not None
    with pytest.raises(LeaseLost):
        catalog.renew_lease(work, TERM, now=catalog.now())
    assert catalog.renew_lease(by_hand, TERM, now=catalog.now()).token == by_hand.token
    leadership.end()


def test_a_lease_from_the_future_is_taken_when_nobody_renews_it(catalog: SqliteCatalog) -> None:
    """The clock was set back by a day, and the leader is dead."""
    catalog.acquire_lease(SCHEDULER, "elsewhere:1:x", TERM, now=catalog.now() + timedelta(days=1))
    stopwatch = FakeStopwatch()
    candidate = Candidate(catalog, stopwatch)
    assert candidate.stand() is None
    stopwatch.seconds += TERM.total_seconds() - 1
    assert candidate.stand() is None
    stopwatch.seconds += 2
    leadership = candidate.stand()
    assert leadership is not None
    leadership.end()


def test_a_leader_that_lost_its_lease_finds_out(catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader, "TERM", timedelta(seconds=0.3))
    leadership = Candidate(catalog).stand()
    assert leadership is not None
    catalog.acquire_lease(SCHEDULER, "elsewhere:1:x", TERM, now=catalog.now() + timedelta(minutes=1))
    assert leadership.lost.wait(60)
    leadership.end()
    held = catalog.get_lease(SCHEDULER)
    assert held is not None
    assert held.holder == "elsewhere:1:x", "stepping down does not free what another holds"


def test_a_leader_renews_in_time(catalog: SqliteCatalog) -> None:
    leadership = Candidate(catalog).stand()
    assert leadership is not None
    first = catalog.get_lease(SCHEDULER)
    assert first is not None
    deadline = time.monotonic() + 60
    while (held := catalog.get_lease(SCHEDULER)) is not None and held.expires_at == first.expires_at:
        assert time.monotonic() < deadline, "nobody renews it"
        time.sleep(0.05)
    assert held is not None
    assert held.token == first.token == leadership.token
    assert Candidate(catalog).stand() is None
    leadership.end()


def test_a_leader_that_slept_through_its_term_knows_before_it_has_asked(catalog: SqliteCatalog) -> None:
    stopwatch = FakeStopwatch()
    leadership = Candidate(catalog, stopwatch).stand()
    assert leadership is not None
    assert not leadership.is_over
    stopwatch.seconds += TERM.total_seconds() + 1
    assert leadership.is_over
    assert not leadership.lost.is_set()
    leadership.end()
    successor = Candidate(catalog).stand()
    assert successor is not None
    successor.end()
