"""A filter keeps exactly the rows that Spark's WHERE keeps, over the values that are easy to get wrong.

One query per case: every predicate is a column of it, so that hundreds of them cost one job.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.changes.filter.row_filter import bind_filter
from penstock.lang import parse_predicate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]

# Columns `a` and `b` run through all pairs of `values` cast to `type`; `c` is of another type that compares with it.
CASES: dict[str, tuple[str, list[str], str, list[str], list[str]]] = {
    "tinyint": ("TINYINT", ["-128", "-1", "0", "127"], "SMALLINT", ["-128", "300"],
                ["-128", "127Y", "128", "3000000000", "0.5", "-0.0", "1e0", "CAST('NaN' AS DOUBLE)"]),
    "int": ("INT", ["-2147483648", "0", "7", "2147483647"], "BIGINT", ["7", "2147483648"],
            ["-2147483648", "7", "7.0", "7.5", "7D", "7F", "3000000000", "CAST('7' AS BIGINT)", "7::SMALLINT"]),
    "bigint": ("BIGINT", ["-9223372036854775808", "9007199254740993", "9007199254740992", "9223372036854775807"],
               "DOUBLE", ["9007199254740992", "1e300"],
               ["9007199254740993", "9007199254740992D", "9223372036854775807", "9007199254740993.0", "16777217F",
                "-9223372036854775808"]),
    "bigint and float": ("BIGINT", ["16777216", "16777217", "0"], "FLOAT", ["16777216", "0.1"], ["16777216F", "0.1F"]),
    "int and decimal": ("INT", ["1", "-5", "2147483647"], "DECIMAL(12,2)", ["1.00", "1.01", "-5.00"], ["1.00", "1.01"]),
    "float": ("FLOAT", ["0.1", "'-0.0'", "0.0", "'NaN'", "'Infinity'", "'-Infinity'", "16777216"], "DOUBLE",
              ["0.1", "'NaN'", "0.0"],
              ["0.1", "0.1F", "0.1D", "0", "-0.0", "CAST('NaN' AS FLOAT)", "CAST('-Infinity' AS FLOAT)",
               "CAST(0.1 AS FLOAT)", "CAST('0.1' AS FLOAT)", "16777217", "1e39"]),
    "double": ("DOUBLE", ["0.1", "'-0.0'", "0.0", "'NaN'", "'Infinity'", "4.9e-324", "1e308"], "INT", ["0", "1"],
               ["0.1", "0.1F", "0", "-0.0D", "0.10000000000000000555", "CAST('NaN' AS DOUBLE)", "5e-324", "NULL",
                "CAST('Infinity' AS DOUBLE)"]),
    "decimal": ("DECIMAL(12,2)", ["-1.50", "0.00", "36339.34", "9999999999.99"], "BIGINT", ["0", "1", "9999999999"],
                ["1.5", "36339.340", "1", "-1.50BD", "1.505", "36339.34D", "0", "99999999999999999999", "0.000000001",
                 "CAST('1.50' AS DECIMAL(10,4))", "CAST(1 AS DECIMAL(5))"]),
    "wide decimal": ("DECIMAL(38,18)", ["0.000000000000000001", "12345678901234567890.123456789012345678", "1"],
                     "DOUBLE", ["0.000000000000000001", "12345678901234567890.123456789012345678", "1"],
                     ["1", "0.000000000000000001", "12345678901234567890.123456789012345678", "1e0", "1e-18", "5L"]),
    "double and decimal": ("DOUBLE", ["36339.34", "4872.23", "0.1"], "DECIMAL(12,2)", ["36339.34", "4872.23", "0.1"],
                           ["36339.34", "4872.23BD"]),
    "decimal and decimal": ("DECIMAL(20,10)", ["0.1", "0.1000000001", "1234567890"], "DECIMAL(15,2)", ["0.1", "1"],
                            ["0.1", "0.10000000000000001"]),
    "string": ("STRING", ["''", "'a'", "'A'", "'a '", "'ab'", "'é'", "'e\\u0301'", "'￿'", "'😀'", "'a\\nb'", "'50%'",
                          "'it''s'", "'a\\\\b'", "'a_b'"], "STRING", ["'a'", "'zz'"],
               ["'a'", "''", "\"é\"", "'😀'", "'￿'", "'it''s'", "'it\\'s'", "r'a\\b'", "'a\\\\b'", "'a\\nb'",
                "'\\u00e9'", "CAST(5 AS STRING)", "'a\\qb'", "'x\\0y'"]),
    "boolean": ("BOOLEAN", ["true", "false"], "BOOLEAN", ["true"],
                ["TRUE", "false", "CAST('true' AS BOOLEAN)", "NULL"]),
    "date": ("DATE", ["'0001-01-01'", "'1582-10-15'", "'2026-01-31'", "'9999-12-31'"], "TIMESTAMP_NTZ",
             ["'2026-01-31 00:00:00'", "'2026-01-31 00:00:00.000001'"],
             ["DATE '2026-01-31'", "'2026-01-31'", "TIMESTAMP_NTZ '2026-01-31 12:00:00'", "'2026-01-31'::DATE",
              "DATE'9999-12-31'", "CAST('1582-10-15' AS DATE)"]),
    "timestamp": ("TIMESTAMP", ["'1900-01-01 00:00:00'", "'2026-03-08 01:59:59.999999'", "'2026-03-08 03:00:00'",
                                "'2026-11-01 01:30:00'", "'2026-01-31 12:00:00.000001'"], "TIMESTAMP",
                  ["'2026-03-08 03:00:00'"],
                  ["TIMESTAMP '2026-03-08 03:00:00'", "TIMESTAMP '2026-03-08 02:30:00'", "'2026-11-01 01:30:00'",
                   "TIMESTAMP '2026-01-31T12:00:00.000001'", "TIMESTAMP '2026-03-08 07:00:00Z'",
                   "TIMESTAMP '2026-03-08 03:00:00-05:00'", "'1900-01-01'", "TIMESTAMP_LTZ '2026-11-01 01:30'",
                   "TIMESTAMP '2026-03-08 08:00:00 Europe/London'", "CAST('2026-01-31 12:00:00+02:00' AS TIMESTAMP)"]),
    "timestamp_ntz": ("TIMESTAMP_NTZ",
                      ["'1900-01-01 00:00:00'", "'2026-03-08 02:30:00'", "'2026-01-31 12:00:00.000001'"],
                      "DATE", ["'2026-03-08'", "'1900-01-01'"],
                      ["TIMESTAMP_NTZ '2026-03-08 02:30:00'", "'2026-03-08 02:30:00'", "DATE '1900-01-01'",
                       "CAST('2026-01-31 12:00:00.000001' AS TIMESTAMP_NTZ)"]),
    "moments in utc": ("TIMESTAMP", ["'2026-01-31 00:00:00'", "'2026-01-31 00:00:01'"], "TIMESTAMP_NTZ",
                       ["'2026-01-31 00:00:00'", "'2026-01-31 00:00:01'"],
                       ["DATE '2026-01-31'", "TIMESTAMP_NTZ '2026-01-31 00:00:01'", "TIMESTAMP '2026-01-31 00:00:01'"]),
}  # fmt: skip

LIKES = [r"'a%'", r"'%'", r"'_'", r"'__'", r"'a_b'", r"'50\%'", r"'a\_b'", r"'50!%' ESCAPE '!'", r"'%s'", r"''",
         r"'a\\\\b'",         r"'a%b'", r"'%%'", r"'.'", r"'a__b' ESCAPE '_'", r"'e_'", r"'(%'", r"'[a]'"]  # fmt: skip
BOOLEANS = ["a", "NOT a", "a AND b", "a OR b", "NOT a OR b AND c", "NOT (a AND b) OR c", "a IS TRUE", "a IS NOT TRUE",
            "a IS FALSE", "a IS NOT FALSE", "a = b IS NULL", "a = b = c", "a < b = c", "NOT a = b", "NOT a IS NULL",
            "(a OR b) AND NOT c", "a AND NULL", "a OR NULL", "NULL", "NOT NOT a", "a IN (b, c)", "a = (b OR c)",
            "a BETWEEN b AND c", "NOT a BETWEEN b AND c OR c", "(a IS NULL) = b", 
            "a IS NOT DISTINCT FROM b = c"]  # fmt: skip


def predicates(case: str) -> list[str]:
    literals = CASES[case][4]
    some = literals[:4]
    made = [f"a {operator} {value}" for operator, value in product(OPERATORS, [*literals, "b", "c", "NULL"])]
    made += [f"{value} {operator} a" for operator, value in product(OPERATORS[:7], some)]
    made += [f"a IN ({', '.join(literals)})", f"a NOT IN ({some[0]}, NULL)", f"a IN ({some[0]}, b)", "a IN (b, c)"]
    made += [f"a IN ({value})" for value in literals]
    made += [f"a BETWEEN {low} AND {high}" for low, high in product([*some, "b"], [some[-1], "c"])]
    made += [f"a NOT BETWEEN {some[0]} AND b", "a IS NULL", "a IS NOT NULL", "NOT a IS NULL AND b IS NOT NULL"]
    made += [f"NOT (a > {some[0]} OR b < {some[0]}) OR c IS NULL", f"a = {some[0]} AND b = {some[-1]} OR NOT a = b"]
    if case == "string":
        made += [f"{column} {like} {pattern}" for column in "ab" for like in ("LIKE", "NOT LIKE") for pattern in LIKES]
    if case == "boolean":
        made += BOOLEANS
    return list(dict.fromkeys(made))


@pytest.mark.parametrize("case", CASES)
def test_a_mask_is_what_spark_keeps(spark: SparkSession, tmp_path: Path, case: str) -> None:
    kind, values, other, others, _ = CASES[case]
    zone = "UTC" if case == "moments in utc" else "America/St_Johns"
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    firsts = ", ".join(f"(CAST({value} AS {kind}))" for value in [*values, "NULL"])
    seconds = ", ".join(f"(CAST({value} AS {other}))" for value in [*others, "NULL"])
    # Through a file, or the optimizer would fold the predicates and Spark never run them over rows.
    session.sql(
        f"SELECT a, b, c FROM VALUES {firsts} AS x(a), VALUES {firsts} AS y(b), VALUES {seconds} AS z(c)"
    ).coalesce(1).write.parquet(str(tmp_path / "rows"))
    session.read.parquet(str(tmp_path / "rows")).createOrReplaceTempView("tricky_values")
    asked = predicates(case)
    columns = ", ".join(f"({predicate}) IS TRUE AS p{number}" for number, predicate in enumerate(asked))
    told = session.sql(f"SELECT *, {columns} FROM tricky_values").toArrow()
    table = told.select(["a", "b", "c"])
    assert table.num_rows == (len(values) + 1) ** 2 * (len(others) + 1)
    wrong = []
    for number, predicate in enumerate(asked):
        want = told.column(f"p{number}").to_pylist()
        seen = bind_filter(parse_predicate(predicate), table.schema, zone).mask(table).to_pylist()
        wrong += [(predicate, row, kept) for row, kept, spark_kept in zip(table.to_pylist(), seen, want, strict=True)
                  if kept != spark_kept]  # fmt: skip
    assert not wrong, f"{len(wrong)} rows differ, the first: {wrong[:3]}"


def test_an_integer_literal_is_as_long_as_its_digits(spark: SparkSession, tmp_path: Path) -> None:
    values = ", ".join(
        f"(CAST({value} AS DECIMAL(38,30)))" for value in ("5", "5.000000000000000000000000000001", "NULL")
    )
    spark.sql(f"SELECT a FROM VALUES {values} AS x(a)").write.parquet(str(tmp_path / "rows"))
    rows = spark.read.parquet(str(tmp_path / "rows"))
    asked = ["a = 5", "a > 5", "12345678 >= a", "a <=> 5L", "a BETWEEN 4 AND 5", "a <> 5.0"]
    told = rows.selectExpr(
        "a", *(f"({predicate}) IS TRUE AS p{number}" for number, predicate in enumerate(asked))
    ).toArrow()
    table = told.select(["a"])
    for number, predicate in enumerate(asked):
        seen = bind_filter(parse_predicate(predicate), table.schema).mask(table).to_pylist()
        assert seen == told.column(f"p{number}").to_pylist(), predicate
