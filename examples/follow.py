"""A cache that follows a stream table: it keeps a copy of the rows by applying the changes, and runs no query.

    python examples/follow.py [FOLDER]

Orders change, the stream table is refreshed, and a thread keeps a dictionary equal to it, commit by commit. In the end
the dictionary and the table are compared.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import penstock
from penstock.changes.wire.commit_changes import CommitChanges
from penstock.subscribe.subscription import Subscription

ROUNDS = [
    "INSERT INTO orders VALUES (4, 'west', 7.25), (5, 'north', 3.00)",
    "UPDATE orders SET amount = amount + 1 WHERE region = 'north'",
    "DELETE FROM orders WHERE region = 'south'; UPDATE orders SET region = 'east' WHERE id = 4",
]
LAST = "INSERT INTO orders VALUES (0, 'closed', 0.00)"


class Cache:
    """The rows of `revenue` by region, kept by its changes."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}

    def take(self, commit: CommitChanges) -> None:
        """Apply the changes of one commit to the rows."""
        for kind, was, now, _ in commit.runs():
            if kind == "refresh":
                self.rows.clear()
            for row in was.to_pylist() if was is not None else []:
                del self.rows[row["region"]]
            for row in now.to_pylist() if now is not None else []:
                self.rows[row["region"]] = row

    def follow(self, changes: Subscription) -> None:
        """Take one commit after the other until the shop is closed."""
        for commit in changes.commits():
            self.take(commit)
            print(
                f"  version {commit.version}, LSN {commit.last_lsn}: {len(commit)} changes, {len(self.rows)} rows now"
            )
            if "closed" in self.rows:
                return


def main(folder: Path) -> bool:
    """Run the example; True if the cache equals the table."""
    with penstock.open(folder) as ps:
        ps.sql("""
            CREATE TABLE orders (id BIGINT, region STRING, amount DECIMAL(12,2));
            INSERT INTO orders VALUES (1, 'north', 10.00), (2, 'south', 20.00), (3, 'north', 5.50);
            CREATE STREAM TABLE revenue AS
            SELECT region, count(*) AS orders, sum(amount) AS total FROM orders GROUP BY region
        """)
        cache = Cache()
        with ps.subscribe("revenue", start="snapshot") as changes:
            thread = threading.Thread(target=cache.follow, args=[changes])
            thread.start()
            for statements in [*ROUNDS, LAST]:
                print(statements)
                ps.sql(statements)
                ps.refresh("revenue")
            thread.join(timeout=60)
        held = {row["region"]: row.asDict() for row in ps.table("revenue").collect()}
        print("the cache equals the table" if cache.rows == held else f"they differ: {cache.rows} and {held}")
        return cache.rows == held


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(0 if main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary)) else 1)
