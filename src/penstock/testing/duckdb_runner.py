"""Delta programs on DuckDB: the compiler's own statements, thousands of times a minute.

    stored rows after fill and any number of refreshes  =  the user's query over the rows of now          as bags

The statements are those that Spark would run, rewritten token by token for DuckDB; the query that they are compared
with is the user's text, so that binding and lowering are under test too. The runner leaves out every source row that a
leaf may leave out, nets every change, and checks the counts of visible rows that the program reports. What Spark and
DuckDB define differently (decimal averages, NaN, time zones), generators and the clock are not for this runner; Spark
has the last word.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from penstock.compile.plan import Plan
from penstock.compile.store_keyed import DOUBLED
from penstock.compile.stored import CHANGED, MINUS, OP, PLUS, SHOWN, Summary
from penstock.names import HIDDEN, WEIGHT
from penstock.operators.delta_query import STORED, DeltaQuery, Leaf, LeafKind, Moment, Step
from penstock.testing.strategies import Data, History, Row, Schema, Table

Bag = Counter[Row]

_TOKEN = re.compile(
    r"""(?P<string>'(?:[^'\\]|\\.|'')*')
      | (?P<name>`(?:[^`]|``)*`)
      | (?P<semi>\bLEFT\ (?:SEMI|ANTI)\ JOIN\b)
      | (?P<same><=>)
      | (?P<raise>\braise_error\b)
      | (?P<between>\bbetween(?=\())
      | (?P<number>\b\d+(?:\.\d+)?(?:BD|L|S|Y|D)\b)""",
    re.VERBOSE,
)
_SUFFIX = {"L": "BIGINT", "S": "SMALLINT", "Y": "TINYINT", "D": "DOUBLE"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class Difference(AssertionError):
    """A stream table differs from its query."""


def to_duckdb(sql: str) -> str:
    """Spark SQL as the compiler writes it, for DuckDB.

    >>> to_duckdb("SELECT 1L FROM `t` x LEFT SEMI JOIN `u` y ON (x.`a` <=> y.`a`)")
    'SELECT CAST(1 AS BIGINT) FROM "t" x SEMI JOIN "u" y ON (x."a" IS NOT DISTINCT FROM y."a")'
    """
    return _TOKEN.sub(_token, sql)


def _token(found: re.Match[str]) -> str:
    text = found.group()
    kind = found.lastgroup
    if kind == "string":
        plain = re.sub(
            r"\\(.)|''", lambda each: "'" if each.group(1) is None else _ESCAPES.get(each[1], each[1]), text[1:-1]
        )
        return "'" + plain.replace("'", "''") + "'"
    if kind == "name":
        return '"' + text[1:-1].replace("``", "`").replace('"', '""') + '"'
    if kind == "semi":
        return text.removeprefix("LEFT ")
    if kind == "same":
        return "IS NOT DISTINCT FROM"
    if kind == "raise":
        return "error"
    if kind == "between":
        return "ps_between"
    digits = text.rstrip("BDLSY")
    suffix = text[len(digits) :]
    return digits if suffix == "BD" else f"CAST({digits} AS {_SUFFIX[suffix]})"


