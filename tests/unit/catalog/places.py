"""The places of a catalog under test, and the way into each that passes the catalog by."""

from __future__ import annotations

import sqlite3
import uuid
from abc import ABC, abstractmethod
from contextlib import closing
from pathlib import Path
from typing import Any

from postgres import Postgres


class Place(ABC):
    """Where a catalog is."""

    address: str

    @abstractmethod
    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run one statement; its rows."""

    @abstractmethod
    def objects(self) -> list[tuple[Any, ...]]:
        """Kind, name and shape of everything that is there."""


class SqlitePlace(Place):
    def __init__(self, path: Path) -> None:
        self.address = str(path)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.address)) as raw, raw:
            return raw.execute(text).fetchall()

    def objects(self) -> list[tuple[Any, ...]]:
        return sorted(self.sql("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


class PostgresPlace(Place):
    def __init__(self, server: Postgres) -> None:
        self.server = server
        self.schema = f"catalog_{uuid.uuid4().hex}"
        self.address = server.url(self.schema)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        self.server.sql(f"SET search_path TO {self.schema}")
        return [tuple(row) for row in self.server.sql(text) or ()]

    def objects(self) -> list[tuple[Any, ...]]:
        return self.sql(
            "SELECT CASE table_type WHEN 'BASE TABLE' THEN 'table' ELSE 'view' END, table_name,"
            " (SELECT string_agg(concat_ws(' ', column_name, data_type, collation_name), ',' ORDER BY ordinal_position)"
            "  FROM information_schema.columns c WHERE (c.table_schema, c.table_name) = (t.table_schema, t.table_name))"
            f" FROM information_schema.tables t WHERE table_schema = '{self.schema}'"
            f" UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = '{self.schema}'"
            " ORDER BY 1, 2"
        )
