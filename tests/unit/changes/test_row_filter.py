"""A condition is checked against the schema once, and keeps a row only where it is true."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from penstock.changes.filter.predicate import (
    And,
    Column,
    Compare,
    Constant,
    InList,
    IsNull,
    IsTruth,
    Like,
    Not,
    Or,
    Predicate,
)
from penstock.changes.filter.row_filter import bind_filter
from penstock.errors import InvalidFilter
from penstock.lang import parse_predicate

NAN = float("nan")
ROWS = pa.table(
    {
        "id": pa.array([1, 2, None, 4], pa.int32()),
        "Name": ["north", "Ünter", None, "no_th"],
        "amount": pa.array([Decimal("1.50"), Decimal("-2.00"), None, Decimal("0.00")], pa.decimal128(12, 2)),
        "ratio": [NAN, -0.0, None, 2.5],
        "ok": [True, False, None, True],
        "day": pa.array([date(2026, 1, 31), date(2026, 2, 1), None, date(1, 1, 1)]),
        "at": pa.array([datetime(2026, 1, 31, 12), datetime(2026, 2, 1), None, None], pa.timestamp("us", "UTC")),
        "local": pa.array([datetime(2026, 1, 31, 12), datetime(2026, 2, 1), None, None], pa.timestamp("us")),
        "tiny": pa.array([Decimal("0.1"), None, None, None], pa.decimal128(38, 38)),
        "tags": [["a"], [], None, ["b"]],
        "raw": pa.array([b"a", b"\xff", None, b""]),
    }
)


def kept(condition: str, zone: str | None = None) -> list[int]:
    """The numbers of the rows that are kept."""
    mask = bind_filter(parse_predicate(condition), ROWS.schema, zone).mask(ROWS)
    assert mask.type == pa.bool_()
    assert mask.null_count == 0
    assert len(mask) == ROWS.num_rows
    return [number for number, true in enumerate(mask.to_pylist()) if true]


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        ("id = 1", [0]),
        ("ID <> 1", [1, 3]),
        ("NOT id = 1", [1, 3]),
        ("id <=> NULL", [2]),
        ("id IS DISTINCT FROM 1", [1, 2, 3]),
        ("id > 1.5 AND id < 4e0", [1]),
        ("id IN (1, NULL)", [0]),
        ("id NOT IN (1, NULL)", []),
        ("id NOT IN (1, 9)", [1, 3]),
        ("id BETWEEN 2 AND 4", [1, 3]),
        ("name = 'north'", [0]),
        ("name < 'Ü'", [0, 3]),
        ("name LIKE 'no_th'", [0, 3]),
        (r"name LIKE 'no\_th'", [3]),
        ("name NOT LIKE '%r%'", [3]),
        ("amount >= 0", [0, 3]),
        ("amount = 1.500", [0]),
        ("amount > -2.001 AND amount < id", [1, 3]),
        ("ratio > 1e300", [0]),
        ("ratio = 0", [1]),
        ("ratio = CAST('NaN' AS DOUBLE)", [0]),
        ("ratio < CAST('NaN' AS DOUBLE)", [1, 3]),
        ("ratio IN (0, CAST('NaN' AS DOUBLE))", [0, 1]),
        ("ok", [0, 3]),
        ("ok IS NOT TRUE", [1, 2]),
        ("ok IS FALSE", [1]),
        ("ok = (id = 1)", [0, 1]),
        ("ok OR id IS NULL", [0, 2, 3]),
        ("NULL", []),
        ("1 = 1", [0, 1, 2, 3]),
        ("2 IN (1, 2)", [0, 1, 2, 3]),
        ("NULL LIKE 'a'", []),
        ("day = '2026-01-31'", [0]),
        ("day < local", [0]),
        ("day <= local", [0, 1]),
        ("at >= TIMESTAMP '2026-01-31 13:00:00+01:00'", [0, 1]),
        ("local = '2026-02-01'", [1]),
        ("tags IS NULL", [2]),
        ("raw > raw OR raw IS NULL", [2]),
    ],
)
def test_rows_that_are_kept(condition: str, want: list[int]) -> None:
    assert kept(condition) == want


def test_a_timestamp_without_an_offset_is_read_in_the_session_zone() -> None:
    assert kept("at = TIMESTAMP '2026-01-31 13:00:00'", "Europe/Berlin") == [0]
    assert kept("at = '2026-01-31 12:00:00'", "UTC") == [0]
    assert kept("at > day", "UTC") == [0]
    assert kept("at = local", "UTC") == [0, 1]


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("region = 1", "column not found: region"),
        ("id = 'x'", "type mismatch: column id is INT, expected STRING"),
        ("1 < name", "type mismatch: column Name is STRING, expected INT"),
        ("amount = name", "type mismatch: column amount is DECIMAL(12,2), expected STRING"),
        ("id", "type mismatch: column id is INT, expected BOOLEAN"),
        ("NOT id AND ok", "type mismatch: column id is INT, expected BOOLEAN"),
        ("id IS TRUE", "type mismatch: column id is INT, expected BOOLEAN"),
        ("id LIKE '1'", "type mismatch: column id is INT, expected STRING"),
        ("id IN (1, ok)", "type mismatch: column id is INT, expected BOOLEAN"),
        ("'a' = 1", "type mismatch: 'a' is STRING, expected INT"),
        ("day = 'tomorrow'", "type mismatch: column day is DATE, expected STRING"),
        ("local = '2026-01-31 12:00:00Z'", "type mismatch: column local is TIMESTAMP_NTZ, expected STRING"),
        ("day < at", "type mismatch: column day is DATE, expected TIMESTAMP"),
        ("tiny > id", "type mismatch: column tiny is DECIMAL(38,38), expected INT"),
        ("tags = tags", "invalid filter expression: column tags is ARRAY and cannot be compared"),
        ("raw = 'a'", "type mismatch: column raw is BINARY, expected STRING"),
    ],
)
def test_names_and_types_are_checked_before_any_row(condition: str, why: str) -> None:
    with pytest.raises(InvalidFilter) as refused:
        bind_filter(parse_predicate(condition), ROWS.schema)
    assert refused.value.text == why
    assert refused.value.advice


@pytest.mark.parametrize(
    "condition",
    [
        "at = TIMESTAMP '2026-01-31 12:00:00'",
        "at = '2026-01-31 12:00:00'",
        "id < 99999999999999999999",
        "name LIKE 'a!b' ESCAPE '!'",
        "name LIKE 'a!' ESCAPE '!'",
    ],
)
def test_what_has_no_certain_answer_is_refused(condition: str) -> None:
    with pytest.raises(InvalidFilter, match="invalid filter expression: "):
        bind_filter(parse_predicate(condition), ROWS.schema)


def test_a_moment_before_the_first_year_is_refused() -> None:
    with pytest.raises(InvalidFilter, match="outside the years 1 to 9999"):
        bind_filter(parse_predicate("at > TIMESTAMP '0001-01-01 00:00:00'"), ROWS.schema, "Asia/Tokyo")


def test_two_columns_that_differ_by_case_only_are_not_guessed_between() -> None:
    schema = pa.schema([("a", pa.int32()), ("A", pa.int32())])
    with pytest.raises(InvalidFilter, match="a may be a and A"):
        bind_filter(Compare("=", Column("a"), Constant(pa.scalar(1))), schema)


def test_a_decimal_beside_a_double_is_the_nearest_double() -> None:
    rows = pa.table({"d": pa.array([Decimal("36339.34"), Decimal("4872.23")], pa.decimal128(12, 2))})
    assert bind_filter(parse_predicate("d IN (36339.34D, 4872.23D)"), rows.schema).mask(rows).to_pylist() == [
        True,
        True,
    ]


def test_a_filter_knows_what_it_reads() -> None:
    assert bind_filter(parse_predicate("NAME = 'x' OR id > 1 AND id < 5"), ROWS.schema).columns == ("Name", "id")


def test_tables_of_no_rows_and_of_many_chunks() -> None:
    bound = bind_filter(parse_predicate("id IN (1, 4) AND name LIKE 'n%' OR ratio > 5"), ROWS.schema)
    assert bound.mask(ROWS.slice(0, 0)).to_pylist() == []
    chunked = pa.concat_tables([ROWS.slice(0, 1), ROWS.slice(1, 0), ROWS.slice(1, 3)])
    assert bound.mask(chunked).to_pylist() == bound.mask(ROWS).to_pylist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("predicate", "want"),
    [
        (And((Constant(pa.scalar(None)), Constant(pa.scalar(False)))), False),
        (Not(And((Constant(pa.scalar(None)), Constant(pa.scalar(False))))), True),
        (Not(And((Constant(pa.scalar(None)), Constant(pa.scalar(True))))), False),
        (Or((Constant(pa.scalar(None)), Constant(pa.scalar(True)))), True),
        (IsNull(Or((Constant(pa.scalar(None)), Constant(pa.scalar(False))))), True),
        (IsTruth(Constant(pa.scalar(None)), False), False),
        (IsNull(InList(Constant(pa.scalar(1)), (Constant(pa.scalar(2)), Constant(pa.scalar(None))))), True),
        (Like(Constant(pa.scalar("a\nb")), "a_b"), True),
    ],
)
def test_three_valued_logic(predicate: Predicate, want: bool) -> None:
    assert bind_filter(predicate, pa.schema([])).mask(ROWS).to_pylist() == [want] * ROWS.num_rows