def duckdb_literal(value: Any) -> str:
    """A value as DuckDB SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | Decimal):
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    assert isinstance(value, str), f"{value!r} is not a value of the shared types"
    return "'" + value.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class _Program:
    query: DeltaQuery
    steps: tuple[tuple[Step, str], ...]
    """Each step with its text for DuckDB; the last one yields the change."""


class DuckDBRunner:
    """One stream table, kept in DuckDB."""

    def __init__(self, plan: Plan, query: str, schema: Schema, netted: bool = False, narrowed: bool = False) -> None:
        """`plan` was compiled from `query`; a source is found by the last part of its name.

        With `narrowed`, every source and the stored rows count as worth narrowing.
        """
        try:
            duckdb = importlib.import_module("duckdb")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("this runner needs DuckDB: pip install 'penstock[dev]'") from error
        assert plan.refused is None, plan.refused
        self._plan, self._schema, self._netted = plan, schema, netted
        self._store = plan.store
        self._query = to_duckdb(query)
        assert plan.store.root is not None
        self._tables = {source.id: source.name.split(".")[-1].strip("`") for source in plan.store.root.sources}
        self._prunable = frozenset(
            [(id_, column.name) for id_, name in self._tables.items() for column in schema.table(name).columns]
            + [(STORED, column.name) for column in self._store.columns]
            if narrowed
            else []
        )
        self._programs: dict[frozenset[str], _Program] = {}
        self._now: Data = {}
        self._views: dict[str, str] = {}
        self._columns: dict[str, set[str]] = {}
        """Columns of the rows of each step; a step of one name always has the same."""
        self._seen: Bag = Counter()
        self._con: Any = duckdb.connect(":memory:", config={"threads": 1})
        # The tables are tiny: optimising a statement takes longer than running it as it is written.
        self._run("PRAGMA disable_optimizer")
        self._run("SET order_by_non_integer_literal = true")
        self._run("SET default_null_order = 'NULLS_FIRST_ON_ASC_LAST_ON_DESC'")
        # Spark prints BETWEEN as a call, under a name that DuckDB keeps for itself.
        self._run("CREATE MACRO ps_between(x, low, high) AS ((x >= low) AND (x <= high))")
        for table in schema.tables:
            self._create(f"before.{table.name}", table)
            self._create(f"after.{table.name}", table)
            self._run(f'CREATE VIEW "{table.name}" AS SELECT * FROM after."{table.name}"')
        columns = ", ".join(f'"{column.name}" {column.type}' for column in self._store.columns)
        self._run(f"CREATE TABLE stored ({columns})")

    def close(self) -> None:
        """Free the database."""
        self._con.close()

    def fill(self, data: Data) -> None:
        """Create: the complete rows."""
        for table in self._schema.tables:
            self._write("after", table, data[table.name])
            self._write("before", table, data[table.name])
        self._now = dict(data)
        step = self._store.fill(DeltaQuery(moved=frozenset()), Moment.AFTER)
        self._leaves(step)
        self._run("DELETE FROM stored")
        self._run(f"INSERT INTO stored {to_duckdb(step.sql)}")
        self._seen = self.visible()

    def refresh(self, data: Data) -> None:
        """Follow the sources to new rows, incrementally."""
        moved = [table for table in self._schema.tables if data[table.name] is not self._now[table.name]]
        ids = frozenset(id_ for id_, name in self._tables.items() if name in {table.name for table in moved})
        for table in moved:
            self._run(f'DELETE FROM before."{table.name}"')
            self._run(f'INSERT INTO before."{table.name}" SELECT * FROM after."{table.name}"')
            self._write("after", table, data[table.name])
        self._now = dict(data)
        if not ids:
            return
        program = self._program(ids)
        # A recomputation is written into a copy, so that the cached program stays as it is.
        query = program.query.copy()
        rows = ""
        for step, text in program.steps:
            rows = self._collect(step, text)
        summary = self._summary(rows)
        changes, inserted, deleted = self._finished(query, rows, summary)
        for name in changes:
            self._apply(name)
        was, self._seen = self._seen, self.visible()
        gained, lost = self._seen - was, was - self._seen
        counted = (inserted, deleted), (gained.total(), lost.total())
        # Groups with hidden keys may look alike and trade places: one row in and one out, which a reader does not see.
        traded = inserted - gained.total() if any(name.startswith(HIDDEN) for name in self._store.key or ()) else 0
        if traded < 0 or counted[0] != (gained.total() + traded, lost.total() + traded):
            raise Difference(f"visible rows (+, −) reported {counted[0]}, really {counted[1]}")

    def _finished(self, query: DeltaQuery, rows: str, change: Summary) -> tuple[list[str], int, int]:
        """Run what the store asks for after the change; what to apply, and how many visible rows come and go."""
        last, phase, done = change, 0, len(query.steps)
        finished = rows
        self._run(f'CREATE OR REPLACE TEMP VIEW "{CHANGED}" AS SELECT * FROM "{rows}"')
        while (final := self._store.finish(query, last, phase)) is not None:
            for step in query.steps[done:]:
                self._collect(step, to_duckdb(step.sql))
            done, phase = len(query.steps), phase + 1
            finished = self._collect(final, to_duckdb(final.sql))
            last = self._summary(finished)
        if not phase:
            return [rows], change.inserted, change.deleted
        if not self._store.finish_replaces:
            self._run(f'DELETE FROM "{rows}" WHERE "{OP}" = \'?\'')
            return [rows, finished], change.inserted + last.inserted, change.deleted + last.deleted
        counted = last if PLUS in self._names(finished) else change
        return [finished], counted.inserted, counted.deleted

    def visible(self) -> Bag:
        """The stream table as its readers see it."""
        shown = ", ".join(f'"{column.name}"' for column in self._store.columns if column.visible is not None)
        weight = f'"{WEIGHT}"' if self._store.weighted else "1"
        where = f' WHERE "{SHOWN}"' if self._store.has_hidden_rows else ""
        bag: Bag = Counter()
        for *row, times in self._run(f"SELECT {shown}, {weight} FROM stored{where}").fetchall():
            if times < 1:
                raise Difference(f"a stored row has weight {times}")
            bag[tuple(row)] += times
        return bag

    def expected(self) -> Bag:
        """The user's query over the rows of now."""
        types = [column.type for column in self._store.columns if column.visible is not None]
        casts = ", ".join(f"CAST(x{place} AS {type_})" for place, type_ in enumerate(types))
        names = ", ".join(f"x{place}" for place in range(len(types)))
        return Counter(self._run(f"SELECT {casts} FROM ({self._query}) AS q({names})").fetchall())

    def check(self) -> None:
        """Raise Difference unless the stream table equals its query, as bags."""
        have, want = self._seen, self.expected()
        if have != want:
            missing, extra = list((want - have).elements())[:5], list((have - want).elements())[:5]
            raise Difference(f"missing {missing}, not wanted {extra}")

    # -- programs

    def _program(self, moved: frozenset[str]) -> _Program:
        if moved not in self._programs:
            query = DeltaQuery(moved=moved, netted=self._netted, prunable=self._prunable)
            last = self._store.change(query)
            steps = tuple((step, to_duckdb(step.sql)) for step in (*query.steps, last))
            self._programs[moved] = _Program(query, steps)
        return self._programs[moved]

    def _collect(self, step: Step, text: str) -> str:
        self._leaves(step)
        self._run(f'CREATE OR REPLACE TEMP TABLE "{step.name}" AS {text}')
        return step.name

    def _leaves(self, step: Step) -> None:
        for leaf in step.leaves:
            text = self._leaf(leaf)
            if text and self._views.get(leaf.name) != text:
                self._views[leaf.name] = text
                self._run(f'CREATE OR REPLACE TEMP VIEW "{leaf.name}" AS {text}')

    def _leaf(self, leaf: Leaf) -> str:
        columns = ", ".join(f'"{column}"' for column in leaf.columns)
        if leaf.kind is LeafKind.COLLECTED:
            return ""
        if leaf.kind is LeafKind.STORED:
            return f"SELECT {columns} FROM stored r" + self._where(leaf)
        assert leaf.source is not None
        table = self._tables[leaf.source.id]
        if leaf.kind is LeafKind.CHANGES:
            read = ", ".join(f'"{column}"' for column in leaf.columns if column != WEIGHT)
            return (
                f'SELECT {read}, CAST(sum(__ps_one) AS BIGINT) AS "{WEIGHT}" FROM ('
                f'SELECT {read}, 1 AS __ps_one FROM after."{table}" UNION ALL '
                f'SELECT {read}, -1 FROM before."{table}") GROUP BY {read} HAVING sum(__ps_one) <> 0'
            )
        assert leaf.moment is not None
        return f'SELECT {columns} FROM {leaf.moment.value}."{table}" r' + self._where(leaf)

    @staticmethod
    def _where(leaf: Leaf) -> str:
        where = " AND ".join(
            f'EXISTS (SELECT 1 FROM "{each.step}" c WHERE c."{each.collected}" IS NOT DISTINCT FROM r."{each.column}")'
            for each in leaf.within
        )
        return f" WHERE {where}" if where else ""

    def _summary(self, rows: str) -> Summary:
        held = self._names(rows)
        parts = [
            "count(*)",
            f'list(DISTINCT "{OP}")' if OP in held else "[]",
            f'CAST(min("{WEIGHT}") AS BIGINT)' if WEIGHT in held else "NULL",
            *(f'CAST(coalesce(sum("{name}"), 0) AS BIGINT)' if name in held else "0" for name in (PLUS, MINUS)),
            f'CAST(coalesce(sum(least("{PLUS}", "{MINUS}")), 0) AS BIGINT)' if PLUS in held else "0",
        ]
        found = self._run(f'SELECT {", ".join(parts)} FROM "{rows}"').fetchone()
        count, operations, least, inserted, deleted, updated = found
        return Summary(count, frozenset(operations or ()), least, inserted, deleted, updated)

    def _names(self, relation: str) -> set[str]:
        if relation not in self._columns:
            self._columns[relation] = {
                name for name, *_ in self._run(f'SELECT * FROM "{relation}" LIMIT 0').description
            }
        return self._columns[relation]

    # -- applying

    def _apply(self, changes: str) -> None:
        if OP not in self._names(changes):
            # The consolidated delta of a declared key: empty, or `finish` had replaced it.
            assert not self._run(f'SELECT count(*) FROM "{changes}"').fetchone()[0]
            return
        operations = {name for (name,) in self._run(f'SELECT DISTINCT "{OP}" FROM "{changes}"').fetchall()}
        if left := operations - {"i", "d", "u"}:
            what = {"!": "stored rows contradict the delta", "?": "a group was left open", DOUBLED: "a key is doubled"}
            raise Difference("; ".join(what.get(each, each) for each in sorted(left)))
        key = self._store.key
        match = [column.name for column in self._store.columns if column.name != WEIGHT] if key is None else list(key)
        on = " AND ".join(f'(s."{name}" IS NOT DISTINCT FROM c."{name}")' for name in match) or "TRUE"
        self._run(
            f"DELETE FROM stored s WHERE EXISTS (SELECT 1 FROM \"{changes}\" c WHERE c.\"{OP}\" IN ('d', 'u') AND {on})"
        )
        columns = ", ".join(f'"{column.name}"' for column in self._store.columns)
        if key is not None:
            names = ", ".join(f'"{name}"' for name in key) or "1"
            grouping = f"GROUP BY {names} " if key else ""
            doubled = f'SELECT 1 FROM "{changes}" WHERE "{OP}" = \'u\' {grouping}HAVING count(*) > 1'
            if self._run(doubled).fetchall():
                raise Difference("two new rows for one key")
        self._run(f"INSERT INTO stored SELECT {columns} FROM \"{changes}\" WHERE \"{OP}\" IN ('i', 'u')")

    # -- tables

    def _create(self, name: str, table: Table) -> None:
        schema, _, plain = name.partition(".")
        self._run(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        columns = ", ".join(f'"{column.name}" {column.type}' for column in table.columns)
        self._run(f'CREATE TABLE {schema}."{plain}" ({columns})')

    def _write(self, schema: str, table: Table, rows: Sequence[Row]) -> None:
        self._run(f'DELETE FROM {schema}."{table.name}"')
        if rows:
            values = ", ".join("(" + ", ".join(duckdb_literal(value) for value in row) + ")" for row in rows)
            self._run(f'INSERT INTO {schema}."{table.name}" VALUES {values}')

    def _run(self, sql: str) -> Any:
        return self._con.execute(sql)


def run_history(
    plan: Plan,
    query: str,
    history: History,
    netted: bool = False,
    every: int = 1,
    check_fill: bool = True,
    narrowed: bool = False,
) -> int:
    """Fill, then refresh after every `every` rounds and check; the number of refreshes. Raises Difference."""
    runner = DuckDBRunner(plan, query, history.schema, netted, narrowed)
    try:
        runner.fill(history.first)
        if check_fill:
            runner.check()
        done = 0
        states = list(history.states())
        for number, (_, data) in enumerate(states, 1):
            if number % every and number < len(states):
                continue
            try:
                runner.refresh(data)
                runner.check()
            except Difference as difference:
                raise Difference(f"round {number}: {difference}") from difference
            done += 1
        return done
    finally:
        runner.close()
