"""A small shop kept fresh: four chained stream tables over four tables, through rounds of changes.

Every refresh is followed by an audit, which recomputes the query at the same frontier and compares the two as bags.
Run it with `make demo`, or with `python examples/shop.py [FOLDER]`.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

import penstock

CUSTOMERS, PRODUCTS, ORDERS = 2_000, 200, 20_000
REGIONS = ["north", "south", "east", "west"]
CATEGORIES = ["books", "garden", "music", "tools"]

STREAM_TABLES = {
    "sales": """
        SELECT o.id AS order_id, c.region, p.category, i.quantity, i.quantity * p.price AS amount
        FROM orders o
        JOIN items i ON i.order_id = o.id
        JOIN customers c ON c.id = o.customer_id
        JOIN products p ON p.id = i.product_id
        WHERE o.state <> 'cancelled'""",
    "revenue": """
        SELECT region, category, count(*) AS items, sum(amount) AS total, avg(amount) AS mean, max(amount) AS largest
        FROM sales GROUP BY region, category""",
    "regions": """
        SELECT region, sum(total) AS total, count(*) AS categories, max(total) AS best
        FROM revenue GROUP BY region HAVING sum(items) > 10""",
    "catalogue": """
        SELECT DISTINCT region, category FROM sales
        UNION ALL
        SELECT 'everywhere', category FROM products GROUP BY category""",
}

out = Console(width=110, highlight=False)


def main() -> int:
    """Run the demo; 0 if every audit was exact and every later refresh incremental."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="penstock-demo-"))
    out.print("[bold]Penstock[/bold]: stream tables for Apache Spark\n")
    out.print(f"Starting a local Spark with Delta; the warehouse is {folder}")
    with penstock.open(folder, settings={"log_level": "warning"}) as ps:
        fill(ps)
        create(ps)
        good = rounds(ps)
        finish(ps, folder)
    if len(sys.argv) <= 1:
        shutil.rmtree(folder, ignore_errors=True)
    verdict = "every audit exact, every refresh incremental" if good else "something is WRONG, see above"
    out.print(f"\n[bold]{'✔' if good else '✘'} {verdict}[/bold]")
    return 0 if good else 1


def fill(ps: penstock.StreamTables) -> None:
    """Four ordinary Delta tables."""
    ps.sql(
        f"""
        CREATE TABLE customers AS SELECT id, {_one_of(REGIONS)} AS region FROM range({CUSTOMERS});
        CREATE TABLE products AS SELECT id, {_one_of(CATEGORIES)} AS category,
          CAST(1 + id % 37 + 0.99 AS DECIMAL(8,2)) AS price FROM range({PRODUCTS});
        CREATE TABLE orders AS SELECT id, pmod(hash(id), {CUSTOMERS}) AS customer_id,
          CASE WHEN id % 20 = 0 THEN 'cancelled' ELSE 'paid' END AS state FROM range({ORDERS});
        CREATE TABLE items AS SELECT id % {ORDERS} AS order_id, pmod(hash(id, 1), {PRODUCTS}) AS product_id,
          CAST(1 + id % 5 AS INT) AS quantity FROM range({2 * ORDERS})
        """
    )
    out.print(f"Four tables: {CUSTOMERS:,} customers, {PRODUCTS} products, {ORDERS:,} orders, {2 * ORDERS:,} items\n")


def create(ps: penstock.StreamTables) -> None:
    """Four stream tables, each reading the one before."""
    table = Table(title="CREATE STREAM TABLE", title_justify="left")
    for heading in ("name", "maintained", "rows", "seconds", "audit"):
        table.add_column(heading, justify="right" if heading in {"rows", "seconds"} else "left")
    for name, query in STREAM_TABLES.items():
        started = time.perf_counter()
        ps.sql(f"CREATE STREAM TABLE {name} TARGET LAG '1 minute' REFRESH MODE INCREMENTAL AS {query}")
        seconds = time.perf_counter() - started
        report = ps.audit(name)
        table.add_row(name, "INCREMENTAL", f"{report.rows:,}", f"{seconds:.2f}", _verdict(report.exact))
    out.print(table)


