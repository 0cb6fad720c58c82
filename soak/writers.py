"""Somebody else's programs: a process that writes to the shop all the time, with delta-rs, until it is stopped.

    every beat   new orders; every other one older orders change their status, some are deleted or returned
    now and then customers move, prices change, somebody compacts the orders

It knows nothing of Penstock. Conflicts with itself or with the compaction are tried again.
"""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from soak.shop import CUSTOMERS, ORDERS, PRODUCTS

BEAT = 1.0
"""Seconds."""


class Shop:
    """The tables, from outside."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        self._next = ORDERS
        self._beats = 0

    def beat(self) -> None:
        """One second's work."""
        self._beats += 1
        self._order(self._chance.randrange(5, 40))
        if self._beats % 2:
            self._pay()
        if self._beats % 7 == 0:
            self._table("orders").delete(f"id % 997 = {self._chance.randrange(997)}")
        if self._beats % 11 == 0:
            self._return()
        if self._beats % 17 == 0:
            region = self._chance.choice(["north", "east", "south", "west"])
            self._table("customers").update(
                {"region": f"'{region}'"}, predicate=f"id = {self._chance.randrange(CUSTOMERS)}"
            )
        if self._beats % 31 == 0:
            self._table("products").update({"price": "price + 1"}, predicate=f"id = {self._chance.randrange(PRODUCTS)}")
        if self._beats % 60 == 0:
            self._table("orders").optimize.compact()

    def _table(self, name: str) -> DeltaTable:
        return DeltaTable(self._folder / name)

    def _order(self, number: int) -> None:
        chance = self._chance
        rows = {
            "id": pa.array(range(self._next, self._next + number), pa.int64()),
            "customer": pa.array([chance.randrange(CUSTOMERS + 200) for _ in range(number)], pa.int64()),
            "product": pa.array([chance.randrange(PRODUCTS) for _ in range(number)], pa.int64()),
            "quantity": pa.array([chance.randrange(1, 6) for _ in range(number)], pa.int32()),
            "amount": pa.array(
                [Decimal(chance.randrange(100, 90_000)) / 100 for _ in range(number)], pa.decimal128(12, 2)
            ),
            "status": pa.array(["open"] * number),
            "at": pa.array([datetime.now(UTC)] * number, pa.timestamp("us", "UTC")),
        }
        self._next += number
        write_deltalake(self._table("orders"), pa.table(rows), mode="append")

    def _pay(self) -> None:
        low = self._chance.randrange(self._next)
        self._table("orders").update(
            {"status": "CASE WHEN status = 'open' THEN 'paid' ELSE 'sent' END"},
            predicate=f"id BETWEEN {low} AND {low + 20}",
        )

    def _return(self) -> None:
        rows = pa.table({"order_id": pa.array([self._chance.randrange(self._next)], pa.int64()), "reason": ["late"]})
        write_deltalake(self._table("returns"), rows, mode="append")


def main() -> None:
    """`python -m soak.writers FOLDER SEED`; ends at SIGTERM."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    shop = Shop(Path(sys.argv[1]), int(sys.argv[2]))
    while not stopped:
        began = time.monotonic()
        with contextlib.suppress(CommitFailedError):
            shop.beat()
        time.sleep(max(0.0, BEAT - (time.monotonic() - began)))


if __name__ == "__main__":
    main()
