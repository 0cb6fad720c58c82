"""Rows as tables that fit the terminal, or 100 columns of plain text when they go into a pipe.

Text from the user's data is never read as markup. A result too wide for a table is printed one record at a time: every
value stays readable, and a cut has a sign.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 100
_NARROWEST = 6
_LONGEST = 160
_STYLES = {
    "ACTIVE": "green",
    "COMPLETED": "green",
    "INCREMENTAL": "green",
    "FULL": "yellow",
    "REINITIALIZE": "yellow",
    "INITIALIZING": "yellow",
    "SUSPENDED": "yellow",
    "SKIPPED": "yellow",
    "SKIP": "yellow",
    "ERROR": "red",
    "FAILED": "red",
    "NO_DATA": "dim",
}


def console(stream: TextIO | None = None) -> Console:
    """A console on stdout (or `stream`) that is as wide as the terminal; a file or a pipe is as wide as a page."""
    out = Console(file=stream or sys.stdout, markup=False, highlight=False, emoji=False, soft_wrap=False)
    if not out.is_terminal:
        out.width = WIDTH
    return out


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> Table:
    """A table; a column is a title and a manner: `right`, `keep` (never broken over lines) or nothing."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, header_style="bold", show_edge=False)
    for title, manner in columns:
        drawn.add_column(
            title,
            justify="right" if manner == "right" else "left",
            no_wrap=manner in {"right", "keep"},
            overflow="fold",
        )
    for row in rows:
        drawn.add_row(*(cell(value) for value in row))
    return drawn


def cell(value: Any) -> Text:
    """One value; words with a meaning of their own have a colour."""
    if value is None:
        return Text("NULL", style="dim")
    if isinstance(value, Text):
        return value
    text = as_text(value)
    return Text(text, style=_STYLES.get(text, ""))


def as_text(value: Any) -> str:
    """A value as text: as SQL would print it rather than as Python would.

    >>> as_text({"a": [Decimal("0E-3"), None]}), as_text(float("nan")), as_text(timedelta(days=1, seconds=1.5))
    ('{a: [0.000, NULL]}', 'NaN', '1 00:00:01.500000')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes | bytearray):
        return value.hex().upper()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, timedelta):
        return _interval(value)
    if isinstance(value, tuple) and hasattr(value, "__fields__"):
        # A struct; its fields may have the same name, so it is no mapping.
        return (
            "{"
            + ", ".join(f"{name}: {as_text(item)}" for name, item in zip(value.__fields__, value, strict=True))
            + "}"
        )
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_text(key)}: {as_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(as_text(item) for item in value) + "]"
    return str(value)


def _interval(value: timedelta) -> str:
    """A duration as the text of Spark's INTERVAL DAY TO SECOND."""
    days, rest = divmod(abs(value), timedelta(days=1))
    clock = (datetime.min + rest).time().isoformat()
    return f"{'-' if value < timedelta(0) else ''}{days} {clock}"


def one_line(text: str) -> str:
    """The beginning of a text that may be long, such as an error's; beside other columns, all of it makes a tower."""
    first = text.partition("\n")[0]
    return first if len(first) <= _LONGEST else first[: _LONGEST - 1] + "…"


def print_rows(out: Console, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A result set, as a table if it fits, else record by record."""
    widths = [
        max([len(name), *(len(as_text(row[at])) for row in rows)], default=len(name)) for at, name in enumerate(columns)
    ]
    if fits(out, widths):
        right = [is_numeric(row[at] for row in rows) for at in range(len(columns))]
        out.print(table([(name, "right" if right[at] else "") for at, name in enumerate(columns)], rows))
        return
    label = min(max(map(len, columns)), out.width // 3)
    for number, row in enumerate(rows, start=1):
        out.rule(f"row {number}", align="left", style="dim", characters="─" if out.encoding.startswith("utf") else "-")
        print_fields(out, list(zip(columns, row, strict=True)), label)


def print_fields(out: Console, fields: Sequence[tuple[str, Any]], label: int | None = None) -> None:
    """Names and values below each other, long values folded under themselves."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True, width=label, overflow="ellipsis")
    grid.add_column(overflow="fold")
    for name, value in fields:
        grid.add_row(Text(name), cell(value))
    out.print(grid)


def fits(out: Console, widths: Sequence[int]) -> bool:
    """True if columns of these widths make a readable table, perhaps with some values folded."""
    return sum(widths) + 2 * len(widths) <= out.width or len(widths) * (_NARROWEST + 2) <= out.width // 2


def is_numeric(values: Iterable[Any]) -> bool:
    """True if all values that are there are numbers."""
    kinds = {type(value) for value in values if value is not None}
    return bool(kinds) and kinds <= {int, float, Decimal}
