"""The tables that the queries read: a shop with orders, and what happens to them.

    orders     id, customer_id, basket_id, product_id, amount, quantity, status     in the order of id, in many files
    customers  a tenth as many; which customer an order has does not depend on its id
    baskets    a tenth as many; ten orders in a row share one, so that neighbours there are neighbours here
    products   a thousand, in twenty categories

A change updates some orders through Spark: every one gets another amount and quantity, every fourth another customer,
every fourth another product. What is written depends on nothing but the order's id and the number of the change.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import penstock
from benchmarks.scale import scaled, size_label

CLUSTERED, SCATTERED = "clustered", "scattered"
PRODUCTS = 1_000
ROWS_PER_FILE = 100_000
MOST_FILES = 25
_OPEN_COST = "spark.sql.files.openCostInBytes"


@dataclass
class Shop:
    """The tables at one nominal size, in a schema of their own, with the stream tables over them."""

    ps: penstock.StreamTables
    nominal: int
    _changes: int = 0
    _streams: list[str] = field(default_factory=list)

    @property
    def size(self) -> str:
        """The nominal size, as people write it."""
        return size_label(self.nominal)

    @property
    def rows(self) -> int:
        """How many orders there really are."""
        return scaled(self.nominal)

    @property
    def schema(self) -> str:
        """Where the tables live."""
        return f"shop_{self.size.lower()}"

    @property
    def tables(self) -> dict[str, str]:
        """The names that queries are filled in with."""
        return {name: f"{self.schema}.{name}" for name in ("orders", "customers", "baskets", "products")}

    def fill(self) -> None:
        """Make the tables. A range has its rows in order, and each of its parts becomes one file."""
        rows, tenth, files = self.rows, self.rows // 10, min(MOST_FILES, max(1, self.rows // ROWS_PER_FILE))
        orders, customers, baskets, products = self.tables.values()
        self.ps.sql(
            f"""
            CREATE SCHEMA {self.schema};
            CREATE TABLE {orders} AS SELECT
              id, pmod(hash(id), {tenth}) AS customer_id, id DIV 10 AS basket_id,
              CAST(pmod(hash(id, 1), {PRODUCTS}) AS INT) AS product_id,
              CAST(pmod(hash(id, 2), 100000) / 100 AS DECIMAL(12,2)) AS amount,
              CAST(pmod(hash(id, 3), 9) + 1 AS INT) AS quantity,
              element_at(array('new', 'paid', 'sent', 'done'), CAST(id % 4 AS INT) + 1) AS status
            FROM range(0, {rows}, 1, {files});
            CREATE TABLE {customers} AS SELECT
              id, concat('customer ', id) AS name, concat('region ', id % 50) AS region
            FROM range(0, {tenth}, 1, {max(1, files // 4)});
            CREATE TABLE {baskets} AS SELECT
              id, concat('shop ', id % 200) AS shop, date_add(DATE '2020-01-01', CAST(id % 1500 AS INT)) AS placed
            FROM range(0, {tenth}, 1, {max(1, files // 4)});
            CREATE TABLE {products} AS SELECT
              CAST(id AS INT) AS id, concat('category ', id % 20) AS category FROM range(0, {PRODUCTS}, 1, 1)
            """
        )

    def change(self, count: int, spread: str) -> None:
        """Update `count` orders: the newest ones, or ones spread evenly over all ids."""
        self._changes += 1
        turn, tenth = self._changes, self.rows // 10
        step = self.rows // count
        chosen = f"id >= {self.rows - count}" if spread == CLUSTERED else f"id % {step} = {turn % step}"
        with self._file_by_file():
            self.ps.spark.sql(
                f"""
                UPDATE {self.tables["orders"]} SET
                  amount = CAST(pmod(hash(id, {turn}, 2), 100000) / 100 AS DECIMAL(12,2)),
                  quantity = CAST(pmod(hash(id, {turn}, 3), 9) + 1 AS INT),
                  customer_id = IF((id DIV {step} + {turn}) % 4 = 0, pmod(hash(id, {turn}), {tenth}), customer_id),
                  product_id =
                    IF((id DIV {step} + {turn}) % 4 = 1, CAST(pmod(hash(id, {turn}, 1), {PRODUCTS}) AS INT), product_id)
                WHERE {chosen}
                """
            )

    def name_for(self, part: str, role: str) -> str:
        """The name of a table of results in this shop."""
        return f"{self.schema}.{re.sub(r'[^a-z0-9]+', '_', part)}_{role}"

    def stream_table(self, part: str, query: str, mode: str = "INCREMENTAL") -> str:
        """The stream table of a shape in one mode: made and filled when it is first asked for."""
        name = self.name_for(part, mode.lower())
        if name not in self._streams:
            self.ps.create_stream_table(name, query, refresh_mode=mode)
            self._streams.append(name)
        return name

    def audit(self, names: Collection[str]) -> dict[str, bool]:
        """Which of those stream tables that are over this shop are exact."""
        return {name: self.ps.audit(name).exact for name in self._streams if name in names}

    def close(self) -> None:
        """Drop everything."""
        for name in reversed(self._streams):
            self.ps.drop_stream_table(name)
        self._streams.clear()
        for table in self.tables.values():
            self.ps.sql(f"DROP TABLE {table}")

    @contextmanager
    def _file_by_file(self) -> Iterator[None]:
        """Let an update rewrite every file on its own, as Spark does with files of the usual size.

        Otherwise it packs our small ones together, and after the first scattered update no file could be skipped.
        """
        self.ps.spark.conf.set(_OPEN_COST, str(128 * 1024 * 1024))
        try:
            yield
        finally:
            self.ps.spark.conf.unset(_OPEN_COST)
