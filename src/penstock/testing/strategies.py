"""Random schemas, queries and histories: the raw material of every exactness test.

All of it is a function of one `random.Random`, so that the same code serves Hypothesis (which shrinks the draws) and
plain seeds (which are quick, and replayed by number). A history is state-directed: every mutation is made up from the
rows that are there, touches at least one of them, and says its intent. Tables are bags of Python tuples; a mutation is
one DML statement, applied to tuples here and printed as SQL for Spark.

The `SHARED` types and the calls on them mean the same in Spark and in DuckDB; `EVERY` adds what only Spark defines.
"""

from __future__ import annotations

import importlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from penstock.names import quote

Row = tuple[Any, ...]
Data = dict[str, tuple[Row, ...]]
"""Table → its rows."""

SHARED = ("INT", "BIGINT", "DECIMAL(8,2)", "STRING", "BOOLEAN", "DATE")
EVERY = (
    *SHARED,
    "TINYINT",
    "SMALLINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(20,6)",
    "DECIMAL(38,10)",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "BINARY",
    "STRUCT<a: INT, b: STRING>",
    "ARRAY<INT>",
    "MAP<STRING, INT>",
)
_NAMES = {
    "INT": "v",
    "BIGINT": "w",
    "DECIMAL(8,2)": "d",
    "STRING": "s",
    "BOOLEAN": "b",
    "DATE": "day",
    "TINYINT": "tiny",
    "SMALLINT": "small",
    "FLOAT": "f",
    "DOUBLE": "x",
    "DECIMAL(20,6)": "wide",
    "DECIMAL(38,10)": "widest",
    "TIMESTAMP": "at",
    "TIMESTAMP_NTZ": "local_at",
    "BINARY": "bytes",
    "STRUCT<a: INT, b: STRING>": "pair",
    "ARRAY<INT>": "list",
    "MAP<STRING, INT>": "dict",
}
_INTEGERS = {"TINYINT", "SMALLINT", "INT", "BIGINT"}
_ADDRESSABLE = {*SHARED, "TINYINT", "SMALLINT"}
"""Types whose equality is the same in Python and in SQL: a statement can pick rows by them."""
_CARRIED = ("STRUCT", "ARRAY", "MAP", "PAYLOAD", "AVERAGE")
"""Types that queries show and group by, and do not compare with literals; the last two stand for computed ones."""
UNUSED = "pad"
"""A column that no query reads."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its Spark type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a random schema."""

    name: str
    columns: tuple[Column, ...]

    @property
    def ddl(self) -> str:
        """CREATE TABLE, as a Delta table."""
        columns = ", ".join(f"{quote(column.name)} {column.type}" for column in self.columns)
        return f"CREATE TABLE {quote(self.name)} ({columns}) USING delta"

    def place(self, column: str) -> int:
        """The position of a column."""
        return [each.name for each in self.columns].index(column)


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one test."""

    tables: tuple[Table, ...]

    def table(self, name: str) -> Table:
        """The table of that name."""
        return next(table for table in self.tables if table.name == name)


@dataclass(frozen=True, slots=True)
class Query:
    """A supported query; `key` is a set of result columns that is unique by construction, () for none."""

    text: str
    tables: frozenset[str]
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mutation:
    """One DML statement: rows where all of `where` hold (null-safely) are deleted or set, and `rows` are added."""

    table: str
    intent: str
    kind: str
    """INSERT, UPDATE, DELETE or MERGE."""
    where: tuple[tuple[str, Any], ...] = ()
    set: tuple[tuple[str, Any], ...] = ()
    rows: tuple[Row, ...] = ()

    def effect(self, table: Table, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        """Rows removed and rows added."""
        if self.kind == "INSERT":
            return [], list(self.rows)
        places = [(table.place(column), value) for column, value in self.where]
        hit = [row for row in rows if all(row[place] == value for place, value in places)]
        if self.kind == "DELETE":
            return hit, []
        changed = []
        for row in hit:
            values = list(row)
            for column, value in self.set:
                values[table.place(column)] = value
            changed.append(tuple(values))
        # A MERGE inserts its rows only where nothing matched.
        return hit, changed + (list(self.rows) if self.kind == "MERGE" and not hit else [])

    def apply(self, table: Table, rows: Sequence[Row]) -> tuple[Row, ...]:
        """The table after the statement."""
        removed, added = self.effect(table, rows)
        gone = {id(row) for row in removed}
        # Copies made by one statement may be the same object: each must stay a row of its own.
        return (*(row for row in rows if id(row) not in gone), *(tuple(list(row)) for row in added))

    def sql(self, table: Table) -> list[str]:
        """The statement for Spark."""
        name = quote(table.name)
        types = {column.name: column.type for column in table.columns}
        match = " AND ".join(
            f"{quote(column)} <=> {spark_literal(value, types[column])}" for column, value in self.where
        )
        values = ", ".join(f"{quote(column)} = {spark_literal(value, types[column])}" for column, value in self.set)
        if self.kind == "INSERT":
            return [insert_sql(table, self.rows)]
        if self.kind == "DELETE":
            return [f"DELETE FROM {name}" + (f" WHERE {match}" if match else "")]
        if self.kind == "UPDATE":
            return [f"UPDATE {name} SET {values}" + (f" WHERE {match}" if match else "")]
        keys = [column for column, _ in self.where]
        source = ", ".join(
            f"{spark_literal(value, types[column])} AS {quote(column)}"
            for column, value in zip((each.name for each in table.columns), self.rows[0], strict=True)
        )
        on = " AND ".join(f"t.{quote(column)} <=> s.{quote(column)}" for column in keys)
        sets = ", ".join(f"t.{quote(column)} = s.{quote(column)}" for column, _ in self.set)
        return [
            f"MERGE INTO {name} t USING (SELECT {source}) s ON {on} "
            f"WHEN MATCHED THEN UPDATE SET {sets} WHEN NOT MATCHED THEN INSERT *"
        ]

    def sql_without_update(self, table: Table, rows: Sequence[Row]) -> list[str]:
        """The same effect by DELETE and INSERT."""
        if self.kind in {"INSERT", "DELETE"}:
            return self.sql(table)
        removed, added = self.effect(table, rows)
        deletion = replace(self, kind="DELETE").sql(table) if removed else []
        return deletion + ([insert_sql(table, added)] if added else [])


@dataclass(frozen=True, slots=True)
class History:
    """First rows, then rounds of mutations; a refresh follows every round."""

    schema: Schema
    first: Data
    rounds: tuple[tuple[Mutation, ...], ...]

    def states(self) -> Iterator[tuple[tuple[Mutation, ...], Data]]:
        """Each round with the rows after it."""
        data = dict(self.first)
        for mutations in self.rounds:
            data = advanced(self.schema, data, mutations)
            yield mutations, data

    def script(self, query: str = "") -> str:
        """The whole case as SQL, for a person to read and replay."""
        lines = [f"{table.ddl};" for table in self.schema.tables]
        lines += [f"{insert_sql(self.schema.table(name), rows)};" for name, rows in self.first.items() if rows]
        lines += [f"-- query\n{query};"] if query else []
        for number, mutations in enumerate(self.rounds, 1):
            lines.append(f"-- round {number}")
            for each in mutations:
                lines += [f"{statement};  -- {each.intent}" for statement in each.sql(self.schema.table(each.table))]
        return "\n".join(lines)


def advanced(schema: Schema, data: Data, mutations: Sequence[Mutation]) -> Data:
    """The rows after some mutations."""
    after = dict(data)
    for each in mutations:
        after[each.table] = each.apply(schema.table(each.table), after[each.table])
    return after


def shrink(history: History, fails: Callable[[History], bool], patience: int = 400) -> History:
    """A smaller history that still fails: fewer rounds, mutations and rows, one cut at a time."""
    best, tries = history, 0
    progress = True
    while progress and tries < patience:
        progress = False
        for smaller in _cuts(best):
            tries += 1
            if tries >= patience:
                break
            if fails(smaller):
                best, progress = smaller, True
                break
    return best


def _cuts(history: History) -> Iterator[History]:
    rounds = history.rounds
    for size in (len(rounds) // 2, 1):
        if size:
            for start in range(len(rounds) - size, -1, -size):
                yield replace(history, rounds=rounds[:start] + rounds[start + size :])
    for index, mutations in enumerate(rounds):
        for place in range(len(mutations)):
            if len(mutations) > 1:
                kept = mutations[:place] + mutations[place + 1 :]
                yield replace(history, rounds=(*rounds[:index], kept, *rounds[index + 1 :]))
    for name, rows in history.first.items():
        for size in (len(rows), len(rows) // 2, 1):
            if size:
                for start in range(0, len(rows), size):
                    yield replace(history, first={**history.first, name: rows[:start] + rows[start + size :]})


# -- values


def random_value(random: Random, type_: str, key: bool = False, nulls: float = 0.15) -> Any:
    """A value of a Spark type; keys come from a small domain, so that they collide."""
    if random.random() < nulls:
        return None
    if type_ in {"INT", "TINYINT", "SMALLINT"}:
        return random.randint(0, 4) if key else random.randint(-5, 12)
    if type_ == "BIGINT":
        return random.choice([random.randint(-9, 20), random.randint(-(2**40), 2**40)])
    if type_.startswith("DECIMAL"):
        scale = int(type_.rstrip(")").split(",")[1])
        if type_ not in {"DECIMAL(20,6)", "DECIMAL(38,10)"}:
            return Decimal(random.randint(-999, 999)).scaleb(-2)
        digits = {"DECIMAL(20,6)": 18, "DECIMAL(38,10)": 30}[type_]
        return Decimal(random.choice([random.randint(-500, 500), random.randint(-(10**digits), 10**digits)])).scaleb(
            -scale
        )
    if type_ == "STRING":
        if key:
            return random.choice("abcd")
        return random.choice(["", "a", "b", "B", "ä", "o'x", 'say "x"', "back\\slash", " a", "%", "two\nlines", "`"])
    if type_ == "BOOLEAN":
        return random.random() < 0.5
    if type_ == "DATE":
        return date(2024, 1, 1) + timedelta(days=random.choice([0, 1, 2, 30, 365, -20000]))
    if type_ in {"FLOAT", "DOUBLE"}:
        # Multiples of 0.25 add up exactly in any order; NaN and infinities are the same in any order too.
        return random.choice([-0.0, 0.0, math.nan, math.inf, *(number / 4 for number in range(-8, 9))])
    if type_ in {"TIMESTAMP", "TIMESTAMP_NTZ"}:
        moment = datetime(2024, 3, 31, 0, 59, 59, 999_999) + timedelta(
            microseconds=random.choice([0, 1, 2, 3_600_000_000])
        )
        return moment.replace(tzinfo=UTC) if type_ == "TIMESTAMP" else moment
    if type_ == "BINARY":
        return random.choice([b"", b"\x00", b"\xff\x00", b"a"])
    if type_.startswith("STRUCT"):
        return (random_value(random, "INT"), random_value(random, "STRING"))
    if type_.startswith("ARRAY"):
        return tuple(random_value(random, "INT") for _ in range(random.randint(0, 3)))
    assert type_.startswith("MAP"), type_
    return tuple((name, random_value(random, "INT")) for name in "abc" if random.random() < 0.5)


def spark_literal(value: Any, type_: str) -> str:
    """A value as Spark SQL."""
    if value is None:
        return f"CAST(NULL AS {type_})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if type_ in _INTEGERS or type_.startswith("DECIMAL"):
        return f"CAST({value if isinstance(value, int) else format(value, 'f')} AS {type_})"
    if type_ in {"FLOAT", "DOUBLE"}:
        return f"CAST('{ {math.inf: 'Infinity', -math.inf: '-Infinity'}.get(value, value) }' AS {type_})"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    if isinstance(value, datetime):
        stamp = value.isoformat(sep=" ", timespec="microseconds")
        return f"{type_} '{stamp}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if type_.startswith("STRUCT"):
        return f"named_struct('a', {spark_literal(value[0], 'INT')}, 'b', {spark_literal(value[1], 'STRING')})"
    if type_.startswith("ARRAY"):
        return f"CAST(array({', '.join(spark_literal(each, 'INT') for each in value)}) AS {type_})"
    pairs = ", ".join(f"{spark_literal(name, 'STRING')}, {spark_literal(held, 'INT')}" for name, held in value)
    return f"CAST(map({pairs}) AS {type_})"


def insert_sql(table: Table, rows: Sequence[Row]) -> str:
    """INSERT of some rows, for Spark."""
    types = [column.type for column in table.columns]
    values = ", ".join(
        "(" + ", ".join(spark_literal(value, type_) for value, type_ in zip(row, types, strict=True)) + ")"
        for row in rows
    )
    return f"INSERT INTO {quote(table.name)} VALUES {values}"


# -- schemas


def random_schema(random: Random, types: Sequence[str] = EVERY, prefix: str = "t") -> Schema:
    """Three to five tables of two to eight columns. All have the key `k`, many share `g`, one has an unused column."""
    tables = []
    for number in range(random.randint(3, 5)):
        columns = [Column("k", "INT")]
        if random.random() < 0.7:
            columns.append(Column("g", "STRING"))
        chosen = random.sample(list(types), k=random.randint(1, min(5, len(types))))
        columns += [Column(_NAMES[type_], type_) for type_ in chosen]
        if number == 0 or random.random() < 0.3:
            columns.append(Column(UNUSED, "STRING"))
        tables.append(Table(f"{prefix}{number}", tuple(columns)))
    return Schema(tuple(tables))


def schema_of_every_type(prefix: str = "t") -> Schema:
    """Three tables that together hold every type, some of them in two tables."""
    payload = [Column(_NAMES[type_], type_) for type_ in EVERY]
    key = (Column("k", "INT"), Column("g", "STRING"))
    return Schema(
        (
            Table(f"{prefix}0", (*key, *payload[:6])),
            Table(f"{prefix}1", (*key, *payload[6:12])),
            Table(f"{prefix}2", (*key, *payload[12:], payload[0], payload[9], Column(UNUSED, "STRING"))),
        )
    )


# -- queries


@dataclass
class _Writer:
    """Writes one query. `nested` calls must give the same bits in any order of rows."""

    random: Random
    schema: Schema
    shared: bool
    used: set[str] = field(default_factory=set)
    ctes: list[tuple[str, str, list[Column]]] = field(default_factory=list)
    aliases: int = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, items: Sequence[Any]) -> Any:
        return self.random.choice(list(items))

    # FROM

    def item(self, depth: int) -> tuple[str, list[Column]]:
        """A FROM item and its columns as references."""
        self.aliases += 1
        alias = f"a{self.aliases}"
        if self.ctes and self.chance(0.6):
            name, _, columns = self.pick(self.ctes)
            text = name
        elif depth > 0 and self.chance(0.3):
            text, columns = self.select(depth - 1, nested=True)
            text = f"({text})"
        else:
            table = self.pick(self.schema.tables)
            self.used.add(table.name)
            text, columns = table.name, [column for column in table.columns if column.name != UNUSED]
        return f"{text} AS {alias}", [Column(f"{alias}.{column.name}", column.type) for column in columns]

    def source(self, depth: int) -> tuple[str, list[Column], list[str]]:
        """A FROM clause, its columns, and conditions that belong into WHERE."""
        count = self.random.choices([1, 2, 3, 4], [45, 35, 13, 7])[0]
        text, columns = self.item(depth)
        where: list[str] = []
        for number in range(1, count):
            right, others = self.item(depth if number == 1 else 0)
            pairs = [
                (left.name, other.name)
                for left in columns
                for other in others
                if left.type == other.type and left.type in _ADDRESSABLE and left.type != "BOOLEAN"
            ]
            by_name = {left.split(".")[1] for left, other in pairs if left.split(".")[1] == other.split(".")[1]}
            likely = [pair for pair in pairs if pair[0].split(".")[1] in {"k", "g"}] or pairs
            style = self.random.random()
            if number == 1 and by_name and style < 0.15:
                text += f" JOIN {right} USING ({self.pick(sorted(by_name))})"
            elif count == 2 and (not pairs or style < 0.22):
                text += f" CROSS JOIN {right}"
            elif count == 2 and style < 0.32:
                left, other = self.pick(likely)
                text += f" JOIN {right} ON {left} {self.pick(['<', '<=', '<>', '<=>'])} {other}"
            elif not pairs:
                text += f" JOIN {right} ON {self.condition(columns + others)}"
            else:
                left, other = self.pick(likely if self.chance(0.8) else pairs)
                equal = f"{left} = {other}" if self.chance(0.5) else f"{other} = {left}"
                if style < 0.45:
                    text += f" CROSS JOIN {right}"
                    where.append(equal)
                else:
                    extra = f" AND {self.condition(columns + others)}" if self.chance(0.25) else ""
                    text += f" JOIN {right} ON {equal}{extra}"
            columns = columns + others
        return text, columns, where

    # expressions

    def literal(self, type_: str) -> str:
        value = None
        while value is None or (type_ == "STRING" and not re.fullmatch(r"\w*", value)):
            value = random_value(self.random, type_, key=self.chance(0.7), nulls=0)
        if type_ == "INT":
            return str(value)
        if type_ in {"BIGINT", "TINYINT", "SMALLINT"}:
            return f"CAST({value} AS {type_})"
        if type_.startswith("DECIMAL"):
            return format(value, "f")
        return spark_literal(value, type_)

    def comparable(self, columns: list[Column]) -> list[Column]:
        return [column for column in columns if not column.type.startswith(_CARRIED)]

    def condition(self, columns: list[Column], depth: int = 2) -> str:
        if depth and self.chance(0.3):
            left, right = self.condition(columns, depth - 1), self.condition(columns, depth - 1)
            return str(self.pick([f"({left} AND {right})", f"({left} OR {right})", f"(NOT {left})"]))
        column = self.pick(self.comparable(columns) or columns)
        name = column.name
        if column.type.startswith(_CARRIED) or self.chance(0.12):
            return f"({name} IS {self.pick(['', 'NOT '])}NULL)"
        if column.type == "BOOLEAN" and self.chance(0.5):
            return f"({name})"
        others = [other for other in columns if other.type == column.type and other.name != name]
        if others and self.chance(0.3):
            return f"({name} {self.pick(['=', '<', '<=', '<>', '<=>'])} {self.pick(others).name})"
        style = self.random.random()
        if style < 0.15:
            return f"({name} IN ({self.literal(column.type)}, {self.literal(column.type)}))"
        if style < 0.25 and column.type != "BOOLEAN":
            return f"({name} BETWEEN {self.literal(column.type)} AND {self.literal(column.type)})"
        return f"({name} {self.pick(['=', '<', '>=', '<>', '<=>'])} {self.literal(column.type)})"

    def expression(self, columns: list[Column]) -> tuple[str, str]:
        """An expression and its type."""
        column = self.pick(columns)
        name, type_ = column.name, column.type
        if self.chance(0.55):
            return name, type_
        if type_ in {"INT", "BIGINT"}:
            others = [other.name for other in columns if other.type == type_]
            return (
                self.pick(
                    [
                        f"({name} + {self.random.randint(1, 3)})",
                        f"(-{name})",
                        f"({name} % 3)",
                        f"coalesce({name}, {self.random.randint(0, 2)})",
                        f"abs({name})",
                        f"({self.pick(others)} - {name})",
                        f"CASE WHEN {self.condition(columns, 0)} THEN {name} ELSE {self.pick(others)} END",
                    ]
                ),
                type_,
            )
        if type_ == "DECIMAL(8,2)":
            return self.pick([f"coalesce({name}, CAST(0.5 AS DECIMAL(8,2)))", f"abs({name})"]), type_
        if type_ == "STRING":
            if self.chance(0.2):
                return f"length({name})", "INT"
            return self.pick([f"upper({name})", f"coalesce({name}, 'none')", f"substring({name}, 1, 1)"]), type_
        if type_ in {"BOOLEAN", "DATE"}:
            return f"CASE WHEN {self.condition(columns, 0)} THEN {name} END", type_
        if not self.shared and self.chance(0.3):
            return f"CAST({name} AS STRING)", "STRING"
        return name, type_

    # aggregate calls

    def call(self, columns: list[Column], nested: bool) -> tuple[str, str]:
        """An aggregate call and its type."""
        usable = self.comparable(columns) or columns
        column = self.pick(usable)
        text, type_ = column.name, column.type
        if self.chance(0.25):
            text, type_ = self.expression(usable)
        integral = type_ in _INTEGERS
        inexact = type_ in {"FLOAT", "DOUBLE"}
        calls: list[tuple[str, str]] = [("count(*)", "BIGINT"), (f"count({text})", "BIGINT")]
        if not self.shared or not inexact:
            calls.append((f"count(DISTINCT {text})", "BIGINT"))
        if not (nested and inexact):
            calls += [(f"min({text})", type_), (f"max({text})", type_)] * 2
        if integral:
            calls += [(f"sum({text})", "BIGINT")] * 3
            calls += [(f"sum(DISTINCT {text})", "BIGINT")]
            if not (nested and type_ == "BIGINT"):
                calls.append((f"avg({text})", "DOUBLE"))
                if not self.shared or type_ == "INT":
                    calls.append((f"median({text})", "DOUBLE"))
            calls.append((f"bit_xor({text})", type_))
        if type_.startswith("DECIMAL") and type_ != "DECIMAL(38,10)":
            wide = {"DECIMAL(8,2)": "DECIMAL(18,2)", "DECIMAL(18,2)": "DECIMAL(28,2)"}.get(type_, "DECIMAL(30,6)")
            if type_ in {"DECIMAL(8,2)", "DECIMAL(18,2)", "DECIMAL(20,6)"}:
                calls += [(f"sum({text})", wide)] * 2
            if not self.shared:
                calls.append((f"avg({text})", "AVERAGE"))
        if type_ == "BOOLEAN":
            calls += [
                (f"bool_and({text})", "BOOLEAN"),
                (f"bool_or({text})", "BOOLEAN"),
                (f"count_if({text})", "BIGINT"),
            ]
        if inexact and not nested:
            calls += [(f"sum({text})", "DOUBLE"), (f"avg({text})", "DOUBLE")]
        if not self.shared and not nested and type_ in _INTEGERS:
            calls += [
                (f"percentile({text}, 0.25)", "DOUBLE"),
                (f"percentile_cont(0.5) WITHIN GROUP (ORDER BY {text})", "DOUBLE"),
                (f"max_by(struct({text}), {text})", "PAYLOAD"),
                (f"array_sort(collect_set({text}))", "PAYLOAD"),
            ]
        call, result = self.pick(calls)
        if "WITHIN" not in call and "array_sort" not in call and self.chance(0.2):
            call += f" FILTER (WHERE {self.condition(columns, 1)})"
        return call, result

    # SELECT

    def select(self, depth: int, nested: bool) -> tuple[str, list[Column]]:
        style = self.random.random()
        if style < 0.45:
            text, columns, _ = self.aggregate(depth, nested)
            return text, columns
        if style < 0.57:
            return self.plain(depth, distinct=True)
        if style < 0.7 and depth > 0:
            return self.union(depth, nested)
        return self.plain(depth, distinct=False)

    def plain(self, depth: int, distinct: bool) -> tuple[str, list[Column]]:
        source, columns, where = self.source(depth)
        if self.chance(0.5):
            where.append(self.condition(columns))
        shown = [column for column in columns if not (distinct and "MAP" in column.type)]
        chosen = [self.expression(shown) for _ in range(self.random.randint(1, 4))]
        items = ", ".join(f"{text} AS c{index}" for index, (text, _) in enumerate(chosen))
        text = f"SELECT {'DISTINCT ' if distinct else ''}{items} FROM {source}" + _where(where)
        return text, [Column(f"c{index}", type_) for index, (_, type_) in enumerate(chosen)]

    def aggregate(self, depth: int, nested: bool) -> tuple[str, list[Column], int]:
        """The text, its columns, and how many of them are the group keys (0 if not all keys are shown)."""
        source, columns, where = self.source(depth)
        if self.chance(0.35):
            where.append(self.condition(columns))
        groupable = [column for column in columns if "MAP" not in column.type]
        likely = [column for column in groupable if column.name.split(".")[1] in {"k", "g", "b"}] or groupable
        keys: list[tuple[str, str]] = []
        for _ in range(self.random.choices([0, 1, 2, 3], [15, 50, 27, 8])[0]):
            one = self.pick(likely)
            key = (one.name, one.type) if self.chance(0.7) else self.expression(groupable)
            if key[0] not in [text for text, _ in keys]:
                keys.append(key)
        calls = [self.call(columns, nested) for _ in range(self.random.randint(0 if keys else 1, 4))]
        shown = [key for key in keys if self.chance(0.85)]
        items = [*shown, *calls] or [("count(*)", "BIGINT")]
        order = list(range(len(items)))
        text = f"SELECT {', '.join(f'{items[place][0]} AS c{place}' for place in order)} FROM {source}{_where(where)}"
        if keys:
            text += f" GROUP BY {', '.join(key for key, _ in keys)}"
            if self.chance(0.25):
                text += f" HAVING {self.having(columns, nested)}"
        elif self.chance(0.1):
            text += f" HAVING {self.having(columns, nested)}"
        outputs = [Column(f"c{place}", items[place][1]) for place in order]
        return text, _typed(outputs), len(keys) if len(shown) == len(keys) else 0

    def having(self, columns: list[Column], nested: bool) -> str:
        numbers = [column.name for column in columns if column.type in {"INT", "BIGINT"}]
        options = [f"count(*) > {self.random.randint(1, 3)}", f"count(*) <> {self.random.randint(1, 3)}"]
        if numbers:
            options += [
                f"sum({self.pick(numbers)}) > 3",
                f"min({self.pick(numbers)}) < 2",
                f"max({self.pick(numbers)}) > 2",
            ]
        return " AND ".join(self.random.sample(options, k=self.random.choice([1, 1, 2])))

    def union(self, depth: int, nested: bool) -> tuple[str, list[Column]]:
        branches, shapes = [], []
        count = self.random.choice([2, 2, 3])
        wanted: list[str] = []
        for number in range(count):
            text, columns = self.plain(0, distinct=self.chance(0.15))
            if self.chance(0.25):
                text, columns, _ = self.aggregate(0, nested=True)
            if number == 0:
                wanted = [column.type for column in columns if column.type in SHARED][:3] or ["BIGINT"]
            items = []
            for place, type_ in enumerate(wanted):
                fit = [column.name for column in columns if column.type == type_]
                items.append(f"{self.pick(fit) if fit else f'CAST(NULL AS {type_})'} AS c{place}")
            branches.append(f"SELECT {', '.join(items)} FROM ({text}) AS u{self.aliases}_{number}")
            shapes = [Column(f"c{place}", type_) for place, type_ in enumerate(wanted)]
        return " UNION ALL ".join(branches), shapes


def _where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _typed(columns: list[Column]) -> list[Column]:
    """Columns of types outside the grammar are carried, not computed with."""
    return [replace(column, type="DECIMAL(18,2)") if column.type == "DECIMAL(28,2)" else column for column in columns]


def random_query(random: Random, schema: Schema, shared: bool = False, depth: int = 2) -> Query:
    """A supported query over the schema; with `shared`, one that means the same in DuckDB."""
    writer = _Writer(random, schema, shared)
    if random.random() < 0.25:
        for number in range(random.choice([1, 1, 2])):
            text, columns = writer.select(1, nested=True)
            writer.ctes.append((f"cte{number}", text, columns))
    key: tuple[str, ...] = ()
    if random.random() < 0.12:
        body, columns, keys = writer.aggregate(depth, nested=True)
        if keys and keys < len(columns):
            key = tuple(column.name for column in columns[:keys])
    else:
        body, columns = writer.select(depth, nested=False)
    head = ", ".join(f"{name} AS ({text})" for name, text, _ in writer.ctes)
    text = f"WITH {head} {body}" if head else body
    read = frozenset(table for table in writer.used if re.search(rf"\b{table}\b", text))
    return Query(text, read, key)


# -- histories


def random_rows(random: Random, table: Table, count: int) -> tuple[Row, ...]:
    """Rows with NULLs and duplicates."""
    rows: list[Row] = []
    while len(rows) < count:
        if rows and random.random() < 0.25:
            rows.append(tuple(list(random.choice(rows))))
        else:
            rows.append(_row(random, table))
    return tuple(rows)


def _row(random: Random, table: Table) -> Row:
    return tuple(random_value(random, column.type, key=column.name in {"k", "g"}) for column in table.columns)


def random_history(
    random: Random, schema: Schema, tables: Sequence[str] | None = None, rounds: int = 20, size: int = 10
) -> History:
    """First rows and rounds in which one or several of `tables` change at once."""
    chosen = [table for table in schema.tables if tables is None or table.name in tables]
    data: Data = {table.name: () for table in schema.tables}
    for table in chosen:
        data[table.name] = random_rows(random, table, random.choice([0, size // 2, size, size + 4]))
    first = dict(data)
    done = []
    for _ in range(rounds):
        mutations: list[Mutation] = []
        for _ in range(random.choice([1, 2, 2, 3, 5])):
            for each in _mutation(random, random.choice(chosen), chosen, data):
                data = advanced(schema, data, [each])
                mutations.append(each)
        done.append(tuple(mutations))
    return History(schema, first, tuple(done))


def _mutation(
    random: Random, table: Table, tables: Sequence[Table], data: Mapping[str, tuple[Row, ...]]
) -> list[Mutation]:
    """One intent as one or two statements, each of which touches a row."""
    rows = data[table.name]
    name = table.name
    if not rows or (len(rows) < 25 and random.random() < 0.2):
        intent = random.choice(["insert rows", "create group", "insert copies"])
        if intent == "insert copies" and rows:
            return [Mutation(name, intent, "INSERT", rows=tuple(random.choices(rows, k=random.randint(1, 2))))]
        fresh = random_rows(random, table, random.randint(1, 3))
        if intent == "create group":
            place = table.place("k")
            new = random.randint(5, 9)
            fresh = tuple((*row[:place], new, *row[place + 1 :]) for row in fresh)
        return [Mutation(name, intent, "INSERT", rows=fresh)]
    if len(rows) > 40:
        return [Mutation(name, "delete everything", "DELETE")]
    victim = random.choice(rows)
    addressable = [column for column in table.columns if column.type in _ADDRESSABLE]
    at = tuple((column.name, victim[table.place(column.name)]) for column in addressable)
    groups = [column for column in addressable if column.name in {"k", "g", "b"}]
    values = [column for column in table.columns if column.name not in {"k", "g", UNUSED}]
    group, value = random.choice(groups), random.choice(values) if values else random.choice(groups)

    def change(intent: str, column: Column, to: Any, where: tuple[tuple[str, Any], ...] = at) -> list[Mutation]:
        return [Mutation(name, intent, "UPDATE", where, ((column.name, to),))]

    def fresh_value(column: Column, nulls: float = 0.1) -> Any:
        return random_value(random, column.type, key=column.name in {"k", "g"}, nulls=nulls)

    key = next(column for column in table.columns if column.name == "k")
    intent = random.choice(
        [
            "delete a row",
            "delete last rows of group",
            "replace minimum",
            "replace maximum",
            "move row between groups",
            "gain a match",
            "lose a match",
            "key to NULL",
            "key back from NULL",
            "change value",
            "change key",
            "change unused column",
            "come and go",
            "update twice",
            "update nothing",
            "merge",
            "delete everything" if random.random() < 0.1 else "delete a row",
        ]
    )
    if intent == "delete a row":
        return [Mutation(name, intent, "DELETE", at)]
    if intent == "delete everything":
        return [Mutation(name, intent, "DELETE")]
    if intent == "delete last rows of group":
        place = table.place(group.name)
        counts = Counter(row[place] for row in rows)
        least = min(counts, key=lambda held: counts[held])
        return [Mutation(name, intent, "DELETE", ((group.name, least),))]
    if intent in {"replace minimum", "replace maximum"}:
        held = [column for column in addressable if column.name in {"v", "w", "d", "s", "day"}]
        if not held:
            return change("change key", key, fresh_value(key))
        column = random.choice(held)
        where_group, where_value = table.place(group.name), table.place(column.name)
        inside = [
            row[where_value] for row in rows if row[where_group] == victim[where_group] and row[where_value] is not None
        ]
        if not inside:
            return change("change value", column, fresh_value(column, 0))
        extreme = min(inside) if intent == "replace minimum" else max(inside)
        return change(intent, column, fresh_value(column), ((group.name, victim[where_group]), (column.name, extreme)))
    if intent == "move row between groups":
        return change(intent, group, random_value(random, group.type, key=True, nulls=0))
    if intent == "gain a match":
        other = data[random.choice(tables).name]
        table_of = {each.name: each for each in tables}
        others = [row[table_of[each].place("k")] for each in table_of for row in data[each]] if other else []
        return change(intent, key, random.choice(others) if others else 1)
    if intent == "lose a match":
        return change(intent, key, random.randint(90, 99))
    if intent == "key to NULL":
        return change(intent, key, None)
    if intent == "key back from NULL":
        if not any(row[table.place("k")] is None for row in rows):
            return change("key to NULL", key, None)
        return change(intent, key, random.randint(0, 4), (("k", None),))
    if intent == "change value":
        return change(intent, value, fresh_value(value))
    if intent == "change key":
        return change(intent, key, fresh_value(key))
    if intent == "change unused column":
        unused = [column for column in table.columns if column.name == UNUSED]
        return change(
            intent if unused else "change value",
            unused[0] if unused else value,
            fresh_value(value if not unused else unused[0]),
        )
    if intent == "come and go":
        guest = _row(random, table)
        named = tuple((column.name, guest[table.place(column.name)]) for column in addressable)
        # The second statement takes away equal rows that were there before, too; that is an ordinary deletion.
        return [Mutation(name, intent, "INSERT", rows=(guest,)), Mutation(name, intent, "DELETE", named)]
    if intent == "update twice":
        once = fresh_value(key, 0)
        moved = tuple((column, once if column == "k" else held) for column, held in at)
        return [*change(intent, key, once), *change(intent, value, fresh_value(value), moved)]
    if intent == "update nothing":
        return change(intent, key, victim[table.place("k")])
    # MERGE: the row is found by its key and group, and one of its values is set.
    where = tuple((column.name, victim[table.place(column.name)]) for column in groups)
    inside_merge = tuple(
        (*victim[: table.place(value.name)], fresh_value(value), *victim[table.place(value.name) + 1 :])
    )
    if value in groups:
        return change("change value", value, fresh_value(value))
    new_value = inside_merge[table.place(value.name)]
    return [Mutation(name, intent, "MERGE", where, ((value.name, new_value),), (inside_merge,))]


# -- Hypothesis


def _randoms() -> Any:
    try:
        strategies = importlib.import_module("hypothesis.strategies")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("these strategies need Hypothesis: pip install 'penstock[dev]'") from error
    return strategies.randoms(use_true_random=False)


def schemas(types: Sequence[str] = EVERY) -> Any:
    """Hypothesis strategy: schemas."""
    return _randoms().map(lambda random: random_schema(random, types))


def queries(schema: Schema, shared: bool = False) -> Any:
    """Hypothesis strategy: supported queries over a schema."""
    return _randoms().map(lambda random: random_query(random, schema, shared))


def histories(schema: Schema, tables: Sequence[str] | None = None, rounds: int = 20) -> Any:
    """Hypothesis strategy: histories over a schema."""
    return _randoms().map(lambda random: random_history(random, schema, tables, rounds))
