"""Tables fit the page, and data is never read as markup."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum

from penstock.cli.document import dumps, plain
from penstock.cli.tables import console, one_line, print_rows
from penstock.names import Frontier, TableName


def printed(columns: list[str], rows: list[tuple[object, ...]]) -> str:
    stream = io.StringIO()
    print_rows(console(stream), columns, rows)
    return stream.getvalue()


def test_a_long_value_is_folded_not_cut() -> None:
    text = printed(["id", "note"], [(1, "word " * 60)])
    assert text.count("word") == 60
    assert max(map(len, text.splitlines())) <= 100


def test_many_columns_become_records() -> None:
    columns = [f"column_{number}" for number in range(30)]
    text = printed(columns, [tuple(range(30))])
    assert "row 1" in text
    assert all(f"{name} " in text for name in columns)


def test_an_empty_result_still_has_its_header() -> None:
    assert "id" in printed(["id", "note"], [])


def test_values_read_like_sql() -> None:
    text = printed(["a", "b", "c", "d"], [(None, True, b"\x0f", {"k": [1, None]})])
    assert "NULL" in text
    assert "true" in text
    assert "0F" in text
    assert "{k: [1, NULL]}" in text


def test_json_loses_nothing() -> None:
    class Colour(StrEnum):
        RED = "red"

    value = {
        "exact": Decimal("12345678901234567890.123"),
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "name": TableName("s", "t"),
        "frontier": Frontier.of({"a": 1}),
        "colour": Colour.RED,
        "set": frozenset({"b", "a"}),
        "infinite": float("-inf"),
        "bytes": b"\x00\xff",
    }
    assert json.loads(dumps(value)) == {
        "exact": "12345678901234567890.123",
        "at": "2026-01-01T00:00:00+00:00",
        "name": "s.t",
        "frontier": Frontier.of({"a": 1}).to_json(),
        "colour": "red",
        "set": ["a", "b"],
        "infinite": "-Infinity",
        "bytes": "AP8=",
    }
    assert type(plain(Colour.RED)) is str


def test_a_long_text_is_cut_with_a_sign() -> None:
    assert one_line("[QUERY_FAILED] division by zero\n  Mend the data.") == "[QUERY_FAILED] division by zero"
    cut = one_line("x" * 161)
    assert (len(cut), cut[-1]) == (160, "…")
    assert one_line("x" * 160) == "x" * 160
