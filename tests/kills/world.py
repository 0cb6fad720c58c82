"""A small warehouse with something of everything in it, and writers that never rest.

    base tables     orders, customers, events: written by delta-rs, each by a thread of its own
    stream tables   an aggregate, a join with one, a bag with duplicates, a filter, a window, a diamond, a chain,
                    and one that is never incremental

Rows are few, so that an oracle costs milliseconds; commits are many.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

BASES = {
    "orders": "id BIGINT, region STRING, amount INT, customer INT",
    "customers": "id INT, city STRING",
    "events": "k INT, v INT",
}
STREAM_TABLES = {
    # Upstreams first.
    "totals": "SELECT region, count(*) AS n, sum(amount) AS total FROM orders GROUP BY region",
    "highest": "SELECT region, max(amount) AS most FROM orders GROUP BY region",
    "both_sides": "SELECT t.region, t.n, t.total, h.most FROM totals t JOIN highest h ON t.region = h.region",
    "by_city": "SELECT c.city, count(*) AS n, sum(o.amount) AS total"
    " FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.city",
    "large": "SELECT id, region, amount FROM orders WHERE amount > 60",
    "ranked": "SELECT id, region, row_number() OVER (PARTITION BY region ORDER BY amount DESC, id) AS place"
    " FROM orders",
    "pairs": "SELECT k, v FROM events",
    "per_k": "SELECT k, count(*) AS n, sum(v) AS total FROM pairs GROUP BY k",
    "overall": "SELECT count(*) AS ks, sum(n) AS n, sum(total) AS total FROM per_k",
    "snapshot": "SELECT count(*) AS n, min(amount) AS least, max(amount) AS most FROM orders",
}
FULL_ONLY = "snapshot"
LAGS = {"totals": 1, "both_sides": 2, "by_city": 1, "large": 2, "ranked": 2, "per_k": 1, "overall": 2, "snapshot": 3}
"""Seconds; whoever is not named is DOWNSTREAM or as slow as a second."""

_REGIONS = ("north", "south", "east", "west", None)
_CITIES = ("Oslo", "Rome", "Bonn", None)
_SCHEMAS = {
    "orders": pa.schema(
        [("id", pa.int64()), ("region", pa.string()), ("amount", pa.int32()), ("customer", pa.int32())]
    ),
    "customers": pa.schema([("id", pa.int32()), ("city", pa.string())]),
    "events": pa.schema([("k", pa.int32()), ("v", pa.int32())]),
}


def statements(stream_tables: Iterable[str] = STREAM_TABLES) -> list[str]:
    """What makes the warehouse, with all stream tables or only these (upstreams first)."""
    made = [f"CREATE TABLE {name} ({columns})" for name, columns in BASES.items()]
    made.append("INSERT INTO customers SELECT id, 'Oslo' FROM range(20)")
    made.append("INSERT INTO orders SELECT id, 'north', id * 9, id % 20 FROM range(10)")
    made.append("INSERT INTO events SELECT id % 3, 1 FROM range(9)")
    for name in stream_tables:
        lag = "DOWNSTREAM" if name == "pairs" else f"'{LAGS.get(name, 1)} seconds'"
        mode = " REFRESH MODE FULL" if name == FULL_ONLY else ""
        made.append(f"CREATE STREAM TABLE {name} TARGET LAG {lag}{mode} AS {STREAM_TABLES[name]}")
    return made


class Writers:
    """Threads that write to the base tables until `rest`."""

    def __init__(self, paths: dict[str, Path], seed: int, pause: tuple[float, float] = (0.1, 0.4)) -> None:
        self._paths = paths
        self._pause = pause
        self._random = {name: Random(f"{seed} {name}") for name in paths}
        self._writes: dict[str, Callable[[DeltaTable, Random], None]] = {
            "orders": self._orders,
            "customers": self._customers,
            "events": self._events,
        }
        self._next_order = 1000
        self._resting = threading.Event()
        self._threads: list[threading.Thread] = []
        self.commits = 0
        self.error: BaseException | None = None

    def work(self) -> None:
        """Begin, or go on after a rest."""
        self._resting.clear()
        self._threads = [threading.Thread(target=self._write, args=(name,), daemon=True) for name in self._paths]
        for thread in self._threads:
            thread.start()

    def rest(self) -> None:
        """Return when nobody writes any more; raises what went wrong meanwhile."""
        self._resting.set()
        for thread in self._threads:
            thread.join()
        if self.error is not None:
            raise self.error

    def _write(self, name: str) -> None:
        random, table, write = self._random[name], DeltaTable(self._paths[name]), self._writes[name]
        try:
            while not self._resting.wait(random.uniform(*self._pause)):
                table.update_incremental()
                write(table, random)
                self.commits += 1
        except BaseException as error:
            self.error = error

    def _append(self, table: DeltaTable, name: str, rows: list[tuple[Any, ...]]) -> None:
        schema = _SCHEMAS[name]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
        write_deltalake(table, pa.table(columns, schema=schema), mode="append")

    def _orders(self, table: DeltaTable, random: Random) -> None:
        number = random.randrange(100)
        if number < 55:
            rows = []
            for _ in range(random.randint(1, 6)):
                self._next_order += 1
                rows.append((self._next_order, random.choice(_REGIONS), random.randrange(100), random.randrange(25)))
            self._append(table, "orders", rows)
        elif number < 75:
            table.update(
                updates={"amount": f"CAST({random.randrange(100)} AS INT)"},
                predicate=f"id % 7 = {random.randrange(7)}",
            )
        elif number < 85:
            region = random.choice(_REGIONS)
            shown = "NULL" if region is None else f"'{region}'"
            table.update(updates={"region": f"CAST({shown} AS STRING)"}, predicate=f"id % 11 = {random.randrange(11)}")
        elif number < 95:
            table.delete(f"id % 5 = {random.randrange(5)} OR id < {self._next_order - 60}")
        else:
            table.optimize.compact()

    def _customers(self, table: DeltaTable, random: Random) -> None:
        number, who = random.randrange(100), random.randrange(25)
        if number < 60:
            city = random.choice(_CITIES)
            shown = "NULL" if city is None else f"'{city}'"
            table.update(updates={"city": f"CAST({shown} AS STRING)"}, predicate=f"id = {who}")
        elif number < 92:
            # A customer may be there twice for a while: then its orders count twice.
            self._append(table, "customers", [(who, random.choice(_CITIES))])
        elif number < 97:
            table.delete(f"id % 4 = {random.randrange(4)}")
        else:
            table.optimize.compact()

    def _events(self, table: DeltaTable, random: Random) -> None:
        number = random.randrange(100)
        if number < 60:
            row = random.randrange(6), random.randrange(3)
            self._append(table, "events", [row] * random.randint(1, 3) + [(random.randrange(6), 0)])
        elif number < 80:
            table.update(
                updates={"v": f"CAST({random.randrange(3)} AS INT)"},
                predicate=f"k = {random.randrange(6)} AND v = {random.randrange(3)}",
            )
        elif number < 95:
            table.delete(f"k = {random.randrange(6)} AND v <> {random.randrange(4)}")
        else:
            table.optimize.compact()
