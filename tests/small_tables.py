"""Small tables and a quick oracle: the harness of tests that follow many stream tables through many rounds.

Spark's own DML and Delta's own scans cost a second per statement, which is most of the time of such a test. So tables
are written and read by delta-rs, in milliseconds, and the plain query runs in Spark over literals of the rows that are
in the tables now. What is under test, the refresh, goes the whole way.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import penstock
from delta_rs_rows import rows_of
from penstock.compile.stored import SHOWN
from penstock.engine.delta.definition import Definition
from penstock.engine.delta.storage_schema import arrow_schema
from penstock.engine.write.storage import Storage
from penstock.engine.write.table_properties import DEFINITION_KEY
from penstock.names import WEIGHT
from stored import alike

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.api import StreamTables

Row = tuple[Any, ...]
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings of a Spark that answers small questions quickly."""
_schemas = count(1)


@dataclass(frozen=True, slots=True)
class SmallTable:
    """A Delta table; `columns` are pairs of name and Spark type."""

    name: str
    columns: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, text: str) -> SmallTable:
        """
        >>> SmallTable.parse("t (k INT, d DECIMAL(8,2), s ARRAY<STRUCT<a: INT, b: STRING>>)").columns[1:]
        (('d', 'DECIMAL(8,2)'), ('s', 'ARRAY<STRUCT<a: INT, b: STRING>>'))
        """
        name, columns = re.fullmatch(r"(\w+)\s*\((.*)\)", text.strip()).groups()  # type: ignore[union-attr]
        parts = re.split(r",\s*(?![^(<]*[)>])", columns)
        return cls(name, tuple((part.split(None, 1)[0], part.split(None, 1)[1]) for part in parts))

    @property
    def text(self) -> str:
        """What `parse` reads."""
        return f"{self.name} ({', '.join(' '.join(each) for each in self.columns)})"

    @property
    def ddl(self) -> str:
        """CREATE TABLE."""
        return f"CREATE TABLE {self.text} USING delta"

    def literals(self, rows: Iterable[Row]) -> str:
        """VALUES of these rows, typed by the types of the columns."""
        return ", ".join(
            f"({', '.join(literal(value, kind) for value, (_, kind) in zip(row, self.columns, strict=True))})"
            for row in rows
        )

    def relation(self, rows: Sequence[Row]) -> str:
        """A query that returns these rows."""
        names = ", ".join(name for name, _ in self.columns)
        if not rows:
            return f"SELECT * FROM VALUES {self.literals([(None,) * len(self.columns)])} AS t({names}) WHERE FALSE"
        return f"SELECT * FROM VALUES {self.literals(rows)} AS t({names})"


def literal(value: Any, kind: str) -> str:
    """A Python value as Spark SQL.

    >>> literal([1, None], "ARRAY<INT>"), literal(Decimal("1.50"), "DECIMAL(8,2)"), literal("o'x", "STRING")
    ('CAST(array(1, NULL) AS ARRAY<INT>)', 'CAST(1.50 AS DECIMAL(8,2))', "'o\\\\'x'")
    """
    match value:
        case None:
            return f"CAST(NULL AS {kind})"
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case float() if math.isinf(value):
            return f"CAST('{'-' if value < 0 else ''}Infinity' AS {kind})"
        case float():
            return f"CAST('{value!r}' AS {kind})"
        case list():
            return f"CAST({_nested(value)} AS {kind})"
    return f"CAST({value} AS {kind})"


def _nested(value: Any) -> str:
    if isinstance(value, list):
        return f"array({', '.join(map(_nested, value))})"
    if isinstance(value, dict):
        return f"struct({', '.join(map(_nested, value.values()))})"
    return "NULL" if value is None else literal(value, "") if isinstance(value, str | bool) else str(value)


