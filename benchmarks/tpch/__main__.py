"""`make tpch`: the 22 queries as stream tables in mode INCREMENTAL, each compared with Spark after every change.

Exit code 1 if a query was not maintained incrementally or was ever different from its recomputation. TPCH_SF is the
scale factor, TPCH_ROUNDS the number of rounds; arguments choose queries: `python -m benchmarks.tpch 3 18`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import penstock
from benchmarks.tpch import report
from benchmarks.tpch.generate import generate
from benchmarks.tpch.history import History
from benchmarks.tpch.load import count_rows, load
from benchmarks.tpch.measure import Outcome, measure
from benchmarks.tpch.queries import Query, queries
from penstock.errors import NotIncremental

SCALE = float(os.environ.get("TPCH_SF", "0.1"))
ROUNDS = int(os.environ.get("TPCH_ROUNDS", "6"))


def main() -> int:
    """Run everything; 0 if all is well."""
    chosen = [query for query in queries(SCALE) if not sys.argv[1:] or str(query.number) in sys.argv[1:]]
    with tempfile.TemporaryDirectory(prefix="penstock-tpch-") as folder:
        data = Path(folder, "generated")
        data.mkdir()
        with penstock.open(Path(folder, "warehouse"), settings={"log_level": "warning"}) as ps:
            lines = run(ps, generate(SCALE, data), chosen)
    print(report.text(lines))
    print(f"written to {report.keep(lines, SCALE, ROUNDS)}")
    return 0 if all(line.good for line in lines) else 1


def run(ps: penstock.StreamTables, data: Path, chosen: list[Query]) -> list[report.Line]:
    """Load, create, then change, refresh and compare, again and again."""
    load(ps, data)
    rows = count_rows(ps)
    _say(f"scale factor {SCALE}: " + ", ".join(f"{count:,} {table}" for table, count in rows.items()))
    refused = {query.name: create(ps, query) for query in chosen}
    history = History(ps, data, rows)
    changes: list[tuple[str, Callable[[], None]]] = [
        (f"round {turn}", partial(history.round, turn)) for turn in range(1, ROUNDS + 1)
    ]
    changes += [(report.ORDERS_TICK, history.tick_orders), (report.EVERY_TICK, history.tick_every_table)]
    outcomes: dict[str, list[Outcome]] = {query.name: [] for query in chosen}
    for after, change in changes:
        started = time.perf_counter()
        change()
        sizes = count_rows(ps)
        _say(f"{after}: changed in {time.perf_counter() - started:.1f} s")
        for query in chosen:
            if query.name in _existing(ps):
                outcome = measure(ps, query, after, sizes)
                outcomes[query.name].append(outcome)
                _say(f"{after}: {_summary_line(outcome)}")
    return [report.Line(query, refused[query.name], tuple(outcomes[query.name])) for query in chosen]


def create(ps: penstock.StreamTables, query: Query) -> str | None:
    """Make the stream table, in mode AUTO if INCREMENTAL is refused; returns what was said then."""
    started = time.perf_counter()
    said = None
    try:
        try:
            ps.create_stream_table(query.name, query.text, refresh_mode="INCREMENTAL")
        except NotIncremental as refusal:
            said = _first_line(refusal)
            ps.create_stream_table(query.name, query.text, refresh_mode="AUTO")
    # Whatever it was: the other queries get their turn, and the report says it.
    except Exception as error:
        said = f"{type(error).__name__}: {_first_line(error)}"
    _say(f"create {query.name}: {said or 'INCREMENTAL'}, {time.perf_counter() - started:.1f} s")
    return said


def _existing(ps: penstock.StreamTables) -> set[str]:
    return {row.name.rsplit(".", 1)[-1] for row in ps.status()}


def _summary_line(outcome: Outcome) -> str:
    verdict = "exact" if outcome.exact else f"DIFFERS: {outcome.difference}"
    read = "" if outcome.rows_read is None else f", {outcome.rows_read:,} rows read"
    return (
        f"{outcome.query} {outcome.action} {verdict}, {outcome.rows_changed} of {outcome.rows} rows changed{read}, "
        f"{outcome.refresh_seconds:.2f} s against {outcome.recompute_seconds:.2f} s"
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
