"""Kills a scheduler under load, looks, starts it again.

    a worker    most kills: a process that was forked from one with a running Spark; the JVM survives
    the whole   every tenth: `penstock run` with its own JVM, the process group as one

A kill comes at a random moment after the process leads and has brought at least one table further by itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

from workers import Nursery, Worker

from kills.witness import Findings, Witness
from kills.world import BASES, STREAM_TABLES, Writers, statements
from penstock.catalog.model import SCHEDULER, RefreshStatus
from penstock.catalog.open_catalog import CATALOG_FILE, open_catalog

SETTINGS: dict[str, Any] = {
    "min_target_lag_seconds": 1,
    "scheduler_interval_ms": 100,
    "backoff_seconds": 1,
    "backoff_max_seconds": 2,
    "lease_seconds": 5,
    "max_concurrent_refreshes": 3,
    "driver_memory": "1g",
    "shuffle_partitions": 1,
    # So that some tables are changed by merges and others by deletion vectors.
    "deletion_vector_bytes": 3000,
    "log_level": "warning",
}
WHOLE_EVERY = 10
RENEW_EVERY = 40
"""Kills after which workers get a new JVM: it never lets go of what killed ones held, and slows down."""
LEVEL_EVERY = 50
"""Kills after which writers rest until everything has caught up, and Spark itself has a look."""
PATIENCE = 180.0
"""Seconds in which a scheduler must have done something, or have caught up."""


class Victim(Protocol):
    """A scheduler process."""

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""


class ForkedVictim:
    """A worker of a nursery."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def kill(self) -> None:
        self.worker.signal(signal.SIGKILL)
        self.worker.gone()


class WholeVictim:
    """`penstock run`, with everything that it started."""

    def __init__(self, warehouse: Path, log: Path) -> None:
        settings = {f"PENSTOCK_{name.upper()}": str(value) for name, value in SETTINGS.items()}
        log.parent.mkdir(exist_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "penstock.cli.main", "run", "-w", str(warehouse)],
                # The JVM is needed for seconds only: let it compile quickly rather than well.
                env={**os.environ, **settings, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)


@dataclass
class Tally:
    """What has been done so far."""

    kills: int = 0
    whole: int = 0
    midway: int = 0
    """Kills that left a refresh RUNNING."""
    levels: int = 0
    refreshes: int = 0
    findings: Findings = field(default_factory=Findings)

    def text(self) -> str:
        found = self.findings
        return (
            f"{self.kills} kills, {len(found.lost)} lost, {len(found.doubled)} doubled, {len(found.wrong)} wrong\n"
            f"{self.kills - self.whole} of a worker, {self.whole} of a whole process group with its JVM; "
            f"{self.midway} of {self.kills} in the middle of a refresh; "
            f"{self.refreshes} refreshes; caught up and audited by Spark {self.levels} times"
        )


class Kills:
    """One warehouse, one series of kills."""

    def __init__(self, folder: Path, seed: int, say: Callable[[str], None]) -> None:
        self.folder = folder
        self.tally = Tally()
        self._seed = seed
        self._say = say
        self._former = ""
        self._nursery = Nursery(folder)
        maker = self._nursery.worker(**SETTINGS)
        for statement in statements():
            maker.ask("sql", text=statement)
        maker.end()
        paths = {name: self._nursery.tables / name for name in BASES}
        self._catalog = open_catalog(str(folder / CATALOG_FILE))
        self.witness = Witness(self._catalog, STREAM_TABLES, paths)
        self._writers = Writers(paths, seed)

    def close(self) -> None:
        with suppress(Exception):
            self._writers.rest()
        self._catalog.close()
        self._nursery.close()

    def run(self, first: int, last: int) -> Tally:
        """All kills from one number to another; ends early when something is found."""
        self._writers.work()
        for number in range(first, last + 1):
            level = number % LEVEL_EVERY == 0 or number == last
            if self._found_at_kill(number) or (level and self._found_level(number)):
                break
            if number % RENEW_EVERY == 0:
                self._nursery.close()
                self._nursery = Nursery(self.folder)
        self._writers.rest()
        return self.tally

    def _found_at_kill(self, number: int) -> bool:
        began = time.monotonic()
        chance = Random(f"{self._seed} {number}")
        whole = number % WHOLE_EVERY == 0
        victim = self._start(whole)
        owner = self._await_work()
        # Somebody has begun to work on what the last kill left.
        if self._found(number - 1, "after the restart", self.witness.check()):
            victim.kill()
            return True
        time.sleep(chance.uniform(0, 1.5))
        done = self._completed_by(owner)
        victim.kill()
        running = [each for each in self._catalog.recent_history(None, 50) if each.status is RefreshStatus.RUNNING]
        tally = self.tally
        tally.kills += 1
        tally.whole += whole
        tally.midway += bool(running)
        tally.refreshes += done
        names = ", ".join(sorted(each.name.rsplit(".", 1)[-1] for each in running)) or "nothing"
        what = "process group" if whole else "worker"
        took = time.monotonic() - began
        self._say(f"kill {number}: {what} after {done} refreshes, in the middle of {names}; {took:.1f} s")
        return False

    def _start(self, whole: bool) -> Victim:
        if whole:
            return WholeVictim(self.folder, self.folder / "logs" / "run.log")
        worker = self._nursery.worker(**SETTINGS)
        worker.ask("run")
        return ForkedVictim(worker)

    def _await_work(self) -> str:
        """Wait until somebody leads who was not there before, and has brought a table further."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            lease = self._catalog.get_lease(SCHEDULER)
            if lease is not None and lease.holder != self._former and self._completed_by(lease.holder):
                self._former = lease.holder
                return lease.holder
            time.sleep(0.02)
        raise AssertionError(f"nobody has refreshed anything for {PATIENCE:.0f} s")

    def _completed_by(self, owner: str) -> int:
        return sum(
            each.owner == owner and each.status is RefreshStatus.COMPLETED
            for each in self._catalog.recent_history(None, 500)
        )

    def _found_level(self, number: int) -> bool:
        """Let everything catch up, and look with other eyes: Spark's."""
        self._writers.rest()
        worker = self._nursery.worker(**SETTINGS)
        worker.ask("run")
        deadline = time.monotonic() + PATIENCE
        while not self.witness.is_level():
            if time.monotonic() > deadline:
                self.tally.findings.lost.append(f"not caught up {PATIENCE:.0f} s after kill {number}")
                return True
            time.sleep(0.1)
        left = worker.ask("stop")
        found = self.witness.check()
        found.lost += [f"{name} did not end when asked to" for name in left]
        try:
            worker.ask("exact", names=list(STREAM_TABLES), audited=False)
        except AssertionError as wrong:
            found.wrong.append(str(wrong))
        worker.end()
        self.tally.levels += 1
        self._writers.work()
        return self._found(number, "after catching up", found)

    def _found(self, number: int, when: str, found: Findings) -> bool:
        for kind in ("lost", "doubled", "wrong"):
            getattr(self.tally.findings, kind).extend(getattr(found, kind))
        if not found.none:
            self._say(f"kill {number}, {when}:\n{found}\nseed {self._seed}; again: --seed {self._seed} --from {number}")
        return not found.none
