"""Leases: one worker at a time, takeover after expiry or death, and a late worker that can do no harm."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from places import Place

from penstock.catalog import SCHEDULER, Lease, current_owner
from penstock.catalog.sql_catalog import SqlCatalog
from penstock.errors import LeaseLost, StreamTableNotFound, TableBusy

MINUTE = timedelta(minutes=1)


def run_process(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Another Python process that sees the same package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_a_held_lease_excludes_everybody_even_its_holder(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a, b = add("a"), add("b")
    catalog.acquire_lease(a, "one", MINUTE, now=now)
    for holder in ("one", "two"):
        with pytest.raises(TableBusy, match="is being refreshed by one"):
            catalog.acquire_lease(a, holder, MINUTE, now=now + timedelta(seconds=59))
    assert catalog.acquire_lease(b, "two", MINUTE, now=now).stream_table_id == b


def test_tokens_grow_over_release_and_expiry(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    a = add("a")
    first = catalog.acquire_lease(a, "one", MINUTE, now=now)
    catalog.release_lease(first)
    assert catalog.get_lease(a) is None
    second = catalog.acquire_lease(a, "two", MINUTE, now=now)
    third = catalog.acquire_lease(a, "three", MINUTE, now=now + MINUTE)
    assert first.token < second.token < third.token
    assert catalog.get_lease(a) == third


def test_renewing_extends_and_is_refused_after_a_takeover(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a = add("a")
    lease = catalog.acquire_lease(a, "one", MINUTE, now=now)
    lease = catalog.renew_lease(lease, MINUTE, now=now + timedelta(seconds=50))
    with pytest.raises(TableBusy):
        catalog.acquire_lease(a, "two", MINUTE, now=now + timedelta(seconds=100))
    later = now + timedelta(seconds=110)
    taken = catalog.acquire_lease(a, "two", MINUTE, now=later)
    with pytest.raises(LeaseLost, match="two took over the lease"):
        catalog.renew_lease(lease, MINUTE, now=later)
    assert catalog.get_lease(a) == taken


def test_an_expired_lease_nobody_took_can_be_renewed(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a = add("a")
    lease = catalog.acquire_lease(a, "one", MINUTE, now=now)
    late = now + timedelta(hours=1)
    assert catalog.renew_lease(lease, MINUTE, now=late) == Lease(a, lease.token, "one", late + MINUTE, late)


def test_a_released_lease_cannot_be_renewed(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    lease = catalog.acquire_lease(add("a"), "one", MINUTE, now=now)
    catalog.release_lease(lease)
    with pytest.raises(LeaseLost, match="released"):
        catalog.renew_lease(lease, MINUTE, now=now)


def test_releasing_a_lost_lease_does_not_free_the_new_one(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a = add("a")
    lost = catalog.acquire_lease(a, "one", MINUTE, now=now)
    held = catalog.acquire_lease(a, "two", MINUTE, now=now + MINUTE)
    catalog.release_lease(lost)
    assert catalog.get_lease(a) == held


def test_the_scheduler_has_a_lease_of_its_own(catalog: SqlCatalog, now: datetime) -> None:
    held = catalog.acquire_lease(SCHEDULER, "one", MINUTE, now=now)
    with pytest.raises(TableBusy, match="the scheduler"):
        catalog.acquire_lease(SCHEDULER, "two", MINUTE, now=now)
    beat = catalog.renew_lease(held, MINUTE, now=now + timedelta(seconds=1))
    assert beat.renewed_at == now + timedelta(seconds=1)


def test_there_is_no_lease_on_nothing(catalog: SqlCatalog, now: datetime) -> None:
    with pytest.raises(StreamTableNotFound):
        catalog.acquire_lease(99, "one", MINUTE, now=now)


@pytest.mark.process
def test_a_dead_process_of_this_host_is_succeeded_at_once(
    catalog: SqlCatalog, add: Callable[..., int], now: datetime
) -> None:
    a = add("a")
    worker = run_process("from penstock.catalog import current_owner; print(current_owner())")
    owner = worker.communicate()[0].strip()
    assert worker.returncode == 0
    first = catalog.acquire_lease(a, owner, timedelta(days=1), now=now)
    assert catalog.acquire_lease(a, current_owner(), MINUTE, now=now).token == first.token + 1


def test_of_many_threads_one_gets_the_lease(catalog: SqlCatalog, add: Callable[..., int], now: datetime) -> None:
    a = add("a")
    start = threading.Barrier(8)
    won: list[Lease] = []
    busy: list[TableBusy] = []

    def attempt() -> None:
        start.wait()
        try:
            won.append(catalog.acquire_lease(a, current_owner(), MINUTE, now=now))
        except TableBusy as error:
            busy.append(error)

    threads = [threading.Thread(target=attempt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(busy)) == (1, 7)


CONTENDER = """
    import sys
    from datetime import datetime, timedelta
    from penstock.catalog import current_owner, open_catalog
    from penstock.errors import TableBusy

    path, rounds, now = sys.argv[1], int(sys.argv[2]), datetime.fromisoformat(sys.argv[3])
    catalog = open_catalog(path)
    print("ready", flush=True)
    sys.stdin.readline()
    tokens = []
    while len(tokens) < rounds:
        try:
            lease = catalog.acquire_lease(1, current_owner(), timedelta(minutes=1), now=now)
        except TableBusy:
            continue
        assert catalog.get_lease(1) == lease, "somebody else is inside"
        tokens.append(lease.token)
        catalog.release_lease(lease)
    print(*tokens)
"""


@pytest.mark.process
def test_processes_never_share_a_lease_nor_a_token(
    catalog: SqlCatalog, add: Callable[..., int], place: Place, now: datetime
) -> None:
    assert add("a") == 1
    rounds = 20
    workers = [run_process(CONTENDER, place.address, rounds, now.isoformat()) for _ in range(3)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    tokens: list[int] = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        output = worker.communicate(timeout=60)[0]
        assert worker.returncode == 0
        tokens += map(int, output.split())
    assert sorted(tokens) == list(range(1, 3 * rounds + 1))
