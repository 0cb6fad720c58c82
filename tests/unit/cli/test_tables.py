"""Tables fit the page, and data is never read as markup."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
from pyspark.sql import Row
from rich.console import Console

from penstock.cli.render.document import dumps, plain
from penstock.cli.render.statement_tables import statement_table
from penstock.cli.render.tables import as_text, console, one_line, print_rows
from penstock.names import Frontier, TableName

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


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


def test_structs_maps_and_arrays_show_their_fields() -> None:
    inner = Row(a=1, b="x")
    assert as_text(inner) == "{a: 1, b: x}"
    assert as_text([inner, None]) == "[{a: 1, b: x}, NULL]"
    assert as_text({"k": Row(z=Row(y=Decimal("0E-18")))}) == "{k: {z: {y: 0.000000000000000000}}}"
    assert as_text(Row("a", "a")(1, 2)) == "{a: 1, a: 2}"


@pytest.mark.parametrize("width", [100, 140])
def test_a_terminal_is_used_in_its_whole_width(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    columns = [f"column_number_{number}" for number in range(7)]
    print_rows(console(stream), columns, [tuple(range(7))])
    assert ("row 1" in stream.getvalue()) == (width == 100)


@pytest.mark.parametrize("width", [100, 140])
@pytest.mark.parametrize(
    ("kind", "columns", "row"),
    [
        (
            "show",
            "name status refresh_mode effective_mode target_lag current_lag last_refresh errors",
            (
                "shop.revenue_by_region_and_day",
                "INITIALIZING",
                "AUTO",
                "INCREMENTAL",
                "1 hour 30 minutes",
                None,
                NOON,
                2,
            ),
        ),
        (
            "history",
            "started_at action status reason rows_inserted rows_deleted delta_rows rows_read rows_at_rest rows_written "
            "commit_version seconds",
            (NOON, "INCREMENTAL", "COMPLETED", "a long reason " * 9, 10**6, 10**6, 0, 10**6, 0, 0, 12, 3.5),
        ),
        (
            "refresh",
            "name action reason rows_inserted rows_deleted version seconds",
            ("shop.revenue_by_region_and_day", "REINITIALIZE", "a long reason " * 9, 10**6, 10**6, 12, None),
        ),
        (
            "optimize",
            "name done reason files_before files_after touched_before touched_after seconds",
            ("shop.revenue_by_region_and_day", "sorted, compacted", "a long reason " * 9, 812, 4, 0.9, 0.1, 3.5),
        ),
    ],
)
def test_answers_of_our_statements_read_as_tables(width: int, kind: str, columns: str, row: tuple[Any, ...]) -> None:
    drawn = statement_table(kind, columns.split(), [row, row])
    assert drawn is not None
    out = Console(file=io.StringIO(), width=width, markup=False)
    out.print(drawn)
    assert isinstance(out.file, io.StringIO)
    lines = out.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines[0].split()) >= len(drawn.columns)
    # Words stay whole beside each other, so a row takes few lines.
    assert len(lines) <= 2 + 2 * 8


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
