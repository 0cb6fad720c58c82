"""Conditions are read with Spark's precedence and literals; whatever else is written is refused with its place."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.changes.filter.predicate import (
    And,
    Column,
    Compare,
    Constant,
    InList,
    IsNull,
    IsTruth,
    Like,
    LocalTimestamp,
    Not,
    Or,
    Predicate,
)
from penstock.changes.filter.row_filter import bind_filter
from penstock.errors import InvalidFilter
from penstock.lang import parse_predicate

A, B, C = Column("a"), Column("b"), Column("c")
ONE, TWO = Constant(pa.scalar(1, pa.int32())), Constant(pa.scalar(2, pa.int32()))
NULL = Constant(pa.scalar(None))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a", A),
        ("`odd name` = 1", Compare("=", Column("odd name"), ONE)),
        ("`a``b` == 1", Compare("=", Column("a`b"), ONE)),
        # Spark's names may begin with a digit.
        ("1a = 0x10", Compare("=", Column("1a"), Column("0x10"))),
        ("date <> key", Compare("<>", Column("date"), Column("key"))),
        ("a != 1", Compare("<>", A, ONE)),
        ("a <=> NULL", Compare("<=>", A, NULL)),
        ("a OR b AND c", Or((A, And((B, C))))),
        ("(a OR b) AND c", And((Or((A, B)), C))),
        ("NOT a = b AND c", And((Not(Compare("=", A, B)), C))),
        ("NOT NOT NOT a", Not(A)),
        ("NOT NOT a", Not(Not(A))),
        ("a = b IS NULL", IsNull(Compare("=", A, B))),
        ("a < b = c", Compare("=", Compare("<", A, B), C)),
        ("a BETWEEN 1 AND 2 AND b", And((And((Compare(">=", A, ONE), Compare("<=", A, TWO))), B))),
        ("a NOT BETWEEN 1 AND 2", Not(And((Compare(">=", A, ONE), Compare("<=", A, TWO))))),
        ("a IN (1, b, NULL)", InList(A, (ONE, B, NULL))),
        ("a NOT IN (1)", Not(InList(A, (ONE,)))),
        ("a IS NOT NULL", Not(IsNull(A))),
        ("a IS TRUE OR a IS NOT FALSE", Or((IsTruth(A, True), Not(IsTruth(A, False))))),
        ("a IS DISTINCT FROM b", Not(Compare("<=>", A, B))),
        ("a IS NOT DISTINCT FROM b", Not(Not(Compare("<=>", A, B)))),
        ("a LIKE 'x%'", Like(A, "x%")),
        ("a NOT LIKE 'x!%' ESCAPE '!'", Not(Like(A, "x!%", "!"))),
        ("a -- why\n = /* one */ 1", Compare("=", A, ONE)),
    ],
)
def test_the_tree(text: str, want: Predicate) -> None:
    assert parse_predicate(text) == want


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("1", 1, pa.int32()),
        ("-2147483648", -2147483648, pa.int32()),
        ("+2147483648", 2147483648, pa.int64()),
        ("9223372036854775808", Decimal(9223372036854775808), pa.decimal128(19, 0)),
        ("1L", 1, pa.int64()),
        ("1s", 1, pa.int16()),
        ("-128Y", -128, pa.int8()),
        ("1.50", Decimal("1.50"), pa.decimal128(3, 2)),
        (".05", Decimal("0.05"), pa.decimal128(2, 2)),
        ("5.", Decimal(5), pa.decimal128(1, 0)),
        ("5BD", Decimal(5), pa.decimal128(1, 0)),
        ("1.e2", 100.0, pa.float64()),
        ("2D", 2.0, pa.float64()),
        ("1.5F", 1.5, pa.float32()),
        # Nearest to the text; by way of a double it would be 1.0.
        ("1.000000059604644775390625000001F", 1.00000011920928955078125, pa.float32()),
        ("'it''s'", "it's", pa.string()),
        ("\"a\\tb\\u00e9\\%\"", "a\tbé\\%", pa.string()),
        ("r'\\d'", "\\d", pa.string()),
        ("TRUE", True, pa.bool_()),
        ("NULL", None, pa.null()),
        ("DATE '2026-01-31'", date(2026, 1, 31), pa.date32()),
        ("TIMESTAMP '2026-01-31 12:00:00+02:00'", datetime(2026, 1, 31, 10, tzinfo=UTC), pa.timestamp("us", "UTC")),
        ("TIMESTAMP_NTZ '2026-01-31T12:00:00.5'", datetime(2026, 1, 31, 12, 0, 0, 500000), pa.timestamp("us")),
        ("CAST('2026-01-31' AS DATE)", date(2026, 1, 31), pa.date32()),
        ("CAST('-7' AS INTEGER)", -7, pa.int32()),
        ("CAST(1.0 AS BIGINT)", 1, pa.int64()),
        ("'1.5'::DECIMAL(10, 2)", Decimal("1.50"), pa.decimal128(10, 2)),
        ("CAST(0.1 AS DOUBLE)", 0.1, pa.float64()),
        ("CAST('-Infinity' AS FLOAT)", float("-inf"), pa.float32()),
        ("CAST(NULL AS STRING)", None, pa.string()),
        ("CAST(CAST('5' AS INT) AS STRING)", "5", pa.string()),
    ],
)  # fmt: skip
def test_literals_have_the_type_that_spark_gives_them(text: str, value: object, kind: Any) -> None:
    tree = parse_predicate(f"a = {text}")
    assert isinstance(tree, Compare)
    assert isinstance(tree.right, Constant)
    assert tree.right.value.as_py() == value
    assert tree.right.value.type == kind


def test_a_timestamp_without_an_offset_waits_for_its_zone() -> None:
    local = LocalTimestamp(datetime(2026, 1, 31, 12))
    for text in ("TIMESTAMP '2026-01-31 12:00'", "TIMESTAMP_LTZ'2026-01-31T12:00:00'", "'2026-01-31 12:00'::TIMESTAMP"):
        assert parse_predicate(f"a < {text}") == Compare("<", A, local)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a =",
        "= a",
        "a = 1 b",
        "a AND",
        "(a",
        "a)",
        "a = 1;",
        "a = 1 = ",
        "a IN ()",
        "a IN (1,)",
        "a IN (SELECT 1)",
        "a IN b",
        "a IS b",
        "a IS UNKNOWN",
        "a IS NULL IS NULL",
        "a NOT b",
        "a = NOT b",
        "a BETWEEN 1",
        "a BETWEEN SYMMETRIC 1 AND 2",
        "a LIKE b",
        "a LIKE 'x' ESCAPE 'yz'",
        "a LIKE ANY ('x')",
        "a ILIKE 'x'",
        "a RLIKE 'x'",
        "a + 1 = 2",
        "a = 1 + 1",
        "a || 'x' = 'y'",
        "-a = 1",
        "- - 1 = a",
        "!a",
        "upper(a) = 'X'",
        "current_date() = a",
        "t.a = 1",
        "a.b = 1",
        "a[0] = 1",
        "a:b = 1",
        "CASE WHEN a THEN b END",
        "EXISTS (SELECT 1)",
        "a = (SELECT 1)",
        "a = ?",
        "a = :p",
        "a = @x",
        "a = 'x' 'y'",
        "a = 'x",
        "a = $$x$$",
        "a = X'ff'",
        "a = 1.2.3",
        "a = 1.5L",
        "a = 1e2BD",
        "a = 128Y",
        "a = 1e400",
        "a = 1e39F",
        "a = 123456789012345678901234567890123456789",
        "a = '\\101'",
        "a = '\\ud83d'",
        "a = DATE '2026-02-30'",
        "a = DATE 'today'",
        "a = TIMESTAMP '2026-01-31 25:00:00'",
        "a = TIMESTAMP '2026-01-31 12:00:00 EST'",
        "a = TIMESTAMP_NTZ '2026-01-31 12:00:00Z'",
        "a = INTERVAL '1' DAY",
        "a = CAST(b AS INT)",
        "a = CAST('x' AS INT)",
        "a = CAST(1.5 AS INT)",
        "a = CAST(300 AS TINYINT)",
        "a = CAST('1.555' AS DECIMAL(10,2))",
        "a = CAST(1 AS DECIMAL(39))",
        "a = CAST(1 AS ARRAY)",
        "a = CAST(1 AS VARCHAR(5))",
        "a = TRY_CAST(1 AS INT)",
        "a = b::INT",
        "a = 1 /*+ hint */ AND b EXCEPT c",
        "a, b",
        "*",
        "(" * 100 + "a" + ")" * 100,
        "a" + " = a" * 100,
        "a = " + "CAST(" * 5000 + "1",
        "(" * 50000,
    ],
)
def test_whatever_else_is_written_is_refused(text: str) -> None:
    with pytest.raises(InvalidFilter, match=r"^\[INVALID_FILTER\] invalid filter expression: ") as refused:
        parse_predicate(text)
    assert refused.value.advice


def test_a_refusal_shows_the_place() -> None:
    with pytest.raises(InvalidFilter) as refused:
        parse_predicate("a = 1\nAND lower(b) = 'x'")
    assert refused.value.text == (
        "invalid filter expression: functions such as lower cannot be used (line 2, column 5)\n\n"
        "    AND lower(b) = 'x'\n"
        "        ^"
    )


def test_long_conditions_are_not_deep_ones() -> None:
    tree = parse_predicate(" AND ".join(f"(NOT a = {number} OR b IS NULL)" for number in range(1000)))
    assert isinstance(tree, And)
    assert len(tree.parts) == 1000


PIECES = st.sampled_from(
    [*"abc()=,.;:-+!'\"`%*<>[]{}$@?\\\n\0é", " ", "AND ", "OR ", "NOT ", "IS ", "NULL ", "TRUE ", "DISTINCT FROM ",
     "IN ", "BETWEEN ", "LIKE ", "ESCAPE ", "CAST(", " AS ", "DATE ", "TIMESTAMP ", "DECIMAL(", "INT", "::", "'x' ",
     "'2026-01-31'", "1 ", "2.5", "1e9", "BD", "<=>", "/*", "*/", "--", "\\u0041", "a = 1 "]
)  # fmt: skip
TEXTS = st.text() | st.lists(PIECES, max_size=25).map("".join)


@settings(deadline=None, max_examples=500)
@given(TEXTS)
@example("a = CAST('1e99999999999999999999' AS DECIMAL)")
@example("a = CAST('" + "9" * 5000 + "' AS INT)")
@example("a = " + "9" * 5000)
@example("a = TIMESTAMP '2026-01-31 ../..'")
@example("a = TIMESTAMP '0001-01-01 00:00:00+18:00'")
@example("a = 1 /*")
def test_any_text_is_read_or_refused(text: str) -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.string()), ("c", pa.bool_())])
    try:
        bound = bind_filter(parse_predicate(text), schema, "Europe/Berlin")
    except InvalidFilter:
        return
    rows = pa.table({"a": pa.array([1, None], pa.int32()), "b": ["x", None], "c": [True, None]})
    assert len(bound.mask(rows)) == rows.num_rows
