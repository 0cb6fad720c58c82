"""Runs cases: stream tables over random queries follow a random history, and must equal plain Spark after each round.

A case is one number: its hundreds draw the history, which a batch of queries shares; the rest draws the query.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from fuzz.grammar import random_query
from fuzz.history import TABLES, Change, History, random_history
from fuzz.part import Part
from penstock.errors import PenstockError, QueryFailed, QueryInvalid, UnstorableColumn
from penstock.refresh.stages import compute
from penstock.testing.by_rules import create_by_rules
from small_tables import Bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PER_HISTORY = 100
DRAWS = 30
"""Queries that Spark refuses are drawn anew, this often."""
HEALTHY = {"INCREMENTAL", "NO_DATA", "FULL"}
BROKEN = {"DELTA_RAISED", "STATE_DAMAGED"}


@dataclass(frozen=True)
class Failure:
    """What went wrong with one stream table."""

    kind: str
    """WRONG ROWS, RAISED or REBUILT."""
    round: int
    """0 = when it was created."""
    what: str

    @property
    def signature(self) -> str:
        """Failures that look the same: what Spark or we complained of, without names and numbers."""
        if self.kind == "WRONG ROWS":
            return self.kind
        said = self.what.rsplit("fails on the present data: ", 1)[-1]
        return f"{self.kind} " + re.sub(r"`(?!__ps)\w+`|\b[a-z]+_?\d+|#\d+|\d+", "…", said)[:160]


@dataclass
class Followed:
    """A stream table of a batch."""

    case: int
    name: str
    query: Part
    failure: Failure | None = None
    actions: list[str] = field(default_factory=list)
    reason: str | None = None
    changes: int = 0
    """Rounds that changed its rows."""
    unanswerable: bool = False
    """Spark itself raised on the data."""


def history_of(case: int) -> History:
    """The history of a case."""
    return random_history(Random(f"history {case // PER_HISTORY}"))


def query_of(case: int, spark: SparkSession) -> Part | None:
    """The query of a case, valid in `spark`; None if none was found."""
    for draw in range(DRAWS):
        query = random_query(Random(f"query {case} {draw}"))
        if is_valid(query.text, spark):
            return query
    return None


def is_valid(query: str, spark: SparkSession) -> bool:
    """True if Spark can analyse the query."""
    from pyspark.errors import PySparkException

    if len(query) > 4000:
        return False
    try:
        spark.sql(query)
    except PySparkException:
        return False
    return True


def tables_of(query: str) -> set[str]:
    """The source tables that a query reads."""
    return {table.name for table in TABLES if re.search(rf"\b{table.name}\b", query)}


def reset(bench: Bench, history: History) -> None:
    """Put the first rows of a history into the tables."""
    for name, rows in history.first.items():
        if bench.rows(name):
            bench.delete(name)
        if rows:
            bench.insert(name, rows)
    bench.look()


def apply(bench: Bench, changes: Sequence[Change]) -> None:
    """One round."""
    for change in changes:
        if change.gone:
            bench.delete(change.table, f"rid IN ({', '.join(map(str, change.gone))})")
        if change.come:
            bench.insert(change.table, change.come)


def follow(bench: Bench, history: History, tables: Sequence[Followed]) -> None:
    """Run a history; a stream table that failed is left alone from then on. The sources hold the first rows."""
    for table in tables:
        create(bench, table)
        check(bench, table, 0)
    for number, changes in enumerate(history.rounds, 1):
        apply(bench, changes)
        for table in tables:
            if table.failure is None and not table.unanswerable:
                refresh(bench, table, number)
                check(bench, table, number)
    for table in tables:
        bench.ps.drop_stream_table(table.name, if_exists=True)


def create(bench: Bench, table: Followed) -> None:
    """Create the stream table, incremental if it can be."""
    try:
        made = create_by_rules(bench.ps, table.name, table.query.text)
        table.reason = bench.ps.info(table.name)[0]["reason"] if made.effective_mode != "INCREMENTAL" else None
    except (UnstorableColumn, QueryInvalid):
        table.unanswerable = True
    except Exception as error:
        _raised(bench, table, 0, error)


def refresh(bench: Bench, table: Followed, number: int) -> None:
    """Refresh it, and see how it went."""
    try:
        with overheard() as raised:
            done = bench.ps.refresh(table.name)
    except Exception as error:
        _raised(bench, table, number, error)
        return
    table.actions.append(str(done.action))
    table.changes += bool(done.rows_inserted or done.rows_deleted)
    if done.reason_code:
        table.reason = done.reason_code
    if str(done.action) not in HEALTHY or done.reason_code in BROKEN:
        why = "\n".join([f"{done.action} {done.reason_code}: {done.reason}", *raised[-1:]])
        table.failure = Failure("REBUILT", number, why)


@contextmanager
def overheard() -> Iterator[list[str]]:
    """What deltas raised: a refresh that rebuilds instead does not say it."""
    raised: list[str] = []
    original = compute._delta

    def listening(*given: Any) -> Any:
        try:
            return original(*given)
        except QueryFailed as error:
            raised.append(_first_lines(error))
            raise

    compute._delta = listening  # type: ignore[assignment]
    try:
        yield raised
    finally:
        compute._delta = original


def check(bench: Bench, table: Followed, number: int) -> None:
    """Compare it with plain Spark."""
    if table.failure is not None or table.unanswerable:
        return
    try:
        found = bench.difference(table.name, table.query.text)
    except PenstockError:
        raise
    except Exception as error:
        found = f"plain Spark raised where the refresh did not: {_first_lines(error)}"
    if found is not None:
        table.failure = Failure("WRONG ROWS", number, found)


def _raised(bench: Bench, table: Followed, number: int, error: Exception) -> None:
    """Whose error is it? A query that fails on the data fails in plain Spark, too."""
    try:
        bench.plain(table.query.text)
    except Exception:
        # Some queries are refused only by Spark's optimizer, so `is_valid` lets them pass.
        table.unanswerable = True
        return
    table.failure = Failure("RAISED", number, f"{type(error).__name__}: {_first_lines(error)}")


def _first_lines(error: BaseException, most: int = 900) -> str:
    # The cause is where a wrapped Spark error says what it did not like.
    cause = f"\n  caused by {type(error.__cause__).__name__}: {error.__cause__}" if error.__cause__ else ""
    return (str(error)[:most] + cause[:most]).strip()


@dataclass
class Tally:
    """What the cases of a run did."""

    modes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    changes: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, table: Followed) -> None:
        """Count one case."""
        if table.failure is not None:
            self.modes["failed"] += 1
            self.failures[table.failure.signature] += 1
        elif table.unanswerable:
            self.modes["not answered by Spark"] += 1
        elif "FULL" in table.actions:
            self.modes["FULL"] += 1
            self.reasons[str(table.reason)] += 1
        elif "INCREMENTAL" in table.actions:
            self.modes["INCREMENTAL"] += 1
        else:
            self.modes["never changed"] += 1
        self.rounds += len(table.actions)
        self.changes += table.changes

    def text(self) -> str:
        """The table at the end of a run."""
        total = sum(self.modes.values())
        lines = [f"{total} queries, {self.rounds} refreshes, {self.changes} of them changed rows"]
        for title, counts in (("", self.modes), ("FULL because of ", self.reasons), ("failed: ", self.failures)):
            for name, number in counts.most_common():
                lines.append(f"{number:6} {number / max(total, 1):6.1%}  {title}{name}")
        return "\n".join(lines)