def rounds(ps: penstock.StreamTables) -> bool:
    """Rounds of inserts, updates and deletes; after each, refresh and audit everything."""
    dice = random.Random(7)
    good = True
    for title, statements in changes(dice):
        for statement in statements:
            ps.sql(statement)
        table = Table(title=f"\n{title}", title_justify="left")
        for heading in ("name", "action", "rows +", "rows −", "refresh s", "recompute s", "faster", "audit"):
            table.add_column(heading, justify="left" if heading in {"name", "action", "audit"} else "right")
        for name in STREAM_TABLES:
            result = ps.refresh(name)
            recompute = time_recompute(ps, name)
            report = ps.audit(name)
            good &= report.exact and result.action in {"INCREMENTAL", "NO_DATA"}
            table.add_row(
                name,
                result.action,
                f"{result.rows_inserted:,}",
                f"{result.rows_deleted:,}",
                f"{result.seconds:.2f}",
                f"{recompute:.2f}",
                f"{recompute / max(result.seconds, 1e-3):.1f}×",
                _verdict(report.exact),
            )
        out.print(table)
    return good


def changes(dice: random.Random) -> list[tuple[str, list[str]]]:
    """What happens in the shop."""
    picked = ", ".join(str(dice.randrange(ORDERS)) for _ in range(25))
    return [
        (
            "A busy hour: 100 new orders with 200 items",
            [
                f"INSERT INTO orders SELECT id + {ORDERS}, pmod(hash(id, 2), {CUSTOMERS}), 'paid' FROM range(100)",
                f"INSERT INTO items SELECT id % 100 + {ORDERS}, pmod(hash(id, 3), {PRODUCTS}), 2 FROM range(200)",
            ],
        ),
        (
            "Returns and price changes: 25 orders cancelled, a customer moves, one product dearer, some items deleted",
            [
                f"UPDATE orders SET state = 'cancelled' WHERE id IN ({picked})",
                "UPDATE customers SET region = 'south' WHERE id = 17",
                "UPDATE products SET price = price + 1 WHERE id = 3",
                f"DELETE FROM items WHERE order_id IN ({picked}) AND quantity = 1",
            ],
        ),
        ("A quiet minute: nothing happens", []),
        (
            "A category is discontinued: products deleted, their items stay behind",
            ["DELETE FROM products WHERE category = 'tools'"],
        ),
    ]


def time_recompute(ps: penstock.StreamTables, name: str) -> float:
    """Seconds to compute the whole query and overwrite a table with the result, as one would without Penstock."""
    started = time.perf_counter()
    ps.spark.sql(STREAM_TABLES[name]).write.format("delta").mode("overwrite").save(str(ps.path / "recompute" / name))
    return time.perf_counter() - started


def finish(ps: penstock.StreamTables, folder: Path) -> None:
    """Status, graph, one explanation, and where to go from here."""
    table = Table(title="\npenstock status", title_justify="left")
    for heading in ("name", "status", "mode", "target lag", "behind"):
        table.add_column(heading)
    for row in ps.status():
        behind = "" if row.current_lag is None else f"{row.current_lag.total_seconds():.0f} s"
        table.add_row(row.name, row.status, row.effective_mode or "", row.target_lag, behind)
    out.print(table)
    out.print("\n[bold]penstock graph[/bold]")
    out.print(Text(ps.graph().text()))
    out.print("[bold]penstock explain revenue[/bold] ")
    explained = ps.explain("revenue").text()
    out.print(Text(explained, overflow="ellipsis", no_wrap=True))
    out.print("[bold]What to type next[/bold]")
    out.print(
        Text(
            "  .venv/bin/penstock init my_warehouse          a warehouse of your own\n"
            "  .venv/bin/penstock -h                          all commands\n"
            "  .venv/bin/python examples/shop.py my_shop      this shop, kept in a folder\n"
            "  .venv/bin/penstock explain revenue --sql -w my_shop  the SQL that computes its changes\n"
            "  make docs                                      the documentation, as a site"
        )
    )


def _one_of(values: list[str]) -> str:
    listed = ", ".join(f"'{value}'" for value in values)
    return f"element_at(array({listed}), CAST(pmod(hash(id), {len(values)}) AS INT) + 1)"


def _verdict(exact: bool) -> str:
    return "[green]exact[/green]" if exact else "[red]DIFFERS[/red]"


if __name__ == "__main__":
    sys.exit(main())
