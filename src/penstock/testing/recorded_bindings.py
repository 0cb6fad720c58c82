"""Recorded bindings: queries, each with the tree that Spark bound, in a file.

The compiler gets its bound trees from an `Analyzer`. The engine's asks Spark; `RecordedBindings` answers from a file,
so that everything behind the port runs without a JVM. A test with Spark binds every recorded query once more and
compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from penstock.compile.bound import Analyzer, BoundQuery
from penstock.testing.bound_json import decode, encode, readable
from penstock.testing.strategies import Column, Query, Schema, Table


@dataclass(frozen=True, slots=True)
class RecordedBindings:
    """An `Analyzer` for the recorded queries over the tables of one schema."""

    schema: Schema
    queries: tuple[Query, ...]
    bound: dict[str, BoundQuery]
    """Text of each query → its bound tree."""

    def bind(self, query: str) -> BoundQuery:
        """The recorded tree; KeyError for a query that is not recorded."""
        return self.bound[query]

    @classmethod
    def read(cls, path: Path) -> RecordedBindings:
        """The bindings in a file."""
        held = json.loads(path.read_text("utf-8"))
        tables = tuple(
            Table(name, tuple(Column(*column.split(" ", 1)) for column in columns))
            for name, columns in held["tables"].items()
        )
        queries = tuple(
            Query(each["text"], frozenset(each["reads"]), tuple(each.get("key", ()))) for each in held["queries"]
        )
        bound = {each["text"]: decode(each["bound"]) for each in held["queries"]}
        return cls(Schema(tables), queries, bound)


def recorded(schema: Schema, queries: Iterable[Query], analyzer: Analyzer) -> str:
    """The text of a file with these queries as the analyzer binds them."""
    entries = []
    for query in queries:
        entry: dict[str, object] = {"text": query.text, "reads": sorted(query.tables)}
        if query.key:
            entry["key"] = list(query.key)
        entries.append({**entry, "bound": encode(analyzer.bind(query.text))})
    tables = {table.name: [f"{column.name} {column.type}" for column in table.columns] for table in schema.tables}
    return readable({"tables": tables, "queries": entries}) + "\n"