class Bench:
    """Source tables, stream tables over them, and what plain Spark says to the same queries."""

    def __init__(self, ps: StreamTables, tables: Sequence[SmallTable]) -> None:
        self.ps = ps
        self.tables = {table.name: table for table in tables}
        self.schema = str(ps.spark.catalog.currentDatabase())
        self.oracle: SparkSession = ps.spark.newSession()
        # Every query runs once over a few rows: compiling it would be most of its cost.
        for name, value in INTERPRETED.items():
            self.oracle.conf.set(name, value)
        self._paths: dict[str, str] = {}
        self._schemas: dict[str, pa.Schema] = {}
        self._stale = set(self.tables)
        for table in tables:
            ps.spark.sql(table.ddl)
            place = ps.spark.sql(f"DESCRIBE DETAIL {table.name}").collect()[0]["location"]
            self._paths[table.name] = str(place).removeprefix("file:")
            self._schemas[table.name] = arrow_schema(DeltaTable(self._paths[table.name]).schema().to_json())

    # -- changing sources

    def insert(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        """One commit that adds rows."""
        schema = self._schemas[name]
        arrays = [
            pa.array([_fitted(row[place], field.type) for row in rows], field.type)
            for place, field in enumerate(schema)
        ]
        write_deltalake(self._paths[name], pa.Table.from_arrays(arrays, schema=schema), mode="append")
        self._stale.add(name)

    def delete(self, name: str, where: str | None = None) -> None:
        """One commit that takes rows away."""
        DeltaTable(self._paths[name]).delete(where)
        self._stale.add(name)

    def update(self, name: str, values: Mapping[str, str], where: str | None = None) -> None:
        """One commit that changes rows."""
        done = DeltaTable(self._paths[name]).update(updates=dict(values), predicate=where)
        assert done["num_updated_rows"], f"UPDATE {name} SET {values} WHERE {where} touched no row"
        self._stale.add(name)

    def run(self, statement: str) -> None:
        """A plain INSERT … VALUES, DELETE or UPDATE, which must touch a row."""
        if found := re.fullmatch(r"INSERT INTO (\w+) VALUES (.*)", statement, re.DOTALL):
            self.insert(found[1], python_rows(found[2]))
        elif found := re.fullmatch(r"DELETE FROM (\w+)(?: WHERE (.*))?", statement, re.DOTALL):
            before = len(self.rows(found[1]))
            self.delete(found[1], found[2])
            assert len(self.rows(found[1])) < before, f"{statement} touched no row"
        elif found := re.fullmatch(r"UPDATE (\w+) SET (.*?)(?: WHERE (.*))?", statement, re.DOTALL):
            parts = re.split(r",\s*(?=\w+ = )", found[2])
            self.update(found[1], dict((part.split(" = ", 1)[0], part.split(" = ", 1)[1]) for part in parts), found[3])
        else:
            raise AssertionError(f"not one of ours: {statement}")

    def rows(self, name: str) -> list[Row]:
        """The rows of a source now."""
        table = DeltaTable(self._paths[name]).to_pyarrow_table()
        return [tuple(row.values()) for row in table.to_pylist()]

    # -- looking

    def stored(self, name: str) -> Counter[Any]:
        """The stream table as users see it, as a bag."""
        storage = Storage.open(str(self.ps.info(name)[0]["path"]))
        definition = Definition.from_json(storage.configuration[DEFINITION_KEY])
        bag: Counter[Any] = Counter()
        for row in rows_of(storage.path).to_pylist():
            if not definition.has_hidden_rows or row[SHOWN]:
                shown = tuple(alike(row[stored]) for _, stored, _ in definition.columns)
                bag[shown] += row[WEIGHT] if definition.weighted else 1
        return bag

    def plain(self, query: str) -> Counter[Any]:
        """What Spark answers to the query over the rows as they are now, as a bag."""
        self.look()
        rows = self.oracle.sql(query).toArrow()
        columns = [column.to_pylist() for column in rows.columns]
        return Counter(tuple(alike(value) for value in row) for row in zip(*columns, strict=True))

    def look(self) -> None:
        """Show the oracle the rows as they are now."""
        for name in sorted(self._stale):
            text = self.tables[name].relation(self.rows(name))
            self.oracle.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {text}")
        self._stale.clear()

    def difference(self, name: str, query: str) -> str | None:
        """None if the stream table equals its query, else what is missing and what is too much."""
        want, have = self.plain(query), self.stored(name)
        if want == have:
            return None
        return f"missing: {_listed(want - have)}\nnot wanted: {_listed(have - want)}"


def _listed(bag: Counter[Any], most: int = 6) -> str:
    shown = [f"{tuple(map(_readable, row))} x {copies}" for row, copies in sorted(bag.items(), key=str)[:most]]
    return f"{bag.total()} rows: " + "; ".join(shown)


def _readable(value: Any) -> Any:
    """`alike` marks values with their types, which nobody wants to read."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] in {"int", "str", "NoneType", "bool", "date", "bytes"}:
        return value[1]
    return value


def python_rows(values: str) -> list[Row]:
    """
    >>> python_rows("(1, NULL, 'it''s'), (2, TRUE, array(1, NULL)), (3, 1.50, array(struct(1, '(b')))")
    [(1, None, "it's"), (2, True, [1, None]), (3, '1.50', [(1, '(b')])]
    """
    words = re.findall(r"'(?:[^']|'')*'|array\(|struct\(|[(),]|[^\s(),']+", values)
    said, closing = [], []
    for word in words:
        if word in {"array(", "struct(", "("}:
            said.append("[" if word == "array(" else "(")
            closing.append("]" if word == "array(" else ")")
        elif word == ")":
            said.append(closing.pop())
        elif word.startswith("'"):
            said.append(repr(word[1:-1].replace("''", "'")))
        elif re.fullmatch(r"-?\d+\.\d+", word):
            # Decimals stay text: a float would lose digits.
            said.append(repr(word))
        else:
            said.append({"NULL": "None", "TRUE": "True", "FALSE": "False"}.get(word, word))
    # A row of one value is no tuple in Python.
    return [row if isinstance(row, tuple) else (row,) for row in ast.literal_eval("[" + "".join(said) + "]")]


def plain_literals(rows: Iterable[Row]) -> str:
    """Rows as `python_rows` reads them.

    >>> plain_literals([(1, None, "it's", [{"a": 1, "b": "x"}], 0.25, float("nan"), date(2024, 1, 31))])
    "(1, NULL, 'it''s', array(struct(1, 'x')), 0.25, 'nan', '2024-01-31')"
    """
    return ", ".join(f"({', '.join(map(_plain_literal, row))})" for row in rows)


def _plain_literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case list():
            return f"array({', '.join(map(_plain_literal, value))})"
        case dict():
            return f"struct({', '.join(map(_plain_literal, value.values()))})"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case float() if math.isnan(value) or math.isinf(value):
            return f"'{value}'"
        case date():
            return f"'{value.isoformat()}'"
    return str(value)


def _fitted(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_decimal(kind):
        return Decimal(value).quantize(Decimal(1).scaleb(-kind.scale), context=Context(prec=60))
    if pa.types.is_date(kind) and isinstance(value, str):
        return date.fromisoformat(value)
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_list(kind):
        return [_fitted(each, kind.value_type) for each in value]
    if pa.types.is_struct(kind) and isinstance(value, tuple):
        return {kind[place].name: _fitted(each, kind[place].type) for place, each in enumerate(value)}
    return value


@contextmanager
def bench(spark: SparkSession, root: Path, tables: Sequence[SmallTable]) -> Iterator[Bench]:
    """A warehouse of its own with these source tables, in a schema of its own."""
    session = spark.newSession()
    schema = f"small{next(_schemas)}"
    session.sql(f"CREATE SCHEMA {schema} LOCATION '{root / schema}.db'")
    session.sql(f"USE {schema}")
    # Some changes are merged, others marked in deletion vectors, as the files come.
    settings = {"deletion_vector_bytes": 4000}
    with penstock.open(root / f"{schema}.penstock", spark=session, settings=settings) as ps:
        try:
            yield Bench(ps, tables)
        finally:
            session.sql("USE default")
            session.sql(f"DROP SCHEMA {schema} CASCADE")
