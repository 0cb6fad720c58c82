"""Updates of every table: keys move, and values cross the queries' filters in both directions.

Rows are picked, and given one of a few values, by hashes of their keys and the round: a run can be repeated, and rows
that one round moved into a filter are moved out by another. Lines always point at a part and one of its suppliers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import penstock
from benchmarks.tpch.load import generated

# Germany, France, Saudi Arabia, Canada, Brazil, India, Japan: the nations that queries name, and two of Asia.
NATIONS = (7, 6, 20, 3, 2, 8, 12)
CODES = ("13", "31", "23", "29", "30", "18", "17", "10", "25")
BRANDS = ("Brand#23", "Brand#12", "Brand#34", "Brand#45", "Brand#11")
CONTAINERS = ("MED BOX", "SM CASE", "LG BOX", "JUMBO JAR", "WRAP BAG")
TYPES = (
    "ECONOMY ANODIZED STEEL",
    "PROMO BRUSHED COPPER",
    "STANDARD PLATED BRASS",
    "MEDIUM POLISHED TIN",
    "SMALL BURNISHED NICKEL",
)
SIZES = (5, 3, 15, 49, 14)
ORDER_DATES = ("1993-07-02", "1993-10-05", "1994-05-05", "1995-03-06", "1996-12-20", "1998-01-01")
SHIP_DATES = ("1993-12-28", "1994-06-01", "1995-09-15", "1996-01-02", "1995-03-12", "1998-08-29")
REGION_SWAPS = (("ASIA", "MIDDLE EAST"), ("EUROPE", "AFRICA"), ("AMERICA", "ASIA"))

LEAST = 10
"""Rows that are touched at least, however small the table."""


def update_tables(ps: penstock.StreamTables, rows: dict[str, int], share: float, salt: int, least: int = LEAST) -> None:
    """Change about a `share` of the rows of the six large tables; `rows` are their sizes as generated."""

    def some(key: str, table: str) -> str:
        return f"pmod(hash({key}, {salt}), {_one_in(rows[table], share, least)}) = 0"

    ps.sql(
        f"""
        UPDATE supplier SET
          s_nationkey = element_at(array({_listed(NATIONS)}), CAST((s_suppkey + {salt}) % {len(NATIONS)} + 1 AS INT)),
          s_comment = {_one_of("s_suppkey", salt, "'the Customer made Complaints'", "'quiet'", "s_comment")},
          s_acctbal = {_one_of("s_suppkey", salt + 1, "s_acctbal", "s_acctbal + 10", "-s_acctbal")}
        WHERE {some("s_suppkey", "supplier")};
        UPDATE customer SET
          c_nationkey = {_value("c_custkey", salt + 1, NATIONS)},
          c_mktsegment = {_value("c_custkey", salt + 2, ("BUILDING", "MACHINERY"))},
          c_phone = concat({_value("c_custkey", salt + 3, CODES)}, substring(c_phone, 3)),
          c_acctbal = {_one_of("c_custkey", salt + 4, "c_acctbal", "-c_acctbal", "CAST(9000 AS DECIMAL(15,2))")},
          c_address = concat('moved ', {salt})
        WHERE {some("c_custkey", "customer")};
        UPDATE part SET
          p_brand = {_value("p_partkey", salt + 1, BRANDS)}, p_container = {_value("p_partkey", salt + 1, CONTAINERS)},
          p_type = {_value("p_partkey", salt + 1, TYPES)}, p_size = {_value("p_partkey", salt + 1, SIZES)},
          p_name = {_one_of("p_partkey", salt + 2, "'forest green lace'", "'dim green plum'", "'forest dim'", "'plum'")}
        WHERE {some("p_partkey", "part")};
        UPDATE partsupp SET
          ps_supplycost = {_one_of("ps_partkey, ps_suppkey", salt + 1, "1.00", "1000.00", "500.00", "ps_supplycost")},
          ps_availqty = {_value("ps_partkey, ps_suppkey", salt + 2, (1, 30, 99999))}
        WHERE {some("ps_partkey, ps_suppkey", "partsupp")};
        UPDATE orders SET
          o_custkey = {_customer("o_orderkey", salt + 1, rows["customer"])},
          o_orderstatus = {_value("o_orderkey", salt + 2, ("F", "F", "O", "P"))},
          o_orderpriority = {_value("o_orderkey", salt + 3, ("1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW"))},
          o_orderdate = date_add({_date("o_orderkey", salt + 4, ORDER_DATES)}, pmod(hash(o_orderkey), 12)),
          o_totalprice = o_totalprice + pmod(hash(o_orderkey, {salt}), 10007) * 0.01,
          o_comment = {_one_of("o_orderkey", salt + 5, "'special wishes, requests'", "'nothing special'")}
        WHERE {some("o_orderkey", "orders")};
        {_lines(rows, some("l_orderkey, l_linenumber", "lineitem"), some("l_orderkey", "orders"), salt)}
        """
    )


def _lines(rows: dict[str, int], some: str, whole_orders: str, salt: int) -> str:
    line = "l_orderkey, l_linenumber"
    part = f"CAST(pmod(hash({line}, {salt + 6}), {rows['part']}) + 1 AS BIGINT)"
    shipped = f"date_add({_date(line, salt + 2, SHIP_DATES)}, pmod(hash({line}), 10))"
    return f"""
        UPDATE lineitem SET
          l_quantity = CASE WHEN {whole_orders} THEN {_value("l_orderkey", salt + 1, (50, 49, 3))}
            ELSE {_value(line, salt + 1, (15, 2, 25, 50))} END,
          l_shipmode = {_value(line, salt + 1, ("AIR", "MAIL", "AIR REG", "SHIP"))},
          l_shipinstruct = {_value(line, salt + 1, ("DELIVER IN PERSON", "NONE", "DELIVER IN PERSON", "COLLECT COD"))},
          l_extendedprice = l_extendedprice + pmod(hash({line}, {salt}), 10007) * 0.01,
          l_discount = {_one_of(line, salt + 3, "0.00", "0.05", "0.06", "0.07", "0.08")},
          l_returnflag = {_value(line, salt + 4, ("R", "A", "N"))},
          l_linestatus = {_value(line, salt + 5, ("F", "O"))},
          l_shipdate = {shipped},
          l_commitdate = date_add({shipped}, {_value(line, salt + 7, (-20, 10, 40))}),
          l_receiptdate = date_add({shipped}, {_value(line, salt + 8, (1, 8, 30))}),
          l_partkey = {part},
          l_suppkey = {_supplier_of(part, f"pmod(hash({line}, {salt + 9}), 4)", rows["supplier"])}
        WHERE {some} OR {whole_orders}"""


def move_nations(ps: penstock.StreamTables, turn: int) -> None:
    """Some nations join another region, two nations and two regions exchange their names; the next turn undoes it."""
    swapped, (one, other) = (turn - 1) % 2, REGION_SWAPS[(turn - 1) // 2 % len(REGION_SWAPS)]
    moved = _listed([(nation + (turn - 1) // 2) % 25 for nation in (2, 7, 8, 18)])
    ps.sql(
        f"""
        UPDATE nation SET
          n_regionkey = CASE WHEN n_nationkey IN ({moved})
            THEN (n_regionkey + {4 if swapped else 1}) % 5 ELSE n_regionkey END,
          n_name = CASE n_name WHEN 'CANADA' THEN 'SAUDI ARABIA' WHEN 'SAUDI ARABIA' THEN 'CANADA' ELSE n_name END
        WHERE n_nationkey IN ({moved}, 3, 20);
        UPDATE region SET r_name = CASE r_name WHEN '{one}' THEN '{other}' ELSE '{one}' END
        WHERE r_name IN ('{one}', '{other}')
        """
    )


def come_and_go(ps: penstock.StreamTables, data: Path, rows: dict[str, int], turn: int, salt: int) -> None:
    """Rows of four tables vanish while others still point at them; the next turn brings the generated ones back."""
    keys = {"supplier": "s_suppkey", "customer": "c_custkey", "part": "p_partkey", "partsupp": "ps_partkey, ps_suppkey"}
    for table, key in keys.items():
        # Both turns of a pair pick by the same number, and bring back exactly what went.
        picked = f"pmod(hash({key}, {salt + (turn - 1) // 2}), {min(200, max(3, rows[table] // 4))}) = 0"
        if turn % 2:
            ps.sql(f"DELETE FROM {table} WHERE {picked}")
        else:
            ps.sql(f"INSERT INTO {table} SELECT * FROM {generated(data, table)} WHERE {picked}")


def _customer(key: str, salt: int, customers: int) -> str:
    """Any customer, but seldom one of the third that has no orders, as the specification wants it."""
    found = f"(pmod(hash({key}, {salt}), {customers - 1}) + 1)"
    return f"{found} + CASE WHEN {found} % 3 = 0 AND pmod(hash({key}, {salt + 10}), 10) > 0 THEN 1 ELSE 0 END"


def _one_in(rows: int, share: float, least: int) -> int:
    return max(1, rows // max(round(rows * share), least))


def _supplier_of(part: str, place: str, suppliers: int) -> str:
    """One of the four suppliers of a part, by the formula of the specification for PS_SUPPKEY."""
    return f"({part} + {place} * ({suppliers} DIV 4 + ({part} - 1) DIV {suppliers})) % {suppliers} + 1"


def _one_of(key: str, salt: int, *expressions: str) -> str:
    place = f"CAST(pmod(hash({key}, {salt}), {len(expressions)}) + 1 AS INT)"
    return f"element_at(array({', '.join(expressions)}), {place})"


def _value(key: str, salt: int, values: Sequence[int | str]) -> str:
    return _one_of(key, salt, *(repr(value) for value in values))


def _date(key: str, salt: int, values: Sequence[str]) -> str:
    return _one_of(key, salt, *(f"DATE '{value}'" for value in values))


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))
