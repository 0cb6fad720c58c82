"""`python -m soak --minutes 10`: run it, show it, and say at the end whether everything held.

    lag      every stream table within its target at least 95% of the time
    memory   flat: Python, the JVM's heap after a collection, and what the JVM has beside its heap
    rows     every stream table audited, exact

Writes the plot and the account to `--out`; exit code 1 if something did not hold.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.memory import driver_memory
from rich.console import Console

import penstock
from penstock.engine.spark.session import start_session
from penstock.settings import Settings
from soak.lag_plot import lag_plot
from soak.samples import ASKED, Samples
from soak.screen import Screen
from soak.shop import STREAM_TABLES, fill

WARM_UP = 30.0
"""Seconds until the first samples count: every statement runs for the first time then."""

MEMORY_EVERY = 30.0

HEAP = "3g"
WHOLE_HEAP = f"-Xms{HEAP} -XX:+AlwaysPreTouch"
"""The heap is taken whole at the start. A JVM grows and shrinks it as it likes, by a gigabyte within a minute, and a
leak beside it would not be seen behind that."""


def main() -> int:
    """Run the soak; the exit code."""
    asked = argparse.ArgumentParser(prog="python -m soak", description=__doc__.splitlines()[0])
    asked.add_argument("--minutes", type=float, default=10.0)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--out", type=Path, default=Path("soak/results"))
    options = asked.parse_args()
    out = Console()
    with tempfile.TemporaryDirectory(prefix="penstock-soak-") as folder:
        warehouse, settings = Path(folder) / "warehouse", Settings(min_target_lag_seconds=10, driver_memory=HEAP)
        spark = start_session(warehouse, settings, extra={"spark.driver.defaultJavaOptions": WHOLE_HEAP})
        with penstock.open(warehouse, spark=spark, settings=settings) as ps:
            out.print(f"making the shop and {len(STREAM_TABLES)} stream tables…")
            tables = fill(ps)
            samples, refreshes = _soak(ps, tables["orders"].parent, options.minutes * 60, options.seed, out)
            out.print("auditing…")
            audits = {name: ps.audit(name).exact for name in STREAM_TABLES}
            machine = describe(ps)
            failed = [f"{each.name}: {each.error_message}" for each in ps.history(max_rows=10**6) if each.error_message]
    return _account(samples, refreshes, audits, failed, machine, options.out, options.minutes, out)


def _soak(ps: penstock.StreamTables, tables: Path, seconds: float, seed: int, out: Console) -> tuple[Samples, int]:
    samples, began = Samples(), time.monotonic()
    memory_at = 0.0
    with _writers(tables, seed) as alive, ps.run() as running, Screen(out, seconds) as screen:
        while (at := time.monotonic() - began - WARM_UP) < seconds:
            if not alive():
                raise RuntimeError("the writers have ended")
            if at >= 0:
                samples.add(at, ps.status())
                if at >= memory_at:
                    samples.memory.append((at, _memory(ps)))
                    memory_at += MEMORY_EVERY
                screen.show(at, samples)
            time.sleep(1.0)
        samples.memory.append((seconds, _memory(ps)))
        left = running.stop()
        if left:
            raise RuntimeError(f"did not end in time: {left}")
    return samples, sum(each["refresh_count"] for each in ps.info())


def _memory(ps: penstock.StreamTables) -> dict[str, int]:
    found = driver_memory(ps)
    return {
        "Python": found["python_resident"],
        "JVM heap": found["jvm_heap_used"],
        "JVM beside its heap": found["jvm_resident"] - found["jvm_heap_committed"],
    }


@contextmanager
def _writers(tables: Path, seed: int) -> Iterator[Callable[[], bool]]:
    process = subprocess.Popen([sys.executable, "-m", "soak.writers", str(tables), str(seed)])
    try:
        yield lambda: process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _account(
    samples: Samples,
    refreshes: int,
    audits: dict[str, bool],
    failed: list[str],
    machine: dict[str, Any],
    out: Path,
    minutes: float,
    to: Console,
) -> int:
    late, grown = samples.late(), samples.grown()
    wrong = [name for name, exact in audits.items() if not exact]
    least = min(samples.lines.values(), key=lambda line: line.within)
    lines = [
        f"lag: within target {least.within:.1%} of the time or more ({least.name}), asked {ASKED:.0%}: "
        + ("held" if not late else "NOT held by " + ", ".join(line.name for line in late)),
        "memory: "
        + ", ".join(f"{kind} {used:,} MB" for kind, used in samples.memory[-1][1].items())
        + (": flat" if not grown else f": NOT flat: {', '.join(grown)}"),
        f"audits: {len(audits) - len(wrong)} of {len(audits)} exact"
        + (f"; WRONG: {', '.join(wrong)}" if wrong else ""),
        f"refreshes: {refreshes:,}; failed: {len(failed)}",
    ]
    out.mkdir(parents=True, exist_ok=True)
    (out / "lag.svg").write_text(lag_plot(samples).svg(), encoding="utf-8")
    account = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "minutes": minutes,
        "machine": machine,
        "lines": lines,
        "tables": {
            line.name: {"target": line.target, "within": round(line.within, 4), "worst": round(line.worst, 1)}
            for line in samples.lines.values()
        },
        "memory": samples.memory,
        "failed": failed[:20],
    }
    (out / "soak.json").write_text(json.dumps(account, indent=1, default=str), encoding="utf-8")
    for line in lines:
        to.print(line)
    to.print(f"plot: {out / 'lag.svg'}")
    return int(bool(late or grown or wrong or failed))


if __name__ == "__main__":
    sys.exit(main())
