"""The refresh functions: RF1 inserts orders with their lines, RF2 deletes them; both over key ranges, as dbgen does.

The new rows are generated ones from elsewhere in the table, under unused keys and with prices of their own, so that no
two orders tie where a query cuts off after its first rows.
"""

from __future__ import annotations

from pathlib import Path

import penstock
from benchmarks.tpch.load import generated
from benchmarks.tpch.order_keys import DATA, INSERTED, index_sql, order_key_sql, within_sql


def insert_orders(ps: penstock.StreamTables, data: Path, first: int, count: int, donor: int) -> None:
    """RF1: `count` orders between the keys from index `first` on, each a copy of one from index `donor` on."""
    order, line = (_key(name, first, donor) for name in ("o_orderkey", "l_orderkey"))
    ps.sql(
        f"""
        INSERT INTO orders SELECT {order}, o_custkey, o_orderstatus,
          CAST(o_totalprice + {index_sql("o_orderkey")} % 10007 * 0.01 AS DECIMAL(15,2)), o_orderdate, o_orderpriority,
          o_clerk, o_shippriority, o_comment
        FROM {generated(data, "orders")} WHERE {within_sql("o_orderkey", donor, count, DATA)};
        INSERT INTO lineitem SELECT {line}, l_partkey, l_suppkey, l_linenumber, l_quantity,
          CAST(l_extendedprice + {index_sql("l_orderkey")} % 10007 * 0.01 AS DECIMAL(15,2)), l_discount, l_tax,
          l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment
        FROM {generated(data, "lineitem")} WHERE {within_sql("l_orderkey", donor, count, DATA)}
        """
    )


def delete_orders(ps: penstock.StreamTables, *ranges: tuple[int, int, int]) -> None:
    """RF2: the orders of some ranges, each an index, a count and a sequence, and their lines."""
    for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
        ps.sql(f"DELETE FROM {table} WHERE {' OR '.join(within_sql(key, *each) for each in ranges)}")


def _key(name: str, first: int, donor: int) -> str:
    return order_key_sql(f"({index_sql(name)} + {first - donor})", INSERTED)
