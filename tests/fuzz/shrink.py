"""Makes a failing case small: parts of the query and of the history are left out while it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fuzz.history import TABLES, History, fewer
from fuzz.part import Part, smaller
from fuzz.runner import Failure, Followed, follow, is_valid, reset, tables_of
from small_tables import Bench, plain_literals


@dataclass(frozen=True)
class Case:
    """A query, its history, and how it fails."""

    number: int
    query: Part
    history: History
    failure: Failure

    def script(self) -> str:
        """A scenario for `tests/integration/test_found_by_fuzz.py`."""
        tables = [table for table in TABLES if table.name in tables_of(self.query.text)]
        lines = ["Scenario(", f'    "found by case {self.number}",', "    tables=("]
        lines += [
            f'        "{table.name} ({", ".join(" ".join(each) for each in table.columns)})",' for table in tables
        ]
        lines += ["    ),", "    first=("]
        for table in tables:
            if rows := self.history.first[table.name]:
                lines.append(f'        "INSERT INTO {table.name} VALUES {plain_literals(rows)}",')
        lines += ["    ),", f'    query="{self.query.text}",', "    rounds=("]
        for changes in self.history.rounds:
            lines.append("        (")
            lines += [f'            "{statement}",' for change in changes for statement in change.sql()]
            lines.append("        ),")
        return "\n".join([*lines, "    ),", ")"])


def fails(bench: Bench, number: int, query: Part, history: History) -> Failure | None:
    """Run one case alone."""
    reset(bench, history)
    table = Followed(number, f"st{number}", query)
    follow(bench, history, [table])
    return table.failure


def shrunk(bench: Bench, case: Case, seconds: float, say: Callable[[str], None]) -> Case:
    """The smallest case that was found in this time."""
    until = time.monotonic() + seconds
    best = case
    tried = 0

    def still(query: Part, history: History) -> bool:
        nonlocal best, tried
        tried += 1
        say(f"shrinking case {case.number}: {len(best.query.text)} characters, {tried} tries")
        found = fails(bench, case.number, query, history.of(tables_of(query.text)))
        if found is None or found.signature != case.failure.signature:
            return False
        best = Case(case.number, query, history.of(tables_of(query.text)), found)
        return True

    # Rounds after the failure, and tables that are not read, have nothing to do with it.
    history = case.history.of(tables_of(case.query.text))
    still(case.query, History(history.first, history.rounds[: case.failure.round]))
    progress = True
    while progress and time.monotonic() < until:
        progress = False
        for query in smaller(best.query):
            if time.monotonic() > until:
                break
            if is_valid(query.text, bench.oracle) and still(query, best.history):
                progress = True
                break
        if progress:
            continue
        for history in fewer(best.history):
            if time.monotonic() > until:
                break
            if still(best.query, history):
                progress = True
                break
    return best
