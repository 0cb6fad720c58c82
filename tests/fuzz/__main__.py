"""The fuzzer. Run it with `make fuzz`, or from `tests/`:

python -m fuzz --minutes 30 --seed 7      many cases; failures are shrunk and printed as scenarios
python -m fuzz --case 123405              one case again, with what it does
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

from fuzz.history import TABLES
from fuzz.runner import PER_HISTORY, Failure, Followed, Tally, follow, history_of, query_of, reset
from fuzz.shrink import Case, shrunk
from penstock.engine.spark.session import start_session
from penstock.settings import Settings
from small_tables import INTERPRETED, Bench, bench

BRISK = {
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    **INTERPRETED,
}
BATCHES = 12
"""Batches on one set of tables: their logs grow, and new tables cost seconds."""


def main() -> int:
    options = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--seed", type=int, default=1, help="where the case numbers start")
    options.add_argument("--queries", type=int, default=8, help="stream tables that share a history")
    options.add_argument("--case", type=int, action="append", help="run these cases only")
    options.add_argument("--shrink", type=float, default=3, help="minutes to spend on shrinking one failure")
    given = options.parse_args()
    # Queries that Spark refuses are part of the game.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    until = time.monotonic() + given.minutes * 60
    with tempfile.TemporaryDirectory(prefix="penstock-fuzz-") as folder:
        spark = start_session(Path(folder) / "spark", Settings(driver_memory="2g", shuffle_partitions=2), extra=BRISK)
        tally = Tally()
        known: set[str] = set()
        history = given.seed
        wanted = list(given.case or [])
        while wanted or (given.case is None and time.monotonic() < until):
            with bench(spark, Path(folder), TABLES) as at:
                for _ in range(BATCHES):
                    if given.case is None:
                        cases = [history * PER_HISTORY + number for number in range(given.queries)]
                    else:
                        cases, wanted = wanted[:1], wanted[1:]
                    history += 1
                    for table in batch(at, cases):
                        tally.add(table)
                        if table.failure is not None:
                            report(at, table, table.failure, given.shrink * 60, known)
                    say(f"history {history - 1}: {dict(tally.modes)}, {tally.rounds} refreshes")
                    if not wanted and (given.case is not None or time.monotonic() > until):
                        break
        spark.stop()
    print(f"\n{tally.text()}")
    return 1 if tally.failures else 0


def batch(at: Bench, cases: list[int]) -> list[Followed]:
    """Cases that share one history."""
    history = history_of(cases[0])
    reset(at, history)
    drawn = [(case, query_of(case, at.oracle)) for case in cases]
    tables = [Followed(case, f"st{case}", query) for case, query in drawn if query is not None]
    if len(cases) == 1:
        print(f"\n{tables[0].query.text}")
    follow(at, history, tables)
    if len(cases) == 1:
        print(f"{tables[0].actions} {tables[0].reason} {tables[0].failure}")
    return tables


def report(at: Bench, table: Followed, failure: Failure, seconds: float, known: set[str]) -> None:
    """Print a failure, and its smallest form unless one that looks the same was shrunk already."""
    print(
        f"\n── case {table.case}: {failure.kind} in round {failure.round}\n{table.query.text}\n{failure.what}",
        flush=True,
    )
    if failure.signature != "WRONG ROWS" and failure.signature in known:
        print("seen before, not shrunk", flush=True)
        return
    known.add(failure.signature)
    small = shrunk(at, Case(table.case, table.query, history_of(table.case), failure), seconds, say)
    print(f"\n{small.script()}\n# {small.failure.kind} in round {small.failure.round}", flush=True)
    print("# " + small.failure.what.replace("\n", "\n# "), flush=True)


def say(line: str) -> None:
    """Progress, on one line of a terminal and one line each elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line[:150]}", end="", file=sys.stderr, flush=True)
    elif not line.startswith("shrinking"):
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
