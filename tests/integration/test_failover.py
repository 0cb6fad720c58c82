"""Two schedulers on one PostgreSQL catalog: one acts; when it is killed, cut off or asleep, the other does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from scheduled import Scheduled, scheduled, until
from workers import Nursery, Worker

from postgres import Postgres

pytestmark = pytest.mark.kill

TAKEOVER = 10.0
"""Seconds in which another scheduler must lead."""
_numbers = count(1)


@pytest.fixture
def shop(nursery: Nursery, postgres: Postgres, tmp_path: Path) -> Iterator[Scheduled]:
    schema = f"failover_{next(_numbers)}"
    with scheduled(nursery, tmp_path / "warehouse", schema, catalog=postgres.url(schema)) as made:
        yield made
    postgres.sql(f"DROP SCHEMA {schema} CASCADE")


def _pair(shop: Scheduled, hosts: tuple[str | None, str | None]) -> tuple[Worker, Worker]:
    """The leader and the one that stands by."""
    leader = shop.scheduler(hosts[0])
    until(lambda: leader.ask("leads")[0], "the first one leads")
    other = shop.scheduler(hosts[1])
    owner = leader.ask("owner")
    until(lambda: other.ask("leads")[:2] == [False, owner], "the second one knows who leads")
    assert leader.ask("leads")[0]
    return leader, other


def _await_work_of(shop: Scheduled, worker: Worker) -> None:
    owner = worker.ask("owner")
    until(lambda: shop.history(owner=owner, status="COMPLETED"), "it has brought a table further")


def _commits_of(shop: Scheduled, owner: str) -> int:
    return sum(each.commit_version is not None for each in shop.history(owner=owner, status="COMPLETED"))


@pytest.mark.parametrize(
    "hosts",
    [
        pytest.param((None, None), id="one machine", marks=pytest.mark.slow),
        pytest.param(("alpha", "beta"), id="two machines"),
    ],
)
def test_another_takes_over_from_a_leader_that_was_killed(
    shop: Scheduled, hosts: tuple[str | None, str | None]
) -> None:
    leader, other = _pair(shop, hosts)
    owner = leader.ask("owner")
    shop.writers.work()
    _await_work_of(shop, leader)
    until(lambda: shop.history(owner=owner, status="RUNNING"), "it is in the middle of a refresh")
    leader.signal(signal.SIGKILL)
    took = until(lambda: other.ask("leads")[0], "the other leads")
    print(f"took over after {took:.1f} s")
    assert took < TAKEOVER
    assert not shop.history(owner=owner, status="RUNNING")
    shop.assert_well()
    _await_work_of(shop, other)
    shop.writers.rest()
    shop.await_level()
    assert other.ask("stop") == []
    shop.assert_well()


@pytest.mark.slow
@pytest.mark.parametrize("step", ["computed", "before the write"])
def test_a_leader_that_sleeps_through_the_takeover_does_no_harm(shop: Scheduled, step: str) -> None:
    leader, other = _pair(shop, ("alpha", "beta"))
    owner = leader.ask("owner")
    shop.await_level()
    leader.ask("fail", step=step, how="stop")
    shop.writers.work()
    assert leader.hear() == {"at": step}
    took = until(lambda: other.ask("leads")[0], "the other leads")
    print(f"took over after {took:.1f} s")
    assert took < TAKEOVER
    shop.writers.rest()
    shop.await_level()
    done = _commits_of(shop, owner)
    shop.assert_well()
    leader.signal(signal.SIGCONT)
    until(lambda: leader.ask("leads")[:2] == [False, other.ask("owner")], "the one that slept stands by")
    assert _commits_of(shop, owner) == done
    assert not shop.history(owner=owner, status="RUNNING")
    shop.assert_well()
    # It is a good one again when it is needed.
    other.signal(signal.SIGKILL)
    until(lambda: leader.ask("leads")[0], "it leads again", TAKEOVER)
    shop.writers.work()
    until(lambda: _commits_of(shop, owner) > done, "it refreshes again")
    shop.writers.rest()
    shop.await_level()
    assert leader.ask("stop") == []
    shop.assert_well()


@pytest.mark.slow
def test_a_scheduler_goes_on_after_a_restart_of_the_server(shop: Scheduled, postgres: Postgres) -> None:
    worker = shop.scheduler()
    shop.writers.work()
    _await_work_of(shop, worker)
    postgres.stop()
    postgres.start()
    before = shop.writers.commits
    until(lambda: shop.writers.commits > before + 10, "writers have gone on")
    shop.writers.rest()
    shop.await_level()
    assert worker.ask("stop") == []
    assert not shop.history(status="RUNNING")
    shop.assert_well()
    assert {shop.status(name) for name in shop.names} == {"ACTIVE"}
